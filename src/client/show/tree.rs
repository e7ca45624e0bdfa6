//! The managed objects as a tree: directories, files, objects, and below them what others made from them.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Paint;
use super::diff::short;
use crate::object::ObjectId;
use crate::report::{ObjectView, ObjectsView};

/// A node: a directory or file with what is in it, or an object with what it owns.
#[derive(Default)]
struct Node {
    label: String,
    children: Vec<Self>,
}

/// The tree of all objects.
pub fn tree(view: &ObjectsView, paint: Paint) -> String {
    let owned = owned(view);
    let mut files: BTreeMap<&str, Vec<&ObjectView>> = BTreeMap::new();
    let mut others = Vec::new();
    for object in &view.objects {
        match (&object.file, &object.owner) {
            (Some(file), _) => files.entry(file).or_default().push(object),
            (None, Some(owner)) if view.objects.iter().any(|o| o.id == *owner) => {}
            (None, _) => others.push(object),
        }
    }
    let mut root = Node::default();
    for (file, objects) in &files {
        let generated = objects.iter().all(|object| object.generated);
        let place = directory(&mut root, file);
        let label = if generated {
            format!("{} {}", paint.strong(name_of(file)), paint.faint("(generated)"))
        } else {
            paint.strong(name_of(file))
        };
        let children = objects.iter().map(|object| object_node(object, &owned, paint, 0)).collect();
        place.children.push(Node { label, children });
    }
    if !others.is_empty() {
        let children = others.iter().map(|object| object_node(object, &owned, paint, 0)).collect();
        root.children.push(Node { label: paint.faint("not in git"), children });
    }
    let mut text = format!("{} objects at {}\n", view.objects.len(), short(&view.revision));
    branches(&mut text, &root.children, "");
    text
}

/// Deepest chain of owners that is followed.
const DEPTH: usize = 16;

fn owned(view: &ObjectsView) -> BTreeMap<&ObjectId, Vec<&ObjectView>> {
    let mut owned: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for object in view.objects.iter().filter(|object| object.file.is_none()) {
        if let Some(owner) = &object.owner {
            owned.entry(owner).or_default().push(object);
        }
    }
    owned
}

fn object_node(object: &ObjectView, owned: &BTreeMap<&ObjectId, Vec<&ObjectView>>, paint: Paint, depth: usize) -> Node {
    let mut label = object.id.to_string();
    if let Some(line) = object.line.filter(|_| !object.generated) {
        write!(label, " {}", paint.faint(&format!("line {line}"))).unwrap_or_default();
    }
    match object.result.as_str() {
        "" | "unchanged" => {}
        "failed" | "rejected" => write!(label, " {}", paint.removed(&object.result)).unwrap_or_default(),
        other => write!(label, " {}", paint.added(other)).unwrap_or_default(),
    }
    if let Some(error) = &object.error {
        write!(label, ": {}", paint.removed(error.lines().next().unwrap_or_default())).unwrap_or_default();
    }
    let below = if depth < DEPTH { owned.get(&object.id) } else { None };
    let children = below.into_iter().flatten().map(|child| object_node(child, owned, paint, depth + 1)).collect();
    Node { label, children }
}

fn name_of(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// The node of the directory that a file is in, made where it is missing. Files come sorted, so the last one is it.
fn directory<'n>(root: &'n mut Node, file: &str) -> &'n mut Node {
    let mut node = root;
    let mut names: Vec<&str> = file.split('/').collect();
    names.pop();
    for name in names {
        let label = format!("{name}/");
        let at = node.children.iter().position(|child| child.label == label).unwrap_or_else(|| {
            node.children.push(Node { label, children: Vec::new() });
            node.children.len() - 1
        });
        node = &mut node.children[at];
    }
    node
}

fn branches(text: &mut String, nodes: &[Node], before: &str) {
    for (at, node) in nodes.iter().enumerate() {
        let last = at + 1 == nodes.len();
        // Writing into a String cannot fail.
        writeln!(text, "{before}{} {}", if last { "└──" } else { "├──" }, node.label).unwrap_or_default();
        branches(text, &node.children, &format!("{before}{}", if last { "    " } else { "│   " }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_stand_in_their_files_and_below_their_owners() {
        let view: ObjectsView = serde_json::from_str(
            r#"{"revision":"0123456789","objects":[
            {"id":"s:deployment/web","file":"apps/web.yaml","line":1,"result":"unchanged"},
            {"id":"s:service/web","file":"apps/web.yaml","line":20,"result":"failed","error":"no such port\nmore"},
            {"id":"s:helmrelease/h","file":"h.yaml","line":1,"result":"created"},
            {"id":"s:deployment/h-1","owner":"s:helmrelease/h","result":"ready"},
            {"id":"s:deployment/x","owner":"s:helmrelease/elsewhere"}]}"#,
        )
        .unwrap();
        let expected = "\
5 objects at 0123456
├── apps/
│   └── web.yaml
│       ├── s:deployment/web line 1
│       └── s:service/web line 20 failed: no such port
├── h.yaml
│   └── s:helmrelease/h line 1 created
│       └── s:deployment/h-1 ready
└── not in git
    └── s:deployment/x
";
        assert_eq!(tree(&view, Paint(false)), expected);
    }
}
