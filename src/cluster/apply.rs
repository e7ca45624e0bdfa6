//! Server-side apply of one object.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;

use super::live::Tell;
use super::meta::Partial;
use super::request::{Call, JSON};
use super::{Cluster, ErrorKind, Fingerprint, KindInfo, RequestError, Uid, Version};
use crate::object::Key;

/// How an object is applied.
#[derive(Clone, Copy, Debug)]
pub struct ApplyOptions {
    /// Ask what would happen, change nothing.
    pub dry_run: bool,
    /// When retries end.
    pub until: Instant,
}

/// What became of an applied object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Which life of the object it is.
    pub uid: Uid,
    /// Its version after the apply.
    pub version: Version,
    /// Fingerprint of the fields that we own now.
    pub entry: Option<Fingerprint>,
    /// Whether it did not exist before.
    pub created: bool,
    /// Whether the object is as it was in the live index (false when it was not known there).
    pub unchanged: bool,
    /// Whether kubectl's client-side apply still owns fields, see [`Cluster::take_over`].
    pub take_over: bool,
    /// What the API server warned about.
    pub warnings: Vec<String>,
}

const HTTP_CREATED: u16 = 201;
/// JSON is YAML.
const APPLY_PATCH: &str = "application/apply-patch+yaml";

impl Cluster {
    /// Applies one object with force and notes the answer in the live index. `body` has the effective namespace, mark and
    /// checksum, and has been through [`super::normalise`].
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn apply(
        &self,
        kind: &Arc<KindInfo>,
        key: &Key,
        body: &Value,
        options: ApplyOptions,
    ) -> Result<Applied, RequestError> {
        let known = self.live().get(key);
        let unwritable = |e| RequestError::local(ErrorKind::Protocol, format!("cannot write {key} as JSON: {e}"));
        let bytes = serde_json::to_vec(body).map_err(unwritable)?;
        let uri = self.apply_uri(kind, key, options.dry_run);
        let call = Call::patch(uri, APPLY_PATCH, bytes, options.until);
        let answer = self.call(&call).await.map_err(|e| if is_secret(kind) { e.redact(values(body)) } else { e })?;
        let partial: Partial<'_> = answer.parse()?;
        let live = partial.metadata.to_live(kind, self.settings());
        let applied = Applied {
            uid: live.uid,
            version: live.version,
            entry: live.entry,
            created: answer.status == HTTP_CREATED,
            unchanged: known.is_some_and(|k| k.uid == live.uid && k.version == live.version),
            take_over: live.take_over,
            warnings: answer.warnings.clone(),
        };
        if !options.dry_run {
            self.live().note(live, Tell::Nothing);
        }
        Ok(applied)
    }

    /// Asks what an apply would make of an object, and changes nothing.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn dry_run(
        &self,
        kind: &KindInfo,
        key: &Key,
        body: &Value,
        until: Instant,
    ) -> Result<Value, RequestError> {
        let unwritable = |e| RequestError::local(ErrorKind::Protocol, format!("cannot write {key} as JSON: {e}"));
        let bytes = serde_json::to_vec(body).map_err(unwritable)?;
        let mut call = Call::patch(self.apply_uri(kind, key, true), APPLY_PATCH, bytes, until);
        call.accept = JSON;
        let answer = self.call(&call).await.map_err(|e| if is_secret(kind) { e.redact(values(body)) } else { e })?;
        answer.parse()
    }

    fn apply_uri(&self, kind: &KindInfo, key: &Key, dry_run: bool) -> String {
        let settings = self.settings();
        let path = kind.path(key.namespace.as_deref(), &key.name);
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("fieldManager", &settings.field_manager)
            .append_pair("force", "true")
            .append_pair("fieldValidation", settings.validation.parameter())
            .extend_pairs(dry_run.then_some(("dryRun", "All")))
            .finish();
        format!("{path}?{query}")
    }
}

fn is_secret(kind: &KindInfo) -> bool {
    kind.gvk.group.is_empty() && kind.gvk.kind == "Secret"
}

/// The texts of a Secret's values.
fn values(secret: &Value) -> Vec<String> {
    let maps = ["data", "stringData"].into_iter().filter_map(|field| secret.get(field)?.as_object());
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    maps.flat_map(|map| map.values().map(text)).collect()
}
