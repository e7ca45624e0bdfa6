//! Loads of whole trees with real commands: what fluxd-v1 §4.7 and §14 (pkg/manifests) assert, and the faults of commands.

use super::*;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::object::Digest;
use crate::tree::{BlobId, Dir, Entry, Mode};

mod difference;
mod faults;
mod loading;
mod patching;
mod updating;

/// A tree at a revision; the id of a content is its digest. Files that end in `.sh` are executable.
pub(super) fn tree(revision: &str, files: &[(&str, &str)]) -> Tree {
    let mut root = Dir::default();
    let mut contents = BTreeMap::new();
    for (path, text) in files {
        let id = BlobId(Digest::of(text.as_bytes()).0);
        let mode = if path.ends_with(".sh") { Mode::Executable } else { Mode::File };
        contents.insert(id, bytes::Bytes::copy_from_slice(text.as_bytes()));
        insert(&mut root, path, Entry::Leaf { id, mode });
    }
    let read = move |id: &BlobId| contents.get(id).cloned().ok_or_else(|| "no such content".to_owned());
    Tree::new(Revision(revision.into()), Arc::new(root), Arc::new(read))
}

fn insert(dir: &mut Dir, path: &str, entry: Entry) {
    let Some((first, rest)) = path.split_once('/') else {
        dir.entries.insert(path.into(), entry);
        return;
    };
    let below = dir.entries.entry(first.into()).or_insert_with(|| Entry::Dir(Arc::default()));
    let Entry::Dir(below) = below else { panic!("{first} is a file") };
    insert(Arc::get_mut(below).expect("held once"), rest, entry);
}

/// An export that writes the tree, and counts how often it is asked to.
fn export() -> (Export, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let export: Export = Arc::new(move |tree, to| {
        counted.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { write(&tree, tree.root(), &to) })
    });
    (export, count)
}

fn write(tree: &Tree, dir: &Dir, to: &std::path::Path) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(to).map_err(|e| e.to_string())?;
    for (name, entry) in &dir.entries {
        let path = to.join(&**name);
        match entry {
            Entry::Dir(below) => write(tree, below, &path)?,
            Entry::Leaf { id, mode } => {
                std::fs::write(&path, tree.read(name, id).map_err(|e| e.to_string())?).map_err(|e| e.to_string())?;
                let bits = if *mode == Mode::Executable { 0o755 } else { 0o644 };
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(bits)).map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(())
}

fn settings(paths: &[&str]) -> Settings {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".into();
    Settings {
        paths: paths.iter().map(|p| (*p).to_owned()).collect(),
        manifest_generation: true,
        default_timeout: Duration::from_secs(60),
        env: BTreeMap::from([("PATH".into(), path), ("MARK".into(), "from-the-daemon".into())]),
        ..Settings::default()
    }
}

async fn load_with(generator: &Generator, tree: &Tree) -> Result<Loaded, Error> {
    generator.load(tree, &export().0, false, &Stop::new()).await
}

async fn load(paths: &[&str], files: &[(&str, &str)]) -> Result<Loaded, Error> {
    load_with(&Generator::new(settings(paths)), &tree("1", files)).await
}

fn ids(loaded: &Loaded) -> Vec<String> {
    loaded.objects.iter().map(|o| o.id().to_string()).collect()
}

fn value(loaded: &Loaded, id: &str) -> serde_json::Value {
    let found = loaded.objects.iter().find(|o| o.id().to_string() == id);
    found.unwrap_or_else(|| panic!("no {id} in {:?}", ids(loaded))).value()
}

/// A manifest of a ConfigMap.
fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: ns}}\ndata: {{a: b}}\n")
}

/// A `.flux.yaml` with these lines as generators.
fn generators(lines: &[&str]) -> String {
    let items = lines.iter().map(|line| serde_json::json!({ "command": line })).collect::<Vec<_>>();
    serde_json::json!({"version": 1, "commandUpdated": {"generators": items}}).to_string()
}
