//! The second half of a user's day: policies, releases and automation are written back to git, asked for by the original
//! fluxctl 1.25.4 and over HTTP.

mod automation;
mod jobs;
mod parity;
mod policies;
mod releases;
mod signatures;

use crate::rig::{ControlPlane, Fluxd, FluxdBuilder, Repo, eventually, tool};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

/// A workload as somebody wrote it, with comments, quotes and odd spaces that must stay.
fn deployment(namespace: &str, name: &str, image: &str) -> String {
    format!(
        "# the shop's {name}\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n    name: {name}\n    namespace: \
         {namespace}   # ours\nspec:\n    replicas: 0\n    selector: {{matchLabels: {{app: {name}}}}}\n    template:\n        \
         metadata: {{labels: {{app: {name}}}}}\n        spec:\n            containers:\n            -   name: main\n                \
         image: {image}   # by hand\n            -   name: side\n                image: example.org/side:1\n"
    )
}

/// A namespace, a repository with files in it, and our daemon on both, synced once.
struct Shop<'a> {
    plane: &'a ControlPlane,
    namespace: String,
    repo: Repo,
    fluxd: Fluxd,
}

/// How a program of the user's ended and what it printed.
#[derive(Debug)]
struct Printed {
    ok: bool,
    text: String,
}

impl<'a> Shop<'a> {
    /// Files by path; `NS` in them is the namespace.
    #[track_caller]
    fn open(files: &[(&str, String)], flags: &[&str]) -> Self {
        let plane = ControlPlane::shared();
        let namespace = plane.namespace("shop");
        let repo = Repo::new();
        for (path, text) in files {
            repo.write(path, &text.replace("NS", &namespace));
        }
        repo.push("what the shop runs");
        let fluxd = start(Fluxd::against(plane).git(&repo), flags);
        let shop = Self { plane, namespace, repo, fluxd };
        shop.is_synced();
        shop
    }

    fn id(&self, name: &str) -> String {
        format!("{}:deployment/{name}", self.namespace)
    }

    /// Runs the original fluxctl.
    fn fluxctl(&self, args: &[&str]) -> Printed {
        fluxctl(self.plane, &self.fluxd, &self.repo, args)
    }

    /// Runs it, and expects it to succeed.
    #[track_caller]
    fn done(&self, args: &[&str]) -> String {
        let printed = self.fluxctl(args);
        assert!(printed.ok, "fluxctl {args:?}: {}", printed.text);
        printed.text
    }

    /// Runs it, and expects it to fail.
    #[track_caller]
    fn refused(&self, args: &[&str]) -> String {
        let printed = self.fluxctl(args);
        assert!(!printed.ok, "fluxctl {args:?}: {}", printed.text);
        printed.text
    }

    /// Starts an update and gives the job's name.
    #[track_caller]
    fn update(&self, spec: &Value) -> String {
        let reply = self.fluxd.post("/api/flux/v9/update-manifests", &spec.to_string()).expect("fluxd answers");
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json().as_str().expect("a job's name").to_owned()
    }

    /// Starts an update and waits for its end.
    #[track_caller]
    fn job(&self, spec: &Value) -> Value {
        job_status(&self.fluxd, &self.update(spec))
    }

    /// A file at the head of the remote's branch.
    fn file(&self, path: &str) -> String {
        self.repo.remote_file("master", path)
    }

    /// The message of the newest commit.
    fn message(&self) -> String {
        self.repo.remote_git(&["log", "-1", "--format=%B", "master"])
    }

    /// Commits on the branch.
    fn commits(&self) -> usize {
        self.repo.remote_git(&["rev-list", "--count", "master"]).trim().parse().expect("a number")
    }

    /// The note of the newest commit.
    fn note(&self) -> Value {
        let text = self.repo.remote_git(&["notes", "--ref=flux", "show", "master"]);
        serde_json::from_str(&text).expect("a note is JSON")
    }

    /// Waits until the head of the branch is what the cluster was brought to.
    #[track_caller]
    fn is_synced(&self) {
        eventually("the branch's head is synced", || {
            (self.repo.remote_ref("flux-sync") == self.repo.remote_ref("master")).then_some(())
        });
    }

    /// The image of a container as it is live.
    fn live_image(&self, name: &str) -> Value {
        let live = self.plane.get(&self.namespace, "deployment", name).expect("it is live");
        live["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    }
}

fn start(builder: FluxdBuilder, flags: &[&str]) -> Fluxd {
    let mut fluxd = builder.args(&["--sync-interval=1h", "--git-poll-interval=1h"]).args(flags).start();
    fluxd.wait_until_up();
    fluxd
}

fn fluxctl(plane: &ControlPlane, fluxd: &Fluxd, repo: &Repo, args: &[&str]) -> Printed {
    let mut command = Command::new(tool("flux-v1", "fluxctl"));
    command.env_clear().env("PATH", plane.path()).env("HOME", fluxd.home()).current_dir(repo.work());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").arg(format!("--url=http://127.0.0.1:{}/api/flux", fluxd.port()));
    let output = command.args(args).stdin(Stdio::null()).output().expect("fluxctl runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Printed { ok: output.status.success(), text }
}

/// Where a job stands once it has ended.
#[track_caller]
fn job_status(fluxd: &Fluxd, id: &str) -> Value {
    eventually("the job ends", || {
        let status = fluxd.get(&format!("/api/flux/v6/jobs?id={id}"))?.json();
        matches!(status["StatusString"].as_str(), Some("succeeded" | "failed")).then_some(status)
    })
}

/// A containers release of one container.
fn containers_release(kind: &str, id: &str, container: &str, (current, target): (&str, &str)) -> Value {
    let change = json!({"Container": container, "Current": current, "Target": target});
    json!({
        "type": "containers",
        "cause": {"Message": "", "User": "Ann <ann@example.com>"},
        "spec": {"Kind": kind, "ContainerSpecs": {id: [change]}, "SkipMismatches": false, "Force": false},
    })
}
