//! Making a commit among the mirror's objects, without a checkout (fluxd-v1 §2.4). No reference moves here: until it is
//! pushed, nothing but its id leads to it.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use git2::{Oid, Repository};

use super::files::{DEPTH_LIMIT, is_unsafe_name};
use super::history::{commit_id, unreadable};
use super::mirror::Mirror;
use super::person::{self, Person};
use super::repo::Inner;
use super::run::Call;
use super::{Error, NewCommit, PushError, secret};
use crate::runtime::{Stop, blocking};
use crate::tree::{Entry, FileChange, Mode, Revision, Tree, TreeError, normalise};

/// What stands before the text of a failure, as in v1.
const PREFIX: &str = "git commit: ";
const DIRECTORY: i32 = 0o040_000;

/// A file as it is to be: none means gone.
type Wanted = Option<(Bytes, i32)>;

/// Writes a commit on top of `base` and returns its id.
pub(super) async fn make(
    inner: &Arc<Inner>,
    mirror: &Arc<Mirror>,
    base: &Revision,
    commit: NewCommit,
    stop: &Stop,
) -> Result<Oid, PushError> {
    let NewCommit { files, message, author } = commit;
    let (of, at, on) = (Arc::clone(inner), Arc::clone(mirror), base.clone());
    let tree = blocking("making a commit", move || write_files(&of, &at, &on, &files)).await.map_err(Error::from)??;
    let message = git2::message_prettify(message, None).map_err(|e| failed(e.message()))?;
    if message.is_empty() {
        return Err(failed("Aborting commit due to empty commit message.").into());
    }
    let committer = Person::now(&inner.settings.user, &inner.settings.email);
    let author = match author.filter(|a| inner.settings.set_author && !a.is_empty()) {
        Some(author) => person::author(inner, mirror, &author, stop).await?,
        None => committer.clone(),
    };
    let draft = Draft { tree, base: base.clone(), message, author, committer };
    if inner.settings.signing_key.is_some() || draft.author.is_partial() || draft.committer.is_partial() {
        return Ok(draft.write_by_git(inner, mirror, stop).await?);
    }
    Ok(mirror.read(move |repository| draft.write(repository)).await?)
}

/// A commit whose files are written already.
struct Draft {
    tree: Oid,
    base: Revision,
    message: String,
    author: Person,
    committer: Person,
}

impl Draft {
    fn write(&self, repository: &Repository) -> Result<Oid, Error> {
        let write = || {
            let (tree, parent) = (repository.find_tree(self.tree)?, Oid::from_str(&self.base.0)?);
            let parent = repository.find_commit(parent)?;
            let (author, committer) = (self.author.signature()?, self.committer.signature()?);
            repository.commit(None, &author, &committer, &self.message, &tree, &[&parent])
        };
        write().map_err(|e: git2::Error| failed(e.message()))
    }

    /// The same by the git program, which knows every way of signing that a user may have configured.
    async fn write_by_git(&self, inner: &Inner, mirror: &Mirror, stop: &Stop) -> Result<Oid, Error> {
        let mut git = inner.git.clone();
        for (role, person) in [("AUTHOR", &self.author), ("COMMITTER", &self.committer)] {
            for (what, value) in person.environment() {
                git = git.with_env(&format!("GIT_{role}_{what}"), value);
            }
        }
        let mut args = vec!["commit-tree".to_owned()];
        args.extend(inner.settings.signing_key.iter().map(|key| format!("-S{key}")));
        args.extend(["-p".to_owned(), self.base.to_string(), self.tree.to_string()]);
        let call = Call::new(PREFIX, args).cwd(mirror.path()).stdin(self.message.as_str());
        let printed = String::from_utf8_lossy(&git.run(call, stop).await?).into_owned();
        Oid::from_str(printed.trim()).map_err(|e| failed(e.message()))
    }
}

fn failed(message: &str) -> Error {
    Error::Git { prefix: PREFIX.to_owned(), message: message.to_owned() }
}

/// Writes the changed files and the directories above them; returns the new root.
fn write_files(
    inner: &Inner,
    mirror: &Arc<Mirror>,
    base: &Revision,
    files: &BTreeMap<String, FileChange>,
) -> Result<Oid, PushError> {
    let tree = inner.files.tree(mirror, base, &inner.shown_url)?;
    let hidden = if inner.settings.git_secret { secret::hidden(inner, &tree) } else { HashSet::new() };
    let mut root = Node::default();
    for (path, change) in files {
        let Some((path, wanted)) = place(&tree, path, change)? else { continue };
        if hidden.contains(&path) && tree.entry(&path).is_err() {
            tracing::warn!(path, "the file is hidden with git-secret; its plain text is not committed");
            continue;
        }
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() > DEPTH_LIMIT || parts.iter().any(|name| is_unsafe_name(name.as_bytes())) {
            return Err(refused(base, format!("the file name {path:?} is not safe")).into());
        }
        root.put(&parts, wanted);
    }
    let repository = mirror.repository();
    let id = commit_id(&repository, base)?;
    let written = repository.find_commit(id).and_then(|c| c.tree()).and_then(|old| {
        let new = root.write(&repository, Some(&old))?;
        Ok((old.id(), new.map_or_else(|| repository.treebuilder(None)?.write(), Ok)?))
    });
    match written.map_err(|e| unreadable(base, &e))? {
        (old, new) if old == new => Err(PushError::NoChanges),
        (_, new) => Ok(new),
    }
}

fn refused(base: &Revision, reason: String) -> Error {
    Error::Refused { revision: base.to_string(), reason }
}

/// Where a change really happens: one without a mode is made to the file that a link leads to, within the tree. None when
/// what is to be removed is not there.
fn place(tree: &Tree, path: &str, change: &FileChange) -> Result<Option<(String, Wanted)>, Error> {
    let refuse = |e: TreeError| refused(tree.revision(), e.to_string());
    let plain = normalise(path).map_err(refuse)?;
    let beside = |parent: &str, name: &str| if parent.is_empty() { name.into() } else { format!("{parent}/{name}") };
    let (parent, name) = plain.rsplit_once('/').unwrap_or(("", &plain));
    match change {
        FileChange::Remove => {
            let parent = tree.follow(parent).ok().map(|(real, _)| real);
            Ok(parent.map(|parent| (beside(&parent, name), None)))
        }
        FileChange::Write { bytes, mode: Some(mode) } => {
            let mode = file_mode(*mode).ok_or_else(|| refused(tree.revision(), is_no_file(path)))?;
            Ok(Some((plain, Some((bytes.clone(), mode)))))
        }
        FileChange::Write { bytes, mode: None } => {
            let (real, mode) = match (tree.follow(&plain), tree.entry(&plain)) {
                (Ok((real, Entry::Leaf { mode, .. })), _) => (real, mode),
                (Ok((_, Entry::Dir(_))), _) => return Err(refused(tree.revision(), is_no_file(path))),
                // A link at the end that leads nowhere is no place for a file.
                (Err(error), Ok(_)) => return Err(refuse(error)),
                (Err(_), Err(_)) => match tree.follow(parent) {
                    Ok((real, Entry::Dir(_))) => (beside(&real, name), Mode::File),
                    Ok((_, Entry::Leaf { .. })) => return Err(refused(tree.revision(), is_no_file(path))),
                    Err(TreeError::Missing(_)) => (plain.clone(), Mode::File),
                    Err(error) => return Err(refuse(error)),
                },
            };
            let mode = file_mode(mode).ok_or_else(|| refused(tree.revision(), is_no_file(path)))?;
            Ok(Some((real, Some((bytes.clone(), mode)))))
        }
    }
}

fn is_no_file(path: &str) -> String {
    format!("{path:?} is no file that could be written")
}

fn file_mode(mode: Mode) -> Option<i32> {
    match mode {
        Mode::File => Some(0o100_644),
        Mode::Executable => Some(0o100_755),
        Mode::Link => Some(0o120_000),
        Mode::Submodule => None,
    }
}

/// Changes below a directory, and to the entry itself.
#[derive(Default)]
struct Node {
    own: Option<Wanted>,
    below: BTreeMap<String, Self>,
}

impl Node {
    fn put(&mut self, path: &[&str], wanted: Wanted) {
        match path {
            [] => self.own = Some(wanted),
            [name, rest @ ..] => self.below.entry((*name).to_owned()).or_default().put(rest, wanted),
        }
    }

    /// Writes the directory; none when nothing is left in it. Where a file takes a directory's place the removals below
    /// it are done with that; where a directory takes a file's place, the file's removal is.
    fn write(&self, repository: &Repository, old: Option<&git2::Tree<'_>>) -> Result<Option<Oid>, git2::Error> {
        let mut builder = repository.treebuilder(old)?;
        for (name, node) in &self.below {
            let there = builder.get(name)?.map(|entry| (entry.id(), entry.filemode()));
            if let Some(Some((bytes, mode))) = &node.own {
                builder.insert(name, repository.blob(bytes)?, *mode)?;
                continue;
            }
            let is_dir = matches!(there, Some((_, DIRECTORY)));
            let old = there.filter(|_| is_dir).map(|(id, _)| repository.find_tree(id)).transpose()?;
            let new = if node.below.is_empty() {
                old.as_ref().map(git2::Tree::id)
            } else {
                node.write(repository, old.as_ref())?
            };
            match new {
                Some(id) => drop(builder.insert(name, id, DIRECTORY)?),
                None if there.is_some() && (is_dir || node.own.is_some()) => builder.remove(name)?,
                None => {}
            }
        }
        if builder.is_empty() { Ok(None) } else { builder.write().map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use git2::ObjectType;

    use super::*;
    use crate::tree::tests::tree;

    fn node(changes: &[(&str, Option<&str>)]) -> Node {
        let mut root = Node::default();
        for (path, content) in changes {
            let parts: Vec<&str> = path.split('/').collect();
            root.put(&parts, content.map(|c| (Bytes::copy_from_slice(c.as_bytes()), 0o100_644)));
        }
        root
    }

    fn paths(repository: &Repository, id: Oid) -> Vec<String> {
        let mut found = Vec::new();
        let tree = repository.find_tree(id).unwrap();
        tree.walk(git2::TreeWalkMode::PreOrder, |dir, entry| {
            if entry.kind() == Some(ObjectType::Blob) {
                found.push(format!("{dir}{}", entry.name().unwrap()));
            }
            git2::TreeWalkResult::Ok
        })
        .unwrap();
        found
    }

    #[test]
    fn files_and_directories_take_each_others_place_and_empty_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(dir.path()).unwrap();
        let base = node(&[("a/b/c", Some("1")), ("a/d", Some("2")), ("e", Some("3"))]);
        let base = base.write(&repository, None).unwrap().unwrap();
        let old = repository.find_tree(base).unwrap();
        for (changes, want) in [
            (&[("a/b/c", Some("new"))][..], &["a/b/c", "a/d", "e"][..]),
            (&[("a/b/c", None)], &["a/d", "e"]),
            (&[("a/b/c", None), ("a/d", None)], &["e"]),
            (&[("a/b", Some("file")), ("a/b/c", None)], &["a/b", "a/d", "e"]),
            (&[("e", None), ("e/f/g", Some("4"))], &["a/b/c", "a/d", "e/f/g"]),
            (&[("e/f", None), ("none", None), ("none/at/all", None), ("a", None)], &["a/b/c", "a/d", "e"]),
            (&[("x/y/z", Some("5"))], &["a/b/c", "a/d", "e", "x/y/z"]),
        ] {
            let id = node(changes).write(&repository, Some(&old)).unwrap().unwrap();
            assert_eq!(paths(&repository, id), want, "{changes:?}");
        }
        let gone = node(&[("a/b/c", None), ("a/d", None), ("e", None)]);
        assert_eq!(gone.write(&repository, Some(&old)).unwrap(), None);
    }

    #[test]
    fn a_change_without_a_mode_goes_through_links_and_never_out_of_the_tree() {
        let tree = tree(&[
            ("base/a.yaml", Mode::Executable, "a"),
            ("apps/a.yaml", Mode::Link, "../base/a.yaml"),
            ("apps/base", Mode::Link, "../base"),
            ("apps/out", Mode::Link, "../../etc/passwd"),
            ("apps/sub", Mode::Submodule, ""),
        ]);
        let bytes = Bytes::from_static(b"new");
        for (path, mode, want) in [
            ("apps/a.yaml", None, Some(("base/a.yaml", 0o100_755))),
            ("apps/base/a.yaml", None, Some(("base/a.yaml", 0o100_755))),
            ("apps/base/new.yaml", None, Some(("base/new.yaml", 0o100_644))),
            ("./new/b.yaml", None, Some(("new/b.yaml", 0o100_644))),
            ("apps/a.yaml", Some(Mode::File), Some(("apps/a.yaml", 0o100_644))),
            ("apps/out", None, None),
            ("apps/sub", None, None),
            ("apps", None, None),
            ("base/a.yaml/x", None, None),
            ("../x", None, None),
            ("/etc/passwd", Some(Mode::File), None),
            ("x", Some(Mode::Submodule), None),
        ] {
            let got = place(&tree, path, &FileChange::Write { bytes: bytes.clone(), mode });
            let got = got.ok().flatten().and_then(|(path, wanted)| Some((path, wanted?.1)));
            assert_eq!(got.as_ref().map(|(path, mode)| (path.as_str(), *mode)), want, "{path} {mode:?}");
        }
        let removed = place(&tree, "apps/base/a.yaml", &FileChange::Remove).unwrap();
        assert_eq!(removed, Some(("base/a.yaml".to_owned(), None)));
    }
}
