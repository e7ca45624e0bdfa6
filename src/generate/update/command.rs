//! Changes to workloads made by the updaters of a `.flux.yaml` (fluxd-v1 §4.3), all in one working copy that is thrown away.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::object::image::ImageRef;
use crate::runtime::process::{Env, ProcessError};
use crate::tree::{FileChange, Tree};

use super::super::discover::Instance;
use super::super::{Command, Directive, Error, Updater, commands, copy};
use super::run::Run;
use super::{Change, UpdateError, WorkloadChange};

/// Bytes of a failed updater's output that an error shows, from its end.
const SHOWN_OUTPUT: usize = 64 << 10;

/// Runs the updaters for all changes in a working copy of `base`, and says which files they changed.
pub(super) async fn update(
    run: &Run<'_>,
    base: &Tree,
    changes: &[(&Instance, &WorkloadChange)],
) -> Result<BTreeMap<String, FileChange>, UpdateError> {
    let dir = copy::make(base, &run.working.export, &run.generator.settings).await?;
    let collected = in_copy(run, base, dir.path(), changes).await;
    copy::discard(dir).await;
    collected
}

async fn in_copy(
    run: &Run<'_>,
    base: &Tree,
    dir: &Path,
    changes: &[(&Instance, &WorkloadChange)],
) -> Result<BTreeMap<String, FileChange>, UpdateError> {
    for (instance, change) in changes {
        for what in &change.changes {
            run_updaters(run, dir, instance, (change, what)).await?;
        }
    }
    (run.working.collect)(base.clone(), dir.to_owned()).await.map_err(UpdateError::Collect)
}

/// Runs all updaters for one change, in order, up to the first that fails.
async fn run_updaters(
    run: &Run<'_>,
    dir: &Path,
    instance: &Instance,
    (change, what): (&WorkloadChange, &Change),
) -> Result<(), UpdateError> {
    let updaters = match &instance.config.directive {
        Directive::CommandUpdated { updaters, .. } => updaters.as_slice(),
        _ => &[],
    };
    if updaters.is_empty() {
        let entry = if instance.dir.is_empty() { "." } else { &instance.dir };
        let missing = match what {
            Change::Image { .. } => "no update.containerImage commands to run",
            Change::Policy { .. } => "no updaters.policy commands to run",
        };
        return Err(change.failed(format!("{missing} in {} (from path {entry})", instance.file())));
    }
    let env = environment(run, change, what);
    for updater in updaters {
        run_one(run, dir, instance, chosen(updater, what), &env).await.map_err(|failure| match failure {
            Failure::Stopped => Error::Stopped.into(),
            Failure::Words(reason, output) => change.failed(told(instance, updater, what, &reason, &output)),
        })?;
    }
    Ok(())
}

fn chosen<'u>(updater: &'u Updater, what: &Change) -> &'u Command {
    match what {
        Change::Image { .. } => &updater.container_image,
        Change::Policy { .. } => &updater.policy,
    }
}

/// A failure in v1's layout.
fn told(instance: &Instance, updater: &Updater, what: &Change, reason: &str, output: &[u8]) -> String {
    let kind = match what {
        Change::Image { .. } => "image",
        Change::Policy { .. } => "annotation",
    };
    let (command, file) = (&chosen(updater, what).command, instance.file());
    let shown = String::from_utf8_lossy(&output[output.len().saturating_sub(SHOWN_OUTPUT)..]);
    format!("error executing {kind} updater command {command:?} from file {file:?}: {reason}\noutput:\n{shown}")
}

enum Failure {
    Stopped,
    Words(String, Vec<u8>),
}

async fn run_one(
    run: &Run<'_>,
    dir: &Path,
    instance: &Instance,
    command: &Command,
    env: &BTreeMap<OsString, OsString>,
) -> Result<(), Failure> {
    let shell = commands::shell(command, &dir.join(&instance.dir), dir, &run.generator.settings);
    match shell.env(Env::Exactly(env.clone())).combine_stderr().run(run.stop).await {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(Failure::Words(output.status.to_string(), output.stdout)),
        Err(ProcessError::Stopped { .. }) => Err(Failure::Stopped),
        Err(ProcessError::TimedOut { after, stderr, .. }) => {
            let reason = format!("context deadline exceeded: ended after {after:?} with all it had started");
            Err(Failure::Words(reason, stderr))
        }
        Err(other) => Err(Failure::Words(other.to_string(), Vec::new())),
    }
}

/// What updaters are told: `PATH` and the change, nothing else of the daemon's environment, as in v1.
fn environment(run: &Run<'_>, change: &WorkloadChange, what: &Change) -> BTreeMap<OsString, OsString> {
    let path = OsString::from("PATH");
    let mut env = BTreeMap::new();
    if let Some(value) = run.generator.settings.env.get(&path) {
        env.insert(path, value.clone());
    }
    let mut tell = |name: &str, value: &str| drop(env.insert(name.into(), value.into()));
    tell("FLUX_WORKLOAD", &change.id.to_string());
    tell("FLUX_WL_NS", change.id.namespace().unwrap_or(crate::object::CLUSTER_SCOPE));
    tell("FLUX_WL_KIND", change.id.kind());
    tell("FLUX_WL_NAME", change.id.name());
    match what {
        Change::Image { container, image } => {
            tell("FLUX_CONTAINER", container);
            tell("FLUX_IMG", &image.name.to_string());
            tell("FLUX_TAG", &tag(image));
        }
        Change::Policy { policy, value } => {
            tell("FLUX_POLICY", policy);
            if let Some(value) = value {
                tell("FLUX_POLICY_VALUE", value);
            }
        }
    }
    env
}

/// What stands behind the colon: scripts put `$FLUX_IMG:$FLUX_TAG` together, which holds for pinned images too.
fn tag(image: &ImageRef) -> String {
    image.suffix().trim_start_matches(':').to_owned()
}
