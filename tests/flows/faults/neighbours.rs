//! Several daemons in one cluster leave each other's objects alone.

use super::{config_map, daemon, uid, until_gone, until_synced};
use crate::rig::{ControlPlane, Fluxd, Repo, eventually};

fn until_at(repo: &Repo, tag: &str, head: &str) {
    let at = || (repo.remote_ref(&format!("refs/tags/{tag}"))? == head).then_some(());
    eventually(&format!("{tag} is at the head"), at);
}

/// Both look at every kind again, so that each has seen the other's objects.
fn sync_fully(fluxd: &Fluxd) {
    let reply =
        fluxd.post("/api/flux/v9/update-manifests", r#"{"type":"sync","cause":{"Message":"","User":""},"spec":{}}"#);
    let reply = reply.expect("it answers");
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[test]
fn two_daemons_on_one_repository_with_labels_and_paths_of_their_own_delete_only_their_own() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("labels");
    let repo = Repo::new();
    for team in ["red", "blue"] {
        for name in ["stays", "goes"] {
            repo.write(&format!("{team}/{name}.yaml"), &config_map(&ns, &format!("{team}-{name}"), "one"));
        }
    }
    let first = repo.push("the first");
    let mut daemons = ["red", "blue"].map(|team| {
        let args = [format!("--git-label={team}"), format!("--git-path={team}")];
        daemon(plane, &repo).arg(&args[0]).arg(&args[1]).start()
    });
    for (fluxd, team) in daemons.iter_mut().zip(["red", "blue"]) {
        fluxd.wait_until_up();
        until_at(&repo, team, &first);
    }
    let lives = ["red-stays", "blue-stays", "blue-goes"].map(|name| uid(plane, &ns, "configmap", name));

    let second = repo.remove("red/goes.yaml").push("red loses one");
    for (fluxd, team) in daemons.iter().zip(["red", "blue"]) {
        fluxd.notify(&repo, &repo.url());
        sync_fully(fluxd);
        until_at(&repo, team, &second);
    }
    until_gone(plane, &ns, "configmap", "red-goes");
    let now = ["red-stays", "blue-stays", "blue-goes"].map(|name| uid(plane, &ns, "configmap", name));
    assert_eq!(now, lives);

    let third = repo.remove("blue/goes.yaml").push("blue loses one");
    for (fluxd, team) in daemons.iter().zip(["red", "blue"]) {
        fluxd.notify(&repo, &repo.url());
        until_at(&repo, team, &third);
    }
    until_gone(plane, &ns, "configmap", "blue-goes");
}

#[test]
fn two_daemons_on_different_repositories_share_a_namespace_and_tell_when_they_clash() {
    let plane = ControlPlane::shared();
    let ns = plane.namespace("repositories");
    let repos = [Repo::new(), Repo::new()];
    for (repo, team) in repos.iter().zip(["red", "blue"]) {
        repo.write("stays.yaml", &config_map(&ns, &format!("{team}-stays"), "one"));
        repo.write("goes.yaml", &config_map(&ns, &format!("{team}-goes"), "one"));
    }
    let mut daemons = repos.each_ref().map(|repo| {
        let head = repo.push("the first");
        let fluxd = daemon(plane, repo).arg("--drift=interval").start();
        (fluxd, head)
    });
    for ((fluxd, head), repo) in daemons.iter_mut().zip(&repos) {
        fluxd.wait_until_up();
        until_synced(repo, head);
    }
    let second = repos[0].remove("goes.yaml").push("one less");
    for (fluxd, _) in &daemons {
        fluxd.notify(&repos[0], &repos[0].url());
        sync_fully(fluxd);
    }
    until_synced(&repos[0], &second);
    until_gone(plane, &ns, "configmap", "red-goes");
    for name in ["red-stays", "blue-stays", "blue-goes"] {
        uid(plane, &ns, "configmap", name);
    }

    repos[1].write("clash.yaml", &config_map(&ns, "red-stays", "blue"));
    let both = repos[1].push("an object of the other");
    daemons[1].0.notify(&repos[1], &repos[1].url());
    until_synced(&repos[1], &both);
    daemons[1].0.wait_for_log(&["red-stays", "another fluxd marks this object as its own too"]);
}
