//! What the two custom resources have in common for those who look at them.

use std::fmt::Debug;

use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::annotation::{self, Annotations};
use crate::api::condition::{self, Condition};
use crate::api::inputprovider::ResourceSetInputProvider;
use crate::api::resourceset::ResourceSet;

/// A custom resource that can be listed, asked for a reconciliation and suspended.
pub(super) trait Custom:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + 'static
{
    /// Its kind.
    const KIND: &'static str;
    /// Its heading between READY and MESSAGE.
    const COLUMN: &'static str;

    /// Its conditions.
    fn conditions(&self) -> &[Condition];

    /// The token of the last request that the controller is through with.
    fn last_handled(&self) -> Option<&str>;

    /// What stands below [`Custom::COLUMN`].
    fn column(&self) -> String;

    /// Its Ready condition.
    fn ready(&self) -> Option<&Condition> {
        condition::get(self.conditions(), condition::READY)
    }

    /// Whether it is suspended.
    fn is_suspended(&self) -> bool {
        annotation::is_disabled(&annotations(self))
    }
}

fn annotations(object: &impl Resource) -> Annotations {
    object.annotations().clone()
}

impl Custom for ResourceSet {
    const KIND: &'static str = "ResourceSet";
    const COLUMN: &'static str = "RESOURCES";

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map_or(&[], |status| &status.conditions)
    }

    fn last_handled(&self) -> Option<&str> {
        self.status.as_ref()?.last_handled_reconcile_at.as_deref()
    }

    fn column(&self) -> String {
        let inventory = self.status.as_ref().and_then(|status| status.inventory.as_ref());
        inventory.map_or(0, |inventory| inventory.entries.len()).to_string()
    }
}

impl Custom for ResourceSetInputProvider {
    const KIND: &'static str = "ResourceSetInputProvider";
    const COLUMN: &'static str = "INPUTS";

    fn conditions(&self) -> &[Condition] {
        self.status.as_ref().map_or(&[], |status| &status.conditions)
    }

    fn last_handled(&self) -> Option<&str> {
        self.status.as_ref()?.last_handled_reconcile_at.as_deref()
    }

    fn column(&self) -> String {
        self.status.as_ref().map_or(0, |status| status.exported_inputs.len()).to_string()
    }
}
