//! The API's errors: whose fault, a short text for programs and a long one for people (fluxd-v1 §8.2). How they travel
//! over HTTP is the server's business.

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::DecodeError;

/// Whose fault an error is, which decides the HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// What was asked for does not exist: 404.
    Missing,
    /// The request or the user's repository is wrong: 422.
    User,
    /// The daemon or what it depends on failed: 500.
    Server,
    /// Too much at once; nothing was done: 503.
    Busy,
    /// Nobody knows who asks: 401. v1 never answered so; its clients print help of their own for it.
    Unauthorized,
    /// Who asks may not: 403.
    Forbidden,
    /// Nobody classified it: 422, with a help text that quotes it.
    Untyped,
    /// The request's body, an identity or a specification in it could not be read: 400. Flux v1 lost the message here;
    /// this keeps v1's `Offset` of syntax errors and says what was wrong.
    Malformed {
        /// Bytes read before a syntax error.
        offset: Option<u64>,
    },
}

/// An error as v1's clients read it: `{"type":…,"help":…,"error":…}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct ApiError {
    /// Whose fault.
    pub kind: ErrorKind,
    /// What people read. `fluxctl` prints only this, so it must contain the cause.
    pub help: String,
    /// The short text.
    pub error: String,
}

impl ApiError {
    fn new(kind: ErrorKind, error: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, help: help.into(), error: error.into() }
    }

    /// Something that does not exist.
    pub fn missing(error: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Missing, error, help)
    }

    /// Something the user can mend.
    pub fn user(error: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::User, error, help)
    }

    /// Something that broke on our side.
    pub fn server(error: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Server, error, help)
    }

    /// Too much at once; the client may try again.
    pub fn busy(error: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Busy, error, help)
    }

    /// Nobody knows who asks.
    pub fn unauthorized(error: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unauthorized, error, help)
    }

    /// Who asks may not do this.
    pub fn forbidden(error: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, error, help)
    }

    /// An error that nobody classified. Its help quotes the text, because `fluxctl` prints the help alone.
    pub fn untyped(error: impl Into<String>) -> Self {
        let error = error.into();
        let help = format!(
            "Error: {error}\n\nThere is no specific help for this error. If the text above does not say what to do,\n\
             please report it together with what you were doing when it appeared.\n"
        );
        Self::new(ErrorKind::Untyped, error, help)
    }

    /// A body, identity or specification that could not be read.
    pub fn malformed(cause: &DecodeError) -> Self {
        let offset = match cause {
            DecodeError::Syntax { offset, .. } => Some(*offset),
            DecodeError::Type { .. } | DecodeError::Value(_) => None,
        };
        let error = cause.to_string();
        let help = format!("Error: {error}\n\nThe request could not be read. Correct it and send it again.\n");
        Self::new(ErrorKind::Malformed { offset }, error, help)
    }

    /// The job that nobody knows (fluxd-v1 §6.7).
    pub fn unknown_job(id: &str) -> Self {
        let help = format!(
            "Job not found\n\nThe job \"{id}\" is neither remembered nor recorded in git. Jobs are remembered while the\n\
             daemon runs, the last hundred of them; those that made a commit are also found in the git notes.\n"
        );
        Self::missing(format!("unknown job \"{id}\""), help)
    }

    /// The HTTP status that goes with the kind.
    pub fn status(&self) -> u16 {
        match self.kind {
            ErrorKind::Missing => 404,
            ErrorKind::User | ErrorKind::Untyped => 422,
            ErrorKind::Server => 500,
            ErrorKind::Busy => 503,
            ErrorKind::Unauthorized => 401,
            ErrorKind::Forbidden => 403,
            ErrorKind::Malformed { .. } => 400,
        }
    }
}

impl Serialize for ApiError {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let kind = match self.kind {
            ErrorKind::Missing => "missing",
            ErrorKind::Server | ErrorKind::Busy => "server",
            ErrorKind::User
            | ErrorKind::Untyped
            | ErrorKind::Unauthorized
            | ErrorKind::Forbidden
            | ErrorKind::Malformed { .. } => "user",
        };
        let mut map = s.serialize_map(None)?;
        map.serialize_entry("type", kind)?;
        map.serialize_entry("help", &self.help)?;
        if !self.error.is_empty() {
            map.serialize_entry("error", &self.error)?;
        }
        if let ErrorKind::Malformed { offset: Some(offset) } = self.kind {
            map.serialize_entry("Offset", &offset)?;
        }
        map.end()
    }
}

impl From<DecodeError> for ApiError {
    fn from(cause: DecodeError) -> Self {
        Self::malformed(&cause)
    }
}
