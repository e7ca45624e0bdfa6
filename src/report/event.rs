//! What happened, as v1 tells it: events with their JSON and their one-line texts (fluxd-v1 §10.1, §10.2), and which of them
//! a sync brings about (§5.2). Where events are sent is elsewhere.

use jiff::Timestamp;
use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Value, json};

use super::update::{AutoChange, Automated, Cause, Note, ResultSet, Update, UpdateSpec};
use crate::object::ObjectId;

/// A commit as a sync event names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EventCommit {
    /// Full revision.
    pub revision: String,
    /// First line of its message.
    pub message: String,
}

/// An object that a sync could not apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResourceError {
    /// The object.
    #[serde(rename = "ID")]
    pub id: ObjectId,
    /// The file it came from.
    #[serde(rename = "Path")]
    pub path: String,
    /// The API server's answer.
    #[serde(rename = "Error")]
    pub error: String,
}

/// Which kinds of commits a sync included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Includes {
    /// Releases.
    pub release: bool,
    /// Automated releases.
    pub autorelease: bool,
    /// Policy changes.
    pub update_policy: bool,
    /// Any other commit.
    pub other: bool,
}

impl Includes {
    fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl Serialize for Includes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let words = [
            ("autorelease", self.autorelease),
            ("other", self.other),
            ("release", self.release),
            ("update_policy", self.update_policy),
        ];
        s.collect_map(words.into_iter().filter(|(_, is)| *is))
    }
}

/// What a release event tells beside its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The commit.
    pub revision: String,
    /// What happened, by workload.
    pub result: ResultSet,
}

/// What is told, by type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The cluster was made equal to a revision.
    Sync {
        /// The commits since the last sync, newest first.
        commits: Vec<EventCommit>,
        /// What kinds of commits they are.
        includes: Includes,
        /// What could not be applied.
        errors: Vec<ResourceError>,
        /// Whether this is the first sync of the repository.
        initial: bool,
    },
    /// A job pushed a commit.
    Commit {
        /// The commit.
        revision: String,
        /// What was asked for.
        spec: UpdateSpec,
        /// What happened.
        result: Option<ResultSet>,
    },
    /// A release that somebody asked for is live.
    Release {
        /// Commit and result.
        release: Release,
        /// What was asked for: an image or a containers release.
        update: Update,
        /// Who asked.
        cause: Cause,
    },
    /// A release that automation decided is live.
    AutoRelease {
        /// Commit and result.
        release: Release,
        /// The changes.
        changes: Vec<AutoChange>,
    },
    /// Policies changed; only worded, in commit messages.
    Policy(PolicyEvent),
}

/// Kinds of policy changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyEvent {
    /// `automated` was set.
    Automate,
    /// `automated` was removed.
    Deautomate,
    /// `locked` was set.
    Lock,
    /// `locked` was removed.
    Unlock,
    /// Any other policy changed.
    Update,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The objects concerned.
    pub ids: Vec<ObjectId>,
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// What is told.
    pub detail: Detail,
}

impl Event {
    /// v1's word for the type.
    pub fn type_word(&self) -> &'static str {
        match &self.detail {
            Detail::Sync { .. } => "sync",
            Detail::Commit { .. } => "commit",
            Detail::Release { .. } => "release",
            Detail::AutoRelease { .. } => "autorelease",
            Detail::Policy(PolicyEvent::Automate) => "automate",
            Detail::Policy(PolicyEvent::Deautomate) => "deautomate",
            Detail::Policy(PolicyEvent::Lock) => "lock",
            Detail::Policy(PolicyEvent::Unlock) => "unlock",
            Detail::Policy(PolicyEvent::Update) => "update_policy",
        }
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("Event", 7)?;
        out.serialize_field("id", &0)?;
        out.serialize_field("serviceIDs", &self.ids)?;
        out.serialize_field("type", self.type_word())?;
        out.serialize_field("startedAt", &self.started)?;
        out.serialize_field("endedAt", &self.ended)?;
        out.serialize_field("logLevel", "info")?;
        if let Some(metadata) = metadata(&self.detail).map_err(serde::ser::Error::custom)? {
            out.serialize_field("metadata", &metadata)?;
        }
        out.end()
    }
}

fn metadata(detail: &Detail) -> Result<Option<Value>, serde_json::Error> {
    let value = match detail {
        Detail::Sync { commits, includes, errors, initial } => sync_metadata(commits, *includes, errors, *initial),
        Detail::Commit { revision, spec, result } => {
            let mut map = json!({ "revision": revision, "spec": spec });
            if let Some(result) = result {
                map["result"] = json!(result);
            }
            map
        }
        Detail::Release { release, update, cause } => {
            let spec = match update {
                Update::Containers(spec) => {
                    json!({ "Type": "releaseContainersSpecType", "ReleaseImageSpec": null, "ReleaseContainersSpec": spec })
                }
                Update::Image(spec) => {
                    json!({ "Type": "releaseImageSpecType", "ReleaseImageSpec": spec, "ReleaseContainersSpec": null })
                }
                Update::Policy(_) | Update::Auto(_) | Update::Sync => Value::Null,
            };
            let mut map = release_metadata(release);
            map["spec"] = spec;
            map["cause"] = json!(cause);
            map
        }
        Detail::AutoRelease { release, changes } => {
            let mut map = release_metadata(release);
            map["spec"] = serde_json::to_value(Automated { changes })?;
            map
        }
        Detail::Policy(_) => return Ok(None),
    };
    Ok(Some(value))
}

fn sync_metadata(commits: &[EventCommit], includes: Includes, errors: &[ResourceError], initial: bool) -> Value {
    let mut map = json!({});
    if !commits.is_empty() {
        map["commits"] = json!(commits);
    }
    if !includes.is_empty() {
        map["includes"] = json!(includes);
    }
    if !errors.is_empty() {
        map["errors"] = json!(errors);
    }
    if initial {
        map["initialSync"] = json!(true);
    }
    map
}

fn release_metadata(release: &Release) -> Value {
    let mut map = json!({ "Revision": release.revision, "result": release.result });
    let error = release.result.error();
    if !error.is_empty() {
        map["error"] = json!(error);
    }
    map
}

impl std::fmt::Display for Event {
    /// The texts of fluxd-v1 §10.2.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids = joined(&self.ids, "");
        match &self.detail {
            Detail::Sync { commits, .. } => {
                let ids = joined(&self.ids, "no workloads changed");
                write!(f, "Sync: {}, {ids}", revision_range(commits))
            }
            Detail::Commit { revision, .. } => {
                write!(f, "Commit: {}, {}", short(revision), joined(&self.ids, "<no changes>"))
            }
            Detail::Release { release, update, cause } => {
                let workloads =
                    if asks_for_all(update) { "all workloads".into() } else { joined(&self.ids, "no workloads") };
                write!(f, "Released: {} to {workloads}", images(release))?;
                if !cause.user.is_empty() {
                    write!(f, ", by {}", cause.user)?;
                }
                if cause.message.is_empty() { Ok(()) } else { write!(f, ", with message {:?}", cause.message) }
            }
            Detail::AutoRelease { release, .. } => write!(f, "Automated release of {}", images(release)),
            Detail::Policy(PolicyEvent::Automate) => write!(f, "Automated: {ids}"),
            Detail::Policy(PolicyEvent::Deautomate) => write!(f, "Deautomated: {ids}"),
            Detail::Policy(PolicyEvent::Lock) => write!(f, "Locked: {ids}"),
            Detail::Policy(PolicyEvent::Unlock) => write!(f, "Unlocked: {ids}"),
            Detail::Policy(PolicyEvent::Update) => write!(f, "Updated policies: {ids}"),
        }
    }
}

fn joined(ids: &[ObjectId], none: &str) -> String {
    if ids.is_empty() {
        return none.to_owned();
    }
    let mut texts: Vec<_> = ids.iter().map(ToString::to_string).collect();
    texts.sort();
    texts.join(", ")
}

/// The first seven characters of a revision, as people write it.
pub fn short(revision: &str) -> &str {
    revision.get(..7).unwrap_or(revision)
}

fn revision_range(commits: &[EventCommit]) -> String {
    match commits {
        [] => "<no revision>".to_owned(),
        [newest] | [newest, _] => short(&newest.revision).to_owned(),
        [newest, .., oldest] => format!("{}..{}", short(&oldest.revision), short(&newest.revision)),
    }
}

fn asks_for_all(update: &Update) -> bool {
    matches!(update, Update::Image(spec) if spec.is_for_all())
}

fn images(release: &Release) -> String {
    let images = release.result.images();
    if images.is_empty() { "no image changes".to_owned() } else { images.join(", ") }
}

/// A sync that ended, from which its events are made.
#[derive(Clone, Debug)]
pub struct SyncReport {
    /// When it began.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// The commits since the last sync, newest first, with the notes that ours carry.
    pub commits: Vec<(EventCommit, Option<Note>)>,
    /// Objects that were added or changed.
    pub changed: Vec<ObjectId>,
    /// What could not be applied.
    pub errors: Vec<ResourceError>,
    /// Whether no sync of this repository was known before; its notes are then another daemon's (fluxd-v1 §10.1).
    pub initial: bool,
}

impl SyncReport {
    /// The sync event, unless there was no commit, and then one event for each release among the commits, oldest first.
    pub fn events(self) -> Vec<Event> {
        let mut includes = Includes::default();
        let mut releases = Vec::new();
        for (commit, note) in self.commits.iter().rev() {
            match note.as_ref().filter(|_| !self.initial) {
                Some(note) => releases.extend(self.release_event(commit, note, &mut includes)),
                None => includes.other = true,
            }
        }
        if self.commits.is_empty() {
            return releases;
        }
        let commits = self.commits.into_iter().map(|(commit, _)| commit).collect();
        let detail = Detail::Sync { commits, includes, errors: self.errors, initial: self.initial };
        let sync = Event { ids: self.changed, started: self.started, ended: self.ended, detail };
        std::iter::once(sync).chain(releases).collect()
    }

    fn release_event(&self, commit: &EventCommit, note: &Note, includes: &mut Includes) -> Option<Event> {
        let result = note.result.clone().unwrap_or_default();
        let ids = result.changed();
        let release = Release { revision: commit.revision.clone(), result };
        let detail = match &note.spec.update {
            update @ (Update::Image(_) | Update::Containers(_)) => {
                includes.release = true;
                Detail::Release { release, update: update.clone(), cause: note.spec.cause.clone() }
            }
            Update::Auto(changes) => {
                includes.autorelease = true;
                Detail::AutoRelease { release, changes: changes.clone() }
            }
            Update::Policy(_) => {
                includes.update_policy = true;
                return None;
            }
            Update::Sync => {
                includes.other = true;
                return None;
            }
        };
        Some(Event { ids, started: self.started, ended: self.ended, detail })
    }
}
