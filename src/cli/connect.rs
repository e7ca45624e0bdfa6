//! Which cluster: the client configuration by Flux v1's rules (fluxd-v1 §1.2 `--kube-config`, §1.3), and the namespace
//! that objects without one fall back to (§3.5).

use std::path::{Path, PathBuf};

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::environment::Environment;

/// Why there is no cluster to talk to; the process exits with code 1.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    /// A kubeconfig cannot be read.
    #[error("kubeconfig {file}: {source}", file = file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: Box<kube::config::KubeconfigError>,
    },
    /// No configuration was found anywhere.
    #[error("no cluster: {looked}, and not running in a cluster ({source}); set KUBECONFIG")]
    Nowhere {
        /// Where was looked.
        looked: String,
        /// Why the in-cluster configuration cannot be used.
        source: kube::config::InClusterError,
    },
    /// No file has the context asked for.
    #[error("context {0:?} does not exist")]
    NoContext(String),
    /// The configuration's certificates, keys or proxy cannot be used.
    #[error("cannot make an API client: {0}")]
    Client(#[from] kube::Error),
}

/// A client and what its configuration says.
pub(super) struct Connection {
    pub(super) client: kube::Client,
    /// The API server's address and what else the client was made of, for clients of other identities.
    pub(super) config: Config,
}

/// Makes the client. `explicit` is the file of `--kube-config`; only without it, `KUBECONFIG` counts.
pub(super) async fn connect(explicit: Option<&Path>, env: &Environment) -> Result<Connection, ConnectError> {
    let files = match explicit {
        Some(file) => {
            tracing::info!(
                msg = format!("Using kube config: {:?} to connect to the cluster", file.display().to_string())
            );
            vec![file.to_owned()]
        }
        None => env.kubeconfig_files().into_iter().filter(|file| file.exists()).collect(),
    };
    let mut config = match merged(&files)? {
        Some(kubeconfig) if has_cluster(&kubeconfig) => {
            let file = files.first().cloned().unwrap_or_default();
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(|source| ConnectError::File { file, source: Box::new(source) })?
        }
        _ => in_cluster(&files)?,
    };
    // The kube crate would retry for many minutes; retries are made within a pass's deadline instead.
    config.default_retry = false;
    Ok(Connection { client: kube::Client::try_from(config.clone())?, config })
}

/// Makes the client of a context of the user's kubeconfig files; of the current one when it is empty, else of the pod that
/// the process runs in.
pub(super) async fn in_context(context: &str, env: &Environment) -> Result<Connection, ConnectError> {
    let files: Vec<PathBuf> = env.kubeconfig_files().into_iter().filter(|file| file.exists()).collect();
    let named = (!context.is_empty()).then(|| context.to_owned());
    let mut config = match merged(&files)? {
        Some(kubeconfig) if named.is_some() || has_cluster(&kubeconfig) => {
            if let Some(name) = named.as_ref().filter(|name| !kubeconfig.contexts.iter().any(|c| c.name == **name)) {
                return Err(ConnectError::NoContext(name.clone()));
            }
            let options = KubeConfigOptions { context: named, ..KubeConfigOptions::default() };
            let file = files.first().cloned().unwrap_or_default();
            let unusable = |source| ConnectError::File { file, source: Box::new(source) };
            Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(unusable)?
        }
        _ => match named {
            Some(name) => return Err(ConnectError::NoContext(name)),
            None => in_cluster(&files)?,
        },
    };
    config.default_retry = false;
    Ok(Connection { client: kube::Client::try_from(config.clone())?, config })
}

/// Reads and merges files as kubectl does: of two values the first stands. `None` without files.
fn merged(files: &[PathBuf]) -> Result<Option<Kubeconfig>, ConnectError> {
    let mut all: Option<Kubeconfig> = None;
    for file in files {
        let error = |source| ConnectError::File { file: file.clone(), source: Box::new(source) };
        let next = Kubeconfig::read_from(file).map_err(error)?;
        all = Some(match all {
            Some(before) => before.merge(next).map_err(error)?,
            None => next,
        });
    }
    Ok(all)
}

/// Whether the current context leads to a server.
fn has_cluster(kubeconfig: &Kubeconfig) -> bool {
    let current = kubeconfig.current_context.as_deref().unwrap_or_default();
    let context = kubeconfig.contexts.iter().find(|c| c.name == current).and_then(|c| c.context.as_ref());
    let Some(context) = context else { return false };
    let cluster = kubeconfig.clusters.iter().find(|c| c.name == context.cluster).and_then(|c| c.cluster.as_ref());
    cluster.and_then(|c| c.server.as_deref()).is_some_and(|server| !server.is_empty())
}

fn in_cluster(files: &[PathBuf]) -> Result<Config, ConnectError> {
    let looked = match files {
        [] => "there is no kubeconfig".to_owned(),
        files => {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            format!("{} names no cluster", names.join(", "))
        }
    };
    Config::incluster().map_err(|source| ConnectError::Nowhere { looked, source })
}

/// The namespace of the current context by kubectl's loading rules, whichever file the API client uses; else `default`.
pub(super) fn fallback_namespace(env: &Environment) -> Result<String, ConnectError> {
    context_namespace("", env)
}

/// The namespace of a context, the current one when it is empty; else `default`.
pub(super) fn context_namespace(context: &str, env: &Environment) -> Result<String, ConnectError> {
    let files: Vec<PathBuf> = env.kubeconfig_files().into_iter().filter(|file| file.exists()).collect();
    let namespace = merged(&files)?.and_then(|kubeconfig| {
        let current = if context.is_empty() { kubeconfig.current_context? } else { context.to_owned() };
        kubeconfig.contexts.into_iter().find(|c| c.name == current)?.context?.namespace
    });
    Ok(namespace.filter(|n| !n.is_empty()).unwrap_or_else(|| "default".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: &str = "{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: k, cluster: {server: \
                        'http://127.0.0.1:9'}}], contexts: [{name: c, context: {cluster: k, user: u, namespace: team}}], \
                        users: [{name: u, user: {}}]}";
    const CONTEXT_ONLY: &str = "{apiVersion: v1, kind: Config, current-context: c, \
                                contexts: [{name: c, context: {cluster: '', user: '', namespace: mine}}]}";

    fn env(dir: &Path, files: &[(&str, &str)]) -> Environment {
        for (name, text) in files {
            std::fs::write(dir.join(name), text).unwrap();
        }
        let list = files.iter().map(|(name, _)| dir.join(name));
        let vars = [("KUBECONFIG".into(), std::env::join_paths(list).unwrap())].into();
        Environment { vars, ..Environment::default() }
    }

    #[tokio::test]
    async fn an_explicit_file_must_exist() {
        let error = connect(Some(Path::new("/no/such/file")), &Environment::default()).await.err().unwrap();
        assert!(error.to_string().starts_with("kubeconfig /no/such/file: "), "{error}");
    }

    #[tokio::test]
    async fn an_explicit_file_wins_over_the_variable() {
        let dir = tempfile::tempdir().unwrap();
        let env = env(dir.path(), &[("a", &FULL.replace(":9", ":7"))]);
        let explicit = dir.path().join("b");
        std::fs::write(&explicit, FULL).unwrap();
        assert_eq!(connect(Some(&explicit), &env).await.unwrap().config.cluster_url, "http://127.0.0.1:9/");
        assert_eq!(connect(None, &env).await.unwrap().config.cluster_url, "http://127.0.0.1:7/");
    }

    #[tokio::test]
    async fn a_file_without_cluster_leads_to_the_in_cluster_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let env = env(dir.path(), &[("a", CONTEXT_ONLY)]);
        let error = connect(None, &env).await.err().unwrap().to_string();
        assert!(error.contains("names no cluster, and not running in a cluster"), "{error}");
    }

    #[test]
    fn the_fallback_namespace_is_the_current_contexts() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(fallback_namespace(&env(dir.path(), &[("a", FULL)])).unwrap(), "team");
        assert_eq!(fallback_namespace(&env(dir.path(), &[("a", CONTEXT_ONLY), ("b", FULL)])).unwrap(), "mine");
        assert_eq!(fallback_namespace(&Environment::default()).unwrap(), "default");
    }
}
