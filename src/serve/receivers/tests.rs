//! Webhooks by tables: what each source's documented payload means, and what is refused.

use hmac::{Hmac, Mac};
use http::HeaderName;
use serde_json::json;
use sha1::Sha1;
use sha2::Sha512;

use super::*;

const KEY: &[u8] = b"f00dc0ffee";

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())).collect()
}

fn mac<M: Mac + hmac::digest::KeyInit>(key: &[u8], body: &[u8]) -> String {
    hex::encode(<M as Mac>::new_from_slice(key).unwrap().chain_update(body).finalize().into_bytes())
}

fn git(url: &str, branch: &str) -> Vec<Change> {
    vec![Change::Git { url: url.into(), branch: branch.into() }]
}

fn image(domain: &str, image: &str) -> Vec<Change> {
    vec![Change::Image { domain: domain.into(), image: image.into() }]
}

fn read(source: Source, pairs: &[(&str, &str)], body: &serde_json::Value) -> Result<Vec<Change>, HookError> {
    changes(source, &headers(pairs), body.to_string().as_bytes(), "")
}

#[test]
fn pushes_to_git_name_repository_and_branch() {
    let github = json!({ "ref": "refs/heads/main", "repository": { "ssh_url": "git@github.com:team/config.git" } });
    let gitlab = json!({ "ref": "refs/heads/main", "project": { "git_ssh_url": "git@example.com:team/config.git" } });
    let cloud = json!({ "repository": { "full_name": "team/config" },
        "push": { "changes": [{ "new": { "type": "branch", "name": "main" } }, { "new": null }] } });
    let server = json!({
        "repository": { "links": { "clone": [{ "name": "http", "href": "https://x" }, { "name": "ssh", "href": "ssh://git@x/c.git" }] } },
        "changes": [{ "ref": { "type": "BRANCH", "id": "refs/heads/main" } }, { "ref": { "type": "TAG", "id": "refs/tags/v1" } }] });
    let rows = [
        (Source::GitHub, ("x-github-event", "push"), github.clone(), "git@github.com:team/config.git"),
        (Source::Gitea, ("x-gitea-event", "push"), github, "git@github.com:team/config.git"),
        (Source::GitLab, ("x-gitlab-event", "Push Hook"), gitlab, "git@example.com:team/config.git"),
        (Source::BitbucketCloud, ("x-event-key", "repo:push"), cloud, "git@bitbucket.org:team/config.git"),
        (Source::BitbucketServer, ("x-event-key", "repo:refs_changed"), server, "ssh://git@x/c.git"),
    ];
    for (source, header, body, url) in rows {
        assert_eq!(read(source, &[header], &body), Ok(git(url, "main")), "{source:?}");
    }
    let tag = json!({ "ref": "refs/tags/v1", "repository": { "ssh_url": "u" } });
    assert_eq!(read(Source::GitHub, &[("x-github-event", "push")], &tag), Ok(git("u", "refs/tags/v1")));
}

#[test]
fn pushes_to_registries_name_the_image() {
    use base64::Engine as _;
    let pubsub = |event: serde_json::Value| json!({ "message": { "data": base64::engine::general_purpose::STANDARD.encode(event.to_string()) } });
    let package = json!({ "registry_package": { "package_version": { "package_url": "ghcr.io/team/web:1.0" } } });
    let nexus = json!({ "action": "CREATED", "component": { "format": "docker", "name": "team/web" } });
    let rows = [
        (Source::DockerHub, ("a", "b"), json!({ "repository": { "repo_name": "team/web" } }), ("", "team/web")),
        (Source::Quay, ("a", "b"), json!({ "docker_url": "quay.io/team/web" }), ("quay.io", "team/web")),
        (
            Source::Harbor,
            ("a", "b"),
            json!({ "type": "PUSH_ARTIFACT", "event_data": { "resources": [{ "resource_url": "hub.example.org/team/web:1" }] } }),
            ("hub.example.org", "team/web"),
        ),
        (
            Source::GoogleContainerRegistry,
            ("a", "b"),
            pubsub(
                json!({ "action": "INSERT", "tag": "us.gcr.io/team/web:1", "digest": "us.gcr.io/team/web@sha256:0" }),
            ),
            ("us.gcr.io", "team/web"),
        ),
        (Source::GitHub, ("x-github-event", "registry_package"), package, ("ghcr.io", "team/web")),
        (Source::Nexus, ("x-nexus-webhook-id", "rm:repository:component"), nexus.clone(), ("", "team/web")),
    ];
    for (source, header, body, (domain, name)) in rows {
        assert_eq!(read(source, &[header], &body), Ok(image(domain, name)), "{source:?}");
    }
    let known = headers(&[("x-nexus-webhook-id", "rm:repository:component")]);
    let named = changes(Source::Nexus, &known, nexus.to_string().as_bytes(), "hub.example.org/");
    assert_eq!(named, Ok(image("hub.example.org", "team/web")));
}

#[test]
fn pings_and_events_that_concern_nobody_are_taken_and_mean_nothing() {
    let rows = [
        (Source::GitHub, ("x-github-event", "ping"), json!({ "zen": "x" })),
        (Source::GitHub, ("x-github-event", "issues"), json!({})),
        (Source::Gitea, ("x-gitea-event", "issues"), json!({})),
        (Source::BitbucketServer, ("x-event-key", "diagnostics:ping"), json!({ "test": true })),
        (Source::Harbor, ("a", "b"), json!({ "type": "DELETE_ARTIFACT" })),
        (Source::Nexus, ("x-nexus-webhook-id", "rm:repository:component"), json!({ "action": "DELETED" })),
    ];
    for (source, header, body) in rows {
        assert_eq!(read(source, &[header], &body), Ok(Vec::new()), "{source:?}");
    }
}

#[test]
fn what_a_source_does_not_send_is_refused_in_words_that_quote_no_body() {
    let rows = [
        (
            Source::GitHub,
            ("x-github-event", "push"),
            json!({ "ref": "s3cret" }),
            "the body has no text at /repository/ssh_url",
        ),
        (
            Source::GitLab,
            ("x-gitlab-event", "Job Hook"),
            json!({}),
            "unexpected X-Gitlab-Event \"Job Hook\": expected Push Hook",
        ),
        (Source::BitbucketCloud, ("a", "b"), json!({}), "unexpected X-Event-Key \"\": expected repo:push"),
        (
            Source::DockerHub,
            ("a", "b"),
            json!({ "repository": { "repo_name": 7 } }),
            "the body has no text at /repository/repo_name",
        ),
        (
            Source::GoogleContainerRegistry,
            ("a", "b"),
            json!({ "message": { "data": "%" } }),
            "/message/data is no base64",
        ),
    ];
    for (source, header, body, error) in rows {
        assert_eq!(read(source, &[header], &body), Err(HookError::Malformed(error.into())), "{source:?}");
    }
    let broken = changes(Source::Quay, &HeaderMap::new(), b"{s3cret", "").unwrap_err().to_string();
    assert!(broken.starts_with("the body is no JSON") && !broken.contains("s3cret"), "{broken}");
}

#[test]
fn signatures_and_tokens_are_verified_over_the_bytes_as_they_came() {
    let body = br#"{ "ref" : 1 }"#;
    let named = |hash: &str, digits: String| format!("{hash}={digits}");
    let sha1 = named("sha1", mac::<Hmac<Sha1>>(KEY, body));
    let sha256 = named("sha256", mac::<Hmac<Sha256>>(KEY, body));
    let sha512 = named("sha512", mac::<Hmac<Sha512>>(KEY, body));
    let other = named("sha256", mac::<Hmac<Sha256>>(b"other", body));
    let key = std::str::from_utf8(KEY).unwrap();
    let bare = sha256.trim_start_matches("sha256=").to_owned();
    let bare1 = sha1.trim_start_matches("sha1=").to_owned();
    let rows: &[(Source, &str, &str, bool)] = &[
        (Source::GitHub, "x-hub-signature", &sha1, true),
        (Source::GitHub, "x-hub-signature", &sha512, true),
        (Source::GitHub, "x-hub-signature-256", &sha256, true),
        (Source::GitHub, "x-hub-signature-256", &other, false),
        (Source::GitHub, "x-hub-signature-256", &bare, false),
        (Source::GitHub, "x-hub-signature-256", "sha256=", false),
        (Source::GitHub, "x-hub-signature-256", "md5=00", false),
        (Source::GitHub, "a", "b", false),
        (Source::Gitea, "x-gitea-signature", &bare, true),
        (Source::Gitea, "x-hub-signature-256", &sha256, true),
        (Source::Gitea, "x-gitea-signature", "00", false),
        (Source::BitbucketServer, "x-hub-signature", &sha256, true),
        (Source::BitbucketServer, "a", "b", false),
        (Source::BitbucketCloud, "a", "b", true),
        (Source::BitbucketCloud, "x-hub-signature", &other, false),
        (Source::GitLab, "x-gitlab-token", key, true),
        (Source::GitLab, "x-gitlab-token", "f00dc0ffe", false),
        (Source::Harbor, "authorization", key, true),
        (Source::Harbor, "authorization", "", false),
        (Source::Nexus, "x-nexus-webhook-signature", &bare1, true),
        (Source::Nexus, "x-nexus-webhook-signature", &bare, false),
        (Source::GenericHMAC, "x-signature", &sha256, true),
        (Source::GenericHMAC, "x-signature", &other, false),
        (Source::DockerHub, "a", "b", true),
    ];
    for (source, name, value, genuine) in rows {
        let headers = headers(&[(name, value)]);
        assert_eq!(verify::is_genuine(*source, KEY, &headers, body), *genuine, "{source:?} {name}: {value}");
    }
    let moved = verify::is_genuine(Source::GitHub, KEY, &headers(&[("x-hub-signature", &sha1)]), br#"{"ref":1}"#);
    assert!(!moved, "the same JSON in other bytes is another body");
}

#[test]
fn a_form_is_verified_whole_and_then_read() {
    let body = b"payload=%7B%22ref%22%3A%22refs%2Fheads%2Fx%22%2C%22repository%22%3A%7B%22ssh_url%22%3A%22u%22%7D%7D";
    let known = headers(&[("x-github-event", "push"), ("content-type", "application/x-www-form-urlencoded")]);
    assert_eq!(changes(Source::GitHub, &known, body, ""), Ok(git("u", "x")));
}

fn configuration(dir: &Path, text: &str) -> Result<Receivers, ConfigError> {
    std::fs::write(dir.join("github.key"), KEY).unwrap();
    std::fs::write(dir.join("empty.key"), "").unwrap();
    std::fs::write(dir.join("fluxrecv.yaml"), text).unwrap();
    Receivers::load(&dir.join("fluxrecv.yaml"))
}

#[test]
fn flux_recvs_configuration_is_read_with_its_keys() {
    let dir = tempfile::tempdir().unwrap();
    let text = "fluxRecvVersion: 1\napi: http://localhost:3030/api/flux\nendpoints:\n- keyPath: github.key\n  source: GitHub\n\
                - {keyPath: github.key, source: Nexus, registryHost: hub.example.org}\n";
    let receivers = configuration(dir.path(), text).unwrap();
    // sha256sum of the key, and of the key followed by the host.
    let digest = hex::encode(Sha256::digest(KEY));
    assert_eq!(receivers.get(&digest).unwrap().source, Source::GitHub);
    let with_host = hex::encode(Sha256::digest([KEY, b"hub.example.org"].concat()));
    assert_eq!(receivers.get(&with_host).unwrap().registry_host, "hub.example.org");
    assert!(receivers.is_unknown("/hook/abc") && !receivers.is_unknown(&format!("/hook/{digest}")));
    assert!(!format!("{receivers:?}").contains("f00d"));
}

#[test]
fn mistakes_in_the_configuration_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for (text, error) in [
        ("fluxRecvVersion: 2\n", "fluxRecvVersion must be 1, not 2"),
        ("fluxRecvVersion: 1\nendpoints: [{keyPath: none.key, source: GitHub}]\n", "none.key"),
        ("fluxRecvVersion: 1\nendpoints: [{keyPath: empty.key, source: GitHub}]\n", "the key empty.key is empty"),
        ("fluxRecvVersion: 1\nendpoints: [{keyPath: github.key, source: Svn}]\n", "Svn"),
        (
            "fluxRecvVersion: 1\nendpoints: [{keyPath: github.key, source: GitHub}, {keyPath: github.key, source: GitLab}]\n",
            "two endpoints share a key",
        ),
    ] {
        let found = configuration(dir.path(), text).unwrap_err().to_string();
        assert!(found.starts_with("--receivers-config: ") && found.contains(error), "{found}");
    }
}

/// A double of Google's that answers every question with `status` and `body`, and writes the question's first line down.
async fn issuer(status: &'static str, body: &'static str) -> (String, crate::runtime::Scoped<String>) {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/tokeninfo", listener.local_addr().unwrap());
    let asked = crate::runtime::scoped(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let (mut first, mut line) = (String::new(), String::new());
        stream.read_line(&mut first).await.unwrap();
        while stream.read_line(&mut line).await.unwrap() > 2 {
            line.clear();
        }
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
        first
    });
    (address, asked)
}

#[tokio::test]
async fn googles_token_is_asked_about_and_must_be_made_for_us() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let bearer = headers(&[("authorization", "Bearer abc")]);
    for (status, body, wanted) in [
        ("200 OK", r#"{"aud":"fluxd","iss":"https://accounts.google.com"}"#, true),
        ("200 OK", r#"{"aud":"other"}"#, false),
        ("200 OK", r#"{"aud":"fluxd","iss":"https://example.org"}"#, false),
        ("400 Bad Request", r#"{"error":"invalid_token"}"#, false),
    ] {
        let (address, asked) = issuer(status, body).await;
        assert_eq!(google::check(&address, &bearer, "fluxd").await.is_ok(), wanted, "{body}");
        assert_eq!(asked.await.unwrap(), "GET /tokeninfo?id_token=abc HTTP/1.1\r\n");
    }
    assert_eq!(google::check("http://127.0.0.1:1", &HeaderMap::new(), "fluxd").await, Err(HookError::Unverified));
    let away = google::check("http://127.0.0.1:1", &bearer, "fluxd").await.unwrap_err();
    assert!(matches!(&away, HookError::Uncheckable(text) if !text.contains("abc")), "{away}");
}
