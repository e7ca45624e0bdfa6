//! Which documents are a `.flux.yaml`: three shapes, exactly one of which must fit (fluxd-v1 §4.2). The verdicts are those
//! of Flux v1's JSON Schema, quirks included, and so are the words of the violations.

use serde_json::{Map, Value};

/// Says what is wrong with a document, one violation a line; empty when it is accepted.
pub(super) fn violations(document: &Value) -> Vec<String> {
    let Some(top) = document.as_object() else {
        return vec![wrong_type("(root)", "object", document)];
    };
    let shapes = [commands(top), patch(top), scan(top)];
    let fitting = shapes.iter().filter(|found| found.is_empty()).count();
    if fitting == 1 {
        return Vec::new();
    }
    let mut lines = vec!["(root): Must validate one and only one schema (oneOf)".to_owned()];
    if fitting == 0 {
        lines.extend(closest(top, shapes));
    }
    lines
}

/// The violations of the shape that the writer probably had in mind: one whose directive is there, with the fewest.
fn closest(top: &Map<String, Value>, shapes: [Vec<String>; 3]) -> Vec<String> {
    let directives = ["commandUpdated", "patchUpdated", "scanForFiles"];
    let ranked = directives.into_iter().zip(shapes);
    let best = ranked.min_by_key(|(directive, found)| (!top.contains_key(*directive), found.len()));
    best.map(|(_, found)| found).unwrap_or_default()
}

fn commands(top: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    version(top, &mut found);
    if let Some(body) = directive(top, "commandUpdated", &["generators", "updaters"], &mut found) {
        generators("commandUpdated", body, &mut found);
        updaters("commandUpdated", body, &mut found);
    }
    found
}

fn patch(top: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    version(top, &mut found);
    if let Some(body) = directive(top, "patchUpdated", &["generators", "patchFile"], &mut found) {
        generators("patchUpdated", body, &mut found);
        match body.get("patchFile") {
            None => found.push("patchUpdated: patchFile is required".into()),
            Some(Value::String(_)) => {}
            Some(other) => found.push(wrong_type("patchUpdated.patchFile", "string", other)),
        }
    }
    found
}

fn scan(top: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    version(top, &mut found);
    match top.get("scanForFiles") {
        None => found.push("(root): scanForFiles is required".into()),
        // Written without a value: v1 accepts the file (and then crashes); it means the same as `{}`.
        Some(Value::Null) => {}
        Some(Value::Object(body)) => unknown_keys("scanForFiles", body, &[], &mut found),
        Some(other) => found.push(wrong_type("scanForFiles", "object", other)),
    }
    unknown_keys("(root)", top, &["version", "scanForFiles"], &mut found);
    found
}

fn version(top: &Map<String, Value>, found: &mut Vec<String>) {
    match top.get("version") {
        None => found.push("(root): version is required".into()),
        Some(v) if v.as_f64() == Some(1.0) => {}
        Some(_) => found.push("version: version does not match: 1".into()),
    }
}

fn directive<'a>(
    top: &'a Map<String, Value>,
    name: &str,
    known: &[&str],
    found: &mut Vec<String>,
) -> Option<&'a Map<String, Value>> {
    match top.get(name) {
        None => found.push(format!("(root): {name} is required")),
        Some(Value::Object(body)) => {
            unknown_keys(name, body, known, found);
            return Some(body);
        }
        Some(other) => found.push(wrong_type(name, "object", other)),
    }
    None
}

fn generators(at: &str, body: &Map<String, Value>, found: &mut Vec<String>) {
    let at_list = format!("{at}.generators");
    match body.get("generators") {
        None => found.push(format!("{at}: generators is required")),
        Some(Value::Array(items)) => {
            items.iter().enumerate().for_each(|(i, item)| command(&format!("{at_list}.{i}"), item, found));
        }
        Some(other) => found.push(wrong_type(&at_list, "array", other)),
    }
}

fn updaters(at: &str, body: &Map<String, Value>, found: &mut Vec<String>) {
    let at_list = format!("{at}.updaters");
    let items = match body.get("updaters") {
        None => return,
        Some(Value::Array(items)) => items,
        Some(other) => return found.push(wrong_type(&at_list, "array", other)),
    };
    for (i, item) in items.iter().enumerate() {
        let at_item = format!("{at_list}.{i}");
        let Some(updater) = item.as_object() else {
            found.push(wrong_type(&at_item, "object", item));
            continue;
        };
        for key in ["containerImage", "policy"] {
            if let Some(value) = updater.get(key) {
                command(&format!("{at_item}.{key}"), value, found);
            }
        }
    }
}

fn command(at: &str, value: &Value, found: &mut Vec<String>) {
    let Some(body) = value.as_object() else { return found.push(wrong_type(at, "object", value)) };
    unknown_keys(at, body, &["command", "timeout"], found);
    match body.get("command") {
        None => found.push(format!("{at}: command is required")),
        Some(Value::String(_)) => {}
        Some(other) => found.push(wrong_type(&format!("{at}.command"), "string", other)),
    }
    match body.get("timeout") {
        None | Some(Value::String(_)) => {}
        Some(other) => found.push(wrong_type(&format!("{at}.timeout"), "string", other)),
    }
}

fn unknown_keys(at: &str, body: &Map<String, Value>, known: &[&str], found: &mut Vec<String>) {
    let unknown = body.keys().filter(|key| !known.contains(&key.as_str()));
    found.extend(unknown.map(|key| format!("{at}: Additional property {key} is not allowed")));
}

fn wrong_type(at: &str, expected: &str, given: &Value) -> String {
    let given = match given {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("{at}: Invalid type. Expected: {expected}, given: {given}")
}
