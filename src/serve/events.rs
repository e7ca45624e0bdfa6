//! Server-sent events: jobs' states, syncs' progress and outcomes, v1's events. A watcher that does not keep up is sent
//! away; it may come back with the last number it saw, and is told what is still remembered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::Stream;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::answer;
use super::api::Api;
use crate::daemon::{Item, job_news};
use crate::operator::{Progress, Stage};
use crate::report::{ApiError, News, go_json};
use crate::runtime::Stop;

/// Watchers at once.
const WATCHERS: usize = 64;
/// How often a running sync's progress is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// After how long without news a comment keeps the connection and its proxies awake.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The places for those who watch.
#[derive(Clone)]
pub(super) struct Watchers(Arc<Semaphore>);

impl Default for Watchers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(WATCHERS)))
    }
}

impl Watchers {
    fn take(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let help = "As many clients watch events as may at once. End some of them, or ask for the status instead.\n";
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| ApiError::busy("too many watchers", help))
    }

    /// All news, from the number that the client saw last, if it says one.
    pub(super) fn all<A: Api>(&self, api: &A, headers: &HeaderMap, stop: &Stop) -> Result<Response, ApiError> {
        let seat = self.take()?;
        let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
        let (missed, next) = api.feed().watch(last);
        let waiting = missed.iter().map(|item| event(Some(item.id), &item.news)).collect();
        Ok(stream(Watcher::new(api.clone(), next, waiting, (seat, stop.clone()))))
    }

    /// The states of one job, from the one it is in to its end.
    pub(super) async fn job<A: Api>(&self, api: &A, id: &str, stop: &Stop) -> Result<Response, ApiError> {
        let seat = self.take()?;
        let (_, next) = api.feed().watch(None);
        let news = job_news(id, &api.job_status(id).await?);
        let waiting = VecDeque::from([event(None, &news)]);
        let mut watcher = Watcher::new(api.clone(), next, waiting, (seat, stop.clone()));
        watcher.over = is_end(&news);
        watcher.job = Some(id.to_owned());
        Ok(stream(watcher))
    }
}

/// One client that watches.
struct Watcher<A> {
    api: A,
    next: broadcast::Receiver<Arc<Item>>,
    waiting: VecDeque<Bytes>,
    /// Of which job alone.
    job: Option<String>,
    /// Whether nothing follows what waits.
    over: bool,
    shown: Progress,
    ticks: Interval,
    spoke: Instant,
    _seat: OwnedSemaphorePermit,
    stop: Stop,
}

impl<A: Api> Watcher<A> {
    fn new(
        api: A,
        next: broadcast::Receiver<Arc<Item>>,
        waiting: VecDeque<Bytes>,
        (seat, stop): (OwnedSemaphorePermit, Stop),
    ) -> Self {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (shown, spoke) = (Progress::default(), Instant::now());
        Self { api, next, waiting, job: None, over: false, shown, ticks, spoke, _seat: seat, stop }
    }

    /// The next piece of the stream; `None` at its end.
    async fn piece(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                self.spoke = Instant::now();
                return Some(piece);
            }
            if self.over {
                return None;
            }
            tokio::select! {
                () = self.stop.stopped() => return None,
                item = self.next.recv() => match item {
                    Ok(item) => self.hear(&item),
                    Err(RecvError::Lagged(lost)) => {
                        self.over = true;
                        self.waiting.push_back(format!(": {lost} were lost; come back\n\n").into());
                    }
                    Err(RecvError::Closed) => return None,
                },
                _ = self.ticks.tick() => self.look(),
            }
        }
    }

    fn hear(&mut self, item: &Item) {
        if let Some(job) = &self.job {
            let News::Job { id, .. } = &item.news else { return };
            if id != job {
                return;
            }
            self.over = is_end(&item.news);
        }
        self.waiting.push_back(event(Some(item.id), &item.news));
    }

    /// Tells how far a sync is, if that is news, and else a comment once in a while.
    fn look(&mut self) {
        let now = self.api.progress();
        let moved = (now.stage, now.done, now.total) != (self.shown.stage, self.shown.done, self.shown.total);
        let worth = now.stage != Stage::Idle || self.shown.stage != Stage::Idle;
        if self.job.is_none() && moved && worth {
            self.shown = now;
            let news = News::Progress {
                stage: now.stage.as_str().to_owned(),
                done: now.done,
                total: now.total,
                failed: now.failed,
            };
            self.waiting.push_back(event(None, &news));
        } else if self.spoke.elapsed() >= HEARTBEAT {
            self.waiting.push_back(Bytes::from_static(b":\n\n"));
        }
    }
}

fn is_end(news: &News) -> bool {
    matches!(news, News::Job { state, .. } if state == "succeeded" || state == "failed")
}

fn stream<A: Api>(watcher: Watcher<A>) -> Response {
    let pieces = futures::stream::unfold(watcher, async |mut watcher| {
        let piece = watcher.piece().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), watcher))
    });
    let mut response = answer::with_body(StatusCode::OK, "text/event-stream", body(pieces));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn body(pieces: impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static) -> Body {
    Body::from_stream(pieces)
}

/// One event as the stream writes it. JSON has no line breaks.
fn event(id: Option<u64>, news: &News) -> Bytes {
    let mut text = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = go_json(news).unwrap_or_else(|_| b"{}".to_vec());
    text.push_str(&format!("event: {}\ndata: {}\n\n", news.tag(), String::from_utf8_lossy(&data)));
    text.into()
}
