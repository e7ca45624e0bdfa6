//! The doors: all sets of a controller, and one of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::apply::{Done, Report};
use crate::cluster::{Client, Cluster, ErrorKind, RequestError, Unresolved};
use crate::engine::owned::{self, Owned, Pass};
use crate::object::{Gvk, Key, Object};
use crate::plan::SkipReason;
use crate::runtime::Stop;

use super::{ApplyHow, Change, ChangeAction, Entry, Identity, Owner, ReadError, SetOutcome, SetSettings};

/// Sets could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetsError {
    /// The connection acts as somebody else already.
    #[error("the configuration of the connection impersonates somebody, so it cannot impersonate service accounts")]
    Impersonating,
}

/// All sets of one controller: one index of what is live, one memory of what was applied. Clones share everything.
#[derive(Clone)]
pub struct Sets {
    shared: Arc<Shared>,
}

struct Shared {
    owned: Owned,
    runs: AtomicBool,
    /// Whether somebody hears of drift, and the news that somebody does.
    heard: AtomicBool,
    listens: Notify,
}

/// The set of one owner, as one identity.
#[derive(Clone)]
pub struct Set {
    shared: Arc<Shared>,
    pub(super) owner: Owner,
    /// The cluster as the identity sees it, or why there is none.
    cluster: Result<Cluster, String>,
}

impl Sets {
    /// Makes them; nothing is asked of the API server yet. `config` is what `client` was made from.
    ///
    /// # Errors
    /// When the connection itself impersonates somebody: that name would go out in place of every service account's.
    pub fn new(config: &kube::Config, client: Client, settings: SetSettings) -> Result<Self, SetsError> {
        if config.auth_info.impersonate.is_some() {
            return Err(SetsError::Impersonating);
        }
        let shared = Shared {
            owned: Owned::new(client, settings),
            runs: AtomicBool::new(false),
            heard: AtomicBool::new(false),
            listens: Notify::new(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Drives the shared watches until the stop. Without it, sets are applied by fresh reads each time.
    pub async fn run(&self, stop: Stop) {
        self.shared.runs.store(true, Ordering::Release);
        let cluster = self.shared.owned.cluster();
        // While nobody waits for single changes they are let go: the next apply looks at each of its objects.
        let forget = async {
            while !self.shared.heard.load(Ordering::Acquire) {
                tokio::select! {
                    biased;
                    () = self.shared.listens.notified() => {}
                    changed = cluster.live().changed() => drop(changed),
                }
            }
        };
        stop.or(async { tokio::join!(cluster.run_watches(), forget) }).await;
        self.shared.runs.store(false, Ordering::Release);
    }

    /// Waits until others have changed or removed live objects of any set, and gives their keys; `None` when there are too
    /// many to name. What is written here does not count.
    pub async fn drifted(&self) -> Option<Vec<Key>> {
        if !self.shared.heard.swap(true, Ordering::AcqRel) {
            self.shared.listens.notify_one();
        }
        let changed = self.shared.owned.cluster().live().changed().await;
        (!changed.all).then_some(changed.keys)
    }

    /// The set of an owner, as an identity.
    pub fn set(&self, owner: Owner, identity: Identity) -> Set {
        let own = self.shared.owned.cluster();
        let cluster = match &identity {
            Identity::Own => Ok(own.clone()),
            Identity::ServiceAccount { namespace, name } => act_as(own, namespace, name),
        };
        Set { shared: Arc::clone(&self.shared), owner, cluster }
    }
}

/// The cluster as a service account sees it. No groups are sent: the API server derives them (resourceset §7.11).
fn act_as(cluster: &Cluster, namespace: &str, name: &str) -> Result<Cluster, String> {
    let is_plain =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    if !is_plain(namespace) || !is_plain(name) {
        return Err(format!("cannot act as service account {namespace}/{name}: this is no name of one"));
    }
    cluster.acting_as(&format!("system:serviceaccount:{namespace}:{name}")).map_err(|e| e.to_string())
}

impl Set {
    /// The entries of wanted objects, each in the namespace that it will really have: what has to be written down before the
    /// first [`Set::apply`]. Of a kind that nobody knows yet, the namespace is taken as written.
    pub async fn entries(&self, objects: &[Arc<Object>]) -> Vec<Entry> {
        let until = Instant::now() + self.owned().settings().deadline;
        let keys = match self.owned().keys(objects, until).await {
            Ok(keys) => keys,
            Err(_) => objects.iter().map(|o| o.key(o.namespace())).collect(),
        };
        keys.into_iter().zip(objects).map(|(key, o)| Entry { key, version: o.gvk().version.clone() }).collect()
    }

    /// Applies objects in stages (resourceset §7.4). They carry the owner labels already.
    ///
    /// It may be dropped at any time: what it wrote by then is among [`Set::entries`].
    pub async fn apply(&self, objects: &[Arc<Object>], how: &ApplyHow) -> SetOutcome {
        match self.try_apply(objects, how).await {
            Ok(outcome) => outcome,
            Err(error) => SetOutcome { error: Some(error), ..SetOutcome::default() },
        }
    }

    async fn try_apply(&self, objects: &[Arc<Object>], how: &ApplyHow) -> Result<SetOutcome, String> {
        let cluster = self.cluster()?;
        let pass = self.pass(cluster, how);
        let (plan, keys) = self.owned().plan(objects, &pass).await.map_err(|e| e.to_string())?;
        let report = self.owned().carry_out(&plan, &pass, false).await;
        Ok(outcome(objects, &keys, &report))
    }

    /// Reads one live object.
    ///
    /// # Errors
    /// When it does not exist ([`ReadError::not_found`]) or cannot be read.
    pub async fn get(&self, gvk: &Gvk, namespace: Option<&str>, name: &str) -> Result<Value, ReadError> {
        let until = Instant::now() + self.owned().settings().deadline;
        let cluster = self.cluster().map_err(|message| ReadError { message, ..ReadError::default() })?;
        let kinds = self.owned().kinds_with(&BTreeSet::from([gvk.clone()]), until).await.map_err(unread)?;
        let kind = kinds.resolve(gvk).map_err(|e| unserved(gvk, &e))?;
        if name.is_empty() {
            return Err(ReadError { message: "resource name may not be empty".into(), ..ReadError::default() });
        }
        plain("resource name", name)?;
        plain("namespace", namespace.unwrap_or_default())?;
        let namespace = namespace.filter(|n| kind.namespaced && !n.is_empty());
        if kind.namespaced && namespace.is_none() {
            let message = "an empty namespace may not be set when a resource name is provided".into();
            return Err(ReadError { message, ..ReadError::default() });
        }
        let namespace = namespace.map(str::to_owned);
        let key = Key { group: gvk.group.clone(), kind: gvk.kind.clone(), namespace, name: name.to_owned() };
        cluster.fetch(kind, &key, until).await.map_err(unread)
    }

    pub(super) fn owned(&self) -> &Owned {
        &self.shared.owned
    }

    pub(super) fn cluster(&self) -> Result<&Cluster, String> {
        self.cluster.as_ref().map_err(Clone::clone)
    }

    pub(super) fn pass<'a>(&self, cluster: &'a Cluster, how: &'a ApplyHow) -> Pass<'a> {
        let watched = self.shared.runs.load(Ordering::Acquire);
        Pass { cluster, force: how.force, until: how.until, stop: &how.stop, watched }
    }
}

fn outcome(objects: &[Arc<Object>], keys: &[Key], report: &Report) -> SetOutcome {
    let reached = owned::reached(report);
    let changes = report.results.iter().filter_map(|result| {
        let action = match &result.done {
            Done::Created => ChangeAction::Created,
            Done::Configured | Done::Recreated => ChangeAction::Configured,
            Done::Unchanged => ChangeAction::Unchanged,
            Done::Skipped(SkipReason::IgnoredInFile) => ChangeAction::Skipped,
            Done::Skipped(_) | Done::Deleted | Done::Held(_) | Done::Failed(_) => return None,
        };
        let entry = Entry { key: result.key().clone(), version: result.target.gvk.version.clone() };
        Some(Change { entry, action })
    });
    let entries = keys.iter().zip(objects).filter(|(key, _)| reached.contains_key(key));
    let entry = |(key, object): (&Key, &Arc<Object>)| Entry { key: key.clone(), version: object.gvk().version.clone() };
    SetOutcome { changes: changes.collect(), inventory: entries.map(entry).collect(), error: owned::error_of(report) }
}

/// Refuses what would be more than one segment of a path. The API server undoes escapes before it looks for slashes, so that
/// `pod/log` or `service/proxy` in place of a name would read with these rights what is no object.
fn plain(what: &str, text: &str) -> Result<(), ReadError> {
    let wrong = match text {
        "." | ".." => format!("may not be '{text}'"),
        _ if text.contains('/') => "may not contain '/'".to_owned(),
        _ if text.contains('%') => "may not contain '%'".to_owned(),
        _ => return Ok(()),
    };
    Err(ReadError { message: format!("invalid {what} {text:?}: [{wrong}]"), ..ReadError::default() })
}

fn unread(error: RequestError) -> ReadError {
    let not_found = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NamespaceMissing | ErrorKind::KindMissing);
    ReadError { not_found, reason: error.reason().to_owned(), message: error.message().to_owned() }
}

fn unserved(gvk: &Gvk, error: &Unresolved) -> ReadError {
    let message = match error.is_certain() {
        true => format!("no matches for kind \"{}\" in version \"{}\"", gvk.kind, gvk.api_version()),
        false => error.to_string(),
    };
    ReadError { not_found: error.is_certain(), reason: String::new(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_more_than_a_name_in_a_path_is_refused() {
        for (text, why) in [
            ("web/log", "may not contain '/'"),
            ("web:80/proxy/admin", "may not contain '/'"),
            ("web%2Flog", "may not contain '%'"),
            ("..", "may not be '..'"),
        ] {
            let refused = plain("resource name", text).unwrap_err();
            assert_eq!(refused.message, format!("invalid resource name \"{text}\": [{why}]"));
        }
        assert!(["", "web", "system:node:a", "a.b"].iter().all(|text| plain("resource name", text).is_ok()));
    }
}
