//! The upstream service as a double on loopback: real sockets, real frames.

use std::sync::{Arc, Mutex};

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

use super::super::tests::Fake;
use super::*;
use crate::report::{Detail, Event};
use crate::runtime::{Scoped, scoped};

fn settings(address: &str, token: &str) -> Settings {
    drop(rustls::crypto::ring::default_provider().install_default());
    Settings::new(address, token, Duration::from_secs(10), "1.2.3").unwrap()
}

/// A running connection to a double.
struct Rig {
    fake: Fake,
    listener: TcpListener,
    stop: Stop,
    task: Scoped<Result<(), Error>>,
}

impl Rig {
    async fn start(leader: Option<watch::Receiver<Leader>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("ws://{}/base/", listener.local_addr().unwrap());
        let (fake, stop) = (Fake::new(), Stop::new());
        let mut upstream = Upstream::new(settings(&address, "t0ken"), fake.clone());
        upstream.again = Duration::from_millis(1);
        if let Some(leader) = leader {
            upstream = upstream.leading(leader);
        }
        let running = stop.clone();
        Self { fake, listener, stop, task: scoped(async move { upstream.run(running).await }) }
    }

    /// Takes the next connection as a websocket, with what its request said.
    async fn accept(&self) -> (WebSocketStream<TcpStream>, Vec<String>) {
        let (stream, _) = self.listener.accept().await.unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&said);
        #[allow(clippy::result_large_err, reason = "the library's own signature")]
        let look = move |request: &Request, response: Response| {
            let header = |name: &str| request.headers()[name].to_str().unwrap().to_owned();
            *seen.lock().unwrap() = vec![request.uri().to_string(), header("authorization"), header("user-agent")];
            Ok(response)
        };
        let socket = accept_hdr_async(stream, look).await.unwrap();
        let said = std::mem::take(&mut *said.lock().unwrap());
        (socket, said)
    }
}

/// The next answer; pings are left out.
async fn answer(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        match socket.next().await.unwrap().unwrap() {
            Message::Binary(bytes) => return serde_json::from_slice(&bytes).unwrap(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn ask(socket: &mut WebSocketStream<TcpStream>, method: &str, argument: Value) -> Value {
    let request = json!({ "method": format!("RPCServer.{method}"), "params": [argument], "id": 7 });
    socket.send(Message::binary(request.to_string().into_bytes())).await.unwrap();
    let answer = answer(socket).await;
    assert_eq!(answer["id"], 7);
    answer
}

#[test]
fn addresses_of_both_kinds_lead_to_both_ends() {
    for (address, socket, events) in [
        ("ws://fluxcloud", "ws://fluxcloud/v11/daemon", "http://fluxcloud/v6/events"),
        ("http://fluxcloud:80/", "ws://fluxcloud/v11/daemon", "http://fluxcloud/v6/events"),
        ("wss://h/a/b", "wss://h/a/b/v11/daemon", "https://h/a/b/v6/events"),
        ("https://h/a/", "wss://h/a/v11/daemon", "https://h/a/v6/events"),
    ] {
        let settings = settings(address, "");
        assert_eq!((settings.socket.as_str(), settings.events.as_str()), (socket, events), "{address}");
    }
}

#[test]
fn other_addresses_are_refused_without_showing_their_password() {
    for (address, error) in [
        ("ftp://u:s3cret@h", "unsupported scheme \"ftp\" in \"ftp://h"),
        ("fluxcloud", "\"fluxcloud\" is no address"),
        ("http://u:s3cret@", "is no address"),
    ] {
        let text = Settings::new(address, "", Duration::ZERO, "1").unwrap_err().to_string();
        assert!(text.contains(error) && !text.contains("s3cret"), "{text}");
    }
    let text = Settings::new("ws://h", "a\nb", Duration::ZERO, "1").unwrap_err().to_string();
    assert!(text.starts_with("--token cannot be sent"), "{text}");
    assert_eq!(format!("{:?}", settings("ws://u:s3cret@h", "t0ken")), "Settings(ws://h/v11/daemon)");
}

#[tokio::test]
async fn every_method_of_v1_is_answered() {
    let rig = Rig::start(None).await;
    let (mut socket, said) = rig.accept().await;
    assert_eq!(said, ["/base/v11/daemon", "Scope-Probe token=t0ken", "fluxd/1.2.3"]);
    let good =
        |result: Value| json!({ "id": 7, "result": { "Result": result, "ApplicationError": null }, "error": null });
    let rows = [
        ("Ping", json!({}), json!({ "id": 7, "result": {}, "error": null })),
        ("Version", json!({}), json!({ "id": 7, "result": "1.2.3", "error": null })),
        ("Export", json!({}), good(json!("LS0tCmtpbmQ6IE5hbWVzcGFjZQo="))),
        ("ListServices", json!("shop"), good(Value::Null)),
        ("ListServicesWithOptions", json!({ "Namespace": "", "Services": ["shop:deployment/web"] }), good(Value::Null)),
        ("ListImages", json!("<all>"), good(json!([]))),
        (
            "ListImagesWithOptions",
            json!({ "Spec": "<all>", "OverrideContainerFields": ["Name"], "Namespace": "shop" }),
            good(json!([])),
        ),
        ("UpdateManifests", json!({ "type": "sync", "spec": {} }), good(json!("5a0c1a4e-0000-4000-8000-3a5f1d2c9b10"))),
        (
            "NotifyChange",
            json!({ "Kind": "git", "Source": { "URL": "u", "Branch": "b" } }),
            json!({ "id": 7, "result": { "ApplicationError": null }, "error": null }),
        ),
        ("SyncStatus", json!("HEAD"), good(json!([]))),
    ];
    for (method, argument, wanted) in rows {
        assert_eq!(ask(&mut socket, method, argument).await, wanted, "{method}");
    }
    let status = ask(&mut socket, "JobStatus", json!("known")).await;
    assert_eq!(status["result"]["Result"]["StatusString"], "succeeded");
    let config = ask(&mut socket, "GitRepoConfig", json!(true)).await;
    assert_eq!(config["result"]["Result"]["status"], "ready");
    let told = rig.fake.told();
    assert!(told.contains(&"images <all> \"shop\" [\"Name\"]".to_owned()), "{told:?}");
    assert!(told.contains(&"config true".to_owned()), "{told:?}");
}

#[tokio::test]
async fn classified_errors_travel_beside_the_result_and_others_as_the_calls_own() {
    let rig = Rig::start(None).await;
    let (mut socket, _) = rig.accept().await;
    let missing = ask(&mut socket, "JobStatus", json!("x")).await;
    assert_eq!(missing["error"], Value::Null);
    assert_eq!(missing["result"]["ApplicationError"]["type"], "missing");
    assert_eq!(missing["result"]["ApplicationError"]["error"], "unknown job \"x\"");
    let untyped = ask(&mut socket, "ListServices", json!("broken")).await;
    assert_eq!((&untyped["error"], &untyped["result"]), (&json!("getting workloads: <no>"), &Value::Null));
    let unknown = ask(&mut socket, "Destroy", json!({})).await;
    assert_eq!(unknown["error"], "rpc: can't find method RPCServer.Destroy");
}

#[tokio::test]
async fn requests_survive_being_cut_and_joined_and_may_overtake_each_other() {
    let rig = Rig::start(None).await;
    let (mut socket, _) = rig.accept().await;
    let slow = r#"{"method":"RPCServer.ListServices","params":["hang"],"id":1}"#;
    let two =
        r#"{"method":"RPCServer.Version","params":[{}],"id":2}{"method":"RPCServer.Version","params":[{}],"id":3}"#;
    let stream = format!("{slow}\n{two}");
    socket.send(Message::text("ignored")).await.unwrap();
    for piece in stream.as_bytes().chunks(7) {
        socket.send(Message::binary(piece.to_vec())).await.unwrap();
    }
    let mut ids = [answer(&mut socket).await["id"].clone(), answer(&mut socket).await["id"].clone()];
    ids.sort_by_key(Value::as_u64);
    assert_eq!(ids, [json!(2), json!(3)]);
}

#[tokio::test]
async fn a_message_full_of_requests_is_answered_a_few_at_a_time() {
    let rig = Rig::start(None).await;
    let (mut socket, _) = rig.accept().await;
    let hang = r#"{"method":"RPCServer.ListServices","params":["hang"],"id":1}"#.repeat(200);
    socket.send(Message::binary(hang.into_bytes())).await.unwrap();
    let mut begun = 0;
    while begun < 16 {
        begun += rig.fake.told().len();
        tokio::task::yield_now().await;
    }
    assert_eq!(begun, 16, "the others wait");
    assert!(rig.fake.told().is_empty());
}

#[tokio::test]
async fn all_requests_of_a_large_message_are_answered() {
    let rig = Rig::start(None).await;
    let (mut socket, _) = rig.accept().await;
    let many = r#"{"method":"RPCServer.Version","params":[{}],"id":7}"#.repeat(5_000);
    socket.send(Message::binary(many.into_bytes())).await.unwrap();
    for _ in 0..5_000 {
        assert_eq!(answer(&mut socket).await["result"], "1.2.3");
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_answered_with_that() {
    let hang = br#"{"method":"RPCServer.ListServices","params":["hang"],"id":1}"#;
    let answer = call::answer(&Fake::new(), hang, Duration::from_millis(1)).await;
    assert_eq!(answer, b"{\"id\":1,\"result\":null,\"error\":\"context deadline exceeded\"}\n");
}

#[tokio::test]
async fn a_lost_connection_is_made_again_and_shown_in_the_metrics() {
    let rig = Rig::start(None).await;
    let (mut socket, _) = rig.accept().await;
    ask(&mut socket, "Version", json!({})).await;
    let series = |fake: &Fake| String::from_utf8(fake.metrics.expose().unwrap()).unwrap();
    assert!(series(&rig.fake).contains("flux_fluxd_connection_duration_seconds{target=\"ws://127.0.0.1:"));
    drop(socket);
    let (mut again, _) = rig.accept().await;
    assert_eq!(ask(&mut again, "Version", json!({})).await["result"], "1.2.3");
    rig.stop.stop();
    rig.task.await.unwrap().unwrap();
}

/// Answers one plain HTTP request and returns it.
async fn plain(listener: &TcpListener, status: &str) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut text = String::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap();
        text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|l| l.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if read == 0 || body.len() >= length.unwrap_or(0) {
            break;
        }
    }
    let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    text
}

#[tokio::test]
async fn a_service_that_wants_no_such_daemon_any_more_ends_the_process_and_other_refusals_do_not() {
    let rig = Rig::start(None).await;
    let dial = |text: &str| text.starts_with("GET /base/v11/daemon ");
    assert!(dial(&plain(&rig.listener, "503 Service Unavailable").await));
    assert!(dial(&plain(&rig.listener, "410 Gone").await));
    let error = rig.task.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("HTTP 410") && !error.contains("t0ken"), "{error}");
}

fn event() -> Event {
    let detail = Detail::Sync { commits: Vec::new(), includes: Default::default(), errors: Vec::new(), initial: true };
    Event { ids: Vec::new(), started: jiff::Timestamp::UNIX_EPOCH, ended: jiff::Timestamp::UNIX_EPOCH, detail }
}

#[tokio::test]
async fn events_are_posted_again_until_they_are_taken_and_nobody_waits_for_that() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let fake = Fake::new();
    let settings = settings(&format!("http://{}", listener.local_addr().unwrap()), "t0ken");
    let (metrics, events) = (fake.metrics.clone(), fake.feed.events());
    let _task = scoped(async move { post::run(&settings, events, &metrics).await });
    // Announcing returns at once: there is nothing to wait for.
    fake.feed.announce(event());
    plain(&listener, "502 Bad Gateway").await;
    let request = plain(&listener, "200 OK").await;
    assert!(request.starts_with("POST /v6/events HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Scope-Probe token=t0ken\r\n"), "{request}");
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!((&body["type"], &body["metadata"]["initialSync"]), (&json!("sync"), &json!(true)));
}

#[tokio::test]
async fn an_event_that_is_never_wanted_is_lost_and_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let fake = Fake::new();
    let settings = settings(&format!("http://{}", listener.local_addr().unwrap()), "");
    let (metrics, events) = (fake.metrics.clone(), fake.feed.events());
    let _task = scoped(async move { post::run(&settings, events, &metrics).await });
    fake.feed.announce(event());
    plain(&listener, "400 Bad Request").await;
    fake.feed.announce(event());
    plain(&listener, "200 OK").await;
    let text = String::from_utf8(fake.metrics.expose().unwrap()).unwrap();
    assert!(text.contains("fluxd_upstream_events_lost_total 1"), "{text}");
}

#[tokio::test]
async fn only_the_leader_is_connected() {
    let (tell, leader) = watch::channel(Leader::Unknown);
    let rig = Rig::start(Some(leader)).await;
    let none = tokio::time::timeout(Duration::from_millis(50), rig.listener.accept()).await;
    assert!(none.is_err(), "a follower connects to nobody");
    tell.send_replace(Leader::Us);
    let (mut socket, _) = rig.accept().await;
    ask(&mut socket, "Version", json!({})).await;
    tell.send_replace(Leader::Unknown);
    while let Some(Ok(_)) = socket.next().await {}
}
