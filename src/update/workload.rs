//! A workload as git describes it.

use serde_json::Value;

use crate::object::image::ImageRef;
use crate::object::pattern::Pattern;
use crate::object::workload::{Container, containers};
use crate::object::{ObjectId, Policies};

/// What the update room must know of an object in git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitWorkload {
    /// The identity with the namespace that the object really has.
    pub id: ObjectId,
    /// Its policies.
    pub policies: Policies,
    /// Its containers; empty for objects that are no workloads.
    pub containers: Vec<Container>,
}

impl GitWorkload {
    /// Takes what matters from an object.
    pub fn new(id: ObjectId, object: &Value) -> Self {
        let annotations = object["metadata"]["annotations"].as_object();
        let policies = annotations.map(Policies::from_annotations).unwrap_or_default();
        Self { id, policies, containers: containers(object) }
    }

    /// A container by its name.
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers.iter().find(|container| container.name == name)
    }

    /// The image that a container runs, if it can be read.
    pub fn image(&self, container: &str) -> Option<&ImageRef> {
        self.container(container)?.image.as_ref().ok()
    }

    /// Which tags a container may get; all where nothing is asked for.
    pub fn pattern(&self, container: &str) -> Pattern {
        self.policies.get(&format!("tag.{container}")).map(Pattern::parse).unwrap_or_default()
    }

    /// Whether locked: no releases, no automation.
    pub fn is_locked(&self) -> bool {
        self.policies.is_set("locked")
    }

    /// Whether images are to be written with their digest.
    pub fn is_pinned(&self) -> bool {
        self.policies.is_set("pin")
    }
}
