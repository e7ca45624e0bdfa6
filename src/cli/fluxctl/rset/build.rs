//! `build`: what a ResourceSet generates, from files alone; also for `diff`, with inputs from a cluster.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};
use serde_json::{Map, Value};

use crate::api::inputprovider::ResourceSetInputProvider;
use crate::api::resourceset::{CommonMetadata, InputSource, ResourceSet};
use crate::api::{OWNER_NAME_LABEL, OWNER_NAMESPACE_LABEL};
use crate::cli::fluxctl::problem::Problem;
use crate::cli::fluxctl::session::Session;
use crate::cli::fluxctl::terminal::out;
use crate::controllers::resourceset::build::{Cache, Source, build as render, combine};
use crate::object::yaml;
use crate::provider::id_of;

use super::files;

/// The kind of the objects that inputs come from.
const PROVIDER: &str = "ResourceSetInputProvider";

/// The objects of one step, marked as the controller marks them.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Its name; a ResourceSet without steps has one without.
    pub(super) name: Option<String>,
    pub(super) objects: Vec<Value>,
}

/// Runs the verb.
pub(super) fn run(session: &Session<'_>) -> Result<(), Problem> {
    let given = session.given;
    let (set, sources) = from_files(session, &given.text("filename"))?;
    let sources = match sources {
        Some(sources) => sources,
        None if takes_inputs(&set) => return Err(no_source(&set)),
        None => Vec::new(),
    };
    let steps = build(&set, sources)?;
    if steps.iter().all(|step| step.objects.is_empty()) {
        return Err(Problem::Usage(format!("ResourceSet {} generates no objects", set.name_any())));
    }
    let mut text = String::new();
    for step in &steps {
        if let Some(name) = &step.name {
            text.push_str(&format!("# step: {name}\n"));
        }
        step.objects.iter().for_each(|object| text.push_str(&(yaml::emit(object) + "---\n")));
    }
    out(&text)
}

/// The ResourceSet of a file with the inputs of other files; `None` when there are none, and the cluster may be asked.
pub(super) fn from_files(session: &Session<'_>, file: &str) -> Result<(ResourceSet, Option<Vec<Source>>), Problem> {
    let given = session.given;
    let mut set = files::resource_set(file)?;
    let (lists, providers) = (given.list("inputs-from"), given.list("inputs-from-provider"));
    set.spec.inputs.extend(files::inputs(&lists)?);
    let known = files::providers(&providers)?;
    let chosen = chosen(&set, &known)?;
    if !providers.is_empty() && chosen.is_empty() && takes_inputs(&set) {
        let names: Vec<String> = known.iter().map(ResourceExt::name_any).collect();
        let text = format!("spec.inputsFrom selects none of the input providers {}", names.join(", "));
        return Err(Problem::Usage(text));
    }
    let sources = chosen.into_iter().map(|provider| exported(provider, &set.namespace().unwrap_or_default()));
    let none = lists.is_empty() && providers.is_empty();
    Ok((set.clone(), (!none).then(|| sources.collect())))
}

/// Whether a ResourceSet's inputs come from elsewhere.
pub(super) fn takes_inputs(set: &ResourceSet) -> bool {
    set.spec.inputs_from.as_ref().is_some_and(|from| !from.is_empty())
}

fn no_source(set: &ResourceSet) -> Problem {
    let text =
        "has spec.inputsFrom, and no file gives its inputs: name one with --inputs-from or --inputs-from-provider";
    Problem::Usage(format!("ResourceSet {} {text}", set.name_any()))
}

/// Those providers that the ResourceSet takes inputs from, by name or by labels.
pub(super) fn chosen<'a>(
    set: &ResourceSet,
    known: &'a [ResourceSetInputProvider],
) -> Result<Vec<&'a ResourceSetInputProvider>, Problem> {
    let mut chosen = Vec::new();
    for source in set.spec.inputs_from.iter().flatten() {
        let selects = selects(source)?;
        chosen.extend(known.iter().filter(|provider| selects(provider)));
    }
    Ok(chosen)
}

/// Says of a provider whether a reference means it.
fn selects(source: &InputSource) -> Result<impl Fn(&ResourceSetInputProvider) -> bool, Problem> {
    let name = source.name.clone();
    let selector = source.selector.clone().map(Selector::try_from).transpose();
    let selector = selector.map_err(|error| Problem::Usage(format!("a selector of spec.inputsFrom: {error}")))?;
    Ok(move |provider: &ResourceSetInputProvider| {
        let by_name = name.as_deref().is_some_and(|name| name == provider.name_any());
        by_name || selector.as_ref().is_some_and(|selector| selector.matches(provider.labels()))
    })
}

/// What a static provider of a file exports. In a cluster its id is of its uid, which a file has not.
fn exported(provider: &ResourceSetInputProvider, namespace: &str) -> Source {
    let mut inputs = provider.spec.default_values.clone().unwrap_or_default();
    inputs.insert("id".to_owned(), id_of(&provider.name_any()).into());
    Source {
        kind: PROVIDER.to_owned(),
        namespace: provider.namespace().unwrap_or_else(|| namespace.to_owned()),
        name: provider.name_any(),
        inputs: vec![inputs],
    }
}

/// What a provider of a cluster exports.
pub(super) fn exports(provider: &ResourceSetInputProvider) -> Source {
    Source {
        kind: PROVIDER.to_owned(),
        namespace: provider.namespace().unwrap_or_default(),
        name: provider.name_any(),
        inputs: provider.status.as_ref().map(|status| status.exported_inputs.clone()).unwrap_or_default(),
    }
}

/// Renders and marks.
pub(super) fn build(set: &ResourceSet, sources: Vec<Source>) -> Result<Vec<Step>, Problem> {
    let (namespace, name) = (set.namespace().unwrap_or_default(), set.name_any());
    let unusable = |error: &dyn std::error::Error| Problem::Usage(format!("ResourceSet {name}: {error}"));
    let inputs = combine((&namespace, &name), &set.spec, sources).map_err(|error| unusable(&error))?;
    let steps = render(&set.spec, &inputs, &mut Cache::default()).map_err(|error| unusable(&error))?;
    let common = set.spec.common_metadata.clone().unwrap_or_default();
    let marked = |mut object: Value| {
        mark(&mut object, &common, (&namespace, &name));
        object
    };
    let finished = steps.into_iter().map(|step| {
        let objects = step.objects.iter().map(|object| marked(object.value())).collect();
        Step { name: step.name, objects }
    });
    Ok(finished.collect())
}

/// Common metadata first, so that it cannot hide whose an object is (resourceset §5).
fn mark(object: &mut Value, common: &CommonMetadata, (namespace, name): (&str, &str)) {
    let owner = [(OWNER_NAME_LABEL, name), (OWNER_NAMESPACE_LABEL, namespace)];
    let owner = owner.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    add(object, "labels", &common.labels);
    add(object, "annotations", &common.annotations);
    add(object, "labels", &owner);
}

fn add(object: &mut Value, field: &str, entries: &BTreeMap<String, String>) {
    let Some(object) = object.as_object_mut().filter(|_| !entries.is_empty()) else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else { return };
    let map = metadata.entry(field).or_insert_with(|| Value::Object(Map::new()));
    if !map.as_object().is_some_and(|map| map.values().all(|value| value.is_string() || value.is_null())) {
        // As the API machinery reads it: a map with anything but texts is none (errata 16).
        *map = Value::Object(Map::new());
    }
    if let Some(map) = map.as_object_mut() {
        map.values_mut().filter(|value| value.is_null()).for_each(|value| *value = "".into());
        map.extend(entries.iter().map(|(key, value)| (key.clone(), value.clone().into())));
    }
}
