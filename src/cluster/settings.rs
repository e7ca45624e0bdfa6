//! What a connection to a cluster needs to be told: who we are, what is ours, what to leave alone, and bounds.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::meta::{CLIENT_SIDE_APPLY, LAST_APPLIED};
use crate::object::{Glob, Key};

/// How strictly the API server checks the fields of what we apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Validation {
    /// Unknown and duplicate fields are errors.
    #[default]
    Strict,
    /// They are warnings.
    Warn,
    /// They are dropped in silence.
    Ignore,
}

impl Validation {
    /// The value of the request parameter `fieldValidation`.
    pub(super) fn parameter(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Warn => "Warn",
            Self::Ignore => "Ignore",
        }
    }
}

/// Decides by key and mark whether an object with our label is ours (objects of other sync sets carry other marks).
pub type Owns = Arc<dyn Fn(&Key, &str) -> bool + Send + Sync>;

/// A label or annotation with the value that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// The key.
    pub key: String,
    /// The value; letter case is nobody's business.
    pub value: String,
}

impl Keyed {
    /// Makes one.
    pub fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned() }
    }

    /// Whether a value counts.
    pub fn is(&self, value: &str) -> bool {
        value.eq_ignore_ascii_case(&self.value)
    }
}

/// A field manager whose fields (of the main resource) become ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its name, or how its name begins.
    pub manager: String,
    /// Whether all managers count whose names begin so.
    pub prefix: bool,
    /// Whether fields that it set by updates are taken.
    pub update: bool,
    /// Whether fields that it set by server-side apply are taken.
    pub apply: bool,
}

impl Taken {
    /// Fields that a manager of this name set by updates.
    pub fn updated(manager: &str) -> Self {
        Self { manager: manager.to_owned(), prefix: false, update: true, apply: false }
    }

    /// Fields that a manager of this name set by server-side apply.
    pub fn applied(manager: &str) -> Self {
        Self { update: false, apply: true, ..Self::updated(manager) }
    }

    /// Whether an entry of managed fields is meant.
    pub fn is(&self, manager: &str, operation: &str) -> bool {
        let named = if self.prefix { manager.starts_with(&self.manager) } else { manager == self.manager };
        named && ((self.update && operation == "Update") || (self.apply && operation == "Apply"))
    }
}

/// What leaves other tools when an object becomes ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adoption {
    /// Managers whose fields become ours.
    pub taken: Vec<Taken>,
    /// Whether of fields older than all managers those become ours that kubectl's own record says it had set.
    pub recorded: bool,
    /// Annotations that go.
    pub annotations: Vec<String>,
    /// Labels that go.
    pub labels: Vec<String>,
    /// Whether annotations and labels go also where no fields move.
    pub alone: bool,
}

impl Adoption {
    /// From kubectl's client-side apply, and nobody else.
    pub fn kubectl() -> Self {
        Self {
            taken: CLIENT_SIDE_APPLY.map(Taken::updated).to_vec(),
            recorded: true,
            annotations: vec![LAST_APPLIED.to_owned()],
            labels: Vec::new(),
            alone: false,
        }
    }
}

/// Hears of every finished request: the verb (`get`, `list`, `watch`, `patch`, `delete`) and the HTTP status, 0 when there
/// was no answer.
pub type OnRequest = Arc<dyn Fn(&'static str, u16) + Send + Sync>;

/// How a cluster is worked with.
#[derive(Clone)]
pub struct Settings {
    /// Field manager of everything we write.
    pub field_manager: String,
    /// Label that every object of ours carries, and by whose presence reads select.
    pub mark_label: String,
    /// Says which marked objects are ours; others are never stored.
    pub owns: Owns,
    /// Namespaces we may look at; empty means all (fluxd-v1 §5.8).
    pub allow_namespaces: Vec<String>,
    /// Kinds left out of reads: globs over `⟨group/version⟩/` and `⟨group/version⟩/⟨Kind⟩` (fluxd-v1 §5.7).
    pub exclude: Vec<Glob>,
    /// How strictly fields are checked.
    pub validation: Validation,
    /// What leaves other tools when an object becomes ours.
    pub adoption: Adoption,
    /// Whether Flux v1's policy `ignore` on live objects counts.
    pub policies: bool,
    /// Bounds the requests in flight over all users of the cluster's handle, watches aside.
    pub in_flight: Option<Arc<Semaphore>>,
    /// Most requests that one bulk read keeps in flight.
    pub concurrency: usize,
    /// Longest time for one request; several may be made within a call's deadline.
    pub request_timeout: Duration,
    /// Objects per page of a list.
    pub page_size: u32,
    /// Hears of every request.
    pub on_request: OnRequest,
}

impl Settings {
    /// Usual values: strict validation, 16 reads in flight, 30 s per request, pages of 500, no restriction.
    pub fn new(field_manager: &str, mark_label: &str, owns: Owns) -> Self {
        Self {
            field_manager: field_manager.to_owned(),
            mark_label: mark_label.to_owned(),
            owns,
            allow_namespaces: Vec::new(),
            exclude: Vec::new(),
            validation: Validation::default(),
            adoption: Adoption::kubectl(),
            policies: true,
            in_flight: None,
            concurrency: 16,
            request_timeout: Duration::from_secs(30),
            page_size: 500,
            on_request: Arc::new(|_, _| {}),
        }
    }

    /// Whether an object in this namespace (or the Namespace itself) may be looked at.
    pub fn is_allowed(&self, key: &Key) -> bool {
        if self.allow_namespaces.is_empty() {
            return true;
        }
        let listed = |n: &str| self.allow_namespaces.iter().any(|allowed| allowed == n);
        match &key.namespace {
            Some(namespace) => listed(namespace),
            None if key.group.is_empty() && key.kind == "Namespace" => listed(&key.name),
            None => true,
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("field_manager", &self.field_manager)
            .field("mark_label", &self.mark_label)
            .field("allow_namespaces", &self.allow_namespaces)
            .field("exclude", &self.exclude)
            .finish_non_exhaustive()
    }
}
