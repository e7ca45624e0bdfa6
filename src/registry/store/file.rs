//! The file behind the store: three tables of JSON. It is a cache: what cannot be read is forgotten.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::super::Error;
use super::FORGOTTEN;
use super::entry::{Entry, Record};
use crate::object::image::CanonicalName;
use crate::runtime::blocking;

/// Canonical name → its tags. The number is that of the form of the values.
const TAGS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("registry-tags-1");
/// Canonical name → second at which its tags were listed last.
const LISTED: TableDefinition<'_, &str, i64> = TableDefinition::new("registry-listed-1");
/// Canonical name, newline, tag → what is behind it.
const ENTRIES: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("registry-entries-1");

/// A change to be written.
#[derive(Clone, Debug)]
pub(super) enum Row {
    Tags(Record),
    Listed(Timestamp),
    Entry(Entry),
    /// It is removed.
    Gone,
}

pub(super) struct File {
    path: PathBuf,
    database: Arc<Database>,
}

/// A repository as it was read.
pub(super) type Read = (CanonicalName, Record, Vec<(String, Entry)>);

/// What the file holds.
#[derive(Default)]
pub(super) struct Known {
    pub(super) repositories: Vec<Read>,
    /// Rows that are of no use any more, to be removed with the next save.
    pub(super) old: BTreeMap<String, Row>,
}

pub(super) fn tags_key(name: &CanonicalName) -> String {
    format!("t{name}")
}

pub(super) fn listed_key(name: &CanonicalName) -> String {
    format!("l{name}")
}

pub(super) fn entry_key(name: &CanonicalName, tag: &str) -> String {
    format!("e{name}\n{tag}")
}

impl File {
    /// Opens the file and reads all of it. A damaged one is begun anew.
    pub(super) fn open(path: &Path) -> Result<(Self, Known), Error> {
        let failed = |reason: String| Error::Cache { path: path.display().to_string(), reason };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| failed(e.to_string()))?;
        }
        let (database, known) = match open(path) {
            Ok(opened) => opened,
            // another process has it: that one is not to be harmed
            Err(redb::Error::DatabaseAlreadyOpen) => return Err(failed("another process uses it".to_owned())),
            Err(damage) => {
                tracing::warn!(path = %path.display(), reason = %damage, "the cache of registries is begun anew");
                if path.exists() {
                    std::fs::remove_file(path).map_err(|e| failed(e.to_string()))?;
                }
                open(path).map_err(|e| failed(e.to_string()))?
            }
        };
        Ok((Self { path: path.to_path_buf(), database: Arc::new(database) }, known))
    }

    /// Writes changes in one transaction.
    pub(super) async fn write(&self, rows: BTreeMap<String, Row>) -> Result<(), String> {
        let database = Arc::clone(&self.database);
        let written = blocking("save the cache of registries", move || write(&database, &rows)).await;
        let path = self.path.display();
        written.map_err(|e| e.to_string())?.map_err(|e| format!("{path}: {e}; it may be deleted at any time"))
    }
}

fn open(path: &Path) -> Result<(Database, Known), redb::Error> {
    let database = Database::create(path)?;
    let begun = database.begin_write()?;
    begun.open_table(TAGS)?;
    begun.open_table(LISTED)?;
    begun.open_table(ENTRIES)?;
    begun.commit()?;
    let known = read(&database)?;
    Ok((database, known))
}

fn read(database: &Database) -> Result<Known, redb::Error> {
    let reading = database.begin_read()?;
    let oldest = Timestamp::now().as_second() - FORGOTTEN;
    let mut known = Known::default();
    let mut entries: HashMap<String, Vec<(String, Entry)>> = HashMap::new();
    for row in reading.open_table(ENTRIES)?.iter()? {
        let (key, value) = row?;
        if let Some((name, tag)) = key.value().split_once('\n')
            && let Ok(entry) = serde_json::from_slice(value.value())
        {
            entries.entry(name.to_owned()).or_default().push((tag.to_owned(), entry));
        }
    }
    let tags = reading.open_table(TAGS)?;
    for row in reading.open_table(LISTED)?.iter()? {
        let (key, at) = row?;
        let (key, at) = (key.value(), at.value());
        let Some((domain, path)) = key.split_once('/') else { continue };
        let Some(value) = tags.get(key)?.filter(|_| at >= oldest) else {
            known.old.extend([(format!("t{key}"), Row::Gone), (format!("l{key}"), Row::Gone)]);
            continue;
        };
        let Ok(mut record) = serde_json::from_slice::<Record>(value.value()) else { continue };
        record.listed = Timestamp::from_second(at).ok();
        let name = CanonicalName { domain: domain.to_owned(), path: path.to_owned() };
        known.repositories.push((name, record, entries.remove(key).unwrap_or_default()));
    }
    let orphans = entries.iter().flat_map(|(name, tags)| tags.iter().map(move |(tag, _)| format!("e{name}\n{tag}")));
    known.old.extend(orphans.map(|key| (key, Row::Gone)));
    Ok(known)
}

fn write(database: &Database, rows: &BTreeMap<String, Row>) -> Result<(), redb::Error> {
    let begun = database.begin_write()?;
    {
        let (mut tags, mut listed) = (begun.open_table(TAGS)?, begun.open_table(LISTED)?);
        let mut entries = begun.open_table(ENTRIES)?;
        for (key, row) in rows {
            let (table, key) = key.split_at(1);
            // what cannot be written as JSON does not exist among these types
            match row {
                Row::Tags(record) => drop(tags.insert(key, serde_json::to_vec(record).unwrap_or_default().as_slice())?),
                Row::Listed(at) => drop(listed.insert(key, at.as_second())?),
                Row::Entry(entry) => {
                    drop(entries.insert(key, serde_json::to_vec(entry).unwrap_or_default().as_slice())?);
                }
                Row::Gone if table == "t" => drop(tags.remove(key)?),
                Row::Gone if table == "l" => drop(listed.remove(key)?),
                Row::Gone => drop(entries.remove(key)?),
            }
        }
    }
    begun.commit()?;
    Ok(())
}
