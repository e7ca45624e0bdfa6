//! Hosts that are slow, wrong, endless, or want our credentials for another: an error each time, never a shorter list.

use std::io::Write as _;

use super::*;

fn repository(double: &Double) -> String {
    format!("{}/a/b", double.url())
}

fn named(name: &str) -> Value {
    json!({"name": name, "commit": {"sha": "c"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_come_again_or_never_end_are_an_error() {
    let double = Double::start(|seen| {
        let link = format!(r#"<http://{}/api/v3/repos/a/b/tags?page={}>; rel="next""#, seen.host, 3 - page_of(seen));
        Scripted::json(&json!([named("1")])).header("Link", &link)
    });
    let refusal = list(&request(ProviderType::GitHubTag, repository(&double))).await.unwrap_err();
    assert!(refusal.ends_with("tags pagination returned a repeated page"), "{refusal}");
    let double = Double::start(|seen| {
        let link = format!(r#"<http://{}/api/v3/repos/a/b/tags?page={}>; rel="next""#, seen.host, page_of(seen) + 1);
        Scripted::json(&json!([])).header("Link", &link)
    });
    let refusal = list(&request(ProviderType::GitHubTag, repository(&double))).await.unwrap_err();
    assert!(refusal.ends_with("tags pagination exceeds maximum of 1000 pages"), "{refusal}");
    assert_eq!(double.seen().len(), 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_fails_fails_the_list() {
    let double = Double::start(|seen| match page_of(seen) {
        1 => linked(seen, &[json!([named("1.0.0")]), json!([])]),
        _ => Scripted::new(500, "{}"),
    });
    let refusal = list(&request(ProviderType::GitHubTag, repository(&double))).await.unwrap_err();
    assert!(refusal.contains("500 Internal Server Error"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_bounded_also_when_they_are_compressed() {
    let bomb = format!("[{}]", " ".repeat(11 << 20));
    let mut gzip = std::process::Command::new("gzip")
        .arg("-c")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = gzip.stdin.take().unwrap();
    let text = bomb.clone();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let small = gzip.wait_with_output().unwrap().stdout;
    writer.join().unwrap();
    assert!(small.len() < 1 << 20);
    for (body, encoding) in [(bomb.into_bytes(), "identity"), (small, "gzip")] {
        let double = Double::start(move |_| Scripted::new(200, body.clone()).header("Content-Encoding", encoding));
        let refusal = list(&request(ProviderType::GitHubTag, repository(&double))).await.unwrap_err();
        assert!(refusal.ends_with("response body exceeds the maximum allowed size of 10485760 bytes"), "{refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_do_not_follow_to_another_host() {
    let other = Double::start(|seen| {
        assert!(seen.authorization.is_none() && !seen.headers.contains_key("private-token"));
        Scripted::json(&json!([]))
    });
    let target = format!("{}/elsewhere", other.url());
    let double = Double::start(move |_| Scripted::new(302, "").header("Location", &target));
    for kind in [ProviderType::GitHubTag, ProviderType::GitLabTag] {
        let mut request = request(kind, repository(&double));
        request.secret = secret(&[("username", "git"), ("password", "hunter2")]);
        assert_eq!(list(&request).await.unwrap(), json!([]));
    }
    assert_eq!(other.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_read_where_the_host_was_reached() {
    let other = Double::start(|_| Scripted::json(&json!([])));
    let base = other.url().clone();
    // as a host does that knows itself by the address of its front
    let double = Double::start(move |seen| match page_of(seen) {
        1 => Scripted::json(&json!([named("1.0.0")])).header("Link", &format!(r#"<{base}/x?page=2>; rel="next""#)),
        _ => Scripted::json(&json!([named("2.0.0")])),
    });
    let listed = list(&request(ProviderType::GitHubTag, repository(&double))).await.unwrap();
    assert_eq!(each(&listed, "tag"), ["2.0.0", "1.0.0"]);
    let link = format!(r#"<{}/x?after=2>; rel="next""#, other.url());
    let double = Double::start(move |_| Scripted::json(&json!([])).header("Link", &link));
    let refusal = list(&request(ProviderType::GitHubTag, repository(&double))).await.unwrap_err();
    assert!(refusal.contains("without its number"), "{refusal}");
    assert!(other.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_asked_without_the_credentials_that_were_given() {
    let double = Double::start(|_| Scripted::json(&json!([])));
    for kind in [ProviderType::GitHubTag, ProviderType::GitLabTag] {
        let mut request = request(kind, repository(&double));
        request.secret = secret(&[("username", "git"), ("password", "hunter2\nhunter3")]);
        let refusal = list(&request).await.unwrap_err();
        assert!(refusal.contains("has characters that none can have") && !refusal.contains("hunter"), "{refusal}");
    }
    assert!(double.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_json_of_the_promised_form_is_told_without_showing_it() {
    for (body, found) in [
        ("<!DOCTYPE html><p>hunter2", "HTML or XML"),
        ("", "nothing"),
        (r#"{"message":"hunter2"}"#, "JSON of another form"),
        (r#"[{"name":"a","commit":{"sha":"hunter2"}"#, "broken JSON"),
        ("hunter2", "something else"),
    ] {
        let double = Double::start(move |_| Scripted::new(200, body));
        let refusal = list(&request(ProviderType::GitHubBranch, repository(&double))).await.unwrap_err();
        assert!(refusal.contains(&format!("found {found}")) && !refusal.contains("hunter2"), "{refusal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_never_finishes_is_given_up_when_the_time_is_over() {
    let double = Double::start(|_| Scripted::new(200, "[").dripping());
    let mut request = request(ProviderType::GitHubBranch, repository(&double));
    request.timeout = Duration::from_millis(500);
    let refusal = list(&request).await.unwrap_err();
    let want = "failed to call Git provider: failed to list branches: could not list branches: \
                no complete answer within 500ms: context deadline exceeded";
    assert_eq!(refusal, want);
    request.kind = ProviderType::GiteaBranch;
    let refusal = list(&request).await.unwrap_err();
    assert_eq!(refusal, "failed to create Git provider: no complete answer within 500ms: context deadline exceeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_verified_unless_others_are_given() {
    let double = Double::with_certificate("127.0.0.1", |_| Scripted::json(&json!([])));
    let mut request = request(ProviderType::GitHubBranch, format!("https://{}/a/b", double.host()));
    let refusal = list(&request).await.unwrap_err();
    assert!(refusal.to_lowercase().contains("certificate"), "{refusal}");
    request.certificates = secret(&[("ca.crt", double.authority())]);
    assert_eq!(list(&request).await.unwrap(), json!([]));
    request.certificates = secret(&[("ca.crt", "no PEM")]);
    let refusal = list(&request).await.unwrap_err();
    assert_eq!(refusal, "failed to create Git provider: the certificate authorities cannot be read: expected PEM");
}
