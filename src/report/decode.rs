//! Reading update requests and git notes as Go's decoder does (fluxd-v1 §2.5, §8.4). Strict for requests, tolerant for notes,
//! which are already in somebody's history.

use std::collections::BTreeMap;

use serde_json::Value;

use super::gojson::{DecodeError, Fields, first_value, wrong_type};
use super::update::{
    AutoChange, Cause, ContainerUpdate, ContainersRelease, ImageRelease, Note, PolicySet, PolicyUpdate, ResultSet,
    Update, UpdateSpec, WorkloadResult,
};
use crate::object::image::ImageRef;
use crate::object::{IdError, ObjectId};

/// Whether blank or broken image references are let through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Images {
    /// They end the decoding, as v1's API does.
    Checked,
    /// They are taken as they are: a note that v1 wrote must not stop a sync (errata 1).
    AsWritten,
}

/// Reads the body of `update-manifests`.
///
/// # Errors
/// On a wrong type, an unknown `type`, an unreadable identity (of `ServiceSpecs` the job tells, as in v1), or in a containers release an unreadable
/// image.
pub fn decode_update(value: &Value) -> Result<UpdateSpec, DecodeError> {
    read_spec(value, Images::Checked)
}

/// Reads a git note.
///
/// # Errors
/// When it is no JSON or its shape is not that of a note.
pub fn decode_note(text: &[u8]) -> Result<Note, DecodeError> {
    let value = first_value(text)?;
    let top = Fields::of("note", &value)?;
    let result = match top.get("result") {
        Value::Null => None,
        value => Some(read_result(value)?),
    };
    Ok(Note { job: top.text("jobID")?, spec: read_spec(top.get("spec"), Images::AsWritten)?, result })
}

fn read_spec(value: &Value, images: Images) -> Result<UpdateSpec, DecodeError> {
    let top = Fields::of("spec", value)?;
    let cause = top.fields("cause")?;
    let cause = Cause { message: cause.text("Message")?, user: cause.text("User")? };
    let kind = top.text("type")?;
    let known = matches!(kind.as_str(), "image" | "containers" | "policy" | "auto" | "sync");
    if known && images == Images::Checked && !top.has("spec") {
        return Err(DecodeError::absent("spec"));
    }
    let spec = top.fields("spec")?;
    let update = match kind.as_str() {
        "image" => Update::Image(read_image_release(spec, images)?),
        "containers" => Update::Containers(read_containers_release(spec, images)?),
        "policy" => Update::Policy(by_id(spec, read_policies)?),
        "auto" => {
            let changes = spec.list("Changes")?.iter().map(|v| read_auto_change(v, images));
            Update::Auto(changes.collect::<Result<_, _>>()?)
        }
        "sync" => Update::Sync,
        other => return Err(DecodeError::Value(format!("unknown spec type: {other}"))),
    };
    Ok(UpdateSpec { cause, update })
}

fn read_image_release(spec: Fields<'_>, images: Images) -> Result<ImageRelease, DecodeError> {
    let texts = |name| if spec.get(name).is_null() { Ok(None) } else { spec.texts(name).map(Some) };
    let excludes = texts("Excludes")?;
    if images == Images::Checked {
        excludes.iter().flatten().try_for_each(|id| read_id(id).map(drop))?;
    }
    Ok(ImageRelease {
        workloads: texts("ServiceSpecs")?,
        image: spec.text("ImageSpec")?,
        kind: spec.text("Kind")?,
        excludes,
        force: spec.flag("Force")?,
    })
}

fn read_containers_release(spec: Fields<'_>, images: Images) -> Result<ContainersRelease, DecodeError> {
    let read = |v: &Value| read_container_updates("ContainerSpecs", v, images);
    Ok(ContainersRelease {
        kind: spec.text("Kind")?,
        workloads: by_id(spec.fields("ContainerSpecs")?, read)?,
        skip_mismatches: spec.flag("SkipMismatches")?,
        force: spec.flag("Force")?,
    })
}

fn by_id<T>(
    map: Fields<'_>,
    read: impl Fn(&Value) -> Result<T, DecodeError>,
) -> Result<BTreeMap<ObjectId, T>, DecodeError> {
    map.iter().map(|(key, value)| Ok((read_id(key)?, read(value)?))).collect()
}

fn read_id(text: &str) -> Result<ObjectId, DecodeError> {
    text.parse().map_err(|e: IdError| DecodeError::Value(e.to_string()))
}

fn read_container_updates(name: &str, list: &Value, images: Images) -> Result<Vec<ContainerUpdate>, DecodeError> {
    match list {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.iter().map(|v| read_container_update(v, images)).collect(),
        other => Err(wrong_type(name, "a list", other)),
    }
}

fn read_container_update(value: &Value, images: Images) -> Result<ContainerUpdate, DecodeError> {
    let update = Fields::of("container update", value)?;
    Ok(ContainerUpdate {
        container: update.text("Container")?,
        current: read_image(update, "Current", images)?,
        target: read_image(update, "Target", images)?,
    })
}

fn read_auto_change(value: &Value, images: Images) -> Result<AutoChange, DecodeError> {
    let change = Fields::of("Changes", value)?;
    let container = change.fields("Container")?;
    Ok(AutoChange {
        workload: read_id(&change.text("WorkloadID")?)?,
        container: container.text("Name")?,
        current: read_image(container, "Image", images)?,
        target: read_image(change, "ImageID", images)?,
    })
}

/// An absent image is no image; one that is there must be readable where that is asked for.
fn read_image(fields: Fields<'_>, name: &str, images: Images) -> Result<String, DecodeError> {
    let text = fields.text(name)?;
    if images == Images::Checked && fields.has(name) && !fields.get(name).is_null() {
        text.parse::<ImageRef>().map_err(|e| DecodeError::Value(e.to_string()))?;
    }
    Ok(text)
}

fn read_policies(value: &Value) -> Result<PolicyUpdate, DecodeError> {
    let update = Fields::of("policy update", value)?;
    Ok(PolicyUpdate { add: read_policy_set(update, "add")?, remove: read_policy_set(update, "remove")? })
}

/// An object of texts, or an array of names that all mean `true` (fluxd-v1 §3.6).
fn read_policy_set(update: Fields<'_>, name: &str) -> Result<PolicySet, DecodeError> {
    if update.get(name).is_null() {
        return Ok(PolicySet::default());
    }
    if update.get(name).is_array() {
        return Ok(update.texts(name)?.into_iter().map(|policy| (policy, "true".to_owned())).collect());
    }
    let set = update.fields(name)?;
    set.iter().map(|(policy, _)| Ok((policy.to_owned(), set.text(policy)?))).collect()
}

fn read_result(value: &Value) -> Result<ResultSet, DecodeError> {
    let read = |v: &Value| {
        let one = Fields::of("result", v)?;
        let containers = read_container_updates("PerContainer", one.get("PerContainer"), Images::AsWritten)?;
        Ok(WorkloadResult { status: one.text("Status")?, error: one.text("Error")?, containers })
    };
    Ok(ResultSet(by_id(Fields::of("result", value)?, read)?))
}
