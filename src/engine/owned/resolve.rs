//! The objects of a set as the API server will know them, sorted by stage and kind.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::cluster::Kinds;
use crate::object::{Digest, Gvk, Key, Object};
use crate::plan::{Candidate, SkipReason, Target, Wanted};

use super::super::resolve::defined_scopes;
use super::{SetSettings, body, order};

/// Goes into every digest; another number makes every object count as changed, which it is when what is sent changes.
const FORM: &[u8] = b"owned object 2";

/// The scopes of kinds, as far as they are known: served, or defined by the set itself.
pub(super) struct Scopes<'a> {
    kinds: &'a Kinds,
    defined: HashMap<Gvk, bool>,
}

impl<'a> Scopes<'a> {
    pub(super) fn new(kinds: &'a Kinds, objects: &[Arc<Object>]) -> Self {
        Self { kinds, defined: defined_scopes(objects) }
    }

    /// Whether nobody knows the kind.
    pub(super) fn is_unknown(&self, gvk: &Gvk) -> bool {
        self.kinds.resolve(gvk).is_err() && !self.defined.contains_key(gvk)
    }

    /// The key of an object; of an unknown kind with the namespace as written.
    pub(super) fn key(&self, object: &Object) -> Key {
        let gvk = object.gvk();
        let known = self.kinds.resolve(gvk).ok().map(|kind| kind.namespaced);
        let namespaced = known.or_else(|| self.defined.get(gvk).copied()).unwrap_or(true);
        let mut key = object.key(object.namespace().filter(|_| namespaced));
        if is_no_text(object) {
            key.name.clear();
        }
        key
    }

    /// The kinds of objects that are served.
    pub(super) fn served(&self, objects: &[Arc<Object>]) -> BTreeSet<Gvk> {
        let kinds: BTreeSet<&Gvk> = objects.iter().map(|o| o.gvk()).collect();
        kinds.into_iter().filter(|gvk| self.kinds.resolve(gvk).is_ok()).cloned().collect()
    }
}

/// Candidates of a plan, each key once: of twins the later one wins (errata 15). `user` is whom they are applied as.
pub(super) fn candidates(
    objects: &[Arc<Object>],
    scopes: &Scopes<'_>,
    (settings, user): (&SetSettings, Option<&str>),
) -> Vec<Candidate> {
    let keyed: HashMap<Key, &Arc<Object>> = objects.iter().map(|object| (scopes.key(object), object)).collect();
    let place = |key: &Key| {
        let (stage, kind, _) = order::order(key);
        (stage, kind)
    };
    // Places are looked up once per object, not at every comparison.
    let mut sorted: Vec<_> = keyed.into_iter().map(|(key, object)| (place(&key), key, object)).collect();
    sorted.sort_unstable_by(|(a, a_key, _), (b, b_key, _)| (a, a_key).cmp(&(b, b_key)));
    sorted.into_iter().map(|(_, key, object)| candidate(key, object, (settings, user))).collect()
}

fn candidate(key: Key, object: &Arc<Object>, (settings, user): (&SetSettings, Option<&str>)) -> Candidate {
    let refused = refusal(&key, object);
    let target = Arc::new(target(key, object, user));
    let off = || body::annotation(object, &settings.off.key).is_some_and(|value| settings.off.is(&value));
    match refused {
        Some(text) => Candidate::Rejected(target, text.to_owned()),
        None if off() => Candidate::Skipped(target, SkipReason::IgnoredInFile),
        None => Candidate::Known(target),
    }
}

/// What the API server's client says of an object that cannot be sent (errata 17).
fn refusal(key: &Key, object: &Object) -> Option<&'static str> {
    if object.gvk().version.is_empty() {
        return Some("Object 'apiVersion' is missing in 'unstructured object has no version'");
    }
    if key.kind.is_empty() {
        return Some("Object 'Kind' is missing in 'unstructured object has no kind'");
    }
    key.name.is_empty().then_some("resource name may not be empty")
}

/// Whether the name is a number or a truth value, which the API server's client takes for none (errata 17).
fn is_no_text(object: &Object) -> bool {
    let name = object.name();
    let may_be = name.parse::<f64>().is_ok() || matches!(name, "true" | "false");
    may_be && !object.value()["metadata"]["name"].is_string()
}

/// The user goes into the digest: what one account has applied proves nothing about what another one may, and nobody learns
/// what stands in an object by wanting the same.
fn target(key: Key, object: &Arc<Object>, user: Option<&str>) -> Target {
    let mut hash = Sha256::new();
    let (namespace, user) = (key.namespace.as_deref().unwrap_or_default(), user.unwrap_or_default());
    for part in [FORM, &object.digest().0, namespace.as_bytes(), user.as_bytes()] {
        hash.update(part);
        hash.update([0]);
    }
    let digest = Digest(hash.finalize().into());
    let want =
        Wanted { object: Arc::clone(object), digest, mark: String::new(), checksum: [0; 16], own_checksum: false };
    Target {
        class: order::class(&key),
        id: key.id(),
        key,
        gvk: object.gvk().clone(),
        origin: Some(object.origin().clone()),
        want: Some(want),
    }
}
