//! Images from a real registry: listed and released by the original fluxctl, and released by themselves where workloads are
//! automated (fluxd-v1 §6.3, §6.6).

use super::{Shop, deployment};
use crate::rig::{DockerRegistry, Image, eventually};
use serde_json::json;

const FLAGS: &[&str] = &["--registry-insecure-host=127.0.0.1", "--automation-interval=1h"];

/// A registry with images of `web` made one hour apart.
fn registry(tags: &[&str]) -> DockerRegistry {
    let registry = DockerRegistry::start();
    for (hour, tag) in tags.iter().enumerate() {
        registry.push("web", tag, &made(hour));
    }
    registry
}

fn made(hour: usize) -> Image {
    Image::made(&format!("2026-01-01T{hour:02}:00:00Z"))
}

/// A workload of that registry, with annotations.
fn web(registry: &DockerRegistry, name: &str, tag: &str, annotations: &str) -> String {
    let text = deployment("NS", name, &format!("{}/web:{tag}", registry.host()));
    text.replace(
        "    namespace: NS   # ours\n",
        &format!("    namespace: NS   # ours\n    annotations:\n{annotations}"),
    )
}

impl Shop<'_> {
    /// Tells the daemon that the registry has something new, as a webhook does.
    fn has_new_image(&self, registry: &DockerRegistry) {
        let name = json!({"Domain": registry.host(), "Image": "web"});
        let reply =
            self.fluxd.post("/api/flux/v11/notify", &json!({"Kind": "image", "Source": {"Name": name}}).to_string());
        assert_eq!(reply.map(|reply| reply.status), Some(202));
    }

    /// Waits until the daemon knows so many tags of the image that a workload runs.
    #[track_caller]
    fn knows_tags(&self, workload: &str, count: usize) {
        let path = format!("/api/flux/v10/images?service={}", self.id(workload));
        eventually("the tags are known", || {
            let images = self.fluxd.get(&path)?.json();
            (images[0]["Containers"][0]["AvailableImagesCount"] == count).then_some(())
        });
    }
}

#[test]
fn fluxctl_lists_images_and_releases_them() {
    let registry = registry(&["1.0", "1.1", "2.0"]);
    let locked = "        fluxcd.io/locked: 'true'\n";
    let files = [
        ("web.yaml", web(&registry, "web", "1.0", "        fluxcd.io/tag.main: semver:~1\n")),
        ("shut.yaml", web(&registry, "shut", "1.0", locked)),
    ];
    let shop = Shop::open(&files, FLAGS);
    shop.knows_tags("web", 3);
    let listed = shop.done(&["list-images", "-n", &shop.namespace, "-w", "deployment/web"]);
    assert!(listed.contains("main") && listed.contains("'-> 1.0") && listed.contains("|   2.0"), "{listed}");
    assert!(listed.contains("image data not available"), "the other container's image is nowhere: {listed}");

    let (host, workload) = (registry.host(), ["-n", &shop.namespace, "--workload=deployment/web"]);
    let printed = shop.done(&[&["release", "--update-all-images", "--dry-run"], &workload[..]].concat());
    assert!(printed.contains(&format!("success  main: {host}/web:1.0 -> 1.1")), "{printed}");
    assert_eq!(shop.commits(), 1);
    let image = format!("--update-image={host}/web:2.0");
    let printed = shop.done(&[&["release", &image, "--dry-run", "-vv"], &workload[..]].concat());
    // The last container decides which reason is told; as in v1.
    assert!(printed.contains("does not use image(s)"), "the filter lets no 2.0 through: {printed}");

    let printed = shop.done(&[&["release", &image, "--force", "-m", "at last"], &workload[..]].concat());
    assert!(printed.contains("Commit pushed:") && printed.contains("Commit applied:"), "{printed}");
    assert_eq!(shop.live_image("web"), format!("{host}/web:2.0"));
    assert_eq!(shop.message(), "at last\n\n");

    let printed = shop.done(&["release", "-n", &shop.namespace, "--all", "--update-all-images", "-v"]);
    assert!(printed.lines().any(|line| line.contains("/shut") && line.contains("skipped  locked")), "{printed}");
    assert_eq!(shop.message(), "Release all latest to all\n\n");
    assert_eq!(shop.live_image("web"), format!("{host}/web:1.1"));
    let refused = shop.refused(&[&["release", &format!("--update-image={host}/web:9")], &workload[..]].concat());
    assert!(refused.contains(&format!("image \"{host}/web:9\" does not exist: invalid image ID")), "{refused}");
}

#[test]
fn new_images_of_automated_workloads_go_out_in_one_commit() {
    let registry = registry(&["1.0", "dev-1"]);
    let automated =
        |filter: &str| format!("        fluxcd.io/automated: 'true'\n        fluxcd.io/tag.main: {filter}\n");
    let files = [
        ("a.yaml", web(&registry, "by-version", "1.0", &automated("semver:^1"))),
        ("b.yaml", web(&registry, "by-time", "dev-1", &automated("glob:dev-*"))),
        ("c.yaml", web(&registry, "shut", "1.0", &(automated("semver:^1") + "        fluxcd.io/locked: 'true'\n"))),
        ("d.yaml", web(&registry, "by-hand", "1.0", "        note: x\n")),
    ];
    let shop = Shop::open(&files, FLAGS);
    shop.knows_tags("by-version", 2);
    // 1.2 is the highest version although 1.1 is newer; a0 is newer than z9 although it stands before it.
    for (hour, tag) in [(3, "1.2"), (4, "1.1"), (5, "dev-z9"), (6, "dev-a0"), (7, "2.0")] {
        registry.push("web", tag, &made(hour));
    }
    shop.has_new_image(&registry);
    eventually("the automated release is pushed", || (shop.commits() == 2).then_some(()));
    let host = registry.host();
    let message = format!("Auto-release multiple (2) images\n\n - {host}/web:1.2\n - {host}/web:dev-a0\n\n");
    assert_eq!(shop.message(), message);
    shop.is_synced();
    for (name, tag) in [("by-version", "1.2"), ("by-time", "dev-a0"), ("shut", "1.0"), ("by-hand", "1.0")] {
        assert_eq!(shop.live_image(name), format!("{host}/web:{tag}"), "{name}");
    }
    let note = shop.note();
    assert_eq!(
        (note["spec"]["type"].as_str(), note["spec"]["spec"]["Changes"].as_array().map(Vec::len)),
        (Some("auto"), Some(2))
    );
    shop.fluxd.wait_for_log(&["event=\"Automated release of "]);
    // Nothing more is due: neither now, nor when somebody asks again.
    shop.done(&["policy", "-n", &shop.namespace, "-w", "deployment/by-hand", "--tag=main=semver:^1"]);
    shop.done(&["automate", "-n", &shop.namespace, "-w", "deployment/by-hand"]);
    eventually("the one that is automated now follows at once", || (shop.commits() == 5).then_some(()));
    assert_eq!(shop.message(), format!("Auto-release {host}/web:1.2\n\n"));
}

#[test]
fn what_is_due_when_the_daemon_starts_is_released_without_waiting_for_the_interval() {
    let registry = registry(&["1", "2"]);
    let files = [("web.yaml", web(&registry, "web", "1", "        fluxcd.io/automated: 'true'\n"))];
    let shop = Shop::open(&files, FLAGS);
    eventually("the automated release is pushed", || (shop.commits() == 2).then_some(()));
    assert!(shop.file("web.yaml").contains("/web:2   # by hand\n"), "{}", shop.file("web.yaml"));
}

#[test]
fn automation_never_goes_back_to_an_older_image() {
    let registry = registry(&["1", "2"]);
    let annotations = "        fluxcd.io/automated: 'true'\n        fluxcd.io/tag.main: semver:*\n";
    let files = [("web.yaml", web(&registry, "web", "3", annotations))];
    let shop = Shop::open(&files, FLAGS);
    shop.fluxd.wait_for_log(&["warning=", "current image is newer"]);
    assert_eq!(shop.commits(), 1);
}

#[test]
fn ninety_workloads_that_are_due_at_once_make_one_commit() {
    let registry = registry(&["1"]);
    let automated = "        fluxcd.io/automated: 'true'\n";
    let all: Vec<String> = (0..90).map(|n| web(&registry, &format!("web-{n}"), "1", automated)).collect();
    let shop = Shop::open(&[("all.yaml", all.join("---\n"))], FLAGS);
    shop.knows_tags("web-0", 1);
    registry.push("web", "2", &made(2));
    shop.has_new_image(&registry);
    eventually("the automated release is pushed", || (shop.commits() == 2).then_some(()));
    assert_eq!(shop.file("all.yaml").matches("/web:2   # by hand\n").count(), 90);
    shop.is_synced();
    assert_eq!(shop.commits(), 2);
}

#[test]
fn a_registry_that_asks_who_is_there_is_shown_the_service_accounts_secret() {
    let registry = DockerRegistry::with_login("puller", "pull-secret-canary");
    registry.push("web", "1", &made(1));
    let login =
        json!({"auths": {registry.host(): {"username": "puller", "password": "pull-secret-canary"}}}).to_string();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": "NS"},
        "type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": login},
    });
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "NS"},
        "imagePullSecrets": [{"name": "pull"}],
    });
    let files = [
        ("account.yaml", account.to_string()),
        ("secret.yaml", secret.to_string()),
        ("web.yaml", web(&registry, "web", "1", "        note: x\n")),
    ];
    let shop = Shop::open(&files, FLAGS);
    shop.knows_tags("web", 1);
    let log = shop.fluxd.log().join("\n");
    assert!(!log.contains("pull-secret-canary"), "{log}");
}

#[test]
fn while_paused_nothing_is_released_by_itself_and_people_release_all_the_same() {
    let registry = registry(&["1.0", "1.1"]);
    let automated = "        fluxcd.io/automated: 'true'\n        fluxcd.io/tag.main: semver:~1.1\n";
    let files = [
        ("web.yaml", web(&registry, "web", "1.1", automated)),
        ("by-hand.yaml", web(&registry, "by-hand", "1.0", "        note: x\n")),
    ];
    let shop = Shop::open(&files, FLAGS);
    shop.knows_tags("web", 2);
    assert_eq!(shop.fluxd.post("/api/fluxd/v1/pause", "").map(|reply| reply.status), Some(200));
    registry.push("web", "1.1.5", &made(3));
    shop.has_new_image(&registry);
    shop.knows_tags("web", 3);

    // What people ask for is done, one after another: had automation queued anything, it would have come in between.
    let host = registry.host();
    let release = json!({"type": "image", "cause": {"Message": "", "User": ""}, "spec": {
        "ServiceSpecs": [shop.id("by-hand")], "ImageSpec": format!("{host}/web:1.1"), "Kind": "execute", "Excludes": null,
        "Force": false}});
    assert_eq!(shop.job(&release)["StatusString"], "succeeded");
    let automate = json!({"type": "policy", "cause": {"Message": "", "User": ""}, "spec": {
        shop.id("by-hand"): {"add": {"automated": "true"}, "remove": {}}}});
    assert_eq!(shop.job(&automate)["StatusString"], "succeeded");
    let sync = json!({"type": "sync", "cause": {"Message": "", "User": ""}, "spec": {}});
    assert_eq!(shop.job(&sync)["StatusString"], "succeeded");
    assert_eq!(shop.commits(), 3);
    assert_eq!(shop.message(), format!("Automated: {}\n\n", shop.id("by-hand")));

    assert_eq!(shop.fluxd.post("/api/fluxd/v1/resume", "").map(|reply| reply.status), Some(200));
    eventually("the automated release is pushed", || (shop.commits() == 4).then_some(()));
    assert_eq!(shop.message(), format!("Auto-release {host}/web:1.1.5\n\n"));
    for file in ["web.yaml", "by-hand.yaml"] {
        assert!(shop.file(file).contains("/web:1.1.5   # by hand\n"), "{}", shop.file(file));
    }
}
