//! The queue as a table of moments: nothing here waits.

use std::time::Duration;

use tokio::time::Instant;

use super::super::Trigger;
use super::super::queue::{Queue, Urgency};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn trigger(name: &str) -> Option<Trigger> {
    Some(Trigger { kind: "ConfigMap".into(), namespace: "apps".into(), name: name.into() })
}

/// A queue of names, with moments counted from its start.
struct Bench {
    queue: Queue<&'static str>,
    start: Instant,
}

impl Bench {
    fn new() -> Self {
        Self { queue: Queue::new(), start: Instant::now() }
    }

    fn add(&mut self, id: &'static str, at: u64, urgency: Urgency) {
        self.queue.add(id, self.start + ms(at), urgency, None);
    }

    /// Everything that may begin at a moment, in order; each is finished at once.
    fn drain(&mut self, at: u64) -> Vec<&'static str> {
        let mut begun = Vec::new();
        while let Some(ticket) = self.queue.pop(self.start + ms(at)) {
            begun.push(ticket.id);
            self.queue.finish(&ticket.id, None);
        }
        begun
    }
}

#[test]
fn an_object_has_one_place_and_the_earliest_wish_wins() {
    for (wishes, due) in [(vec![30, 10, 20], 10), (vec![10, 30], 10), (vec![0], 0)] {
        let mut bench = Bench::new();
        for at in &wishes {
            bench.add("a", *at, Urgency::Timer);
        }
        if due > 0 {
            assert!(bench.drain(due - 1).is_empty(), "{wishes:?} is not due before {due}");
        }
        assert_eq!(bench.drain(due), ["a"], "{wishes:?}");
        assert!(bench.drain(100).is_empty(), "{wishes:?} come to one pass");
        assert_eq!(bench.queue.next_due(), None);
    }
}

#[test]
fn objects_begin_in_the_order_in_which_they_fall_due() {
    let mut bench = Bench::new();
    bench.add("c", 30, Urgency::Trigger);
    bench.add("a", 10, Urgency::Trigger);
    bench.add("b", 20, Urgency::Trigger);
    assert_eq!(bench.queue.next_due(), Some(bench.start + ms(10)));
    assert_eq!(bench.drain(30), ["a", "b", "c"]);
}

#[test]
fn what_happened_goes_before_timers_but_timers_do_not_starve() {
    let mut bench = Bench::new();
    bench.add("timer", 0, Urgency::Timer);
    bench.add("event", 1000, Urgency::Trigger);
    assert_eq!(bench.drain(1000), ["event", "timer"]);
    bench.add("timer", 0, Urgency::Timer);
    bench.add("event", 6000, Urgency::Trigger);
    assert_eq!(bench.drain(6000), ["timer", "event"], "a timer has waited long enough");
}

#[test]
fn a_trigger_makes_a_waiting_retry_pressing() {
    let mut bench = Bench::new();
    bench.add("other", 0, Urgency::Timer);
    bench.add("a", 900_000, Urgency::Timer);
    bench.add("a", 10, Urgency::Trigger);
    assert_eq!(bench.drain(10), ["a", "other"]);
}

#[test]
fn an_object_never_runs_twice_at_once_and_what_came_meanwhile_is_one_more_pass() {
    let mut bench = Bench::new();
    bench.add("a", 0, Urgency::Trigger);
    let ticket = bench.queue.pop(bench.start).unwrap();
    bench.add("a", 5, Urgency::Trigger);
    bench.add("a", 6, Urgency::Trigger);
    assert!(bench.queue.pop(bench.start + ms(100)).is_none(), "it runs");
    bench.queue.finish(&ticket.id, Some(bench.start + ms(60_000)));
    assert_eq!(bench.drain(100), ["a"]);
    assert!(bench.drain(60_000).is_empty(), "the pass that came first takes the later timer's place");
}

#[test]
fn a_running_pass_hears_of_the_latest_trigger_and_the_next_pass_knows_it() {
    let mut bench = Bench::new();
    bench.add("a", 0, Urgency::Timer);
    let ticket = bench.queue.pop(bench.start).unwrap();
    assert_eq!(ticket.trigger, None);
    assert_eq!(*ticket.woken.borrow(), None);
    for name in ["one", "two"] {
        bench.queue.add("a", bench.start, Urgency::Trigger, trigger(name));
    }
    assert_eq!(*ticket.woken.borrow(), trigger("two"));
    bench.add("a", 0, Urgency::Timer);
    bench.queue.finish(&"a", None);
    assert_eq!(bench.queue.pop(bench.start).unwrap().trigger, trigger("two"), "a timer hides no trigger");
}

#[test]
fn a_running_pass_is_not_told_of_what_it_depends_on_but_another_follows() {
    let mut bench = Bench::new();
    bench.add("a", 0, Urgency::Timer);
    let ticket = bench.queue.pop(bench.start).unwrap();
    bench.queue.add("a", bench.start, Urgency::Dependency, trigger("dep"));
    assert_eq!(*ticket.woken.borrow(), None);
    bench.queue.finish(&"a", None);
    assert_eq!(bench.queue.pop(bench.start).unwrap().trigger, trigger("dep"));
}

#[test]
fn retries_are_counted_per_object_and_cause_and_forgotten_on_success() {
    let mut bench = Bench::new();
    bench.add("a", 0, Urgency::Timer);
    bench.add("b", 0, Urgency::Timer);
    let counts: Vec<u32> = ["apply", "apply", "apply", "read", "read", "apply"]
        .into_iter()
        .map(|cause| bench.queue.retry(&"a", cause))
        .collect();
    assert_eq!(counts, [0, 1, 2, 0, 1, 0], "another cause starts afresh");
    assert_eq!(bench.queue.retry(&"b", "apply"), 0, "another object has its own count");
    assert_eq!(bench.queue.attempts(&"a", "apply"), 1);
    bench.queue.succeed(&"a");
    assert_eq!(bench.queue.attempts(&"a", "apply"), 0);
}

#[test]
fn a_forgotten_object_has_no_pass_and_takes_no_room() {
    let mut bench = Bench::new();
    bench.add("a", 0, Urgency::Trigger);
    bench.add("b", 0, Urgency::Trigger);
    bench.queue.forget(&"a");
    assert_eq!(bench.drain(10), ["b"]);
    assert!(bench.queue.is_empty());
}

#[test]
fn the_depth_counts_what_is_due_and_has_not_begun() {
    let mut bench = Bench::new();
    for (id, at) in [("a", 0), ("b", 0), ("c", 50)] {
        bench.add(id, at, Urgency::Timer);
    }
    assert_eq!(bench.queue.depth(bench.start), 2);
    let ticket = bench.queue.pop(bench.start + ms(7)).unwrap();
    assert_eq!(ticket.waited, ms(7));
    assert_eq!(bench.queue.depth(bench.start + ms(50)), 2);
}
