//! Wanted objects as the API server will know them: scope and namespace, key, mark and digest. What was worked out once is
//! kept as long as the object and the knowledge of kinds are the same, so that a pass without changes costs next to nothing.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::cluster::{Cluster, Fingerprint, Kinds};
use crate::object::{Digest, Gvk, Key, Object, ObjectId, SyncSet, gc_mark};
use crate::plan::{Candidate, SkipReason, Target, Wanted};

/// Goes into every digest; another number makes every object count as changed, which it is when what we send changes.
const FORM: &[u8] = b"fluxd effective object 1";

/// Turns manifests into candidates of a plan.
pub(super) struct Resolver {
    set: SyncSet,
    default_namespace: String,
    kinds: Arc<Kinds>,
    /// By address of the manifest, which the candidate keeps alive.
    known: HashMap<usize, Candidate>,
    input: Vec<usize>,
    output: Arc<Vec<Candidate>>,
    /// The wanted definitions of kinds, by address: others' scopes rest on them.
    definitions: Vec<usize>,
    homeless: HashSet<ObjectId>,
}

impl Resolver {
    pub(super) fn new(set: SyncSet, default_namespace: &str) -> Self {
        Self {
            set,
            default_namespace: default_namespace.to_owned(),
            kinds: Arc::default(),
            known: HashMap::new(),
            input: Vec::new(),
            output: Arc::default(),
            definitions: Vec::new(),
            homeless: HashSet::new(),
        }
    }

    /// The candidates of the last call, in the order of applying.
    pub(super) fn last(&self) -> &Arc<Vec<Candidate>> {
        &self.output
    }

    /// Resolves a set of objects into candidates in the order of applying.
    pub(super) fn resolve(&mut self, objects: &[Arc<Object>], cluster: &Cluster) -> Arc<Vec<Candidate>> {
        let kinds = cluster.kinds();
        if !Arc::ptr_eq(&kinds, &self.kinds) {
            self.known.clear();
            self.input.clear();
            self.kinds = kinds;
        }
        if self.input.len() == objects.len() && objects.iter().map(address).eq(self.input.iter().copied()) {
            return Arc::clone(&self.output);
        }
        if self.replace(objects, cluster) {
            return Arc::clone(&self.output);
        }
        let definitions: Vec<usize> = objects.iter().filter(|o| is_definition(o)).map(address).collect();
        if definitions != self.definitions {
            self.known.clear();
            self.definitions = definitions;
        }
        let mut before = std::mem::take(&mut self.known);
        let mut scopes = None;
        let mut all = Vec::with_capacity(objects.len());
        for object in objects {
            let candidate = match before.remove(&address(object)) {
                Some(known) => known,
                None => self.one(object, objects, &mut scopes, cluster),
            };
            if matches!(candidate, Candidate::Known(_)) {
                self.known.insert(address(object), candidate.clone());
            }
            all.push(candidate);
        }
        refuse_duplicates(&mut all);
        all.sort_by(|a, b| order(a).cmp(&order(b)));
        self.tell_homeless(&all);
        self.input = objects.iter().map(address).collect();
        self.output = Arc::new(all);
        Arc::clone(&self.output)
    }

    /// Takes in a few changed manifests of a set that is otherwise the one of the last call, without looking at the others:
    /// what keeps its identity keeps its place in the order. `false` when it is more than that; nothing has changed then.
    fn replace(&mut self, objects: &[Arc<Object>], cluster: &Cluster) -> bool {
        if self.input.len() != objects.len() {
            return false;
        }
        let pairs = objects.iter().zip(&self.input).enumerate();
        let moved = pairs.filter(|(_, (object, before))| address(object) != **before).map(|(at, _)| at);
        let moved: Vec<usize> = moved.take(REPLACED + 1).collect();
        if moved.len() > REPLACED {
            return false;
        }
        let mut found = Vec::with_capacity(moved.len());
        for at in moved {
            let fresh = self.one(&objects[at], objects, &mut None, cluster);
            let (Some(Candidate::Known(old)), Candidate::Known(new)) = (self.known.get(&self.input[at]), &fresh) else {
                return false;
            };
            let is_same = old.key == new.key && old.gvk == new.gvk && old.class == new.class && !new.is_definition();
            match self.output.binary_search_by(|other| order(other).cmp(&order(&fresh))) {
                Ok(place) if is_same && matches!(self.output[place], Candidate::Known(_)) => {
                    found.push((at, place, fresh))
                }
                _ => return false,
            }
        }
        let mut output = self.output.to_vec();
        for (at, place, fresh) in found {
            self.known.remove(&self.input[at]);
            self.known.insert(address(&objects[at]), fresh.clone());
            self.input[at] = address(&objects[at]);
            output[place] = fresh;
        }
        self.output = Arc::new(output);
        true
    }

    /// Forgets the last result, so that the next call looks at every object again.
    pub(super) fn forget(&mut self) {
        self.input.clear();
    }

    fn one(
        &self,
        object: &Arc<Object>,
        objects: &[Arc<Object>],
        scopes: &mut Option<HashMap<Gvk, bool>>,
        cluster: &Cluster,
    ) -> Candidate {
        let gvk = object.gvk();
        let namespaced = match self.kinds.resolve(gvk) {
            Ok(kind) => kind.namespaced,
            Err(unresolved) => match scopes.get_or_insert_with(|| defined_scopes(objects)).get(gvk) {
                Some(namespaced) => *namespaced,
                None => {
                    let target = Arc::new(self.target(object, object.namespace()));
                    return if unresolved.is_certain() {
                        Candidate::Skipped(target, SkipReason::KindUnknown(unresolved.to_string()))
                    } else {
                        Candidate::Rejected(target, unresolved.to_string())
                    };
                }
            },
        };
        let namespace = namespaced.then(|| object.namespace().unwrap_or(&self.default_namespace));
        let target = Arc::new(self.target(object, namespace));
        if object.name().is_empty() {
            return Candidate::Rejected(target, "it has no metadata.name; generateName is not supported".into());
        }
        if !cluster.settings().is_allowed(&target.key) {
            return Candidate::Skipped(target, SkipReason::NamespaceNotAllowed);
        }
        Candidate::Known(target)
    }

    fn target(&self, object: &Arc<Object>, namespace: Option<&str>) -> Target {
        let key: Key = object.key(namespace);
        let id = key.id();
        let mark = gc_mark(&self.set, &id);
        let mut hash = Sha256::new();
        for part in [FORM, &object.digest().0, mark.as_bytes(), namespace.unwrap_or_default().as_bytes()] {
            hash.update(part);
            hash.update([0]);
        }
        let digest = Digest(hash.finalize().into());
        let checksum = Fingerprint::of(digest.to_string().as_bytes()).0;
        let own_checksum = object.policies().get("sync-checksum").is_some();
        Target {
            class: Target::class_of(&key.group, &key.kind),
            id,
            key,
            gvk: object.gvk().clone(),
            origin: Some(object.origin().clone()),
            want: Some(Wanted { object: Arc::clone(object), digest, mark, checksum, own_checksum }),
        }
    }

    /// Says once per object that its kind is not known, and once that it is known again (fluxd-v1 §3.5).
    fn tell_homeless(&mut self, all: &[Candidate]) {
        let mut now = HashSet::new();
        for candidate in all {
            let Candidate::Skipped(target, SkipReason::KindUnknown(reason)) = candidate else { continue };
            let written = written_id(target);
            if !self.homeless.contains(&written) {
                let name = format!("{}/{}", target.id.kind(), target.id.name());
                let api = format!("{}.{}", target.gvk.kind, target.gvk.api_version());
                tracing::warn!(
                    // v1's key, where its other warnings are called `warning`.
                    warn = format!(
                        "cannot find scope of resource {name}: error looking up API resources for {api}: {reason}"
                    ),
                    impact = format!("resource {name} will be excluded until its scope is available")
                );
            }
            now.insert(written);
        }
        if !self.homeless.is_empty() {
            for target in all.iter().map(Candidate::target) {
                let written = written_id(target);
                if self.homeless.contains(&written) && !now.contains(&written) {
                    tracing::info!("found scope of resource {}, back in business!", target.id);
                }
            }
        }
        self.homeless = now;
    }
}

/// Most manifests that are taken in one by one.
const REPLACED: usize = 64;

fn address(object: &Arc<Object>) -> usize {
    Arc::as_ptr(object) as usize
}

fn written_id(target: &Target) -> ObjectId {
    target.want.as_ref().map_or_else(|| target.id.clone(), |want| want.object.id())
}

fn order(candidate: &Candidate) -> ((u8, bool), &str, &ObjectId) {
    let target = candidate.target();
    (target.class, &target.key.name, &target.id)
}

/// Two objects whose identities differ only in that one leaves the default namespace out: neither is applied, because
/// nobody can say which one is meant.
fn refuse_duplicates(all: &mut [Candidate]) {
    let mut seen: HashMap<&ObjectId, usize> = HashMap::with_capacity(all.len());
    let mut twins = Vec::new();
    for (at, candidate) in all.iter().enumerate() {
        if let Some(first) = seen.insert(&candidate.target().id, at) {
            twins.push((first, at));
        }
    }
    for (a, b) in twins {
        let (first, second) = (Arc::clone(all[a].target()), Arc::clone(all[b].target()));
        let place = |t: &Target| t.origin.as_ref().map(ToString::to_string).unwrap_or_default();
        let text = format!("duplicate definition of '{}' (in {} and {})", first.id, place(&first), place(&second));
        all[a] = Candidate::Rejected(first, text.clone());
        all[b] = Candidate::Rejected(second, text);
    }
}

fn is_definition(object: &Object) -> bool {
    !Target::class_of(&object.gvk().group, &object.gvk().kind).1
}

/// Scopes of the kinds that the wanted definitions will bring (fluxd-v1 §3.5).
pub(super) fn defined_scopes(objects: &[Arc<Object>]) -> HashMap<Gvk, bool> {
    let mut scopes = HashMap::new();
    for crd in objects.iter().filter(|o| is_definition(o)).map(|o| o.value()) {
        let text = |path: &str| crd.pointer(path).and_then(Value::as_str);
        let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else { continue };
        let named = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
        let versions = named.filter_map(|v| v.get("name")?.as_str()).chain(text("/spec/version"));
        for version in versions {
            let gvk = Gvk { group: group.into(), version: version.into(), kind: kind.into() };
            scopes.insert(gvk, text("/spec/scope") != Some("Cluster"));
        }
    }
    scopes
}
