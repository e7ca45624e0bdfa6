//! The smallest HTTP client: one request, one connection, the whole answer as text. Enough to look at the daemon from
//! any test, asynchronous or not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The header lines as sent.
    pub headers: String,
    /// The body.
    pub body: String,
}

impl Reply {
    /// Reads the body as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.body))
    }
}

/// Sends one HTTP/1.0 request (so that nothing comes back in chunks) to a port on loopback; nothing when it could not
/// be sent or answered.
pub fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let mut text = format!("{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{text}\r\n{body}").as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    Some(Reply { status, headers: head.to_owned(), body: body.to_owned() })
}
