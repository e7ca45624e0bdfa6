//! `tree`: what a ResourceSet has applied, read live with the caller's own rights, and below objects with an inventory of
//! their own what those have applied.

use std::fmt::Write;

use futures::{FutureExt, StreamExt};
use kube::ResourceExt;
use serde::Serialize;
use serde_json::Value;

use super::cluster::{failed, objects, open};
use super::custom::Custom;
use crate::api::inventory::{Entry, Inventory};
use crate::api::resourceset::ResourceSet;
use crate::api::{condition, status};
use crate::cli::fluxctl::ours::answer_in;
use crate::cli::fluxctl::problem::Problem;
use crate::cli::fluxctl::session::Session;
use crate::client::show::Paint;
use crate::object::{Gvk, Key};
use crate::operator::sets::{Identity, Owner, Set, SetSettings, Sets, dependency_status};

/// Deepest chain of inventories that is followed.
const DEPTH: usize = 8;
/// Objects that are read at the same time.
const AT_ONCE: usize = 16;

/// An object with what it has applied.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
struct Node {
    /// `Kind/namespace/name`.
    object: String,
    /// A word of kstatus, or `NotFound`.
    status: String,
    /// What its condition Ready says, unless all is well.
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects: Vec<Self>,
}

/// Runs the verb.
pub(super) async fn run(session: &Session<'_>, name: &str) -> Result<(), Problem> {
    let connection = open(session).await?;
    let api = objects::<ResourceSet>(session, &connection.client);
    let reading = async {
        let set = api.get(name).await.map_err(failed::<ResourceSet>("reading", name))?;
        let unusable = |e: crate::operator::sets::SetsError| Problem::Usage(e.to_string());
        let sets =
            Sets::new(&connection.config, connection.client.clone(), SetSettings::resource_set()).map_err(unusable)?;
        let namespace = set.namespace().unwrap_or_default();
        let owner = Owner { kind: ResourceSet::KIND.to_owned(), namespace: namespace.clone(), name: name.to_owned() };
        let inventory = set.status.as_ref().and_then(|status| status.inventory.clone()).unwrap_or_default();
        let reader = sets.set(owner, Identity::Own);
        let below = below(&reader, inventory, DEPTH).await;
        Ok::<_, Problem>(root(&set, &format!("{}/{namespace}/{name}", ResourceSet::KIND), below))
    };
    let node = session.screen.patient("Reading objects", reading).await?;
    answer_in(&session.given.text("output"), &node, |node| text(node, session.screen.paint))
}

fn root(set: &ResourceSet, object: &str, objects: Vec<Node>) -> Node {
    let ready = set.ready();
    let (status, message) = match ready {
        _ if set.is_suspended() => ("Suspended", ""),
        Some(ready) if ready.status == status::TRUE => ("Current", ""),
        Some(ready) if condition::is_true(set.conditions(), condition::STALLED) => ("Failed", ready.message.as_str()),
        Some(ready) => ("InProgress", ready.message.as_str()),
        None => ("InProgress", "not reconciled yet"),
    };
    Node { object: object.to_owned(), status: status.to_owned(), message: message.to_owned(), objects }
}

/// The objects of an inventory, in its order.
async fn below(reader: &Set, inventory: Inventory, depth: usize) -> Vec<Node> {
    let reads = inventory.entries.into_iter().map(|entry| async move { node(reader, &entry, depth).await });
    futures::stream::iter(reads).buffered(AT_ONCE).collect().await
}

/// Boxed, because a node is read by reading those below it.
fn node<'a>(reader: &'a Set, entry: &'a Entry, depth: usize) -> futures::future::BoxFuture<'a, Node> {
    async move {
        let (key, gvk) = match entry.parse() {
            Ok(parsed) => parsed,
            Err(error) => return leaf(entry.id.clone(), "Unknown", &error.to_string()),
        };
        match reader.get(&gvk, key.namespace.as_deref(), &key.name).await {
            Ok(live) => {
                let objects = match own_inventory(&gvk, &live).filter(|_| depth > 0) {
                    Some(inventory) => below(reader, inventory, depth - 1).await,
                    None => Vec::new(),
                };
                let (is_ready, word) = dependency_status(&live);
                let message = if is_ready { String::new() } else { ready_message(&live) };
                Node { object: subject(&key), status: word.to_owned(), message, objects }
            }
            Err(error) if error.not_found => leaf(subject(&key), "NotFound", ""),
            Err(error) => leaf(subject(&key), "Unknown", &error.message),
        }
    }
    .boxed()
}

fn leaf(object: String, status: &str, message: &str) -> Node {
    Node { object, status: status.to_owned(), message: message.to_owned(), objects: Vec::new() }
}

/// ResourceSets and Flux's Kustomizations keep the same inventory.
fn own_inventory(gvk: &Gvk, live: &Value) -> Option<Inventory> {
    let keeps = matches!(
        (gvk.group.as_str(), gvk.kind.as_str()),
        (crate::api::GROUP, "ResourceSet") | ("kustomize.toolkit.fluxcd.io", "Kustomization")
    );
    let inventory = live.pointer("/status/inventory").filter(|_| keeps)?;
    serde_json::from_value(inventory.clone()).ok()
}

fn ready_message(live: &Value) -> String {
    let conditions = live.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|c| c["type"] == condition::READY);
    ready.and_then(|c| c["message"].as_str()).unwrap_or_default().to_owned()
}

fn subject(key: &Key) -> String {
    match &key.namespace {
        Some(namespace) => format!("{}/{namespace}/{}", key.kind, key.name),
        None => format!("{}/{}", key.kind, key.name),
    }
}

fn text(root: &Node, paint: Paint) -> String {
    let mut text = label(root, paint) + "\n";
    branches(&mut text, &root.objects, "", paint);
    text
}

fn label(node: &Node, paint: Paint) -> String {
    let word = match node.status.as_str() {
        "Current" => paint.added(&node.status),
        "Failed" | "NotFound" | "Unknown" => paint.removed(&node.status),
        _ => paint.changed(&node.status),
    };
    let first = node.message.lines().next().unwrap_or_default();
    let message = if first.is_empty() { String::new() } else { format!(": {first}") };
    format!("{} {word}{message}", node.object)
}

fn branches(text: &mut String, nodes: &[Node], before: &str, paint: Paint) {
    for (at, node) in nodes.iter().enumerate() {
        let last = at + 1 == nodes.len();
        // Writing into a String cannot fail.
        writeln!(text, "{before}{} {}", if last { "└──" } else { "├──" }, label(node, paint)).unwrap_or_default();
        branches(text, &node.objects, &format!("{before}{}", if last { "    " } else { "│   " }), paint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_stand_below_what_applied_them_with_their_state() {
        let web = leaf("Deployment/a/web".into(), "InProgress", "1 of 2 updated\nmore");
        let inner = Node { objects: vec![web], ..leaf("Kustomization/a/apps".into(), "Current", "") };
        let gone = leaf("ConfigMap/a/gone".into(), "NotFound", "");
        let root = Node { objects: vec![inner, gone], ..leaf("ResourceSet/a/all".into(), "Current", "") };
        let expected = "\
ResourceSet/a/all Current
├── Kustomization/a/apps Current
│   └── Deployment/a/web InProgress: 1 of 2 updated
└── ConfigMap/a/gone NotFound
";
        assert_eq!(text(&root, Paint(false)), expected);
    }
}
