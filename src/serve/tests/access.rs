//! Who is let in, over real HTTP and TLS.

use std::path::Path;

use crate::serve::{Auth, TlsFiles};

use super::*;

async fn guarded() -> Rig {
    let settings = Settings { listen: "127.0.0.1:0".into(), auth: Auth::Kubernetes, ..Settings::default() };
    Rig::with(Fake::new(), settings, None).await
}

async fn as_user(rig: &Rig, method: Method, path: &str, authorization: &str) -> Response {
    let request = rig.client.request(method, format!("{}{path}", rig.base)).header("authorization", authorization);
    request.header("accept", "application/json").send().await.unwrap()
}

#[tokio::test]
async fn each_verb_and_path_is_asked_of_the_cluster_once_in_a_while() {
    let rig = guarded().await;
    let version = "/api/flux/v11/version";
    for authorization in ["Bearer bob", "Scope-Probe token=bob"] {
        assert_eq!(as_user(&rig, Method::GET, &format!("{version}?x=1"), authorization).await.status(), 200);
    }
    assert_eq!(rig.asked(), ["whose bob", "may bob get /flux/v11/version"]);
    let refused = as_user(&rig, Method::POST, "/api/fluxd/v1/pause", "Bearer bob").await;
    assert_eq!(refused.status(), 403);
    let text = refused.json::<Value>().await.unwrap()["help"].as_str().unwrap().to_owned();
    assert!(text.contains("bob may not post /fluxd/v1/pause") && text.contains("nonResourceURLs"), "{text}");
    assert_eq!(as_user(&rig, Method::POST, "/api/fluxd/v1/pause", "Bearer ann").await.status(), 200);
    assert_eq!(rig.asked(), ["may bob post /fluxd/v1/pause", "whose ann", "may ann post /fluxd/v1/pause"]);
}

#[tokio::test]
async fn strangers_are_told_how_to_come_in_and_nothing_else() {
    let rig = guarded().await;
    for authorization in ["Bearer nobody", "Basic YTpi", "Bearer"] {
        let refused = as_user(&rig, Method::GET, "/api/flux/v6/export", authorization).await;
        assert_eq!(refused.status(), 401, "{authorization}");
        assert_eq!(refused.headers()["www-authenticate"], "Bearer");
        assert!(!refused.text().await.unwrap().contains("Namespace"));
    }
    assert_eq!(rig.get("/metrics").await.status(), 401);
    assert_eq!(rig.asked(), ["whose nobody"], "what is no token is not asked about");
}

#[tokio::test]
async fn when_the_cluster_cannot_be_asked_nobody_is_let_in_on_a_guess() {
    let rig = guarded().await;
    let refused = as_user(&rig, Method::GET, "/api/flux/v11/version", "Bearer broken").await;
    assert_eq!(refused.status(), 503);
    assert!(!refused.text().await.unwrap().contains("broken"));
}

#[tokio::test]
async fn probes_and_the_public_key_need_no_token() {
    let rig = guarded().await;
    for path in ["/healthz", "/readyz", "/api/flux/v6/identity.pub"] {
        assert_eq!(rig.get(path).await.status(), 200, "{path}");
    }
    assert_eq!(rig.send(Method::POST, "/api/flux/v6/identity.pub", None, "").await.status(), 401);
    assert!(rig.asked().is_empty());
}

#[tokio::test]
async fn metrics_ask_for_a_token_beside_the_api_and_for_none_at_an_address_of_their_own() {
    let rig = guarded().await;
    assert_eq!(rig.get("/metrics").await.status(), 401);
    let listen = || "127.0.0.1:0".to_owned();
    let settings =
        Settings { listen: listen(), listen_metrics: Some(listen()), auth: Auth::Kubernetes, ..Settings::default() };
    let rig = Rig::with(Fake::new(), settings, None).await;
    let metrics = rig.metrics.clone().unwrap();
    assert_eq!(rig.client.get(format!("{metrics}/metrics")).send().await.unwrap().status(), 200);
    assert_eq!(rig.get("/api/flux/v11/version").await.status(), 401);
    assert!(rig.asked().is_empty());
}

/// A certificate for 127.0.0.1 with its key, self-signed by the system's openssl.
async fn certificate(dir: &Path, name: &str) -> TlsFiles {
    let (certificate, key) = (dir.join("tls.crt"), dir.join("tls.key"));
    let subject = format!("/CN={name}");
    let names = "subjectAltName=IP:127.0.0.1";
    #[allow(clippy::disallowed_methods, reason = "a test makes its certificate with the system's program")]
    let mut openssl = tokio::process::Command::new("openssl");
    let made = openssl
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", &subject, "-addext", names, "-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .await
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    TlsFiles { certificate, key, client_authority: None }
}

async fn with_tls(tls: TlsFiles) -> Rig {
    let settings = Settings { listen: "127.0.0.1:0".into(), tls: Some(tls), ..Settings::default() };
    Rig::with(Fake::new(), settings, None).await
}

fn client(pem: &[u8], identity: Option<Vec<u8>>) -> reqwest::Client {
    let root = reqwest::Certificate::from_pem(pem).unwrap();
    let builder = reqwest::Client::builder().tls_certs_only([root]).no_proxy();
    let builder = match identity {
        Some(pem) => builder.identity(reqwest::Identity::from_pem(&pem).unwrap()),
        None => builder,
    };
    builder.build().unwrap()
}

#[tokio::test]
async fn tls_is_spoken_and_a_renewed_certificate_is_taken_up() {
    let dir = tempfile::tempdir().unwrap();
    let rig = with_tls(certificate(dir.path(), "old").await).await;
    let url = format!("{}/healthz", rig.base.replace("http:", "https:"));
    let old = std::fs::read(dir.path().join("tls.crt")).unwrap();
    assert_eq!(client(&old, None).get(&url).send().await.unwrap().status(), 200);
    assert!(rig.client.get(format!("{}/healthz", rig.base)).send().await.is_err(), "plain HTTP is not spoken");
    certificate(dir.path(), "new").await;
    let new = std::fs::read(dir.path().join("tls.crt")).unwrap();
    while client(&new, None).get(&url).send().await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(client(&old, None).get(&url).send().await.is_err());
}

#[tokio::test]
async fn with_authorities_for_clients_only_those_with_a_certificate_are_let_in() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (tls, mine) = (certificate(dir.path(), "fluxd").await, certificate(other.path(), "client").await);
    let rig = with_tls(TlsFiles { client_authority: Some(mine.certificate.clone()), ..tls.clone() }).await;
    let url = format!("{}/healthz", rig.base.replace("http:", "https:"));
    let root = std::fs::read(&tls.certificate).unwrap();
    assert!(client(&root, None).get(&url).send().await.is_err());
    let pair = [std::fs::read(&mine.certificate).unwrap(), std::fs::read(&mine.key).unwrap()].concat();
    assert_eq!(client(&root, Some(pair)).get(&url).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn files_that_do_not_fit_are_named_and_never_quoted() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, two) = (certificate(dir.path(), "one").await, certificate(other.path(), "two").await);
    let mixed = TlsFiles { key: two.key.clone(), ..one.clone() };
    assert!(mixed.check().unwrap_err().to_string().contains("tls.key"));
    let missing = TlsFiles { certificate: dir.path().join("none"), ..one.clone() };
    assert!(missing.check().unwrap_err().to_string().starts_with("reading "));
    std::fs::write(&one.key, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n").unwrap();
    let text = one.check().unwrap_err().to_string();
    assert!(text.contains("there is no private key in it") && !text.contains("c2Vj"), "{text}");
}

#[tokio::test]
async fn a_client_that_shakes_no_hands_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings {
        listen: "127.0.0.1:0".into(),
        tls: Some(certificate(dir.path(), "x").await),
        limits: Limits { head: Duration::from_millis(1), ..Limits::default() },
        ..Settings::default()
    };
    let rig = Rig::with(Fake::new(), settings, None).await;
    let mut stream = tokio::net::TcpStream::connect(rig.base.trim_start_matches("http://")).await.unwrap();
    let mut rest = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest).await.unwrap_or_default();
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_follower_knows_the_leader_by_the_certificate_they_share() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (shared, foreign) = (certificate(dir.path(), "fluxd").await, certificate(other.path(), "fluxd").await);
    let leader = with_tls(shared.clone()).await;
    let address = Leader::At(leader.base.trim_start_matches("http://").parse().unwrap());
    for (own, status) in [(shared, 200), (foreign, 503)] {
        let (_tell, told) = watch::channel(address.clone());
        let root = std::fs::read(&own.certificate).unwrap();
        let settings = Settings { listen: "127.0.0.1:0".into(), tls: Some(own), ..Settings::default() };
        let follower = Rig::with(Fake::new(), settings, Some(told)).await;
        let url = format!("{}/api/flux/v11/services", follower.base.replace("http:", "https:"));
        assert_eq!(client(&root, None).get(url).send().await.unwrap().status(), status);
    }
    assert_eq!(leader.asked(), ["services \"\" []"]);
}
