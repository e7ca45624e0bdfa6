//! `--listen-tls-cert`, `--listen-tls-key` and `--listen-tls-client-ca` of the built program.

use crate::rig::{ControlPlane, Fluxd, Repo, eventually_async, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A certificate for 127.0.0.1 and its key.
fn certificate(directory: &Path, name: &str) -> (PathBuf, PathBuf) {
    let (certificate, key) = (directory.join(format!("{name}.crt")), directory.join(format!("{name}.key")));
    let mut openssl = Command::new("openssl");
    openssl
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=fluxd", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"]);
    run(openssl.arg(&key).arg("-out").arg(&certificate));
    (certificate, key)
}

fn client(root: &Path, identity: Option<(&Path, &Path)>) -> reqwest::Client {
    let read = |path: &Path| std::fs::read(path).expect("openssl wrote it");
    let root = reqwest::Certificate::from_pem(&read(root)).expect("a certificate");
    let builder = reqwest::Client::builder().tls_certs_only([root]).no_proxy();
    let builder = match identity {
        Some((certificate, key)) => {
            let pem = [read(certificate), read(key)].concat();
            builder.identity(reqwest::Identity::from_pem(&pem).expect("a pair"))
        }
        None => builder,
    };
    builder.build().expect("a client")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_is_spoken_over_tls_only_and_only_with_those_who_have_a_certificate_if_that_is_asked() {
    let plane = ControlPlane::shared();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (certificate, key) = self::certificate(directory.path(), "fluxd");
    let (mine, mine_key) = self::certificate(directory.path(), "client");
    let tls = [format!("--listen-tls-cert={}", certificate.display()), format!("--listen-tls-key={}", key.display())];
    let repo = Repo::new();
    for with_clients in [false, true] {
        let builder = Fluxd::against(plane).git(&repo).args(&[&tls[0], &tls[1]]);
        let builder = match with_clients {
            true => builder.arg(&format!("--listen-tls-client-ca={}", mine.display())),
            false => builder,
        };
        let fluxd = builder.start();
        let url = format!("https://127.0.0.1:{}/api/flux/v11/version", fluxd.port());
        let identity = with_clients.then_some((mine.as_path(), mine_key.as_path()));
        let welcome = client(&certificate, identity);
        let text = eventually_async("fluxd answers over TLS", || async {
            welcome.get(&url).send().await.ok()?.text().await.ok()
        })
        .await;
        assert_eq!(text, format!("{:?}", env!("CARGO_PKG_VERSION")));
        let refused = async |client: reqwest::Client| client.get(&url).send().await.is_err();
        assert!(refused(client(&mine, identity)).await, "another's certificate is not taken for fluxd's");
        assert_eq!(refused(client(&certificate, None)).await, with_clients);
        assert!(fluxd.get("/api/flux/v11/version").is_none_or(|reply| reply.status != 200), "plain HTTP is not spoken");
    }
}

#[test]
fn a_key_without_its_certificate_ends_the_process_before_it_begins() {
    let plane = ControlPlane::shared();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (_, key) = certificate(directory.path(), "fluxd");
    let (other, _) = certificate(directory.path(), "other");
    let key = format!("--listen-tls-key={}", key.display());
    for (flags, told) in [
        (vec![key.clone()], "must be given together"),
        (
            vec![key, format!("--listen-tls-cert={}", other.display())],
            "expected a certificate and the key it was made for",
        ),
    ] {
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let mut fluxd = Fluxd::against(plane).args(&flags).start();
        assert_eq!(fluxd.wait().code(), Some(1));
        fluxd.wait_for_log(&[told]);
    }
}
