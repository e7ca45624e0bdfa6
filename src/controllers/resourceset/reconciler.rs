//! The controller of ResourceSets: what its passes share, and what wakes them (resourceset §7.1).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use tokio::sync::watch;

use super::Settings;
use super::build::Cache;
use super::transform::Memo;
use super::watch::{SourceIndex, SourceKind, of_provider, provider_counts};
use crate::api::inputprovider::ResourceSetInputProvider;
use crate::api::resourceset::ResourceSet;
use crate::api::{FIELD_MANAGER, FINALIZER, annotation, condition, status};
use crate::object::Gvk;
use crate::operator::Error;
use crate::operator::controller::{
    Controller, ControllerSettings, Finalize, Next, ObjectRef, Pass, Reconcile, Series, SeriesDetails, Store,
    WatchConfig,
};
use crate::operator::sets::{Identity, Owner, Set, SetSettings, Sets, SetsError};
use crate::runtime::Stop;

/// Longest time for a pass. Each of twenty steps may wait for hours, without a worker, and says itself when it is over.
const LONGEST_PASS: Duration = Duration::from_hours(24);

/// What is remembered of a ResourceSet from one pass to the next. All of it can be made again.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) cache: Cache,
    pub(super) memo: Memo,
}

/// The reconciler of ResourceSets.
pub struct ResourceSets {
    pub(super) settings: Settings,
    sets: Sets,
    /// By uid. An entry is taken out while a pass works with it.
    kept: Mutex<HashMap<String, Kept>>,
    pub(super) sources: Arc<SourceIndex>,
}

/// The controller of ResourceSets with the watches of what they own.
pub struct ResourceSetController {
    sets: Sets,
    controller: Controller<ResourceSets>,
}

/// Puts the controller together. `config` is what `client` was made from. The finalizer, and the field manager unless another
/// was chosen, are those of the custom resources.
///
/// # Errors
/// When the connection impersonates somebody: then service accounts cannot be.
pub fn controller(
    config: &kube::Config,
    client: kube::Client,
    settings: Settings,
    running: ControllerSettings,
) -> Result<ResourceSetController, SetsError> {
    let managers = SetSettings { on_request: Arc::clone(&settings.on_request), ..SetSettings::resource_set() };
    let managers = settings.override_managers.iter().fold(managers, |all, name| all.override_manager(name));
    let sets = Sets::new(config, client.clone(), managers)?;
    let sources = Arc::new(SourceIndex::default());
    let selector = settings.watch_selector.clone();
    let reconciler =
        ResourceSets { settings, sets: sets.clone(), kept: Mutex::new(HashMap::new()), sources: Arc::clone(&sources) };
    let field_manager = if running.field_manager.is_empty() { FIELD_MANAGER.to_owned() } else { running.field_manager };
    let longest_pass = running.longest_pass.max(LONGEST_PASS);
    let running = ControllerSettings { finalizer: Some(FINALIZER.to_owned()), field_manager, longest_pass, ..running };
    let followed = |kind: SourceKind| {
        let sources = Arc::clone(&sources);
        move |before: Option<&ObjectMeta>, after: Option<&ObjectMeta>, known: &Store<ResourceSet>| {
            takers(&sources, kind, before.zip(after).map(|(b, _)| b), after.or(before), known)
        }
    };
    let controller = Controller::new(reconciler, client, running)
        .watches::<ResourceSetInputProvider>(WatchConfig::default(), Store::default(), |before, after, known| {
            let all = known.list();
            let provider = after.or(before).filter(|_| provider_counts(before, after));
            provider.map(|provider| of_provider(provider, all.iter().map(Arc::as_ref))).unwrap_or_default()
        })
        .watches_metadata(&Gvk::new("v1", "ConfigMap"), &selector, followed(SourceKind::ConfigMap))
        .watches_metadata(&Gvk::new("v1", "Secret"), &selector, followed(SourceKind::Secret));
    Ok(ResourceSetController { sets, controller })
}

/// The ResourceSets that take data from a ConfigMap or Secret that has changed: by what their last passes saw, and by what
/// their statuses say, which is there from the start.
fn takers(
    sources: &SourceIndex,
    kind: SourceKind,
    before: Option<&ObjectMeta>,
    changed: Option<&ObjectMeta>,
    known: &Store<ResourceSet>,
) -> Vec<ObjectRef<ResourceSet>> {
    let Some(meta) = changed else { return Vec::new() };
    if before.is_some_and(|before| before.resource_version == meta.resource_version) {
        return Vec::new();
    }
    let (namespace, name) = (meta.namespace.as_deref().unwrap_or_default(), meta.name.as_deref().unwrap_or_default());
    let mut found = sources.of_source(kind, namespace, name);
    let reference = format!("{}/{namespace}/{name}", kind.as_str());
    for set in known.list() {
        let refers = set.status.as_ref().is_some_and(|s| s.external_checksum_refs.contains(&reference));
        let wanted = ObjectRef::from_obj(set.as_ref());
        if refers && !found.contains(&wanted) {
            found.push(wanted);
        }
    }
    found
}

impl ResourceSetController {
    /// Works only while the receiver says that this replica leads.
    #[must_use]
    pub fn with_leadership(self, leading: watch::Receiver<bool>) -> Self {
        Self { controller: self.controller.with_leadership(leading), ..self }
    }

    /// The ResourceSets, as they will be known once it runs.
    pub fn store(&self) -> Store<ResourceSet> {
        self.controller.store()
    }

    /// Runs until stopped, and until running passes have ended or their grace is over.
    ///
    /// # Errors
    /// When the settings cannot work.
    pub async fn run(self, stop: Stop) -> Result<(), Error> {
        // The watches of what is owned serve passes until the last one has ended.
        let watches = Stop::new();
        let followed = self.sets.run(watches.clone());
        let passes = async {
            let ended = self.controller.run(stop).await;
            watches.stop();
            ended
        };
        tokio::join!(followed, passes).1
    }
}

impl ResourceSets {
    /// The identity that a ResourceSet acts as (resourceset §7.11).
    pub(super) fn identity(&self, set: &ResourceSet) -> Identity {
        let default = self.settings.default_service_account.as_deref();
        match account(set.spec.service_account_name.as_deref(), default) {
            Some(name) => {
                Identity::ServiceAccount { namespace: set.namespace().unwrap_or_default(), name: name.to_owned() }
            }
            None => Identity::Own,
        }
    }

    /// The objects of a ResourceSet, seen as an identity.
    pub(super) fn objects_of(&self, set: &ResourceSet, identity: Identity) -> Set {
        let owner = Owner {
            kind: "ResourceSet".to_owned(),
            namespace: set.namespace().unwrap_or_default(),
            name: set.name_any(),
        };
        self.sets.set(owner, identity)
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what is remembered of a ResourceSet.
    pub(super) fn take(&self, set: &ResourceSet) -> Kept {
        self.kept().remove(&set.uid().unwrap_or_default()).unwrap_or_default()
    }

    /// Puts back what is remembered. What is remembered of ResourceSets that went without a finalizing pass here, such as
    /// while another replica led, goes as soon as there is more of it than there are ResourceSets.
    pub(super) fn keep(&self, set: &ResourceSet, kept: Kept, known: &Store<ResourceSet>) {
        let mut all = self.kept();
        all.insert(set.uid().unwrap_or_default(), kept);
        if all.len() > known.len() {
            let live: HashSet<String> = known.list().iter().filter_map(|set| set.uid()).collect();
            all.retain(|uid, _| live.contains(uid));
        }
    }

    /// Forgets a ResourceSet.
    pub(super) fn forget(&self, set: &ResourceSet) {
        drop(self.take(set));
        self.sources.set(&set.namespace().unwrap_or_default(), &set.name_any(), std::collections::BTreeSet::new());
    }
}

/// The service account that is named, or else the default. An empty name is none: it must not lead past the default.
fn account<'a>(named: Option<&'a str>, default: Option<&'a str>) -> Option<&'a str> {
    let is_named = |name: &&str| !name.is_empty();
    named.filter(is_named).or(default.filter(is_named))
}

impl Reconcile for ResourceSets {
    type Kind = ResourceSet;

    async fn reconcile(&self, object: Arc<ResourceSet>, cx: &Pass<ResourceSet>) -> Next {
        super::pass::run(self, &object, cx).await
    }

    async fn finalize(&self, object: Arc<ResourceSet>, cx: &Pass<ResourceSet>) -> Finalize {
        super::finalize::run(self, &object, cx).await
    }

    fn series(&self, object: &ResourceSet) -> Option<Series> {
        let seen = object.status.clone().unwrap_or_default();
        let ready = condition::get(&seen.conditions, condition::READY);
        Some(Series {
            uid: object.uid().unwrap_or_default(),
            kind: "ResourceSet".to_owned(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
            ready: ready.map_or(status::UNKNOWN, |ready| ready.status.as_str()).to_owned(),
            reason: ready.map(|ready| ready.reason.clone()).unwrap_or_default(),
            suspended: annotation::is_disabled(object.annotations()),
            details: SeriesDetails::ResourceSet {
                resources: seen.inventory.map_or(0, |inventory| inventory.entries.len()),
                revision: seen.last_applied_revision.unwrap_or_default(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::account;

    #[test]
    fn an_empty_name_of_a_service_account_does_not_lead_past_the_default() {
        for (named, default, wanted) in [
            (Some("tenant"), Some("default"), Some("tenant")),
            (None, Some("default"), Some("default")),
            (Some(""), Some("default"), Some("default")),
            (Some(""), None, None),
            (None, Some(""), None),
        ] {
            assert_eq!(account(named, default), wanted, "{named:?} {default:?}");
        }
    }
}
