//! What can go wrong between us and the API server, in the words that kubectl's users know, and with the facts that decide
//! about a retry.

use std::fmt;
use std::time::Duration;

/// What kind of failure a request ended in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Another writer came between, or a precondition did not hold.
    Conflict,
    /// The object breaks its schema or a validation rule; the causes name the fields.
    Invalid,
    /// A field that cannot change after creation would have to.
    Immutable,
    /// The request could not be understood, for instance an unknown field under strict validation.
    BadRequest,
    /// An admission webhook or admission policy said no.
    Denied,
    /// We lack the permission.
    Forbidden,
    /// The API server does not know who we are.
    Unauthorized,
    /// The object does not exist.
    NotFound,
    /// The API server has no such kind (any more).
    KindMissing,
    /// The object's namespace does not exist.
    NamespaceMissing,
    /// The object's namespace is being deleted, so nothing can be created in it.
    NamespaceTerminating,
    /// A list's or a watch's place in history is gone: begin anew.
    Expired,
    /// The request is larger than the API server or etcd takes.
    TooLarge,
    /// The API server asks for patience.
    Throttled,
    /// No answer in time.
    Timeout,
    /// The API server, or something it needs, cannot be reached right now.
    Unavailable,
    /// An answer that makes no sense to us.
    Protocol,
    /// Anything else that the API server refused.
    Other,
}

impl ErrorKind {
    /// Whether the same request may well succeed a little later.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Conflict | Self::Throttled | Self::Timeout | Self::Unavailable)
    }
}

/// One field that the API server did not like.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct Cause {
    /// Path of the field, may be empty.
    #[serde(default)]
    pub field: String,
    /// What is wrong with it.
    #[serde(default)]
    pub message: String,
    /// The API server's word for it, such as `FieldValueInvalid`.
    #[serde(default)]
    pub reason: String,
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    kind: ErrorKind,
    status: u16,
    reason: String,
    message: String,
    causes: Vec<Cause>,
    retry_after: Option<Duration>,
}

impl RequestError {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The HTTP status, 0 when there was no answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The API server's own word, such as `AlreadyExists`; empty when there was no answer.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The message without the leading words of [`fmt::Display`].
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The fields that were not liked, if the API server named them.
    pub fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// How long the API server asked us to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Takes texts out of the message and the causes, longest first, so that no value of a Secret is told.
    pub(super) fn redact(mut self, mut secrets: Vec<String>) -> Self {
        secrets.sort_by_key(|s| std::cmp::Reverse(s.len()));
        let clean = |text: &mut String| {
            for secret in secrets.iter().filter(|s| !s.is_empty()) {
                *text = text.replace(secret.as_str(), "[redacted]");
            }
            // Decoders quote what stands around a mistake, maybe cut in the middle of a value.
            if let Some(at) = text.find(", error found in #") {
                text.truncate(at);
            }
        };
        clean(&mut self.message);
        self.causes.iter_mut().for_each(|c| clean(&mut c.message));
        self
    }

    /// A failure without an answer.
    pub(super) fn local(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: 0, reason: String::new(), message: message.into(), causes: Vec::new(), retry_after: None }
    }

    /// Takes apart what the API server answered with a failing status. Bodies that are no `Status` (a proxy's, say) count by
    /// their text, cut short.
    pub(super) fn from_answer(status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        let parsed: Status = serde_json::from_slice(body).unwrap_or_default();
        let details = parsed.details.unwrap_or_default();
        let message = match parsed.message {
            Some(message) if !message.is_empty() => message,
            _ => plain_text(status, body),
        };
        let retry_after =
            retry_after.or(details.retry_after_seconds.filter(|s| *s > 0).map(|s| Duration::from_secs(s.into())));
        let mut error = Self {
            kind: ErrorKind::Other,
            status,
            reason: parsed.reason.unwrap_or_default(),
            message,
            causes: details.causes,
            retry_after,
        };
        error.kind = classify(&error, &details.kind);
        error
    }
}

impl std::error::Error for RequestError {}

impl fmt::Display for RequestError {
    /// kubectl's words: `Error from server (Conflict): ⟨message⟩`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.status == 0 {
            return f.write_str(&self.message);
        }
        let reason = if self.reason.is_empty() { "Unknown" } else { &self.reason };
        write!(f, "Error from server ({reason}): {}", self.message)
    }
}

#[derive(Default, serde::Deserialize)]
struct Status {
    message: Option<String>,
    reason: Option<String>,
    details: Option<Details>,
}

#[derive(Default, serde::Deserialize)]
struct Details {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    causes: Vec<Cause>,
    #[serde(rename = "retryAfterSeconds")]
    retry_after_seconds: Option<u32>,
}

/// Longest excerpt of an answer that is no `Status`, in characters.
const EXCERPT: usize = 300;

fn plain_text(status: u16, body: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(body).trim().chars().take(EXCERPT).collect();
    if text.is_empty() { format!("HTTP status {status} without a message") } else { text }
}

/// The API server has one status for several situations; its messages (stable for years, and tested against a real one)
/// tell them apart.
fn classify(e: &RequestError, about: &str) -> ErrorKind {
    let says = |text: &str| e.message.contains(text);
    let caused = |reason: &str| e.causes.iter().any(|c| c.reason == reason);
    if caused("NamespaceTerminating") || (e.status == 403 && says("because it is being terminated")) {
        return ErrorKind::NamespaceTerminating;
    }
    if (says("admission webhook") && says("denied the request"))
        || (says("ValidatingAdmissionPolicy") && says("denied"))
    {
        return ErrorKind::Denied;
    }
    match e.status {
        400 => ErrorKind::BadRequest,
        401 => ErrorKind::Unauthorized,
        403 => ErrorKind::Forbidden,
        404 if says("could not find the requested resource") || says("404 page not found") => ErrorKind::KindMissing,
        404 if about == "namespaces" || (says("namespaces \"") && says("\" not found")) => ErrorKind::NamespaceMissing,
        404 => ErrorKind::NotFound,
        409 => ErrorKind::Conflict,
        410 => ErrorKind::Expired,
        413 => ErrorKind::TooLarge,
        422 if is_immutable(e) => ErrorKind::Immutable,
        422 => ErrorKind::Invalid,
        429 => ErrorKind::Throttled,
        500 if says("etcdserver: request is too large") || says("trying to send message larger than max") => {
            ErrorKind::TooLarge
        }
        // What server-side apply says of unknown fields and duplicate keys, under a status that reads like an outage.
        500 if says("failed to create typed patch object") || says("field not declared in schema") => {
            ErrorKind::BadRequest
        }
        504 => ErrorKind::Timeout,
        500 | 502 | 503 => ErrorKind::Unavailable,
        _ => ErrorKind::Other,
    }
}

fn is_immutable(e: &RequestError) -> bool {
    const WORDS: [&str; 5] = [
        "field is immutable",
        "may not be changed",
        "cannot change roleRef",
        "updates to statefulset spec for fields other than",
        "is immutable after creation",
    ];
    let says = |text: &str| WORDS.iter().any(|w| text.contains(w));
    // With another cause beside it, making the object anew would fail as well, and the object would be gone.
    if e.causes.is_empty() { says(&e.message) } else { e.causes.iter().all(|c| says(&c.message)) }
}
