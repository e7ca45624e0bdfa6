//! `diff`: what a ResourceSet's file would change, in the cluster or against another file. Values of secrets are masked
//! before anything is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use super::build::{Step, build, chosen, exports, from_files, takes_inputs};
use super::cluster::{failed, open};
use super::custom::Custom;
use crate::api::inputprovider::ResourceSetInputProvider;
use crate::api::inventory::Inventory;
use crate::api::resourceset::ResourceSet;
use crate::cli::fluxctl::ours::answer_in;
use crate::cli::fluxctl::problem::Problem;
use crate::cli::fluxctl::session::Session;
use crate::client::show;
use crate::controllers::resourceset::build::Source;
use crate::object::{Key, Object, ObjectId, Origin};
use crate::operator::sets::{ApplyHow, Entry, Identity, Owner, Set, SetSettings, Sets, SetsError};
use crate::operator::{Action, Plan};
use crate::report::{PlanView, StepView, diff};
use crate::runtime::Stop;

/// Runs the verb; gives whether there is something to do.
pub(super) async fn run(session: &Session<'_>) -> Result<bool, Problem> {
    let against = session.given.text("against");
    let file = session.given.text("filename");
    let mut view = match against.as_str() {
        "" => session.screen.patient("Planning", live(session, &file)).await?,
        against => compared(&built(session, against)?, &built(session, &file)?),
    };
    show::mask(&mut view);
    answer_in(&session.given.text("output"), &view, |view| show::plan(view, session.screen.paint))?;
    Ok(!view.steps.is_empty())
}

/// What the file's ResourceSet would change in the cluster, with the caller's own rights.
async fn live(session: &Session<'_>, file: &str) -> Result<PlanView, Problem> {
    let (mut set, sources) = from_files(session, file)?;
    let connection = open(session).await?;
    let namespace = set.namespace().unwrap_or_else(|| session.namespace_in(&session.given.text("kubeconfig")));
    set.metadata.namespace = Some(namespace.clone());
    let api = Api::<ResourceSet>::namespaced(connection.client.clone(), &namespace);
    let name = set.name_any();
    let sources = match sources {
        Some(sources) => sources,
        None if takes_inputs(&set) => read_sources(&set, &connection.client, &namespace).await?,
        None => Vec::new(),
    };
    let objects: Vec<Arc<Object>> = by_key(file, build(&set, sources)?)?.into_values().map(Arc::new).collect();
    let now = api.get_opt(&name).await.map_err(failed::<ResourceSet>("reading", &name))?;
    let inventory = now.and_then(|set| set.status?.inventory).unwrap_or_default();
    let unusable = |e: SetsError| Problem::Usage(e.to_string());
    let sets = Sets::new(&connection.config, connection.client, SetSettings::resource_set()).map_err(unusable)?;
    let set = sets.set(Owner { kind: ResourceSet::KIND.to_owned(), namespace, name }, Identity::Own);
    let how = ApplyHow::within(session.globals.timeout, &Stop::new());
    let plan = set.plan(&objects, &entries(&inventory), &how).await.map_err(Problem::Usage)?;
    view(&set, &plan, &how).await
}

/// What the cluster's providers export, of those that the ResourceSet takes inputs from.
async fn read_sources(set: &ResourceSet, client: &Client, namespace: &str) -> Result<Vec<Source>, Problem> {
    let api = Api::<ResourceSetInputProvider>::namespaced(client.clone(), namespace);
    let failed = failed::<ResourceSetInputProvider>("listing", "objects");
    let known = api.list(&ListParams::default()).await.map_err(failed)?.items;
    // The controller would stop at it, and delete nothing.
    let names = set.spec.inputs_from.iter().flatten().filter_map(|source| source.name.as_deref());
    if let Some(missing) = names.filter(|n| !n.is_empty()).find(|n| known.iter().all(|p| p.name_any() != **n)) {
        let text = format!("ResourceSet {}: input provider {namespace}/{missing} does not exist", set.name_any());
        return Err(Problem::Usage(text));
    }
    Ok(chosen(set, &known)?.into_iter().map(exports).collect())
}

/// Entries that cannot be read concern nothing that could be deleted.
fn entries(inventory: &Inventory) -> Vec<Entry> {
    let parsed = inventory.entries.iter().filter_map(|entry| Some((entry.parse().ok()?.0, entry.v.clone())));
    parsed.map(|(key, version)| Entry { key, version }).collect()
}

/// Why an object would be applied, in the plan's words.
const NEW: &str = "new";
const CHANGED: &str = "changed";

/// The plan as it is shown, with the fields of what would change.
async fn view(set: &Set, plan: &Plan, how: &ApplyHow) -> Result<PlanView, Problem> {
    let mut view = PlanView { reach: "whole".to_owned(), fresh: true, ..PlanView::default() };
    view.gc.managed = plan.gc.managed;
    for planned in &plan.steps {
        let (action, reason) = match &planned.action {
            Action::Keep => {
                view.kept += 1;
                continue;
            }
            Action::Apply(why) => ("apply", why.to_string()),
            Action::Delete { .. } => ("delete", String::new()),
            Action::Hold { reason, .. } => ("hold", reason.to_string()),
            Action::Skip(reason) => ("skip", reason.to_string()),
            Action::Reject(reason) => ("reject", reason.clone()),
        };
        let mut step = StepView {
            group: planned.target.key.group.clone(),
            kind: planned.target.key.kind.clone(),
            take_over: planned.take_over,
            ..bare(planned.target.id.clone(), action, &reason)
        };
        if action == "apply" || action == "delete" {
            match set.preview(&planned.target, how).await {
                Ok(preview) => {
                    // This process has applied nothing yet, so that the plan knows no live object.
                    if preview.live.is_some() && step.reason.as_deref() == Some(NEW) {
                        step.reason = Some(CHANGED.to_owned());
                    }
                    step.diff = Some(diff(preview.live.as_ref(), preview.after.as_ref()));
                }
                Err(error) => step.diff_error = Some(error),
            }
        }
        view.steps.push(step);
    }
    Ok(view)
}

/// What a file's ResourceSet generates, by key, without a cluster.
fn built(session: &Session<'_>, file: &str) -> Result<BTreeMap<Key, Object>, Problem> {
    let (set, sources) = from_files(session, file)?;
    by_key(file, build(&set, sources.unwrap_or_default())?)
}

fn by_key(file: &str, steps: Vec<Step>) -> Result<BTreeMap<Key, Object>, Problem> {
    let origin =
        |at: usize| Origin { file: file.into(), line: u32::try_from(at + 1).unwrap_or(u32::MAX), generated: true };
    let values = steps.into_iter().flat_map(|step| step.objects).enumerate();
    let objects = values.map(|(at, value)| {
        let object = Object::new(&value, origin(at)).map_err(|error| Problem::Usage(error.to_string()))?;
        Ok((object.key(object.namespace()), object))
    });
    objects.collect()
}

/// The steps from one set of objects to another.
fn compared(before: &BTreeMap<Key, Object>, after: &BTreeMap<Key, Object>) -> PlanView {
    let mut view = PlanView { reach: "whole".to_owned(), fresh: true, ..PlanView::default() };
    for (key, object) in after {
        match before.get(key) {
            Some(old) if old.digest() == object.digest() => view.kept += 1,
            Some(old) => view.steps.push(step(object, ("apply", CHANGED), (Some(old.value()), Some(object.value())))),
            None => view.steps.push(step(object, ("apply", NEW), (None, Some(object.value())))),
        }
    }
    for (_, old) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
        view.steps.push(step(old, ("delete", ""), (Some(old.value()), None)));
    }
    view.gc.managed = before.len();
    view
}

fn step(object: &Object, (action, reason): (&str, &str), (before, after): (Option<Value>, Option<Value>)) -> StepView {
    StepView {
        group: object.gvk().group.clone(),
        kind: object.gvk().kind.clone(),
        diff: Some(diff(before.as_ref(), after.as_ref())),
        ..bare(object.id(), action, reason)
    }
}

/// A step that says what is done and why, and nothing more.
fn bare(id: ObjectId, action: &str, reason: &str) -> StepView {
    StepView {
        id,
        group: String::new(),
        kind: String::new(),
        action: action.to_owned(),
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        file: None,
        line: None,
        generated: false,
        clash: false,
        take_over: false,
        diff: None,
        diff_error: None,
    }
}
