//! News for those who watch: jobs' states, outcomes of syncs, and v1's events. Nobody who watches can hold a sync up: what a
//! slow watcher does not take in time is lost to it, and counted. Sending it anywhere is elsewhere.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast;

use crate::operator::{self, Outcome};
use crate::report::{Event, JobState, JobStatus, News};

/// News that a watcher may lag behind, and that one who comes back is told again.
const KEPT: usize = 256;

/// One piece of news with its number, which counts from 1 in each process.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The number.
    pub id: u64,
    /// The news.
    pub news: News,
}

#[derive(Debug)]
struct Kept {
    last: u64,
    items: VecDeque<Arc<Item>>,
}

#[derive(Debug)]
struct Inner {
    kept: Mutex<Kept>,
    news: broadcast::Sender<Arc<Item>>,
    events: broadcast::Sender<Arc<Event>>,
    upstream: AtomicBool,
}

/// Where news are told and watched. Clones share everything.
#[derive(Clone, Debug)]
pub struct Feed(Arc<Inner>);

impl Default for Feed {
    fn default() -> Self {
        Self(Arc::new(Inner {
            kept: Mutex::new(Kept { last: 0, items: VecDeque::with_capacity(KEPT) }),
            news: broadcast::Sender::new(KEPT),
            events: broadcast::Sender::new(KEPT),
            upstream: AtomicBool::new(false),
        }))
    }
}

impl Feed {
    /// Says that events go to an upstream service, which the log then tells of each (fluxd-v1 §10.1).
    pub fn has_upstream(&self) {
        self.0.upstream.store(true, Ordering::Relaxed);
    }

    /// Tells some news.
    pub fn tell(&self, news: News) {
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        let item = Arc::new(Item { id: kept.last, news });
        if kept.items.len() == KEPT {
            kept.items.pop_front();
        }
        kept.items.push_back(Arc::clone(&item));
        // Sent under the lock, so that a new watcher sees each item once. Nobody may be watching.
        self.0.news.send(item).ok();
    }

    /// Logs an event in v1's words and tells it.
    pub fn announce(&self, event: Event) {
        let upstream = self.0.upstream.load(Ordering::Relaxed);
        tracing::info!(component = "daemon", event = %event, logupstream = upstream);
        let value = serde_json::to_value(&event).unwrap_or_default();
        self.tell(News::Event { text: event.to_string(), event: value });
        self.0.events.send(Arc::new(event)).ok();
    }

    /// Tells where a job stands.
    pub fn job(&self, id: &str, status: &JobStatus) {
        self.tell(job_news(id, status));
    }

    /// Tells how a sync ended: its outcome unless it could not begin, and what failed beside single objects.
    pub(super) fn sync(&self, outcome: Option<&Outcome>, error: Option<&operator::Error>) {
        let counts = outcome.map(Outcome::counts).unwrap_or_default();
        self.tell(News::Sync {
            revision: outcome.map(|o| o.revision.clone()).unwrap_or_default(),
            success: error.is_none() && outcome.is_some_and(Outcome::is_success),
            counts: counts.into_iter().map(|(word, count)| (word.to_owned(), count)).collect(),
            error: error.map(ToString::to_string),
        });
    }

    /// What is kept after the item numbered `after` (nothing when `None`), and a receiver of all that follows. A number that
    /// was never given here is of a process before this one: all that is kept is news to who names it.
    pub fn watch(&self, after: Option<u64>) -> (Vec<Arc<Item>>, broadcast::Receiver<Arc<Item>>) {
        let kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let after = after.map(|after| if after > kept.last { 0 } else { after });
        let missed = after.map(|after| kept.items.iter().filter(|item| item.id > after).cloned().collect());
        (missed.unwrap_or_default(), self.0.news.subscribe())
    }

    /// v1's events from now on.
    pub fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.0.events.subscribe()
    }
}

/// A job's state as news.
pub fn job_news(id: &str, status: &JobStatus) -> News {
    let state = match status.state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Failed => "failed",
        JobState::Succeeded => "succeeded",
    };
    let (revision, error) = (status.result.revision.clone(), status.err.clone());
    News::Job { id: id.to_owned(), state: state.to_owned(), revision, error }
}

#[cfg(test)]
mod tests {
    use crate::report::JobResult;

    use super::*;

    fn queued(feed: &Feed, id: &str) {
        feed.job(id, &JobStatus { result: JobResult::default(), err: String::new(), state: JobState::Queued });
    }

    #[test]
    fn who_comes_back_is_told_what_it_missed_once() {
        let feed = Feed::default();
        for id in ["a", "b", "c"] {
            queued(&feed, id);
        }
        let (missed, mut next) = feed.watch(Some(1));
        assert_eq!(missed.iter().map(|item| item.id).collect::<Vec<_>>(), [2, 3]);
        assert!(feed.watch(None).0.is_empty() && feed.watch(Some(3)).0.is_empty());
        assert_eq!(feed.watch(Some(4_000)).0.len(), 3, "the number is of a process before this one");
        queued(&feed, "d");
        assert_eq!(next.try_recv().unwrap().id, 4);
        assert!(next.try_recv().is_err());
    }

    #[test]
    fn a_slow_watcher_loses_news_and_holds_nobody_up() {
        let feed = Feed::default();
        let (_, mut slow) = feed.watch(None);
        for n in 0..KEPT + 10 {
            queued(&feed, &n.to_string());
        }
        assert!(matches!(slow.try_recv(), Err(broadcast::error::TryRecvError::Lagged(10))));
        assert_eq!(feed.watch(Some(0)).0.len(), KEPT);
    }
}
