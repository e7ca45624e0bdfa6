//! What a set would do, without doing it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::apply::{Done, FailureKind};
use crate::engine::owned::kind_order;
use crate::object::{Key, Object};
use crate::plan::{Action, Plan, SkipReason, Step, Target, Why};

use super::super::Preview;
use super::{ApplyHow, Entry, Set};

impl Set {
    /// What [`Set::apply`] and [`Set::prune`] would do, by fresh dry runs; the plan prints itself. Changes nothing. An object
    /// that cannot be tried out yet, because its namespace or kind comes with the same set, counts as new.
    ///
    /// # Errors
    /// When the cluster cannot be read.
    pub async fn plan(&self, objects: &[Arc<Object>], inventory: &[Entry], how: &ApplyHow) -> Result<Plan, String> {
        let cluster = self.cluster()?;
        let pass = self.pass(cluster, how);
        let (mut plan, _) = self.owned().plan(objects, &pass).await.map_err(|e| e.to_string())?;
        let report = self.owned().carry_out(&plan, &pass, true).await;
        let results: HashMap<&Key, &Done> = report.results.iter().map(|r| (r.key(), &r.done)).collect();
        for step in &mut plan.steps {
            step.action = match (results.get(&step.target.key), &step.action) {
                (Some(Done::Unchanged), Action::Apply(_)) => Action::Keep,
                (Some(Done::Failed(failure)), Action::Apply(_)) => match failure.kind {
                    FailureKind::Namespace | FailureKind::UnknownKind => Action::Apply(Why::New),
                    _ => Action::Reject(failure.message.clone()),
                },
                (_, action) => action.clone(),
            };
        }
        let wanted: HashSet<Key> = plan.steps.iter().map(|step| step.target.key.clone()).collect();
        let mut stale: Vec<&Entry> = inventory.iter().filter(|entry| !wanted.contains(&entry.key)).collect();
        stale.sort_by(|a, b| kind_order(&b.key).cmp(&kind_order(&a.key)));
        for entry in stale {
            plan.steps.extend(self.stale(entry, how).await?);
        }
        Ok(plan)
    }

    /// An object of the plan now, and as an apply would leave it. It may be a Secret: whoever shows it masks the values.
    ///
    /// # Errors
    /// When the cluster cannot be read, or refuses the object.
    pub async fn preview(&self, target: &Target, how: &ApplyHow) -> Result<Preview, String> {
        let live = match self.get(&target.gvk, target.key.namespace.as_deref(), &target.key.name).await {
            Ok(live) => Some(live),
            Err(error) if error.not_found => None,
            Err(error) => return Err(error.message),
        };
        let cluster = self.cluster()?;
        let after = self.owned().preview(target, &self.pass(cluster, how)).await.map_err(|e| e.to_string())?;
        Ok(Preview { live, after })
    }

    /// The step of an object that is no longer wanted; none when it is gone.
    async fn stale(&self, entry: &Entry, how: &ApplyHow) -> Result<Option<Step>, String> {
        let cluster = self.cluster()?;
        let kinds = self.owned().kinds_with(&[entry.gvk()].into(), how.until).await.map_err(|e| e.to_string())?;
        let Some(kind) = kinds.find(&entry.key.group, &entry.key.kind, "delete") else { return Ok(None) };
        let settings = self.owned().settings();
        let found = cluster.look(kind, &entry.key, how.until).await.map_err(|e| e.to_string())?;
        let Some((object, live)) = found else { return Ok(None) };
        let is_kept = crate::engine::owned::says(&object, &settings.prune_off);
        let action = if self.owns(&object) && !is_kept {
            Action::Delete { uid: live.uid.0 }
        } else {
            Action::Skip(SkipReason::NotOurs)
        };
        let key = entry.key.clone();
        let class = Target::class_of(&key.group, &key.kind);
        let target = Target { id: key.id(), key, gvk: kind.gvk.clone(), class, origin: None, want: None };
        Ok(Some(Step { target: Arc::new(target), action, clash: false, take_over: false }))
    }
}
