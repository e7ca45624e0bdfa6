//! What was rendered before, by template and set of inputs. What a build does not use any more is forgotten with it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::object::{Digest, Object};
use crate::template::Inputs;

use super::cost::Cost;
use super::{Combined, Lazy};

struct Entry {
    objects: Arc<[Arc<Object>]>,
    cost: Cost,
    build: u64,
}

/// The rendered objects of one ResourceSet. It holds those of the last build, and of a failed one those of two.
pub struct Cache {
    entries: HashMap<Digest, Entry>,
    limit: Cost,
    build: u64,
    rendered: u64,
}

impl Default for Cache {
    fn default() -> Self {
        Self { entries: HashMap::new(), limit: Cost::LIMIT, build: 0, rendered: 0 }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("entries", &self.entries.len()).finish_non_exhaustive()
    }
}

impl Cache {
    /// How many templates were rendered so far, each set counted.
    pub fn rendered(&self) -> u64 {
        self.rendered
    }

    /// One whose builds may spend less.
    #[cfg(test)]
    pub(super) fn with_limit(limit: Cost) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Begins a build. `changing` says that templates change inputs for one another: then nothing is taken from the cache.
    pub(super) fn begin<'a>(&'a mut self, inputs: &'a Combined, changing: bool) -> Renderer<'a> {
        self.build += 1;
        let oldest = self.build.saturating_sub(1);
        self.entries.retain(|_, entry| entry.build >= oldest);
        let digests: Vec<(Digest, usize)> = match inputs {
            Combined::Once => vec![(Digest::of(b""), 0)],
            Combined::Sets(sets) => {
                let texts = sets.iter().map(|set| serde_json::to_vec(set).unwrap_or_default());
                texts.map(|json| (Digest::of(&json), json.len())).collect()
            }
        };
        let shared = vec![None; digests.len()];
        Renderer { cache: self, inputs, digests, shared, changing, spent: Cost::default() }
    }
}

/// One build.
pub(super) struct Renderer<'a> {
    cache: &'a mut Cache,
    inputs: &'a Combined,
    /// Of each set its digest and its bytes.
    digests: Vec<(Digest, usize)>,
    shared: Vec<Option<Inputs>>,
    changing: bool,
    spent: Cost,
}

impl Renderer<'_> {
    /// The objects of a template for the set of this index.
    pub(super) fn render(&mut self, template: &mut Lazy<'_>, set: usize) -> Result<Arc<[Arc<Object>]>, String> {
        let build = self.cache.build;
        let limit = self.cache.limit;
        let key = self.key(template, set);
        let is_kept = !self.changing && !template.is_fickle;
        if is_kept && let Some(entry) = self.cache.entries.get_mut(&key) {
            entry.build = build;
            self.spent.add(entry.cost, limit)?;
            return Ok(Arc::clone(&entry.objects));
        }
        self.cache.rendered += 1;
        let left = limit.bytes.saturating_sub(self.spent.bytes);
        let (objects, steps, bytes) = template.render(self.inputs_of(set).as_ref(), left)?;
        let cost = Cost::of_rendering(self.digests.get(set).map_or(0, |(_, bytes)| *bytes), steps, bytes);
        self.spent.add(cost, limit)?;
        let objects: Arc<[Arc<Object>]> = objects.into();
        if is_kept {
            self.cache.entries.insert(key, Entry { objects: Arc::clone(&objects), cost, build });
        }
        Ok(objects)
    }

    /// Drops what this build did not use.
    pub(super) fn finish(self) {
        let build = self.cache.build;
        self.cache.entries.retain(|_, entry| entry.build == build);
    }

    fn key(&self, template: &Lazy<'_>, set: usize) -> Digest {
        let mut bytes = Vec::with_capacity(80);
        bytes.extend_from_slice(&template.digest.0);
        bytes.push(template.form.mark());
        if let Some((digest, _)) = self.digests.get(set) {
            bytes.extend_from_slice(&digest.0);
        }
        Digest::of(&bytes)
    }

    /// The values of a set: the same ones for all templates, since templates may change them. Kept only where they do.
    fn inputs_of(&mut self, set: usize) -> Option<Inputs> {
        let Combined::Sets(sets) = self.inputs else { return None };
        let values = sets.get(set)?;
        if !self.changing {
            return Some(Inputs::new(values));
        }
        let shared = self.shared.get_mut(set)?;
        Some(shared.get_or_insert_with(|| Inputs::new(values)).clone())
    }
}
