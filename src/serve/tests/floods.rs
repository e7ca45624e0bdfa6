//! Limits: what one request, and many at once, may cost.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

#[tokio::test]
async fn requests_over_the_bound_are_shed_and_probes_are_not() {
    let rig = Rig::start(Fake::new(), Limits { in_flight: 1, ..Limits::default() }, false).await;
    let hanging = rig.client.get(format!("{}/api/flux/v6/services?namespace=hang", rig.base)).send();
    let asking = async {
        // The first request is known to hold the one slot when its question has arrived behind the server.
        while !rig.asked().contains(&"services \"hang\" []".to_owned()) {
            tokio::task::yield_now().await;
        }
        let shed = rig.get("/api/flux/v11/version").await;
        assert_eq!(shed.status(), 503);
        assert_eq!(shed.headers()["retry-after"], "1");
        for probe in ["/healthz", "/readyz", "/api/flux/v6/identity.pub", "/metrics"] {
            assert_eq!(rig.get(probe).await.status(), 200, "{probe}");
        }
        let metrics = rig.get("/metrics").await.text().await.unwrap();
        assert!(metrics.contains("fluxd_http_shed_total 1"), "{metrics}");
    };
    tokio::select! {
        _ = hanging => panic!("the hanging request ended"),
        () = asking => {}
    }
}

#[tokio::test]
async fn those_who_send_slowly_keep_nobody_waiting_who_only_asks() {
    let rig = Rig::start(Fake::new(), Limits { in_flight: 1, ..Limits::default() }, false).await;
    let mut slow = tokio::net::TcpStream::connect(rig.base.trim_start_matches("http://")).await.unwrap();
    slow.write_all(b"POST /api/flux/v11/notify HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{").await.unwrap();
    let notify = async || rig.send(Method::POST, "/api/flux/v11/notify", None, "{\"Kind\":\"git\"}").await.status();
    // The slow one has its place when nobody else gets one.
    while notify().await != 503 {}
    assert_eq!(rig.get("/api/flux/v11/version").await.status(), 200);
    drop(slow);
    while notify().await == 503 {}
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let rig = Rig::start(Fake::new(), Limits { answer: Duration::from_millis(1), ..Limits::default() }, false).await;
    let response = rig.get("/api/flux/v6/services?namespace=hang").await;
    assert_eq!(response.status(), 504);
    assert_eq!(response.json::<Value>().await.unwrap()["error"], "the request took too long");
}

#[tokio::test]
async fn a_large_body_is_refused() {
    let rig = Rig::start(Fake::new(), Limits { body: 10, ..Limits::default() }, false).await;
    let response = rig.send(Method::POST, "/api/flux/v11/notify", Some("application/json"), "{\"Kind\":\"git\"}").await;
    assert_eq!(response.status(), 413);
    assert!(rig.asked().is_empty());
}

#[tokio::test]
async fn a_panicking_answer_ends_alone() {
    let rig = Rig::usual().await;
    assert_eq!(rig.get("/api/flux/v6/services?namespace=panic").await.status(), 500);
    assert_eq!(rig.get("/api/flux/v11/version").await.status(), 200);
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let rig = Rig::start(Fake::new(), Limits { head: Duration::from_millis(1), ..Limits::default() }, false).await;
    let mut stream = tokio::net::TcpStream::connect(rig.base.trim_start_matches("http://")).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    let mut rest = Vec::new();
    // Whether it is told or only closed, the connection ends.
    let ended = stream.read_to_end(&mut rest).await;
    assert!(ended.is_err() || !String::from_utf8_lossy(&rest).contains("200 OK"), "{rest:?}");
}

#[tokio::test]
async fn metrics_have_bounded_labels_and_their_own_door_when_asked() {
    let rig = Rig::start(Fake::new(), Limits::default(), true).await;
    rig.get("/api/flux/v11/version").await;
    rig.get("/some/path/of/a/scanner").await;
    assert_eq!(rig.get("/metrics").await.status(), 404);
    let metrics = rig.metrics.clone().unwrap();
    let response = rig.client.get(format!("{metrics}/metrics")).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    let text = response.text().await.unwrap();
    let line =
        "flux_request_duration_seconds_count{method=\"GET\",route=\"Version\",status_code=\"200\",ws=\"false\"} 1";
    assert!(text.contains(line), "{text}");
    assert!(!text.contains("scanner"), "{text}");
    let api = rig.client.get(format!("{metrics}/api/flux/v11/version")).send().await.unwrap();
    assert_eq!(api.status(), 404);
}
