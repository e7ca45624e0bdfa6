//! What a release costs: from the call of the API to the pushed commit and to the object in the cluster, beside the original
//! daemon; and what a flood of bad requests does to a sync.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cases::Bench;
use crate::figures::{Cost, Figures, text};
use crate::rig::{Fluxd, FluxdBuilder, Repo, eventually, tool};

/// Releases measured with each daemon.
const RELEASES: usize = 10;

/// A generator whose updater is `sed`: the original edits plain files with a program that is not to be had any more, and runs
/// these as we do.
const CONFIG: &str = "version: 1\ncommandUpdated:\n  generators:\n    - command: cat web.tpl\n  updaters:\n    - containerImage:\n        \
    command: sh update.sh\n      policy:\n        command: \"true\"\n";

/// What the updater does.
const UPDATE: &str = "sed -i \"s|image: .*|image: $FLUX_IMG:$FLUX_TAG|\" web.tpl\n";

fn deployment(namespace: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: {namespace}\nspec:\n  selector: \
         {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      \
         - name: web\n        image: example.org/web:v0\n"
    )
}

/// The times of one release: until the job has succeeded, and until the cluster has the image.
struct Took {
    pushed: Duration,
    live: Duration,
}

fn release(bench: &Bench, fluxd: &Fluxd, namespace: &str, tag: usize) -> Took {
    let id = format!("{namespace}:deployment/web");
    let change = json!([{"Container": "web", "Current": format!("example.org/web:v{}", tag - 1),
        "Target": format!("example.org/web:v{tag}")}]);
    let spec = json!({"type": "containers", "cause": {"Message": "", "User": "bench"}, "spec": {"Kind": "execute",
        "ContainerSpecs": {id: change}, "SkipMismatches": false, "Force": false}});
    let began = Instant::now();
    let reply = fluxd.post("/api/flux/v9/update-manifests", &spec.to_string()).expect("the daemon answers");
    let job: String = serde_json::from_str(&reply.body).unwrap_or_else(|e| panic!("no job: {e}: {}", reply.body));
    let mut pushed = Duration::ZERO;
    eventually("the job ended", || {
        let status: Value = serde_json::from_str(&fluxd.get(&format!("/api/flux/v6/jobs?id={job}"))?.body).ok()?;
        assert_ne!(status["StatusString"], "failed", "the release must succeed: {status}");
        pushed = began.elapsed();
        (status["StatusString"] == "succeeded").then_some(())
    });
    let want = format!("example.org/web:v{tag}");
    eventually("the image is live", || (bench.image_of(namespace, "web")? == want).then_some(()));
    Took { pushed, live: began.elapsed() }
}

fn releases(
    bench: &Bench,
    builder: impl FnOnce(&Repo) -> FluxdBuilder,
    name: &str,
    generated: bool,
) -> (Duration, Duration) {
    let namespace = &bench.namespaces(name, 1)[0];
    let repo = Repo::new();
    if generated {
        repo.write(".flux.yaml", CONFIG).write("update.sh", UPDATE).write("web.tpl", &deployment(namespace));
    } else {
        repo.write("web.yaml", &deployment(namespace));
    }
    repo.push("one workload");
    let fluxd = builder(&repo).start();
    eventually("the first sync", || bench.image_of(namespace, "web").map(drop));
    let mut all: Vec<Took> = (1..=RELEASES).map(|tag| release(bench, &fluxd, namespace, tag)).collect();
    all.sort_by_key(|took| took.live);
    let live = all[RELEASES / 2].live;
    all.sort_by_key(|took| took.pushed);
    (all[RELEASES / 2].pushed, live)
}

/// A release of one workload, from the call to the cluster: ours with a plain file and with a generator, the original with
/// the generator.
pub fn one_release(bench: &Bench, figures: &mut Figures) {
    let args = ["--registry-disable-scanning", "--git-poll-interval=1h", "--sync-interval=1h"];
    let ours = |repo: &Repo| Fluxd::against(bench.plane()).git(repo).args(&args);
    let generated = |repo: &Repo| ours(repo).arg("--manifest-generation");
    let original = |repo: &Repo| {
        let builder = Fluxd::against(bench.plane()).git(repo).args(&args).program(&tool("flux-v1", "fluxd"));
        builder.args(&["--manifest-generation", "--memcached-hostname=127.0.0.1", "--memcached-service="])
    };
    let words = |(pushed, live): (Duration, Duration)| format!("pushed {}, live {}", text(pushed), text(live));
    let theirs = releases(bench, original, "theirs", true);
    for (case, took) in [
        ("release of one workload, generated", releases(bench, generated, "generated", true)),
        ("release of one workload, plain file", releases(bench, ours, "plain", false)),
    ] {
        let ratio = format!("{:.1} times faster", theirs.1.as_secs_f64() / took.1.as_secs_f64());
        figures.row(case, &words(took), &format!("original {}", words(theirs)), &ratio, "-", Cost::default());
    }
}

/// Posts of nonsense from 8 connections at once while one object changes again and again.
pub fn flood(bench: &Bench, figures: &mut Figures) {
    let namespace = &bench.namespaces("flood", 1)[0];
    let repo = Repo::new();
    repo.write("web.yaml", &deployment(namespace));
    repo.push("one workload");
    let args = ["--registry-disable-scanning", "--git-poll-interval=1h", "--sync-interval=1h"];
    let fluxd = Fluxd::against(bench.plane()).git(&repo).args(&args).start();
    eventually("the first sync", || bench.image_of(namespace, "web").map(drop));
    let quiet = changes(bench, &fluxd, &repo, namespace, 0);
    let (stop, posts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let began = Instant::now();
    let floods: Vec<_> = (0..8)
        .map(|_| {
            let (stop, posts, port) = (Arc::clone(&stop), Arc::clone(&posts), fluxd.port());
            std::thread::spawn(move || crate::process::post_nonsense(port, &stop, &posts))
        })
        .collect();
    let flooded = changes(bench, &fluxd, &repo, namespace, 10);
    let rate = posts.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    floods.into_iter().for_each(|thread| drop(thread.join()));
    let ours = format!("{} from notify to live under {rate:.0} bad posts/s", text(flooded));
    let ratio = format!("{:.1} × of quiet", flooded.as_secs_f64() / quiet.as_secs_f64());
    figures.row("one change during a flood", &ours, &format!("quiet {}", text(quiet)), &ratio, "-", Cost::default());
}

/// The median time from a notification to the cluster, over ten changes.
fn changes(bench: &Bench, fluxd: &Fluxd, repo: &Repo, namespace: &str, from: usize) -> Duration {
    let mut all: Vec<Duration> = (from + 1..=from + RELEASES)
        .map(|tag| {
            let want = format!("example.org/web:v{tag}");
            repo.write("web.yaml", &deployment(namespace).replace("example.org/web:v0", &want));
            repo.push(&want);
            let began = Instant::now();
            fluxd.notify(repo, &repo.url());
            eventually("the image is live", || (bench.image_of(namespace, "web")? == want).then_some(()));
            began.elapsed()
        })
        .collect();
    all.sort();
    all[RELEASES / 2]
}
