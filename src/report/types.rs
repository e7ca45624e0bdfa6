//! What the API's read requests answer, with v1's exact JSON (fluxd-v1 §8.3). Values only; who fills them is elsewhere.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::update::{ResultSet, UpdateSpec};
use crate::health::Rollout;
use crate::object::ObjectId;

/// Why a workload cannot be changed through the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum ReadOnly {
    /// It can.
    #[default]
    #[serde(rename = "")]
    No,
    /// Git is fine and does not have it.
    NotInRepo,
    /// No repository is configured.
    NoRepo,
    /// The repository is not ready.
    NotReady,
    /// The daemon runs with `--git-readonly`.
    ReadOnlyMode,
}

/// What is known of an image. The zero value is `{"ID":"","Labels":{}}` (fluxd-v1 §7.7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImageInfo {
    /// The reference.
    #[serde(rename = "ID")]
    pub id: String,
    /// Digest of the manifest.
    #[serde(rename = "Digest", skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// Digest of the configuration.
    #[serde(rename = "ImageID", skip_serializing_if = "String::is_empty")]
    pub image_id: String,
    /// The labels that carry build times.
    #[serde(rename = "Labels")]
    pub labels: BTreeMap<String, String>,
    /// When it was built.
    #[serde(rename = "CreatedAt", skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When we last asked the registry.
    #[serde(rename = "LastFetched", skip_serializing_if = "Option::is_none")]
    pub last_fetched: Option<Timestamp>,
}

impl ImageInfo {
    /// A reference of which nothing else is known.
    pub fn named(reference: impl Into<String>) -> Self {
        Self { id: reference.into(), ..Self::default() }
    }
}

/// A container of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Container {
    /// Its name.
    #[serde(rename = "Name")]
    pub name: String,
    /// The image it runs.
    #[serde(rename = "Current")]
    pub current: ImageInfo,
    /// The newest image its filter lets through; zero in lists of workloads.
    #[serde(rename = "LatestFiltered")]
    pub latest_filtered: ImageInfo,
}

/// One workload in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ControllerStatus {
    /// Identity.
    #[serde(rename = "ID")]
    pub id: ObjectId,
    /// Containers, init containers last; empty when they could not be read.
    #[serde(rename = "Containers")]
    pub containers: Vec<Container>,
    /// Why it cannot be changed.
    #[serde(rename = "ReadOnly")]
    pub read_only: ReadOnly,
    /// `ready`, `updating`, `started`, `error`, or a word of the object's own.
    #[serde(rename = "Status")]
    pub status: String,
    /// Numbers of its roll-out.
    #[serde(rename = "Rollout")]
    pub rollout: Rollout,
    /// Why it could not be applied at the last sync; empty when it could.
    #[serde(rename = "SyncError")]
    pub sync_error: String,
    /// The object that made it, such as a HelmRelease.
    #[serde(rename = "Antecedent", serialize_with = "id_or_empty")]
    pub antecedent: Option<ObjectId>,
    /// Its labels; `None` reads `null`.
    #[serde(rename = "Labels")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Whether git asks for automation.
    #[serde(rename = "Automated")]
    pub automated: bool,
    /// Whether git forbids releases.
    #[serde(rename = "Locked")]
    pub locked: bool,
    /// Whether git asks to leave it alone.
    #[serde(rename = "Ignore")]
    pub ignore: bool,
    /// All policies found in git.
    #[serde(rename = "Policies")]
    pub policies: BTreeMap<String, String>,
}

fn id_or_empty<S: Serializer>(id: &Option<ObjectId>, s: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => s.collect_str(id),
        None => s.serialize_str(""),
    }
}

/// A list as v1 writes those of workloads: `null` when it is empty (fluxd-v1 §8.3).
pub fn null_when_empty<T: Serialize, S: Serializer>(list: &[T], s: S) -> Result<S::Ok, S::Error> {
    if list.is_empty() { s.serialize_none() } else { list.serialize(s) }
}

/// Where the repository is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GitRemote {
    /// URL without password.
    pub url: String,
    /// Branch.
    pub branch: String,
    /// The paths, joined with commas.
    pub path: String,
}

/// Fingerprint of a key in one algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fingerprint {
    /// Without the algorithm's prefix.
    pub hash: String,
    /// `ssh-keygen`'s picture.
    pub randomart: String,
}

/// The public deploy key. The zero value (no key ring) is `{"key":"","fingerprints":null}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PublicKey {
    /// The line for `authorized_keys`.
    pub key: String,
    /// By algorithm: `md5`, `sha256`.
    pub fingerprints: Option<BTreeMap<String, Fingerprint>>,
}

/// The repository's settings and state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GitConfig {
    /// Where it is.
    pub remote: GitRemote,
    /// The deploy key.
    #[serde(rename = "publicSSHKey")]
    pub public_key: PublicKey,
    /// State of the mirror: `unconfigured`, `new`, `unreachable`, `cloned`, `ready`.
    pub status: String,
    /// The last error, empty when there is none.
    pub errors: String,
}

/// What a job came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobResult {
    /// The commit; `fluxctl` cuts its first seven characters without looking.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<UpdateSpec>,
    /// What happened, by workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultSet>,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// Waiting for its turn.
    Queued,
    /// At work.
    Running,
    /// Ended with an error.
    Failed,
    /// Ended well.
    Succeeded,
}

/// What the API tells of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobStatus {
    /// What it came to; `{}` when nothing.
    #[serde(rename = "Result")]
    pub result: JobResult,
    /// The error's text, empty when there is none.
    #[serde(rename = "Err")]
    pub err: String,
    /// Where it stands.
    #[serde(rename = "StatusString")]
    pub state: JobState,
}
