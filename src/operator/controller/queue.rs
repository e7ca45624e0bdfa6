//! Which object has its pass next. A pure state machine over moments that are passed in: one place per object, the earliest
//! time wins, an object that runs is queued again when its pass ends. It runs nothing and never waits.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::Trigger;

/// By how long triggers go before timers and retries that are due at the same moment. It bounds how long those can wait.
const PRECEDENCE: Duration = Duration::from_secs(5);

/// How pressing a pass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// Something happened.
    Trigger,
    /// Something happened to what the object depends on. A pass that runs looks at that anew anyway, and is not told.
    Dependency,
    /// A timer, a retry, or the start of the process.
    Timer,
}

/// A wish for a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    due: Instant,
    urgency: Urgency,
    number: u64,
}

impl Place {
    fn rank(&self) -> Instant {
        match self.urgency {
            Urgency::Trigger | Urgency::Dependency => self.due,
            Urgency::Timer => self.due + PRECEDENCE,
        }
    }

    fn earlier(self, other: Option<Self>) -> Self {
        let Some(other) = other else { return self };
        let first = if other.due <= self.due { other } else { self };
        Self { urgency: self.urgency.min(other.urgency), ..first }
    }
}

#[derive(Debug)]
struct Entry {
    place: Option<Place>,
    trigger: Option<Trigger>,
    /// Of the running pass: hears of triggers.
    running: Option<watch::Sender<Option<Trigger>>>,
    /// The cause retried last, and how often in a row.
    retries: Option<(String, u32)>,
}

/// A pass that may begin.
#[derive(Debug)]
pub(super) struct Ticket<I> {
    pub(super) id: I,
    /// The latest trigger since the last pass began.
    pub(super) trigger: Option<Trigger>,
    /// Hears of triggers during the pass.
    pub(super) woken: watch::Receiver<Option<Trigger>>,
    /// For how long it has been due.
    pub(super) waited: Duration,
}

/// The queue of one controller. Its size is bounded by the number of objects.
#[derive(Debug)]
pub(super) struct Queue<I> {
    entries: HashMap<I, Entry>,
    /// By due time.
    later: BTreeSet<(Instant, u64, I)>,
    /// Those that are due, by rank.
    ready: BTreeSet<(Instant, u64, I)>,
    number: u64,
}

impl<I: Clone + Eq + Hash + Ord> Queue<I> {
    pub(super) fn new() -> Self {
        Self { entries: HashMap::new(), later: BTreeSet::new(), ready: BTreeSet::new(), number: 0 }
    }

    /// Wishes for a pass at a moment; an earlier wish stays. A trigger during a pass is told to the pass.
    pub(super) fn add(&mut self, id: I, due: Instant, urgency: Urgency, trigger: Option<Trigger>) {
        self.number += 1;
        let wish = Place { due, urgency, number: self.number };
        let entry = self.entries.entry(id.clone()).or_insert_with(Entry::new);
        let before = entry.place;
        let place = wish.earlier(before);
        entry.place = Some(place);
        if let Some(trigger) = trigger {
            if let Some(running) = entry.running.as_ref().filter(|_| urgency == Urgency::Trigger) {
                running.send_replace(Some(trigger.clone()));
            }
            entry.trigger = Some(trigger);
        }
        if entry.running.is_none() {
            self.unplace(before, &id);
            self.later.insert((place.due, place.number, id));
        }
    }

    /// Takes the object whose turn it is.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Ticket<I>> {
        self.promote(now);
        let (_, _, id) = self.ready.pop_first()?;
        let entry = self.entries.entry(id.clone()).or_insert_with(Entry::new);
        let due = entry.place.take().map_or(now, |place| place.due);
        let (tell, woken) = watch::channel(None);
        entry.running = Some(tell);
        Some(Ticket { id, trigger: entry.trigger.take(), woken, waited: now.saturating_duration_since(due) })
    }

    /// Notes that a pass has ended, and when the next is due by itself.
    pub(super) fn finish(&mut self, id: &I, next: Option<Instant>) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.running = None;
        if let Some(place) = entry.place {
            self.later.insert((place.due, place.number, id.clone()));
        }
        match next {
            Some(due) => self.add(id.clone(), due, Urgency::Timer, None),
            None => self.tidy(id),
        }
    }

    /// Drops all wishes for an object, and what is known of it; a running pass is finished.
    pub(super) fn forget(&mut self, id: &I) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let before = entry.place.take();
        entry.trigger = None;
        entry.retries = None;
        self.unplace(before, id);
        self.tidy(id);
    }

    /// Counts a retry of a cause; answers how many went before it in a row.
    pub(super) fn retry(&mut self, id: &I, cause: &str) -> u32 {
        let before = self.attempts(id, cause);
        if let Some(entry) = self.entries.get_mut(id) {
            entry.retries = Some((cause.to_owned(), before.saturating_add(1)));
        }
        before
    }

    /// How often a cause was retried in a row.
    pub(super) fn attempts(&self, id: &I, cause: &str) -> u32 {
        let retries = self.entries.get(id).and_then(|entry| entry.retries.as_ref());
        retries.filter(|(last, _)| last == cause).map_or(0, |(_, count)| *count)
    }

    /// Forgets retries: something else than a failure came of a pass.
    pub(super) fn succeed(&mut self, id: &I) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.retries = None;
        }
    }

    /// When the next wish falls due that is not due yet.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(due, _, _)| *due)
    }

    /// How many passes are due and have not begun.
    pub(super) fn depth(&mut self, now: Instant) -> usize {
        self.promote(now);
        self.ready.len()
    }

    /// Whether nothing is known of any object.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.later.is_empty() && self.ready.is_empty()
    }

    fn promote(&mut self, now: Instant) {
        while let Some((due, _, _)) = self.later.first()
            && *due <= now
            && let Some((_, number, id)) = self.later.pop_first()
        {
            let place = self.entries.get(&id).and_then(|entry| entry.place);
            let rank = place.map_or(now, |place| place.rank());
            self.ready.insert((rank, number, id));
        }
    }

    fn unplace(&mut self, place: Option<Place>, id: &I) {
        let Some(place) = place else { return };
        self.later.remove(&(place.due, place.number, id.clone()));
        self.ready.remove(&(place.rank(), place.number, id.clone()));
    }

    /// An object of which there is nothing to remember takes no room.
    fn tidy(&mut self, id: &I) {
        let idle = |entry: &Entry| entry.place.is_none() && entry.running.is_none() && entry.retries.is_none();
        if self.entries.get(id).is_some_and(idle) {
            self.entries.remove(id);
        }
    }
}

impl Entry {
    fn new() -> Self {
        Self { place: None, trigger: None, running: None, retries: None }
    }
}
