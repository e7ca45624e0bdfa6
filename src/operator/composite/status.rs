//! The part of a status that the library keeps, and how it changes. Pure functions of values and a given time.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::condition::{
    self, Condition, IN_PROGRESS_MESSAGE, PROGRESSING, PROGRESSING_WITH_RETRY, READY, RECONCILIATION_SUCCEEDED,
    RECONCILING, STALLED, Says,
};
use crate::api::inventory::{Entry as Listed, Inventory};
use crate::api::status;
use crate::operator::sets::Entry;

/// What the library keeps in a status. Flatten it into your own:
///
/// ```ignore
/// struct WebsiteStatus { #[serde(flatten)] composite: CompositeStatus, url: Option<String> }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompositeStatus {
    /// Conditions Ready, Reconciling and Stalled, as kstatus reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The generation that the last pass looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What the object owns. Whatever may have been applied stands here before it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// The revision that was applied last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_revision: Option<String>,
    /// The value of the annotation `reconcile.fluxcd.io/requestedAt` that the last pass saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_handled_reconcile_at: Option<String>,
}

impl CompositeStatus {
    /// Reads it from an object.
    pub(super) fn of<K: Serialize>(object: &K) -> (Self, Map<String, Value>) {
        let mut object = serde_json::to_value(object).unwrap_or_default();
        let whole = object.get_mut("status").map(Value::take).unwrap_or_default();
        let own = serde_json::from_value(whole.clone()).unwrap_or_default();
        (own, whole.as_object().cloned().unwrap_or_default())
    }

    /// The whole status with these fields in it.
    pub(super) fn within(&self, mut whole: Map<String, Value>) -> Value {
        for key in ["conditions", "observedGeneration", "inventory", "lastAppliedRevision", "lastHandledReconcileAt"] {
            whole.remove(key);
        }
        if let Ok(Value::Object(own)) = serde_json::to_value(self) {
            whole.extend(own);
        }
        Value::Object(whole)
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        let entries = self.inventory.iter().flat_map(|inventory| &inventory.entries);
        let parsed = entries.filter_map(|entry| entry.parse().ok());
        parsed.map(|(key, gvk)| Entry { key, version: gvk.version }).collect()
    }

    pub(super) fn set_entries(&mut self, entries: &[Entry]) {
        let entries = entries.iter().map(|entry| Listed::new(&entry.key, &entry.version)).collect();
        self.inventory = Some(Inventory::default().union(&Inventory { entries }));
    }

    /// Adds entries to those that stand there.
    pub(super) fn add_entries(&mut self, entries: &[Entry]) {
        let before = self.inventory.take().unwrap_or_default();
        self.set_entries(entries);
        self.inventory = self.inventory.take().map(|added| before.union(&added));
    }

    pub(super) fn is_ready(&self, generation: i64) -> bool {
        let ready = condition::get(&self.conditions, READY);
        ready.is_some_and(|c| c.status == status::TRUE && c.observed_generation == Some(generation))
    }

    pub(super) fn reason(&self) -> &str {
        condition::get(&self.conditions, READY).map_or("", |ready| ready.reason.as_str())
    }

    /// A pass is under way, and the outcome is open.
    pub(super) fn progressing(&mut self, generation: i64, now: Timestamp) {
        condition::remove(&mut self.conditions, STALLED);
        condition::set(&mut self.conditions, &Says::unknown(READY, PROGRESSING, IN_PROGRESS_MESSAGE), generation, now);
        let reconciling = Says::yes(RECONCILING, PROGRESSING, IN_PROGRESS_MESSAGE);
        condition::set(&mut self.conditions, &reconciling, generation, now);
        self.observed_generation = Some(generation);
    }

    /// A pass failed, and another follows.
    pub(super) fn failed(&mut self, (reason, message): (&str, &str), generation: i64, now: Timestamp) {
        condition::remove(&mut self.conditions, STALLED);
        condition::set(&mut self.conditions, &Says::no(READY, reason, message), generation, now);
        let reconciling = Says::yes(RECONCILING, PROGRESSING_WITH_RETRY, message);
        condition::set(&mut self.conditions, &reconciling, generation, now);
        self.observed_generation = Some(generation);
    }

    /// Nothing will become of it before somebody changes something.
    pub(super) fn stalled(&mut self, (reason, message): (&str, &str), generation: i64, now: Timestamp) {
        condition::remove(&mut self.conditions, RECONCILING);
        condition::set(&mut self.conditions, &Says::yes(STALLED, reason, message), generation, now);
        condition::set(&mut self.conditions, &Says::no(READY, reason, message), generation, now);
        self.observed_generation = Some(generation);
    }

    /// All is as it should be.
    pub(super) fn ready(&mut self, message: &str, generation: i64, now: Timestamp) {
        condition::remove(&mut self.conditions, STALLED);
        condition::remove(&mut self.conditions, RECONCILING);
        let ready = Says::yes(READY, RECONCILIATION_SUCCEEDED, message);
        condition::set(&mut self.conditions, &ready, generation, now);
        self.observed_generation = Some(generation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(status: &CompositeStatus) -> Vec<String> {
        status.conditions.iter().map(|c| format!("{}={} {}", c.type_, c.status, c.reason)).collect()
    }

    #[test]
    fn conditions_follow_kstatus_whatever_came_before() {
        let now = Timestamp::UNIX_EPOCH;
        let mut status = CompositeStatus::default();
        status.progressing(1, now);
        assert_eq!(words(&status), ["Reconciling=True Progressing", "Ready=Unknown Progressing"]);
        status.failed(("ReconciliationFailed", "no"), 1, now);
        assert_eq!(words(&status), ["Reconciling=True ProgressingWithRetry", "Ready=False ReconciliationFailed"]);
        status.stalled(("BuildFailed", "no"), 1, now);
        assert_eq!(words(&status), ["Stalled=True BuildFailed", "Ready=False BuildFailed"]);
        status.ready("yes", 2, now);
        assert_eq!(words(&status), ["Ready=True ReconciliationSucceeded"]);
        assert!(status.is_ready(2) && !status.is_ready(3), "of another generation it says nothing");
    }

    #[test]
    fn fields_of_the_author_stay_and_gone_fields_go() {
        let whole = json!({ "url": "x", "inventory": { "entries": [] }, "lastAppliedRevision": "1" });
        let (status, whole) = CompositeStatus::of(&json!({ "status": whole }));
        assert_eq!(status.last_applied_revision.as_deref(), Some("1"));
        let after = CompositeStatus { last_applied_revision: Some("2".into()), ..CompositeStatus::default() };
        assert_eq!(after.within(whole), json!({ "url": "x", "lastAppliedRevision": "2" }));
    }
}
