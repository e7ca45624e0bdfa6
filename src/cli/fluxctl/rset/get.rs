//! `get`: custom resources as a table, as JSON or as YAML.

use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::cluster::{failed, objects, open};
use super::custom::Custom;
use crate::api::status::UNKNOWN;
use crate::cli::fluxctl::problem::Problem;
use crate::cli::fluxctl::session::Session;
use crate::cli::fluxctl::terminal::out;
use crate::client::show;

/// What suspended objects are counted as, whatever their condition.
const SUSPENDED: &str = "Suspended";

/// Runs the verb.
pub(super) async fn run<K: Custom>(session: &Session<'_>) -> Result<(), Problem> {
    let given = session.given;
    let form = given.text("output");
    if !matches!(form.as_str(), "table" | "json" | "yaml") {
        return Err(Problem::Usage(format!("--output must be table, json or yaml, not {form:?}")));
    }
    let wanted = given.text("ready-status");
    if !matches!(wanted.as_str(), "" | "True" | "False" | UNKNOWN | SUSPENDED) {
        return Err(Problem::Usage(format!(
            "--ready-status must be True, False, Unknown or Suspended, not {wanted:?}"
        )));
    }
    let mut found = session.screen.patient("Reading", read::<K>(session)).await?;
    found.retain(|object| wanted.is_empty() || state(object) == wanted);
    match form.as_str() {
        "table" => out(&table(&found, given.bool("all-namespaces"), !given.bool("no-headers"))),
        _ => out(&whole(&found, session.rest.len() == 1, &form)?),
    }
}

async fn read<K: Custom>(session: &Session<'_>) -> Result<Vec<K>, Problem> {
    let client = open(session).await?.client;
    let api = match session.given.bool("all-namespaces") {
        true => Api::all(client),
        false => objects::<K>(session, &client),
    };
    match session.rest {
        [] => Ok(api.list(&kube::api::ListParams::default()).await.map_err(failed::<K>("listing", "objects"))?.items),
        [_] if session.given.bool("all-namespaces") => {
            Err(Problem::Usage("a name is looked for in one namespace; leave --all-namespaces out".to_owned()))
        }
        [name] => Ok(vec![api.get(name).await.map_err(failed::<K>("reading", name))?]),
        _ => Err(Problem::Usage("please give one name at most".to_owned())),
    }
}

/// What stands below READY.
fn state<K: Custom>(object: &K) -> &str {
    if object.is_suspended() {
        return SUSPENDED;
    }
    object.ready().map_or(UNKNOWN, |ready| ready.status.as_str())
}

fn table<K: Custom>(found: &[K], namespaces: bool, headers: bool) -> String {
    let mut text = String::new();
    let mut line = |namespace: &str, cells: [&str; 4]| {
        if namespaces {
            text.push_str(&format!("{namespace}\t"));
        }
        text.push_str(&(cells.join("\t") + "\n"));
    };
    if headers {
        line("NAMESPACE", ["NAME", "READY", K::COLUMN, "MESSAGE"]);
    }
    for object in found {
        let message = object.ready().map_or("not reconciled yet", |ready| ready.message.as_str());
        let message = message.lines().next().unwrap_or_default();
        let cells = [object.name_any(), state(object).to_owned(), object.column(), message.to_owned()];
        line(&object.namespace().unwrap_or_default(), [&cells[0], &cells[1], &cells[2], &cells[3]]);
    }
    show::columns(&text)
}

/// The objects as the API server has them, without what only machines read.
fn whole<K: Custom>(found: &[K], alone: bool, form: &str) -> Result<String, Problem> {
    let unwritable = |e: serde_json::Error| Problem::Usage(format!("encoding the answer: {e}"));
    let mut items = Vec::with_capacity(found.len());
    for object in found {
        let mut object = object.clone();
        object.meta_mut().managed_fields = None;
        let mut value = serde_json::to_value(&object).map_err(unwritable)?;
        value["apiVersion"] = json!(K::api_version(&()));
        value["kind"] = json!(K::kind(&()));
        items.push(value);
    }
    let shown = match (alone, items.pop()) {
        (true, Some(object)) => object,
        (_, last) => {
            items.extend(last);
            json!({"apiVersion": "v1", "kind": "List", "items": Value::Array(items)})
        }
    };
    match form {
        "json" => Ok(serde_json::to_string_pretty(&shown).map_err(unwritable)? + "\n"),
        _ => Ok(crate::object::yaml::emit(&shown)),
    }
}
