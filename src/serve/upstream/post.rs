//! Events to the upstream service: one after the other, each again while that may help. Whoever tells them never waits.

use std::sync::Arc;
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::Instant;

use super::Settings;
use crate::report::{Event, Metrics, go_json};
use crate::runtime::Backoff;

/// Longest time for one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);
/// First and longest wait between two attempts.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// For how long one event is tried.
const PATIENCE: Duration = Duration::from_secs(600);

/// How an attempt went wrong.
enum Failed {
    /// It may go well later.
    Now(String),
    /// It never will.
    Always(String),
}

/// Sends events until their source is gone.
pub(super) async fn run(settings: &Settings, mut events: broadcast::Receiver<Arc<Event>>, metrics: &Metrics) {
    let client = reqwest::Client::builder().timeout(ATTEMPT).redirect(reqwest::redirect::Policy::none()).build();
    let client = match client {
        Ok(client) => client,
        Err(e) => {
            tracing::error!(component = "upstream", err = %e, "events are not sent");
            // The calls of the service go on.
            return std::future::pending().await;
        }
    };
    loop {
        match events.recv().await {
            Ok(event) => send(settings, &client, &event, metrics).await,
            Err(RecvError::Lagged(lost)) => {
                metrics.events_lost(lost);
                tracing::warn!(component = "upstream", lost, "events were lost: the service takes them too slowly");
            }
            Err(RecvError::Closed) => return,
        }
    }
}

async fn send(settings: &Settings, client: &reqwest::Client, event: &Event, metrics: &Metrics) {
    let Ok(body) = go_json(event) else { return };
    let (mut backoff, until) = (Backoff::new(WAITS.0, WAITS.1), Instant::now() + PATIENCE);
    loop {
        let why = match attempt(settings, client, body.clone()).await {
            Ok(()) => return,
            Err(Failed::Now(why)) if Instant::now() < until => why,
            Err(Failed::Now(why) | Failed::Always(why)) => {
                metrics.events_lost(1);
                tracing::warn!(component = "upstream", err = why, event = %event, "an event was lost");
                return;
            }
        };
        tracing::debug!(component = "upstream", err = why, event = %event, "an event will be sent again");
        backoff.wait(None).await;
    }
}

async fn attempt(settings: &Settings, client: &reqwest::Client, body: Vec<u8>) -> Result<(), Failed> {
    let mut request = client
        .post(settings.events.clone())
        .header(CONTENT_TYPE, "application/json; charset=utf-8")
        .header(USER_AGENT, settings.agent.clone())
        .body(body);
    if let Some(value) = &settings.authorization {
        request = request.header(AUTHORIZATION, value.clone());
    }
    let response = request.send().await.map_err(|e| Failed::Now(e.without_url().to_string()))?;
    let status = response.status();
    match status.as_u16() {
        200..300 => Ok(()),
        408 | 425 | 429 | 500.. => Err(Failed::Now(format!("the service answered {status}"))),
        _ => Err(Failed::Always(format!("the service answered {status}"))),
    }
}
