//! The one stop token of a process, in two steps: drain (the current step is finished, nothing new starts) and abort
//! (everything ends now).

use tokio_util::sync::CancellationToken;

/// A stop signal that many tasks share. Aborting implies stopping.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    drain: CancellationToken,
    abort: CancellationToken,
}

impl Stop {
    /// Makes a token that nobody has stopped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for a drain: what is being done is finished, nothing new is begun.
    pub fn stop(&self) {
        self.drain.cancel();
    }

    /// Ends everything at once, including what a drain would have let finish.
    pub fn abort(&self) {
        self.drain.cancel();
        self.abort.cancel();
    }

    /// Waits until a drain or an abort is asked for.
    pub async fn stopped(&self) {
        self.drain.cancelled().await;
    }

    /// Waits until an abort is asked for.
    pub async fn aborted(&self) {
        self.abort.cancelled().await;
    }

    /// Says whether a drain or an abort was asked for.
    pub fn is_stopped(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// Says whether an abort was asked for.
    pub fn is_aborted(&self) -> bool {
        self.abort.is_cancelled()
    }

    /// Makes a token that ends with this one, and may be ended alone.
    pub fn child(&self) -> Self {
        Self { drain: self.drain.child_token(), abort: self.abort.child_token() }
    }

    /// Makes a token for work that a drain must let finish: its stop is this one's abort.
    pub fn during_drain(&self) -> Self {
        Self { drain: self.abort.child_token(), abort: self.abort.child_token() }
    }

    /// Runs `work` to its end, or gives it up (dropping it) when a stop is asked for.
    pub async fn or<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.stopped() => None,
            done = work => Some(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_child_ends_with_its_parent_and_not_the_other_way() {
        let parent = Stop::new();
        let child = parent.child();
        child.stop();
        assert!(child.is_stopped() && !parent.is_stopped());
        let second = parent.child();
        parent.abort();
        second.stopped().await;
        second.aborted().await;
    }

    #[tokio::test]
    async fn a_drain_leaves_draining_work_alone_until_the_abort() {
        let stop = Stop::new();
        let push = stop.during_drain();
        stop.stop();
        assert!(!push.is_stopped());
        stop.abort();
        assert!(push.is_stopped() && push.is_aborted());
    }

    #[tokio::test]
    async fn work_is_given_up_when_stopped() {
        let stop = Stop::new();
        assert_eq!(stop.or(async { 3 }).await, Some(3));
        stop.stop();
        assert_eq!(stop.or(std::future::pending::<()>()).await, None);
    }
}
