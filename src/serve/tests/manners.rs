//! Negotiation of errors and the manners of Go's multiplexer.

use super::*;

const PATH: &str = "/api/flux/v6/services?namespace=broken";

#[tokio::test]
async fn errors_take_the_form_that_the_client_asks_for() {
    let rig = Rig::usual().await;
    let rows = [
        (None, "short"),
        (Some("*/*"), "short"),
        (Some("text/html"), "short"),
        (Some("application/json"), "json"),
        (Some("Application/JSON"), "json"),
        (Some("text/plain"), "help"),
        (Some("text/plain, application/json"), "json"),
        (Some("application/json;q=0.5, text/plain;q=0.5"), "json"),
        (Some("application/json;q=0.4, text/plain"), "help"),
        (Some("text/plain;q=0.4, application/json;q=0.5"), "json"),
        (Some("application/json;q=0"), "short"),
        (Some("text/html, application/json;q=0.1"), "json"),
    ];
    for (accept, form) in rows {
        let mut request = rig.client.get(format!("{}{PATH}", rig.base));
        // The client sends "*/*" of its own; an empty value asks for nothing, as no value does.
        request = request.header("accept", accept.unwrap_or(""));
        let response = request.send().await.unwrap();
        let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        let body = response.text().await.unwrap();
        let (want_type, want_start) = match form {
            "json" => (
                "application/json; charset=utf-8",
                "{\"type\":\"user\",\"help\":\"Error: getting workloads: \\u003cno\\u003e\\n",
            ),
            "help" => ("text/plain; charset=utf-8", "Error: getting workloads: <no>\n\n"),
            _ => ("text/plain; charset=utf-8", "getting workloads: <no>"),
        };
        assert_eq!(content_type, want_type, "{accept:?}");
        assert!(body.starts_with(want_start), "{accept:?}: {body}");
        assert_eq!(form == "short", body == "getting workloads: <no>", "{accept:?}: {body}");
    }
}

#[tokio::test]
async fn success_is_json_whatever_the_client_asks_for() {
    let rig = Rig::usual().await;
    let response = rig.send(Method::GET, "/api/flux/v11/version", Some("text/plain"), "").await;
    assert_eq!(response.headers()["content-type"], "application/json; charset=utf-8");
}

#[tokio::test]
async fn a_syntax_error_keeps_the_offset_that_v1_told() {
    let rig = Rig::usual().await;
    let response = rig.send(Method::POST, "/api/flux/v11/notify", Some("application/json"), "{\"Kind\";").await;
    assert_eq!(response.status(), 400);
    assert_eq!(response.json::<Value>().await.unwrap()["Offset"], 8);
}

#[tokio::test]
async fn head_on_a_route_of_get_is_404_without_body() {
    let rig = Rig::usual().await;
    let response = rig.send(Method::HEAD, "/api/flux/v11/version", Some("application/json"), "").await;
    assert_eq!(response.status(), 404);
    assert_eq!(response.text().await.unwrap(), "");
}

#[tokio::test]
async fn paths_outside_the_api_get_gos_plain_404() {
    let rig = Rig::usual().await;
    for path in ["/", "/favicon.ico", "/api", "/api/fluxx", "/debug/pprof/", "/metrics/"] {
        let response = rig.get(path).await;
        assert_eq!(response.status(), 404, "{path}");
        assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8", "{path}");
        assert_eq!(response.text().await.unwrap(), "404 page not found\n", "{path}");
    }
}

#[tokio::test]
async fn other_spellings_of_a_path_are_redirected() {
    let rig = Rig::usual().await;
    for (path, target) in [
        ("/api/flux", "/api/flux/"),
        ("/api/flux?x=1&y", "/api/flux/?x=1&y"),
        ("//api/flux/v11/ping", "/api/flux/v11/ping"),
        ("/api/flux//v11/ping?a=b", "/api/flux/v11/ping?a=b"),
        ("/api//", "/api/"),
    ] {
        let response = rig.get(path).await;
        assert_eq!(response.status(), 307, "{path}");
        assert_eq!(response.headers()["location"], *target, "{path}");
    }
    assert_eq!(super::super::answer::clean_path("/a/./b/../../c/"), "/c/");
    assert_eq!(super::super::answer::clean_path("/../.."), "/");
}

#[tokio::test]
async fn the_key_is_told_and_probes_answer_before_anything_has_happened() {
    let fake = Fake { passed: false, ..Fake::new() };
    let rig = Rig::start(fake, Limits::default(), false).await;
    assert_eq!(rig.get("/api/flux/v6/identity.pub").await.status(), 200);
    assert_eq!(rig.get("/healthz").await.text().await.unwrap(), "ok\n");
    assert_eq!(rig.get("/api/fluxd/v1/plan?last=true").await.status(), 404);
    assert_eq!(rig.get("/api/fluxd/v1/outcome").await.status(), 404);
    assert_eq!(rig.get_json("/api/fluxd/v1/status").await["lastSync"], Value::Null);
}

#[tokio::test]
async fn probes_tell_what_is_wrong() {
    let rig = Rig::usual().await;
    rig.probes.readiness.wait_for("git", "not cloned yet");
    let response = rig.get("/readyz").await;
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (503, "git: not cloned yet\n"));
    rig.probes.readiness.done("git");
    assert_eq!(rig.get("/readyz").await.status(), 200);
    let _stage = rig.probes.liveness.stage("fetch", Duration::ZERO);
    let response = rig.get("/healthz").await;
    assert_eq!(response.status(), 503);
    assert!(response.text().await.unwrap().starts_with("stage fetch has been running"));
}
