//! Plans by tables: what is wanted and what is live, and the lines of the plan that follow.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::object::{Digest, Gvk, Ignore, Key, Object, Origin};

const OURS: Live = Live {
    uid: [0; 16],
    ours: true,
    theirs: false,
    entry: Some([7; 16]),
    checksum: None,
    ignore: None,
    has_owner: false,
    deleting: false,
    take_over: false,
    others_later: false,
};
const RECORD: Record = Record { digest: Digest([1; 32]), entry: Some([7; 16]) };

fn gvk(kind: &str) -> Gvk {
    match kind {
        "CustomResourceDefinition" => Gvk::new("apiextensions.k8s.io/v1", kind),
        _ => Gvk::new("v1", kind),
    }
}

fn key(kind: &str, name: &str) -> Key {
    let cluster = matches!(kind, "Namespace" | "CustomResourceDefinition");
    Key { group: gvk(kind).group, kind: kind.into(), namespace: (!cluster).then(|| "demo".into()), name: name.into() }
}

fn target(kind: &str, name: &str, annotations: serde_json::Value) -> Arc<Target> {
    let key = key(kind, name);
    let value = json!({ "apiVersion": gvk(kind).api_version(), "kind": kind,
                        "metadata": { "name": name, "annotations": annotations } });
    let origin = Origin { file: "a.yaml".into(), line: 1, generated: false };
    let object = Arc::new(Object::new(&value, origin.clone()).unwrap());
    let own_checksum = object.policies().get("sync-checksum").is_some();
    let want = Wanted { object, digest: Digest([1; 32]), mark: "sha256.x".into(), checksum: [9; 16], own_checksum };
    Arc::new(Target {
        id: key.id(),
        class: Target::class_of(&key.group, kind),
        key,
        gvk: gvk(kind),
        origin: Some(origin),
        want: Some(want),
    })
}

fn action(target: &Arc<Target>, live: Option<Live>, record: Option<Record>, force: bool) -> Action {
    let input = Input {
        revision: "r",
        reach: Reach::Whole,
        wanted: &[Candidate::Known(Arc::clone(target))],
        live: &|_| live,
        record: &|_| record,
        force,
        correct_drift: true,
        rules: Rules::MARKED,
    };
    plan(&input).steps.remove(0).action
}

#[test]
fn objects_of_an_owner_go_by_records_and_labels_and_by_no_policy_or_checksum() {
    let ignored = target("ConfigMap", "a", json!({ "fluxcd.io/ignore": "true" }));
    let fits = Live { checksum: Some([9; 16]), ..OURS };
    let stale_checksum = Live { checksum: Some([8; 16]), ..OURS };
    for (live, record, expected) in [
        (None, None, Action::Apply(Why::New)),
        (Some(OURS), Some(RECORD), Action::Keep),
        (Some(stale_checksum), Some(RECORD), Action::Keep),
        (Some(fits), None, Action::Apply(Why::Unrecorded)),
        (Some(Live { take_over: true, ..OURS }), Some(RECORD), Action::Apply(Why::Drifted)),
        (Some(Live { entry: None, ..OURS }), Some(RECORD), Action::Apply(Why::Drifted)),
    ] {
        let input = Input {
            revision: "",
            reach: Reach::Whole,
            wanted: &[Candidate::Known(Arc::clone(&ignored))],
            live: &|_| live,
            record: &|_| record,
            force: false,
            correct_drift: true,
            rules: Rules::OWNED,
        };
        assert_eq!(plan(&input).steps.remove(0).action, expected, "{live:?} {record:?}");
    }
}

#[test]
fn an_object_is_left_alone_only_when_it_is_what_we_applied_last() {
    let plain = target("ConfigMap", "a", json!({}));
    let stale = Record { digest: Digest([2; 32]), ..RECORD };
    let shrunk = Live { entry: Some([8; 16]), ..OURS };
    let fits = Live { checksum: Some([9; 16]), ..OURS };
    for (live, record, expected) in [
        (None, None, Action::Apply(Why::New)),
        (Some(Live { ours: false, ..OURS }), None, Action::Apply(Why::New)),
        (Some(OURS), Some(RECORD), Action::Keep),
        (Some(OURS), Some(stale), Action::Apply(Why::Changed)),
        (Some(shrunk), Some(RECORD), Action::Apply(Why::Drifted)),
        (Some(Live { entry: None, ..OURS }), Some(RECORD), Action::Apply(Why::Drifted)),
        (Some(Live { entry: None, ..fits }), None, Action::Apply(Why::Drifted)),
        (Some(fits), None, Action::Keep),
        (Some(Live { others_later: true, ..fits }), None, Action::Apply(Why::Unrecorded)),
        (Some(OURS), None, Action::Apply(Why::Unrecorded)),
        (Some(Live { ignore: Some(Ignore::Always), ..OURS }), None, Action::Skip(SkipReason::IgnoredLive)),
        (Some(Live { ignore: Some(Ignore::SyncOnly), ..OURS }), Some(RECORD), Action::Keep),
    ] {
        assert_eq!(action(&plain, live, record, false), expected, "{live:?} {record:?}");
    }
    assert_eq!(action(&plain, Some(OURS), Some(RECORD), true), Action::Apply(Why::Forced));
    let ignored = target("ConfigMap", "a", json!({ "fluxcd.io/ignore": "true" }));
    assert_eq!(action(&ignored, None, None, false), Action::Skip(SkipReason::IgnoredInFile));
    let copied = target("ConfigMap", "a", json!({ "fluxcd.io/sync-checksum": "copied from the cluster" }));
    assert_eq!(
        action(&copied, Some(fits), None, false),
        Action::Apply(Why::Unrecorded),
        "its own checksum proves nothing"
    );
}

struct Case {
    managed: Vec<Managed>,
    limit: Limit,
    mode: GcMode,
    doubts: Doubts,
    own: HashSet<crate::object::ObjectId>,
    in_use: HashSet<Key>,
    approved: HashSet<Uid>,
}

impl Case {
    fn new(objects: &[(&str, &str)]) -> Self {
        let managed = objects.iter().enumerate().map(|(n, (kind, name))| Managed {
            key: key(kind, name),
            gvk: gvk(kind),
            live: Live { uid: [n as u8 + 1; 16], ..OURS },
        });
        Self {
            managed: managed.collect(),
            limit: Limit::Objects(10),
            mode: GcMode::On,
            doubts: Doubts::default(),
            own: HashSet::new(),
            in_use: HashSet::new(),
            approved: HashSet::new(),
        }
    }

    fn plan(&self, wanted: &[Candidate]) -> Plan {
        let live: HashMap<&Key, Live> = self.managed.iter().map(|m| (&m.key, m.live)).collect();
        let mut plan = plan(&Input {
            revision: "r",
            reach: Reach::Whole,
            wanted,
            live: &|t| live.get(&t.key).copied(),
            record: &|_| Some(RECORD),
            force: false,
            correct_drift: true,
            rules: Rules::MARKED,
        });
        let collect = Collect {
            mode: self.mode,
            limit: self.limit,
            managed: &self.managed,
            doubts: &self.doubts,
            own: &self.own,
            in_use: &self.in_use,
            approved: &self.approved,
        };
        super::collect(&mut plan, wanted, &collect);
        plan
    }

    /// The lines of a plan for which the config map `stays` is wanted.
    fn lines(&self) -> Vec<String> {
        let stays = Candidate::Known(target("ConfigMap", "stays", json!({})));
        let plan = self.plan(&[stays]);
        plan.steps.iter().filter(|s| s.target.id.name() != "stays").map(ToString::to_string).collect()
    }
}

#[test]
fn deletes_go_in_reverse_order_and_policies_on_the_live_object_keep_it() {
    let mut case = Case::new(&[("ConfigMap", "stays"), ("Namespace", "n"), ("Deployment", "d"), ("ConfigMap", "c")]);
    assert_eq!(case.lines(), ["delete demo:deployment/d", "delete demo:configmap/c", "delete <cluster>:namespace/n"]);
    case.managed[2].live.ignore = Some(Ignore::SyncOnly);
    case.managed[3].live.has_owner = true;
    case.own.insert(key("Namespace", "n").id());
    assert_eq!(
        case.lines(),
        [
            "skip   demo:deployment/d (not in git, but sync_only on the live object)",
            "skip   demo:configmap/c (not in git, but owned by another object)",
            "skip   <cluster>:namespace/n (not in git, but this process runs on it)",
        ]
    );
    let mut dry = Case::new(&[("ConfigMap", "c")]);
    dry.mode = GcMode::DryRun;
    assert_eq!(dry.lines(), ["skip   demo:configmap/c (would be deleted; dry run)"]);
}

#[test]
fn doubts_keep_everything_that_they_might_concern() {
    let mut case = Case::new(&[("ConfigMap", "c"), ("Secret", "s")]);
    case.doubts.kinds.insert((String::new(), "Secret".into()), "reading v1/Secret failed".into());
    assert_eq!(
        case.lines(),
        ["skip   demo:secret/s (not in git, but kept because reading v1/Secret failed)", "delete demo:configmap/c",]
    );
    case.doubts.all = Some("a generator failed".into());
    assert!(case.lines().iter().all(|l| l.ends_with("kept because a generator failed)")), "{:?}", case.lines());

    let case = Case::new(&[("Toy", "ball"), ("Toy", "other")]);
    let unknown = Candidate::Skipped(target("Toy", "ball", json!({})), SkipReason::KindUnknown("no such kind".into()));
    let plan = case.plan(&[unknown]);
    let deleted: Vec<_> = plan.changes().map(|s| s.target.id.to_string()).collect();
    assert_eq!(deleted, ["demo:toy/other"], "an object whose kind is not known now is never deleted");
}

#[test]
fn some_deletes_wait_however_few_and_all_wait_over_the_budget() {
    let mut case = Case::new(&[
        ("ConfigMap", "c"),
        ("PersistentVolumeClaim", "p"),
        ("Namespace", "n"),
        ("CustomResourceDefinition", "toys.example.org"),
    ]);
    case.in_use = HashSet::from([key("Namespace", "n"), key("CustomResourceDefinition", "toys.example.org")]);
    let plan = case.plan(&[Candidate::Known(target("ConfigMap", "stays", json!({})))]);
    let held: HashMap<String, HoldReason> =
        plan.held.as_ref().unwrap().deletes.iter().map(|d| (d.id.kind().to_owned(), d.reason)).collect();
    assert_eq!(
        held,
        HashMap::from([
            ("persistentvolumeclaim".into(), HoldReason::VolumeClaim),
            ("namespace".into(), HoldReason::NamespaceInUse),
            ("customresourcedefinition".into(), HoldReason::CrdInUse),
        ])
    );
    assert_eq!(plan.changes().filter(|s| matches!(s.action, Action::Delete { .. })).count(), 1);

    case.limit = Limit::Objects(3);
    let held = case.plan(&[Candidate::Known(target("ConfigMap", "stays", json!({})))]).held.unwrap();
    assert_eq!(held.deletes.len(), 4, "four deletes are over a budget of three");
    case.limit = Limit::Off;
    assert!(case.lines().iter().all(|l| l.starts_with("delete ")), "{:?}", case.lines());
}

#[test]
fn an_empty_set_of_manifests_deletes_nothing_until_it_is_approved() {
    let mut case = Case::new(&[("ConfigMap", "a"), ("ConfigMap", "b")]);
    let plan = case.plan(&[]);
    let held = plan.held.unwrap();
    assert_eq!((held.deletes.len(), held.deletes[0].reason), (2, HoldReason::EmptySet));
    case.approved = held.deletes.iter().map(|d| d.uid).collect();
    let plan = case.plan(&[]);
    assert!(plan.held.is_none() && plan.changes().count() == 2);
}

#[test]
fn the_digest_of_held_deletes_survives_unrelated_commits() {
    let case = Case::new(&[("PersistentVolumeClaim", "a"), ("PersistentVolumeClaim", "b")]);
    let one = case.plan(&[Candidate::Known(target("ConfigMap", "x", json!({})))]).held.unwrap();
    let two = case.plan(&[Candidate::Known(target("ConfigMap", "y", json!({})))]).held.unwrap();
    assert_eq!(one.digest, two.digest);
    let other = Case::new(&[("PersistentVolumeClaim", "a")]);
    let three = other.plan(&[Candidate::Known(target("ConfigMap", "x", json!({})))]).held.unwrap();
    assert_ne!(one.digest, three.digest);
}

#[test]
fn a_record_older_than_the_object_does_not_hide_that_the_object_is_another() {
    let target = target("ConfigMap", "a", json!({}));
    let other = Live { checksum: Some([8; 16]), ..OURS };
    assert_eq!(action(&target, Some(other), Some(RECORD), false), Action::Apply(Why::Changed));
    let same = Live { checksum: Some([9; 16]), ..OURS };
    assert_eq!(action(&target, Some(same), Some(RECORD), false), Action::Keep);
}

#[test]
fn a_namespace_that_a_wanted_object_lives_in_is_held_although_nothing_is_live_in_it() {
    let wanted = [Candidate::Known(target("ConfigMap", "new", json!({})))];
    assert!(gc::is_wanted_in(&wanted, "demo"));
    assert!(!gc::is_wanted_in(&wanted, "other"));
}
