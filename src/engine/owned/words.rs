//! Failures of a set's objects in the words of resourceset §7.4.7 and its errata 17 and 18.

use crate::apply::{Failure, FailureKind, Phase, Unready, WaitError, kind_of};
use crate::cluster::{ErrorKind, RequestError};
use crate::object::Key;
use crate::plan::Target;

/// `Kind/namespace/name`, without the namespace for cluster scope: how messages name an object.
pub fn subject(key: &Key) -> String {
    match &key.namespace {
        Some(namespace) => format!("{}/{namespace}/{}", key.kind, key.name),
        None => format!("{}/{}", key.kind, key.name),
    }
}

/// Words the API server's refusal.
pub(super) fn refused(target: &Target, phase: Phase, error: &RequestError) -> Failure {
    let (subject, text) = (subject(&target.key), error.message());
    let is_missing = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NamespaceMissing | ErrorKind::KindMissing);
    let message = match phase {
        Phase::Apply => format!("{subject} apply failed: {text}"),
        Phase::DryRun if is_missing && target.key.namespace.is_none() => {
            format!("{subject} namespace not specified: {text}")
        }
        Phase::DryRun if is_missing => format!("{subject} not found: {text}"),
        Phase::DryRun if error.reason().is_empty() => format!("{subject} dry-run failed: {text}"),
        Phase::DryRun => format!("{subject} dry-run failed ({}): {text}", error.reason()),
    };
    Failure { kind: kind_of(error), message }
}

/// Words a failure of our own.
pub(super) fn failed(target: &Target, kind: FailureKind, text: &str) -> Failure {
    let subject = subject(&target.key);
    let message = match kind {
        FailureKind::UnknownKind => {
            let (kind, version) = (&target.gvk.kind, target.gvk.api_version());
            format!("{subject} dry-run failed: no matches for kind \"{kind}\" in version \"{version}\"")
        }
        FailureKind::NotReached => {
            format!("{subject} apply failed: its turn did not come in time, or before the process had to stop")
        }
        _ => format!("{subject} dry-run failed: {text}"),
    };
    Failure { kind, message }
}

/// Words a wait that did not end well (resourceset §7.5): what is not ready, then a line for each object of a Flux group
/// with what its condition `Ready` says.
pub fn unready(error: &WaitError) -> String {
    let (words, objects) = match error {
        WaitError::Failed(objects) => ("failed early due to stalled resources", objects),
        WaitError::TimedOut(objects) => ("timeout waiting for", objects),
    };
    let one = |o: &Unready| format!("{} status: '{}'", subject(&o.key), o.status);
    let all: Vec<String> = objects.iter().map(one).collect();
    let is_flux = |o: &&Unready| o.key.group.ends_with(".fluxcd.io");
    let line = |o: &Unready| Some(format!("{} status: {}", subject(&o.key), o.message.as_ref()?));
    let lines: Vec<String> = objects.iter().filter(is_flux).filter_map(line).collect();
    format!("{words}: [{}]\n{}", all.join(", "), lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(group: &str, kind: &str, status: &'static str, message: Option<&str>) -> Unready {
        let key = Key { group: group.into(), kind: kind.into(), namespace: Some("demo".into()), name: "a".into() };
        Unready { key, status, message: message.map(str::to_owned) }
    }

    #[test]
    fn a_failed_wait_names_its_objects_and_what_flux_kinds_say() {
        let failed = WaitError::Failed(vec![
            object("apps", "Deployment", "Failed", Some("not told")),
            object("source.toolkit.fluxcd.io", "GitRepository", "Failed", Some("auth required")),
        ]);
        assert_eq!(
            unready(&failed),
            "failed early due to stalled resources: [Deployment/demo/a status: 'Failed', GitRepository/demo/a status: \
             'Failed']\nGitRepository/demo/a status: auth required"
        );
        let late = WaitError::TimedOut(vec![object("", "Pod", "InProgress", None)]);
        assert_eq!(unready(&late), "timeout waiting for: [Pod/demo/a status: 'InProgress']\n");
    }
}
