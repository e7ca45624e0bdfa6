//! Single writes besides apply: taking over the fields of kubectl's client-side apply, and deletion.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::live::Tell;
use super::meta::{Metadata, Partial};
use super::request::{Call, JSON, METADATA, Raw};
use super::takeover::{needs_take_over, take_over_patch};
use super::{Cluster, ErrorKind, Keyed, KindInfo, LiveObject, Mark, RequestError, Uid, Version};
use crate::object::Key;

/// What became of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// The API server took it; dependants follow in the background.
    Done,
    /// It took it, and the object waits for its finalizers.
    Terminating,
    /// It was gone before.
    AlreadyGone,
    /// It is not ours (any more): another mark, another life of the name, an owner, or an `ignore` policy. Left alone.
    NotOurs,
}

/// When the dependants of a deleted object go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cascade {
    /// After it.
    Background,
    /// Before it.
    Foreground,
}

/// How an object is deleted.
pub struct Deletion<'a> {
    /// Whether it may be, given a fresh look at it.
    pub may: &'a (dyn Fn(&Seen<'_>) -> bool + Sync),
    /// When its dependants go.
    pub cascade: Cascade,
}

/// A live object as it was seen before a deletion.
pub struct Seen<'a> {
    /// What is kept of it.
    pub live: &'a LiveObject,
    metadata: &'a Metadata<'a>,
}

impl Seen<'_> {
    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.label(key)
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotation(key)
    }

    /// Whether it carries a label or an annotation whose value counts.
    pub fn says(&self, word: &Keyed) -> bool {
        [self.label(&word.key), self.annotation(&word.key)].into_iter().flatten().any(|value| word.is(value))
    }
}

/// How often a write starts over from a fresh read because the object moved meanwhile.
const ROUNDS: u32 = 5;

impl Cluster {
    /// Moves fields of other managers to us as [`super::Adoption`] says, so that what is no longer wanted then leaves the
    /// cluster. `body` is what is to be applied. Answers whether anything had to move.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn take_over(
        &self,
        kind: &Arc<KindInfo>,
        key: &Key,
        body: &Value,
        until: Instant,
    ) -> Result<bool, RequestError> {
        let uri = kind.path(key.namespace.as_deref(), &key.name);
        let mut round = 1;
        loop {
            let answer = match self.call(&Call::get("get", uri.clone(), METADATA, until)).await {
                Ok(answer) => answer,
                Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NamespaceMissing) => return Ok(false),
                Err(e) => return Err(e),
            };
            let object: Value = answer.parse()?;
            let metadata = object.get("metadata").unwrap_or(&Value::Null);
            let (manager, adoption) = (&self.settings().field_manager, &self.settings().adoption);
            let version = kind.gvk.api_version();
            let Some(patch) = take_over_patch(metadata, &body["metadata"], (manager, adoption), &version) else {
                return Ok(false);
            };
            let patch_uri = format!("{uri}?{}", manager_query(manager));
            let body = patch.to_string().into_bytes();
            let mut call = Call::patch(patch_uri, "application/json-patch+json", body, until);
            call.retry_conflict = false;
            match self.call(&call).await {
                Ok(answer) => {
                    let partial: Partial<'_> = answer.parse()?;
                    self.live().note(partial.metadata.to_live(kind, self.settings()), Tell::Nothing);
                    return Ok(true);
                }
                Err(e) if e.kind() == ErrorKind::Conflict && round < ROUNDS => round += 1,
                Err(e) => return Err(e),
            }
        }
    }

    /// Whether [`Cluster::take_over`] has something to do, given a live object as it was read.
    pub fn needs_take_over(&self, live: &Value, body: &Value) -> bool {
        needs_take_over(&live["metadata"], &body["metadata"], &self.settings().adoption)
    }

    /// Deletes one object of ours after a fresh look at its mark, only in the life `uid` and only as it was seen then.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn delete(
        &self,
        kind: &Arc<KindInfo>,
        key: &Key,
        uid: Uid,
        until: Instant,
    ) -> Result<Deleted, RequestError> {
        let may = |seen: &Seen<'_>| is_deletable(seen.live, uid);
        self.delete_if(kind, key, &Deletion { may: &may, cascade: Cascade::Background }, until).await
    }

    /// Deletes one object if a fresh look at it allows, only as it was seen then.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn delete_if(
        &self,
        kind: &Arc<KindInfo>,
        key: &Key,
        deletion: &Deletion<'_>,
        until: Instant,
    ) -> Result<Deleted, RequestError> {
        let mut round = 1;
        loop {
            let uri = kind.path(key.namespace.as_deref(), &key.name);
            let answer = match self.call(&Call::get("get", uri, METADATA, until)).await {
                Ok(answer) => answer,
                Err(e) if is_gone(&e) => return Ok(self.gone(key, Deleted::AlreadyGone)),
                Err(e) => return Err(e),
            };
            let partial: Partial<'_> = answer.parse()?;
            let live = partial.metadata.to_live(kind, self.settings());
            if !(deletion.may)(&Seen { live: &live, metadata: &partial.metadata }) {
                self.live().note(live, Tell::Nothing);
                return Ok(Deleted::NotOurs);
            }
            if live.deleting {
                return Ok(Deleted::Terminating);
            }
            let seen = (&*partial.metadata.uid, &*partial.metadata.resource_version);
            match self.delete_seen(kind, key, (seen, deletion.cascade), until).await {
                Err(e) if is_gone(&e) => return Ok(self.gone(key, Deleted::AlreadyGone)),
                Err(e) if e.kind() == ErrorKind::Conflict && round < ROUNDS => round += 1,
                other => return other,
            }
        }
    }

    async fn delete_seen(
        &self,
        kind: &KindInfo,
        key: &Key,
        (seen, cascade): ((&str, &str), Cascade),
        until: Instant,
    ) -> Result<Deleted, RequestError> {
        let policy = match cascade {
            Cascade::Background => "Background",
            Cascade::Foreground => "Foreground",
        };
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy,
            "preconditions": {"uid": seen.0, "resourceVersion": seen.1},
        });
        let call = Call {
            verb: "delete",
            method: Method::DELETE,
            uri: kind.path(key.namespace.as_deref(), &key.name),
            accept: JSON,
            content_type: JSON,
            body: Bytes::from(options.to_string()),
            retry_conflict: false,
            until,
        };
        let answer = self.call(&call).await?;
        let left: Left<'_> = answer.parse()?;
        let waits = left.kind != "Status" && left.metadata.is_some_and(|m| m.deletion_timestamp.is_some());
        Ok(if waits { Deleted::Terminating } else { self.gone(key, Deleted::Done) })
    }

    fn gone(&self, key: &Key, how: Deleted) -> Deleted {
        self.live().note_gone(key, Version(0), Tell::Nothing);
        how
    }
}

/// What the API server answers to a deletion: a `Status` when the object is gone, else the object as it is now.
#[derive(Deserialize)]
struct Left<'a> {
    #[serde(default)]
    kind: String,
    #[serde(borrow, default)]
    metadata: Option<LeftMetadata<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeftMetadata<'a> {
    #[serde(borrow, default)]
    deletion_timestamp: Option<Raw<'a>>,
}

fn is_gone(e: &RequestError) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NamespaceMissing)
}

fn is_deletable(live: &LiveObject, uid: Uid) -> bool {
    live.uid == uid && live.mark == Mark::Ours && !live.has_owner && live.ignore.is_none()
}

pub(super) fn manager_query(manager: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("fieldManager", manager).finish()
}
