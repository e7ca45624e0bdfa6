//! Patience with other controllers: an object that keeps drifting is put right less and less often.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::object::Key;

/// The first corrections come at once: a person who edits twice in a row is no fight.
const FREE: u32 = 3;
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);
/// After so long without a correction, an object starts afresh.
const FORGET: Duration = Duration::from_secs(900);

struct Fight {
    corrections: u32,
    last: Instant,
    not_before: Instant,
    told: bool,
}

/// Objects that drifted lately, and those whose turn has not come.
#[derive(Default)]
pub(super) struct Contention {
    fights: HashMap<Key, Fight>,
    waiting: HashSet<Key>,
}

impl Contention {
    /// Splits keys into those to put right now, returned, and those that wait for their turn.
    pub(super) fn admit(&mut self, keys: Vec<Key>, now: Instant) -> HashSet<Key> {
        self.fights.retain(|_, fight| now.duration_since(fight.last) < FORGET);
        let waiting = std::mem::take(&mut self.waiting);
        let mut admitted = HashSet::new();
        for key in waiting.into_iter().chain(keys) {
            let early = self.fights.get(&key).is_some_and(|fight| fight.not_before > now);
            if early {
                self.waiting.insert(key)
            } else {
                admitted.insert(key)
            };
        }
        admitted
    }

    /// Notes that an object was put right. Answers how often, once per fight, when it has become one.
    pub(super) fn corrected(&mut self, key: &Key, now: Instant) -> Option<u32> {
        let fight =
            self.fights.entry(key.clone()).or_insert(Fight { corrections: 0, last: now, not_before: now, told: false });
        fight.corrections += 1;
        fight.last = now;
        let over = fight.corrections.saturating_sub(FREE);
        if over == 0 {
            return None;
        }
        fight.not_before = now + FIRST.saturating_mul(2_u32.saturating_pow((over - 1).min(16))).min(LONGEST);
        let tell = !std::mem::replace(&mut fight.told, true);
        tell.then_some(fight.corrections)
    }

    /// When the next waiting object has its turn.
    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.iter().filter_map(|key| self.fights.get(key)).map(|fight| fight.not_before).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key { group: "apps".into(), kind: "Deployment".into(), namespace: Some("demo".into()), name: "web".into() }
    }

    #[test]
    fn the_first_corrections_come_at_once_and_later_ones_wait_ever_longer() {
        let mut contention = Contention::default();
        let (mut told, mut waits) = (Vec::new(), Vec::new());
        let mut now = Instant::now();
        for _ in 0..7 {
            let began = now;
            if contention.admit(vec![key()], now).is_empty() {
                now = contention.next().unwrap();
                assert_eq!(contention.admit(Vec::new(), now), HashSet::from([key()]));
            }
            waits.push(now.duration_since(began).as_secs());
            told.push(contention.corrected(&key(), now));
        }
        assert_eq!(waits, [0, 0, 0, 0, 1, 2, 4]);
        assert_eq!(told, [None, None, None, Some(4), None, None, None], "one event per fight");
    }

    #[test]
    fn after_a_quiet_while_an_object_starts_afresh() {
        let mut contention = Contention::default();
        let now = Instant::now();
        for _ in 0..9 {
            contention.corrected(&key(), now);
        }
        assert!(contention.admit(vec![key()], now).is_empty());
        assert_eq!(contention.admit(vec![key()], now + FORGET), HashSet::from([key()]));
    }
}
