//! Policies: what users ask of us by annotations on an object (fluxd-v1 §3.6).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Annotation prefixes that carry policies, strongest first. The third holds tag filters only.
pub const POLICY_PREFIXES: [&str; 3] = ["fluxcd.io/", "flux.weave.works/", "filter.fluxcd.io/"];

/// Our own annotation for the policy `pin`: images are written with their digest.
pub const PIN_ANNOTATION: &str = "fluxd.io/pin";

/// What the `ignore` policy asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignore {
    /// Neither apply nor delete it.
    Always,
    /// Apply it, but never delete it.
    SyncOnly,
}

/// The policies of one object, by name without prefix; `tag.⟨container⟩` for tag filters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies(BTreeMap<String, String>);

impl Policies {
    /// Reads them from `metadata.annotations`. Where two prefixes set the same policy, the earlier of
    /// [`POLICY_PREFIXES`] wins. A boolean or number written without quotes counts by its text.
    pub fn from_annotations(annotations: &Map<String, Value>) -> Self {
        let mut found = BTreeMap::new();
        if let Some(text) = annotations.get(PIN_ANNOTATION).and_then(scalar_text) {
            found.insert("pin".to_owned(), text);
        }
        for prefix in POLICY_PREFIXES.iter().rev() {
            for (key, value) in annotations {
                let (Some(name), Some(text)) = (key.strip_prefix(prefix), scalar_text(value)) else { continue };
                let name = if *prefix == "filter.fluxcd.io/" { format!("tag.{name}") } else { name.to_owned() };
                found.insert(name, text);
            }
        }
        Self(found)
    }

    /// The value of a policy.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Whether a boolean policy is set: only the text `true` counts.
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// What `ignore` asks for; any other value than `true` and `sync_only` counts as absent.
    pub fn ignore(&self) -> Option<Ignore> {
        match self.get("ignore")? {
            "true" => Some(Ignore::Always),
            "sync_only" => Some(Ignore::SyncOnly),
            _ => None,
        }
    }

    /// All of them, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}

/// The text of a string, a boolean or a number.
pub(super) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Bool(b) => Some(b.to_string()),
        Value::Number(n) => Some(n.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
