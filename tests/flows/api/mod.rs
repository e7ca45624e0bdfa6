//! The HTTP API of the built program beyond what fluxctl uses of it: who is let in, TLS, plans and traces, streams of events,
//! webhooks, and the upstream service.

mod access;
mod reads;
mod receivers;
mod tls;
mod upstream;

use crate::rig::{DEADLINE, Fluxd};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// A stream of server-sent events.
struct News {
    stream: TcpStream,
    text: String,
}

impl News {
    /// Asks for one, with further header lines.
    #[track_caller]
    fn open(fluxd: &Fluxd, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", fluxd.port())).expect("fluxd listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout can be set");
        let request = format!("GET {path} HTTP/1.0\r\nHost: x\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).expect("fluxd reads");
        Self { stream, text: String::new() }
    }

    /// Reads on until it has told this, and gives all that was told.
    #[track_caller]
    fn until(&mut self, part: &str) -> String {
        let mut piece = [0; 4096];
        while !self.text.contains(part) {
            let count = self.stream.read(&mut piece).expect("news come in time");
            assert!(count > 0, "ended without {part:?}: {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        self.text.clone()
    }

    /// Reads to the end.
    #[track_caller]
    fn rest(mut self) -> String {
        self.stream.read_to_string(&mut self.text).expect("the stream ends in time");
        self.text
    }
}
