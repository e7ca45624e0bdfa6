//! Whatever changes from one set of manifests to the next: what is worked out from the last answer is what is worked out
//! from nothing.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use tokio::time::Instant;

use super::super::tests::client;
use super::*;
use crate::cluster;
use crate::object::Origin;

/// A manifest: its kind's number, name, namespace, and what else may differ.
type Spec = (usize, &'static str, Option<&'static str>, u8);

/// A set of manifests after another.
#[derive(Clone, Debug)]
enum Step {
    Put(usize, Spec),
    Remove(usize),
    Swap(usize, usize),
    Forget,
}

/// The last two kinds are unknown to the cluster; a definition of the first of them may be wanted.
const KINDS: [(&str, &str); 6] = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("apps/v1", "Deployment"),
    ("apps/v2", "Deployment"),
    ("example.org/v1", "Widget"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
];

fn object((kind, name, namespace, content): Spec) -> Arc<Object> {
    let (api_version, kind) = KINDS[kind];
    let mut value =
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "data": {"n": content % 3}});
    if let Some(namespace) = namespace {
        value["metadata"]["namespace"] = namespace.into();
    }
    if kind == "CustomResourceDefinition" {
        let scope = if content % 2 == 0 { "Namespaced" } else { "Cluster" };
        let version = if content < 4 { "v1" } else { "v2" };
        value["spec"] = json!({"group": "example.org", "names": {"kind": "Widget"}, "scope": scope,
                               "versions": [{"name": version}]});
    }
    let origin = Origin { file: "a.yaml".into(), line: u32::from(content), generated: false };
    Arc::new(Object::new(&value, origin).unwrap())
}

/// As a load gives them: every identity as written stands once.
fn put(objects: &mut Vec<Arc<Object>>, at: usize, new: Arc<Object>) {
    objects.retain(|old| old.id() != new.id());
    let at = at.min(objects.len());
    objects.insert(at, new);
}

fn spec() -> impl Strategy<Value = Spec> {
    let names = prop::sample::select(vec!["a", "b", "c", ""]);
    let namespaces = prop::sample::select(vec![None, Some("demo"), Some("default"), Some("elsewhere")]);
    (0..KINDS.len(), names, namespaces, 0..6_u8)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..12_usize, spec()).prop_map(|(at, spec)| Step::Put(at, spec)),
        1 => (0..12_usize).prop_map(Step::Remove),
        1 => (0..12_usize, 0..12_usize).prop_map(|(a, b)| Step::Swap(a, b)),
        1 => Just(Step::Forget),
    ]
}

fn resolver() -> Resolver {
    Resolver::new(SyncSet::new("test", "", &[]), "default")
}

async fn cluster() -> Cluster {
    let owns = Arc::new(|_: &Key, _: &str| true);
    let mut settings = cluster::Settings::new("fluxd", "mark", owns);
    settings.allow_namespaces = vec!["demo".into(), "default".into()];
    let cluster = Cluster::new(client(None, &Arc::default()), settings);
    cluster.refresh_kinds(Instant::now() + Duration::from_secs(30)).await.unwrap();
    cluster
}

fn shown(candidates: &[Candidate]) -> Vec<String> {
    candidates.iter().map(|candidate| format!("{candidate:?}")).collect()
}

fn run(cluster: &Cluster, steps: &[Step]) {
    let (mut resolver, mut objects) = (self::resolver(), Vec::new());
    for step in steps {
        match step {
            Step::Put(at, spec) => put(&mut objects, *at, object(*spec)),
            Step::Remove(at) if *at < objects.len() => drop(objects.remove(*at)),
            Step::Swap(a, b) if *a.max(b) < objects.len() => objects.swap(*a, *b),
            Step::Forget => resolver.forget(),
            _ => continue,
        }
        let got = shown(&resolver.resolve(&objects, cluster));
        assert_eq!(got, shown(&self::resolver().resolve(&objects, cluster)), "after {step:?}");
    }
}

#[test]
fn what_follows_the_last_answer_is_what_comes_from_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let cluster = runtime.block_on(cluster());
    proptest!(ProptestConfig::with_cases(600), |(steps in prop::collection::vec(step(), 1..24))| {
        run(&cluster, &steps);
    });
}

#[tokio::test]
async fn a_changed_manifest_takes_the_place_of_the_old_one_and_the_others_are_not_looked_at() {
    let cluster = cluster().await;
    let mut objects: Vec<_> = [(0, "b", None, 0), (2, "a", Some("demo"), 0), (0, "a", None, 0)].map(object).into();
    let mut resolver = resolver();
    let before = resolver.resolve(&objects, &cluster);
    objects[1] = object((2, "a", Some("demo"), 1));
    let after = resolver.resolve(&objects, &cluster);
    let same = before.iter().zip(after.iter()).filter(|(a, b)| Arc::ptr_eq(a.target(), b.target()));
    assert_eq!(same.count(), 2);
    assert_eq!(shown(&after), shown(&self::resolver().resolve(&objects, &cluster)));
}

/// The kind is not in the cluster yet, so what the definition says of it is all that is known.
#[tokio::test]
async fn when_a_wanted_definition_changes_the_objects_of_its_kind_are_looked_at_again() {
    let cluster = cluster().await;
    let (crd, widget) = (|content| object((5, "widgets", None, content)), object((4, "w", None, 0)));
    let mut resolver = resolver();
    let mut place = |objects: &[Arc<Object>]| {
        let found = resolver.resolve(objects, &cluster);
        let of_widget = found.iter().find(|c| c.target().key.name == "w").unwrap().clone();
        match of_widget {
            Candidate::Known(target) => target.key.namespace.as_deref().unwrap_or("none").to_owned(),
            other => format!("{other:?}")[..7].to_owned(),
        }
    };
    assert_eq!(place(&[crd(0), widget.clone()]), "default");
    assert_eq!(place(&[crd(1), widget.clone()]), "none", "it is for the whole cluster now");
    assert_eq!(place(&[crd(5), widget.clone()]), "Skipped", "its version is gone");
    assert_eq!(place(&[crd(0), widget.clone()]), "default");
    assert_eq!(place(&[widget]), "Skipped");
}
