//! The daemon's API seen from the other side: what `fluxctl` asks, and how it shows the answers. It reads no flags and
//! prints nothing itself.
//!
//! `api` has the requests, `poll` waits for jobs and syncs, `show` makes text of answers, `forward` finds a way into a
//! cluster, and `menu` and `manifests` are the parts of two verbs that can be thought of without a terminal or a disk.

mod answer;
mod api;
mod error;
mod forward;
mod http;
mod manifests;
mod menu;
mod poll;
pub mod show;
mod sse;
mod table;

pub use answer::{
    Change, Container, Fingerprint, GitConfig, Image, ImageContainer, Job, JobResult, List, PublicKey, Raw, Remote,
    Rollout, Workload, WorkloadImages, WorkloadResult,
};
pub use api::{PlanQuery, REQUEST_TIMEOUT};
pub use error::ClientError;
pub use forward::{Forward, ForwardError};
pub use http::{Client, Target};
pub use manifests::{Saved, split as split_export};
pub use menu::{Key, Menu};
pub use poll::Ended;
