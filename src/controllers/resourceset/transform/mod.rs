//! What happens to built objects before they are applied, in this order: owner labels, common metadata, copyFrom,
//! convertKubeConfigFrom, checksumFrom, normalisation, digest (resourceset §5). Reads go through [`Read`].
//!
//! Objects that refer to nothing are transformed once and remembered by the digest of what was built.

mod checksum;
mod copy;
mod kubeconfig;
mod metadata;
mod normalise;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::api::annotation;
use crate::api::resourceset::CommonMetadata;
use crate::object::{Digest, Object, yaml};

pub use kubeconfig::{Cluster, extract};

use super::build::Step;
use super::watch::{Source, SourceKind, checksums_of, copies_of};

/// Live ConfigMaps and Secrets, read with the identity that the ResourceSet acts as.
pub trait Read: Sync {
    /// The object; the error is the API server's text.
    fn get(&self, kind: SourceKind, namespace: &str, name: &str) -> impl Future<Output = Result<Value, String>> + Send;
}

/// What all objects of a ResourceSet get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Namespace of the ResourceSet.
    pub namespace: String,
    /// Name of the ResourceSet.
    pub name: String,
    /// Labels and annotations of its spec.
    pub common: CommonMetadata,
}

/// An object ready to be applied.
#[derive(Clone, Debug)]
struct Finished {
    object: Arc<Object>,
    /// Its YAML, which the revision is a digest of.
    yaml: Arc<str>,
}

/// Objects that refer to nothing, by the digest of what was built. It holds those of the last pass.
#[derive(Default)]
pub struct Memo {
    marks: Option<Marks>,
    finished: HashMap<Digest, Finished>,
}

/// What came of it.
#[derive(Debug)]
pub struct Transformed {
    /// The steps with objects ready to be applied.
    pub steps: Vec<Step>,
    /// ConfigMaps and Secrets outside of the set that checksums are made of, as `Kind/namespace/name`, sorted.
    pub external_refs: Vec<String>,
    /// `sha256:` and the digest over all objects.
    pub revision: String,
}

/// An object under way: finished, or still to be looked at.
enum Slot {
    Finished(Finished),
    Open(Box<Value>),
}

/// Objects under way, marked as their owner's.
pub struct Prepared {
    steps: Vec<Step>,
    slots: Vec<Slot>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Prepared({} objects)", self.slots.len())
    }
}

/// Marks the objects of all steps as their owner's, and finishes those that refer to nothing. It computes; of thousands of
/// objects for a moment.
pub fn prepare(steps: Vec<Step>, marks: &Marks, memo: &mut Memo) -> Prepared {
    let slots = memo.start(&steps, marks);
    Prepared { steps, slots }
}

impl Prepared {
    /// The objects as they were built.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The ConfigMaps and Secrets whose changes matter: those that data is copied of, and those outside of the set that
    /// checksums are made of. The set's own are summed up before they are applied, and applying them must wake nobody.
    pub fn sources(&self) -> BTreeSet<Source> {
        let open = || {
            self.slots.iter().filter_map(|slot| match slot {
                Slot::Finished(_) => None,
                Slot::Open(value) => Some(value),
            })
        };
        let mut found: BTreeSet<Source> = open().flat_map(|value| checksums_of(value)).collect();
        if !found.is_empty() {
            for object in self.steps.iter().flat_map(|step| &step.objects) {
                let is_core = object.gvk().group.is_empty() && object.gvk().version == "v1";
                if let Some(kind) = SourceKind::parse(&object.gvk().kind).filter(|_| is_core) {
                    found.remove(&Source::new(kind, object.namespace().unwrap_or_default(), object.name()));
                }
            }
        }
        found.extend(open().flat_map(|value| copies_of(value)));
        found
    }

    /// Reads what is referred to and fills it in.
    ///
    /// # Errors
    /// When an annotation is wrong, or what it refers to cannot be read.
    pub async fn complete<R: Read>(self, reads: &R) -> Result<Transformed, String> {
        let Self { steps, mut slots } = self;
        let mut open: Vec<&mut Value> = slots.iter_mut().filter_map(Slot::open).collect();
        copy::copy_all(&mut open, reads).await?;
        kubeconfig::convert_all(&mut open, reads).await?;
        let external_refs = checksum::fill_all(&mut slots, reads).await?;
        let mut hash = Sha256::new();
        let mut all = Vec::with_capacity(slots.len());
        for slot in slots {
            let finished = match slot {
                Slot::Finished(finished) => finished,
                Slot::Open(value) => finish(*value)?,
            };
            hash.update(finished.yaml.as_bytes());
            hash.update(b"---\n");
            all.push(finished.object);
        }
        let mut all = all.into_iter();
        let steps = steps
            .into_iter()
            .map(|step| Step { objects: all.by_ref().take(step.objects.len()).collect(), ..step })
            .collect();
        Ok(Transformed { steps, external_refs, revision: format!("sha256:{}", hex::encode(hash.finalize())) })
    }
}

/// The digest of objects as they were built.
pub fn as_built(steps: &[Step]) -> String {
    let mut hash = Sha256::new();
    for object in steps.iter().flat_map(|step| &step.objects) {
        hash.update(yaml::emit(&object.value()).as_bytes());
        hash.update(b"---\n");
    }
    format!("sha256:{}", hex::encode(hash.finalize()))
}

fn finish(mut value: Value) -> Result<Finished, String> {
    normalise::normalise(&mut value);
    let yaml = yaml::emit(&value).into();
    let origin = crate::object::Origin { file: "ResourceSet".into(), line: 1, generated: true };
    let object = Object::new(&value, origin).map_err(|e| e.to_string())?;
    Ok(Finished { object: Arc::new(object), yaml })
}

impl std::fmt::Debug for Memo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memo({} objects)", self.finished.len())
    }
}

impl Slot {
    fn open(&mut self) -> Option<&mut Value> {
        match self {
            Self::Finished(_) => None,
            Self::Open(value) => Some(value),
        }
    }
}

impl Memo {
    /// Marks every object, or takes it from before. What is not used any more is forgotten.
    fn start(&mut self, steps: &[Step], marks: &Marks) -> Vec<Slot> {
        let mut before = std::mem::take(&mut self.finished);
        if self.marks.as_ref() != Some(marks) {
            before.clear();
            self.marks = Some(marks.clone());
        }
        let mut slots = Vec::new();
        for object in steps.iter().flat_map(|step| &step.objects) {
            let digest = object.digest();
            let known = before.remove(&digest).or_else(|| self.finished.get(&digest).cloned());
            let slot = known.map_or_else(|| begin(object, marks), Slot::Finished);
            if let Slot::Finished(finished) = &slot {
                self.finished.insert(digest, finished.clone());
            }
            slots.push(slot);
        }
        slots
    }
}

fn begin(object: &Object, marks: &Marks) -> Slot {
    let mut value = object.value();
    metadata::mark(&mut value, marks);
    if !refers(&value) {
        // What is no object after all stays open, and its error is found when all are finished.
        if let Ok(finished) = finish(value.clone()) {
            return Slot::Finished(finished);
        }
    }
    Slot::Open(Box::new(value))
}

/// Whether an object asks for something that is read elsewhere.
fn refers(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            matches!(
                key.as_str(),
                annotation::COPY_FROM | annotation::CONVERT_KUBECONFIG_FROM | annotation::CHECKSUM_FROM
            ) || refers(value)
        }),
        Value::Array(items) => items.iter().any(refers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The text of an annotation of the object itself, also an empty one.
fn own_annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// What `namespace/name` names; the API server's words for what cannot be asked for (errata 23).
async fn read<R: Read>(reads: &R, kind: SourceKind, namespace: &str, name: &str) -> Result<Value, String> {
    if name.is_empty() {
        return Err("resource name may not be empty".to_owned());
    }
    reads.get(kind, namespace, name).await
}

/// The bytes that a ConfigMap or Secret holds, by key. Plain text wins over encoded, as the API server has it.
fn contents(kind: SourceKind, object: &Value) -> BTreeMap<String, Vec<u8>> {
    let (encoded, plain) = match kind {
        SourceKind::ConfigMap => ("binaryData", "data"),
        SourceKind::Secret => ("data", "stringData"),
    };
    let texts = |field: &str| {
        let map = object.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
        map.into_iter().filter_map(|(key, value)| Some((key, value.as_str()?.to_owned())))
    };
    let mut found: BTreeMap<String, Vec<u8>> = texts(encoded).map(|(key, text)| (key, decoded(&text))).collect();
    found.extend(texts(plain).map(|(key, text)| (key, text.into_bytes())));
    found
}

/// Base64 as the API server reads it, which lets line breaks through; what is no base64 counts as it stands.
fn decoded(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    base64::engine::general_purpose::STANDARD.decode(compact).unwrap_or_else(|_| text.as_bytes().to_vec())
}

fn encoded(bytes: &[u8]) -> Value {
    use base64::Engine as _;
    Value::String(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// The map at a key of an object; what is there and no map is replaced.
fn map_at<'a>(object: &'a mut Value, key: &str) -> Option<&'a mut serde_json::Map<String, Value>> {
    let entry = object.as_object_mut()?.entry(key.to_owned()).or_insert_with(|| Value::Object(serde_json::Map::new()));
    if !entry.is_object() {
        *entry = Value::Object(serde_json::Map::new());
    }
    entry.as_object_mut()
}
