//! Files hidden with git-secret, revealed in a working copy of their own that is thrown away at once (fluxd-v1 §2.3). The
//! plain texts live in memory only from then on.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::repo::Inner;
use super::run::Call;
use super::{Error, export};
use crate::runtime::blocking;
use crate::tree::{BlobId, Dir, Entry, Mode, Tree, normalise};

/// Reveals what is hidden in a tree.
pub(super) async fn reveal(inner: &Inner, tree: Tree) -> Result<Tree, Error> {
    let scratch = inner.scratch(&mut *inner.desk.lock().await).await?;
    let work = Arc::new(scratch.directory("reveal")?);
    let (copied, to) = (tree.clone(), Arc::clone(&work));
    blocking("exporting a tree", move || {
        export::write(&copied, to.path())?;
        // git-secret asks git for the top directory; nothing is ever committed here.
        git2::Repository::init(to.path())
            .map(drop)
            .map_err(|e| Error::Object { what: "a working copy".to_owned(), reason: e.message().to_owned() })
    })
    .await??;
    let stop = inner.stop();
    let call = Call::new("git secret reveal -f: ", ["secret", "reveal", "-f"]).cwd(work.path());
    inner.git.run(call, &stop).await?;
    let call = Call::new("git secret list: ", ["secret", "list"]).cwd(work.path());
    let list = String::from_utf8_lossy(&inner.git.run(call, &stop).await?).into_owned();
    blocking("reading revealed files", move || overlay(&tree, work.path(), &list)).await?
}

/// The files that git-secret hides, by the list it keeps among the files (`path:digest`, in old versions `path`).
pub(super) fn hidden(inner: &Inner, tree: &Tree) -> HashSet<String> {
    let dir = inner.settings.env.get(OsStr::new("SECRETS_DIR")).map(|d| d.to_string_lossy().into_owned());
    let list = format!("{}/paths/mapping.cfg", dir.as_deref().unwrap_or(".gitsecret"));
    let Ok((_, Entry::Leaf { id, .. })) = tree.follow(&list) else { return HashSet::new() };
    let Ok(content) = tree.read(&list, &id) else { return HashSet::new() };
    let content = String::from_utf8_lossy(&content);
    content.lines().filter_map(|line| normalise(line.rsplit_once(':').map_or(line, |(path, _)| path)).ok()).collect()
}

/// The tree with the listed files of a directory in it.
fn overlay(tree: &Tree, dir: &Path, list: &str) -> Result<Tree, Error> {
    let mut plain = HashMap::new();
    let mut root = Arc::clone(tree.root());
    for line in list.lines().filter(|line| !line.is_empty()) {
        let name = normalise(line).map_err(|e| Error::Object { what: line.to_owned(), reason: e.to_string() })?;
        let path = dir.join(&name);
        let content = std::fs::read(&path).map_err(Error::io("reading revealed", &name))?;
        let id = BlobId(Sha256::digest(&content).into());
        plain.insert(id, Bytes::from(content));
        let parts: Vec<&str> = name.split('/').collect();
        root = insert(&root, &parts, id);
    }
    let hidden = tree.clone();
    let reader = move |id: &BlobId| match plain.get(id) {
        Some(content) => Ok(content.clone()),
        None => hidden.read("", id).map_err(|e| match e {
            crate::tree::TreeError::Unreadable { reason, .. } => reason,
            other => other.to_string(),
        }),
    };
    Ok(Tree::new(tree.revision().clone(), root, Arc::new(reader)))
}

fn insert(dir: &Arc<Dir>, path: &[&str], id: BlobId) -> Arc<Dir> {
    let mut entries = dir.entries.clone();
    match path {
        [] => {}
        [name] => {
            entries.insert((*name).into(), Entry::Leaf { id, mode: Mode::File });
        }
        [name, rest @ ..] => {
            let empty = Arc::new(Dir::default());
            let below = match entries.get(*name) {
                Some(Entry::Dir(below)) => below,
                _ => &empty,
            };
            let below = insert(below, rest, id);
            entries.insert((*name).into(), Entry::Dir(below));
        }
    }
    Arc::new(Dir { entries })
}
