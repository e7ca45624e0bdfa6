//! A double of the upstream service (fluxd-v1 §8.6): it asks for a token, takes the websocket and the events, and keeps
//! what it was sent.

use std::sync::{Arc, Mutex, mpsc};
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

/// The service.
#[derive(Debug)]
pub(super) struct Upstream {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    welcomed: usize,
    text: String,
}

impl Upstream {
    /// Starts one that lets a token in, for websockets and for events, and nobody else.
    pub(super) fn start(token: &str) -> Self {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let expected = format!("Scope-Probe token={token}");
        let (tell, port) = mpsc::channel();
        let state = seen.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let socket = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("loopback has free ports");
                tell.send(socket.local_addr().expect("it is bound").port()).expect("the starter waits");
                while let Ok((stream, _)) = socket.accept().await {
                    tokio::spawn(serve(stream, expected.clone(), state.clone()));
                }
            });
        });
        Self { port: port.recv().expect("it starts"), seen }
    }

    /// What `--connect` is given.
    pub(super) fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    /// How often the token was right.
    pub(super) fn welcomed(&self) -> usize {
        self.seen.lock().expect("never poisoned").welcomed
    }

    /// All that was sent to it, but the token itself.
    pub(super) fn text(&self) -> String {
        self.seen.lock().expect("never poisoned").text.clone()
    }
}

async fn serve(stream: tokio::net::TcpStream, expected: String, seen: Arc<Mutex<Seen>>) {
    let mut head = [0; 2048];
    let count = stream.peek(&mut head).await.unwrap_or_default();
    if head[..count].starts_with(b"POST") {
        return events(stream, &expected, &seen).await;
    }
    #[expect(clippy::result_large_err, reason = "the library's own type")]
    let check = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        let given = request.headers().get("Authorization").and_then(|value| value.to_str().ok());
        if given != Some(expected.as_str()) {
            return Err(ErrorResponse::new(Some("no".to_owned())));
        }
        seen.lock().expect("never poisoned").welcomed += 1;
        Ok(response)
    };
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, check).await else { return };
    while let Some(Ok(message)) = futures::StreamExt::next(&mut socket).await {
        let text = String::from_utf8_lossy(&message.into_data()).into_owned();
        seen.lock().expect("never poisoned").text.push_str(&text);
    }
}

/// Takes posted events: one request a connection is enough for a double.
async fn events(mut stream: tokio::net::TcpStream, expected: &str, seen: &Mutex<Seen>) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut text = String::new();
    let mut buffer = [0; 16384];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        if complete(&text) {
            let welcome = text.contains(expected);
            let status = if welcome { "200 OK" } else { "401 Unauthorized" };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.ok();
            let mut seen = seen.lock().expect("never poisoned");
            seen.welcomed += usize::from(welcome);
            seen.text.push_str(&text.replace(expected, "(the token)"));
            return;
        }
    }
}

fn complete(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let lengths = head.lines().filter_map(|line| line.split_once(": "));
    let length =
        lengths.filter(|(key, _)| key.eq_ignore_ascii_case("content-length")).find_map(|(_, v)| v.trim().parse().ok());
    body.len() >= length.unwrap_or(0usize)
}
