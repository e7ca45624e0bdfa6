//! Sets of inputs: what a ResourceSet says itself and what its providers export, combined (resourceset §3). Pure.

use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::{Value, json};

use crate::api::API_VERSION;
use crate::api::resourceset::{InputSet, ResourceSetSpec};
use crate::provider::id_of;

/// Sets that a permutation may give.
const MAX_PERMUTATIONS: usize = 10_000;

/// Bytes of JSON that all permutations together may have: each holds copies of the sets that it combines.
const MAX_PERMUTED_BYTES: usize = 64 << 20;

/// Where sets of inputs come from: the ResourceSet itself, or one of its providers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its sets, in its own order.
    pub inputs: Vec<InputSet>,
}

/// What templates are rendered with.
#[derive(Clone, Debug, PartialEq)]
pub enum Combined {
    /// There are no inputs, and nothing that could give any: templates are rendered once without.
    Once,
    /// Templates are rendered once for each of these, also when there are none.
    Sets(Vec<Arc<InputSet>>),
}

impl Combined {
    /// The number of sets.
    pub fn len(&self) -> usize {
        match self {
            Self::Once => 0,
            Self::Sets(sets) => sets.len(),
        }
    }

    /// Whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Inputs cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The strategy has no known name.
    #[error("unknown input strategy: '{0}'")]
    Strategy(String),
    /// One source has too much to permute, or a name of which nothing is left.
    #[error("failed to get inputs from {kind}/{name}: {why}")]
    Source {
        /// Kind of the source.
        kind: String,
        /// Name of the source.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Combines inline sets with those of providers, by the strategy of the spec. Providers may come in any order, and more
/// than once; they are used once each, ordered by name (resourceset §3.1).
///
/// # Errors
/// When the strategy is unknown, or permuting gives too many sets or has a source without a usable name.
pub fn combine(
    (namespace, name): (&str, &str),
    spec: &ResourceSetSpec,
    providers: Vec<Source>,
) -> Result<Combined, InputError> {
    let mut providers = providers;
    providers.sort_by(|a, b| (&a.kind, &a.namespace, &a.name).cmp(&(&b.kind, &b.namespace, &b.name)));
    providers.dedup_by(|a, b| (&a.kind, &a.namespace, &a.name) == (&b.kind, &b.namespace, &b.name));
    let own = Source {
        kind: "ResourceSet".to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        inputs: spec.inputs.clone(),
    };
    let sources: Vec<Source> = std::iter::once(own).chain(providers).map(with_provider).collect();
    let strategy = spec.input_strategy.as_ref();
    let sets = match strategy.map_or("Flatten", |s| s.name.as_str()) {
        "Flatten" => sources.into_iter().flat_map(|source| source.inputs).map(Arc::new).collect(),
        "Permute" => permute(sources, strategy.and_then(|s| s.include_empty_providers).unwrap_or(false))?,
        other => return Err(InputError::Strategy(other.to_owned())),
    };
    let has_sources = spec.inputs_from.as_ref().is_some_and(|from| !from.is_empty());
    Ok(if sets.is_empty() && spec.inputs.is_empty() && !has_sources { Combined::Once } else { Combined::Sets(sets) })
}

/// Marks every set with where it comes from, over whatever else stands there.
fn with_provider(mut source: Source) -> Source {
    let mark = json!({
        "apiVersion": API_VERSION, "kind": source.kind, "name": source.name, "namespace": source.namespace,
    });
    for set in &mut source.inputs {
        set.insert("provider".to_owned(), mark.clone());
    }
    source
}

/// Every combination of one set per source; the first source varies slowest.
fn permute(sources: Vec<Source>, include_empty: bool) -> Result<Vec<Arc<InputSet>>, InputError> {
    let mut all: Vec<(InputSet, Vec<String>)> = vec![(InputSet::new(), Vec::new())];
    let (mut used, mut bytes) = (0_usize, 0_usize);
    for source in sources {
        if source.inputs.is_empty() && !include_empty {
            continue;
        }
        used += 1;
        let key = checked_name(&source, all.len())?;
        bytes = checked_size(&source, all.len(), bytes)?;
        all = all
            .iter()
            .flat_map(|(set, ids)| {
                let key = &key;
                source.inputs.iter().enumerate().map(move |(index, inputs)| {
                    let (mut set, mut ids) = (set.clone(), ids.clone());
                    set.insert(key.clone(), Value::Object(inputs.clone()));
                    ids.push(format!("{key}={index}"));
                    (set, ids)
                })
            })
            .collect();
    }
    if used == 0 {
        return Ok(Vec::new());
    }
    Ok(all
        .into_iter()
        .map(|(mut set, ids)| {
            set.insert("id".to_owned(), Value::String(id_of(&ids.join("/"))));
            Arc::new(set)
        })
        .collect())
}

/// The name that a source's sets go by, when its sets do not make too many combinations with those before.
fn checked_name(source: &Source, before: usize) -> Result<String, InputError> {
    let (name, count) = (&source.name, source.inputs.len());
    let wrong = |why| InputError::Source { kind: source.kind.clone(), name: name.clone(), why };
    let key = normalized(name);
    if key.is_empty() {
        return Err(wrong(format!("normalized provider name is empty: '{name}'")));
    }
    let total = before.saturating_mul(count);
    if total > MAX_PERMUTATIONS {
        return Err(wrong(format!(
            "adding provider '{name}' with {count} inputs would exceed the maximum allowed permutations. max: \
             {MAX_PERMUTATIONS}, got: {total}"
        )));
    }
    Ok(key)
}

/// The bytes of all combinations of a source's sets with so many before, which have so many bytes.
fn checked_size(source: &Source, before: usize, bytes: usize) -> Result<usize, InputError> {
    let sizes = source.inputs.iter().map(|set| serde_json::to_vec(set).map_or(0, |json| json.len()));
    let own = sizes.sum::<usize>().saturating_mul(before);
    let total = bytes.saturating_mul(source.inputs.len()).saturating_add(own);
    if total <= MAX_PERMUTED_BYTES {
        return Ok(total);
    }
    let why = format!(
        "adding provider '{}' with {} inputs would make permutations of {total} bytes, more than the limit of \
         {MAX_PERMUTED_BYTES}",
        source.name,
        source.inputs.len()
    );
    Err(InputError::Source { kind: source.kind.clone(), name: source.name.clone(), why })
}

/// A name as templates can write it: lower case, `_` for white space and punctuation, nothing else but letters and digits
/// of ASCII, no empty parts (resourceset §3.2).
pub fn normalized(name: &str) -> String {
    static PUNCTUATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{P}\p{White_Space}]$").ok());
    let mut out = String::with_capacity(name.len());
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            c if PUNCTUATION.as_ref().is_some_and(|p| p.is_match(c.encode_utf8(&mut [0; 4]))) => out.push('_'),
            _ => {}
        }
    }
    let parts: Vec<&str> = out.split('_').filter(|part| !part.is_empty()).collect();
    parts.join("_")
}

#[cfg(test)]
mod tests;
