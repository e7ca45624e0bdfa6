//! Workloads: objects that run images. Which containers an object has, which of its fields to change for another image, and
//! which of its annotations for another policy (fluxd-v1 §3.4, §3.6, §3.7). Fields are named by path, so that the same
//! answer serves an edit of bytes and an edit of JSON.

mod declared;
mod helm;
mod path;
mod policies;
#[cfg(test)]
mod tests;

pub use declared::may_declare;
pub use path::Step;
pub use policies::{AnnotationChange, annotation_changes, policy_changes, policy_edits, policy_key};

use serde_json::Value;

use super::image::ImageRef;
use path::Field;

/// Group and kind of what v1 calls workloads (fluxd-v1 §3.4). In files only the kind counts.
pub const KINDS: [(&str, &str); 5] = [
    ("apps", "Deployment"),
    ("apps", "DaemonSet"),
    ("apps", "StatefulSet"),
    ("batch", "CronJob"),
    ("helm.fluxcd.io", "HelmRelease"),
];

/// A container of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its name; for HelmReleases and declared images an alias.
    pub name: String,
    /// The image it runs, or why the image's text is none.
    pub image: Result<ImageRef, String>,
}

/// A change of one scalar of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// Where it is, from the object's root. The field exists.
    pub path: Vec<Step>,
    /// What it becomes: always a string.
    pub value: String,
}

/// Why a workload cannot be changed as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// It has no such container.
    #[error("no container \"{0}\" in the object; expected one of: {1}")]
    NoContainer(String, String),
    /// Its fields cannot hold the image.
    #[error("the image \"{image}\" cannot be written to the fields of container \"{container}\": {reason}")]
    Unwritable {
        /// The container.
        container: String,
        /// The image.
        image: String,
        /// Why.
        reason: &'static str,
    },
    /// A tag filter cannot be read.
    #[error(transparent)]
    Pattern(#[from] super::pattern::PatternError),
}

/// Whether objects of a kind are workloads. Others can be made so by declaring where their images are ([`is_workload`]).
pub fn is_workload_kind(kind: &str) -> bool {
    KINDS.iter().any(|(_, known)| *known == kind)
}

/// Whether an object is a workload: by its kind, or because an annotation `images.fluxd.io/⟨alias⟩` declares where an image
/// is.
pub fn is_workload(object: &Value) -> bool {
    object["kind"].as_str().is_some_and(is_workload_kind) || declared::any(object)
}

/// The containers of an object: those of the pod template with the init containers last, or those of a HelmRelease's
/// values, and then the declared ones. Jobs have theirs read although they are no workloads. Other objects have none.
pub fn containers(object: &Value) -> Vec<Container> {
    slots(object).into_iter().map(|slot| Container { name: slot.name, image: slot.image }).collect()
}

/// The fields to change so that a container runs another image. What has the right value already is not named.
///
/// # Errors
/// [`WorkloadError::NoContainer`]; [`WorkloadError::Unwritable`] where tag and name have fields of their own and the image
/// has no tag.
pub fn image_changes(object: &Value, container: &str, new: &ImageRef) -> Result<Vec<FieldChange>, WorkloadError> {
    let slots = slots(object);
    let Some(slot) = slots.iter().find(|slot| slot.name == container) else {
        let names: Vec<_> = slots.iter().map(|slot| slot.name.as_str()).collect();
        return Err(WorkloadError::NoContainer(container.to_owned(), names.join(", ")));
    };
    let values = slot.place.values(new).map_err(|reason| WorkloadError::Unwritable {
        container: container.to_owned(),
        image: new.full(),
        reason,
    })?;
    let differing = values.into_iter().filter(|(field, value)| field.text.as_ref() != Some(value));
    Ok(differing.map(|(field, value)| FieldChange { path: field.path.clone(), value }).collect())
}

/// A container with the fields that its image is kept in.
struct Slot {
    name: String,
    image: Result<ImageRef, String>,
    place: Place,
}

/// The fields that an image is kept in.
struct Place {
    registry: Option<Field>,
    repository: Field,
    tag: Option<Field>,
}

impl Place {
    fn whole(field: Field) -> Self {
        Self { registry: None, repository: field, tag: None }
    }

    /// The reference that the fields make together; a tag that is no string is not seen (fluxd-v1 §3.7).
    fn reference(&self) -> Result<ImageRef, String> {
        let mut text = String::new();
        if let Some(registry) = self.registry.as_ref().and_then(|f| f.text.as_ref()) {
            text = format!("{registry}/");
        }
        text += self.repository.text.as_deref().unwrap_or_default();
        if let Some(tag) = self.tag.as_ref().and_then(|f| f.text.as_ref()) {
            text = format!("{text}:{tag}");
        }
        text.parse().map_err(|e: super::image::ImageError| e.to_string())
    }

    /// What each field becomes.
    fn values(&self, new: &ImageRef) -> Result<Vec<(&Field, String)>, &'static str> {
        let mut values = Vec::new();
        let mut name = new.name.to_string();
        if let Some(registry) = &self.registry {
            // a registry that v1 would not take for a domain stays what it is, as long as the name begins with it
            let kept = registry.text.as_ref().and_then(|text| name.strip_prefix(text)?.strip_prefix('/'));
            match kept.map(str::to_owned) {
                Some(rest) => name = rest,
                None => {
                    values.push((registry, new.name.domain.clone()));
                    name = new.name.path.clone();
                }
            }
        }
        let Some(tag) = &self.tag else {
            values.push((&self.repository, name + &new.suffix()));
            return Ok(values);
        };
        if new.tag.is_empty() {
            return Err("the tag has a field of its own, and the image has no tag");
        }
        values.push((&self.repository, name));
        values.push((tag, new.suffix()[1..].to_owned()));
        Ok(values)
    }
}

fn slots(object: &Value) -> Vec<Slot> {
    let mut found = match object["kind"].as_str().unwrap_or_default() {
        "HelmRelease" => helm::slots(object),
        "CronJob" => pod_slots(object, &["spec", "jobTemplate", "spec", "template", "spec"]),
        "Deployment" | "DaemonSet" | "StatefulSet" | "Job" => pod_slots(object, &["spec", "template", "spec"]),
        _ => Vec::new(),
    };
    for slot in declared::slots(object) {
        if found.iter().all(|other| other.name != slot.name) {
            found.push(slot);
        }
    }
    found
}

fn pod_slots(object: &Value, pod: &[&str]) -> Vec<Slot> {
    let spec = pod.iter().fold(object, |at, key| &at[*key]);
    let mut found = Vec::new();
    for list in ["containers", "initContainers"] {
        for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            let Some(container) = container.as_object() else { continue };
            let mut path: Vec<Step> = pod.iter().map(|key| Step::key(key)).collect();
            path.extend([Step::key(list), Step::Index(index), Step::key("image")]);
            let text = |key: &str| container.get(key).and_then(super::policy::scalar_text);
            let place = Place::whole(Field { path, text: text("image") });
            let name = text("name").unwrap_or_default();
            found.push(Slot { name, image: place.reference(), place });
        }
    }
    found
}
