//! Registries that mean harm, or are broken in ways that do it.

use super::*;
use crate::rig::{Double, Image, Scripted, digest, scripted_registry};
use serde_json::json;

fn image() -> Image {
    Image::made("2024-01-01T00:00:00Z")
}

/// The error of a first scan of a registry that answers so to a request for tags.
async fn failure(settings: Settings, tags: impl Fn(&str) -> Scripted + Send + Sync + 'static) -> String {
    let double = Double::start(move |seen| match seen.path.as_str() {
        "/v2/" => Scripted::json(&json!({})),
        path => tags(path),
    });
    let name = name(&double.host(), "shop/web");
    let scan = Scan::start(settings);
    scan.want(&name, Want { credentials: login(&double.host(), "ann", "hunter2"), ..want("*") });
    let failure = scan.failure(&name).await;
    scan.end().await;
    failure.replace(&double.host(), "HOST")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_tags_that_never_ends_is_given_up() {
    let text = failure(settings(), |path| {
        let page: u64 = path.rsplit('=').next().and_then(|page| page.parse().ok()).unwrap_or(0);
        let next = format!("</v2/shop/web/tags/list?page={}>; rel=\"next\"", page + 1);
        Scripted::json(&json!({"tags": [format!("t{page}")]})).header("Link", &next)
    })
    .await;
    assert!(text.ends_with("the list of tags has more than 2000 pages"), "{text}");
    let text = failure(settings(), |_| Scripted::new(200, vec![b' '; (16 << 20) + 1])).await;
    assert_eq!(text, "http://HOST/v2/shop/web/tags/list: the answer has more than 16777216 bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_no_answers_are_named() {
    let text = failure(settings(), |_| Scripted::new(200, "<html>sign in</html>")).await;
    assert_eq!(
        text,
        "http://HOST/v2/shop/web/tags/list: expected a JSON list of tags: expected value at line 1 column 1"
    );
    let text = failure(settings(), |_| Scripted::new(502, "<html>")).await;
    assert_eq!(text, "the registry answered with HTTP status 502 and without words of the protocol");
    let text = failure(settings(), |_| Scripted::new(302, "").header("Location", "/v2/shop/web/tags/list")).await;
    assert_eq!(text, "http://HOST/v2/shop/web/tags/list: more redirects than are followed");
    let elsewhere = r#"<https://elsewhere.example/v2/>; rel="next""#;
    let text = failure(settings(), |_| Scripted::json(&json!({"tags": []})).header("Link", elsewhere)).await;
    assert!(text.ends_with("the next page is said to be at elsewhere.example; pages at another host are not followed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_drips_is_given_up_in_time() {
    let hasty = Settings { timeout: Duration::from_millis(300), ..settings() };
    let text = failure(hasty, |_| Scripted::new(200, "").dripping()).await;
    assert_eq!(text, "http://HOST/v2/shop/web/tags/list: no complete answer within 300ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_never_repeated_in_errors() {
    let echo = json!({"errors": [{"code": "DENIED", "message": "no hunter2 for YW5uOmh1bnRlcjI="}]}).to_string();
    let text = failure(settings(), move |_| Scripted::new(403, echo.clone())).await;
    assert_eq!(text, "denied: no <redacted> for <redacted>");
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_and_forged_contents_are_not_used() {
    let registry = scripted_registry("shop/web", &[("good", image()), ("forged", Image::oci("2024-01-01T00:00:00Z"))]);
    let forged = Image::oci("2024-01-01T00:00:00Z");
    let (forged_manifest, other_config) = (forged.manifest(), digest(&forged.config.to_string()));
    let double = Double::start(move |seen| match seen.path.as_str() {
        "/v2/shop/web/tags/list" => Scripted::json(&json!({"tags": ["good", "huge", "forged", "empty"]})),
        "/v2/shop/web/manifests/huge" => Scripted::new(200, vec![b'{'; (4 << 20) + 1]),
        "/v2/shop/web/manifests/empty" => Scripted::new(200, ""),
        "/v2/shop/web/manifests/forged" => Scripted::new(200, forged_manifest.clone())
            .header("Content-Type", "application/vnd.oci.image.manifest.v1+json")
            .header("Docker-Content-Digest", &other_config),
        _ => registry(seen),
    });
    let name = name(&double.host(), "shop/web");
    let scan = Scan::of(settings(), &name, "*");
    let asked = || ["good", "huge", "forged", "empty"].iter().all(|tag| double.count(&format!("manifests/{tag}")) > 0);
    let view = scan.until(&name, "all were asked for", |view| asked() && !view.images.is_empty()).await;
    assert_eq!(view.images.keys().collect::<Vec<_>>(), ["good"]);
    let refusal = |tag: &str| {
        let (registry, name, tags) = (scan.registry.clone(), name.clone(), [tag.to_owned()]);
        async move { registry.ensure(&name, &tags).await.unwrap_err().to_string() }
    };
    assert!(refusal("huge").await.ends_with("the answer has more than 4194304 bytes"));
    let text = refusal("forged").await;
    assert!(text.contains("but sha256:") && text.ends_with("was expected; it is not used"), "{text}");
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_to_another_host_goes_without_credentials() {
    let config = image().config.to_string();
    let store = Double::start(move |_| Scripted::new(200, config.clone()));
    let target = format!("{}/bucket/blob?signature=s3cret", store.url());
    let registry = scripted_registry("shop/web", &[("1", image())]);
    let double = Double::start(move |seen| {
        if seen.authorization.is_none() {
            return Scripted::new(401, "").header("WWW-Authenticate", "Basic realm=\"x\"");
        }
        if seen.path.contains("/blobs/") {
            return Scripted::new(307, "").header("Location", &target);
        }
        registry(seen)
    });
    let name = name(&double.host(), "shop/web");
    let scan = Scan::start(settings());
    scan.want(&name, Want { credentials: login(&double.host(), "ann", "hunter2"), ..want("*") });
    let view = scan.complete(&name, "*").await;
    assert_eq!(created(&view.images["1"]), "2024-01-01T00:00:00Z");
    assert!(double.seen().iter().skip(1).all(|seen| seen.authorization.is_some()));
    assert!(!store.seen().is_empty() && store.seen().iter().all(|seen| seen.authorization.is_none()));
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_not_taken_to_a_token_service_without_tls() {
    let thief = Double::start(|_| Scripted::json(&json!({"token": "x"})));
    let realm = format!("Bearer realm=\"http://localhost:{}/token\"", thief.port());
    let double = Double::start(move |_| Scripted::new(401, "").header("WWW-Authenticate", &realm));
    let name = name(&double.host(), "shop/web");
    let scan = Scan::start(settings());
    scan.want(&name, Want { credentials: login(&double.host(), "ann", "hunter2"), ..want("*") });
    let failure = scan.failure(&name).await;
    assert!(failure.contains("is not reached by https; nothing is sent there"), "{failure}");
    assert_eq!(thief.seen().len(), 0);
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_with_nothing_useful_behind_it_does_not_keep_the_others_from_being_chosen() {
    let good = scripted_registry("shop/web", &[("1.0.0", image())]);
    let double = Double::start(move |seen| match seen.path.as_str() {
        "/v2/shop/web/tags/list" => Scripted::json(&json!({"tags": ["1.0.0", "signature", "lost", "hashed"]})),
        "/v2/shop/web/manifests/signature" => {
            Scripted::new(200, r#"{"mediaType":"application/vnd.example+json"}"#).header("Content-Type", "text/json")
        }
        "/v2/shop/web/manifests/lost" => Scripted::new(404, r#"{"errors":[{"code":"NOT_FOUND","message":"gone"}]}"#),
        "/v2/shop/web/manifests/hashed" => {
            let oci = "application/vnd.oci.image.manifest.v1+json";
            Scripted::new(200, r#"{"config":{"digest":"sha512:00"}}"#).header("Content-Type", oci)
        }
        _ => good(seen),
    });
    let name = name(&double.host(), "shop/web");
    let scan = Scan::of(settings(), &name, "glob:*");
    let view = scan.complete(&name, "glob:*").await;
    let reasons: Vec<_> = view.excluded.iter().map(|(tag, reason)| format!("{tag}: {reason}")).collect();
    assert_eq!(
        reasons,
        [
            "hashed: expected a digest of the form sha256:HEX",
            "lost: manifest unknown",
            "signature: unknown manifest type \"application/vnd.example+json\""
        ]
    );
    scan.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_registry_repeats_of_a_login_is_not_told() {
    let text = failure(settings(), |_| Scripted::new(302, "").header("Location", "ftp://hunter2/")).await;
    assert!(!text.contains("hunter2"), "{text}");
    let elsewhere = r#"<https://hunter2.example/v2/>; rel="next""#;
    let text = failure(settings(), |_| Scripted::json(&json!({"tags": []})).header("Link", elsewhere)).await;
    assert!(text.contains("is said to be at <redacted>.example"), "{text}");
    let text = failure(settings(), |_| Scripted::json(&json!({"tags": "hunter2"}))).await;
    assert!(text.ends_with("expected a JSON object with a list of tags"), "{text}");
    let text = failure(settings(), |_| Scripted::new(302, "").header("Location", "/hunter2")).await;
    assert!(!text.contains("hunter2"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_pushed_after_it_was_asked_for_is_found_when_asked_for_again() {
    let pushed = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (is_there, old, new) = (
        Arc::clone(&pushed),
        scripted_registry("shop/web", &[("1.0.0", image())]),
        scripted_registry("shop/web", &[("1.0.0", image()), ("2.0.0", image())]),
    );
    let double = Double::start(
        move |seen| {
            if is_there.load(std::sync::atomic::Ordering::SeqCst) { new(seen) } else { old(seen) }
        },
    );
    let (name, tags) = (name(&double.host(), "shop/web"), ["2.0.0".to_owned()]);
    let registry = Registry::new(settings()).unwrap();
    registry.ensure(&name, &tags).await.unwrap();
    assert!(!registry.repository(&name).unwrap().images.contains_key("2.0.0"));
    pushed.store(true, std::sync::atomic::Ordering::SeqCst);
    registry.ensure(&name, &tags).await.unwrap();
    assert!(registry.repository(&name).unwrap().images.contains_key("2.0.0"));
}
