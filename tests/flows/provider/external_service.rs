//! ExternalService: whatever a service of one's own answers (resourceset §8.6, case P16).

use super::*;
use crate::rig::basic;

fn asked(double: &Double) -> Request {
    let mut request = request(ProviderType::ExternalService, format!("{}/inputs", double.url()));
    request.insecure = true;
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn inputs_are_cut_to_the_limit_and_get_defaults() {
    let double = Double::start(|seen| {
        assert_eq!(seen.headers["accept"], "application/json");
        assert_eq!(seen.headers["user-agent"], "flux-operator/1.2.3");
        Scripted::json(&json!({"inputs": [{"id": "1", "tenant": {"cpu": 2}}, {"id": "2", "env": "prod"}, {"id": "3"}]}))
    });
    let mut request = asked(&double);
    request.filter.limit = Some(2);
    request.defaults = json!({"env": "dev"}).as_object().cloned().unwrap();
    let providers = providers(|s| s.version = "1.2.3".to_owned());
    let want = json!([{"id": "1", "tenant": {"cpu": 2}, "env": "dev"}, {"id": "2", "env": "prod"}]);
    assert_eq!(list_with(&providers, &request).await.unwrap(), want);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_counts_more_than_a_password() {
    let double = Double::start(|_| Scripted::json(&json!({"inputs": []})));
    let mut request = asked(&double);
    let login = [("username", "ann"), ("password", "hunter2")];
    for (pairs, want) in [
        (vec![], None),
        (login.to_vec(), Some(basic("ann", "hunter2"))),
        ([&login[..], &[("token", "abc\n")]].concat(), Some("Bearer abc".to_owned())),
    ] {
        request.secret = if pairs.is_empty() { None } else { secret(&pairs) };
        assert_eq!(list(&request).await.unwrap(), json!([]));
        assert_eq!(double.seen().last().unwrap().authorization, want);
    }
    request.secret = secret(&[("other", "x")]);
    let want = "failed to call ExternalService provider: invalid secret 'apps/auth': key 'username' is missing";
    assert_eq!(list(&request).await.unwrap_err(), want);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_answers_are_told_in_the_originals_words() {
    let big = json!({"inputs": [{"id": "1", "x": "y".repeat(921_600)}]}).to_string();
    for (status, body, said) in [
        (500, "{}".to_owned(), None),
        (200, "{}".to_owned(), Some("response does not contain an 'inputs' field")),
        (
            200,
            r#"{"inputs":[{"id":"1"},{"id":"1"}]}"#.to_owned(),
            Some("input at index 1 has a duplicate 'id' value '1'"),
        ),
        (200, big, Some("response body exceeds the maximum allowed size of 921600 bytes")),
        (200, "<html>".to_owned(), Some("failed to parse response body: ")),
        (200, String::new(), Some("failed to parse response body: ")),
    ] {
        let double = Double::start(move |_| Scripted::new(status, body.clone()));
        let request = asked(&double);
        let refusal = list(&request).await.unwrap_err();
        let rest = refusal.strip_prefix("failed to call ExternalService provider: ").unwrap();
        match said {
            Some(said) => assert!(rest.contains(said), "{refusal}"),
            None => assert_eq!(rest, format!("external service '{}' returned HTTP 500", request.url)),
        }
        assert_eq!(double.seen().len(), 1, "a service that answers is not asked again");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_not_there_is_asked_again_and_then_told() {
    let mut request = request(ProviderType::ExternalService, format!("http://127.0.0.1:{}/", crate::rig::free_port()));
    request.insecure = true;
    let refusal = list(&request).await.unwrap_err();
    assert!(refusal.starts_with("failed to call ExternalService provider: GET http://127.0.0.1:"), "{refusal}");
    assert!(refusal.to_lowercase().contains("refused"), "{refusal}");
}
