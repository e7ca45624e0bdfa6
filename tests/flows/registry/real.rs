//! The real `docker-registry`: every kind of image, logins, new and moved tags, restarts.

use super::*;
use crate::rig::{DockerRegistry, Image, digest};
use serde_json::json;

const LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const CREATED: &str = "org.opencontainers.image.created";

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_image_is_found_with_its_digests_and_times() {
    let registry = DockerRegistry::start();
    let made = |day: u32| Image::made(&format!("2024-01-{day:02}T00:00:00Z"));
    let oci = |day: u32| Image::oci(&format!("2024-01-{day:02}T00:00:00Z"));
    let schema2 = registry.push("shop/web", "schema2", &made(1));
    registry.push("shop/web", "oci", &oci(2));
    let amd = oci(4);
    let list = registry.push_index("shop/web", "list", LIST, &[("linux/arm64", made(3)), ("linux/amd64", made(4))]);
    let index =
        registry.push_index("shop/web", "index", INDEX, &[("unknown/unknown", oci(3)), ("linux/amd64", amd.clone())]);
    registry.push_index("shop/web", "windows", INDEX, &[("windows/amd64", oci(5))]);
    let helm = Image {
        types: (amd.types.0, "application/vnd.cncf.helm.config.v1+json"),
        annotations: json!({CREATED: "2024-01-06T00:00:00Z"}),
        ..amd.clone()
    };
    registry.push("shop/web", "chart", &helm);
    registry.push("shop/web", "labelled", &made(7).label("container_config", CREATED, "2020-01-01T00:00:00Z"));
    registry.push("shop/web", "buildkit", &oci(8).label("config", CREATED, "2021-01-01T00:00:00Z"));

    let name = name(&registry.host(), "shop/web");
    let by_labels = Settings { use_labels: vec!["*/shop/*".to_owned()], ..settings() };
    let scan = Scan::of(by_labels, &name, "*");
    let view = scan.complete(&name, "*").await;
    let times: Vec<(&str, String)> = view.images.iter().map(|(tag, info)| (tag.as_str(), created(info))).collect();
    let day = |day: u32| format!("2024-01-{day:02}T00:00:00Z");
    assert_eq!(
        times,
        [
            ("buildkit", "2021-01-01T00:00:00Z".to_owned()),
            ("chart", day(6)),
            ("index", day(4)),
            ("labelled", "2020-01-01T00:00:00Z".to_owned()),
            ("list", day(4)),
            ("oci", day(2)),
            ("schema2", day(1)),
        ]
    );
    let reason = "no suitable manifest (linux amd64) in manifestlist";
    assert_eq!(view.excluded, BTreeMap::from([("windows".to_owned(), reason.to_owned())]));
    let digests = |tag: &str| (view.images[tag].digest.clone(), view.images[tag].pinned.clone());
    assert_eq!(digests("schema2"), (schema2.clone(), schema2));
    assert_eq!(digests("index"), (digest(&amd.manifest()), index));
    assert_eq!(digests("list"), (digest(&made(4).manifest()), list));
    assert_eq!(view.images["schema2"].image_id, digest(&made(1).config.to_string()));
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_wants_a_login_gets_the_workloads() {
    let registry = DockerRegistry::with_login("ann", "hunter2:x");
    registry.push("shop/web", "1.0.0", &Image::made("2024-01-01T00:00:00Z"));
    let name = name(&registry.host(), "shop/web");
    let scan = Scan::of(settings(), &name, "semver:*");
    assert_eq!(scan.failure(&name).await, "unauthorized: authentication required");
    let credentials = login(&registry.host(), "ann", "hunter2:x");
    assert!(!format!("{credentials:?}").contains("hunter2"));
    scan.want(&name, Want { credentials, ..want("semver:*") });
    assert_eq!(scan.complete(&name, "semver:*").await.tags, ["1.0.0"]);
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_tags_are_told_and_a_pushed_again_tag_after_a_notification() {
    let registry = DockerRegistry::start();
    let first = registry.push("shop/web", "1.0.0", &Image::made("2024-01-01T00:00:00Z"));
    let name = name(&registry.host(), "shop/web");
    let scan = Scan::start(settings());
    let mut changes = scan.registry.changes();
    scan.want(&name, Want { current: vec!["1.0.0".to_owned()], ..want("semver:*") });
    scan.until(&name, "the running tag is known", |view| view.images.contains_key("1.0.0")).await;
    tokio::time::timeout(DEADLINE, changes.changed()).await.unwrap().unwrap();

    registry.push("shop/web", "1.1.0", &Image::made("2024-01-02T00:00:00Z"));
    tokio::time::timeout(DEADLINE, changes.changed()).await.unwrap().unwrap();
    let view = scan.registry.repository(&name).unwrap();
    assert!(view.is_complete_for(&Pattern::parse("semver:*")) && view.images.contains_key("1.1.0"));

    // the ordinary look at a known tag is an hour away
    let second = registry.push("shop/web", "1.0.0", &Image::made("2024-01-03T00:00:00Z"));
    assert_ne!(first, second);
    scan.registry.notify(&name);
    scan.until(&name, "the tag has moved", |view| view.images["1.0.0"].digest == second).await;
    tokio::time::timeout(DEADLINE, changes.changed()).await.unwrap().unwrap();
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explicit_tag_is_found_out_at_once_without_being_wanted() {
    let registry = DockerRegistry::start();
    registry.push("shop/web", "1.0.0", &Image::made("2024-01-01T00:00:00Z"));
    let name = name(&registry.host(), "shop/web");
    let scan = Scan::start(settings());
    scan.registry.ensure(&name, &["1.0.0".to_owned()]).await.unwrap();
    assert!(scan.registry.repository(&name).unwrap().images.contains_key("1.0.0"));
    scan.registry.ensure(&name, &["2.0.0".to_owned()]).await.unwrap();
    assert_eq!(scan.registry.repository(&name).unwrap().excluded["2.0.0"], "manifest unknown");
    let excluded = Scan::start(Settings { exclude: vec!["127.*".to_owned()], ..settings() });
    let refusal = excluded.registry.ensure(&name, &[]).await.unwrap_err().to_string();
    assert_eq!(refusal, format!("{name} is not scanned: --registry-exclude-image matches it"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_docker_configuration_and_its_helpers_give_logins() {
    use std::os::unix::fs::PermissionsExt as _;
    let registry = DockerRegistry::with_login("ann", "hunter2");
    registry.push("shop/web", "1.0.0", &Image::made("2024-01-01T00:00:00Z"));
    let name = name(&registry.host(), "shop/web");
    let folder = tempfile::tempdir().unwrap();
    let helper = folder.path().join("docker-credential-drawer");
    let script = format!(
        "#!/bin/sh\nread -r host\n[ \"$1 $host\" = 'get {}' ] || exit 1\necho '{{\"Username\":\"ann\",\"Secret\":\"hunter2\"}}'\n",
        registry.host()
    );
    std::fs::write(&helper, script).unwrap();
    std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let auth = crate::rig::basic("ann", "hunter2")["Basic ".len()..].to_owned();
    for config in [
        json!({"auths": {registry.host(): {"auth": auth}, "broken.example": {"auth": "%"}}}),
        json!({"credHelpers": {registry.host(): "drawer"}}),
        json!({"credsStore": "drawer", "auths": {registry.host(): {}}}),
    ] {
        let path = folder.path().join("config.json");
        std::fs::write(&path, config.to_string()).unwrap();
        let helper_env = BTreeMap::from([("PATH".into(), format!("{}:/usr/bin:/bin", folder.path().display()).into())]);
        let scan = Scan::of(Settings { docker_config: Some(path), helper_env, ..settings() }, &name, "semver:*");
        assert_eq!(scan.complete(&name, "semver:*").await.tags, ["1.0.0"], "{config}");
        scan.end().await;
    }
}
