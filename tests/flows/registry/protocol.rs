//! The parts of the protocol that `docker-registry` cannot be made to speak in a test: tokens, pages, old manifests, TLS,
//! limits; and what a restart asks.

use std::sync::Mutex;

use super::*;
use crate::rig::{Double, Image, Scripted, Seen, basic, scripted_registry};
use fluxd::registry::ReadError;
use serde_json::json;

fn image(day: u32) -> Image {
    Image::made(&format!("2024-01-{day:02}T00:00:00Z"))
}

/// A registry that wants a token from a service of its own host.
fn with_tokens(images: &[(&str, Image)], port: &Arc<Mutex<u16>>) -> impl Fn(&Seen) -> Scripted + use<> {
    let (registry, port) = (scripted_registry("shop/web", images), Arc::clone(port));
    move |seen| {
        if seen.path.starts_with("/token?") {
            let token = if seen.authorization.is_some() { "for-ann" } else { "for-all" };
            return Scripted::json(&json!({"token": token, "expires_in": 300}));
        }
        if seen.authorization.as_deref().is_some_and(|auth| auth.starts_with("Bearer for-")) {
            return registry(seen);
        }
        let challenge = format!(r#"Bearer realm="http://127.0.0.1:{}/token",service="double""#, port.lock().unwrap());
        let body = json!({"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}).to_string();
        Scripted::new(401, body).header("WWW-Authenticate", &challenge)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_fetched_once_for_anonymous_and_for_known_users() {
    for (credentials, token) in [(None, "Bearer for-all"), (Some(("ann", "hunter2")), "Bearer for-ann")] {
        let port = Arc::default();
        let double = Double::start(with_tokens(&[("1.0.0", image(1)), ("1.1.0", image(2))], &port));
        *port.lock().unwrap() = double.port();
        let name = name(&double.host(), "shop/web");
        let scan = Scan::start(Settings { poll: DEADLINE, ..settings() });
        let credentials = credentials.map(|(user, password)| login(&double.host(), user, password)).unwrap_or_default();
        scan.want(&name, Want { credentials, ..want("*") });
        scan.complete(&name, "*").await;
        let tokens: Vec<Seen> = double.seen().into_iter().filter(|seen| seen.path.starts_with("/token")).collect();
        assert_eq!(tokens.len(), 1);
        assert_eq!(tokens[0].path, "/token?service=double&scope=repository%3Ashop%2Fweb%3Apull");
        assert_eq!(tokens[0].authorization, (token == "Bearer for-ann").then(|| basic("ann", "hunter2")));
        let manifests = double.seen().into_iter().filter(|seen| seen.path.contains("/manifests/"));
        assert!(manifests.clone().all(|seen| seen.authorization.as_deref() == Some(token)));
        assert!(manifests.clone().all(|seen| seen.headers["user-agent"].starts_with("fluxd/")));
        scan.end().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_read_page_by_page() {
    let pages = scripted_registry("shop/web", &[("1.0.0", image(1)), ("1.3.0", image(2))]);
    let double = Double::start(move |seen| match seen.path.as_str() {
        "/v2/shop/web/tags/list" => Scripted::json(&json!({"tags": ["1.0.0", "1.1.0"]}))
            .header("Link", r#"</v2/shop/web/tags/list?last=1.1.0&n=2>; rel="next""#),
        "/v2/shop/web/tags/list?last=1.1.0&n=2" => Scripted::json(&json!({"tags": ["1.1.0", "1.3.0"]})),
        _ => pages(seen),
    });
    let name = name(&double.host(), "shop/web");
    let scan = Scan::of(settings(), &name, "semver:*");
    assert_eq!(scan.complete(&name, "semver:*").await.tags, ["1.0.0", "1.1.0", "1.3.0"]);
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_1_manifest_describes_its_image() {
    let v1 = json!({"id": "abc", "created": "2017-01-02T03:04:05Z"}).to_string();
    let manifest = json!({"schemaVersion": 1, "history": [{"v1Compatibility": v1}]}).to_string();
    let double = Double::start(move |seen| match seen.path.rsplit('/').next() {
        Some("list") => Scripted::json(&json!({"tags": ["old"]})),
        Some("old") => Scripted::new(200, manifest.clone())
            .header("Content-Type", "application/vnd.docker.distribution.manifest.v1+json"),
        _ => Scripted::json(&json!({})),
    });
    let name = name(&double.host(), "shop/web");
    let scan = Scan::of(settings(), &name, "*");
    let view = scan.complete(&name, "*").await;
    assert_eq!(
        (view.images["old"].image_id.as_str(), created(&view.images["old"])),
        ("abc", "2017-01-02T03:04:05Z".to_owned())
    );
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_verified_unless_the_host_is_said_to_be_insecure() {
    let double = Double::with_tls(scripted_registry("shop/web", &[("1.0.0", image(1))]));
    let name = name(&double.host(), "shop/web");
    let strict = Scan::of(Settings { insecure_hosts: Vec::new(), ..settings() }, &name, "semver:*");
    let failure = strict.failure(&name).await;
    assert!(failure.contains("certificate"), "{failure}");
    assert_eq!(double.seen().len(), 0);
    strict.end().await;
    let scan = Scan::of(Settings { insecure_hosts: vec![double.host()], ..settings() }, &name, "semver:*");
    scan.complete(&name, "semver:*").await;
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_pattern_costs_a_list_and_the_newest_tag_and_the_rest_comes_later() {
    let tags: Vec<(String, Image)> = (0..40).map(|n| (format!("1.{n}.0"), image(1 + n % 28))).collect();
    let tags: Vec<(&str, Image)> = tags.iter().map(|(tag, image)| (tag.as_str(), image.clone())).collect();
    let double = Double::start(scripted_registry("shop/web", &tags));
    let name = name(&double.host(), "shop/web");
    let scan = Scan::start(Settings { poll: DEADLINE, ..settings() });
    scan.want(&name, Want { current: vec!["1.3.0".to_owned()], ..want("semver:*") });
    scan.complete(&name, "*").await;
    let asked: Vec<String> = double.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(asked[..3], ["/v2/", "/v2/shop/web/tags/list", "/v2/shop/web/manifests/1.39.0"]);
    let manifests: Vec<&String> = asked.iter().filter(|path| path.contains("manifests")).collect();
    assert_eq!((manifests[1].as_str(), manifests.len()), ("/v2/shop/web/manifests/1.3.0", 40));
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_asks_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Some(folder.path().join("registry"));
    let double = Double::start(scripted_registry("shop/web", &[("1.0.0", image(1)), ("1.1.0", image(2))]));
    let name = name(&double.host(), "shop/web");
    let keeping = || Settings { cache: cache.clone(), poll: DEADLINE * 10, ..settings() };
    let scan = Scan::of(keeping(), &name, "*");
    let before = scan.complete(&name, "*").await;
    scan.end().await;
    let asked = double.seen().len();
    let scan = Scan::of(keeping(), &name, "*");
    assert_eq!(scan.registry.repository(&name).unwrap().images, before.images);
    // an explicit ask for something unknown shows that the scan had its turn
    scan.registry.ensure(&name, &["1.1.0".to_owned(), "9.9.9".to_owned()]).await.unwrap();
    let new: Vec<String> = double.seen()[asked..].iter().map(|seen| seen.path.clone()).collect();
    assert_eq!(new, ["/v2/", "/v2/shop/web/manifests/9.9.9"]);
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_broken_tag_does_not_hide_the_others() {
    let registry = scripted_registry("shop/web", &[("1", image(1)), ("2", image(2)), ("3", image(3))]);
    let double = Double::start(move |seen| match seen.path.as_str() {
        "/v2/shop/web/manifests/1" => Scripted::new(500, "oops"),
        "/v2/shop/web/manifests/2" => Scripted::new(404, r#"{"errors":[{"code":"MANIFEST_UNKNOWN"}]}"#),
        _ => registry(seen),
    });
    let name = name(&double.host(), "shop/web");
    let scan = Scan::of(settings(), &name, "*");
    let view = scan.until(&name, "two tags are known", |view| view.images.len() + view.excluded.len() == 2).await;
    assert_eq!((view.images.keys().next().unwrap().as_str(), view.excluded["2"].as_str()), ("3", "manifest unknown"));
    assert!(!view.is_complete_for(&Pattern::parse("*")));
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_has_had_enough_is_left_alone() {
    let double = Double::start(|seen| match seen.path.as_str() {
        "/v2/" => Scripted::json(&json!({})),
        _ => Scripted::new(429, r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"pull rate limit"}]}"#)
            .header("Retry-After", "3000"),
    });
    let name = name(&double.host(), "shop/web");
    let scan = Scan::of(settings(), &name, "*");
    assert_eq!(scan.failure(&name).await, "toomanyrequests: pull rate limit");
    let asked = double.seen().len();
    // another host is asked meanwhile, and shows that time has passed for the scan
    let other = Double::start(scripted_registry("shop/web", &[("1", image(1))]));
    let second = super::name(&other.host(), "shop/web");
    scan.registry.want(Arc::new(BTreeMap::from([(name.clone(), want("*")), (second.clone(), want("*"))])));
    scan.until(&second, "several scans", |_| other.count("tags/list") > 3).await;
    assert_eq!(double.seen().len(), asked);
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_scanning_disabled_nothing_is_asked_and_nothing_blocks() {
    let double = Double::start(scripted_registry("shop/web", &[("1", image(1))]));
    let name = name(&double.host(), "shop/web");
    let scan = Scan::of(Settings { disabled: true, ..settings() }, &name, "*");
    for _ in 0..300 {
        scan.registry.notify(&name);
    }
    assert_eq!(scan.registry.repository(&name), Err(ReadError::Disabled));
    assert_eq!(ReadError::Disabled.to_string(), "cannot perfom operation, image scanning is disabled");
    scan.end().await;
    assert_eq!(double.seen().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn globs_say_what_is_scanned() {
    let double = Double::start(scripted_registry("shop/web", &[("1", image(1))]));
    let (web, other) = (name(&double.host(), "shop/web"), name(&double.host(), "shop/other"));
    let scan = Scan::start(Settings { include: vec!["*/web".to_owned()], exclude: Vec::new(), ..settings() });
    scan.registry.want(Arc::new(BTreeMap::from([(web.clone(), want("*")), (other.clone(), want("*"))])));
    scan.complete(&web, "*").await;
    scan.end().await;
    assert_eq!(double.count("other"), 0);
}
