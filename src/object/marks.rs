//! The marks that say which sync set owns an object. They are kept to the letter of Flux v1 (fluxd-v1 §5.6), because
//! garbage collection in an existing cluster rests on them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::ObjectId;

/// Label that carries the ownership mark.
pub const GC_MARK_LABEL: &str = "fluxcd.io/sync-gc-mark";
/// Annotation that carries the digest of the effective object.
pub const CHECKSUM_ANNOTATION: &str = "fluxcd.io/sync-checksum";

/// Annotation in which kubectl's client-side apply keeps what it applied last.
pub const LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Name of a sync set: which repository, branch and paths objects come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SyncSet(String);

impl SyncSet {
    /// The sync set of a sanitised repository URL, a branch, and paths in the order the user gave them.
    pub fn new(sanitised_url: &str, branch: &str, paths: &[String]) -> Self {
        let mut hash = Sha256::new();
        hash.update(sanitised_url);
        hash.update(branch);
        for path in paths {
            hash.update(path);
        }
        Self(URL_SAFE_NO_PAD.encode(hash.finalize()))
    }
}

impl fmt::Display for SyncSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The mark of one object in a sync set; `id` has the namespace that the object really has.
pub fn gc_mark(set: &SyncSet, id: &ObjectId) -> String {
    let mut hash = Sha256::new();
    hash.update(&set.0);
    hash.update(id.to_string());
    format!("sha256.{}", URL_SAFE_NO_PAD.encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_those_of_flux_v1() {
        let set = SyncSet::new("ssh://git@github.com/fluxcd/flux-get-started", "master", &[]);
        assert_eq!(set.to_string(), "aBqHLTvk4pWff65LXXwheu1mmzfQkdC96YNjgC-1u0Q");
        let podinfo = ObjectId::new(Some("demo"), "Deployment", "podinfo");
        assert_eq!(gc_mark(&set, &podinfo), "sha256.BhHY4aw2RoJbixnOKQD-rhRxC3rJpgatGRErCSLo07w");
        let demo = ObjectId::new(None, "Namespace", "demo");
        assert_eq!(gc_mark(&set, &demo), "sha256.3xa9FRFtnbm0cAHvO6Lta6l0xPtwpoiQBqRt4-XxOD0");
        let set = SyncSet::new("ssh://git@example.org/team/config.git", "main", &["apps".into(), "infra".into()]);
        assert_eq!(set.to_string(), "RFUgAC1c0lBr4ZZy57NDtii_pxgFYerRPRHj-s5ZsGY");
        assert_eq!(gc_mark(&set, &podinfo), "sha256.q3VmQawmmSXD8lM5TEz1gV5bUjJzHqzmM8tAcmczNJQ");
    }
}
