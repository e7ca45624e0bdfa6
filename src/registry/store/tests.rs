//! When tags are looked at again, what becomes visible when, and what survives a restart.

use super::super::Labels;
use super::*;
use crate::object::pattern::Pattern;

const HOUR: i64 = 3600;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

fn name() -> CanonicalName {
    CanonicalName { domain: "quay.io".to_owned(), path: "a/b".to_owned() }
}

fn strings(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

fn image(digest: &str) -> Found {
    let labels = Labels { created: Some(at(-HOUR)), build_date: None };
    let created = Some(at(-2 * HOUR));
    Found::Image { pinned: digest.to_owned(), digest: None, image_id: "sha256:id".to_owned(), labels, created }
}

fn want() -> Want {
    Want { patterns: vec![Pattern::parse("*")], ..Want::default() }
}

fn store() -> Store {
    Store::open(None, &["docker.io/*".to_owned()])
}

#[test]
fn waits_double_while_a_tag_stays_and_halve_when_it_moves() {
    let (store, name) = (store(), name());
    store.note_tags(&name, Some((strings(&["1"]), None)), at(0));
    let again = |now| store.work(&name, &want(), at(now)).again.map(|t| t.as_second() - at(0).as_second());
    assert!(store.note_found(&name, "1", image("a"), at(0)));
    assert_eq!(again(0), Some(HOUR));
    store.note_same(&name, "1", at(HOUR));
    assert_eq!(again(HOUR), Some(3 * HOUR));
    assert!(!store.note_found(&name, "1", image("a"), at(3 * HOUR)));
    assert_eq!(again(3 * HOUR), Some(7 * HOUR));
    assert!(store.note_found(&name, "1", image("b"), at(7 * HOUR)));
    assert_eq!(again(7 * HOUR), Some(9 * HOUR));
    for _ in 0..12 {
        store.note_same(&name, "1", at(9 * HOUR));
    }
    assert_eq!(again(9 * HOUR), Some((9 + 7 * 24) * HOUR));
    for digest in ["c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"] {
        store.note_found(&name, "1", image(digest), at(9 * HOUR));
    }
    assert_eq!(again(9 * HOUR), Some(9 * HOUR + 300));
    store.note_found(&name, "1", Found::excluded(String::new(), "no".to_owned()), at(9 * HOUR));
    assert_eq!(again(9 * HOUR), Some(33 * HOUR));
}

#[test]
fn a_failing_tag_does_not_hide_the_others() {
    let (store, name) = (store(), name());
    assert!(store.note_tags(&name, Some((strings(&["1", "2"]), None)), at(0)));
    store.note_tag_failure(&name, "1", at(0));
    store.note_found(&name, "2", image("a"), at(0));
    let view = store.view(&name).unwrap();
    assert_eq!(view.images.keys().collect::<Vec<_>>(), ["2"]);
    assert!(!view.is_complete_for(&Pattern::parse("*")) && view.is_complete_for(&Pattern::parse("2*")));
    let work = |now| store.work(&name, &want(), at(now)).agenda.decide;
    assert_eq!((work(59), work(60)), (vec![], strings(&["1"])));
    store.note_tag_failure(&name, "1", at(60));
    assert_eq!((work(179), work(180)), (vec![], strings(&["1"])));
}

#[test]
fn what_was_never_listed_is_missing_and_a_failure_keeps_what_was_known() {
    let (store, name) = (store(), name());
    assert_eq!(store.view(&name), Err(ReadError::NotCached));
    let error = Error::Protocol { url: "https://quay.io".to_owned(), reason: "HTML".to_owned() };
    store.note_failure(&name, &error);
    assert_eq!(store.view(&name).unwrap_err().to_string(), "item not in cache, last error: https://quay.io: HTML");
    store.note_tags(&name, Some((strings(&["1"]), None)), at(0));
    store.note_failure(&name, &error);
    assert_eq!(store.view(&name).unwrap().tags, ["1"]);
}

#[test]
fn new_tags_are_told_and_gone_ones_forgotten() {
    let (store, name) = (store(), name());
    let note = |tags: &[&str]| store.note_tags(&name, Some((strings(tags), None)), at(0));
    assert!(note(&["1", "2"]));
    store.note_found(&name, "1", image("a"), at(0));
    assert!(!note(&["2", "1"]));
    assert!(!note(&["2"]));
    assert!(store.view(&name).unwrap().images.is_empty());
    assert!(note(&["2", "3"]));
    assert!(!store.note_tags(&name, None, at(5)));
    assert_eq!(store.view(&name).unwrap().last_update, Some(at(5)));
}

#[test]
fn labels_say_when_an_image_was_made_where_that_is_configured() {
    let hub = CanonicalName { domain: "docker.io".to_owned(), path: "a/b".to_owned() };
    let store = store();
    for (name, created) in [(name(), at(-2 * HOUR)), (hub, at(-HOUR))] {
        store.note_tags(&name, Some((strings(&["1"]), None)), at(0));
        store.note_found(&name, "1", image("a"), at(0));
        let info = store.view(&name).unwrap().images["1"].clone();
        assert_eq!((info.created, info.last_fetched), (Some(created), at(0)));
    }
}

#[test]
fn a_notification_has_what_runs_looked_at_again() {
    let (store, name) = (store(), name());
    store.note_tags(&name, Some((strings(&["1.0.0", "1.1.0", "dev"]), None)), at(0));
    for tag in ["1.0.0", "1.1.0", "dev"] {
        store.note_found(&name, tag, image("a"), at(0));
    }
    let want = Want { patterns: vec![Pattern::parse("semver:*")], current: strings(&["dev"]), ..Want::default() };
    assert!(store.work(&name, &want, at(1)).agenda.refresh.is_empty());
    store.expire(&name, &want, at(1));
    let agenda = store.work(&name, &want, at(1)).agenda;
    assert_eq!((agenda.refresh, agenda.rest), (strings(&["dev", "1.1.0"]), vec![]));
}

#[tokio::test]
async fn what_is_known_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/registry.redb");
    let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap();
    let open = || Store::open(Some(&path), &[]);
    let store = open();
    store.note_tags(&name(), Some((strings(&["1", "2", "3"]), Some("\"v\"".to_owned()))), now);
    store.note_found(&name(), "1", image("a"), now);
    store.note_found(&name(), "2", Found::absent(), now);
    store.save().await;
    store.note_tags(&name(), Some((strings(&["1", "2"]), Some("\"v\"".to_owned()))), now);
    assert_eq!(store.save().await, Some(true));
    assert_eq!(store.save().await, None);
    let before = store.view(&name()).unwrap();
    drop(store);
    let store = open();
    assert_eq!(store.view(&name()).unwrap(), before);
    assert_eq!(store.listed(&name()), (Some(now), Some("\"v\"".to_owned())));
    assert_eq!(store.work(&name(), &want(), now).agenda, Agenda::default());
}

#[test]
fn a_damaged_file_is_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.redb");
    std::fs::write(&path, b"no database").unwrap();
    let store = Store::open(Some(&path), &[]);
    assert_eq!(store.view(&name()), Err(ReadError::NotCached));
}

#[test]
fn a_place_where_no_file_can_be_made_costs_only_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"").unwrap();
    let store = Store::open(Some(&file.join("registry.redb")), &[]);
    assert!(store.note_tags(&name(), Some((strings(&["1"]), None)), at(0)));
    assert_eq!(store.view(&name()).unwrap().tags, ["1"]);
}

#[test]
fn a_tag_that_was_asked_for_before_it_was_pushed_is_looked_at_once_it_is_listed() {
    let (store, name) = (store(), name());
    store.note_tags(&name, Some((strings(&["1"]), None)), at(0));
    store.note_found(&name, "2", Found::absent(), at(0));
    store.note_found(&name, "1", Found::absent(), at(0));
    assert!(!store.is_known(&name, "2", at(1)));
    assert!(store.note_tags(&name, Some((strings(&["1", "2"]), None)), at(60)));
    let want = Want { patterns: vec![Pattern::parse("semver:*")], ..Want::default() };
    assert_eq!(store.work(&name, &want, at(60)).agenda.decide, ["2"]);
}

#[tokio::test]
async fn what_nobody_wants_any_more_is_forgotten_here_and_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.redb");
    let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap();
    let (week, other) = (8 * 24 * HOUR, CanonicalName { domain: "quay.io".into(), path: "c/d".into() });
    let store = Store::open(Some(&path), &[]);
    for name in [&name(), &other] {
        store.note_tags(name, Some((strings(&["1"]), None)), now);
        store.note_found(name, "1", image("a"), now);
    }
    store.forget(|_| false, now);
    assert!(store.view(&name()).is_ok(), "it was listed just now");
    store.forget(|name| *name == other, now + Duration::from_secs(week.unsigned_abs()));
    assert_eq!(store.view(&name()), Err(ReadError::NotCached));
    store.save().await;
    drop(store);
    let store = Store::open(Some(&path), &[]);
    assert_eq!((store.view(&name()).is_ok(), store.view(&other).is_ok()), (false, true));
    assert_eq!(store.save().await, None, "nothing is left to be removed");
}
