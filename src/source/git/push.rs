//! Pushing a commit and its note (design: both in one step where the server can, never a merge, never a force), and telling
//! from git's words how it ended. Making the change again on a new head is the caller's work.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use git2::Oid;

use super::keeper::Desk;
use super::mirror::{Errand, Mirror};
use super::notes::{self, Added};
use super::person::Person;
use super::repo::Inner;
use super::run::{Call, Git};
use super::{Error, NewCommit, PushError, commit, history};
use crate::runtime::{Stop, blocking};
use crate::tree::Revision;

/// How often a note alone is tried, after its commit is on the branch without it.
const NOTE_TRIES: usize = 5;
/// What a server without atomic pushes makes git say.
const NOT_ATOMIC: &str = "does not support --atomic push";
/// Reasons, in small letters, that mean another one was faster or writes right now: those of git, JGit and the forges.
const RACES: &[&str] = &[
    "fetch first",
    "non-fast-forward",
    "needs force",
    "stale info",
    "already exists",
    "failed to update ref",
    "cannot lock ref",
    "failed to lock",
    "unable to lock",
    "lock failure",
    "lock error",
    "old value",
    "atomic transaction failed",
    "remote ref updated since",
];
/// Reasons of refs that were only left out because of another one.
const COMPANIONS: &[&str] = &["atomic push fail", "transaction aborted"];

/// A commit and its note on their way.
struct Parcel<'a> {
    inner: &'a Arc<Inner>,
    mirror: Arc<Mirror>,
    git: Git,
    stop: Stop,
    branch: String,
    notes: String,
    base: Oid,
    commit: Oid,
    note: String,
    who: Person,
}

/// How a push that failed left the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Someone else was faster.
    Race,
    /// The server does not want it.
    Declined,
    /// The branch was moved, the notes were not.
    Half,
    /// The answer says nothing of the refs.
    Unknown,
}

/// Commits, pushes, and moves the mirror's refs.
pub(super) async fn push_commit(
    inner: &Arc<Inner>,
    base: &Revision,
    new: NewCommit,
    note: String,
) -> Result<Revision, PushError> {
    if inner.settings.readonly {
        return Err(PushError::ReadOnly);
    }
    let stop = inner.stop().during_drain();
    yield_turn(inner, &stop).await?;
    let mut desk = inner.desk.lock().await;
    let mirror = inner.open()?;
    let head = inner.head_of(&mirror).await?;
    if head != *base {
        let message = format!("the branch has moved from {base} to {head}");
        return Err(PushError::Rejected(Error::Git { prefix: prefix(inner, &[]), message }));
    }
    let commit = commit::make(inner, &mirror, base, new, &stop).await?;
    let parcel = Parcel {
        inner,
        git: inner.network(&mut desk, &stop).await?,
        mirror,
        stop,
        branch: format!("refs/heads/{}", inner.branch()),
        notes: history::notes_ref(&inner.settings.notes_ref),
        base: Oid::from_str(&base.0).map_err(|_| Error::UnknownRevision(base.to_string()))?,
        commit,
        note,
        who: Person::now(&inner.settings.user, &inner.settings.email),
    };
    let start = Instant::now();
    let sent = parcel.send(&mut desk).await;
    match &sent {
        Ok(()) => desk.turn.landed(Instant::now(), start.elapsed()),
        Err(PushError::Rejected(_)) => desk.turn.lost(Instant::now()),
        Err(_) => {}
    }
    sent?;
    inner.changes.send_modify(|count| *count += 1);
    Ok(history::revision(commit))
}

/// Lets rivals go first, if there are any, and then looks at what they wrote.
async fn yield_turn(inner: &Inner, stop: &Stop) -> Result<(), Error> {
    let pause = inner.desk.lock().await.turn.pause(Instant::now(), rand::random());
    if let Some(pause) = pause {
        stop.or(tokio::time::sleep(pause)).await;
        inner.step(stop).await?;
    }
    Ok(())
}

fn prefix(inner: &Inner, refs: &[&str]) -> String {
    format!("git push {} [{}]: ", inner.shown_url, refs.join(" "))
}

impl Parcel<'_> {
    async fn send(&self, desk: &mut Desk) -> Result<(), PushError> {
        let added = self.add_note().await?;
        let moves = [
            Move { name: &self.branch, from: Some(self.base), to: self.commit },
            Move { name: &self.notes, from: added.before, to: added.after },
        ];
        let mut pushed = self.push(&moves, !desk.is_plain).await;
        if matches!(&pushed, Err(error) if error.to_string().contains(NOT_ATOMIC)) {
            tracing::info!(url = self.inner.shown_url, "the git server has no atomic pushes");
            desk.is_plain = true;
            pushed = self.push(&moves, false).await;
        }
        let Err(error) = pushed else {
            self.catch_up(&moves).await;
            return Ok(());
        };
        match judge(&error.to_string(), &self.branch) {
            Verdict::Declined => Err(PushError::Other(error)),
            Verdict::Race => {
                // The remote surely has something new: the next refresh need not ask first.
                self.inner.is_told.store(true, Ordering::Relaxed);
                Err(PushError::Rejected(error))
            }
            Verdict::Half => {
                self.add_missing_note().await;
                Ok(())
            }
            Verdict::Unknown if self.has_landed().await => {
                tracing::warn!(%error, "the answer to a push was lost, but the commit is on the branch");
                self.add_missing_note().await;
                Ok(())
            }
            Verdict::Unknown => Err(PushError::Other(error)),
        }
    }

    async fn add_note(&self) -> Result<Added, Error> {
        let (name, commit) = (self.notes.clone(), self.commit);
        let (note, who) = (self.note.clone(), self.who.clone());
        self.mirror.read(move |repository| notes::add(repository, &name, commit, &note, &who)).await
    }

    /// Every ref is guarded by the state it is expected in. The branch's new commit stands on exactly that state, so the
    /// guard can never let anything be lost.
    async fn push(&self, moves: &[Move<'_>], is_atomic: bool) -> Result<(), Error> {
        let options = ["push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no"];
        let mut args: Vec<String> = options.map(str::to_owned).to_vec();
        args.extend(is_atomic.then(|| "--atomic".to_owned()));
        args.extend(moves.iter().map(Move::guard));
        args.push("origin".to_owned());
        args.extend(moves.iter().map(|m| format!("{}:{}", m.to, m.name)));
        let names: Vec<&str> = moves.iter().map(|m| m.name.trim_start_matches("refs/heads/")).collect();
        let call = Call::new(prefix(self.inner, &names), args).cwd(self.mirror.path());
        self.git.run(call, &self.stop).await.map(drop)
    }

    /// What is on the remote has landed, whatever the mirror makes of it; the next fetch brings it too.
    async fn catch_up(&self, moves: &[Move<'_>]) {
        if let Err(error) = self.settle(moves).await {
            self.inner.is_told.store(true, Ordering::Relaxed);
            tracing::warn!(%error, "the commit is on the branch, but the mirror could not follow yet");
        }
    }

    /// Moves the mirror's refs to where the remote's are now, which saves a fetch.
    async fn settle(&self, moves: &[Move<'_>]) -> Result<(), Error> {
        let moves: Vec<(String, Oid)> = moves.iter().map(|m| (m.name.to_owned(), m.to)).collect();
        let settle = move |repository: &git2::Repository| {
            for (name, to) in moves {
                let moved = repository.reference(&name, to, true, "pushed");
                moved.map_err(|e| Error::Object { what: name, reason: e.message().to_owned() })?;
            }
            Ok(())
        };
        self.mirror.read(settle).await
    }

    /// Looks at the remote again: whether the commit is on the branch.
    async fn has_landed(&self) -> bool {
        if let Err(error) = self.fetch().await {
            tracing::debug!(%error, "the remote could not be asked how a push ended");
            return false;
        }
        let (branch, commit) = (self.branch.clone(), self.commit);
        let has = move |repository: &git2::Repository| {
            let head = repository.refname_to_id(&branch);
            let has = head.and_then(|head| Ok(head == commit || repository.graph_descendant_of(head, commit)?));
            Ok(has.unwrap_or(false))
        };
        self.mirror.read(has).await.unwrap_or(false)
    }

    async fn fetch(&self) -> Result<(), Error> {
        let errand = Errand { git: &self.git, prefix: "git fetch --tags origin: ", stop: &self.stop };
        self.inner.fetch_now(&self.mirror, &errand).await
    }

    /// Gives the commit its note after all. The commit is on the branch, so this can only be told, not failed with: a
    /// caller that tried again would find nothing left to change.
    async fn add_missing_note(&self) {
        for _ in 0..NOTE_TRIES {
            match self.try_missing_note().await {
                Ok(()) => return,
                Err(error) => tracing::debug!(%error, "the note was not pushed"),
            }
        }
        let revision = self.commit.to_string();
        tracing::warn!(revision, "the commit is on the branch, but its note could not be pushed");
    }

    async fn try_missing_note(&self) -> Result<(), Error> {
        self.fetch().await?;
        let (name, revision) = (self.notes.clone(), history::revision(self.commit));
        let known = self.mirror.read(move |repository| history::notes(repository, &name, &[revision])).await?;
        if !known.is_empty() {
            return Ok(());
        }
        let added = self.add_note().await?;
        let moves = [Move { name: &self.notes, from: added.before, to: added.after }];
        self.push(&moves, false).await?;
        self.settle(&moves).await
    }
}

/// A ref, the state it is expected in, and the new one.
struct Move<'a> {
    name: &'a str,
    from: Option<Oid>,
    to: Oid,
}

impl Move<'_> {
    fn guard(&self) -> String {
        let from = self.from.map(|id| id.to_string()).unwrap_or_default();
        format!("--force-with-lease={}:{from}", self.name)
    }
}

/// Reads `git push --porcelain`: a flag, the refs, and the outcome with its reason, parted by tabs.
fn judge(text: &str, branch: &str) -> Verdict {
    let (mut refused, mut has_race, mut has_branch) = (0, false, false);
    for line in text.lines() {
        let mut fields = line.splitn(3, '\t');
        let (Some(flag), Some(refs), Some(outcome)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let Some((_, to)) = refs.split_once(':') else { continue };
        match flag.trim_start() {
            "!" if outcome.starts_with("[remote failure]") => return Verdict::Unknown,
            "!" => {
                let reason = outcome.to_lowercase();
                let is_race = RACES.iter().any(|r| reason.contains(r));
                if !is_race && !COMPANIONS.iter().any(|c| reason.contains(c)) {
                    return if has_branch { Verdict::Half } else { Verdict::Declined };
                }
                refused += 1;
                has_race |= is_race;
            }
            "" | "*" | "+" | "=" => has_branch |= to == branch,
            _ => {}
        }
    }
    match (refused, has_branch) {
        (0, _) => Verdict::Unknown,
        (_, true) => Verdict::Half,
        (_, false) if has_race => Verdict::Race,
        (_, false) => Verdict::Declined,
    }
}

/// The newest commit of the branch whose note names a job.
pub(super) async fn find_note(inner: &Arc<Inner>, job: &str) -> Result<Option<(Revision, String)>, Error> {
    let (of, mirror, job) = (Arc::clone(inner), inner.open()?, job.to_owned());
    let find = move || {
        let branch = format!("refs/heads/{}", of.branch());
        let name = history::notes_ref(&of.settings.notes_ref);
        of.notes.find(&mirror.repository(), (&branch, &name), &job)
    };
    blocking("looking for a note", find).await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_git_tell_how_a_push_ended() {
        let line = |flag: &str, to: &str, outcome: &str| format!("{flag}\tabc:{to}\t{outcome}\n");
        let (branch, notes) = ("refs/heads/main", "refs/notes/flux");
        let refused = |reason: &str| line("!", branch, reason);
        let follows = line("!", notes, "[rejected] (atomic push failed)");
        let table = [
            (format!("{}{follows}", refused("[rejected] (stale info)")), Verdict::Race),
            (format!("{}{follows}", refused("[rejected] (fetch first)")), Verdict::Race),
            (refused("[remote rejected] (failed to update ref)"), Verdict::Race),
            (refused("[remote rejected] (cannot lock ref 'refs/heads/main': is at 1 but expected 2)"), Verdict::Race),
            (refused("[remote rejected] (atomic transaction failed)"), Verdict::Race),
            (refused("[remote rejected] (pre-receive hook declined)"), Verdict::Declined),
            (refused("[remote rejected] (protected branch hook declined)"), Verdict::Declined),
            (refused("[remote rejected] (Cannot update this locked branch)"), Verdict::Declined),
            (
                format!(
                    "{}{}",
                    line("!", notes, "[remote rejected] (deny updating a hidden ref)"),
                    refused("[rejected] (stale info)")
                ),
                Verdict::Declined,
            ),
            (refused("[remote rejected] (atomic push failure)"), Verdict::Declined),
            (format!("{}{}", line(" ", branch, "1..2"), line("!", notes, "[rejected] (stale info)")), Verdict::Half),
            (
                format!("{}{}", line(" ", branch, "1..2"), line("!", notes, "[remote rejected] (hook declined)")),
                Verdict::Half,
            ),
            (refused("[remote failure] (remote failed to report status)"), Verdict::Unknown),
            ("fatal: the remote end hung up unexpectedly".to_owned(), Verdict::Unknown),
            (String::new(), Verdict::Unknown),
        ];
        for (text, want) in table {
            assert_eq!(judge(&format!("git push: x, full output:\n {text}Done\n"), branch), want, "{text}");
        }
    }
}
