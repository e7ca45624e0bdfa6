//! How fast one host may be asked: a token bucket that serves the most urgent waiter first, and slows down when the host
//! says so (fluxd-v1 §7.4).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::Error;

/// The slowest rate that a host can ask for, in requests per second.
const SLOWEST: f64 = 0.1;
/// How long a host is left at its lower rate before that rises again.
const RECOVERY: Duration = Duration::from_secs(20 * 60);
/// By how much it then rises.
const RISE: f64 = 1.5;
/// The longest pause that a host can ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
/// Hosts that are remembered; token services count too, and a hostile registry may name many.
const MAX_HOSTS: usize = 4096;

/// How urgent a request is, most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Urgency {
    /// Somebody said that there is something new, or waits for the answer.
    Now,
    /// A choice waits for it.
    Decide,
    /// Tags of an image that an automated workload uses.
    List,
    /// Tags of other images.
    ListOther,
    /// Something known is looked at again.
    Refresh,
    /// What a filter admits by which nothing is chosen unless somebody asks.
    Offer,
    /// Only lists of images show it.
    Background,
}

/// The limits of all hosts.
pub(super) struct Limiter {
    rps: f64,
    burst: f64,
    hosts: Mutex<HashMap<String, Arc<Bucket>>>,
}

struct Bucket {
    state: Mutex<State>,
    moved: Notify,
}

struct State {
    rate: f64,
    tokens: f64,
    filled: Instant,
    paused_until: Instant,
    backed_off: Option<Instant>,
    waiting: BTreeSet<(Urgency, u64)>,
    next: u64,
}

impl Limiter {
    /// Allows `rps` requests per second to each host, and `burst` at once.
    pub(super) fn new(rps: f64, burst: u32) -> Self {
        let rps = if rps.is_finite() { rps.max(SLOWEST) } else { SLOWEST };
        Self { rps, burst: f64::from(burst.max(1)), hosts: Mutex::default() }
    }

    /// Waits until a request to `host` may be sent, at most until `deadline`.
    ///
    /// # Errors
    /// [`Error::RateLimited`], at once when it is clear that the wait would be longer, else at the deadline.
    pub(super) async fn acquire(&self, host: &str, urgency: Urgency, deadline: Option<Instant>) -> Result<(), Error> {
        let bucket = self.bucket(host);
        let begun = Instant::now();
        let place = Place::take(&bucket, urgency);
        loop {
            let moved = bucket.moved.notified();
            tokio::pin!(moved);
            moved.as_mut().enable();
            let ready_at = place.try_pass(self.burst);
            let ready_at = match ready_at {
                Turn::Passed => return Ok(()),
                Turn::At(at) => Some(at),
                Turn::Behind => None,
            };
            let refused = || {
                let within = deadline.map(|d| d.saturating_duration_since(begun)).unwrap_or_default();
                Err(Error::RateLimited { host: host.to_owned(), within })
            };
            if let (Some(at), Some(deadline)) = (ready_at, deadline)
                && at > deadline
            {
                return refused();
            }
            tokio::select! {
                () = &mut moved => {}
                () = sleep_until(ready_at) => {}
                () = sleep_until(deadline) => return refused(),
            }
        }
    }

    /// Notes that `host` refused a request begun at `begun` because there were too many. Requests that were under way
    /// when the rate was lowered do not lower it again.
    pub(super) fn back_off(&self, host: &str, begun: Instant, retry_after: Option<Duration>) {
        let bucket = self.bucket(host);
        let mut state = lock(&bucket.state);
        let now = Instant::now();
        if let Some(pause) = retry_after {
            state.paused_until = state.paused_until.max(now + pause.min(LONGEST_PAUSE));
        }
        if state.backed_off.is_some_and(|at| begun <= at) {
            return;
        }
        state.backed_off = Some(now);
        state.tokens = 0.0;
        state.filled = now;
        let lower = (state.rate / 2.0).max(SLOWEST);
        if lower < state.rate {
            state.rate = lower;
            tracing::info!(
                component = "ratelimiter",
                info = "reducing rate limit",
                host,
                limit = format!("{lower:.2}")
            );
        }
    }

    /// Notes that a scan of `host` succeeded as a whole: a lowered rate rises when it has been left alone long enough.
    pub(super) fn recover(&self, host: &str) {
        let bucket = self.bucket(host);
        let mut state = lock(&bucket.state);
        if state.rate >= self.rps || state.backed_off.is_none_or(|at| at.elapsed() < RECOVERY) {
            return;
        }
        let higher = (state.rate * RISE).min(self.rps);
        state.rate = higher;
        tracing::info!(component = "ratelimiter", info = "increasing rate limit", host, limit = format!("{higher:.2}"));
    }

    /// Until when `host` wants to be left alone, if it said so.
    pub(super) fn paused(&self, host: &str) -> Option<Duration> {
        let bucket = self.bucket(host);
        let until = lock(&bucket.state).paused_until;
        Some(until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
    }

    /// Whether `host` refused requests lately: then nothing is asked that nobody waits for.
    pub(super) fn is_strained(&self, host: &str) -> bool {
        let bucket = self.bucket(host);
        let state = lock(&bucket.state);
        state.backed_off.is_some_and(|at| at.elapsed() < RECOVERY)
    }

    fn bucket(&self, host: &str) -> Arc<Bucket> {
        let mut hosts = lock(&self.hosts);
        if hosts.len() >= MAX_HOSTS {
            hosts.retain(|_, bucket| Arc::strong_count(bucket) > 1);
        }
        let new = || {
            let now = Instant::now();
            let state = State {
                rate: self.rps,
                tokens: self.burst,
                filled: now,
                paused_until: now,
                backed_off: None,
                waiting: BTreeSet::new(),
                next: 0,
            };
            Arc::new(Bucket { state: Mutex::new(state), moved: Notify::new() })
        };
        Arc::clone(hosts.entry(host.to_owned()).or_insert_with(new))
    }
}

/// A place in the queue, given up when dropped.
struct Place<'a> {
    bucket: &'a Bucket,
    key: (Urgency, u64),
}

enum Turn {
    /// A token was taken.
    Passed,
    /// It is this one's turn at that time.
    At(Instant),
    /// Others come first.
    Behind,
}

impl<'a> Place<'a> {
    fn take(bucket: &'a Bucket, urgency: Urgency) -> Self {
        let mut state = lock(&bucket.state);
        let key = (urgency, state.next);
        state.next += 1;
        state.waiting.insert(key);
        drop(state);
        Self { bucket, key }
    }

    fn try_pass(&self, burst: f64) -> Turn {
        let mut state = lock(&self.bucket.state);
        if state.waiting.first() != Some(&self.key) {
            return Turn::Behind;
        }
        let now = Instant::now();
        let gained = now.saturating_duration_since(state.filled).as_secs_f64() * state.rate;
        state.tokens = (state.tokens + gained).min(burst);
        state.filled = now;
        if state.paused_until > now {
            return Turn::At(state.paused_until);
        }
        // a rounding error of the clock must not cost another round
        if state.tokens > 1.0 - 1e-6 {
            state.tokens -= 1.0;
            return Turn::Passed;
        }
        let missing = Duration::from_secs_f64((1.0 - state.tokens) / state.rate);
        Turn::At(now + missing.max(Duration::from_millis(1)))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.bucket.state).waiting.remove(&self.key);
        self.bucket.moved.notify_waiters();
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// A lock whose holder panicked still holds consistent data here: every critical section is a few assignments.
fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::join_all;

    const HOST: &str = "quay.io";

    async fn take(limiter: &Limiter, count: usize) -> Duration {
        let begun = Instant::now();
        for _ in 0..count {
            limiter.acquire(HOST, Urgency::List, None).await.unwrap();
        }
        begun.elapsed()
    }

    fn close(a: Duration, seconds: f64) -> bool {
        (a.as_secs_f64() - seconds).abs() < 0.05
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_then_the_rate_holds() {
        let limiter = Limiter::new(10.0, 5);
        assert!(close(take(&limiter, 5).await, 0.0));
        assert!(close(take(&limiter, 20).await, 2.0));
        limiter.acquire("other.host", Urgency::List, Some(Instant::now())).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_most_urgent_goes_first() {
        let limiter = Limiter::new(1.0, 1);
        take(&limiter, 1).await;
        let order = Mutex::new(Vec::new());
        let waits = [Urgency::Background, Urgency::List, Urgency::Now, Urgency::Decide].map(|urgency| {
            let (limiter, order) = (&limiter, &order);
            async move {
                limiter.acquire(HOST, urgency, None).await.unwrap();
                order.lock().unwrap().push(urgency);
            }
        });
        join_all(waits).await;
        assert_eq!(*order.lock().unwrap(), [Urgency::Now, Urgency::Decide, Urgency::List, Urgency::Background]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_would_be_too_long_fails_at_once() {
        let limiter = Limiter::new(0.1, 1);
        take(&limiter, 1).await;
        let begun = Instant::now();
        let refusal = limiter.acquire(HOST, Urgency::Now, Some(begun + Duration::from_secs(5))).await.unwrap_err();
        assert_eq!(refusal.to_string(), "rate limited: quay.io takes no further request within 5s");
        assert!(begun.elapsed().is_zero());
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_gives_up_blocks_nobody() {
        let limiter = Limiter::new(1.0, 1);
        take(&limiter, 1).await;
        let gone = tokio::time::timeout(Duration::from_millis(100), limiter.acquire(HOST, Urgency::Now, None)).await;
        assert!(gone.is_err());
        assert!(close(take(&limiter, 1).await, 0.9));
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_requests_halve_the_rate_once_and_twenty_minutes_later_it_rises() {
        let limiter = Limiter::new(8.0, 1);
        let begun = Instant::now();
        take(&limiter, 1).await;
        tokio::time::advance(Duration::from_millis(10)).await;
        limiter.back_off(HOST, begun, None);
        limiter.back_off(HOST, begun, None);
        assert!(close(take(&limiter, 8).await, 2.0));
        assert!(limiter.is_strained(HOST));
        limiter.recover(HOST);
        tokio::time::advance(RECOVERY).await;
        assert!(!limiter.is_strained(HOST));
        for (rate, count) in [(6.0, 12), (8.0, 16), (8.0, 16)] {
            limiter.recover(HOST);
            take(&limiter, 1).await;
            assert!(close(take(&limiter, count).await, 2.0), "{rate}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_asks_for_a_pause_gets_it() {
        let limiter = Limiter::new(8.0, 4);
        limiter.back_off(HOST, Instant::now(), Some(Duration::from_secs(30)));
        assert_eq!(limiter.paused(HOST), Some(Duration::from_secs(30)));
        assert!(close(take(&limiter, 1).await, 30.0));
        assert_eq!(limiter.paused(HOST), None);
    }
}
