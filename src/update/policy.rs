//! Policy updates: what to change on which object, and what became of it (fluxd-v1 §6.5).

use std::collections::BTreeMap;

use super::GitWorkload;
use crate::object::ObjectId;
use crate::object::pattern::PatternError;
use crate::object::workload::policy_edits;
use crate::report::{PolicyUpdate, ResultSet, WorkloadResult};

/// Policies of one object to set, or with `None` to remove.
pub type Edits = BTreeMap<String, Option<String>>;

/// What a policy update means for the objects in git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyPlan {
    /// What to change, by object.
    pub edits: BTreeMap<ObjectId, Edits>,
    unknown: Vec<ObjectId>,
}

/// Decides what a policy update changes. `tag_all` is expanded by the containers that git has. Locks are not consulted.
///
/// # Errors
/// When a tag filter cannot be read; the whole update is then refused, as in v1.
pub fn plan(
    updates: &BTreeMap<ObjectId, PolicyUpdate>,
    git: &BTreeMap<ObjectId, GitWorkload>,
) -> Result<PolicyPlan, Refused> {
    let mut plan = PolicyPlan::default();
    for (id, update) in updates {
        let containers: Vec<String> =
            git.get(id).into_iter().flat_map(|w| &w.containers).map(|c| c.name.clone()).collect();
        let edits = policy_edits(&containers, &update.add, &update.remove).map_err(|e| Refused(id.clone(), e))?;
        match git.contains_key(id) {
            true => drop(plan.edits.insert(id.clone(), edits)),
            false => plan.unknown.push(id.clone()),
        }
    }
    Ok(plan)
}

/// An object whose tag filter cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{1}")]
pub struct Refused(ObjectId, PatternError);

impl Refused {
    /// The object as failed, which clients are told beside the error.
    pub fn results(&self) -> ResultSet {
        failed(&self.0, &self.1.to_string())
    }
}

/// One object whose policies could not be changed, and why.
pub fn failed(id: &ObjectId, reason: &str) -> ResultSet {
    let result = WorkloadResult { status: "failed".to_owned(), error: reason.to_owned(), containers: Vec::new() };
    ResultSet([(id.clone(), result)].into())
}

impl PolicyPlan {
    /// What became of each object, when it is known which of them the edits changed. One that is not in git is skipped
    /// with the reason, which v1 lost.
    pub fn results(&self, changed: &BTreeMap<ObjectId, bool>) -> ResultSet {
        let result = |status: &str, error: &str| WorkloadResult {
            status: status.to_owned(),
            error: error.to_owned(),
            containers: Vec::new(),
        };
        let edited = self.edits.keys().map(|id| {
            let status = if changed.get(id).is_some_and(|changed| *changed) { "success" } else { "skipped" };
            (id.clone(), result(status, ""))
        });
        let unknown = self.unknown.iter().map(|id| (id.clone(), result("skipped", "not found in repository")));
        ResultSet(edited.chain(unknown).collect())
    }
}
