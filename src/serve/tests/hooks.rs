//! Webhooks over real HTTP: verified first, bounded, and turned into notifications.

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::serve::receivers::Receivers;

use super::*;

const KEY: &str = "f00dc0ffee";
const BODY: &str = r#"{"ref":"refs/heads/main","repository":{"ssh_url":"git@example.org:team/config.git"}}"#;

async fn rig() -> (Rig, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("key"), KEY).unwrap();
    let config = dir.path().join("fluxrecv.yaml");
    std::fs::write(&config, "fluxRecvVersion: 1\nendpoints:\n- {keyPath: key, source: GitHub}\n").unwrap();
    let receivers = Receivers::load(&config).unwrap();
    let auth = crate::serve::Auth::Kubernetes;
    let settings = Settings { listen: "127.0.0.1:0".into(), receivers, auth, ..Settings::default() };
    let rig = Rig::with(Fake::new(), settings, None).await;
    (rig, format!("/hook/{}", hex::encode(Sha256::digest(KEY))))
}

async fn post(rig: &Rig, path: &str, key: &str, body: &str) -> Response {
    let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap().chain_update(body).finalize();
    let signature = format!("sha256={}", hex::encode(mac.into_bytes()));
    let request = rig.client.post(format!("{}{path}", rig.base)).body(body.to_owned());
    request.header("x-hub-signature-256", signature).header("x-github-event", "push").send().await.unwrap()
}

#[tokio::test]
async fn a_signed_webhook_makes_the_daemon_look_without_any_token_of_the_clusters() {
    let (rig, path) = rig().await;
    let response = post(&rig, &path, KEY, BODY).await;
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (200, "OK"));
    assert_eq!(rig.asked(), [r#"Git { url: "git@example.org:team/config.git", branch: "main" }"#]);
}

#[tokio::test]
async fn forged_broken_and_misdirected_webhooks_do_nothing() {
    let (rig, path) = rig().await;
    assert_eq!(post(&rig, &path, "other", BODY).await.status(), 401);
    // It would not even parse; the signature is what it is refused for.
    assert_eq!(post(&rig, &path, "other", "{").await.status(), 401);
    assert_eq!(post(&rig, &path, KEY, "{").await.status(), 400);
    assert_eq!(post(&rig, "/hook/00", KEY, BODY).await.status(), 404);
    assert_eq!(post(&rig, &path, KEY, &" ".repeat(2 << 20)).await.status(), 413);
    assert!(rig.asked().is_empty());
    let metrics = rig.fake.metrics.expose().unwrap();
    let text = String::from_utf8(metrics).unwrap();
    assert!(text.contains("route=\"Hook\",status_code=\"401\""), "{text}");
}
