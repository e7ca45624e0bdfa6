//! The cases.

use std::time::{Duration, Instant};

use crate::figures::{Cost, Figures, text};
use crate::process;
use crate::raw::{Raw, config_map, config_map_path};
use crate::registry;
use crate::release;
use crate::rig::{ControlPlane, Fluxd, FluxdBuilder, Repo, eventually};
use crate::sets;

/// A case: measures and adds its rows.
type Case = fn(&Bench, &mut Figures);

/// All cases, in the order they run.
pub const ALL: &[(&str, Case)] = &[
    ("raw", raw_ceiling),
    ("objects-1500", |b, f| objects(b, f, 1_500)),
    ("objects-10000", |b, f| objects(b, f, 10_000)),
    ("kubectl", kubectl),
    ("many-kinds", many_kinds),
    ("generators", generators),
    ("image-edit", |_, f| crate::edit::image_edit(f)),
    ("release", release::one_release),
    ("flood", release::flood),
    ("registry", registry::first_decision),
    ("races", crate::races::races),
    ("sets-500", sets::inputs_500),
    ("sets-10000", sets::inputs_10000),
    ("sets-1000", sets::sets_1000),
    ("sets-unhealthy", sets::sets_unhealthy),
    ("sets-quiet", sets::sets_quiet),
];

/// Objects per namespace in the repositories.
const PER_NAMESPACE: usize = 500;

/// What all cases share.
pub struct Bench {
    runtime: tokio::runtime::Runtime,
    plane: ControlPlane,
    raw: Raw,
}

impl Bench {
    /// Starts a control plane of its own.
    pub fn start(runtime: tokio::runtime::Runtime) -> Self {
        let plane = ControlPlane::start();
        let ca = std::fs::read(plane.ca_file()).expect("the plane has a CA");
        let raw = Raw::new(plane.url(), plane.token(), &ca);
        Self { runtime, plane, raw }
    }

    /// Runs something asynchronous.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// The bare client.
    pub fn raw(&self) -> &Raw {
        &self.raw
    }

    /// The control plane.
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// The image of a Deployment's first container.
    pub fn image_of(&self, namespace: &str, name: &str) -> Option<String> {
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
        let (_, body) = self.runtime.block_on(self.raw.get(&path));
        let value: serde_json::Value = serde_json::from_slice(&body).ok()?;
        value["spec"]["template"]["spec"]["containers"][0]["image"].as_str().map(str::to_owned)
    }

    /// Makes the namespaces for a number of objects, and answers their names.
    pub fn namespaces(&self, prefix: &str, objects: usize) -> Vec<String> {
        let names: Vec<String> = (0..objects.div_ceil(PER_NAMESPACE)).map(|n| format!("{prefix}-{n}")).collect();
        self.runtime.block_on(async {
            for name in &names {
                let body = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                self.raw.apply(&format!("/api/v1/namespaces/{name}"), body.to_string().into_bytes()).await;
            }
        });
        names
    }

    /// Applies `objects` ConfigMaps with the bare client; returns the time it took.
    fn raw_apply(&self, namespaces: &[String], objects: usize, value: &str) -> Duration {
        let bodies = (0..objects).map(|n| {
            let (namespace, name) = (&namespaces[n / PER_NAMESPACE], format!("cm-{n}"));
            (config_map_path(namespace, &name), config_map(namespace, &name, value).to_string().into_bytes())
        });
        self.runtime.block_on(self.raw.apply_all(bodies.collect()))
    }

    /// The time of one metadata LIST of all ConfigMaps with a label.
    fn list_time(&self, label: &str) -> Duration {
        let start = Instant::now();
        let path = format!("/api/v1/configmaps?labelSelector={label}");
        let (status, body) = self.runtime.block_on(self.raw.list_metadata(&path));
        assert!(status == 200 && !body.is_empty(), "the list must succeed");
        start.elapsed()
    }

    fn value_of(&self, namespace: &str, name: &str) -> Option<String> {
        let (_, body) = self.runtime.block_on(self.raw.get(&config_map_path(namespace, name)));
        let value: serde_json::Value = serde_json::from_slice(&body).ok()?;
        value["data"]["key"].as_str().map(str::to_owned)
    }
}

fn rate(objects: usize, took: Duration) -> f64 {
    objects as f64 / took.as_secs_f64()
}

fn raw_ceiling(bench: &Bench, figures: &mut Figures) {
    let namespaces = bench.namespaces("raw", 2_000);
    let create = bench.raw_apply(&namespaces, 2_000, "one");
    let no_op = bench.raw_apply(&namespaces, 2_000, "one");
    let list = bench.list_time("none%3Dsuch");
    let ours = format!("create {:.0}/s, no-op {:.0}/s", rate(2_000, create), rate(2_000, no_op));
    figures.row(
        "bare client, 2,000 objects, 32 in flight",
        &ours,
        &format!("LIST {}", text(list)),
        "-",
        "-",
        Cost::default(),
    );
}

/// A running fluxd and how to look at it.
struct Running {
    fluxd: Fluxd,
    cpu: Duration,
    requests: f64,
}

impl Running {
    fn start(builder: FluxdBuilder) -> Self {
        Self { fluxd: builder.start(), cpu: Duration::ZERO, requests: 0.0 }
    }

    fn syncs(&self) -> f64 {
        self.fluxd
            .get("/metrics")
            .map_or(0.0, |_| self.fluxd.metrics().sum("flux_daemon_sync_duration_seconds_count", &["success=\"true\""]))
    }

    fn wait_for_sync(&self, number: f64) {
        let deadline = Instant::now() + Duration::from_secs(600);
        while self.syncs() < number {
            assert!(Instant::now() < deadline, "no sync number {number} within 10 minutes");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Time spent in the sync numbered `number` by the histogram's own sum.
    fn sync_seconds(&self) -> f64 {
        self.fluxd.metrics().sum("flux_daemon_sync_duration_seconds_sum", &["success=\"true\""])
    }

    /// What was spent since the last call.
    fn cost(&mut self) -> Cost {
        let (cpu, requests) =
            (process::cpu(self.fluxd.pid()), self.fluxd.metrics().sum("fluxd_api_requests_total", &[]));
        let cost = Cost {
            cpu: cpu.saturating_sub(self.cpu),
            peak_mib: process::peak_mib(self.fluxd.pid()),
            requests: requests - self.requests,
        };
        (self.cpu, self.requests) = (cpu, requests);
        cost
    }
}

fn write_config_maps(repo: &Repo, namespaces: &[String], objects: usize) {
    for n in 0..objects {
        let (namespace, name) = (&namespaces[n / PER_NAMESPACE], format!("cm-{n}"));
        let manifest = config_map(namespace, &name, "one");
        repo.write(&format!("{namespace}/{name}.yaml"), &serde_json::to_string(&manifest).expect("JSON is YAML"));
    }
}

fn daemon(bench: &Bench, repo: &Repo) -> FluxdBuilder {
    let cache = format!("--cache-dir={}", repo.root().join("cache").display());
    Fluxd::against(&bench.plane).git(repo).args(&["--sync-timeout=10m", "--sync-garbage-collection", &cache])
}

fn objects(bench: &Bench, figures: &mut Figures, count: usize) {
    let raw_spaces = bench.namespaces(&format!("bare{count}"), count);
    let raw = bench.raw_apply(&raw_spaces, count, "one");
    let spaces = bench.namespaces(&format!("flux{count}"), count);
    let repo = Repo::new();
    write_config_maps(&repo, &spaces, count);
    repo.push("all objects");
    let mut running = Running::start(daemon(bench, &repo));
    running.wait_for_sync(1.0);
    let first = Duration::from_secs_f64(running.sync_seconds());
    let (ours, peer) = (rate(count, first), rate(count, raw));
    let label = |what: &str| format!("{what}, {count} objects");
    figures.row(
        &label("first apply"),
        &format!("{} ({ours:.0}/s)", text(first)),
        &format!("bare client {} ({peer:.0}/s)", text(raw)),
        &format!("{:.0} %", 100.0 * ours / peer),
        "at least 80 %",
        running.cost(),
    );
    no_change(&mut running, figures, &label("no-change sync"));
    one_change(bench, &mut running, figures, &repo, (&spaces[0], &label("one changed object")));
    drift(bench, &mut running, figures, (&spaces[0], &label("drift put right")));
    idle(&mut running, figures, &label("idle for 20 s"));
    restart(bench, running, figures, &label("restart to in sync"));
}

fn no_change(running: &mut Running, figures: &mut Figures, case: &str) {
    let (before, syncs) = (running.sync_seconds(), running.syncs());
    running.cost();
    assert!(running.fluxd.post("/api/fluxd/v1/sync", "").is_some_and(|r| r.status < 300), "a sync can be asked for");
    running.wait_for_sync(syncs + 1.0);
    let took = Duration::from_secs_f64((running.sync_seconds() - before).max(0.0));
    let cost = running.cost();
    let ratio = format!("{:.0} requests", cost.requests);
    figures.row(case, &text(took), "-", &ratio, "0 requests, under 100 ms", cost);
}

fn one_change(bench: &Bench, running: &mut Running, figures: &mut Figures, repo: &Repo, at: (&str, &str)) {
    let (namespace, case) = at;
    let manifest = config_map(namespace, "cm-7", "two");
    repo.write(&format!("{namespace}/cm-7.yaml"), &manifest.to_string());
    repo.push("one change");
    running.cost();
    let start = Instant::now();
    running.fluxd.notify(repo, &repo.url());
    eventually("the change is live", || (bench.value_of(namespace, "cm-7")? == "two").then_some(()));
    let took = start.elapsed();
    let head = repo.head();
    eventually("the marker moved", || (repo.remote_ref("refs/tags/flux-sync^{}")? == head).then_some(()));
    let cost = running.cost();
    let ratio = format!("{:.0} ms CPU, {:.0} requests", cost.cpu.as_secs_f64() * 1e3, cost.requests);
    figures.row(
        case,
        &format!("{} from notify to live", text(took)),
        "-",
        &ratio,
        "1 write, under 300 ms, under 20 ms CPU",
        cost,
    );
}

fn drift(bench: &Bench, running: &mut Running, figures: &mut Figures, at: (&str, &str)) {
    let (namespace, case) = at;
    running.cost();
    let body = config_map(namespace, "cm-8", "by hand").to_string().into_bytes();
    assert_eq!(bench.runtime.block_on(bench.raw.apply(&config_map_path(namespace, "cm-8"), body)), 200);
    let start = Instant::now();
    eventually("drift is put right", || (bench.value_of(namespace, "cm-8")? == "one").then_some(()));
    let took = start.elapsed();
    figures.row(case, &text(took), "-", "-", "within 1 s", running.cost());
}

fn idle(running: &mut Running, figures: &mut Figures, case: &str) {
    running.cost();
    std::thread::sleep(Duration::from_secs(20));
    let cost = running.cost();
    let share = format!("{:.2} % of a core", 100.0 * cost.cpu.as_secs_f64() / 20.0);
    let memory = format!("{:.0} MiB resident", process::rss_mib(running.fluxd.pid()));
    figures.row(case, &share, "-", &memory, "under 0.5 %; 60 MiB at 1,500, 150 MiB at 10,000", cost);
}

fn restart(bench: &Bench, running: Running, figures: &mut Figures, case: &str) {
    let list = bench.list_time("fluxcd.io%2Fsync-gc-mark");
    let again = running.fluxd.kill();
    let mut running = Running::start(again);
    running.wait_for_sync(1.0);
    let took = Duration::from_secs_f64(running.sync_seconds());
    let ratio = format!("{:.1} × one LIST", took.as_secs_f64() / list.as_secs_f64());
    figures.row(case, &text(took), &format!("LIST of them {}", text(list)), &ratio, "under 5 ×", running.cost());
}

/// `kubectl apply --server-side` of the same objects, as a peer.
fn kubectl(bench: &Bench, figures: &mut Figures) {
    let spaces = bench.namespaces("kubectl", 1_500);
    let repo = Repo::new();
    write_config_maps(&repo, &spaces, 1_500);
    let work = repo.work();
    let args = ["apply", "--server-side", "-R", "-f", work.to_str().expect("a plain path")];
    let once = || {
        let start = Instant::now();
        bench.plane.kubectl(&args);
        text(start.elapsed())
    };
    let (first, again) = (once(), once());
    let ours = format!("first {first}, again {again}");
    figures.row("kubectl apply --server-side, 1,500 objects", "-", &ours, "-", "-", Cost::default());
}

/// 300 namespaces and 25 definitions in the cluster; the repository uses two kinds.
fn many_kinds(bench: &Bench, figures: &mut Figures) {
    bench.namespaces("many", 300 * PER_NAMESPACE);
    for n in 0..25 {
        let plural = format!("things{n}");
        let crd = serde_json::json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.bench.example.org")},
            "spec": {"group": "bench.example.org", "scope": "Namespaced",
                "names": {"plural": plural, "singular": format!("thing{n}"), "kind": format!("Thing{n}")},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.bench.example.org");
        bench.runtime.block_on(bench.raw.apply(&path, crd.to_string().into_bytes()));
    }
    let spaces = bench.namespaces("few", 20);
    let repo = Repo::new();
    write_config_maps(&repo, &spaces, 20);
    repo.push("twenty objects");
    let mut running = Running::start(daemon(bench, &repo));
    running.wait_for_sync(1.0);
    let first = Duration::from_secs_f64(running.sync_seconds());
    let cost = running.cost();
    let ours = format!("{} ({:.0} requests)", text(first), cost.requests);
    figures.row(
        "start and first sync of 20 objects; 300 namespaces × 25 CRDs",
        &ours,
        "-",
        "-",
        "requests do not grow with namespaces",
        cost,
    );
    no_change(&mut running, figures, "no-change sync there");
}

/// 100 `.flux.yaml` files, each with a small generator; half of them declare their inputs.
fn generators(bench: &Bench, figures: &mut Figures) {
    let spaces = bench.namespaces("gen", 100);
    let repo = Repo::new();
    let mut paths = Vec::new();
    for n in 0..100 {
        let (dir, name) = (format!("unit-{n}"), format!("cm-{n}"));
        repo.write(&format!("{dir}/object.tpl"), &config_map(&spaces[0], &name, "one").to_string());
        let config = "version: 1\ninputs: [\".\"]\ncommandUpdated:\n  generators:\n    - command: cat object.tpl\n";
        repo.write(&format!("{dir}/.flux.yaml"), config);
        paths.push(dir);
    }
    repo.push("100 generators");
    let path = format!("--git-path={}", paths.join(","));
    let mut running = Running::start(daemon(bench, &repo).args(&["--manifest-generation", &path]));
    running.wait_for_sync(1.0);
    let first = Duration::from_secs_f64(running.sync_seconds());
    figures.row("100 .flux.yaml, first", &text(first), "-", "-", "-", running.cost());
    for (case, file) in [("unrelated commit", "README"), ("one input changed", "unit-3/object.tpl")] {
        let (before, syncs) = (running.sync_seconds(), running.syncs());
        repo.write(file, &config_map(&spaces[0], "cm-3", case).to_string());
        repo.push(case);
        running.fluxd.notify(&repo, &repo.url());
        running.wait_for_sync(syncs + 1.0);
        let took = Duration::from_secs_f64((running.sync_seconds() - before).max(0.0));
        figures.row(&format!("100 .flux.yaml, {case}, inputs declared"), &text(took), "-", "-", "-", running.cost());
    }
}
