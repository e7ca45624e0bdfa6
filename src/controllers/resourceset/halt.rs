//! How passes end: conditions, history, events and the next pass, for each way (resourceset §7.3, §7.8, §7.9).

use kube::ResourceExt as _;

use super::pass::{Failure, Halt, Run};
use crate::api::resourceset::ResourceSet;
use crate::api::{annotation, condition, duration};
use crate::object::Digest;
use crate::operator::controller::{Event, Next, WriteError};

/// Writes down how a pass ended, and says when the next one is due.
pub(super) async fn conclude(run: &mut Run<'_>, ended: Result<String, Halt>) -> Next {
    let next = match ended {
        Ok(revision) => run.succeeded(revision),
        Err(Halt::Stopped) => return Next::Done,
        Err(Halt::Status(error)) => return unwritten(&error),
        Err(Halt::Disabled) => {
            run.disabled();
            return run.close(Next::Done).await;
        }
        Err(halt) => run.halted(halt),
    };
    let object = std::sync::Arc::clone(&run.object);
    run.state.finish(&object);
    run.close(next).await
}

/// What cannot be written because the object is gone needs no further pass.
fn unwritten(error: &WriteError) -> Next {
    match error {
        WriteError::Gone { .. } => Next::Done,
        WriteError::Conflict { .. } | WriteError::Cluster { .. } => {
            Next::Retry { cause: "status".to_owned(), error: error.to_string() }
        }
    }
}

impl Run<'_> {
    async fn close(&mut self, next: Next) -> Next {
        match self.save().await {
            Err(Halt::Status(error)) => unwritten(&error),
            Ok(()) | Err(_) => next,
        }
    }

    fn disabled(&mut self) {
        if self.state.is_untold() {
            self.state.suspended_from_the_start();
        }
        if let Some(token) = annotation::requested_at(self.object.annotations()) {
            self.state.status.last_handled_reconcile_at = Some(token.to_owned());
        }
        tracing::info!(namespace = self.namespace(), name = self.object.name_any(), "Reconciliation is disabled");
        self.tell(true, condition::RECONCILIATION_DISABLED, "Reconciliation is disabled", false);
    }

    fn succeeded(&mut self, revision: String) -> Next {
        let took = self.begun.elapsed();
        let message = format!("Reconciliation finished in {}", duration::rounded(took));
        self.state.ready(&message);
        self.state.status.last_applied_revision = Some(revision.clone());
        self.state.record(revision, took, self.counts.metadata());
        tracing::info!(namespace = self.namespace(), name = self.object.name_any(), "{message}");
        self.tell(false, condition::RECONCILIATION_SUCCEEDED, &message, false);
        self.after_interval()
    }

    fn after_interval(&self) -> Next {
        annotation::every(self.object.annotations(), annotation::RESOURCE_SET).map_or(Next::Done, Next::AfterJittered)
    }

    fn halted(&mut self, halt: Halt) -> Next {
        match halt {
            Halt::Expression(error) => {
                let message = format!("Reconciliation failed terminally due to configuration error: {error}");
                self.terminal(condition::INVALID_CEL_EXPRESSION, message)
            }
            Halt::Build(message) => {
                self.state.stalled(condition::BUILD_FAILED, &message);
                self.state.record(digest_of_spec(&self.object), self.begun.elapsed(), [].into());
                self.terminal(condition::BUILD_FAILED, message)
            }
            Halt::Dependency(error) => {
                self.waits_for(&format!("Retrying dependency check: {error}"));
                Next::Poll { cause: "dependency".to_owned(), after: self.owner.settings.requeue_dependency }
            }
            Halt::Held(message) => {
                self.waits_for(&message);
                self.after_interval()
            }
            Halt::Failed(failure) => self.failed(failure),
            Halt::Canceled(trigger) => {
                let canceled = format!("Health checks canceled due to new reconciliation triggered by {trigger}");
                self.tell(false, condition::HEALTH_CHECK_CANCELED, &canceled, false);
                let message = format!("New reconciliation triggered by {trigger}");
                self.state.not_ready(condition::HEALTH_CHECK_CANCELED, &message);
                Next::Now
            }
            Halt::Disabled | Halt::Stopped | Halt::Status(_) => Next::Done,
        }
    }

    fn terminal(&mut self, reason: &str, message: String) -> Next {
        self.state.stalled(reason, &message);
        self.tell(true, reason, &message, true);
        Next::Terminal { error: message }
    }

    /// Something else has to happen first. People hear of it once.
    fn waits_for(&mut self, message: &str) {
        if self.state.reason() != condition::DEPENDENCY_NOT_READY {
            self.tell(false, condition::DEPENDENCY_NOT_READY, message, true);
        }
        tracing::info!(namespace = self.namespace(), name = self.object.name_any(), "{message}");
        self.state.not_ready(condition::DEPENDENCY_NOT_READY, message);
    }

    fn failed(&mut self, failure: Failure) -> Next {
        let message = format!("reconciliation failed: {}", failure.error);
        if condition::get(&self.state.status.conditions, condition::RECONCILING).is_none() {
            self.state.at_step(condition::IN_PROGRESS_MESSAGE);
        }
        self.state.not_ready(condition::RECONCILIATION_FAILED, &message);
        if let Some(digest) = failure.digest {
            self.state.record(digest, self.begun.elapsed(), self.counts.metadata());
        }
        self.tell(true, condition::RECONCILIATION_FAILED, &message, true);
        Next::Retry { cause: condition::RECONCILIATION_FAILED.to_owned(), error: failure.error }
    }

    /// Records an event about the object; `forward` tells notification-controller, too.
    pub(super) fn tell(&self, warning: bool, reason: &str, message: &str, forward: bool) {
        let (reason, message) = (reason.to_owned(), message.to_owned());
        self.cx.event(&self.object, Event { warning, reason, message, forward, ..Event::default() });
    }
}

fn digest_of_spec(object: &ResourceSet) -> String {
    format!("sha256:{}", Digest::of(&serde_json::to_vec(&object.spec).unwrap_or_default()))
}
