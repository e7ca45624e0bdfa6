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
    /// Whether the object comes from an encrypted file: no refusal quotes its values then.
    pub sealed: bool,
    /// Whether the whole object is wanted back, not only what is kept of it.
    pub whole: bool,
}

/// What an apply would make of an object.
#[derive(Clone, Debug)]
pub struct DryRun {
    /// Whether it does not exist yet.
    pub created: bool,
    /// The object as it would be; `null` when it does not exist yet.
    pub object: Value,
}

/// What became of an applied object.
#[derive(Clone, Debug, PartialEq)]
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
    /// The whole object, if it was asked for.
    pub object: Option<Value>,
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
        let mut call = Call::patch(uri, APPLY_PATCH, bytes, options.until);
        if options.whole {
            call.accept = JSON;
        }
        let answer = self.call(&call).await.map_err(|e| redacted(e, kind, body, options.sealed))?;
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
            object: if options.whole { Some(answer.parse()?) } else { None },
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
        options: ApplyOptions,
    ) -> Result<DryRun, RequestError> {
        let unwritable = |e| RequestError::local(ErrorKind::Protocol, format!("cannot write {key} as JSON: {e}"));
        let bytes = serde_json::to_vec(body).map_err(unwritable)?;
        let mut call = Call::patch(self.apply_uri(kind, key, true), APPLY_PATCH, bytes, options.until);
        call.accept = JSON;
        let answer = self.call(&call).await.map_err(|e| redacted(e, kind, body, options.sealed))?;
        let created = answer.status == HTTP_CREATED;
        Ok(DryRun { created, object: if created { Value::Null } else { answer.parse()? } })
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

/// Without the values that are not for everybody who reads errors: those of Secrets, and all of an encrypted file.
fn redacted(error: RequestError, kind: &KindInfo, body: &Value, sealed: bool) -> RequestError {
    if sealed {
        error.redact(sealed_values(body))
    } else if is_secret(kind) {
        error.redact(values(body))
    } else {
        error
    }
}

/// The texts of all values that an encrypted file may hide. What says which object it is stays readable, and so do short
/// numbers and truth values, of which messages are full.
fn sealed_values(object: &Value) -> Vec<String> {
    const SHOWN: [&str; 3] = ["apiVersion", "kind", "metadata"];
    let mut found = Vec::new();
    let fields = object.as_object().into_iter().flatten().filter(|(field, _)| !SHOWN.contains(&field.as_str()));
    fields.for_each(|(_, value)| leaves(value, &mut found));
    found.retain(|text| text.len() > 3 && !matches!(text.as_str(), "true" | "false"));
    found
}

fn is_secret(kind: &KindInfo) -> bool {
    kind.gvk.group.is_empty() && kind.gvk.kind == "Secret"
}

/// The texts of a Secret's values.
fn values(secret: &Value) -> Vec<String> {
    let mut found = Vec::new();
    ["data", "stringData"].into_iter().filter_map(|field| secret.get(field)).for_each(|map| leaves(map, &mut found));
    found
}

/// The scalars of a value, however deep: messages about a wrong type quote what stands in its place. As they are, and as
/// text in quotes is written.
fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.values().for_each(|value| leaves(value, found)),
        Value::Array(items) => items.iter().for_each(|value| leaves(value, found)),
        Value::Null => (),
        Value::String(text) => {
            let quoted = value.to_string();
            found.push(quoted.trim_matches('"').to_owned());
            found.push(text.clone());
        }
        other => found.push(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_encrypted_object_of_any_kind_shows_what_it_is_and_no_value() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shown"},
            "data": {"password": "canary", "on": true, "port": 80, "pin": 123_456}});
        assert_eq!(sealed_values(&object), ["canary", "canary", "123456"]);
    }

    #[test]
    fn the_values_of_a_secret_are_found_however_deep_they_are() {
        let secret = json!({"metadata": {"name": "shown"}, "data": {"a": "eA=="}, "stringData":
            {"b": ["in a list", {"c": 17}], "d": "two\nlines", "e": null}});
        let found = values(&secret);
        for value in ["eA==", "in a list", "17", "two\nlines", "two\\nlines"] {
            assert!(found.iter().any(|text| text == value), "{value} is not in {found:?}");
        }
        assert!(!found.iter().any(|text| text == "shown"), "{found:?}");
    }
}
