//! The original fluxd and ours, side by side on the same repository: what a client and a reader of the log see must be
//! the same wherever nothing else was decided. Both run against one API server; the objects are in a namespace of the test.

use crate::rig::{ControlPlane, Fluxd, Reply, Repo, eventually, request};

/// A repository's files, and further flags.
struct Tree<'a> {
    files: &'a [(&'a str, &'a str)],
    flags: &'a [&'a str],
}

fn pushed(files: &[(&str, &str)]) -> Repo {
    let repo = Repo::new();
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.push("all of it");
    repo
}

/// The original, then ours, one after the other on one repository.
fn both<T>(plane: &ControlPlane, repo: &Repo, flags: &[&str], mut see: impl FnMut(&Fluxd) -> T) -> [T; 2] {
    [true, false].map(|original| {
        let builder = Fluxd::against(plane).git(repo).args(flags);
        let builder = if original { builder.original() } else { builder.args(&["--registry-disable-scanning"]) };
        let mut fluxd = builder.start();
        fluxd.wait_until_up();
        see(&fluxd)
    })
}

fn is_ready(fluxd: &Fluxd) {
    eventually("the repository is ready", || {
        let reply = fluxd.post("/api/flux/v9/git-repo-config", "false")?;
        (reply.json()["status"] == "ready").then_some(())
    });
}

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: parity-none}\n";
const GENERATOR: &str = "version: 1\ncommandUpdated:\n  generators:\n  - command: cat x.txt\n";
const BROKEN_GENERATOR: &str = "version: 1\ncommandUpdated:\n  generators:\n  - command: echo no >&2; exit 3\n";

/// Trees that do not load, and whose errors begin with the same words.
const UNLOADABLE: &[Tree<'_>] = &[
    Tree { files: &[("a.yaml", CONFIG_MAP), ("b/c.yaml", CONFIG_MAP)], flags: &[] },
    Tree { files: &[("b/c.yaml", CONFIG_MAP)], flags: &["--git-path=b", "--git-path=b/c.yaml"] },
    Tree { files: &[("a.yaml", "a: b\nc: d: e\n")], flags: &[] },
    Tree {
        files: &[("g/x.txt", CONFIG_MAP), ("h/x.txt", CONFIG_MAP), (".flux.yaml", GENERATOR)],
        flags: &["--git-path=g,h", "--manifest-generation"],
    },
    Tree {
        files: &[("g/x.txt", CONFIG_MAP), ("g/.flux.yaml", GENERATOR), ("raw/a.yaml", CONFIG_MAP)],
        flags: &["--git-path=raw,g", "--manifest-generation"],
    },
    Tree { files: &[("g/.flux.yaml", BROKEN_GENERATOR)], flags: &["--git-path=g", "--manifest-generation"] },
    Tree {
        files: &[(".flux.yaml", "version: 2\ncommandUpdated: {generators: []}\n")],
        flags: &["--manifest-generation"],
    },
    Tree { files: &[(".flux.yaml", "")], flags: &["--manifest-generation"] },
];

#[test]
fn a_tree_that_does_not_load_is_refused_in_the_originals_words() {
    let plane = ControlPlane::shared();
    for tree in UNLOADABLE {
        let repo = pushed(tree.files);
        let [theirs, ours] = both(plane, &repo, tree.flags, |fluxd| {
            is_ready(fluxd);
            let logged = fluxd.wait_for_log(&["component=sync-loop", "err=\"loading "]);
            let reply = fluxd.get("/api/flux/v6/services?namespace=").expect("it is up");
            let stage = logged.split("err=\"loading ").nth(1).unwrap_or_default().split(':').next().map(str::to_owned);
            (reply.status, reply.json()["error"].as_str().unwrap_or_default().to_owned(), stage)
        });
        assert_eq!((ours.0, &ours.2), (422, &theirs.2), "{ours:?} {theirs:?}");
        assert!(ours.1.starts_with(&theirs.1), "ours: {}\ntheirs: {}", ours.1, theirs.1);
    }
}

/// Workloads that the original could not decode; the words are Go's, so only the verdict is compared.
#[test]
fn a_workload_that_cannot_be_decoded_stops_the_load_as_in_the_original() {
    let plane = ControlPlane::shared();
    let bad =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: 5}}}\n";
    let repo = pushed(&[("good.yaml", CONFIG_MAP), ("web.yaml", bad)]);
    let seen = both(plane, &repo, &[], |fluxd| {
        is_ready(fluxd);
        let line = fluxd.wait_for_log(&["parsing YAML doc from \\\"web.yaml\\\""]);
        (line.contains("loading resources from repo"), fluxd.get("/api/flux/v6/services").map(|reply| reply.status))
    });
    assert_eq!(seen, [(true, Some(422)), (true, Some(422))]);
}

/// Method, path below `/api/flux` (or the whole path) and body.
const REQUESTS: &[(&str, &str, &str)] = &[
    ("GET", "/api/flux/v11/ping", ""),
    ("HEAD", "/api/flux/v11/ping", ""),
    ("GET", "/api/flux/v11/ping/", ""),
    ("GET", "/api/flux/v11//ping", ""),
    ("GET", "/api/flux", ""),
    ("POST", "/api/flux/v3/anything", ""),
    ("GET", "/api/flux/v5", ""),
    ("GET", "/elsewhere", ""),
    ("HEAD", "/metrics", ""),
    ("GET", "/api/flux/v6/services?namespace=parity-none", ""),
    ("GET", "/api/flux/v11/services?services=parity-none:deployment/x", ""),
    ("GET", "/api/flux/v11/services?services=x:y/z&namespace=parity-none", ""),
    ("GET", "/api/flux/v11/services?services=parity-none:deployment/x,", ""),
    ("GET", "/api/flux/v10/images?service=&namespace=parity-none", ""),
    ("GET", "/api/flux/v10/images?namespace=parity-none", ""),
    ("GET", "/api/flux/v6/images?service=parity-none:deployment/x", ""),
    ("GET", "/api/flux/v6/jobs", ""),
    ("GET", "/api/flux/v6/jobs?id=nobody", ""),
    ("GET", "/api/flux/v6/sync", ""),
    ("GET", "/api/flux/v6/sync?ref=", ""),
    ("GET", "/api/flux/v6/sync?ref=HEAD", ""),
    ("GET", "/api/flux/v6/sync?ref=feedbeef", ""),
    ("GET", "/api/flux/v6/identity.pub", ""),
    ("POST", "/api/flux/v6/identity.pub", ""),
    ("POST", "/api/flux/v9/git-repo-config", "false"),
    ("POST", "/api/flux/v11/notify", "{\"kind\":\"git\",\"source\":{\"url\":\"x\",\"branch\":\"y\"}}"),
    ("POST", "/api/flux/v11/notify", "{\"Kind\":\"other\",\"Source\":{}}"),
    ("POST", "/api/flux/v11/notify", "{\"Kind\":\"git\"}"),
    ("POST", "/api/flux/v9/update-manifests", "{\"type\":\"auto\",\"spec\":{}}"),
    ("POST", "/api/flux/v9/update-manifests", "{\"type\":\"sync\"}"),
    ("POST", "/api/flux/v9/update-manifests", "{}"),
];

/// What of an answer must be alike: help texts are each project's own, and the bodies of 400 were empty in the original.
fn comparable(reply: Reply) -> (u16, String) {
    let body = match serde_json::from_str::<serde_json::Value>(&reply.body) {
        _ if reply.status == 400 => String::new(),
        Ok(json) if json["help"].is_string() => json["error"].to_string(),
        _ => reply.body,
    };
    (reply.status, body)
}

#[test]
fn every_route_answers_as_in_the_original() {
    let plane = ControlPlane::shared();
    let repo = pushed(&[("README", "nothing to apply")]);
    let [theirs, ours] = both(plane, &repo, &[], |fluxd| {
        fluxd.wait_for_log(&["state=\"tag flux-sync\""]);
        eventually("the mirror knows the tag", || {
            let reply = fluxd.get("/api/flux/v6/sync?ref=HEAD")?;
            (reply.body == "[]").then_some(())
        });
        let answers = REQUESTS.iter().map(|(method, path, body)| {
            let headers = [("Accept", "application/json")];
            comparable(request(fluxd.port(), method, path, &headers, body).expect("it is up"))
        });
        answers.collect::<Vec<_>>()
    });
    for ((request, ours), theirs) in REQUESTS.iter().zip(ours).zip(theirs) {
        assert_eq!(ours, theirs, "{request:?}");
    }
}
