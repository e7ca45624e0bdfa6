//! Waiting for a fact with a deadline. Nothing here measures speed: the deadline only ends a wait that would never end.

use std::time::{Duration, Instant};

/// How long a fact may take to become true before a test gives up; far above what any of them needs, because
/// machines that run tests are busy.
pub const DEADLINE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(25);

/// Asks until there is an answer, and panics with `what` when there is none within [`DEADLINE`].
#[track_caller]
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// The same for questions that are asked asynchronously.
pub async fn eventually_async<T, F: Future<Output = Option<T>>>(what: &str, mut ask: impl FnMut() -> F) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = ask().await {
            return found;
        }
        assert!(Instant::now() < end, "not within {DEADLINE:?}: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}
