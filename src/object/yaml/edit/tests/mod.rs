//! Edits of files as people write them: what comes out, byte for byte.

use serde_json::Value;

use crate::object::image::ImageRef;
use crate::object::workload::{self, AnnotationChange, FieldChange, Step};
use crate::object::yaml::{self, Dialect, Limits};

use super::*;

mod annotations;
mod corpus;
mod layouts;
mod properties;
mod shared;

fn id(text: &str) -> ObjectId {
    text.parse().unwrap()
}

fn set(path: &str, value: &str) -> Op {
    let path = path.split('/').map(|step| step.parse().map_or_else(|_| Step::key(step), Step::Index)).collect();
    Op::Set(FieldChange { path, value: value.to_owned() })
}

fn annotate(key: &str, value: Option<&str>) -> Op {
    Op::Annotate(AnnotationChange { key: key.to_owned(), value: value.map(str::to_owned) })
}

/// Makes edits; the text that comes out, or the reason why none does.
fn edited(text: &str, edits: &[(&str, Vec<Op>)]) -> Result<String, String> {
    let edits: Vec<ObjectEdit> = edits.iter().map(|(of, ops)| ObjectEdit { id: id(of), ops: ops.clone() }).collect();
    let done = edit(text.as_bytes(), &edits, &Limits::default()).map_err(|e| e.to_string())?;
    assert_eq!(done.changed.iter().any(|changed| *changed), done.bytes != text.as_bytes());
    Ok(String::from_utf8(done.bytes).unwrap())
}

/// Sets an image of a workload as a release does.
fn release(text: &str, of: &str, container: &str, image: &str) -> Result<String, String> {
    let object = object(text, of);
    let image: ImageRef = image.parse().unwrap();
    let fields = workload::image_changes(&object, container, &image).map_err(|e| e.to_string())?;
    edited(text, &[(of, fields.into_iter().map(Op::Set).collect())])
}

fn object(text: &str, of: &str) -> Value {
    let documents =
        yaml::read(text.as_bytes(), Dialect::Kubernetes, &Limits::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found =
        documents.iter().flat_map(|d| prove::objects(&d.value)).find(|(_, o)| prove::identity(o) == Some(id(of)));
    found.unwrap_or_else(|| panic!("no {of}")).1.clone()
}

/// Asserts that a release changes exactly one stretch of the text.
fn assert_release(text: &str, of: &str, container: &str, (old, new): (&str, &str), image: &str) {
    let want = text.replacen(old, new, 1);
    assert_ne!(want, text, "{old} stands in {text}");
    assert_eq!(release(text, of, container, image).as_ref(), Ok(&want), "{text}");
}
