//! The store against the orders in which watches and answers can arrive.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;

use super::super::Store;

fn object(name: &str, uid: &str, version: &str) -> ConfigMap {
    let metadata = ObjectMeta {
        namespace: Some("apps".into()),
        name: Some(name.into()),
        uid: Some(uid.into()),
        resource_version: Some(version.into()),
        ..ObjectMeta::default()
    };
    ConfigMap { metadata, ..ConfigMap::default() }
}

fn version(store: &Store<ConfigMap>, name: &str) -> Option<String> {
    store.get("apps", name).and_then(|o| o.metadata.resource_version.clone())
}

#[test]
fn an_object_is_never_older_than_the_newest_answer() {
    for (order, newest) in [(["9", "10"], "10"), (["10", "9"], "10"), (["99", "100"], "100"), (["7", "7"], "7")] {
        let store = Store::new();
        for rv in order {
            store.apply(object("a", "u", rv));
        }
        assert_eq!(version(&store, "a").as_deref(), Some(newest), "{order:?}");
    }
}

#[test]
fn only_news_is_told_with_what_was_before() {
    let store = Store::new();
    let (before, after) = store.apply(object("a", "u", "1")).unwrap();
    assert!(before.is_none() && after.is_some());
    assert!(store.apply(object("a", "u", "1")).is_none(), "the echo of a write");
    let (before, _) = store.apply(object("a", "u", "2")).unwrap();
    assert_eq!(before.unwrap().metadata.resource_version.as_deref(), Some("1"));
}

#[test]
fn a_late_answer_does_not_bring_back_what_is_gone() {
    let store = Store::new();
    store.apply(object("a", "old", "1"));
    assert!(store.delete(&object("a", "old", "3")).is_some());
    assert!(store.apply(object("a", "old", "2")).is_none());
    assert!(store.is_empty());
    store.apply(object("a", "new", "4"));
    assert!(store.delete(&object("a", "old", "3")).is_none(), "a late delete is not the new object's");
    assert_eq!(version(&store, "a").as_deref(), Some("4"));
}

#[test]
fn a_whole_list_removes_what_it_does_not_show_in_its_own_scope() {
    let store = Store::new();
    for name in ["a", "b"] {
        store.apply(object(name, name, "1"));
    }
    let mut elsewhere = object("c", "c", "1");
    elsewhere.metadata.namespace = Some("other".into());
    store.apply(elsewhere);
    let seen = HashSet::from([("apps".to_owned(), "a".to_owned())]);
    let gone = store.retain("apps", &seen);
    assert_eq!(gone.len(), 1);
    assert!(store.get("apps", "b").is_none() && store.get("other", "c").is_some());
    assert!(store.apply(object("b", "b", "1")).is_none(), "it was missed while the watch was down, and stays gone");
    assert_eq!(store.retain("", &seen).len(), 1, "an empty scope is all namespaces");
    assert_eq!(store.list_in("apps").len(), 1);
}
