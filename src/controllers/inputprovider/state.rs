//! The status of an input provider as it changes during a pass (resourceset §7.3, §8.1). Functions of data; the time comes
//! as an argument.

use jiff::Timestamp;

use crate::api::annotation::{self, Annotations};
use crate::api::condition::{self, Says};
use crate::api::inputprovider::{NextSchedule, ResourceSetInputProvider, ResourceSetInputProviderStatus as Status};
use crate::api::status;
use crate::provider::Export;
use crate::provider::schedule::NextRun;

/// A status under way.
pub(super) struct State {
    pub(super) status: Status,
    generation: i64,
    /// The token of a force request. It is noted at the end only: a pass that is cut off has not handled it.
    force: Option<String>,
}

impl State {
    /// Begins with what the object's status says.
    pub(super) fn of(object: &ResourceSetInputProvider) -> Self {
        let status = object.status.clone().unwrap_or_default();
        Self { status, generation: object.metadata.generation.unwrap_or_default(), force: None }
    }

    fn set(&mut self, says: &Says<'_>) {
        condition::set(&mut self.status.conditions, says, self.generation, Timestamp::now());
    }

    fn remove(&mut self, kind: &str) {
        condition::remove(&mut self.status.conditions, kind);
    }

    /// Whether no pass has come to an end yet.
    pub(super) fn is_untried(&self) -> bool {
        let ready = condition::get(&self.status.conditions, condition::READY);
        ready.is_none_or(|ready| {
            ready.status == status::UNKNOWN && condition::is_true(&self.status.conditions, condition::RECONCILING)
        })
    }

    /// The object was created suspended.
    pub(super) fn suspended_from_the_start(&mut self) {
        let message = "Initialized with reconciliation suspended";
        self.set(&Says::yes(condition::READY, condition::RECONCILIATION_DISABLED, message));
    }

    /// A pass is under way; nobody can tell yet how it ends, unless `ready` stays what it is.
    pub(super) fn progressing(&mut self, keep_ready: bool) {
        self.remove(condition::STALLED);
        let message = condition::IN_PROGRESS_MESSAGE;
        self.set(&Says::yes(condition::RECONCILING, condition::PROGRESSING, message));
        if !keep_ready {
            self.set(&Says::unknown(condition::READY, condition::PROGRESSING, message));
        }
    }

    /// It cannot go on before the object changes.
    pub(super) fn stalled(&mut self, reason: &str, message: &str) {
        self.remove(condition::RECONCILING);
        self.set(&Says::yes(condition::STALLED, reason, message));
        self.set(&Says::no(condition::READY, reason, message));
    }

    /// The pass failed, and another one follows.
    pub(super) fn failed(&mut self, message: &str) {
        self.set(&Says::no(condition::READY, condition::RECONCILIATION_FAILED, message));
    }

    /// The schedule does not allow a pass. Only an object that was never tried says so in its conditions.
    pub(super) fn skipped(&mut self, next: Option<&NextRun>, message: &str) {
        self.status.next_schedule = next.map(written);
        if self.is_untried() {
            self.set(&Says::yes(condition::READY, condition::SKIPPED_DUE_TO_SCHEDULE, message));
        }
    }

    /// The pass succeeded with this export. Answers whether it differs from the one before.
    pub(super) fn exported(&mut self, export: Export, revision: &str, message: &str) -> bool {
        let changed = self.status.last_exported_revision.as_deref() != Some(revision);
        self.status.last_exported_revision = Some(revision.to_owned());
        self.status.exported_inputs = export.sets;
        for set in &mut self.status.exported_inputs {
            // the API server keeps no null values; written here they would differ for ever (errata 25)
            set.retain(|_, value| !value.is_null());
        }
        self.remove(condition::STALLED);
        self.set(&Says::yes(condition::READY, condition::RECONCILIATION_SUCCEEDED, message));
        changed
    }

    /// When the next pass is due, where a schedule says so.
    pub(super) fn next_schedule(&mut self, next: Option<&NextRun>) {
        self.status.next_schedule = next.map(written);
    }

    /// Whether somebody asks for a run outside of the schedule: both tokens are equal, and neither was handled (resourceset
    /// §2.5). The token is noted in any case.
    pub(super) fn take_force(&mut self, annotations: &Annotations) -> bool {
        let Some(force) = annotations.get(annotation::FORCE_AT) else { return false };
        let handled = [&self.status.last_handled_force_at, &self.status.last_handled_reconcile_at];
        let new = handled.into_iter().all(|token| token.as_ref() != Some(force));
        self.force = Some(force.clone());
        new && annotation::requested_at(annotations) == Some(force)
    }

    /// What holds at the end of every pass, however it ended.
    pub(super) fn finish(&mut self, annotations: &Annotations) {
        if let Some(token) = self.force.take() {
            self.status.last_handled_force_at = Some(token);
        }
        if let Some(token) = annotation::requested_at(annotations) {
            self.status.last_handled_reconcile_at = Some(token.to_owned());
        }
        let conditions = &self.status.conditions;
        let is_true = |kind| condition::is_true(conditions, kind);
        if is_true(condition::READY) || is_true(condition::STALLED) {
            self.remove(condition::RECONCILING);
            return;
        }
        let failed = condition::get(conditions, condition::READY).is_some_and(|ready| ready.status == status::FALSE);
        if let Some(reconciling) = condition::get(conditions, condition::RECONCILING)
            && failed
        {
            let message = reconciling.message.clone();
            self.set(&Says::yes(condition::RECONCILING, condition::PROGRESSING_WITH_RETRY, &message));
        }
    }
}

fn written(next: &NextRun) -> NextSchedule {
    NextSchedule {
        cron: next.cron.clone(),
        time_zone: next.time_zone.clone(),
        window: next.window.clone(),
        when: condition::seconds(next.when),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(requested: &str, force: &str) -> Annotations {
        let pairs = [(annotation::REQUESTED_AT, requested), (annotation::FORCE_AT, force)];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn a_force_request_counts_once_and_is_noted_when_the_pass_is_over() {
        let object = ResourceSetInputProvider::new("p", serde_json::from_str(r#"{"type": "Static"}"#).unwrap());
        let mut state = State::of(&object);
        assert!(!state.take_force(&annotations("1", "2")), "the tokens differ");
        assert_eq!(state.status.last_handled_force_at, None);
        state.finish(&annotations("1", "2"));
        assert_eq!(state.status.last_handled_force_at.as_deref(), Some("2"));
        assert!(!state.take_force(&annotations("2", "2")), "it was there before");
        assert!(state.take_force(&annotations("3", "3")));
        // cut off: asked for again
        assert!(state.take_force(&annotations("3", "3")));
        state.finish(&annotations("3", "3"));
        assert!(!state.take_force(&annotations("3", "3")));
        assert_eq!(state.status.last_handled_reconcile_at.as_deref(), Some("3"));
    }
}
