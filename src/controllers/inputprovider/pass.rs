//! One pass over an input provider (resourceset §8.1).

use std::time::Instant;

use jiff::Timestamp;
use kube::ResourceExt as _;
use sha2::{Digest as _, Sha256};

use super::call::list;
use super::reconciler::InputProviders;
use super::rules;
use super::state::State;
use crate::api::annotation::{self, INPUT_PROVIDER};
use crate::api::inputprovider::{ProviderType, ResourceSetInputProvider};
use crate::api::{condition, duration};
use crate::operator::controller::{Event, Next, Pass, WriteError};
use crate::provider::schedule::{ScheduleSpec, Schedules};
use crate::provider::{Export, add_defaults, id_of};

type Cx = Pass<ResourceSetInputProvider>;

/// Causes of retries.
const CALL: &str = "call";
const STATUS: &str = "status";

/// Runs one pass.
pub(super) async fn run(shared: &InputProviders, object: &ResourceSetInputProvider, cx: &Cx) -> Next {
    let mut pass = Run { shared, object, cx, state: State::of(object), written: None, begun: Instant::now() };
    let next = match pass.steps().await {
        Ok(Some(next)) => next,
        // Nothing has come of it, and nothing is said: whoever works next begins anew.
        Ok(None) => return Next::Done,
        Err(error) => retry(STATUS, &error),
    };
    pass.state.finish(object.annotations());
    match pass.patch().await {
        Ok(()) | Err(WriteError::Gone { .. }) => next,
        Err(error) if is_too_large(&error) => pass.does_not_fit(&error).await,
        Err(error) => retry(STATUS, &error),
    }
}

/// Whether the API server or its store refused a status for its size. They say so in words only.
fn is_too_large(error: &WriteError) -> bool {
    let text = error.to_string();
    ["too large", "larger than max"].iter().any(|words| text.contains(words))
}

fn retry(cause: &str, error: &dyn std::fmt::Display) -> Next {
    Next::Retry { cause: cause.to_owned(), error: error.to_string() }
}

struct Run<'a> {
    shared: &'a InputProviders,
    object: &'a ResourceSetInputProvider,
    cx: &'a Cx,
    state: State,
    /// The object as this pass last wrote it: conditions that it has not seen are kept as somebody else's.
    written: Option<ResourceSetInputProvider>,
    begun: Instant,
}

impl Run<'_> {
    /// Does everything; `None` when the process stops meanwhile.
    async fn steps(&mut self) -> Result<Option<Next>, WriteError> {
        let annotations = self.object.annotations();
        let disabled = annotation::is_disabled(annotations);
        // without conditions the first pass was cut off before it could write any
        if self.cx.is_new() || self.state.status.conditions.is_empty() {
            match disabled {
                true => self.state.suspended_from_the_start(),
                false => self.state.progressing(false),
            }
            self.patch().await?;
        }
        if disabled {
            tracing::info!(object = self.title(), "reconciliation is disabled");
            self.event(true, condition::RECONCILIATION_DISABLED, "Reconciliation is disabled".to_owned(), false);
            return Ok(Some(Next::Done));
        }
        let forced = self.state.take_force(annotations);
        let timeout = annotation::timeout(annotations, INPUT_PROVIDER);
        let schedules = match Schedules::parse(&schedules(self.object), timeout) {
            Ok(schedules) => schedules,
            Err(error) => return Ok(Some(self.stall(condition::INVALID_SCHEDULE, &error.to_string()))),
        };
        self.state.next_schedule(None);
        let now = Timestamp::now();
        if !forced && !schedules.may_run(now) {
            return Ok(Some(self.skip(&schedules, now)));
        }
        if let Err(broken) = rules::check(&self.object.spec) {
            return Ok(Some(self.stall(condition::INVALID_SPEC, broken)));
        }
        let is_static = self.object.spec.provider_type == ProviderType::Static;
        self.state.progressing(is_static);
        if is_static {
            return Ok(Some(self.succeed(self.own_values(), &schedules)));
        }
        self.patch().await?;
        let listed = self.cx.waiting(list(self.shared, self.object, self.cx, timeout));
        Ok(match self.cx.stop().or(listed).await {
            Some(Ok(export)) => Some(self.succeed(export, &schedules)),
            Some(Err(error)) => Some(self.fail(&error)),
            None => None,
        })
    }

    /// What an object without a remote side exports.
    fn own_values(&self) -> Export {
        let mut set = crate::provider::InputSet::new();
        set.insert("id".to_owned(), id_of(&self.object.uid().unwrap_or_default()).into());
        if let Some(defaults) = &self.object.spec.default_values {
            add_defaults(&mut set, defaults);
        }
        Export { sets: vec![set], nil_when_empty: false }
    }

    fn stall(&mut self, reason: &str, error: &str) -> Next {
        let message = format!("Reconciliation failed terminally due to configuration error: {error}");
        self.state.next_schedule(None);
        self.state.stalled(reason, &message);
        self.event(true, reason, message.clone(), true);
        Next::Terminal { error: message }
    }

    fn skip(&mut self, schedules: &Schedules, now: Timestamp) -> Next {
        let next = schedules.next(now);
        let when = next.as_ref().map_or_else(|| "never".to_owned(), |next| next.shown());
        let message = format!("Reconciliation skipped, next scheduled at {when}");
        self.state.skipped(next.as_ref(), &message);
        self.event(false, condition::SKIPPED_DUE_TO_SCHEDULE, message, true);
        next.map_or(Next::Done, |next| Next::At(next.when))
    }

    fn fail(&mut self, error: &str) -> Next {
        self.state.failed(error);
        self.event(true, condition::RECONCILIATION_FAILED, error.to_owned(), true);
        retry(CALL, &error)
    }

    /// What was exported before stays, and the conditions say why.
    async fn does_not_fit(&mut self, error: &WriteError) -> Next {
        let force = self.state.status.last_handled_force_at.take();
        self.state = State::of(self.object);
        self.state.status.last_handled_force_at = force;
        self.state.progressing(true);
        let next = self.fail(&format!("the exported inputs do not fit into the status, expected fewer: {error}"));
        self.state.finish(self.object.annotations());
        match self.patch().await {
            Ok(()) | Err(WriteError::Gone { .. }) => next,
            Err(error) => retry(STATUS, &error),
        }
    }

    fn succeed(&mut self, export: Export, schedules: &Schedules) -> Next {
        let revision = export.revision();
        let message = format!("Reconciliation finished in {}", duration::rounded(self.begun.elapsed()));
        let changed = self.state.exported(export, &revision, &message);
        let token = format!("sha256:{}", hex::encode(Sha256::digest(Timestamp::now().to_string())));
        let metadata = [(annotation::EVENT_REVISION, revision.clone()), (annotation::EVENT_TOKEN, token)];
        self.cx.event(
            self.object,
            Event {
                warning: false,
                reason: condition::RECONCILIATION_SUCCEEDED.to_owned(),
                message: format!("{message}, revision {revision}"),
                metadata: metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
                forward: changed,
            },
        );
        let interval = annotation::every(self.object.annotations(), INPUT_PROVIDER);
        let following = schedules.following(Timestamp::now(), interval);
        self.state.next_schedule(following.next.as_ref());
        following.after.map_or(Next::Done, Next::After)
    }

    fn event(&self, warning: bool, reason: &str, message: String, forward: bool) {
        let event = Event { warning, reason: reason.to_owned(), message, forward, ..Event::default() };
        self.cx.event(self.object, event);
    }

    async fn patch(&mut self) -> Result<(), WriteError> {
        let seen = self.written.as_ref().unwrap_or(self.object);
        self.written = Some(self.cx.patch_status(seen, &self.state.status).await?);
        Ok(())
    }

    fn title(&self) -> String {
        format!("{}/{}", self.object.namespace().unwrap_or_default(), self.object.name_any())
    }
}

fn schedules(object: &ResourceSetInputProvider) -> Vec<ScheduleSpec> {
    let written = object.spec.schedule.iter().map(|schedule| ScheduleSpec {
        cron: schedule.cron.clone(),
        time_zone: schedule.time_zone.clone(),
        window: schedule.window.clone(),
    });
    written.collect()
}
