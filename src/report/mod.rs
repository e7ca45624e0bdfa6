//! What is told to people and programs: v1's API types with their exact JSON, errors, events, metrics. The only place that
//! words them; it sends nothing anywhere.

mod change;
mod decode;
mod diff;
mod error;
mod event;
mod gojson;
mod images;
mod metrics;
#[cfg(test)]
mod tests;
mod types;
mod update;
mod view;
mod workload;

pub use change::{Change, decode_change};
pub use decode::{decode_note, decode_update};
pub use diff::{diff, diff_sealed, field_owners};
pub use error::{ApiError, ErrorKind};
pub use event::{
    Detail, Event, EventCommit, Includes, PolicyEvent, Release, ResourceError, SyncReport, short as short_revision,
};
pub use gojson::{DecodeError, first_value, go_json};
pub use images::{ImageContainer, ImageStatus, UnknownField};
pub use metrics::{ControllerMetrics, ImageWork, Metrics, MetricsError, PassResult, Series, SeriesDetails, TokenCache};
pub use types::{
    Container, ControllerStatus, Fingerprint, GitConfig, GitRemote, ImageInfo, JobResult, JobState, JobStatus,
    PublicKey, ReadOnly, null_when_empty,
};
pub use update::{
    ALL_LATEST, ALL_WORKLOADS, AutoChange, Cause, ContainerUpdate, ContainersRelease, ImageRelease, Note, PolicySet,
    PolicyUpdate, ResultSet, Update, UpdateSpec, WorkloadResult,
};
pub use view::{
    ApplyView, CommitView, FieldDiff, FieldOwner, GcView, HeldDeleteView, HeldView, News, ObjectView, ObjectsView,
    PlanView, StepView, TraceView,
};
pub use workload::{Workload, WorkloadContainer, is_add_on};
