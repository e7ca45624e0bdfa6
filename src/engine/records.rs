//! What was applied last to each life of an object: in memory, and in a file that outlives the process. The file is a
//! cache: without it the next pass learns the same from the objects themselves.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use crate::object::Digest;
use crate::plan::{Record, Uid};
use crate::runtime::blocking;

/// Life of an object → digest of what was applied, fingerprint of the fields owned after it.
const APPLIED: TableDefinition<'_, &[u8; 16], &[u8; 48]> = TableDefinition::new("applied-1");

/// The cache file could not be used.
#[derive(Debug, thiserror::Error)]
#[error("cache {path}: {reason}; it may be deleted at any time")]
pub struct CacheError {
    path: PathBuf,
    reason: String,
}

/// Records by life of an object.
#[derive(Default)]
pub(super) struct Records {
    known: HashMap<Uid, Record>,
    fresh: Vec<(Uid, Record)>,
    gone: Vec<Uid>,
    file: Option<Arc<Database>>,
}

impl Records {
    /// Opens the file, if there is to be one. A damaged file is put aside and begun anew.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, CacheError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let failed = |reason: String| CacheError { path: path.to_path_buf(), reason };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| failed(e.to_string()))?;
        }
        match open(path) {
            Ok((file, known)) => Ok(Self { known, file: Some(Arc::new(file)), ..Self::default() }),
            Err(damage) => {
                tracing::warn!(path = %path.display(), reason = %damage, "the cache is begun anew");
                if path.exists() {
                    std::fs::remove_file(path).map_err(|e| failed(e.to_string()))?;
                }
                let (file, known) = open(path).map_err(|e| failed(e.to_string()))?;
                Ok(Self { known, file: Some(Arc::new(file)), ..Self::default() })
            }
        }
    }

    pub(super) fn get(&self, uid: &Uid) -> Option<Record> {
        self.known.get(uid).copied()
    }

    pub(super) fn put(&mut self, uid: Uid, record: Record) {
        if self.known.insert(uid, record) != Some(record) && self.file.is_some() {
            self.fresh.push((uid, record));
        }
    }

    /// Forgets objects that are no longer live.
    pub(super) fn retain(&mut self, live: &HashSet<Uid>) {
        let gone: Vec<Uid> = self.known.keys().filter(|uid| !live.contains(*uid)).copied().collect();
        for uid in &gone {
            self.known.remove(uid);
        }
        if self.file.is_some() {
            self.gone.extend(gone);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Writes what is new to the file. A failure costs a few requests after the next restart, so it is only logged.
    pub(super) async fn save(&mut self) {
        let Some(file) = self.file.clone() else { return };
        let (fresh, gone) = (std::mem::take(&mut self.fresh), std::mem::take(&mut self.gone));
        if fresh.is_empty() && gone.is_empty() {
            return;
        }
        let saved = blocking("save the cache", move || write(&file, &fresh, &gone).map_err(|e| e.to_string())).await;
        if let Some(error) = saved.map_err(|e| e.to_string()).and_then(|r| r).err() {
            tracing::warn!(err = %error, "what was applied could not be noted in the cache");
        }
    }
}

fn open(path: &Path) -> Result<(Database, HashMap<Uid, Record>), redb::Error> {
    let file = Database::create(path)?;
    let begun = file.begin_write()?;
    begun.open_table(APPLIED)?;
    begun.commit()?;
    let mut known = HashMap::new();
    let reading = file.begin_read()?;
    for entry in reading.open_table(APPLIED)?.iter()? {
        let (uid, bytes) = entry?;
        known.insert(*uid.value(), decode(bytes.value()));
    }
    Ok((file, known))
}

fn write(file: &Database, fresh: &[(Uid, Record)], gone: &[Uid]) -> Result<(), redb::Error> {
    let begun = file.begin_write()?;
    {
        let mut table = begun.open_table(APPLIED)?;
        for uid in gone {
            table.remove(uid)?;
        }
        for (uid, record) in fresh {
            table.insert(uid, &encode(record))?;
        }
    }
    begun.commit()?;
    Ok(())
}

/// All zeros stand for "owned nothing"; no fingerprint is.
fn encode(record: &Record) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[..32].copy_from_slice(&record.digest.0);
    bytes[32..].copy_from_slice(&record.entry.unwrap_or_default());
    bytes
}

fn decode(bytes: &[u8; 48]) -> Record {
    let (mut digest, mut entry) = ([0; 32], [0; 16]);
    digest.copy_from_slice(&bytes[..32]);
    entry.copy_from_slice(&bytes[32..]);
    Record { digest: Digest(digest), entry: (entry != [0; 16]).then_some(entry) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(byte: u8) -> Record {
        Record { digest: Digest([byte; 32]), entry: Some([byte; 16]) }
    }

    #[tokio::test]
    async fn records_outlive_the_process_and_gone_objects_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/cache");
        let mut records = Records::open(Some(&path)).unwrap();
        records.put([1; 16], record(1));
        records.put([2; 16], record(2));
        records.save().await;
        records.retain(&HashSet::from([[2; 16]]));
        records.save().await;
        drop(records);
        let records = Records::open(Some(&path)).unwrap();
        assert_eq!((records.get(&[1; 16]), records.get(&[2; 16])), (None, Some(record(2))));
    }

    #[test]
    fn a_damaged_cache_is_begun_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache");
        std::fs::write(&path, b"no database").unwrap();
        assert_eq!(Records::open(Some(&path)).unwrap().len(), 0);
    }
}
