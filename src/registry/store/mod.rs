//! What is known of repositories, with the times at which it is to be looked at again (fluxd-v1 §7.2): in memory, and in a
//! file that outlives the process. All times come in as arguments.

mod entry;
mod file;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use entry::{Entry, Record};
pub(super) use entry::{Found, Kept};
use file::{File, Row};

use super::scan::{Agenda, Known, agenda};
use super::{Error, Info, ReadError, RepositoryView, Want};
use crate::object::Glob;
use crate::object::image::CanonicalName;

/// Tags of one repository of which more than the name is kept; those that a choice needs are kept beyond it.
const ENTRIES: usize = 20_000;
/// The first wait after a failure, doubled up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// Seconds after which a repository is forgotten that was not listed (fluxd-v1 §7.2).
const FORGOTTEN: i64 = 7 * 24 * 3600;

/// All that is known.
pub(super) struct Store {
    repositories: Mutex<HashMap<CanonicalName, Repository>>,
    use_labels: Vec<Glob>,
    file: Option<File>,
    unsaved: Mutex<BTreeMap<String, Row>>,
}

#[derive(Default)]
struct Repository {
    record: Record,
    entries: HashMap<String, Entry>,
    failed: HashMap<String, (Timestamp, u32)>,
    error: Option<String>,
    view: Option<Arc<RepositoryView>>,
}

/// What to ask of a repository, and when to think about it again.
pub(super) struct Work {
    pub(super) agenda: Agenda,
    pub(super) again: Option<Timestamp>,
}

impl Store {
    /// Opens the file, if there is to be one, and takes over what it knows. A damaged file is begun anew; where none can be
    /// made, what is known is known until the end of the process.
    pub(super) fn open(path: Option<&Path>, use_labels: &[String]) -> Self {
        let opened = path.and_then(|path| match File::open(path) {
            Ok(opened) => Some(opened),
            Err(error) => {
                tracing::warn!(component = "warmer", err = %error, "registry answers are not kept on disk");
                None
            }
        });
        let (file, known, unsaved) = match opened {
            None => (None, Vec::new(), BTreeMap::new()),
            Some((file, known)) => (Some(file), known.repositories, known.old),
        };
        let whole = |(name, record, entries): file::Read| {
            (name, Repository { record, entries: entries.into_iter().collect(), ..Repository::default() })
        };
        let repositories = Mutex::new(known.into_iter().map(whole).collect());
        let use_labels = use_labels.iter().map(|glob| Glob::new(glob)).collect();
        Self { repositories, use_labels, file, unsaved: Mutex::new(unsaved) }
    }

    /// What is known of a repository.
    pub(super) fn view(&self, name: &CanonicalName) -> Result<Arc<RepositoryView>, ReadError> {
        let mut repositories = lock(&self.repositories);
        let Some(repository) = repositories.get_mut(name) else { return Err(ReadError::NotCached) };
        if repository.record.listed.is_none() {
            return Err(repository.error.clone().map_or(ReadError::NotCached, ReadError::NotCachedLast));
        }
        let by_labels = || self.use_labels.iter().any(|glob| glob.is_match(&name.to_string()));
        Ok(Arc::clone(
            repository.view.get_or_insert_with(|| Arc::new(view(&repository.record, &repository.entries, by_labels()))),
        ))
    }

    /// When a repository's tags were listed last, and the validator of that answer.
    pub(super) fn listed(&self, name: &CanonicalName) -> (Option<Timestamp>, Option<String>) {
        let repositories = lock(&self.repositories);
        let record = repositories.get(name).map(|repository| &repository.record);
        (record.and_then(|r| r.listed), record.and_then(|r| r.validator.clone()))
    }

    /// Notes a list of tags; `None` when the registry says that it is what it was. Returns whether there are new tags.
    pub(super) fn note_tags(
        &self,
        name: &CanonicalName,
        tags: Option<(Vec<String>, Option<String>)>,
        now: Timestamp,
    ) -> bool {
        let mut repositories = lock(&self.repositories);
        let repository = repositories.entry(name.clone()).or_default();
        (repository.error, repository.view, repository.record.listed) = (None, None, Some(now));
        self.queue(file::listed_key(name), Row::Listed(now));
        let Some((tags, validator)) = tags else { return false };
        let old: BTreeSet<&String> = repository.record.tags.iter().collect();
        let new: BTreeSet<&String> = tags.iter().collect();
        let (added, changed) = (new.difference(&old).next().is_some(), old != new);
        if changed || validator != repository.record.validator {
            // a tag that was asked for before it was pushed is there now
            let is_past =
                |(tag, entry): &(&String, &Entry)| !new.contains(tag) || (entry.is_absent() && !old.contains(tag));
            let gone: Vec<String> = repository.entries.iter().filter(is_past).map(|(tag, _)| tag.clone()).collect();
            for tag in gone {
                repository.entries.remove(&tag);
                self.queue(file::entry_key(name, &tag), Row::Gone);
            }
            repository.failed.retain(|tag, _| new.contains(tag));
            (repository.record.tags, repository.record.validator) = (tags, validator);
            self.queue(file::tags_key(name), Row::Tags(repository.record.clone()));
        }
        added
    }

    /// Notes that a repository's tags could not be listed. What was known stays.
    pub(super) fn note_failure(&self, name: &CanonicalName, error: &Error) {
        lock(&self.repositories).entry(name.clone()).or_default().error = Some(error.to_string());
    }

    /// Notes what is behind a tag. Returns whether that was not known, or was something else.
    pub(super) fn note_found(&self, name: &CanonicalName, tag: &str, found: Found, now: Timestamp) -> bool {
        let mut repositories = lock(&self.repositories);
        let repository = repositories.entry(name.clone()).or_default();
        let old = repository.entries.get(tag);
        let entry = Entry::new(found, old, now);
        let moved = old.is_none_or(|old| !old.is_same(&entry));
        self.queue(file::entry_key(name, tag), Row::Entry(entry.clone()));
        repository.entries.insert(tag.to_owned(), entry);
        repository.failed.remove(tag);
        repository.view = None;
        moved
    }

    /// Notes that asking for a tag failed; it is left alone for a while, longer each time.
    pub(super) fn note_tag_failure(&self, name: &CanonicalName, tag: &str, now: Timestamp) {
        let mut repositories = lock(&self.repositories);
        let failed = &mut repositories.entry(name.clone()).or_default().failed;
        let times = failed.get(tag).map_or(0, |(_, times)| *times);
        let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(times.min(10))).min(LONGEST_WAIT);
        failed.insert(tag.to_owned(), (now + wait, times.saturating_add(1)));
    }

    /// What a tag points to, as far as that is known.
    pub(super) fn pinned(&self, name: &CanonicalName, tag: &str) -> Option<String> {
        lock(&self.repositories).get(name)?.entries.get(tag).and_then(|entry| entry.pinned().map(str::to_owned))
    }

    /// Notes that a tag still points to what it did.
    pub(super) fn note_same(&self, name: &CanonicalName, tag: &str, now: Timestamp) {
        let mut repositories = lock(&self.repositories);
        let Some(repository) = repositories.get_mut(name) else { return };
        let Some(entry) = repository.entries.get_mut(tag) else { return };
        entry.confirm(now);
        self.queue(file::entry_key(name, tag), Row::Entry(entry.clone()));
        repository.failed.remove(tag);
        repository.view = None;
    }

    /// Has the tags looked at again that run, or that a version pattern would choose: somebody said that they moved.
    pub(super) fn expire(&self, name: &CanonicalName, want: &Want, now: Timestamp) {
        let mut repositories = lock(&self.repositories);
        let Some(Repository { record, entries, failed, .. }) = repositories.get_mut(name) else { return };
        failed.clear();
        let by_version = want.patterns.iter().chain(&want.others).filter(|pattern| !pattern.requires_timestamp());
        let chosen = by_version.filter_map(|pattern| super::scan::newest(pattern, pattern.select(&record.tags)));
        for tag in chosen.chain(want.current.iter().map(String::as_str)) {
            if let Some(entry) = entries.get_mut(tag) {
                entry.expire(now);
            }
        }
    }

    /// What is to be asked of a repository now.
    pub(super) fn work(&self, name: &CanonicalName, want: &Want, now: Timestamp) -> Work {
        let repositories = lock(&self.repositories);
        let Some(Repository { record, entries, failed, .. }) = repositories.get(name) else {
            return Work { agenda: Agenda::default(), again: None };
        };
        let mut agenda = agenda(&record.tags, want, |tag| match (entries.get(tag), failed.get(tag)) {
            (_, Some((until, _))) if *until > now => Known::Failed,
            (None, _) => Known::Missing,
            (Some(entry), _) => entry.known(now),
        });
        agenda.rest.retain(|tag| entries.contains_key(tag) || entries.len() < ENTRIES);
        let due = entries.values().map(Entry::due).filter(|due| *due > now);
        let again = due.chain(failed.values().map(|(until, _)| *until).filter(|until| *until > now)).min();
        Work { agenda, again }
    }

    /// How many tags a repository has.
    pub(super) fn tag_count(&self, name: &CanonicalName) -> usize {
        lock(&self.repositories).get(name).map_or(0, |repository| repository.record.tags.len())
    }

    /// The tags of which more than the name is known and that are not due.
    pub(super) fn known(&self, name: &CanonicalName, now: Timestamp) -> Vec<(String, Kept)> {
        let repositories = lock(&self.repositories);
        let Some(repository) = repositories.get(name) else { return Vec::new() };
        let fresh = repository.entries.iter().filter(|(_, entry)| entry.due() > now);
        fresh.map(|(tag, entry)| (tag.clone(), entry.kept())).collect()
    }

    /// Whether a tag's image is known and not to be looked at again yet.
    pub(super) fn is_known(&self, name: &CanonicalName, tag: &str, now: Timestamp) -> bool {
        let repositories = lock(&self.repositories);
        let entry = repositories.get(name).and_then(|r| r.entries.get(tag));
        entry.is_some_and(|entry| entry.is_image() && entry.due() > now)
    }

    /// Forgets repositories that nobody wants and that were not listed for a week, here and in the file.
    pub(super) fn forget(&self, is_wanted: impl Fn(&CanonicalName) -> bool, now: Timestamp) {
        lock(&self.repositories).retain(|name, repository| {
            let listed = repository.record.listed;
            let kept = is_wanted(name) || listed.is_some_and(|at| at.as_second() >= now.as_second() - FORGOTTEN);
            if !kept {
                self.queue(file::tags_key(name), Row::Gone);
                self.queue(file::listed_key(name), Row::Gone);
                repository.entries.keys().for_each(|tag| self.queue(file::entry_key(name, tag), Row::Gone));
            }
            kept
        });
    }

    /// Whether a tag's image or exclusion is known and not to be looked at again yet.
    pub(super) fn is_fresh(&self, name: &CanonicalName, tag: &str, now: Timestamp) -> bool {
        let repositories = lock(&self.repositories);
        repositories.get(name).and_then(|r| r.entries.get(tag)).is_some_and(|entry| entry.due() > now)
    }

    /// Writes to the file what is new since the last time. A failure costs a few requests after the next start, so it is
    /// only logged.
    pub(super) async fn save(&self) -> Option<bool> {
        let file = self.file.as_ref()?;
        let rows = std::mem::take(&mut *lock(&self.unsaved));
        if rows.is_empty() {
            return None;
        }
        let saved = file.write(rows).await;
        if let Err(reason) = &saved {
            tracing::warn!(component = "warmer", err = reason, "registry answers could not be kept on disk");
        }
        Some(saved.is_ok())
    }

    /// Notes a row to be written with the next save, if there is a file.
    fn queue(&self, key: String, row: Row) {
        if self.file.is_some() {
            lock(&self.unsaved).insert(key, row);
        }
    }
}

fn view(record: &Record, entries: &HashMap<String, Entry>, by_labels: bool) -> RepositoryView {
    let (mut images, mut excluded) = (BTreeMap::new(), BTreeMap::new());
    for (tag, entry) in entries {
        match entry.info(tag, by_labels) {
            Ok(info) => drop::<Option<Info>>(images.insert(tag.clone(), info)),
            Err(reason) => drop::<Option<String>>(excluded.insert(tag.clone(), reason)),
        }
    }
    RepositoryView { tags: record.tags.clone(), images, excluded, last_update: record.listed }
}

/// A lock whose holder panicked still holds consistent data here: every critical section is a few assignments.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
