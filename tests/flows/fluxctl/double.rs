//! A daemon that answers by a script and remembers what it was asked.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Answers by path below `/api/flux` (or whole path): one after the other, the last one again and again.
pub type Script = BTreeMap<String, Vec<(u16, String)>>;

/// What was asked: `METHOD path?query body`.
pub type Asked = Arc<Mutex<Vec<String>>>;

/// A scripted daemon; it answers until the test process ends.
pub struct Double {
    url: String,
    asked: Asked,
}

/// Makes a script of paths and answers.
pub fn script(answers: &[(&str, &[(u16, &str)])]) -> Script {
    let owned = |list: &[(u16, &str)]| list.iter().map(|(code, body)| (*code, (*body).to_owned())).collect();
    answers.iter().map(|(path, list)| ((*path).to_owned(), owned(list))).collect()
}

impl Double {
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/api/flux", listener.local_addr().unwrap());
        let (asked, left) = (Asked::default(), Arc::new(Mutex::new(script)));
        let log = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (log, left) = (log.clone(), left.clone());
                std::thread::spawn(move || serve(stream, &log, &left));
            }
        });
        Self { url, asked }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Everything asked for so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Answers one request and closes the connection; a client that gives up ends it earlier.
fn serve(stream: TcpStream, log: &Asked, left: &Mutex<Script>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut line) = (Vec::new(), String::new());
    while reader.read_line(&mut line).ok()? > 2 {
        head.push(std::mem::take(&mut line).trim().to_owned());
    }
    let header = |name: &str| {
        let found = head.iter().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(found.split_once(':')?.1.trim().to_owned())
    };
    let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut request = head.first()?.split(' ');
    let (method, target) = (request.next()?, request.next()?);
    let token = header("authorization").map_or_else(String::new, |token| format!(" [{token}]"));
    let accept = header("accept").unwrap_or_default();
    log.lock()
        .unwrap()
        .push(format!("{method} {target} ({accept}){token} {}", String::from_utf8_lossy(&body)).trim().to_owned());
    let path = target.split('?').next()?;
    let (code, body) = answer(left, path);
    let kind = "Content-Type: application/json; charset=utf-8";
    let reply =
        format!("HTTP/1.1 {code} X\r\n{kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    (&stream).write_all(reply.as_bytes()).ok()
}

fn answer(left: &Mutex<Script>, path: &str) -> (u16, String) {
    let mut script = left.lock().unwrap();
    let path = if script.contains_key(path) { path } else { path.strip_prefix("/api/flux").unwrap_or(path) };
    match script.get_mut(path) {
        Some(answers) if answers.len() > 1 => answers.remove(0),
        Some(answers) => answers[0].clone(),
        None => {
            (404, r#"{"type":"missing","help":"There is nothing here.\n","error":"API endpoint not found"}"#.to_owned())
        }
    }
}
