//! The controller of input providers: what its passes share, and what wakes them.

use std::sync::Arc;

use kube::ResourceExt as _;
use tokio::sync::Semaphore;

use super::Settings;
use super::artifacts;
use crate::api::inputprovider::ResourceSetInputProvider;
use crate::api::{FIELD_MANAGER, FINALIZER, annotation, condition, status};
use crate::object::Gvk;
use crate::operator::controller::{Controller, ControllerSettings, Next, Pass, Reconcile, Series, SeriesDetails};
use crate::provider::{Error, Providers, TokenEvent, TokenObserver};
use crate::report::TokenCache;

/// As metrics call the kind.
const KIND: &str = "ResourceSetInputProvider";

/// The reconciler of input providers.
pub struct InputProviders {
    pub(super) settings: Settings,
    pub(super) providers: Providers,
    /// What clients of tenants' accounts are made of.
    pub(super) config: kube::Config,
    pub(super) calls: Arc<Semaphore>,
}

/// Puts the controller together; it runs with [`Controller::run`]. The finalizer, and the field manager unless another
/// was chosen, are those of the custom resources.
///
/// # Errors
/// When a proxy's URL is none, or the system's certificates cannot be loaded.
pub fn controller(
    config: kube::Config,
    client: kube::Client,
    mut settings: Settings,
    running: ControllerSettings,
) -> Result<Controller<InputProviders>, Error> {
    if let Some(metrics) = &running.metrics {
        settings.providers.token_observer = Some(counted(metrics.token_cache()));
    }
    let reconciler = InputProviders {
        providers: Providers::new(settings.providers.clone())?,
        calls: Arc::new(Semaphore::new(settings.concurrent_calls.max(1))),
        config,
        settings,
    };
    let field_manager = if running.field_manager.is_empty() { FIELD_MANAGER.to_owned() } else { running.field_manager };
    let running = ControllerSettings { finalizer: Some(FINALIZER.to_owned()), field_manager, ..running };
    let artifact = Gvk::new(artifacts::API_VERSION, artifacts::KIND);
    Ok(Controller::new(reconciler, client, running).watches_metadata(&artifact, "", artifacts::woken))
}

/// Counts what happens to kept tokens.
fn counted(metrics: TokenCache) -> TokenObserver {
    let looked = move |event: TokenEvent<'_>| match event {
        TokenEvent::Hit(asker) => metrics.looked(true, KIND, &asker.namespace, &asker.name),
        TokenEvent::Miss(asker) => metrics.looked(false, KIND, &asker.namespace, &asker.name),
        TokenEvent::Answered(success) => metrics.requested(success),
        TokenEvent::Evicted => metrics.evicted(),
        TokenEvent::Kept(count) => metrics.kept(count),
    };
    TokenObserver(Arc::new(looked))
}

impl Reconcile for InputProviders {
    type Kind = ResourceSetInputProvider;

    async fn reconcile(&self, object: Arc<Self::Kind>, cx: &Pass<Self::Kind>) -> Next {
        super::pass::run(self, &object, cx).await
    }

    fn series(&self, object: &Self::Kind) -> Option<Series> {
        let conditions = object.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let ready = condition::get(conditions, condition::READY);
        Some(Series {
            uid: object.uid().unwrap_or_default(),
            kind: KIND.to_owned(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            ready: ready.map_or(status::UNKNOWN, |ready| ready.status.as_str()).to_owned(),
            reason: ready.map(|ready| ready.reason.clone()).unwrap_or_default(),
            suspended: annotation::is_disabled(object.annotations()),
            details: SeriesDetails::InputProvider { url: object.spec.url.clone().unwrap_or_default() },
        })
    }
}
