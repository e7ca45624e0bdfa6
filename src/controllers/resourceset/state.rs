//! The status of a ResourceSet as it changes during a pass (resourceset §7.2, §7.3, §7.8).

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::api::condition::{self, Says};
use crate::api::history::{self, Outcome};
use crate::api::inventory::Inventory;
use crate::api::resourceset::{ResourceSet, ResourceSetStatus};
use crate::api::{annotation, status};

/// A status under way.
pub(super) struct State {
    pub(super) status: ResourceSetStatus,
    generation: i64,
}

impl State {
    /// Begins with what the object's status says.
    pub(super) fn of(object: &ResourceSet) -> Self {
        let status = object.status.clone().unwrap_or_default();
        Self { status, generation: object.metadata.generation.unwrap_or_default() }
    }

    fn set(&mut self, says: &Says<'_>) {
        condition::set(&mut self.status.conditions, says, self.generation, Timestamp::now());
    }

    fn remove(&mut self, kind: &str) {
        condition::remove(&mut self.status.conditions, kind);
    }

    /// Whether no pass has ever said anything.
    pub(super) fn is_untold(&self) -> bool {
        condition::get(&self.status.conditions, condition::READY).is_none()
    }

    /// The reason of Ready.
    pub(super) fn reason(&self) -> &str {
        condition::get(&self.status.conditions, condition::READY).map_or("", |ready| ready.reason.as_str())
    }

    /// Whether this very generation was applied as `revision`, and Ready says so: the pass looks for drift only.
    pub(super) fn is_applied(&self, revision: &str) -> bool {
        let ready = condition::get(&self.status.conditions, condition::READY);
        self.status.last_applied_revision.as_deref() == Some(revision)
            && ready.is_some_and(|r| r.status == status::TRUE && r.observed_generation == Some(self.generation))
    }

    /// What was applied before, as the status has it.
    pub(super) fn inventory(&self) -> Inventory {
        self.status.inventory.clone().unwrap_or_default()
    }

    /// The object was created suspended.
    pub(super) fn suspended_from_the_start(&mut self) {
        let message = "Initialized with reconciliation suspended";
        self.set(&Says::yes(condition::READY, condition::RECONCILIATION_DISABLED, message));
    }

    /// A pass is under way.
    pub(super) fn progressing(&mut self) {
        self.remove(condition::STALLED);
        let message = condition::IN_PROGRESS_MESSAGE;
        self.set(&Says::yes(condition::RECONCILING, condition::PROGRESSING, message));
        self.set(&Says::unknown(condition::READY, condition::PROGRESSING, message));
    }

    /// A step is applied, and its health is waited for.
    pub(super) fn at_step(&mut self, message: &str) {
        self.set(&Says::yes(condition::RECONCILING, condition::PROGRESSING, message));
    }

    /// It cannot go on before the object, or what it refers to, changes.
    pub(super) fn stalled(&mut self, reason: &str, message: &str) {
        self.set(&Says::yes(condition::STALLED, reason, message));
        self.set(&Says::no(condition::READY, reason, message));
    }

    /// The pass did not come to its end, and another one follows.
    pub(super) fn not_ready(&mut self, reason: &str, message: &str) {
        self.set(&Says::no(condition::READY, reason, message));
    }

    /// The pass succeeded.
    pub(super) fn ready(&mut self, message: &str) {
        self.remove(condition::STALLED);
        self.set(&Says::yes(condition::READY, condition::RECONCILIATION_SUCCEEDED, message));
    }

    /// Adds the outcome of this pass, whose status is the reason of Ready.
    pub(super) fn record(&mut self, digest: String, took: Duration, metadata: BTreeMap<String, String>) {
        let outcome = Outcome { digest, status: self.reason().to_owned(), took, metadata };
        history::record(&mut self.status.history, outcome, Timestamp::now());
    }

    /// What holds at the end of every pass, however it ended.
    pub(super) fn finish(&mut self, object: &ResourceSet) {
        if let Some(token) = annotation::requested_at(object.annotations()) {
            self.status.last_handled_reconcile_at = Some(token.to_owned());
        }
        let conditions = &self.status.conditions;
        if condition::is_true(conditions, condition::READY) || condition::is_true(conditions, condition::STALLED) {
            self.remove(condition::RECONCILING);
            return;
        }
        let failed = condition::get(conditions, condition::READY).is_some_and(|r| r.status == status::FALSE);
        let message = condition::get(conditions, condition::RECONCILING).map(|c| c.message.clone());
        if let Some(message) = message.filter(|_| failed) {
            self.set(&Says::yes(condition::RECONCILING, condition::PROGRESSING_WITH_RETRY, &message));
        }
    }
}
