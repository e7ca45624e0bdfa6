//! `--connect` of the built program, against a double that plays the service.

use crate::rig::{ControlPlane, Fluxd, Repo, eventually, eventually_async};
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

const TOKEN: &str = "upstr3am-t0ken";

/// What the service is told, and how it answers.
#[derive(Debug, Default)]
struct Desk {
    events: Vec<Value>,
    /// Posts that are answered 503 before one is taken.
    unwell: usize,
    /// Whether no daemon is served any more.
    gone: bool,
    sockets: Vec<WebSocketStream<TcpStream>>,
}

type Shared = Arc<Mutex<Desk>>;

async fn service(listener: TcpListener, desk: Shared) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, desk.clone()));
    }
}

async fn serve(mut stream: TcpStream, desk: Shared) {
    let mut head = [0; 8];
    let count = stream.peek(&mut head).await.unwrap_or_default();
    if head[..count].starts_with(b"POST") {
        return event(stream, &desk).await;
    }
    if desk.lock().unwrap().gone {
        // The head is read, so that closing does not reset the connection before the answer is seen.
        let mut request = [0; 4096];
        let _read = stream.read(&mut request).await.unwrap_or_default();
        stream.write_all(b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.ok();
        return;
    }
    #[allow(clippy::result_large_err, reason = "the library's own signature")]
    let look = |request: &Request, response: Response| {
        assert_eq!(request.uri(), "/base/v11/daemon");
        assert_eq!(request.headers()["authorization"], format!("Scope-Probe token={TOKEN}"));
        assert_eq!(request.headers()["user-agent"], concat!("fluxd/", env!("CARGO_PKG_VERSION")));
        Ok(response)
    };
    if let Ok(socket) = accept_hdr_async(stream, look).await {
        desk.lock().unwrap().sockets.push(socket);
    }
}

/// Takes one posted event.
async fn event(mut stream: TcpStream, desk: &Shared) {
    let (mut text, mut piece) = (String::new(), [0; 16 << 10]);
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        text.push_str(&String::from_utf8_lossy(&piece[..count]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let Ok(event) = serde_json::from_str(body) else { continue };
        assert!(head.starts_with("POST /base/v6/events HTTP/1.1") && head.contains(TOKEN), "{head}");
        let status = {
            let mut desk = desk.lock().unwrap();
            match desk.unwell.checked_sub(1) {
                Some(left) => {
                    desk.unwell = left;
                    "503 Service Unavailable"
                }
                None => {
                    desk.events.push(event);
                    "200 OK"
                }
            }
        };
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.ok();
        return;
    }
}

async fn ask(socket: &mut WebSocketStream<TcpStream>, method: &str, argument: Value) -> Value {
    let request = json!({"method": format!("RPCServer.{method}"), "params": [argument], "id": 7});
    socket.send(Message::binary(request.to_string().into_bytes())).await.unwrap();
    loop {
        if let Message::Binary(bytes) = socket.next().await.unwrap().unwrap() {
            return serde_json::from_slice(&bytes).unwrap();
        }
    }
}

async fn connected(desk: &Shared) -> WebSocketStream<TcpStream> {
    eventually_async("fluxd connects", || async { desk.lock().unwrap().sockets.pop() }).await
}

async fn told(desk: &Shared, kind: &str) -> Value {
    let find = || async { desk.lock().unwrap().events.iter().find(|event| event["type"] == kind).cloned() };
    eventually_async(&format!("the service is told of a {kind}"), find).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_calls_the_daemon_is_told_what_happens_and_can_send_it_away_for_good() {
    let plane = ControlPlane::shared();
    let namespace = plane.namespace("upstream");
    let repo = Repo::new();
    repo.write(
        "web.yaml",
        &format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: {namespace}\nspec:\n  replicas: 0\n  \
             selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      \
             containers:\n      - {{name: main, image: example.org/web:1}}\n"
        ),
    );
    repo.push("first");
    let desk = Shared::default();
    desk.lock().unwrap().unwell = 2;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("--connect=ws://{}/base", listener.local_addr().unwrap());
    tokio::spawn(service(listener, desk.clone()));
    let flags = [address.as_str(), &format!("--token={TOKEN}"), "--sync-interval=1h", "--registry-disable-scanning"];
    let mut fluxd = Fluxd::against(plane).git(&repo).args(&flags).start();

    let mut socket = connected(&desk).await;
    eventually("the commit is synced", || (repo.remote_ref("flux-sync") == repo.remote_ref("master")).then_some(()));
    let first = told(&desk, "sync").await;
    assert_eq!(first["metadata"]["initialSync"], true, "{first}");
    assert_eq!(ask(&mut socket, "Version", json!({})).await["result"], env!("CARGO_PKG_VERSION"));
    let listed = ask(&mut socket, "ListServices", json!(namespace)).await;
    let id = format!("{namespace}:deployment/web");
    assert_eq!(listed["result"]["Result"][0]["ID"], *id, "{listed}");
    let unknown = ask(&mut socket, "JobStatus", json!("x")).await;
    assert_eq!(unknown["result"]["ApplicationError"]["type"], "missing", "{unknown}");
    let spec = json!({"type": "policy", "cause": {"Message": "", "User": "Ann"}, "spec": {id.as_str(): {"add": {"locked": "true"}}}});
    let job = ask(&mut socket, "UpdateManifests", spec).await["result"]["Result"].clone();
    assert!(job.is_string(), "{job}");
    let commit = told(&desk, "commit").await;
    assert_eq!(commit["serviceIDs"], json!([id]), "{commit}");

    drop(socket);
    let mut again = connected(&desk).await;
    let done = ask(&mut again, "JobStatus", job).await;
    assert_eq!(done["result"]["Result"]["StatusString"], "succeeded", "{done}");
    desk.lock().unwrap().gone = true;
    drop(again);
    assert_eq!(fluxd.wait().code(), Some(1));
    fluxd.wait_for_log(&["component=upstream", "no longer served"]);
    assert!(!fluxd.log().join("\n").contains(TOKEN), "the token is in the log");
}
