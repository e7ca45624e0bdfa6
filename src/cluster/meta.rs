//! Reads the metadata of objects as the API server sends it, and cuts it down to what is kept.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use super::request::Raw;
use super::{Adoption, Fingerprint, KindInfo, LiveObject, Mark, Settings, Uid, Version};
use crate::object::{CHECKSUM_ANNOTATION, Ignore, Key, POLICY_PREFIXES};

/// Annotation in which kubectl's client-side apply keeps what it applied last.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Managers whose updates were kubectl's client-side apply.
pub(super) const CLIENT_SIDE_APPLY: [&str; 2] = ["kubectl-client-side-apply", "kubectl"];
/// The manager that the API server invents for fields set before it kept managers.
pub(super) const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// An object, of which only the metadata matter.
#[derive(Deserialize)]
pub(super) struct Partial<'a> {
    #[serde(borrow)]
    pub(super) metadata: Metadata<'a>,
}

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct Page<'a> {
    #[serde(borrow, default)]
    pub(super) metadata: ListMeta<'a>,
    #[serde(borrow, default)]
    pub(super) items: Option<Vec<Partial<'a>>>,
}

/// Metadata of a list.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListMeta<'a> {
    #[serde(borrow)]
    pub(super) resource_version: Cow<'a, str>,
    #[serde(borrow, rename = "continue")]
    pub(super) next: Cow<'a, str>,
}

/// Labels or annotations.
type Texts<'a> = HashMap<Cow<'a, str>, Cow<'a, str>>;

/// Metadata of an object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata<'a> {
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) uid: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) resource_version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) labels: Option<Texts<'a>>,
    #[serde(borrow, default)]
    pub(super) annotations: Option<Texts<'a>>,
    #[serde(borrow, default)]
    pub(super) owner_references: Option<Vec<Owner<'a>>>,
    #[serde(borrow, default)]
    pub(super) deletion_timestamp: Option<Raw<'a>>,
    #[serde(borrow, default)]
    pub(super) managed_fields: Option<Vec<Entry<'a>>>,
}

/// A reference to an owner.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Owner<'a> {
    #[serde(borrow, default)]
    pub(super) api_version: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) kind: Cow<'a, str>,
}

/// Who owns which fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry<'a> {
    #[serde(borrow, default)]
    pub(super) manager: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) operation: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) subresource: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) time: Cow<'a, str>,
    /// The text is hashed as it comes: the API server writes one set of fields in one way only, sorted.
    #[serde(borrow, rename = "fieldsV1", default)]
    pub(super) fields: Option<Raw<'a>>,
}

impl Metadata<'_> {
    /// The API server's key.
    pub(super) fn key(&self, kind: &KindInfo) -> Key {
        Key {
            group: kind.gvk.group.clone(),
            kind: kind.gvk.kind.clone(),
            namespace: Some(self.namespace.to_string()).filter(|n| !n.is_empty()),
            name: self.name.to_string(),
        }
    }

    /// Cuts it down to what is kept.
    pub(super) fn to_live(&self, kind: &Arc<KindInfo>, settings: &Settings) -> LiveObject {
        let ours = self.own_entry(&settings.field_manager);
        LiveObject {
            kind: Arc::clone(kind),
            namespace: Some(&*self.namespace).filter(|n| !n.is_empty()).map(Into::into),
            name: (*self.name).into(),
            uid: Uid::new(&self.uid),
            version: Version::new(&self.resource_version),
            entry: ours.and_then(|e| e.fields).map(|f| Fingerprint::of(f.get().as_bytes())),
            checksum: self.annotation(CHECKSUM_ANNOTATION).map(|c| Fingerprint::of(c.as_bytes())),
            mark: self.mark(kind, settings),
            ignore: self.ignore().filter(|_| settings.policies),
            has_owner: self.owner_references.as_ref().is_some_and(|o| !o.is_empty()),
            deleting: self.deletion_timestamp.is_some(),
            take_over: self.needs_take_over(&settings.adoption),
            others_later: ours.is_none_or(|ours| self.others_later(ours)),
        }
    }

    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(|v| &**v)
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(|v| &**v)
    }

    fn mark(&self, kind: &KindInfo, settings: &Settings) -> Mark {
        match self.label(&settings.mark_label) {
            None => Mark::None,
            Some(mark) if (settings.owns)(&self.key(kind), mark) => Mark::Ours,
            Some(_) => Mark::Other,
        }
    }

    /// The `ignore` policy as [`crate::object::Policies`] reads it, without taking all annotations apart.
    fn ignore(&self) -> Option<Ignore> {
        let text = POLICY_PREFIXES[..2].iter().find_map(|p| self.annotation(&format!("{p}ignore")))?;
        match text {
            "true" => Some(Ignore::Always),
            "sync_only" => Some(Ignore::SyncOnly),
            _ => None,
        }
    }

    fn main_entries(&self) -> impl Iterator<Item = &Entry<'_>> {
        self.managed_fields.iter().flatten().filter(|e| e.subresource.is_empty())
    }

    fn own_entry(&self, manager: &str) -> Option<&Entry<'_>> {
        self.main_entries().find(|e| e.manager == manager && e.operation == "Apply")
    }

    fn others_later(&self, ours: &Entry<'_>) -> bool {
        self.main_entries().any(|e| !std::ptr::eq(e, ours) && e.time >= ours.time)
    }

    /// Fields of `before-first-apply` count only as far as kubectl's own record says that it set them.
    fn needs_take_over(&self, adoption: &Adoption) -> bool {
        let recorded = adoption.recorded && self.annotation(LAST_APPLIED).is_some();
        let has = |map: &Option<Texts<'_>>, keys: &[String]| {
            map.as_ref().is_some_and(|map| keys.iter().any(|key| map.contains_key(key.as_str())))
        };
        let tagged = || has(&self.annotations, &adoption.annotations) || has(&self.labels, &adoption.labels);
        (adoption.alone && tagged())
            || self.main_entries().any(|e| {
                adoption.taken.iter().any(|taken| taken.is(&e.manager, &e.operation))
                    || (recorded && e.operation == "Update" && e.manager == BEFORE_FIRST_APPLY)
            })
    }
}
