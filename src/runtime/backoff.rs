//! How long to wait before trying again: doubling with jitter, bounded, and never shorter than what a server asked for.

use std::time::Duration;

use rand::RngExt;

/// A bounded exponential back-off. One value serves one row of attempts; [`Backoff::reset`] after a success.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    attempts: u32,
}

impl Backoff {
    /// Makes a back-off that waits about `first`, then twice that, up to `longest`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest: longest.max(first), attempts: 0 }
    }

    /// Returns the next wait: between half and all of the doubled step, so that many clients do not march in step.
    pub fn next_wait(&mut self) -> Duration {
        let step = self.step();
        self.attempts = self.attempts.saturating_add(1);
        step.mul_f64(rand::rng().random_range(0.5..=1.0))
    }

    /// Returns the next wait, at least as long as the server's `Retry-After`, which is followed up to ten times the
    /// longest own wait: a server that asks for a day gets asked again sooner.
    pub fn next_after(&mut self, retry_after: Option<Duration>) -> Duration {
        let own = self.next_wait();
        let asked = retry_after.unwrap_or_default().min(self.longest.saturating_mul(10));
        if asked > own { asked + own.mul_f64(0.1) } else { own }
    }

    /// Waits as long as [`Backoff::next_after`] says.
    pub async fn wait(&mut self, retry_after: Option<Duration>) {
        tokio::time::sleep(self.next_after(retry_after)).await;
    }

    /// Starts over after a success.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    /// How many waits were handed out since the start or the last reset.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    fn step(&self) -> Duration {
        let factor = 2_u32.saturating_pow(self.attempts.min(30));
        self.first.saturating_mul(factor).min(self.longest)
    }
}

/// Reads an HTTP `Retry-After` header given in seconds. The date form is not used by API servers and is ignored.
pub fn parse_retry_after(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn waits_double_within_their_jitter_up_to_the_longest() {
        let mut backoff = Backoff::new(ms(100), ms(1000));
        for full in [100, 200, 400, 800, 1000, 1000] {
            let wait = backoff.next_wait();
            assert!(wait >= ms(full / 2) && wait <= ms(full), "{wait:?} for {full}");
        }
        assert_eq!(backoff.attempts(), 6);
        backoff.reset();
        assert!(backoff.next_wait() <= ms(100));
    }

    #[test]
    fn a_servers_wish_is_followed_but_not_for_ever() {
        let mut backoff = Backoff::new(ms(100), ms(1000));
        assert!(backoff.next_after(Some(ms(3000))) >= ms(3000));
        assert!(backoff.next_after(Some(Duration::from_secs(86_400))) < ms(12_000));
    }

    #[test]
    fn retry_after_is_read_in_seconds() {
        assert_eq!(parse_retry_after(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(parse_retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }
}
