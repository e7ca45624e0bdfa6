//! Policy updates as a decision on the head of the branch (fluxd-v1 §6.5).

use std::collections::BTreeMap;

use crate::generate::{Change, WorkloadChange};
use crate::object::ObjectId;
use crate::report::{ApiError, JobResult, PolicyUpdate, Update};
use crate::update;

use super::commit::{Decision, Outcome};
use super::jobs::Failed;
use super::snapshot::Snapshot;

/// Decides what a policy update changes.
///
/// # Errors
/// When a tag filter is no pattern; the whole update is then refused.
pub(super) fn decide(updates: &BTreeMap<ObjectId, PolicyUpdate>, snapshot: &Snapshot) -> Result<Decision, Failed> {
    let plan = update::plan_policies(updates, &snapshot.named(updates.keys())).map_err(|e| {
        let result = JobResult { result: Some(e.results()), ..JobResult::default() };
        Failed { error: ApiError::untyped(e.to_string()), result: Box::new(result) }
    })?;
    let edits = plan.edits.iter().filter(|(_, edits)| !edits.is_empty());
    let changes = edits.filter_map(|(id, edits)| {
        let changes = edits.iter().map(|(policy, value)| {
            let (policy, value) = (policy.clone(), value.clone());
            Change::Policy { policy, value }
        });
        let object = snapshot.objects.get(id)?.clone();
        Some(WorkloadChange { id: id.clone(), object, changes: changes.collect() })
    });
    Ok(Decision {
        update: Update::Policy(updates.clone()),
        changes: changes.collect(),
        outcome: Outcome::Policies(plan),
    })
}
