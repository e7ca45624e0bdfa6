//! What Kubernetes objects are to us: identity, sets, order, digest, YAML text, origin, policies and ownership marks.
//!
//! Everything here is a value or a function of values: no cluster, no files, no clock.

mod glob;
mod id;
pub mod image;
mod manifest;
mod marks;
mod order;
pub mod pattern;
mod policy;
pub mod semver;
mod set;
pub mod workload;
pub mod yaml;

pub use glob::Glob;
pub use id::{CLUSTER_SCOPE, Gvk, IdError, Key, ObjectId};
pub use image::{CanonicalName, ImageName, ImageRef};
pub use manifest::{Digest, Object, ObjectError, Origin};
pub use marks::{CHECKSUM_ANNOTATION, GC_MARK_LABEL, LAST_APPLIED_ANNOTATION, SyncSet, gc_mark};
pub use order::{rank, sort_for_apply};
pub use pattern::{Candidate, Pattern, PatternError};
pub use policy::{Ignore, PIN_ANNOTATION, POLICY_PREFIXES, Policies};
pub use set::{Duplicate, ObjectSet};
