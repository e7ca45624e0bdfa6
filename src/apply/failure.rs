//! The cluster's errors as failures of an object, in words that name the object, its file and line, and what to do.

use crate::cluster::{ErrorKind, RequestError};
use crate::plan::Target;

use super::{Failure, FailureKind, Phase, RECREATE_ANNOTATION};

/// Words a failure of an object.
pub(super) fn refused(target: &Target, _phase: Phase, error: &RequestError) -> Failure {
    let kind = kind_of(error);
    let fields: Vec<&str> = error.causes().iter().map(|c| c.field.as_str()).filter(|f| !f.is_empty()).collect();
    let advice = match kind {
        FailureKind::Immutable => {
            let which = if fields.is_empty() { String::new() } else { format!(" ({})", fields.join(", ")) };
            format!(
                "; a field{which} cannot be changed in place: undo the change, or annotate the object with \
                 {RECREATE_ANNOTATION}: \"true\" to have it deleted and created again"
            )
        }
        FailureKind::Forbidden => "; grant fluxd's service account this permission".to_owned(),
        _ => String::new(),
    };
    plain(target, kind, &format!("{error}{advice}"))
}

/// A failure in our own words.
pub(super) fn plain(target: &Target, kind: FailureKind, text: &str) -> Failure {
    let place = target.origin.as_ref().map(|o| format!(" ({o})")).unwrap_or_default();
    Failure { kind, message: format!("{}{place}: {text}", target.id) }
}

/// What kind of failure of an object a refused request is.
pub fn kind_of(error: &RequestError) -> FailureKind {
    match error.kind() {
        ErrorKind::Invalid | ErrorKind::BadRequest | ErrorKind::TooLarge => FailureKind::Invalid,
        ErrorKind::Immutable => FailureKind::Immutable,
        ErrorKind::Denied => FailureKind::Denied,
        ErrorKind::Forbidden | ErrorKind::Unauthorized => FailureKind::Forbidden,
        ErrorKind::NamespaceMissing | ErrorKind::NamespaceTerminating => FailureKind::Namespace,
        ErrorKind::KindMissing => FailureKind::UnknownKind,
        ErrorKind::Conflict => FailureKind::Conflict,
        ErrorKind::NotFound
        | ErrorKind::Expired
        | ErrorKind::Throttled
        | ErrorKind::Timeout
        | ErrorKind::Unavailable
        | ErrorKind::Protocol
        | ErrorKind::Other => FailureKind::Unavailable,
    }
}
