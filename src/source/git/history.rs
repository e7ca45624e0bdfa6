//! Reading a mirror's history: names to commits, ranges of commits, notes.

use std::collections::{BTreeMap, HashSet};

use git2::{Oid, Repository, Sort};

use super::{Commit, Error};
use crate::tree::Revision;

/// How many commits of a range are listed; older ones are left out.
const COMMIT_LIMIT: usize = 20_000;

/// The commit that an expression names.
pub(super) fn resolve(repository: &Repository, expression: &str) -> Result<Revision, Error> {
    let commit = repository
        .revparse_single(expression)
        .and_then(|object| object.peel_to_commit())
        .map_err(|_| Error::UnknownRevision(expression.to_owned()))?;
    Ok(revision(commit.id()))
}

pub(super) fn revision(id: Oid) -> Revision {
    Revision(id.to_string().into())
}

pub(super) fn commit_id(repository: &Repository, revision: &Revision) -> Result<Oid, Error> {
    let unknown = |_| Error::UnknownRevision(revision.to_string());
    let id = Oid::from_str(&revision.0).map_err(unknown)?;
    repository.find_commit(id).map(|c| c.id()).map_err(unknown)
}

/// `git log FROM..TO -- PATHS`, with git's simplification: where a merge brought nothing new for the paths, only the parent
/// that it equals is followed.
pub(super) fn commits(
    repository: &Repository,
    from: Option<&Revision>,
    to: &Revision,
    paths: &[String],
) -> Result<Vec<Commit>, Error> {
    let paths: Vec<String> =
        paths.iter().filter_map(|p| crate::tree::normalise(p).ok()).filter(|p| !p.is_empty()).collect();
    let ids = walk(repository, from, to, false).map_err(|e| e.or_unreadable(to))?;
    let mut wanted = HashSet::from([commit_id(repository, to)?]);
    let mut found = Vec::new();
    for id in ids {
        if !wanted.contains(&id) {
            continue;
        }
        let commit = repository.find_commit(id).map_err(|e| unreadable(&revision(id), &e))?;
        let (touches, follow) = follow(repository, &commit, &paths).map_err(|e| unreadable(&revision(id), &e))?;
        wanted.extend(follow);
        if touches {
            found.push(describe(&commit));
        }
        if found.len() >= COMMIT_LIMIT {
            break;
        }
    }
    Ok(found)
}

/// A failure to walk: a name is unknown, or an object cannot be read.
pub(super) enum WalkError {
    Known(Error),
    Git(git2::Error),
}

impl WalkError {
    pub(super) fn or_unreadable(self, to: &Revision) -> Error {
        match self {
            Self::Known(error) => error,
            Self::Git(error) => unreadable(to, &error),
        }
    }
}

impl From<git2::Error> for WalkError {
    fn from(error: git2::Error) -> Self {
        Self::Git(error)
    }
}

/// The commits reachable from `to` and not from `from`, newest first, children before their parents.
pub(super) fn walk(
    repository: &Repository,
    from: Option<&Revision>,
    to: &Revision,
    first_parent: bool,
) -> Result<Vec<Oid>, WalkError> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
    if first_parent {
        walk.simplify_first_parent()?;
    }
    walk.push(commit_id(repository, to).map_err(WalkError::Known)?)?;
    if let Some(from) = from {
        walk.hide(commit_id(repository, from).map_err(WalkError::Known)?)?;
    }
    Ok(walk.collect::<Result<Vec<Oid>, git2::Error>>()?)
}

/// Whether a commit changes one of the paths, and which parents to go on with.
fn follow(
    repository: &Repository,
    commit: &git2::Commit<'_>,
    paths: &[String],
) -> Result<(bool, Vec<Oid>), git2::Error> {
    let parents: Vec<Oid> = commit.parent_ids().collect();
    if paths.is_empty() {
        return Ok((true, parents));
    }
    let own = entries(repository, &commit.tree()?, paths);
    for parent in commit.parents() {
        if entries(repository, &parent.tree()?, paths) == own {
            return Ok((false, vec![parent.id()]));
        }
    }
    let is_empty_root = parents.is_empty() && own.iter().all(Option::is_none);
    Ok((!is_empty_root, parents))
}

fn entries(_repository: &Repository, tree: &git2::Tree<'_>, paths: &[String]) -> Vec<Option<(Oid, i32)>> {
    paths.iter().map(|p| tree.get_path(p.as_ref()).ok().map(|e| (e.id(), e.filemode()))).collect()
}

fn describe(commit: &git2::Commit<'_>) -> Commit {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    let author = commit.author();
    let author = [author.name_bytes(), author.email_bytes()].map(|b| String::from_utf8_lossy(b).into_owned());
    Commit {
        revision: revision(commit.id()),
        subject: subject(&message),
        author: format!("{} <{}>", author[0], author[1]),
        time: commit.time().seconds(),
        message,
    }
}

/// The first paragraph on one line, as git's `%s`.
fn subject(message: &str) -> String {
    let lines = message.trim_start_matches('\n').lines().map(str::trim_end);
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Git's expansion of a notes ref (fluxd-v1 §2.3).
pub(super) fn notes_ref(name: &str) -> String {
    if name.starts_with("refs/notes/") {
        name.to_owned()
    } else if name.starts_with("notes/") {
        format!("refs/{name}")
    } else {
        format!("refs/notes/{name}")
    }
}

/// The notes of those of the commits that have one.
pub(super) fn notes(
    repository: &Repository,
    name: &str,
    revisions: &[Revision],
) -> Result<BTreeMap<Revision, String>, Error> {
    let mut found = BTreeMap::new();
    if repository.find_reference(name).is_err() {
        return Ok(found);
    }
    for wanted in revisions {
        let Ok(id) = Oid::from_str(&wanted.0) else { continue };
        match repository.find_note(Some(name), id) {
            Ok(note) => {
                found.insert(wanted.clone(), String::from_utf8_lossy(note.message_bytes()).into_owned());
            }
            Err(error) if error.code() == git2::ErrorCode::NotFound => {}
            Err(error) => {
                let what = format!("the note of commit {wanted}");
                return Err(Error::Object { what, reason: error.message().to_owned() });
            }
        }
    }
    Ok(found)
}

pub(super) fn unreadable(revision: &Revision, error: &git2::Error) -> Error {
    Error::Object { what: format!("commit {revision}"), reason: error.message().to_owned() }
}
