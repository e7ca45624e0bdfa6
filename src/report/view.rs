//! What the routes below `/api/fluxd/v1/` answer: plan, objects, traces and news, as both the server and its clients know
//! them. Values only; who fills them is elsewhere.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::ObjectId;

/// A plan as the API tells it: `GET /plan` (fresh), `GET /plan?last=true` (of the last sync).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PlanView {
    /// The revision that the wanted objects come from.
    pub revision: String,
    /// `whole`, or `drift` for a plan that only puts right what others changed.
    pub reach: String,
    /// Whether it was made from fresh reads for this request.
    pub fresh: bool,
    /// How many objects need nothing. They are among the steps only when all were asked for.
    pub kept: usize,
    /// What became of garbage collection.
    pub gc: GcView,
    /// Deletes that wait for an approval.
    pub held: Option<HeldView>,
    /// The steps, in order.
    pub steps: Vec<StepView>,
    /// Steps that would have had a diff, were there not so many.
    pub diffs_left_out: usize,
}

/// Garbage collection in a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GcView {
    /// Objects that carry our mark.
    pub managed: usize,
    /// Why nothing is deleted; absent when garbage collection ran.
    pub off: Option<String>,
}

/// Deletes that wait for an approval: an element of `GET /deletes`, and part of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldView {
    /// What an approval names.
    pub digest: String,
    /// The deletes.
    pub deletes: Vec<HeldDeleteView>,
    /// Why, in one sentence.
    pub reason: String,
}

/// One delete that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldDeleteView {
    /// The object.
    pub id: ObjectId,
    /// Which life of it.
    pub uid: String,
    /// `budget`, `empty-set`, `namespace-in-use`, `crd-in-use` or `volume-claim`.
    pub reason: String,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// The object.
    pub id: ObjectId,
    /// Its API group, empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Its kind in the API's own capitalisation.
    #[serde(default)]
    pub kind: String,
    /// `apply`, `keep`, `skip`, `reject`, `delete` or `hold`.
    pub action: String,
    /// Why, in words.
    #[serde(default)]
    pub reason: Option<String>,
    /// The file that it is written in.
    #[serde(default)]
    pub file: Option<String>,
    /// The line in that file, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// Whether a command made it; the file is then the one that names the command.
    #[serde(default)]
    pub generated: bool,
    /// Whether another sync set's mark is on the live object.
    #[serde(default)]
    pub clash: bool,
    /// Whether fields of kubectl's client-side apply move to us.
    #[serde(default)]
    pub take_over: bool,
    /// What would change, field by field (`diff=true`); absent when it was not asked for or could not be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<Vec<FieldDiff>>,
    /// Why the diff could not be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff_error: Option<String>,
}

/// One field that would change. Values of Secrets are masked: `***`, or `*** (changed)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldDiff {
    /// JSON pointer, such as `/spec/template/spec/containers/0/image`.
    pub path: String,
    /// The live value; absent when the field is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value that an apply would bring about; absent when the field would go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// The managed objects: `GET /objects`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectsView {
    /// The revision of the last sync.
    pub revision: String,
    /// Wanted objects by file and line, then those that others own.
    pub objects: Vec<ObjectView>,
}

/// One object of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObjectView {
    /// The object.
    pub id: ObjectId,
    /// Its API group, empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Its kind in the API's own capitalisation.
    #[serde(default)]
    pub kind: String,
    /// The file; absent for what is not in git.
    #[serde(default)]
    pub file: Option<String>,
    /// The line, from 1.
    #[serde(default)]
    pub line: Option<u32>,
    /// Whether a command made it.
    #[serde(default)]
    pub generated: bool,
    /// What became of it at the last sync, such as `configured` or `failed`; for workloads of others their status.
    #[serde(default)]
    pub result: String,
    /// Its error at the last sync.
    #[serde(default)]
    pub error: Option<String>,
    /// The object that made it, such as a HelmRelease.
    #[serde(default)]
    pub owner: Option<ObjectId>,
}

/// Where an object comes from and who owns its fields: `GET /trace?id=ns:kind/name`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceView {
    /// The object with its place in git.
    pub object: ObjectView,
    /// The newest commit that touched its file, up to the synced revision; absent when unknown.
    #[serde(default)]
    pub commit: Option<CommitView>,
    /// The last sync.
    #[serde(default)]
    pub last_apply: Option<ApplyView>,
    /// Whether it is live.
    pub live: bool,
    /// Who owns which field, by field; empty when it is not live.
    #[serde(default)]
    pub fields: Vec<FieldOwner>,
}

/// A commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitView {
    /// Full revision.
    pub revision: String,
    /// First line of its message.
    pub message: String,
}

/// The last sync as one object saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyView {
    /// The revision synced.
    pub revision: String,
    /// When the sync ended.
    #[serde(default)]
    pub ended: Option<Timestamp>,
    /// What became of the object, such as `unchanged`.
    pub result: String,
    /// Its error.
    #[serde(default)]
    pub error: Option<String>,
    /// The API server's warnings.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Who owns a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldOwner {
    /// Path as `kubectl` writes it, such as `.spec.template.spec.containers[name="web"].image`.
    pub path: String,
    /// The manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The sub-resource, such as `status`; empty for the object itself.
    #[serde(default)]
    pub subresource: String,
    /// When the manager last wrote.
    #[serde(default)]
    pub time: Option<Timestamp>,
}

/// One piece of news: a server-sent event of `GET /events` (its `event:` is the tag) and `GET /jobs/ID/events`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum News {
    /// A job's state changed.
    Job {
        /// The job.
        id: String,
        /// `queued`, `running`, `succeeded` or `failed`.
        state: String,
        /// The commit, empty when there is none.
        #[serde(default)]
        revision: String,
        /// The error, empty when there is none.
        #[serde(default)]
        error: String,
    },
    /// A sync began, or is another step ahead.
    Progress {
        /// The stage, such as `apply`.
        stage: String,
        /// Objects done.
        done: usize,
        /// Objects in all.
        total: usize,
        /// Of those done, the failed ones.
        failed: usize,
    },
    /// A sync ended.
    Sync {
        /// The revision.
        revision: String,
        /// Whether all objects are as wanted.
        success: bool,
        /// How many objects came to which result.
        counts: BTreeMap<String, usize>,
        /// Why it ended early, or could not begin.
        #[serde(default)]
        error: Option<String>,
    },
    /// An event as Flux v1 logs it, such as `Sync: 9f0a1b2, shop:deployment/web`.
    Event {
        /// The text.
        text: String,
        /// v1's event.
        event: Value,
    },
}

impl News {
    /// The word of its tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Job { .. } => "job",
            Self::Progress { .. } => "progress",
            Self::Sync { .. } => "sync",
            Self::Event { .. } => "event",
        }
    }
}
