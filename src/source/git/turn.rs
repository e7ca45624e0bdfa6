//! Fairness among writers to one branch. Who has just landed holds the newest head without asking and would win again and
//! again, while the others fetch what it wrote; so after landing among rivals it lets them go first for a moment.

use std::time::{Duration, Instant};

/// How long a lost race counts as a sign that there are rivals.
const MEMORY: Duration = Duration::from_secs(30);
/// The pause as a multiple of what a push takes: long enough for a few rivals to fetch and push.
const PUSHES: u32 = 6;
const LONGEST: Duration = Duration::from_secs(2);
/// Own commits in a row after which others go first even if none was seen: who always wins sees nobody.
const STREAK: u32 = 4;

/// What is remembered of own pushes.
#[derive(Debug, Default)]
pub(super) struct Turn {
    lost: Option<Instant>,
    /// When the last own commit landed, and what its push took.
    landed: Option<(Instant, Duration)>,
    /// Commits that landed since the last pause.
    streak: u32,
}

impl Turn {
    /// Notes that someone else was faster.
    pub(super) fn lost(&mut self, now: Instant) {
        self.lost = Some(now);
    }

    /// Notes that a commit landed.
    pub(super) fn landed(&mut self, now: Instant, took: Duration) {
        self.landed = Some((now, took));
        self.streak += 1;
    }

    /// How long to wait before the next commit; asked once for each that landed. None without a sign of rivals. `share` between 0
    /// and 1 keeps several writers from waiting in step.
    pub(super) fn pause(&mut self, now: Instant, share: f64) -> Option<Duration> {
        let (landed, took) = self.landed.take()?;
        let has_rivals = self.lost.is_some_and(|lost| now.duration_since(lost) < MEMORY);
        if !has_rivals && self.streak < STREAK {
            return None;
        }
        self.streak = 0;
        let pause = (took * PUSHES).min(LONGEST).mul_f64(0.5 + share.clamp(0.0, 1.0) / 2.0);
        pause.checked_sub(now.duration_since(landed)).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_has_rivals_waits_after_landing_and_only_once() {
        let (start, took) = (Instant::now(), Duration::from_millis(100));
        let mut turn = Turn::default();
        assert_eq!(turn.pause(start, 1.0), None);
        turn.landed(start, took);
        assert_eq!(turn.pause(start, 1.0), None, "nobody else writes");
        turn.lost(start);
        turn.landed(start, took);
        assert_eq!(turn.pause(start + took, 1.0), Some(took * 5));
        assert_eq!(turn.pause(start + took, 1.0), None, "its turn has come");
        turn.landed(start, Duration::from_secs(60));
        assert_eq!(turn.pause(start, 0.0), Some(LONGEST / 2), "bounded, and not in step with others");
        turn.landed(start + MEMORY, took);
        assert_eq!(turn.pause(start + MEMORY, 1.0), None, "the rivals are gone");
    }

    #[test]
    fn who_lands_again_and_again_lets_others_look_in() {
        let (start, took) = (Instant::now(), Duration::from_millis(100));
        let mut turn = Turn::default();
        for round in 1..=3 * STREAK {
            turn.landed(start, took);
            assert_eq!(turn.pause(start, 0.0).is_some(), round % STREAK == 0, "{round}");
        }
    }
}
