//! Looks before an apply: what an object is now, and what the API server would make of it. Changes nothing.

use std::sync::Arc;

use serde_json::Value;

use crate::apply::effective;
use crate::cluster::{ApplyOptions, KindInfo};
use crate::object::Gvk;
use crate::plan::Target;

use super::Error;
use super::reads::{Reads, failed, until};

/// An object now and after an apply. It may be a Secret: whoever shows it masks the values.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// The live object.
    pub live: Option<Value>,
    /// What an apply would make of it; `None` when nothing is wanted.
    pub after: Option<Value>,
}

impl Reads {
    /// The live object of a target; `None` when there is none.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn live(&self, target: &Target) -> Result<Option<Value>, Error> {
        let kind = self.kind(&target.gvk).await?;
        self.cluster().get(&kind, &target.key, until()).await.map_err(failed)
    }

    /// What applying a target would bring about, as the API server's dry run says; for one that is not live, the manifest
    /// as it would be sent.
    ///
    /// # Errors
    /// [`Error::Cluster`], also when the API server refuses the object.
    pub async fn preview(&self, target: &Target) -> Result<Preview, Error> {
        let live = self.live(target).await?;
        let Some(want) = &target.want else { return Ok(Preview { live, after: None }) };
        let (body, _) = effective(target, want);
        if live.is_none() {
            return Ok(Preview { live, after: Some(body) });
        }
        let kind = self.kind(&target.gvk).await?;
        let options = ApplyOptions { dry_run: true, until: until(), sealed: want.object.is_sealed(), whole: true };
        let after = self.cluster().dry_run(&kind, &target.key, &body, options).await.map_err(failed)?;
        Ok(Preview { live, after: Some(if after.created { body } else { after.object }) })
    }

    async fn kind(&self, gvk: &Gvk) -> Result<Arc<KindInfo>, Error> {
        if let Ok(kind) = self.cluster().kinds().resolve(gvk) {
            return Ok(Arc::clone(kind));
        }
        let kinds = self.cluster().refresh_kinds(until()).await.map_err(failed)?;
        kinds.resolve(gvk).cloned().map_err(|e| Error::Cluster(e.to_string()))
    }
}
