//! Verbs that v1 did not have and that only show what the daemon answers: `diff`, `tree`, `trace`, `events`, `pause`,
//! `resume`.

use futures::StreamExt;
use serde::Serialize;

use super::problem::Problem;
use super::session::{Session, ours};
use super::terminal::{out, tell};
use crate::client::{PlanQuery, show};
use crate::report::News;

/// Prints an answer in the form of `-o`; as text by `text`.
pub(super) fn answer<T: Serialize>(
    session: &Session<'_>,
    value: &T,
    text: impl Fn(&T) -> String,
) -> Result<(), Problem> {
    answer_in(&session.given.text("output-format"), value, text)
}

/// Prints an answer in a form: `text`, `json` or `yaml`.
pub(super) fn answer_in<T: Serialize>(form: &str, value: &T, text: impl Fn(&T) -> String) -> Result<(), Problem> {
    let unreadable = |e: serde_json::Error| Problem::Usage(format!("encoding the answer: {e}"));
    match form {
        "text" => out(&text(value)),
        "json" => out(&(serde_json::to_string(value).map_err(unreadable)? + "\n")),
        "yaml" => out(&show::yaml(value).map_err(unreadable)?),
        _ => Err(Problem::Usage("invalid output format specified".to_owned())),
    }
}

/// Shows the plan; gives whether there is something to do.
pub(super) async fn diff(session: &Session<'_>) -> Result<bool, Problem> {
    let client = session.connect().await?;
    let given = session.given;
    let query = PlanQuery { last: given.bool("last"), all: given.bool("all"), diff: !given.bool("last") };
    let mut plan = session.screen.patient("Planning", client.plan(query)).await.map_err(ours)?;
    show::mask(&mut plan);
    answer(session, &plan, |plan| show::plan(plan, session.screen.paint))?;
    Ok(plan.steps.iter().any(|step| !matches!(step.action.as_str(), "keep" | "skip")))
}

/// Shows the objects in their files.
pub(super) async fn tree(session: &Session<'_>) -> Result<(), Problem> {
    let client = session.connect().await?;
    let objects = session.screen.patient("Reading objects", client.objects()).await.map_err(ours)?;
    answer(session, &objects, |objects| show::tree(objects, session.screen.paint))
}

/// Shows where an object comes from.
pub(super) async fn trace(session: &Session<'_>) -> Result<(), Problem> {
    let [object] = session.rest else {
        return Err(Problem::Usage("please name one object, as NAMESPACE:KIND/NAME or KIND/NAME".to_owned()));
    };
    let id = session.id(object)?.to_string();
    let client = session.connect().await?;
    let trace = session.screen.patient("Reading the object", client.trace(&id)).await.map_err(ours)?;
    answer(session, &trace, |trace| show::trace(trace, session.screen.paint))
}

/// Shows news until interrupted, or until the next sync ended.
pub(super) async fn events(session: &Session<'_>) -> Result<(), Problem> {
    let form = session.given.text("output-format");
    if !matches!(form.as_str(), "text" | "json") {
        return Err(Problem::Usage("invalid output format specified".to_owned()));
    }
    let client = session.connect().await?;
    let mut all = client.news().await.map_err(ours)?;
    while let Some(news) = all.next().await {
        let news = news?;
        let unwanted = matches!(news, News::Progress { .. }) && !session.given.bool("progress");
        if !unwanted {
            let line = if form == "json" {
                serde_json::to_string(&news).map_err(|e| Problem::Usage(format!("encoding the answer: {e}")))?
            } else {
                show::news(&news, session.screen.paint)
            };
            out(&(line + "\n"))?;
        }
        if matches!(news, News::Sync { .. }) && !session.given.bool("watch") {
            return Ok(());
        }
    }
    tell("The daemon ended the stream.");
    Err(Problem::Told)
}

/// Pauses or resumes.
pub(super) async fn pause(session: &Session<'_>, pause: bool) -> Result<(), Problem> {
    let client = session.connect().await?;
    if !pause {
        client.resume().await.map_err(ours)?;
        return out("Resumed; a sync follows.\n");
    }
    let state = client.pause().await.map_err(ours)?;
    let since = state.get("pausedSince").and_then(serde_json::Value::as_str).unwrap_or("now");
    out(&format!("Paused since {since}: nothing is synced and drift is left alone until fluxctl resume.\n"))
}
