//! Failed Jobs that ask for it are deleted, so that applying them runs them again (resourceset §7.4.1).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use crate::cluster::{Cascade, Cluster, Deletion, KindInfo, Seen, Uid, Version};
use crate::engine::owned::subject;
use crate::health::{Rules, Verdict, assess};
use crate::object::{Gvk, Key, Object};
use crate::runtime::Backoff;

use super::{ApplyHow, Entry, Set};

impl Set {
    /// Deletes failed Jobs that ask for it and are ours, and waits until they are gone (resourceset §7.4.1).
    ///
    /// # Errors
    /// When one cannot be read or deleted, or does not vanish in time.
    pub async fn recreate_failed_jobs(&self, objects: &[Arc<Object>], how: &ApplyHow) -> Result<(), String> {
        let jobs: Vec<Key> = objects.iter().filter(|object| self.asks(object)).map(|o| o.key(o.namespace())).collect();
        if jobs.is_empty() {
            return Ok(());
        }
        let cluster = self.cluster()?;
        let gvk = Gvk::new("batch/v1", "Job");
        let kinds = self.owned().kinds_with(&[gvk.clone()].into(), how.until).await.map_err(|e| e.to_string())?;
        let Ok(kind) = kinds.resolve(&gvk) else { return Ok(()) };
        for key in jobs {
            let until = how.until.min(Instant::now() + self.owned().settings().stage_timeout);
            let work = self.recreate(cluster, kind, &key, until);
            let done = how.stop.or(work).await.unwrap_or_else(|| Err("the process is to stop".into()));
            done.map_err(|text| format!("{}: {text}", subject(&key)))?;
        }
        Ok(())
    }

    fn asks(&self, object: &Object) -> bool {
        let gvk = object.gvk();
        let word = &self.owned().settings().recreate;
        let is_job = (gvk.group.as_str(), gvk.version.as_str(), gvk.kind.as_str()) == ("batch", "v1", "Job");
        is_job && object.value()["metadata"]["annotations"].get(&word.key) == Some(&Value::from(word.value.as_str()))
    }

    async fn recreate(&self, cluster: &Cluster, kind: &Arc<KindInfo>, key: &Key, until: Instant) -> Result<(), String> {
        if self.is_known_ready(&Entry { key: key.clone(), version: kind.gvk.version.clone() }) {
            return Ok(());
        }
        let found = cluster.look(kind, key, until).await.map_err(|e| e.message().to_owned())?;
        let Some((job, live)) = found else { return Ok(()) };
        match assess(&job, &Rules::at(Timestamp::now())).verdict {
            Verdict::Failed if self.owns(&job) => {}
            Verdict::Current => {
                self.note_ready(key, Version::new(job["metadata"]["resourceVersion"].as_str().unwrap_or_default()));
                return Ok(());
            }
            _ => return Ok(()),
        }
        let may = |seen: &Seen<'_>| seen.live.uid == live.uid && self.is_owner(seen);
        let deleted = cluster.delete_if(kind, key, &Deletion { may: &may, cascade: Cascade::Foreground }, until).await;
        deleted.map_err(|e| e.message().to_owned())?;
        tracing::info!(resource = %key, "a failed Job was deleted, to be run again");
        wait_gone(cluster, kind, key, (live.uid, until)).await
    }

    pub(super) fn owns(&self, object: &Value) -> bool {
        let settings = self.owned().settings();
        let label = |key: &str| object["metadata"]["labels"].get(key).and_then(Value::as_str);
        label(&settings.owner_name_label) == Some(&self.owner.name)
            && label(&settings.owner_namespace_label) == Some(&self.owner.namespace)
    }

    /// Whether both owner labels of an object are ours.
    pub(super) fn is_owner(&self, seen: &Seen<'_>) -> bool {
        let settings = self.owned().settings();
        seen.label(&settings.owner_name_label) == Some(&self.owner.name)
            && seen.label(&settings.owner_namespace_label) == Some(&self.owner.namespace)
    }
}

/// Waits until one life of an object is gone.
pub(super) async fn wait_gone(
    cluster: &Cluster,
    kind: &Arc<KindInfo>,
    key: &Key,
    (uid, until): (Uid, Instant),
) -> Result<(), String> {
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
    loop {
        match cluster.read_meta(kind, key, until).await {
            Ok(Some(live)) if live.uid == uid => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.message().to_owned()),
        }
        if Instant::now() >= until {
            return Err("it was deleted, and is not gone in time".into());
        }
        backoff.wait(None).await;
    }
}
