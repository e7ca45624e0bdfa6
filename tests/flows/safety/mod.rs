//! Canaries: in every place where fluxd is given a credential there is one that occurs nowhere else. Each of them opens
//! something during the run (the servers let nobody else in), things go wrong on purpose, everything is asked for; and
//! afterwards none of them is in a log line, an answer, an event, a metric, a note, a commit or a child's arguments.

mod upstream;
mod watch;

use crate::rig::{
    Answer, ControlPlane, DockerRegistry, Fluxd, FluxdBuilder, GitHttp, GitHttpOptions, GitSsh, Image, Repo,
    eventually, fresh_name, run, tool,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::{Digest as _, Sha256};
use std::process::Command;
use upstream::Upstream;
use watch::{Arguments, Evidence};

/// A secret that nobody else has, of letters and digits, so that no encoding of URLs or JSON changes it.
fn canary(name: &str) -> String {
    fresh_name(&format!("canary{name}0000000000000000")).replace('-', "x")
}

fn docker_config(host: &str, password: &str) -> String {
    let auth = STANDARD.encode(format!("ann:{password}"));
    format!(r#"{{"auths":{{"{host}":{{"auth":"{auth}"}}}}}}"#)
}

fn pull_secret(plane: &ControlPlane, namespace: &str, name: &str, config: &str) {
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {namespace}}}\ntype: \
         kubernetes.io/dockerconfigjson\ndata: {{.dockerconfigjson: {}}}\n",
        STANDARD.encode(config)
    );
    plane.apply(&secret, &[]);
}

fn workload(namespace: &str, name: &str, image: &str, pull: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n  namespace: {namespace}\n  annotations: \
         {{fluxcd.io/automated: '{}', fluxcd.io/tag.{name}: 'semver:~1'}}\nspec:\n  selector: {{matchLabels: {{app: \
         {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      imagePullSecrets: [{{name: \
         {pull}}}]\n      containers: [{{name: {name}, image: '{image}'}}]\n",
        name == "web"
    )
}

fn secret(namespace: &str, name: &str, fields: &str) -> String {
    format!("apiVersion: v1\nkind: Secret\nmetadata:\n    name: {name}\n    namespace: {namespace}\n{fields}")
}

/// Encrypts with the real SOPS for a fresh key of age; gives the text and the key.
pub(super) fn sealed(text: &str) -> (String, String) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (plain, key) = (directory.path().join("sealed.yaml"), directory.path().join("key"));
    run(Command::new("age-keygen").arg("-o").arg(&key));
    let key = std::fs::read_to_string(key).expect("age-keygen wrote it");
    let recipient = key.lines().find_map(|line| line.strip_prefix("# public key: ")).expect("it says so").to_owned();
    std::fs::write(&plain, text).expect("a temporary directory is writable");
    let mut sops = Command::new(tool("sops", "sops"));
    let encrypted =
        run(sops.args(["--encrypt", "--age", &recipient, "--encrypted-regex", "^(data|stringData)$"]).arg(plain));
    let key = key.lines().find(|line| line.starts_with("AGE-SECRET-KEY-")).expect("the key is a line").to_owned();
    (encrypted, key)
}

/// Everything of a secret nature in the long run, and what takes it.
struct Scene {
    namespace: String,
    repo: Repo,
    git: GitHttp,
    pulled: DockerRegistry,
    configured: DockerRegistry,
    upstream: Upstream,
    secrets: Vec<(&'static str, String)>,
}

impl Scene {
    fn new(plane: &ControlPlane) -> Self {
        let namespace = plane.namespace("canaries");
        let names = ["git", "pull", "docker", "token", "webhook", "plain", "sealed", "typed", "wrong"];
        let mut secrets: Vec<(&str, String)> = names.into_iter().map(|name| (name, canary(name))).collect();
        let of = |name: &str| secrets.iter().find(|(known, _)| *known == name).expect("listed above").1.clone();
        let (pulled, configured) =
            (DockerRegistry::with_login("ann", &of("pull")), DockerRegistry::with_login("ann", &of("docker")));
        for tag in ["1.0.0", "1.0.1"] {
            configured.push("shop/api", tag, &Image::made("2024-01-01T00:00:00Z"));
        }
        for name in ["shop/web", "shop/odd"] {
            pulled.push(name, "1.0.0", &Image::made("2024-01-01T00:00:00Z"));
        }
        pull_secret(plane, &namespace, "right", &docker_config(&pulled.host(), &of("pull")));
        pull_secret(plane, &namespace, "wrong", &docker_config(&pulled.host(), &of("wrong")));
        let repo = Repo::new();
        let data =
            format!("stringData:\n    password: {}\ndata:\n    key: {}\n", of("plain"), STANDARD.encode(of("plain")));
        let (encrypted, key) =
            sealed(&secret(&namespace, "sealed", &format!("stringData:\n    password: {}\n", of("sealed"))));
        repo.write("plain.yaml", &secret(&namespace, "plain", &data)).write("sealed.yaml", &encrypted);
        repo.write("web.yaml", &workload(&namespace, "web", &format!("{}/shop/web:1.0.0", pulled.host()), "right"));
        repo.write("api.yaml", &workload(&namespace, "api", &format!("{}/shop/api:1.0.0", configured.host()), "none"));
        repo.write("odd.yaml", &workload(&namespace, "odd", &format!("{}/shop/odd:1.0.0", pulled.host()), "wrong"));
        repo.push("the shop");
        let login = Some(("ann".to_owned(), of("git")));
        let git = GitHttp::start(&repo, GitHttpOptions { login, tls_host: Some("localhost".to_owned()) });
        let upstream = Upstream::start(&of("token"));
        secrets.push(("key of SOPS", key));
        Self { namespace, repo, git, pulled, configured, upstream, secrets }
    }

    fn secret(&self, name: &str) -> &str {
        &self.secrets.iter().find(|(known, _)| *known == name).expect("a canary of this name").1
    }

    fn fluxd(&self, plane: &ControlPlane, arguments: &Arguments) -> FluxdBuilder {
        let builder = Fluxd::against(plane);
        let home = builder.home().to_owned();
        let config = home.join("docker.json");
        std::fs::write(&config, docker_config(&self.configured.host(), self.secret("docker"))).expect("it is writable");
        let ca = format!("[http]\n\tsslCAInfo = {}\n", self.git.ca_file().display());
        std::fs::write(home.join(".gitconfig"), ca).expect("it is writable");
        let receivers = home.join("receivers.yaml");
        let endpoints = "fluxRecvVersion: 1\nendpoints: [{source: GenericHMAC, keyPath: hook.key}]\n";
        std::fs::write(&receivers, endpoints).expect("it is writable");
        std::fs::write(home.join("hook.key"), self.secret("webhook")).expect("it is writable");
        let hosts = format!("--registry-insecure-host={},{}", self.pulled.host(), self.configured.host());
        builder
            .args(&["--git-branch=master", "--git-poll-interval=1s", "--git-timeout=5s", "--automation-interval=1s"])
            .args(&[
                "--sops",
                "--sync-garbage-collection",
                "--registry-trace",
                "--log-level=trace",
                "--sync-interval=5s",
            ])
            .args(&[&format!("--receivers-config={}", receivers.display())])
            .args(&[&hosts, &format!("--docker-config={}", config.display())])
            .args(&[&format!("--git-url={}", self.git.url_with_login()), &format!("--connect={}", self.upstream.url())])
            .args(&[&format!("--token={}", self.secret("token")), &format!("--k8s-allow-namespace={}", self.namespace)])
            .env("SOPS_AGE_KEY", self.secret("key of SOPS"))
            .env("PATH", &arguments.path(&plane.path()))
    }

    /// Sends a webhook that is signed with a key; gives the status of the answer.
    fn webhook(&self, fluxd: &Fluxd, key: &str) -> u16 {
        let path = format!("/hook/{}", hex::encode(Sha256::digest(self.secret("webhook"))));
        let mac = <Hmac<Sha256> as Mac>::new_from_slice(key.as_bytes()).expect("keys of any length will do");
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        let reply = crate::rig::request(fluxd.port(), "POST", &path, &[("X-Signature", &signature)], "");
        reply.expect("it answers").status
    }

    /// What a live Secret has under a key.
    fn live(&self, plane: &ControlPlane, name: &str, key: &str) -> Option<String> {
        let data = plane.get(&self.namespace, "secret", name)?["data"][key].as_str()?.to_owned();
        String::from_utf8(STANDARD.decode(data).ok()?).ok()
    }

    fn image(&self, plane: &ControlPlane, name: &str) -> String {
        let live = plane.get(&self.namespace, "deployment", name).unwrap_or_default();
        live["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned()
    }

    /// Starts a job and waits for its end; gives its id.
    #[track_caller]
    fn job(&self, fluxd: &Fluxd, kind: &str, spec: &str) -> String {
        let body = format!(r#"{{"type":"{kind}","cause":{{"Message":"why","User":"Ann"}},"spec":{spec}}}"#);
        let reply = fluxd.post("/api/flux/v9/update-manifests", &body).expect("it answers");
        assert_eq!(reply.status, 200, "{reply:?}");
        let id = reply.json().as_str().expect("a job's id is text").to_owned();
        eventually("the job ends", || {
            let status = fluxd.get(&format!("/api/flux/v6/jobs?id={id}"))?.json();
            matches!(status["StatusString"].as_str(), Some("succeeded" | "failed")).then_some(())
        });
        id
    }

    /// What fluxd wrote to the repository: its commits, their changes, its notes and its tag.
    fn written(&self, into: &mut Evidence) {
        for (place, args) in [
            ("commits", vec!["log", "-p", "--format=fuller", "--author=Weave Flux", "master"]),
            ("notes", vec!["log", "-p", "refs/notes/flux"]),
            ("the tag", vec!["cat-file", "-p", "refs/tags/flux-sync"]),
        ] {
            let text = self.repo.remote_git(&args);
            assert!(!text.is_empty(), "fluxd wrote {place}");
            into.add(place, text);
        }
    }
}

/// Failures on purpose, each at a place where a credential is at hand.
#[track_caller]
fn trouble(plane: &ControlPlane, scene: &Scene, fluxd: &Fluxd, arguments: &Arguments) {
    eventually("the refused clone is told", || fluxd.log().iter().any(|line| line.contains("503")).then_some(()));
    scene.git.answer(Answer::Hang);
    eventually("git's own helper is seen at work", || arguments.text().contains("git-remote-http").then_some(()));
    scene.git.answer(Answer::Serve);
    eventually("the Secret is live", || {
        (scene.live(plane, "plain", "password")? == scene.secret("plain")).then_some(())
    });
    eventually("so is the sealed one", || {
        (scene.live(plane, "sealed", "password")? == scene.secret("sealed")).then_some(())
    });
    // A value of the wrong type, which error messages like to quote.
    let typed = format!("data:\n    password: [{}]\n", scene.secret("typed"));
    scene.repo.write("typed.yaml", &secret(&scene.namespace, "typed", &typed));
    scene.repo.push("a Secret that no API server takes");
    fluxd.notify(&scene.repo, &scene.git.url());
    eventually("the failing object is told", || {
        fluxd.log().iter().any(|line| line.contains("secret/typed")).then_some(())
    });
    scene.repo.remove("typed.yaml").push("without it");
}

#[test]
fn no_credential_is_ever_told() {
    let plane = ControlPlane::shared();
    let scene = Scene::new(plane);
    let arguments = Arguments::new();
    scene.git.answer(Answer::Unavailable);
    let mut fluxd = scene.fluxd(plane, &arguments).start();
    arguments.watch(fluxd.pid());
    fluxd.wait_until_up();
    let stream = watch::listen(fluxd.port(), "/api/fluxd/v1/events");
    trouble(plane, &scene, &fluxd, &arguments);

    let id = |name: &str| format!("{}:deployment/{name}", scene.namespace);
    eventually("both registries were read", || {
        let images = fluxd.get("/api/flux/v6/images?service=%3Call%3E")?.body;
        (images.contains("shop/web:1.0.0") && images.contains("shop/api:1.0.1")).then_some(())
    });
    scene.pulled.push("shop/web", "1.1.0", &Image::made("2024-02-01T00:00:00Z"));
    let change =
        format!(r#"{{"Kind":"image","Source":{{"Name":{{"Domain":"{}","Image":"shop/web"}}}}}}"#, scene.pulled.host());
    fluxd.post("/api/flux/v11/notify", &change).expect("it answers");
    eventually("automation took the new tag", || scene.image(plane, "web").ends_with(":1.1.0").then_some(()));
    let release = format!(
        r#"{{"ServiceSpecs":["{}"],"ImageSpec":"{}/shop/api:1.0.1","Kind":"execute","Excludes":[],"Force":false}}"#,
        id("api"),
        scene.configured.host()
    );
    let mut jobs = vec![scene.job(&fluxd, "image", &release)];
    jobs.push(scene.job(&fluxd, "policy", &format!(r#"{{"{}":{{"add":{{"locked":"true"}}}}}}"#, id("web"))));
    jobs.push(scene.job(&fluxd, "sync", "{}"));
    eventually("the release is live", || scene.image(plane, "api").ends_with(":1.0.1").then_some(()));
    eventually("the upstream let it in and was told of it", || {
        (scene.upstream.welcomed() >= 2 && scene.upstream.text().contains("autorelease")).then_some(())
    });
    assert_eq!(scene.webhook(&fluxd, scene.secret("webhook")), 200, "the webhook's key is known");
    assert_eq!(scene.webhook(&fluxd, scene.secret("wrong")), 401, "another is not");
    assert!(
        fluxd.log().iter().any(|line| line.contains("401") || line.contains("nauthorized")),
        "a wrong password was tried"
    );

    let mut evidence = Evidence::default();
    watch::answers(&fluxd, &scene.namespace, &jobs, &mut evidence);
    scene.written(&mut evidence);
    evidence.add("events of Kubernetes", plane.kubectl(&["get", "events", "-A", "-o", "json"]));
    evidence.add("what the upstream was sent", scene.upstream.text());
    evidence.add("the stream of events", stream.lock().expect("never poisoned").clone());
    evidence.add("arguments of children", arguments.text());
    evidence.add("the log", fluxd.log().join("\n"));
    let secrets: Vec<(&str, &str)> = scene.secrets.iter().map(|(name, secret)| (*name, secret.as_str())).collect();
    evidence.holds_none_of(&secrets);
}

/// The deploy key, one that is made anew, and the token of the service account.
#[test]
fn no_key_of_a_pod_is_ever_told() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("keys");
    let repo = Repo::new();
    repo.write("a.yaml", &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: {namespace}}}\n"))
        .push("one");
    let server = GitSsh::start(&repo);
    let arguments = Arguments::new();
    let builder = Fluxd::against(plane).in_cluster(plane, &namespace);
    let home = builder.home().to_owned();
    std::fs::copy(server.identity(), home.join("git-key/identity")).expect("the key is there");
    run(Command::new("chmod").arg("0400").arg(home.join("git-key/identity")));
    std::fs::create_dir_all(home.join(".ssh")).expect("it is writable");
    std::fs::write(home.join(".ssh/known_hosts"), server.known_hosts()).expect("it is writable");
    let token = std::fs::read_to_string(home.join("serviceaccount/token")).expect("the pod has a token");
    let url = format!("--git-url={}", server.url());
    let builder = builder.args(&[&url, "--git-branch=master", "--git-poll-interval=1s", "--log-level=trace"]);
    let mut fluxd = builder.env("PATH", &arguments.path(&plane.path())).start();
    arguments.watch(fluxd.pid());
    fluxd.wait_until_up();
    eventually("the key opened the repository", || repo.remote_ref("refs/tags/flux-sync"));
    assert!(plane.get(&namespace, "configmap", "a").is_some(), "the token opened the API server");

    let regenerated = fluxd.post("/api/flux/v9/git-repo-config", "true").expect("it answers");
    assert_eq!(regenerated.status, 200, "{regenerated:?}");
    let live = plane.get(&namespace, "secret", "flux-git-deploy").expect("it exists");
    let made = STANDARD.decode(live["data"]["identity"].as_str().expect("a key was stored")).expect("base64");
    let made = String::from_utf8(made).expect("a key is text");
    let public = regenerated.json()["publicSSHKey"]["key"].as_str().expect("the new key is told").to_owned();
    server.authorize(&public);
    let head = repo.push("for the new key alone");
    eventually("the new key opened it too", || (repo.remote_ref("refs/tags/flux-sync^{}")? == head).then_some(()));

    let mut evidence = Evidence::default();
    watch::answers(&fluxd, &namespace, &[], &mut evidence);
    evidence.add("events of Kubernetes", plane.kubectl(&["get", "events", "-A", "-o", "json"]));
    evidence.add("arguments of children", arguments.text());
    evidence.add("the log", fluxd.log().join("\n"));
    let old = std::fs::read_to_string(server.identity()).expect("the key is there");
    let secrets = [("the token", token.trim()), ("the deploy key", body(&old)), ("the new key", body(&made))];
    evidence.holds_none_of(&secrets);
}

/// A line from within a private key.
fn body(key: &str) -> &str {
    key.lines().filter(|line| !line.starts_with("-----")).nth(2).expect("a key has lines")
}
