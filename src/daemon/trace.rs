//! Where objects come from and what became of them: the answers behind `fluxctl tree`, `trace` and `diff`. It looks, and
//! changes nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::object::ObjectId;
use crate::operator::{Action, ObjectResult, Outcome, Step};
use crate::report::{
    ApiError, ApplyView, CommitView, FieldDiff, ObjectView, ObjectsView, TraceView, diff, diff_sealed, field_owners,
};
use crate::tree::Revision;

use super::handle::Handle;

impl Handle {
    /// The objects of the last sync by file and line, then the workloads that objects of git made, such as those of a
    /// HelmRelease.
    ///
    /// # Errors
    /// When no sync has come that far yet, or the cluster cannot be read.
    pub async fn objects(&self) -> Result<ObjectsView, ApiError> {
        let outcome = self.outcome()?;
        let mut wanted: Vec<&ObjectResult> = outcome.results.iter().filter(|r| r.origin().is_some()).collect();
        wanted.sort_by_key(|r| (r.origin().map(|o| (&o.file, o.line)), r.id()));
        let mut objects: Vec<ObjectView> = wanted.into_iter().map(object_view).collect();
        let known: BTreeSet<ObjectId> = objects.iter().map(|object| object.id.clone()).collect();
        for workload in self.list_services("", &[]).await? {
            let owned = workload.antecedent.filter(|owner| known.contains(owner) && !known.contains(&workload.id));
            let Some(owner) = owned else { continue };
            objects.push(ObjectView {
                kind: workload.id.kind().to_owned(),
                id: workload.id,
                group: String::new(),
                file: None,
                line: None,
                generated: false,
                result: workload.status,
                error: None,
                owner: Some(owner),
            });
        }
        Ok(ObjectsView { revision: outcome.revision.clone(), objects })
    }

    /// Where one object comes from, what became of it, and who owns its fields.
    ///
    /// # Errors
    /// When no sync has come that far yet, when the last one did not have the object, or the cluster cannot be read.
    pub async fn trace(&self, id: &ObjectId) -> Result<TraceView, ApiError> {
        let outcome = self.outcome()?;
        let result = outcome.results.iter().find(|r| r.id() == id).ok_or_else(|| not_managed(id))?;
        let live = self.shared().reads.live(&result.target).await.map_err(|e| ApiError::untyped(e.to_string()))?;
        let last_apply = ApplyView {
            revision: outcome.revision.clone(),
            ended: outcome.ended,
            result: result.done.as_str().to_owned(),
            error: result.failure().map(|f| f.message.clone()),
            warnings: result.warnings.clone(),
        };
        Ok(TraceView {
            object: object_view(result),
            commit: self.last_commit(result, &outcome.revision).await,
            last_apply: Some(last_apply),
            live: live.is_some(),
            fields: live.as_ref().map(field_owners).unwrap_or_default(),
        })
    }

    /// What a step would change, values of Secrets and of encrypted files masked.
    ///
    /// # Errors
    /// When the API server cannot be read, or refuses the object.
    pub async fn diff(&self, step: &Step) -> Result<Vec<FieldDiff>, ApiError> {
        let reads = self.shared().reads.clone();
        let untyped = |e: crate::operator::Error| ApiError::untyped(e.to_string());
        if let Action::Delete { .. } | Action::Hold { .. } = step.action {
            let live = reads.live(&step.target).await.map_err(untyped)?;
            return Ok(live.map(|live| diff(Some(&live), None)).unwrap_or_default());
        }
        let preview = reads.preview(&step.target).await.map_err(untyped)?;
        let is_sealed = step.target.want.as_ref().is_some_and(|want| want.object.is_sealed());
        let diff = if is_sealed { diff_sealed } else { diff };
        Ok(diff(preview.live.as_ref(), preview.after.as_ref()))
    }

    fn outcome(&self) -> Result<Arc<Outcome>, ApiError> {
        self.operator().and_then(crate::operator::Handle::last_outcome).ok_or_else(|| {
            let help = "No sync has come to an outcome since the daemon started. Try again in a moment.\n";
            ApiError::missing("no sync yet", help)
        })
    }

    /// The newest commit that touched the object's file. Of a generated object, the file that names the command.
    async fn last_commit(&self, result: &ObjectResult, revision: &str) -> Option<CommitView> {
        let file = result.origin()?.file.to_string();
        let commits = self.shared().repo.commits(None, &Revision(revision.into()), &[file]).await;
        let commit = commits.ok()?.into_iter().next()?;
        let message = commit.message.lines().next().unwrap_or_default().to_owned();
        Some(CommitView { revision: commit.revision.to_string(), message })
    }
}

fn not_managed(id: &ObjectId) -> ApiError {
    let help = format!(
        "Object not found\n\n{id} was not among the objects of the last sync. Identities look like\n\
         shop:deployment/web, or <cluster>:namespace/shop; see `fluxctl tree` for those that are managed.\n"
    );
    ApiError::missing(format!("{id} is not managed"), help)
}

fn object_view(result: &ObjectResult) -> ObjectView {
    let origin = result.origin();
    ObjectView {
        id: result.id().clone(),
        group: result.key().group.clone(),
        kind: result.key().kind.clone(),
        file: origin.map(|o| o.file.to_string()),
        line: origin.map(|o| o.line),
        generated: origin.is_some_and(|o| o.generated),
        result: result.done.as_str().to_owned(),
        error: result.failure().map(|f| f.message.clone()),
        owner: None,
    }
}
