//! The original fluxctl and ours beside each other on our daemon, with real git and a real API server; then the verbs that
//! only ours has.

use super::{Ran, command, original, own, run};
use crate::rig::{ControlPlane, Fluxd, GitSsh, Repo, eventually};
use fluxd::object::yaml::{self, Dialect, Limits};

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: helmreleases.helm.fluxcd.io}
spec:
  group: helm.fluxcd.io
  scope: Namespaced
  names: {kind: HelmRelease, plural: helmreleases, singular: helmrelease, listKind: HelmReleaseList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";

fn manifests(namespace: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: {namespace}\n  annotations: \
         {{fluxcd.io/automated: 'true'}}\nspec:\n  replicas: 0\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: \
         {{labels: {{app: web}}}}\n    spec:\n      initContainers:\n      - {{name: init, image: 'example.org/init:1'}}\n      \
         containers:\n      - {{name: main, image: 'example.org/web:1.0'}}\n      - {{name: side, image: example.org/side}}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: {namespace}}}\ndata: {{a: b}}\n---\n\
         apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata: {{name: chart, namespace: {namespace}}}\nspec:\n  chart: \
         {{repository: 'https://charts.example.org', name: c, version: 1.0.0}}\n  values: {{image: {{repository: example.org/chart, \
         tag: '2'}}}}\n"
    )
}

/// A daemon with a repository and a namespace, synced.
struct Place {
    namespace: String,
    repo: Repo,
    fluxd: Fluxd,
    home: tempfile::TempDir,
}

impl Place {
    #[track_caller]
    fn open(flags: &[&str]) -> Self {
        let plane = ControlPlane::shared();
        plane.apply(CRD, &[]);
        let namespace = plane.namespace("ctl");
        let repo = Repo::new();
        repo.write("apps/all.yaml", &manifests(&namespace)).push("what runs");
        let flags = [&["--registry-disable-scanning", "--sync-interval=1h"], flags].concat();
        let mut fluxd = Fluxd::against(plane).git(&repo).args(&flags).start();
        fluxd.wait_until_up();
        let place = Self { namespace, repo, fluxd, home: tempfile::tempdir().unwrap() };
        eventually("the first sync is done", || plane.get(&place.namespace, "deployment", "web"));
        eventually("the marker is there", || place.repo.remote_ref("refs/tags/flux-sync"));
        place
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/api/flux", self.fluxd.port())
    }

    #[track_caller]
    fn ours(&self, args: &[&str]) -> Ran {
        run(command(&own(), self.home.path(), &self.url(), args))
    }

    #[track_caller]
    fn theirs(&self, args: &[&str]) -> Ran {
        run(command(&original(), self.home.path(), &self.url(), args))
    }

    /// Runs both and expects the same of them.
    #[track_caller]
    fn both(&self, args: &[&str]) -> Ran {
        let (ours, theirs) = (self.ours(args), self.theirs(args));
        assert_eq!(ours, theirs, "{args:?}");
        ours
    }

    fn id(&self) -> String {
        format!("{}:deployment/web", self.namespace)
    }
}

#[test]
fn lists_syncs_and_exports_of_our_daemon_look_the_same_through_both_clients() {
    let place = Place::open(&[]);
    let ns = &place.namespace;
    let workloads = place.both(&["list-workloads", "-n", ns]).stdout;
    let expected = format!(
        "WORKLOAD CONTAINER IMAGE RELEASE POLICY\n{ns}:deployment/web main example.org/web:1.0 ready automated\nside \
         example.org/side\ninit example.org/init:1\n{ns}:helmrelease/chart chart-image example.org/chart:2\n"
    );
    let squeezed =
        |text: &str| text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    assert_eq!(squeezed(&workloads), squeezed(&expected));
    place.both(&["list-workloads", "-n", ns, "-o", "json"]);
    let images = place.both(&["list-images", "-n", ns]).stdout;
    assert!(images.contains("image data not available") && images.contains("'-> (untagged)"), "{images}");
    let synced = place.both(&["sync"]);
    assert!(synced.code == Some(0) && synced.stderr.ends_with("to be applied ...\nDone.\n"), "{synced:?}");
    // Quotes around texts that look like numbers to some reader are ours; what is said is the same.
    let [ours, theirs] = [place.ours(&["save"]), place.theirs(&["save"])].map(|saved| {
        let documents = yaml::read(saved.stdout.as_bytes(), Dialect::Kubernetes, &Limits::default()).unwrap();
        documents
            .into_iter()
            .map(|document| document.value)
            .filter(|o| o["metadata"]["namespace"] == *ns)
            .collect::<Vec<_>>()
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours.len(), 2, "the deployment and the release");
}

#[test]
fn policies_set_by_ours_are_commits_and_fail_in_the_daemons_words() {
    let place = Place::open(&[]);
    let locked = place.ours(&["lock", "-w", &place.id(), "-m", "until Monday", "--user", "Ann <ann@example.com>"]);
    assert_eq!(locked.code, Some(0), "{locked:?}");
    let head = place.repo.remote_ref("refs/heads/master").unwrap();
    assert_eq!(locked.stderr, format!("Commit pushed:\t{}\n", &head[..7]));
    let file = place.repo.remote_file("refs/heads/master", "apps/all.yaml");
    assert!(file.contains("fluxcd.io/locked: 'true'") && file.contains("until Monday"), "{file}");
    let refused = place.both(&["policy", "-w", &place.id(), "--tag=main=semver:nope"]);
    assert_eq!(refused.code, Some(1));
    assert_eq!(refused.stderr, "Error: invalid tag pattern: \"semver:nope\"\nRun 'fluxctl policy --help' for usage.\n");
}

#[test]
fn the_deploy_key_is_shown_with_its_fingerprint() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("key");
    let repo = Repo::new();
    repo.write("a.yaml", &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {namespace}}}\n"))
        .push("one");
    let server = GitSsh::start(&repo);
    let url = format!("--git-url={}", server.url());
    let mut fluxd =
        Fluxd::against(plane).in_cluster(plane, &namespace).args(&[&url, "--ssh-keygen-type=ed25519"]).start();
    fluxd.wait_until_up();
    fluxd.wait_for_log(&["identity.pub="]);
    let home = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}/api/flux", fluxd.port());
    for args in [&["identity"][..], &["identity", "-l"], &["identity", "-v"]] {
        let [ours, theirs] = [own(), original()].map(|program| run(command(&program, home.path(), &url, args)));
        assert_eq!(ours, theirs, "{args:?}");
        assert!(ours.code == Some(0) && ours.stdout.len() > 20, "{ours:?}");
    }
}

#[test]
fn our_own_verbs_tell_what_the_daemon_knows() {
    let place = Place::open(&[]);
    let check = place.ours(&["check"]);
    assert_eq!(check.code, Some(0), "{check:?}");
    assert!(check.stdout.contains("ok    git") && check.stdout.contains("ok    sync"), "{check:?}");
    let tree = place.ours(&["tree"]);
    assert!(tree.stdout.contains("└── apps/\n    └── all.yaml\n") && tree.stdout.contains(&place.id()), "{tree:?}");
    let trace = place.ours(&["trace", "-n", &place.namespace, "deployment/web"]);
    assert!(trace.stdout.contains("apps/all.yaml:1\n") && trace.stdout.contains("what runs"), "{trace:?}");
    assert!(trace.stdout.contains("fluxd (Apply"), "{trace:?}");
    let clean = place.ours(&["diff", "--exit-code"]);
    assert_eq!(clean.code, Some(0), "{clean:?}");
    // A pause leaves drift alone, so that it is there to be seen.
    assert_eq!(place.ours(&["pause"]).code, Some(0));
    ControlPlane::shared().kubectl(&["-n", &place.namespace, "patch", "configmap", "c", "-p", r#"{"data":{"a":"x"}}"#]);
    let drifted = place.ours(&["diff", "--exit-code"]);
    assert!(drifted.code == Some(1) && drifted.stdout.contains("/data/a: x -> b"), "{drifted:?}");
}

#[test]
fn a_pause_lasts_until_it_is_ended() {
    let place = Place::open(&[]);
    let paused = place.ours(&["pause"]);
    assert!(paused.code == Some(0) && paused.stdout.starts_with("Paused since "), "{paused:?}");
    assert!(place.ours(&["check"]).stdout.contains("warn  pause"));
    let resumed = place.ours(&["resume"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Resumed; a sync follows.\n"));
    assert!(!place.ours(&["check"]).stdout.contains("pause"));
}
