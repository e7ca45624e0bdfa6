//! What updates ask for and what they came to: the JSON of `update-manifests`, of jobs and of the notes that commits of
//! ours carry (fluxd-v1 §2.5, §8.4). Nothing is done to any image here.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::object::ObjectId;

/// Who asked, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The user's message.
    #[serde(rename = "Message")]
    pub message: String,
    /// Name and address.
    #[serde(rename = "User")]
    pub user: String,
}

/// A request for an update, with its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateSpec {
    /// Who asked.
    pub cause: Cause,
    /// What is asked for.
    pub update: Update,
}

/// What an update asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// One image, or the latest ones, for workloads.
    Image(ImageRelease),
    /// Given images for given containers.
    Containers(ContainersRelease),
    /// Policies.
    Policy(BTreeMap<ObjectId, PolicyUpdate>),
    /// What automation decided.
    Auto(Vec<AutoChange>),
    /// Only a sync.
    Sync,
}

/// `type: image`. The texts are looked at only when the job runs (errata 2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImageRelease {
    /// Identities, or `<all>`; `null` and an empty list mean all, too.
    #[serde(rename = "ServiceSpecs")]
    pub workloads: Option<Vec<String>>,
    /// A reference, or `<all latest>`.
    #[serde(rename = "ImageSpec")]
    pub image: String,
    /// `plan` or `execute`.
    #[serde(rename = "Kind")]
    pub kind: String,
    /// Identities to leave out; `null` when none were given.
    #[serde(rename = "Excludes")]
    pub excludes: Option<Vec<String>>,
    /// Whether locks and filters are overruled.
    #[serde(rename = "Force")]
    pub force: bool,
}

/// `type: containers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ContainersRelease {
    /// `plan` or `execute`.
    #[serde(rename = "Kind")]
    pub kind: String,
    /// Changes by workload.
    #[serde(rename = "ContainerSpecs")]
    pub workloads: BTreeMap<ObjectId, Vec<ContainerUpdate>>,
    /// Whether containers that run another image are left out instead of failing.
    #[serde(rename = "SkipMismatches")]
    pub skip_mismatches: bool,
    /// Whether locks are overruled.
    #[serde(rename = "Force")]
    pub force: bool,
}

/// One container's change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ContainerUpdate {
    /// The container.
    #[serde(rename = "Container")]
    pub container: String,
    /// The image it must run now; empty for any. Never written when empty: v1 cannot read a blank one back (errata 1).
    #[serde(rename = "Current", skip_serializing_if = "String::is_empty")]
    pub current: String,
    /// The image it gets.
    #[serde(rename = "Target")]
    pub target: String,
}

/// Policies to set and to remove on one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PolicyUpdate {
    /// To set.
    pub add: PolicySet,
    /// To remove; the values mean nothing.
    pub remove: PolicySet,
}

/// Policies with their values. One that was not given is told from an empty one: each is written as it came, `null` or `{}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PolicySet(Option<BTreeMap<String, String>>);

static NO_POLICIES: BTreeMap<String, String> = BTreeMap::new();

impl std::ops::Deref for PolicySet {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        self.0.as_ref().unwrap_or(&NO_POLICIES)
    }
}

impl PolicySet {
    /// Adds a policy.
    pub fn insert(&mut self, policy: String, value: String) {
        self.0.get_or_insert_default().insert(policy, value);
    }
}

impl FromIterator<(String, String)> for PolicySet {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(policies: I) -> Self {
        Self(Some(policies.into_iter().collect()))
    }
}

/// One change of `type: auto`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoChange {
    /// The workload.
    pub workload: ObjectId,
    /// The container's name.
    pub container: String,
    /// The image it ran.
    pub current: String,
    /// The image it gets.
    pub target: String,
}

impl Serialize for AutoChange {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Container<'a> {
            #[serde(rename = "Name")]
            name: &'a str,
            #[serde(rename = "Image")]
            image: &'a str,
        }
        let mut out = s.serialize_struct("Change", 3)?;
        out.serialize_field("WorkloadID", &self.workload)?;
        out.serialize_field("Container", &Container { name: &self.container, image: &self.current })?;
        out.serialize_field("ImageID", &self.target)?;
        out.end()
    }
}

/// The changes of an automated release, as `{"Changes":[…]}`.
#[derive(Serialize)]
pub(super) struct Automated<'a> {
    #[serde(rename = "Changes")]
    pub(super) changes: &'a [AutoChange],
}

/// The word for all workloads in a release, and in a list of images.
pub const ALL_WORKLOADS: &str = "<all>";
/// The word for the newest image of every container in a release.
pub const ALL_LATEST: &str = "<all latest>";

impl ImageRelease {
    /// Whether it asks for the newest image of every container, and not for one image.
    pub fn wants_latest(&self) -> bool {
        self.image == ALL_LATEST
    }

    /// Whether it concerns all workloads: that is said with `<all>`, or by naming none (as v1 takes it).
    pub fn is_for_all(&self) -> bool {
        let named = self.workloads.as_deref().unwrap_or_default();
        named.is_empty() || named.iter().any(|workload| workload == ALL_WORKLOADS)
    }
}

impl Update {
    /// The word of the `type` field.
    pub fn type_word(&self) -> &'static str {
        match self {
            Self::Image(_) => "image",
            Self::Containers(_) => "containers",
            Self::Policy(_) => "policy",
            Self::Auto(_) => "auto",
            Self::Sync => "sync",
        }
    }

    /// The word of the field `Kind`; automation always executes.
    fn kind(&self) -> &str {
        match self {
            Self::Image(spec) => &spec.kind,
            Self::Containers(spec) => &spec.kind,
            Self::Policy(_) | Self::Auto(_) | Self::Sync => "execute",
        }
    }

    /// Whether it only asks what would happen.
    pub fn is_plan(&self) -> bool {
        self.kind() == "plan"
    }

    /// Whether it asks for a commit. Flux v1 takes any other `Kind` and commits nothing (fluxd-v1 §6.1).
    pub fn is_execute(&self) -> bool {
        self.kind() == "execute"
    }
}

impl Serialize for UpdateSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("Spec", 3)?;
        out.serialize_field("type", self.update.type_word())?;
        out.serialize_field("cause", &self.cause)?;
        match &self.update {
            Update::Image(spec) => out.serialize_field("spec", spec)?,
            Update::Containers(spec) => out.serialize_field("spec", spec)?,
            Update::Policy(spec) => out.serialize_field("spec", spec)?,
            Update::Auto(changes) => out.serialize_field("spec", &Automated { changes })?,
            Update::Sync => out.serialize_field("spec", &serde_json::Map::new())?,
        }
        out.end()
    }
}

/// What became of one workload in an update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkloadResult {
    /// `success`, `failed`, `skipped`, `ignored` or `unknown`.
    #[serde(rename = "Status")]
    pub status: String,
    /// Why it was not a success.
    #[serde(rename = "Error", skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// Its containers' changes; `null` when there are none.
    #[serde(rename = "PerContainer", serialize_with = "per_container")]
    pub containers: Vec<ContainerUpdate>,
}

fn per_container<S: Serializer>(list: &[ContainerUpdate], s: S) -> Result<S::Ok, S::Error> {
    super::types::null_when_empty(list, s)
}

/// What became of each workload in an update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResultSet(pub BTreeMap<ObjectId, WorkloadResult>);

impl ResultSet {
    fn with_status<'a>(&'a self, status: &'a str) -> impl Iterator<Item = (&'a ObjectId, &'a WorkloadResult)> {
        self.0.iter().filter(move |(_, r)| r.status == status)
    }

    /// The workloads that were changed, sorted.
    pub fn changed(&self) -> Vec<ObjectId> {
        self.with_status("success").map(|(id, _)| id.clone()).collect()
    }

    /// The distinct images that were put in place, sorted.
    pub fn images(&self) -> Vec<String> {
        let targets = self.with_status("success").flat_map(|(_, r)| &r.containers).map(|c| c.target.clone());
        targets.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }

    /// The failures in one line, empty when there are none (fluxd-v1 §2.7).
    pub fn error(&self) -> String {
        let failed: Vec<_> = self.with_status("failed").collect();
        match failed.as_slice() {
            [] => String::new(),
            [(id, one)] => format!("{id} failed: {}", one.error),
            many => {
                let ids: Vec<_> = many.iter().map(|(id, _)| id.to_string()).collect();
                format!("Multiple workloads failed: {}", ids.join(", "))
            }
        }
    }
}

/// What a commit of ours carries as a git note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The job that made the commit.
    #[serde(rename = "jobID")]
    pub job: String,
    /// What was asked for.
    pub spec: UpdateSpec,
    /// What happened; `null` for policy commits.
    pub result: Option<ResultSet>,
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.type_word())
    }
}
