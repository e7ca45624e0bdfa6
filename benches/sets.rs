//! ResourceSets, applied by `fluxd controllers` as a process: beside a bare client that does a dry run and an apply for each
//! object in the same run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cases::Bench;
use crate::figures::{Cost, Figures, text};
use crate::process;
use crate::rig::{Controllers, source_root};

/// How long a case may take.
const PATIENCE: Duration = Duration::from_secs(900);
/// Label by which a set's objects are listed.
const OWNER: &str = "resourceset.fluxcd.controlplane.io/name";

/// Objects of one input, or of one small set.
const EACH: usize = 4;

fn objects(namespace: &str, name: &str, value: &str) -> [Value; EACH] {
    let meta = |n: &str| json!({"name": format!("{name}{n}"), "namespace": namespace});
    [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("-a"), "data": {"key": value}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("-b"), "data": {"key": value, "more": "text\n".repeat(40)}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": meta(""), "stringData": {"key": value}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("")}),
    ]
}

fn path(object: &Value) -> String {
    let kind = object["kind"].as_str().expect("a kind").to_lowercase();
    let (namespace, name) = (&object["metadata"]["namespace"], &object["metadata"]["name"]);
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    format!("/api/v1/namespaces/{}/{kind}s/{}", text(namespace), text(name))
}

fn set(namespace: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSet",
           "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}

fn of_inputs(count: usize, changed: Option<usize>) -> Value {
    let value = |n| if changed == Some(n) { "two" } else { "one" };
    (0..count).map(|n| json!({"n": format!("i{n}"), "v": value(n)})).collect()
}

fn set_path(namespace: &str, name: &str) -> String {
    format!("/apis/fluxcd.controlplane.io/v1/namespaces/{namespace}/resourcesets/{name}")
}

/// A scene with the controllers at work in one namespace.
struct Scene<'a> {
    bench: &'a Bench,
    namespace: String,
}

impl<'a> Scene<'a> {
    fn new(bench: &'a Bench, prefix: &str) -> Self {
        let crds = source_root().join("deploy/crds");
        bench.plane().kubectl(&["apply", "--server-side", "--force-conflicts", "-k", &crds.display().to_string()]);
        for name in ["resourcesets", "resourcesetinputproviders"] {
            let name = format!("{name}.fluxcd.controlplane.io");
            bench.plane().kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", &name]);
        }
        Self { bench, namespace: bench.plane().namespace(prefix) }
    }

    fn controllers(&self) -> Controllers {
        let mut controllers = Controllers::against(self.bench.plane()).only(&[&self.namespace]).start();
        controllers.wait_until_up();
        controllers
    }

    fn apply(&self, set: &Value) {
        let name = set["metadata"]["name"].as_str().expect("a name");
        let path = set_path(&self.namespace, name);
        let status = self.bench.block_on(self.bench.raw().apply(&path, set.to_string().into_bytes()));
        assert!((200..300).contains(&status), "the set is taken: {status}");
    }

    fn read(&self, name: &str) -> Value {
        let (_, body) = self.bench.block_on(self.bench.raw().get(&set_path(&self.namespace, name)));
        serde_json::from_slice(&body).unwrap_or_default()
    }

    /// Those that are ready for the generation that they have, with when it was seen.
    fn wait_until_ready(&self, names: &[String]) -> HashMap<String, Instant> {
        let (end, mut ready) = (Instant::now() + PATIENCE, HashMap::new());
        let list = format!("/apis/fluxcd.controlplane.io/v1/namespaces/{}/resourcesets", self.namespace);
        while ready.len() < names.len() {
            assert!(Instant::now() < end, "{} of {} are ready", ready.len(), names.len());
            match names {
                [name] => note(&self.read(name), &mut ready),
                _ => {
                    let (_, body) = self.bench.block_on(self.bench.raw().get(&list));
                    let all: Value = serde_json::from_slice(&body).unwrap_or_default();
                    all["items"].as_array().into_iter().flatten().for_each(|set| note(set, &mut ready));
                    ready.retain(|name, _| names.contains(name));
                }
            }
            std::thread::sleep(Duration::from_millis(if names.len() > 1 { 50 } else { 5 }));
        }
        ready
    }

    /// The bare client's time for a dry run and an apply of each.
    fn bare(&self, all: Vec<Value>) -> Duration {
        let bodies: Vec<_> = all.iter().map(|object| (path(object), object.to_string().into_bytes())).collect();
        self.bench.block_on(self.bench.raw().try_and_apply_all(bodies))
    }

    /// Asks for a pass and waits until it is through.
    fn reconcile(&self, name: &str, token: &str) -> Duration {
        let body = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
        let path = set_path(&self.namespace, name);
        let start = Instant::now();
        self.bench.block_on(self.bench.raw().merge(&path, body.to_string().into_bytes()));
        let end = start + PATIENCE;
        while self.read(name)["status"]["lastHandledReconcileAt"] != token {
            assert!(Instant::now() < end, "no pass");
            std::thread::sleep(Duration::from_millis(2));
        }
        start.elapsed()
    }
}

fn note(set: &Value, ready: &mut HashMap<String, Instant>) {
    let generation = &set["metadata"]["generation"];
    let is_ready = |c: &Value| c["type"] == "Ready" && c["status"] == "True" && c["observedGeneration"] == *generation;
    let name = set["metadata"]["name"].as_str().unwrap_or_default();
    if set["status"]["conditions"].as_array().into_iter().flatten().any(is_ready) {
        ready.entry(name.to_owned()).or_insert_with(Instant::now);
    }
}

/// What the process has cost since it was last looked at.
struct Meter<'a> {
    controllers: &'a Controllers,
    cpu: Duration,
    requests: f64,
    writes: f64,
}

impl<'a> Meter<'a> {
    fn new(controllers: &'a Controllers) -> Self {
        let mut meter = Self { controllers, cpu: Duration::ZERO, requests: 0.0, writes: 0.0 };
        meter.take();
        meter
    }

    /// The cost, and how many requests of it were patches (dry runs and status among them).
    fn take(&mut self) -> (Cost, f64) {
        let metrics = self.controllers.metrics();
        let requests = metrics.sum("rest_client_requests_total", &[]);
        let writes = metrics.sum("rest_client_requests_total", &["method=\"PATCH\""]);
        let (pid, before) = (self.controllers.pid(), (self.cpu, self.requests, self.writes));
        (self.cpu, self.requests, self.writes) = (process::cpu(pid), requests, writes);
        let cost = Cost { cpu: self.cpu - before.0, peak_mib: process::peak_mib(pid), requests: requests - before.1 };
        (cost, writes - before.2)
    }
}

fn percent(part: Duration, whole: Duration) -> String {
    format!("{:.0} % of its rate", 100.0 * part.as_secs_f64() / whole.as_secs_f64())
}

/// 500 inputs of 4 objects: the first apply, then passes without a change.
pub fn inputs_500(bench: &Bench, figures: &mut Figures) {
    const INPUTS: usize = 500;
    let (bare, scene) = (Scene::new(bench, "bare"), Scene::new(bench, "sets"));
    let plain = (0..INPUTS).flat_map(|n| objects(&bare.namespace, &format!("i{n}"), "one"));
    let peer = bare.bare(plain.collect());
    let controllers = scene.controllers();
    let mut meter = Meter::new(&controllers);
    let templates = objects(&scene.namespace, "<< inputs.n >>", "<< inputs.v >>");
    let spec = json!({"inputs": of_inputs(INPUTS, None), "resources": templates});
    let start = Instant::now();
    scene.apply(&set(&scene.namespace, "all", spec));
    let took = scene.wait_until_ready(&["all".to_owned()])["all"] - start;
    let peer_text = format!("dry run and apply of each {}", text(peer));
    let (cost, _) = meter.take();
    figures.row(
        "ResourceSet, 500 inputs × 4, first",
        &text(took),
        &peer_text,
        &percent(peer, took),
        "at least 80 %",
        cost,
    );

    let list = list_time(bench, &scene.namespace);
    scene.reconcile("all", "warm");
    meter.take();
    let mut times: Vec<Duration> = (0..10).map(|n| scene.reconcile("all", &format!("t{n}"))).collect();
    times.sort();
    let (cost, patches) = meter.take();
    let ratio =
        format!("{:.1} × one LIST, {:.1} patches a pass", times[5].as_secs_f64() / list.as_secs_f64(), patches / 10.0);
    let mark = "no write to an object, under 5 × one LIST";
    figures.row("the same, without a change", &text(times[5]), &format!("LIST {}", text(list)), &ratio, mark, cost);
}

fn list_time(bench: &Bench, namespace: &str) -> Duration {
    let start = Instant::now();
    for kind in ["configmaps", "secrets", "serviceaccounts"] {
        let path = format!("/api/v1/namespaces/{namespace}/{kind}?labelSelector={OWNER}%3Dall");
        let (status, _) = bench.block_on(bench.raw().list_metadata(&path));
        assert_eq!(status, 200);
    }
    start.elapsed()
}

/// 10,000 inputs of one object, of which one changes.
pub fn inputs_10000(bench: &Bench, figures: &mut Figures) {
    const INPUTS: usize = 10_000;
    let scene = Scene::new(bench, "many");
    let template = json!([{"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "<< inputs.n >>", "namespace": scene.namespace}, "data": {"key": "<< inputs.v >>"}}]);
    let spec = |changed| json!({"inputs": of_inputs(INPUTS, changed), "resources": template});
    let controllers = scene.controllers();
    let mut meter = Meter::new(&controllers);
    let start = Instant::now();
    scene.apply(&set(&scene.namespace, "all", spec(None)));
    let took = scene.wait_until_ready(&["all".to_owned()])["all"] - start;
    let (cost, _) = meter.take();
    figures.row("ResourceSet, 10,000 inputs, first", &text(took), "-", "-", "under 300 MiB", cost);

    let path = format!("/api/v1/namespaces/{}/configmaps/i7777", scene.namespace);
    let start = Instant::now();
    scene.apply(&set(&scene.namespace, "all", spec(Some(7_777))));
    loop {
        let (_, body) = bench.block_on(bench.raw().get(&path));
        let live: Value = serde_json::from_slice(&body).unwrap_or_default();
        if live["data"]["key"] == "two" {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "it never changed");
        std::thread::sleep(Duration::from_millis(2));
    }
    let live = start.elapsed();
    scene.wait_until_ready(&["all".to_owned()]);
    let (cost, patches) = meter.take();
    let ratio = format!("{patches:.0} patches: a dry run, a write, the status");
    figures.row("one input of 10,000 changed", &text(live), "-", &ratio, "1 write, under 1 s", cost);

    let start = Instant::now();
    let controllers = controllers.kill().start();
    scene.reconcile("all", "again");
    let cost =
        Cost { cpu: process::cpu(controllers.pid()), peak_mib: process::peak_mib(controllers.pid()), requests: 0.0 };
    figures.row("restart, all 10,000 rendered anew", &text(start.elapsed()), "-", "-", "under 10 s", cost);
}

/// 1,000 sets of 4 objects.
pub fn sets_1000(bench: &Bench, figures: &mut Figures) {
    const SETS: usize = 1_000;
    let (bare, scene) = (Scene::new(bench, "bare"), Scene::new(bench, "thousand"));
    let plain = (0..SETS).flat_map(|n| objects(&bare.namespace, &format!("s{n}"), "one"));
    let peer = bare.bare(plain.collect());
    let names: Vec<String> = (0..SETS).map(|n| format!("s{n}")).collect();
    for name in &names {
        scene.apply(&set(&scene.namespace, name, json!({"resources": objects(&scene.namespace, name, "one")})));
    }
    let start = Instant::now();
    let controllers = scene.controllers();
    let ready = scene.wait_until_ready(&names);
    let took = ready.values().max().map_or(Duration::ZERO, |last| *last - start);
    let (cost, patches) = Meter { controllers: &controllers, cpu: Duration::ZERO, requests: 0.0, writes: 0.0 }.take();
    let own = patches - 2.0 * (SETS * EACH) as f64;
    let ratio = format!("{}, {:.1} patches of each set's own", percent(peer, took), own / SETS as f64);
    let peer = format!("dry run and apply of each {}", text(peer));
    figures.row("1,000 ResourceSets × 4, all ready", &text(took), &peer, &ratio, "at least 60 %", cost);
}

/// 117 sets with and without 11 others that never become healthy.
pub fn sets_unhealthy(bench: &Bench, figures: &mut Figures) {
    let scene = Scene::new(bench, "healthy");
    let names: Vec<String> = (0..117).map(|n| format!("h{n}")).collect();
    let spec = |name: &str, value: &str| json!({"wait": true, "resources": objects(&scene.namespace, name, value)});
    let controllers = scene.controllers();
    let round = |value: &str| {
        let mut begun = HashMap::new();
        for name in &names {
            begun.insert(name.clone(), Instant::now());
            scene.apply(&set(&scene.namespace, name, spec(name, value)));
        }
        let ready = scene.wait_until_ready(&names);
        let mut times: Vec<Duration> =
            names.iter().map(|name| ready[name].saturating_duration_since(begun[name])).collect();
        times.sort();
        times[times.len() * 99 / 100]
    };
    round("zero");
    let without = round("one").min(round("two"));
    for n in 0..11 {
        let name = format!("never{n}");
        let never = json!([{"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": scene.namespace},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"nodeSelector": {"no": "where"}, "containers": [{"name": "a", "image": "example.org/a"}]}}}}]);
        scene.apply(&set(&scene.namespace, &name, json!({"wait": true, "resources": never})));
    }
    std::thread::sleep(Duration::from_secs(3));
    let with = round("three").min(round("four"));
    let ratio = format!("{:.2} ×", with.as_secs_f64() / without.as_secs_f64());
    let mut meter = Meter::new(&controllers);
    let (cost, _) = meter.take();
    figures.row(
        "117 healthy sets beside 11 that never are, p99",
        &text(with),
        &format!("without them {}", text(without)),
        &ratio,
        "within 1.2 ×",
        cost,
    );
}

/// 100 passes over objects that defaulting, controllers and status writers change all the time.
pub fn sets_quiet(bench: &Bench, figures: &mut Figures) {
    let scene = Scene::new(bench, "quiet");
    let ns = &scene.namespace;
    let pod = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "example.org/a:1",
        "ports": [{"containerPort": 80}], "resources": {"requests": {"cpu": "1000m", "memory": "0.5Gi"}}}]}});
    let of = |api: &str, kind: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "metadata": {"name": "a", "namespace": ns}, "spec": spec});
    let selector = json!({"matchLabels": {"app": "a"}});
    let corpus = json!([
        of("apps/v1", "Deployment", json!({"selector": selector, "template": pod})),
        of("apps/v1", "StatefulSet", json!({"serviceName": "a", "selector": selector, "template": pod})),
        of("apps/v1", "DaemonSet", json!({"selector": selector, "template": pod})),
        of("batch/v1", "CronJob", json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "a", "image": "example.org/a:1"}]}}}}})),
        of("v1", "Service", json!({"selector": {"app": "a"}, "ports": [{"port": 80}]})),
        of("autoscaling/v2", "HorizontalPodAutoscaler", json!({"minReplicas": 2, "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]})),
        of("policy/v1", "PodDisruptionBudget", json!({"maxUnavailable": 1, "selector": selector})),
        of("networking.k8s.io/v1", "Ingress", json!({"rules": [{"host": "a.example.org", "http": {"paths": [{"path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}]})),
        of("networking.k8s.io/v1", "NetworkPolicy", json!({"podSelector": selector, "policyTypes": ["Ingress"]})),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": ns}, "stringData": {"a": "b"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "namespace": ns}},
        of("v1", "PersistentVolumeClaim", json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}})),
    ]);
    let controllers = scene.controllers();
    scene.apply(&set(ns, "all", json!({"resources": corpus})));
    scene.wait_until_ready(&["all".to_owned()]);
    scene.reconcile("all", "warm");
    let mut meter = Meter::new(&controllers);
    let times: Vec<Duration> = (0..100).map(|n| scene.reconcile("all", &format!("t{n}"))).collect();
    let (cost, patches) = meter.take();
    let whole: Duration = times.iter().sum();
    let ratio = format!("{:.2} patches a pass, all of the set's own status", patches / 100.0);
    figures.row(
        "100 passes over 12 kinds that others write to",
        &text(whole / 100),
        "-",
        &ratio,
        "no write to an object",
        cost,
    );
}
