//! Reads of metadata: our marked objects over all kinds, single objects, and all objects of a kind.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures::StreamExt;
use tokio::time::Instant;

use super::list::Query;
use super::live::Tell;
use super::meta::Partial;
use super::request::{Call, METADATA};
use super::{Cluster, ErrorKind, KindInfo, LiveObject, Mark, RequestError, Version};
use crate::object::{Gvk, Key};

/// A kind (or a whole group) that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadFailure {
    /// Group, version and kind. The kind is empty for a group and version whose discovery failed; all is empty when nothing
    /// could be discovered.
    pub gvk: Gvk,
    /// The namespace, when only one could not be read.
    pub namespace: Option<String>,
    /// Whether we lack the permission. Such a kind is not ours to look after (fluxd-v1 §5.7); it is kept as it is.
    pub forbidden: bool,
    /// What went wrong.
    pub reason: String,
}

/// The outcome of reading our marked objects over all kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkedRead {
    /// Whether every kind was read, those aside that we may not read.
    pub complete: bool,
    /// What could not be read. Nothing may be concluded from the absence of objects of these.
    pub failures: Vec<ReadFailure>,
    /// Kinds in which objects of ours were found.
    pub kinds_in_use: BTreeSet<Gvk>,
}

impl MarkedRead {
    /// Whether the objects of a kind are known for certain (in the namespace, if one is given).
    pub fn covers(&self, group: &str, kind: &str, namespace: Option<&str>) -> bool {
        !self.failures.iter().any(|f| {
            let everything = f.gvk.version.is_empty() && f.gvk.kind.is_empty() && f.gvk.group.is_empty();
            let same_kind = f.gvk.group == group && (f.gvk.kind.is_empty() || f.gvk.kind == kind);
            let same_place = f.namespace.is_none() || namespace.is_none() || f.namespace.as_deref() == namespace;
            everything || (same_kind && same_place)
        })
    }

    fn fail(&mut self, gvk: Gvk, namespace: Option<&str>, error: &RequestError) {
        let forbidden = error.kind() == ErrorKind::Forbidden;
        let namespace = namespace.map(str::to_owned);
        self.failures.push(ReadFailure { gvk, namespace, forbidden, reason: error.to_string() });
    }
}

/// One list to be made.
struct Task {
    kind: Arc<KindInfo>,
    namespace: Option<String>,
}

impl Cluster {
    /// Reads the metadata of all our marked objects into the live index, kind by kind. What others changed or removed since
    /// is told to [`super::Live::changed`]; objects seen for the first time are not, as the caller looks at everything next.
    /// Takes a new snapshot of discovery first.
    pub async fn read_marked(&self, until: Instant) -> MarkedRead {
        let mut read = MarkedRead::default();
        let kinds = match self.refresh_kinds(until).await {
            Ok(kinds) => kinds,
            Err(error) => {
                read.fail(Gvk::new("", ""), None, &error);
                return read;
            }
        };
        for (group_version, reason) in kinds.failed(&self.settings().exclude) {
            let gvk = Gvk::new(&group_version, "");
            read.failures.push(ReadFailure { gvk, namespace: None, forbidden: false, reason });
        }
        let namespaces = self.allowed_namespaces(&mut read, until).await;
        let listable = kinds.listable(&self.settings().exclude);
        // The futures are made first: a closure that lives across an await keeps the compiler from seeing that all is `Send`.
        let tasks = listable.iter().flat_map(|kind| tasks(kind, namespaces.as_deref()));
        let tasks: Vec<_> = tasks.map(|t| self.read_task(t, until)).collect();
        let mut lists = futures::stream::iter(tasks).buffer_unordered(self.settings().concurrency);
        while let Some((task, result)) = lists.next().await {
            match result {
                Ok(0) => {}
                Ok(_) => {
                    read.kinds_in_use.insert(task.kind.gvk.clone());
                }
                Err(error) => read.fail(task.kind.gvk.clone(), task.namespace.as_deref(), &error),
            }
        }
        drop(lists);
        self.forgive_vanished(&mut read, until).await;
        read.complete = read.failures.iter().all(|f| f.forbidden);
        read
    }

    /// Reads the metadata of one object, whosever it is. Our own are noted in the live index.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn read_meta(
        &self,
        kind: &Arc<KindInfo>,
        key: &Key,
        until: Instant,
    ) -> Result<Option<LiveObject>, RequestError> {
        let uri = kind.path(key.namespace.as_deref(), &key.name);
        match self.call(&Call::get("get", uri, METADATA, until)).await {
            Ok(answer) => {
                let partial: Partial<'_> = answer.parse()?;
                let live = partial.metadata.to_live(kind, self.settings());
                self.live().note(live.clone(), Tell::Nothing);
                Ok(Some(live))
            }
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NamespaceMissing) => {
                self.live().note_gone(key, Version(0), Tell::Nothing);
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Reads the metadata of all objects of a kind (in one namespace), whosever they are.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn list_meta(
        &self,
        kind: &Arc<KindInfo>,
        namespace: Option<&str>,
        until: Instant,
    ) -> Result<Vec<LiveObject>, RequestError> {
        let query = Query { kind, namespace, marked: false, until };
        self.list_live(query).await.map(|(objects, _)| objects)
    }

    /// Lists our objects of one scope into the live index, remembers where a watch may go on, and counts them.
    pub(super) async fn read_scope(&self, query: Query<'_>, tell: Tell) -> Result<usize, RequestError> {
        let (objects, version) = self.list_live(query).await?;
        let scope = query.scope();
        if self.note_list(&scope, Version::new(&version)) {
            tracing::warn!(kind = %query.kind.gvk, "the API server's versions went backwards; looking at everything anew");
            self.live().forget(&scope);
        }
        let listed: HashSet<_> = objects.iter().map(|o| o.uid).collect();
        let ours = objects.into_iter().filter(|o| o.mark != Mark::None && self.settings().is_allowed(&o.key()));
        let mut count = 0;
        for object in ours {
            count += usize::from(object.mark == Mark::Ours);
            self.live().note(object, tell);
        }
        self.live().retain_listed(&scope, &listed, Version::new(&version));
        self.set_position(&scope, version);
        Ok(count)
    }

    async fn read_task(&self, task: Task, until: Instant) -> (Task, Result<usize, RequestError>) {
        let query = Query { kind: &task.kind, namespace: task.namespace.as_deref(), marked: true, until };
        let result = self.read_scope(query, Tell::Changes).await;
        (task, result)
    }

    /// The namespaces to look into, `None` for all. One that cannot be read is left out with a warning, once (fluxd-v1 §5.8);
    /// one about which nothing can be said is a failure.
    async fn allowed_namespaces(&self, read: &mut MarkedRead, until: Instant) -> Option<Vec<String>> {
        if self.settings().allow_namespaces.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        for name in &self.settings().allow_namespaces {
            match self.is_readable_namespace(name, until).await {
                Ok(true) => found.push(name.clone()),
                Ok(false) => {}
                // Without a kind the failure would speak for a whole group: the namespace itself is what is unknown.
                Err(error) => {
                    read.fail(Gvk::new("v1", "Namespace"), Some(name), &error);
                    found.push(name.clone());
                }
            }
        }
        Some(found)
    }

    /// Whether an allowed namespace exists and may be read; tells the user when it cannot, once.
    pub(super) async fn is_readable_namespace(&self, name: &str, until: Instant) -> Result<bool, RequestError> {
        let uri = format!("/api/v1/namespaces/{name}");
        let error = match self.call(&Call::get("get", uri, METADATA, until)).await {
            Ok(_) => {
                self.note_namespace(name, true);
                return Ok(true);
            }
            Err(error) => error,
        };
        let missing = matches!(error.kind(), ErrorKind::NamespaceMissing | ErrorKind::NotFound | ErrorKind::Forbidden);
        if !missing {
            return Err(error);
        }
        if self.note_namespace(name, false) {
            tracing::warn!(namespace = name, err = %error, "cannot access allowed namespace");
        }
        Ok(false)
    }

    /// A CustomResourceDefinition that went away between discovery and list took its objects with it: that is no failure
    /// (fluxd-v1-errata 12b).
    async fn forgive_vanished(&self, read: &mut MarkedRead, until: Instant) {
        const TEXT: &str = "could not find the requested resource";
        if !read.failures.iter().any(|f| f.reason.contains(TEXT)) {
            return;
        }
        let Ok(kinds) = self.refresh_kinds(until).await else { return };
        let is_gone = |gvk: &Gvk| matches!(kinds.resolve(gvk), Err(e) if e.is_certain());
        read.failures.retain(|f| !(f.reason.contains(TEXT) && is_gone(&f.gvk)));
    }
}

fn tasks(kind: &Arc<KindInfo>, namespaces: Option<&[String]>) -> Vec<Task> {
    match namespaces {
        Some(names) if kind.namespaced => {
            names.iter().map(|n| Task { kind: Arc::clone(kind), namespace: Some(n.clone()) }).collect()
        }
        _ => vec![Task { kind: Arc::clone(kind), namespace: None }],
    }
}
