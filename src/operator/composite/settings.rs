//! Names and bounds of an operator of composites: all of them follow from a name and a group, and may be changed.

use crate::operator::controller::ControllerSettings;
use crate::operator::sets::{Keyed, SetSettings};

/// How an operator of composites runs.
#[derive(Clone)]
pub struct CompositeSettings {
    /// How passes are run: workers, retries, shards, metrics.
    pub controller: ControllerSettings,
    /// How objects are applied: field manager, marks, bounds.
    pub sets: SetSettings,
}

impl CompositeSettings {
    /// Names everything after an operator and the API group of its kind: `website` and `example.dev` give the field manager
    /// `website`, the finalizer `example.dev/finalizer`, the owner labels `website.example.dev/name` and `…/namespace`, and
    /// the annotations `example.dev/reconcile: disabled`, `…/prune: disabled`, `…/force: enabled` and
    /// `…/recreateOnFailure: enabled` on objects that are applied.
    pub fn new(name: &'static str, group: &str) -> Self {
        let controller =
            ControllerSettings { finalizer: Some(format!("{group}/finalizer")), ..ControllerSettings::new(name, name) };
        let key = |key: &str, value: &str| Keyed::new(&format!("{group}/{key}"), value);
        let sets = SetSettings {
            field_manager: name.to_owned(),
            owner_name_label: format!("{name}.{group}/name"),
            owner_namespace_label: format!("{name}.{group}/namespace"),
            off: key("reconcile", "disabled"),
            prune_off: key("prune", "disabled"),
            force: key("force", "enabled"),
            recreate: key("recreateOnFailure", "enabled"),
            ..SetSettings::resource_set()
        };
        Self { controller, sets }
    }

    /// Looks after these namespaces only.
    #[must_use]
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = String>) -> Self {
        self.controller.namespaces = namespaces.into_iter().collect();
        self
    }
}
