//! `list-workloads` and `list-images`.

use std::time::Duration;

use super::problem::Problem;
use super::session::{Connection, Session};
use super::terminal::out;
use crate::client::show::{self, Table};
use crate::client::{List, Workload};
use crate::report::ALL_WORKLOADS;

/// How often a watched list is read.
const AGAIN: Duration = Duration::from_secs(2);

/// How a list is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Table(Table),
    Json,
    Yaml,
}

fn form(session: &Session<'_>) -> Result<Form, Problem> {
    let headers = !session.given.bool("no-headers");
    match session.given.text("output-format").as_str() {
        "tab" => Ok(Form::Table(Table { headers, wide: false })),
        "wide" => Ok(Form::Table(Table { headers, wide: true })),
        "json" => Ok(Form::Json),
        "yaml" => Ok(Form::Yaml),
        _ => Err(Problem::Usage("invalid output format specified".to_owned())),
    }
}

fn unreadable(error: serde_json::Error) -> Problem {
    Problem::Usage(format!("decoding response from server: {error}"))
}

/// Shows workloads, once or whenever they changed.
pub(super) async fn workloads(session: &Session<'_>) -> Result<(), Problem> {
    let form = form(session)?;
    let namespace = if session.given.bool("all-namespaces") { String::new() } else { session.namespace() };
    let client = session.connect().await?;
    let mut last = shown_workloads(session, &client, &namespace, form).await?;
    out(&last)?;
    while session.given.bool("watch") {
        tokio::time::sleep(AGAIN).await;
        let now = shown_workloads(session, &client, &namespace, form).await?;
        if now != last {
            out(&format!("\n{now}"))?;
            last = now;
        }
    }
    Ok(())
}

async fn shown_workloads(
    session: &Session<'_>,
    client: &Connection,
    namespace: &str,
    form: Form,
) -> Result<String, Problem> {
    let all: List<Workload> = session.screen.patient("Listing workloads", client.workloads(namespace)).await?;
    let list = show::with_container(all, &session.given.text("container"));
    match form {
        Form::Table(table) => Ok(show::workloads(list.items.iter().map(|raw| &raw.value), table)),
        Form::Json => Ok(show::json_list(&list)),
        Form::Yaml => show::yaml_list(&list).map_err(unreadable),
    }
}

/// Shows images.
pub(super) async fn images(session: &Session<'_>) -> Result<(), Problem> {
    let form = form(session)?;
    // Less than none is all of them, as in v1.
    let limit = usize::try_from(session.given.int("limit")).unwrap_or_default();
    let workload = session.given.text("workload");
    let (service, namespace) = if workload.is_empty() {
        (ALL_WORKLOADS.to_owned(), session.namespace())
    } else {
        (session.id(&workload)?.to_string(), String::new())
    };
    let client = session.connect().await?;
    let mut list = session.screen.patient("Listing images", client.images(&service, &namespace)).await?;
    list.items.sort_by(|a, b| a.value.id.cmp(&b.value.id));
    let text = match form {
        Form::Table(table) => {
            let all: Vec<_> = list.items.iter().map(|raw| &raw.value).collect();
            show::images(&all, limit, table)
        }
        Form::Json => show::json_list(&show::cut_available(list, limit).map_err(unreadable)?),
        Form::Yaml => show::yaml_list(&show::cut_available(list, limit).map_err(unreadable)?).map_err(unreadable)?,
    };
    out(&text)
}
