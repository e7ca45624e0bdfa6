//! The only room that talks to the API server about managed objects: what kinds there are, what of ours is live, apply,
//! take-over and deletion. It decides nothing: no plan, no order, no policy of deletion.

mod apply;
mod client;
mod crd;
mod discover;
mod error;
mod holds;
mod kinds;
mod list;
mod live;
mod meta;
mod normalise;
mod read;
mod request;
mod review;
mod settings;
mod takeover;
#[cfg(test)]
mod tests;
mod told;
mod values;
mod watch;
mod write;

pub use apply::{Applied, ApplyOptions, DryRun};
pub use client::{Cluster, ConnectError, client};
pub use error::{Cause, ErrorKind, RequestError};
pub use holds::Foreign;
pub use kinds::{KindInfo, Kinds, Unresolved};
pub use kube::Client;
pub use live::{Changed, Fingerprint, Live, LiveObject, Mark, Uid, Version};
pub use normalise::normalise;
pub use read::{MarkedRead, ReadFailure};
pub use settings::{Adoption, Keyed, OnRequest, Owns, Settings, Taken, Validation};
pub use told::{OnAnswer, client_told};
pub use write::{Cascade, Deleted, Deletion, Seen};
