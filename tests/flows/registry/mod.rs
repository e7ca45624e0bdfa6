//! What is found out about images: from the real `docker-registry`, from clouds played at the wire, and from registries
//! that mean harm.

mod clouds;
mod hostile;
mod protocol;
mod real;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fluxd::object::image::{CanonicalName, ImageRef};
use fluxd::object::pattern::Pattern;
use fluxd::registry::{Credentials, Info, Login, Registry, RepositoryView, Settings, Want};
use fluxd::runtime::Stop;

use crate::rig::{DEADLINE, eventually_async};

/// A registry's scan that runs while the value lives.
struct Scan {
    registry: Registry,
    stop: Stop,
    task: tokio::task::JoinHandle<()>,
}

impl Scan {
    /// Starts scanning nothing yet.
    fn start(settings: Settings) -> Self {
        let registry = Registry::new(settings).unwrap();
        let stop = Stop::new();
        let (running, stopped) = (registry.clone(), stop.clone());
        let task = tokio::spawn(async move { running.run(stopped).await.unwrap() });
        Self { registry, stop, task }
    }

    /// Starts scanning one image, with one pattern.
    fn of(settings: Settings, name: &CanonicalName, pattern: &str) -> Self {
        let scan = Self::start(settings);
        scan.want(name, want(pattern));
        scan
    }

    fn want(&self, name: &CanonicalName, want: Want) {
        self.registry.want(Arc::new(BTreeMap::from([(name.clone(), want)])));
    }

    /// Waits until what is known fits.
    async fn until(
        &self,
        name: &CanonicalName,
        what: &str,
        fits: impl Fn(&RepositoryView) -> bool,
    ) -> Arc<RepositoryView> {
        eventually_async(what, || async { self.registry.repository(name).ok().filter(|view| fits(view)) }).await
    }

    /// Waits until all that `pattern` may choose is known.
    async fn complete(&self, name: &CanonicalName, pattern: &str) -> Arc<RepositoryView> {
        let pattern = Pattern::parse(pattern);
        self.until(name, "all tags are known", |view| !view.tags.is_empty() && view.is_complete_for(&pattern)).await
    }

    /// Waits until a scan failed, and gives the error.
    async fn failure(&self, name: &CanonicalName) -> String {
        let failed = || async {
            let text = self.registry.repository(name).err()?.to_string();
            text.strip_prefix("item not in cache, last error: ").map(str::to_owned)
        };
        eventually_async("the scan fails", failed).await
    }

    /// Ends the scan and waits until all is written.
    async fn end(self) {
        self.stop.stop();
        self.task.await.unwrap();
    }
}

/// Fast, and friendly to everything on loopback.
fn settings() -> Settings {
    Settings {
        rps: 10_000.0,
        burst: 10,
        poll: Duration::from_millis(200),
        timeout: DEADLINE,
        insecure_hosts: vec!["127.0.0.1".to_owned()],
        ..Settings::default()
    }
}

fn name(host: &str, path: &str) -> CanonicalName {
    format!("{host}/{path}:x").parse::<ImageRef>().unwrap().canonical()
}

fn want(pattern: &str) -> Want {
    Want { patterns: vec![Pattern::parse(pattern)], automated: true, ..Want::default() }
}

fn login(host: &str, user: &str, password: &str) -> Credentials {
    let mut credentials = Credentials::default();
    credentials.insert(host, Login::new(user, password, "a test"));
    credentials
}

fn created(info: &Info) -> String {
    info.created.map(|time| time.to_string()).unwrap_or_default()
}
