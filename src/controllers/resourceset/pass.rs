//! One pass over a ResourceSet (resourceset §7.2): dependencies, inputs, build, transforms, and then what `apply` does. Every
//! way in which a pass can end is a value, and what it says to users is worded in one place.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use kube::ResourceExt as _;
use serde_json::Value;

use super::apply;
use super::build::{self, Combined};
use super::providers::{self, Exports, ReadError};
use super::reconciler::ResourceSets;
use super::state::State;
use super::transform::{self, Marks, Prepared, Read, Transformed};
use super::watch::SourceKind;
use super::{dependency, halt};
use crate::api::annotation;
use crate::api::resourceset::ResourceSet;
use crate::object::Gvk;
use crate::operator::controller::{self, Next, Pass, Trigger, WriteError};
use crate::operator::sets::{Identity, Set};
use crate::runtime::blocking;

/// Why a pass ends before everything is applied and healthy.
#[derive(Debug)]
pub(super) enum Halt {
    /// The object is suspended.
    Disabled,
    /// An expression is none.
    Expression(String),
    /// A dependency is missing or not ready.
    Dependency(String),
    /// Spec, inputs or templates are wrong; the message.
    Build(String),
    /// Something failed that may succeed later.
    Failed(Failure),
    /// Something woke the object while it waited.
    Canceled(Trigger),
    /// Objects that may have to go are kept, because an input provider has not said what it exports.
    Held(String),
    /// The process stops.
    Stopped,
    /// The status cannot be written; nothing may be done that it would not tell of.
    Status(WriteError),
}

/// What failed, and what of.
#[derive(Debug, Default)]
pub(super) struct Failure {
    /// The error.
    pub(super) error: String,
    /// The revision that failed, when there is one.
    pub(super) digest: Option<String>,
}

/// How much a pass dealt with: what its entry in the history says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) inputs: usize,
    pub(super) resources: usize,
    pub(super) steps: Option<usize>,
}

impl Counts {
    /// As metadata of the history.
    pub(super) fn metadata(self) -> BTreeMap<String, String> {
        let counts = [("inputs", Some(self.inputs)), ("resources", Some(self.resources)), ("steps", self.steps)];
        counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?.to_string()))).collect()
    }
}

/// A pass under way.
pub(super) struct Run<'a> {
    pub(super) owner: &'a ResourceSets,
    pub(super) object: Arc<ResourceSet>,
    pub(super) cx: &'a Pass<ResourceSet>,
    /// The object as the last write left it: what the next one is compared with.
    written: Arc<ResourceSet>,
    pub(super) state: State,
    pub(super) counts: Counts,
    pub(super) begun: Instant,
}

/// Runs a pass, writes down how it ended, and says when the next one is due.
pub(super) async fn run(owner: &ResourceSets, object: &Arc<ResourceSet>, cx: &Pass<ResourceSet>) -> Next {
    let mut run = Run {
        owner,
        object: Arc::clone(object),
        cx,
        written: Arc::clone(object),
        state: State::of(object),
        counts: Counts::default(),
        begun: Instant::now(),
    };
    let ended = run.work().await;
    halt::conclude(&mut run, ended).await
}

impl Run<'_> {
    /// Does everything; answers with the revision applied.
    async fn work(&mut self) -> Result<String, Halt> {
        if annotation::is_disabled(self.object.annotations()) {
            return Err(Halt::Disabled);
        }
        if self.state.is_untold() {
            self.progress().await?;
        }
        self.check_dependencies().await?;
        let drift_only = self.may_be_quiet();
        if !drift_only {
            self.progress().await?;
        }
        build::validate(&self.object.spec).map_err(|e| Halt::Build(format!("build failed: {e}")))?;
        let exports = self.exports().await?;
        let unknown = exports.unknown;
        let combined = build::combine((&self.namespace(), &self.object.name_any()), &self.object.spec, exports.sources)
            .map_err(|e| Halt::Build(format!("failed to compute inputs: {e}")))?;
        let prepared = self.build(combined).await?;
        let set = self.owner.objects_of(&self.object, self.owner.identity(&self.object));
        let transformed = self.transform(prepared, &set).await?;
        if drift_only && !self.state.is_applied(&transformed.revision) {
            self.progress().await?;
        }
        apply::run(self, &transformed, &set, &unknown).await?;
        Ok(transformed.revision)
    }

    pub(super) fn namespace(&self) -> String {
        self.object.namespace().unwrap_or_default()
    }

    /// Whether this may turn out to be a look for drift alone, which is not announced: the object is Ready as it stands, and
    /// nothing will be waited for.
    fn may_be_quiet(&self) -> bool {
        let applied = self.state.status.last_applied_revision.clone().unwrap_or_default();
        !self.object.spec.wait && self.object.spec.steps.is_none() && self.state.is_applied(&applied)
    }

    /// Says that a pass is under way.
    async fn progress(&mut self) -> Result<(), Halt> {
        self.state.progressing();
        self.save().await
    }

    /// Writes the status as it stands.
    pub(super) async fn save(&mut self) -> Result<(), Halt> {
        let written = self.cx.patch_status(&self.written, &self.state.status).await.map_err(Halt::Status)?;
        self.written = Arc::new(written);
        Ok(())
    }

    /// Dependencies are read with the operator's own rights. While one is missing, its changes wake the object.
    async fn check_dependencies(&self) -> Result<(), Halt> {
        let wanted = &self.object.spec.depends_on;
        let checks = dependency::parse(wanted).map_err(|e| Halt::Expression(e.to_string()))?;
        if checks.is_empty() {
            self.cx.depends_on([]);
            return Ok(());
        }
        let own = self.owner.objects_of(&self.object, Identity::Own);
        let read = |gvk: Gvk, namespace: Option<String>, name: String| {
            let own = &own;
            async move { own.get(&gvk, namespace.as_deref(), &name).await }
        };
        let checked = dependency::check(&checks, &self.namespace(), read).await;
        let watched = checked.is_err().then_some(wanted).into_iter().flatten();
        self.cx.depends_on(watched.map(|d| controller::Dependency {
            gvk: Gvk::new(&d.api_version, &d.kind),
            namespace: d.namespace.clone().unwrap_or_default(),
            name: d.name.clone(),
        }));
        checked.map_err(|e| Halt::Dependency(e.to_string()))
    }

    async fn exports(&self) -> Result<Exports, Halt> {
        let references = self.object.spec.inputs_from.as_deref().unwrap_or_default();
        providers::read(self.cx.client(), &self.namespace(), references).await.map_err(|error| match error {
            ReadError::Wrong(why) => Halt::Build(format!("failed to compute inputs: {why}")),
            ReadError::Cluster(why) => failed(format!("failed to compute inputs: {why}")),
        })
    }

    /// Renders and marks the objects, beside the threads that drive everything else.
    async fn build(&mut self, inputs: Combined) -> Result<Prepared, Halt> {
        self.counts.inputs = inputs.len();
        let object = Arc::clone(&self.object);
        let marks = Marks {
            namespace: self.namespace(),
            name: object.name_any(),
            common: object.spec.common_metadata.clone().unwrap_or_default(),
        };
        let mut kept = self.owner.take(&self.object);
        let work = move || {
            let built = build::build(&object.spec, &inputs, &mut kept.cache);
            (built.map(|steps| transform::prepare(steps, &marks, &mut kept.memo)), kept)
        };
        let (prepared, kept) = blocking("build", work).await.map_err(|e| failed(e.to_string()))?;
        self.owner.keep(&self.object, kept, self.cx.store());
        let prepared = prepared.map_err(|e| Halt::Build(format!("build failed: {e}")))?;
        self.counts.resources = prepared.steps().iter().map(|step| step.objects.len()).sum();
        self.counts.steps = self.object.spec.steps.as_ref().map(Vec::len);
        self.owner.sources.set(&self.namespace(), &self.object.name_any(), prepared.sources());
        Ok(prepared)
    }

    async fn transform(&mut self, prepared: Prepared, set: &Set) -> Result<Transformed, Halt> {
        let built = prepared.steps().to_vec();
        match prepared.complete(&Live(set)).await {
            Ok(transformed) => {
                self.state.status.external_checksum_refs = transformed.external_refs.clone();
                Ok(transformed)
            }
            Err(error) => Err(Halt::Failed(Failure { error, digest: Some(transform::as_built(&built)) })),
        }
    }
}

/// Something failed before there was a revision.
fn failed(error: String) -> Halt {
    Halt::Failed(Failure { error, digest: None })
}

/// Reads as the identity that the ResourceSet acts as.
struct Live<'a>(&'a Set);

impl Read for Live<'_> {
    async fn get(&self, kind: SourceKind, namespace: &str, name: &str) -> Result<Value, String> {
        self.0.get(&Gvk::new("v1", kind.as_str()), Some(namespace), name).await.map_err(|e| e.to_string())
    }
}
