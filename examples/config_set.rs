//! An operator in a few lines: every file of a directory becomes a ConfigMap, and stays one. A file that goes takes its
//! ConfigMap with it; an edit in the cluster is put right.
//!
//! `cargo run --example config_set -- DIRECTORY NAMESPACE`

use std::path::PathBuf;
use std::sync::Arc;

use fluxd::object::{Object, Origin};
use fluxd::operator::{Component, Context, Desired, Error, Gc, Identity, Operator, Settings};
use fluxd::runtime::Stop;
use serde_json::json;

/// What is wanted: one ConfigMap per file.
pub struct ConfigSet {
    /// The directory.
    pub directory: PathBuf,
    /// Where the ConfigMaps live.
    pub namespace: String,
}

impl Component for ConfigSet {
    async fn desired(&self, _: &Context) -> Result<Desired, Error> {
        let mut objects = Vec::new();
        for entry in std::fs::read_dir(&self.directory).map_err(Error::component)? {
            let path = entry.map_err(Error::component)?.path();
            let Some(name) = path.file_name().and_then(|n| n.to_str()).map(str::to_owned) else { continue };
            let text = std::fs::read_to_string(&path).map_err(Error::component)?;
            let value = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": name, "namespace": self.namespace },
                "data": { "text": text },
            });
            let origin = Origin { file: path.display().to_string().into(), line: 1, generated: false };
            objects.push(Arc::new(Object::new(&value, origin).map_err(Error::component)?));
        }
        // `complete` says that these are all: whatever else carries our mark may go.
        Ok(Desired { objects, complete: true, ..Desired::default() })
    }
}

/// Everything else is settings.
pub fn operator(set: ConfigSet, client: kube::Client) -> Operator<ConfigSet> {
    let identity = Identity::Owner(format!("config-set/{}", set.namespace));
    let settings = Settings { field_manager: "config-set".into(), gc: Gc::On, ..Settings::new(identity) };
    Operator::new(set, settings, client)
}

#[allow(dead_code, reason = "the tests run the operator without this")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(directory), Some(namespace)) = (args.next(), args.next()) else {
        return Err("usage: config_set DIRECTORY NAMESPACE".into());
    };
    let client = fluxd::operator::client(kube::Config::infer().await?)?;
    let stop = Stop::new();
    let running = operator(ConfigSet { directory: directory.into(), namespace }, client).run(stop.clone());
    tokio::pin!(running);
    tokio::select! {
        ended = &mut running => return Ok(ended?),
        _ = tokio::signal::ctrl_c() => stop.stop(),
    }
    Ok(running.await?)
}
