//! Notes on our commits (fluxd-v1 §2.5): adding one on top of what the remote has, and finding a job's. What a note says
//! beyond the job's id is the caller's knowledge.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use git2::{ErrorCode, ObjectType, Oid, Repository};

use super::Error;
use super::history::revision;
use super::person::Person;
use crate::tree::Revision;

/// Notes in one directory before they are spread over directories by their first two digits, about as git does it.
const SPREAD: usize = 256;
/// Commits of the branch that are looked at for a job.
const WALK_LIMIT: usize = 20_000;
/// Notes that are known at once; of those beyond, none is found.
const NOTE_LIMIT: usize = 200_000;
/// Bytes of a note that is read for its job.
const SIZE_LIMIT: usize = 16 << 20;
const DIRECTORY: i32 = 0o040_000;
const FILE: i32 = 0o100_644;

/// A new state of the notes ref, which is not moved yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Added {
    /// The state that the mirror knows; none when there are no notes.
    pub(super) before: Option<Oid>,
    /// A commit on top of it with the note.
    pub(super) after: Oid,
}

/// Writes a note for a commit among the objects. The ref stays where it is, so that a push that fails leaves nothing.
pub(super) fn add(repository: &Repository, name: &str, commit: Oid, text: &str, who: &Person) -> Result<Added, Error> {
    let write = || {
        let before = head(repository, name)?;
        let parent = before.map(|id| repository.find_commit(id)).transpose()?;
        let old = parent.as_ref().map(git2::Commit::tree).transpose()?;
        let blob = repository.blob(git2::message_prettify(text, None)?.as_bytes())?;
        let root = insert(repository, old.as_ref(), &commit.to_string(), blob)?;
        let (tree, who) = (repository.find_tree(root)?, who.signature()?);
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        let after = repository.commit(None, &who, &who, "Notes added by 'git notes add'\n", &tree, &parents)?;
        Ok(Added { before, after })
    };
    write().map_err(|e: git2::Error| Error::Git { prefix: "git notes: ".to_owned(), message: e.message().to_owned() })
}

/// Where a ref leads; none when it is not there.
pub(super) fn head(repository: &Repository, name: &str) -> Result<Option<Oid>, git2::Error> {
    match repository.find_reference(name) {
        Ok(reference) => Ok(reference.target()),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The directory with a note at `rest`, the digits of the commit that are not used up by directories above. Where notes
/// are spread already, or too many for one directory, they go into directories of their first two digits.
fn insert(repository: &Repository, old: Option<&git2::Tree<'_>>, rest: &str, blob: Oid) -> Result<Oid, git2::Error> {
    let mut builder = repository.treebuilder(old)?;
    let entries: Vec<(String, Oid, i32)> = old
        .into_iter()
        .flat_map(git2::Tree::iter)
        .filter_map(|entry| Some((entry.name().ok()?.to_owned(), entry.id(), entry.filemode())))
        .filter(|(name, ..)| name.bytes().all(|b| b.is_ascii_hexdigit()))
        .collect();
    let is_spread = entries.iter().any(|(name, _, mode)| name.len() == 2 && *mode == DIRECTORY);
    let Some((first, below)) = rest.split_at_checked(2).filter(|(_, below)| !below.is_empty()) else {
        builder.insert(rest, blob, FILE)?;
        return builder.write();
    };
    if !is_spread && entries.len() < SPREAD {
        builder.insert(rest, blob, FILE)?;
        return builder.write();
    }
    let flat = entries.iter().filter(|(name, _, mode)| !is_spread && *mode != DIRECTORY && name.len() == rest.len());
    for (name, id, _) in flat {
        builder.remove(name)?;
        put_below(repository, &mut builder, name.split_at(2), *id)?;
    }
    put_below(repository, &mut builder, (first, below), blob)?;
    builder.write()
}

fn put_below(
    repository: &Repository,
    builder: &mut git2::TreeBuilder<'_>,
    (first, below): (&str, &str),
    blob: Oid,
) -> Result<(), git2::Error> {
    let there = builder.get(first)?.filter(|e| e.filemode() == DIRECTORY).map(|e| e.id());
    let there = there.map(|id| repository.find_tree(id)).transpose()?;
    let dir = insert(repository, there.as_ref(), below, blob)?;
    builder.insert(first, dir, DIRECTORY).map(drop)
}

/// What is known of notes, so that looking again costs little.
#[derive(Default)]
pub(super) struct Notes {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    head: Option<Oid>,
    /// Notes by their commits.
    notes: HashMap<Oid, Oid>,
    /// Jobs by their notes; none for notes that name no job.
    jobs: HashMap<Oid, Option<Box<str>>>,
}

impl Notes {
    /// The newest commit reachable from a branch whose note names the job.
    pub(super) fn find(
        &self,
        repository: &Repository,
        (branch, name): (&str, &str),
        job: &str,
    ) -> Result<Option<(Revision, String)>, Error> {
        let failed = |e: git2::Error| Error::Object { what: "notes".to_owned(), reason: e.message().to_owned() };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.refresh(repository, name).map_err(failed)?;
        known.find(repository, branch, job).map_err(failed)
    }
}

impl Known {
    fn refresh(&mut self, repository: &Repository, name: &str) -> Result<(), git2::Error> {
        let head = head(repository, name)?;
        if head == self.head {
            return Ok(());
        }
        self.notes.clear();
        if head.is_some() {
            for note in repository.notes(Some(name))?.take(NOTE_LIMIT) {
                let (note, commit) = note?;
                self.notes.insert(commit, note);
            }
        }
        let Self { notes, jobs, .. } = self;
        let current: std::collections::HashSet<&Oid> = notes.values().collect();
        jobs.retain(|note, _| current.contains(note));
        self.head = head;
        Ok(())
    }

    fn find(
        &mut self,
        repository: &Repository,
        branch: &str,
        job: &str,
    ) -> Result<Option<(Revision, String)>, git2::Error> {
        let mut left = self.notes.len();
        let Some(head) = head(repository, branch)?.filter(|_| left > 0) else { return Ok(None) };
        let mut walk = repository.revwalk()?;
        walk.set_sorting(git2::Sort::TIME)?;
        walk.push(head)?;
        for commit in walk.take(WALK_LIMIT) {
            let commit = commit?;
            let Some(note) = self.notes.get(&commit).copied() else { continue };
            let named = self.jobs.entry(note).or_insert_with(|| read(repository, note).and_then(|t| named_job(&t)));
            if named.as_deref() == Some(job)
                && let Some(text) = read(repository, note)
            {
                return Ok(Some((revision(commit), text)));
            }
            left -= 1;
            if left == 0 {
                break;
            }
        }
        Ok(None)
    }
}

/// A note's text; none when it cannot be read or is far too long.
fn read(repository: &Repository, note: Oid) -> Option<String> {
    let objects = repository.odb().ok()?;
    let (size, kind) = objects.read_header(note).ok()?;
    let is_text = kind == ObjectType::Blob && size <= SIZE_LIMIT;
    let object = is_text.then(|| objects.read(note).ok()).flatten()?;
    Some(String::from_utf8_lossy(object.data()).into_owned())
}

/// The job that a note names; none when it says something else, as other people's notes do.
fn named_job(text: &str) -> Option<Box<str>> {
    #[derive(serde::Deserialize)]
    struct Note {
        #[serde(rename = "jobID")]
        job: Box<str>,
    }
    serde_json::from_str::<Note>(text).ok().map(|note| note.job)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bare repository with `count` commits on `main`, oldest first.
    fn history(dir: &std::path::Path, count: usize) -> (Repository, Vec<Oid>) {
        let repository = Repository::init_bare(dir).unwrap();
        let tree = repository.treebuilder(None).unwrap().write().unwrap();
        let mut ids: Vec<Oid> = Vec::new();
        for n in 0..count {
            let who = Person::now("Ann", "ann@example.com").signature().unwrap();
            let parent = ids.last().map(|id| repository.find_commit(*id).unwrap());
            let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
            let tree = repository.find_tree(tree).unwrap();
            ids.push(repository.commit(Some("refs/heads/main"), &who, &who, &n.to_string(), &tree, &parents).unwrap());
        }
        (repository, ids)
    }

    fn note(repository: &Repository, commit: Oid, text: &str) -> Added {
        let who = Person::now("Flux", "flux@example.com");
        let added = add(repository, "refs/notes/flux", commit, text, &who).unwrap();
        repository.reference("refs/notes/flux", added.after, true, "").unwrap();
        added
    }

    fn job(text: &str) -> String {
        format!(r#"{{"jobID":"{text}","spec":{{}},"result":null}}"#)
    }

    #[test]
    fn many_notes_are_spread_over_directories_and_all_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let (repository, commits) = history(dir.path(), SPREAD + 20);
        let mut before = None;
        for (n, commit) in commits.iter().enumerate() {
            let added = note(&repository, *commit, &job(&n.to_string()));
            assert_eq!(added.before, before);
            before = Some(added.after);
        }
        let root = repository.find_commit(before.unwrap()).unwrap().tree().unwrap();
        assert!(root.iter().all(|e| e.filemode() == DIRECTORY && e.name_bytes().len() == 2));
        let notes = Notes::default();
        for (n, commit) in commits.iter().enumerate() {
            let text = repository.find_note(Some("refs/notes/flux"), *commit).unwrap().message().unwrap().to_owned();
            let found = notes.find(&repository, ("refs/heads/main", "refs/notes/flux"), &n.to_string()).unwrap();
            assert_eq!(found, Some((revision(*commit), text)));
        }
    }

    #[test]
    fn only_notes_of_the_branch_that_name_the_job_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let (repository, commits) = history(dir.path(), 4);
        let notes = Notes::default();
        let refs = ("refs/heads/main", "refs/notes/flux");
        assert_eq!(notes.find(&repository, refs, "1").unwrap(), None);
        note(&repository, commits[0], &job("1"));
        note(&repository, commits[1], "no JSON at all");
        note(&repository, commits[2], r#"{"result":{"Current":""}}"#);
        note(&repository, commits[3], &job("other"));
        assert_eq!(notes.find(&repository, refs, "1").unwrap().unwrap().0, revision(commits[0]));
        assert_eq!(notes.find(&repository, refs, "2").unwrap(), None);
        repository.reference("refs/heads/main", commits[2], true, "").unwrap();
        assert_eq!(notes.find(&repository, refs, "other").unwrap(), None, "its commit is not on the branch");
        assert_eq!(notes.find(&repository, ("refs/heads/none", refs.1), "1").unwrap(), None);
    }
}
