//! The table of merge rules as text, from the OpenAPI (version 2) document of an API server. It is how `kinds.txt` is made
//! and checked, not used while manifests are patched.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Groups whose types clients do not have built in: their objects get JSON merge patches, from kubectl and Flux v1 alike.
const FOREIGN: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// Writes the table, sorted by line. Of types, only those are in it that say how something is merged, or lead to one that
/// does; of kinds, all that have metadata.
pub fn table_text(document: &Value) -> String {
    let empty = Map::new();
    let definitions = document.get("definitions").and_then(Value::as_object).unwrap_or(&empty);
    let types = useful_types(definitions);
    let mut lines = BTreeSet::new();
    for (name, definition) in definitions {
        let fields: Vec<String> =
            fields(definition).filter_map(|(field, schema)| word(field, schema, &types)).collect();
        for gvk in kinds(definition) {
            lines.insert(format!("kind {gvk} {}", fields.join(" ")));
        }
        if types.contains(name.as_str()) {
            lines.insert(format!("type {} {}", short(name), fields.join(" ")));
        }
    }
    prune(lines).into_iter().flat_map(|line| [line, "\n".to_owned()]).collect()
}

/// Names of the definitions with a rule of their own or below them. Rules do not pass through lists that are replaced.
fn useful_types(definitions: &Map<String, Value>) -> BTreeSet<&str> {
    let mut useful = BTreeSet::new();
    loop {
        let more: Vec<&str> = definitions
            .iter()
            .filter(|(name, _)| !useful.contains(name.as_str()))
            .filter(|(_, definition)| fields(definition).any(|(f, schema)| word(f, schema, &useful).is_some()))
            .map(|(name, _)| name.as_str())
            .collect();
        if more.is_empty() {
            return useful;
        }
        useful.extend(more);
    }
}

fn fields(definition: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = definition.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

/// One field as the table writes it; `None` when there is nothing to say about it.
fn word(name: &str, schema: &Value, types: &BTreeSet<&str>) -> Option<String> {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let strategies = text("x-kubernetes-patch-strategy").unwrap_or("");
    let key = text("x-kubernetes-patch-merge-key").map_or(String::new(), |key| format!(":{key}"));
    let is_list = text("type") == Some("array");
    let merged = !is_list || strategies.split(',').any(|s| s == "merge");
    let reference = if is_list { schema.pointer("/items/$ref") } else { schema.get("$ref") };
    let of = reference.and_then(Value::as_str).and_then(|r| r.strip_prefix("#/definitions/"));
    let of = of.filter(|of| merged && types.contains(of)).map_or(String::new(), |of| format!(">{}", short(of)));
    if strategies.is_empty() && of.is_empty() {
        return None;
    }
    let strategies = if strategies.is_empty() { String::new() } else { format!("={strategies}") };
    Some(format!("{name}{strategies}{key}{of}"))
}

/// `group/version Kind` of each kind that the definition is, if it has metadata (options and events of watches do not).
fn kinds(definition: &Value) -> Vec<String> {
    let metadata = definition.pointer("/properties/metadata/$ref").and_then(Value::as_str).unwrap_or("");
    if !metadata.ends_with(".ObjectMeta") {
        return Vec::new();
    }
    let listed = definition.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
    let named = listed.into_iter().flatten().filter_map(|gvk| {
        let part = |key: &str| gvk.get(key).and_then(Value::as_str);
        let (group, version, kind) = (part("group")?, part("version")?, part("kind")?);
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        (!FOREIGN.contains(&group)).then(|| format!("{api_version} {kind}"))
    });
    named.collect()
}

fn short(definition: &str) -> &str {
    let name = definition.strip_prefix("io.k8s.").unwrap_or(definition);
    name.strip_prefix("api.").or_else(|| name.strip_prefix("apimachinery.pkg.apis.")).unwrap_or(name)
}

/// Drops types that no kind leads to.
fn prune(lines: BTreeSet<String>) -> BTreeSet<String> {
    let targets = |line: &str| line.split('>').skip(1).filter_map(|s| s.split(' ').next()).map(str::to_owned).collect();
    let types: BTreeMap<&str, &String> =
        lines.iter().filter_map(|line| Some((line.strip_prefix("type ")?.split(' ').next()?, line))).collect();
    let mut open: Vec<String> =
        lines.iter().filter(|l| l.starts_with("kind ")).flat_map(|l| -> Vec<_> { targets(l) }).collect();
    let mut reached = BTreeSet::new();
    while let Some(name) = open.pop() {
        if let Some(line) = types.get(name.as_str())
            && reached.insert((*line).clone())
        {
            open.extend::<Vec<_>>(targets(line));
        }
    }
    lines.iter().filter(|line| line.starts_with("kind ") || reached.contains(*line)).cloned().collect()
}
