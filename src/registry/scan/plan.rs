//! Which job comes next: a table of the wanted repositories with what is due for each. Times come in as arguments, and
//! nothing is asked here.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::super::limiter::Urgency;
use super::super::{Want, Wants};
use super::Agenda;
use crate::object::image::CanonicalName;

/// Jobs at once that somebody may wait for, of all hosts and of one: a host that is slow or dead must leave room for the
/// others.
const FOREGROUND: usize = 64;
const OF_HOST: usize = 8;
/// Jobs beyond those which somebody does wait for.
const HURRIED: usize = 8;
/// Jobs at once that nobody waits for, of all hosts and of one.
const BACKGROUND: usize = 8;
const BACKGROUND_OF_HOST: usize = 2;
/// Agendas made in one go; each takes some milliseconds when there are thousands of tags.
const AGENDAS: usize = 8;
/// Tags of one job.
const CHUNK: usize = 32;
const BACKGROUND_CHUNK: usize = 100;

/// Something to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Job {
    pub(in super::super) name: CanonicalName,
    pub(in super::super) urgency: Urgency,
    pub(in super::super) task: Task,
}

/// What is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Task {
    /// The tags there are.
    List,
    /// What is behind these tags.
    Fetch(Vec<String>),
}

/// The wanted repositories.
#[derive(Default)]
pub(in super::super) struct Plan {
    wants: Wants,
    items: BTreeMap<CanonicalName, Item>,
    /// Jobs under way, by host: those that somebody may wait for, and the others.
    running: BTreeMap<String, [usize; 2]>,
}

#[derive(Default)]
struct Item {
    list_due: Option<Timestamp>,
    hurried: bool,
    /// It was hurried while a job was under way, which may have been answered before there was something new.
    hurried_late: bool,
    agenda: Agenda,
    again: Option<Timestamp>,
    busy: [bool; 2],
    /// Something became known that a choice has not been told of.
    news: bool,
}

impl Plan {
    /// Takes over what is wanted; the agendas of repositories that are wanted otherwise than before become stale. `listed`
    /// says when a repository's tags were listed last.
    pub(in super::super) fn want(
        &mut self,
        wants: Wants,
        poll: Duration,
        listed: impl Fn(&CanonicalName) -> Option<Timestamp>,
    ) {
        self.items.retain(|name, item| wants.contains_key(name) || item.busy != [false; 2]);
        for (name, want) in wants.iter() {
            let new = || Item { list_due: listed(name).map(|at| at + poll), ..Item::default() };
            let item = self.items.entry(name.clone()).or_insert_with(new);
            let old = self.wants.get(name);
            let same = |old: &Want| {
                (&old.patterns, &old.others, &old.current) == (&want.patterns, &want.others, &want.current)
            };
            if !old.is_some_and(same) {
                item.again = Some(Timestamp::MIN);
            }
        }
        self.wants = wants;
    }

    /// What is wanted of a repository.
    pub(in super::super) fn wanted(&self, name: &CanonicalName) -> Option<&Want> {
        self.wants.get(name)
    }

    /// Has a repository scanned before all others. Returns whether it is wanted at all.
    pub(in super::super) fn hurry(&mut self, name: &CanonicalName) -> bool {
        let item = self.items.get_mut(name).filter(|_| self.wants.contains_key(name));
        item.is_some_and(|item| {
            (item.hurried, item.list_due) = (true, None);
            item.hurried_late |= item.busy[0];
            true
        })
    }

    /// Some of the repositories whose agenda is to be made anew, because a time has come or because they are wanted
    /// otherwise than before.
    pub(in super::super) fn stale(&self, now: Timestamp) -> Vec<CanonicalName> {
        let stale = |item: &Item| item.again.is_some_and(|at| at <= now) && !item.busy[0];
        let wanted = self.items.iter().filter(|(name, item)| stale(item) && self.wants.contains_key(name));
        wanted.take(AGENDAS).map(|(name, _)| name.clone()).collect()
    }

    /// Sets what is to be asked of a repository. Returns whether a choice can rest on it, and should hear of it.
    pub(in super::super) fn set_agenda(
        &mut self,
        name: &CanonicalName,
        agenda: Agenda,
        again: Option<Timestamp>,
    ) -> bool {
        let Some(item) = self.items.get_mut(name) else { return false };
        (item.agenda, item.again) = (agenda, again);
        if item.agenda.decide.is_empty() && item.list_due.is_some() {
            item.hurried &= !item.agenda.refresh.is_empty();
            return std::mem::take(&mut item.news);
        }
        false
    }

    /// Notes that something became known which a choice may rest on.
    pub(in super::super) fn note_news(&mut self, name: &CanonicalName) {
        if let Some(item) = self.items.get_mut(name) {
            item.news = true;
        }
    }

    /// Takes the most urgent job that may run now. `open` says whether a host may be asked, with that urgency.
    pub(in super::super) fn next(&mut self, now: Timestamp, open: impl Fn(&str, Urgency) -> bool) -> Option<Job> {
        let mut best: Option<((Urgency, Timestamp, usize), CanonicalName, Task)> = None;
        for (name, item) in &self.items {
            let Some(want) = self.wants.get(name) else { continue };
            let Some((urgency, task)) = item.task(want, now) else { continue };
            if !self.has_room(&name.domain, urgency) || !open(&name.domain, urgency) {
                continue;
            }
            let size = if let Task::Fetch(_) = &task { item.agenda.decide.len() } else { 0 };
            let oldest = if matches!(task, Task::List) { item.list_due.unwrap_or(Timestamp::MIN) } else { now };
            let key = (urgency, oldest, size);
            if best.as_ref().is_none_or(|(other, ..)| key < *other) {
                best = Some((key, name.clone(), task));
            }
        }
        let ((urgency, ..), name, task) = best?;
        self.running.entry(name.domain.clone()).or_default()[slot(urgency)] += 1;
        if let Some(item) = self.items.get_mut(&name) {
            item.busy[slot(urgency)] = true;
        }
        Some(Job { name, urgency, task })
    }

    /// Notes that a job has ended; its tags are listed again at `list_due`, if it was about them.
    pub(in super::super) fn done(&mut self, job: &Job, list_due: Option<Timestamp>) {
        if let Some(running) = self.running.get_mut(&job.name.domain) {
            running[slot(job.urgency)] -= 1;
            if *running == [0; 2] {
                self.running.remove(&job.name.domain);
            }
        }
        if let Some(item) = self.items.get_mut(&job.name) {
            item.busy[slot(job.urgency)] = false;
            item.list_due = list_due.or(item.list_due);
            if !item.busy[0] && std::mem::take(&mut item.hurried_late) {
                item.list_due = None;
            }
        }
    }

    fn has_room(&self, host: &str, urgency: Urgency) -> bool {
        let slot = slot(urgency);
        let all: usize = self.running.values().map(|running| running[slot]).sum();
        let of_host = self.running.get(host).map_or(0, |running| running[slot]);
        let (most, most_of_host) = match urgency {
            Urgency::Background => (BACKGROUND, BACKGROUND_OF_HOST),
            Urgency::Now => (FOREGROUND + HURRIED, OF_HOST + HURRIED),
            _ => (FOREGROUND, OF_HOST),
        };
        all < most && of_host < most_of_host
    }
}

fn slot(urgency: Urgency) -> usize {
    usize::from(urgency == Urgency::Background)
}

impl Item {
    /// The most urgent thing to be asked of this repository.
    fn task(&self, want: &Want, now: Timestamp) -> Option<(Urgency, Task)> {
        let chunk = |tags: &[String], size: usize| Task::Fetch(tags.iter().take(size).cloned().collect());
        if !self.busy[0] {
            let list_is_due = self.list_due.is_none_or(|due| due <= now);
            let list = || if want.automated { Urgency::List } else { Urgency::ListOther };
            let hurried = |urgency| if self.hurried { Urgency::Now } else { urgency };
            if list_is_due && self.hurried {
                return Some((Urgency::Now, Task::List));
            }
            if !self.agenda.decide.is_empty() && want.automated {
                return Some((hurried(Urgency::Decide), chunk(&self.agenda.decide, CHUNK)));
            }
            if list_is_due {
                return Some((list(), Task::List));
            }
            let known = [&self.agenda.refresh, &self.agenda.decide];
            if let Some(tags) = known.into_iter().find(|tags| !tags.is_empty()) {
                return Some((hurried(Urgency::Refresh), chunk(tags, CHUNK)));
            }
            if !self.agenda.offer.is_empty() {
                return Some((Urgency::Offer, chunk(&self.agenda.offer, CHUNK)));
            }
        }
        let idle = self.busy == [false; 2] && !self.agenda.rest.is_empty();
        idle.then(|| (Urgency::Background, chunk(&self.agenda.rest, BACKGROUND_CHUNK)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    const POLL: Duration = Duration::from_secs(60);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn name(path: &str) -> CanonicalName {
        CanonicalName { domain: "quay.io".to_owned(), path: path.to_owned() }
    }

    fn strings(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|tag| (*tag).to_owned()).collect()
    }

    fn plan(names: &[(&str, bool)]) -> Plan {
        let want = |automated| Want { automated, ..Want::default() };
        let wants = names.iter().map(|(path, automated)| (name(path), want(*automated))).collect();
        let mut plan = Plan::default();
        plan.want(Arc::new(wants), POLL, |_| None);
        plan
    }

    fn next(plan: &mut Plan, second: i64) -> Option<(String, Urgency, Task)> {
        plan.next(at(second), |_, _| true).map(|job| (job.name.path, job.urgency, job.task))
    }

    fn list(path: &str, urgency: Urgency) -> Option<(String, Urgency, Task)> {
        Some((path.to_owned(), urgency, Task::List))
    }

    fn fetch(path: &str, urgency: Urgency, tags: &[&str]) -> Option<(String, Urgency, Task)> {
        Some((path.to_owned(), urgency, Task::Fetch(strings(tags))))
    }

    fn done(plan: &mut Plan, path: &str, urgency: Urgency, list_due: Option<i64>) {
        plan.done(&Job { name: name(path), urgency, task: Task::List }, list_due.map(at));
    }

    #[test]
    fn automated_repositories_come_first_and_a_notified_one_before_all() {
        let mut plan = plan(&[("a", false), ("b", true), ("c", false), ("d", true)]);
        assert!(plan.hurry(&name("c")) && !plan.hurry(&name("x")));
        assert_eq!(next(&mut plan, 0), list("c", Urgency::Now));
        assert_eq!(next(&mut plan, 0), list("b", Urgency::List));
        assert_eq!(next(&mut plan, 0), list("d", Urgency::List));
        assert_eq!(next(&mut plan, 0), list("a", Urgency::ListOther));
        assert_eq!(next(&mut plan, 0), None);
        done(&mut plan, "b", Urgency::List, Some(60));
        assert_eq!(next(&mut plan, 59), None);
        assert_eq!(next(&mut plan, 60), list("b", Urgency::List));
    }

    #[test]
    fn what_a_choice_waits_for_comes_before_further_lists_and_small_things_before_large() {
        let mut plan = plan(&[("a", true), ("b", true), ("c", true)]);
        for path in ["a", "b"] {
            assert_eq!(next(&mut plan, 0), list(path, Urgency::List));
            done(&mut plan, path, Urgency::List, Some(60));
        }
        let agenda = |decide: &[&str], rest: &[&str]| Agenda {
            decide: strings(decide),
            rest: strings(rest),
            ..Agenda::default()
        };
        plan.note_news(&name("b"));
        assert!(!plan.set_agenda(&name("a"), agenda(&["3", "2", "1"], &[]), None));
        assert!(!plan.set_agenda(&name("b"), agenda(&["9"], &["8"]), None));
        assert_eq!(next(&mut plan, 0), fetch("b", Urgency::Decide, &["9"]));
        assert_eq!(next(&mut plan, 0), fetch("a", Urgency::Decide, &["3", "2", "1"]));
        assert_eq!(next(&mut plan, 0), list("c", Urgency::List));
        assert_eq!(next(&mut plan, 0), None);
        done(&mut plan, "b", Urgency::Decide, None);
        assert!(plan.set_agenda(&name("b"), agenda(&[], &["8"]), None));
        assert_eq!(next(&mut plan, 0), fetch("b", Urgency::Background, &["8"]));
        assert!(!plan.set_agenda(&name("b"), agenda(&[], &["8"]), None));
    }

    #[test]
    fn a_host_that_is_closed_is_passed_over() {
        let mut plan = plan(&[("a", true)]);
        assert_eq!(plan.next(at(0), |_, _| false), None);
        assert_eq!(next(&mut plan, 0), list("a", Urgency::List));
    }

    #[test]
    fn what_was_listed_before_a_restart_waits_for_its_time() {
        let mut plan = Plan::default();
        let wants = Arc::new(BTreeMap::from([(name("a"), Want::default())]));
        plan.want(wants, POLL, |_| Some(at(-20)));
        assert_eq!(next(&mut plan, 39), None);
        assert_eq!(next(&mut plan, 40), list("a", Urgency::ListOther));
    }

    #[test]
    fn a_repository_that_is_no_longer_wanted_is_left_alone() {
        let mut plan = plan(&[("a", true), ("b", true)]);
        assert_eq!(next(&mut plan, 0), list("a", Urgency::List));
        plan.want(Wants::default(), POLL, |_| None);
        assert_eq!(next(&mut plan, 0), None);
        done(&mut plan, "a", Urgency::List, Some(60));
        assert!(!plan.hurry(&name("a")));
    }

    #[test]
    fn jobs_at_once_are_bounded() {
        let names: Vec<String> = (0..40).map(|n| format!("r{n:02}")).collect();
        let mut plan = plan(&names.iter().map(|n| (n.as_str(), true)).collect::<Vec<_>>());
        let count = std::iter::from_fn(|| next(&mut plan, 0)).count();
        assert_eq!(count, OF_HOST);
        assert!(plan.hurry(&name("r39")));
        assert_eq!(next(&mut plan, 0), list("r39", Urgency::Now));
    }

    #[test]
    fn a_host_that_does_not_answer_leaves_room_for_the_others() {
        let at_host = |host: &str, n| CanonicalName { domain: host.to_owned(), path: format!("a/{n}") };
        let names = (0..40).map(|n| at_host("dead.example.org", n)).chain([at_host("quay.io", 0)]);
        let mut plan = Plan::default();
        plan.want(Arc::new(names.map(|name| (name, Want::default())).collect()), POLL, |_| None);
        let hosts: Vec<_> = std::iter::from_fn(|| plan.next(at(0), |_, _| true)).map(|job| job.name.domain).collect();
        assert_eq!((hosts.len(), hosts.last().map(String::as_str)), (OF_HOST + 1, Some("quay.io")));
    }

    #[test]
    fn what_nothing_waits_for_is_asked_after_all_that_something_does() {
        let mut plan = plan(&[("a", true), ("b", true)]);
        assert_eq!(next(&mut plan, 0), list("a", Urgency::List));
        done(&mut plan, "a", Urgency::List, Some(60));
        let agenda = Agenda { refresh: strings(&["1"]), offer: strings(&["2"]), ..Agenda::default() };
        plan.set_agenda(&name("a"), agenda, None);
        assert_eq!(next(&mut plan, 0), list("b", Urgency::List));
        assert_eq!(next(&mut plan, 0), fetch("a", Urgency::Refresh, &["1"]));
        done(&mut plan, "a", Urgency::Refresh, None);
        plan.set_agenda(&name("a"), Agenda { offer: strings(&["2"]), ..Agenda::default() }, None);
        assert_eq!(next(&mut plan, 0), fetch("a", Urgency::Offer, &["2"]));
    }

    #[test]
    fn what_is_told_while_a_list_is_under_way_is_listed_again() {
        let mut plan = plan(&[("a", true)]);
        assert_eq!(next(&mut plan, 0), list("a", Urgency::List));
        assert!(plan.hurry(&name("a")));
        done(&mut plan, "a", Urgency::List, Some(60));
        assert!(!plan.set_agenda(&name("a"), Agenda::default(), None));
        assert_eq!(next(&mut plan, 0), list("a", Urgency::Now));
        done(&mut plan, "a", Urgency::Now, Some(60));
        plan.set_agenda(&name("a"), Agenda::default(), None);
        assert_eq!(next(&mut plan, 59), None);
    }
}
