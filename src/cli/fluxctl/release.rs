//! `release`: images to workloads, all at once or chosen from a menu, and the roll-out afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::job;
use super::keyboard;
use super::problem::Problem;
use super::session::{Connection, Session};
use super::terminal::{out, tell};
use crate::client::show;
use crate::client::{JobResult, Menu};
use crate::object::ImageRef;
use crate::report::{ALL_LATEST, ALL_WORKLOADS, Cause, ContainersRelease, ImageRelease, Update, UpdateSpec};
use crate::runtime::blocking;

/// How often a roll-out is looked at, as in v1.
const LOOK: Duration = Duration::from_secs(2);
/// How long a roll-out is watched at most; v1 watched for ever.
const WATCH: Duration = Duration::from_secs(3600);

/// Runs the verb.
pub(super) async fn run(session: &Session<'_>) -> Result<(), Problem> {
    let spec = spec(session)?;
    let interactive = session.given.bool("interactive");
    let dry_run = session.given.bool("dry-run");
    warn_of_force(session);
    let client = session.connect().await?;
    let cause = session.cause().await;
    tell(if dry_run || interactive { "Submitting dry-run release ..." } else { "Submitting release ..." });
    let update = UpdateSpec { cause: cause.clone(), update: Update::Image(spec.clone()) };
    let mut result = job::run(session, &client, &update).await?;
    if interactive {
        let Some(chosen) = choose(session, &result, &spec).await? else { return Ok(()) };
        tell("Submitting selected release ...");
        let update = UpdateSpec { cause: Cause { user: cause.user, ..cause }, update: Update::Containers(chosen) };
        result = job::run(session, &client, &update).await?;
    }
    job::conclude(session, &client, &result, !dry_run).await?;
    if session.given.bool("watch") {
        watch(session, &client, &result).await?;
    }
    Ok(())
}

/// What the flags ask for; their mistakes in v1's order and words.
fn spec(session: &Session<'_>) -> Result<ImageRelease, Problem> {
    let given = session.given;
    let usage = |text: &str| Err(Problem::Usage(text.to_owned()));
    let (image, all_images) = (given.text("update-image"), given.bool("update-all-images"));
    let workloads: Vec<String> = given.list("workload").into_iter().filter(|workload| !workload.is_empty()).collect();
    let all = given.bool("all");
    match (image.is_empty(), all_images) {
        (false, true) => return usage("please supply only one of --update-image=<image> or --update-all-images"),
        (true, false) => return usage("please supply exactly one of --update-image=<image> or --update-all-images"),
        _ => {}
    }
    if !all && workloads.is_empty() {
        return usage("please supply either --all, or at least one --workload=<workload>");
    }
    if given.bool("watch") && given.bool("dry-run") {
        return usage("cannot use --watch with --dry-run");
    }
    if given.bool("force") && all && all_images {
        return usage("--force has no effect when used with --all and --update-all-images");
    }
    let ids = |texts: &[String]| -> Result<Vec<String>, Problem> {
        texts.iter().map(|text| Ok(session.id(text)?.to_string())).collect()
    };
    let excludes = ids(&given.list("exclude"))?;
    Ok(ImageRelease {
        workloads: Some(if all { vec![ALL_WORKLOADS.to_owned()] } else { ids(&workloads)? }),
        image: if all_images { ALL_LATEST.to_owned() } else { image_of(&image)? },
        kind: if given.bool("dry-run") || given.bool("interactive") { "plan" } else { "execute" }.to_owned(),
        excludes: (!excludes.is_empty()).then_some(excludes),
        force: given.bool("force"),
    })
}

/// The image as v1's client sent it.
fn image_of(text: &str) -> Result<String, Problem> {
    let parsed = text.parse::<ImageRef>();
    let image = parsed.map_err(|e| Problem::Usage(e.to_string()))?;
    if image.tag.is_empty() {
        let blank = "blank tag (if you want latest, explicitly state the tag :latest): invalid image ID";
        return Err(Problem::Usage(blank.to_owned()));
    }
    Ok(image.to_string())
}

fn warn_of_force(session: &Session<'_>) {
    if session.given.bool("force") && session.given.bool("all") {
        tell("Warning: --force will not ignore locked workloads when used with --all");
    } else if session.given.bool("force") && session.given.bool("update-all-images") {
        tell("Warning: --force will not ignore container image tags when used with --update-all-images");
    }
}

/// Lets the user choose from a plan; nothing when there is nothing to release.
async fn choose(
    session: &Session<'_>,
    plan: &JobResult,
    spec: &ImageRelease,
) -> Result<Option<ContainersRelease>, Problem> {
    let none = BTreeMap::new();
    let results = plan.result.as_ref().unwrap_or(&none);
    let menu = Menu::new(results, job::verbosity(session));
    if menu.is_empty() {
        tell("No changes found.");
        return Ok(None);
    }
    let chosen =
        blocking("menu", move || keyboard::choose(menu)).await.map_err(|e| Problem::Usage(e.to_string()))??;
    let Some(menu) = chosen else {
        tell("Aborted.");
        return Ok(None);
    };
    let workloads = menu.taken();
    if workloads.is_empty() {
        tell("Nothing was selected.");
        return Ok(None);
    }
    let kind = if session.given.bool("dry-run") { "plan" } else { "execute" };
    Ok(Some(ContainersRelease { kind: kind.to_owned(), workloads, skip_mismatches: false, force: spec.force }))
}

/// Shows the changed workloads until all are ready or one has trouble, which is no failure of the release.
async fn watch(session: &Session<'_>, client: &Connection, result: &JobResult) -> Result<(), Problem> {
    tell("Monitoring rollout ...");
    let ids = result.result.as_ref().map(job::changed).unwrap_or_default();
    let within = WATCH.max(session.globals.timeout);
    let deadline = Instant::now() + within;
    while !ids.is_empty() {
        let list = client.named_workloads(&ids).await?;
        let workloads = list.items.iter().map(|raw| &raw.value);
        for workload in workloads.clone() {
            out(&show::rollout(workload))?;
            if let Some(messages) = &workload.rollout.messages {
                tell(&format!("There was a problem releasing {}:", workload.id));
                messages.iter().for_each(|message| tell(message));
                return Ok(());
            }
        }
        if workloads.clone().all(|workload| workload.status == "ready") {
            break;
        }
        if Instant::now() + LOOK > deadline {
            return Err(Problem::Timeout { after: within, what: "the roll-out".to_owned() });
        }
        tokio::time::sleep(LOOK).await;
    }
    tell("All workloads ready.");
    Ok(())
}
