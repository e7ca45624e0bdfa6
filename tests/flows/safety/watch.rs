//! What can be seen of a running daemon from outside: the arguments of all that it starts, its log, its answers, its
//! stream of events; and the search for what must not be in there.

use crate::rig::Fluxd;
use base64::Engine as _;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Texts with where they were found.
#[derive(Debug, Default)]
pub(super) struct Evidence(BTreeMap<String, String>);

impl Evidence {
    pub(super) fn add(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.0.entry(place.into()).or_default().push_str(&text.into());
    }

    /// Panics when a secret, plain or in base64, alone or after `user:`, is in any of the texts.
    #[track_caller]
    pub(super) fn holds_none_of(&self, secrets: &[(&str, &str)]) {
        assert!(self.0.len() > 20, "{:?}", self.0.keys());
        let base64 =
            |text: &str| base64::engine::general_purpose::STANDARD.encode(text).trim_end_matches('=').to_owned();
        let mut found = Vec::new();
        for (name, secret) in secrets {
            assert!(secret.len() >= 16, "{name} is too short to be looked for");
            for form in [(*secret).to_owned(), base64(secret), base64(&format!("ann:{secret}"))] {
                let places = self.0.iter().filter(|(_, text)| text.contains(&form));
                found.extend(places.map(|(place, text)| format!("{name} in {place}: {}", around(text, &form))));
            }
        }
        assert!(found.is_empty(), "secrets were seen:\n{}", found.join("\n"));
    }
}

/// The line in which something stands.
fn around<'a>(text: &'a str, form: &str) -> &'a str {
    text.lines().find(|line| line.contains(form)).unwrap_or_default()
}

/// Looks at the arguments of all descendants of a process, again and again, until dropped; those of short-lived programs
/// are written down by wrappers that stand before them on `PATH`.
pub(super) struct Arguments {
    seen: Arc<Mutex<BTreeSet<String>>>,
    stop: Arc<AtomicBool>,
    directory: tempfile::TempDir,
}

impl Arguments {
    /// Makes the wrappers.
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let log = directory.path().join("log");
        for program in ["git", "ssh", "ssh-keygen", "gpg", "sops", "sh"] {
            let file = directory.path().join(program);
            let script = format!(
                "#!/bin/dash\nprintf '%s\\n' \"{program} $*\" >>'{}'\nPATH=${{PATH#'{}':}} exec {program} \"$@\"\n",
                log.display(),
                directory.path().display()
            );
            std::fs::write(&file, script).expect("a temporary directory is writable");
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("the file is ours");
        }
        Self { seen: Arc::default(), stop: Arc::default(), directory }
    }

    /// A `PATH` on which the wrappers come first.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("{}:{rest}", self.directory.path().display())
    }

    /// Begins to look.
    pub(super) fn watch(&self, pid: u32) {
        let (seen, stop) = (self.seen.clone(), self.stop.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for line in command_lines(pid) {
                    seen.lock().expect("never poisoned").insert(line);
                }
                std::thread::sleep(std::time::Duration::from_millis(4));
            }
        });
    }

    /// All that was seen so far, a process a line.
    pub(super) fn text(&self) -> String {
        let logged = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
        let seen = self.seen.lock().expect("never poisoned");
        logged + &seen.iter().map(|line| format!("{line}\n")).collect::<String>()
    }
}

impl Drop for Arguments {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The command lines of the descendants of a process, itself left out: its own arguments are what its user gave it.
fn command_lines(root: u32) -> Vec<String> {
    let processes: Vec<(u32, u32, PathBuf)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let pid = path.file_name()?.to_str()?.parse().ok()?;
            let status = std::fs::read_to_string(path.join("status")).ok()?;
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
            Some((pid, parent, path))
        })
        .collect();
    let mut family = BTreeSet::from([root]);
    loop {
        let before = family.len();
        family.extend(
            processes.iter().filter(|(_, parent, _)| family.contains(parent)).map(|(pid, ..)| *pid).collect::<Vec<_>>(),
        );
        if family.len() == before {
            break;
        }
    }
    // Until it runs its program, a child shows what its parent was called.
    let own = processes.iter().find(|(pid, ..)| *pid == root).and_then(|(_, _, path)| command_line(path));
    let children = processes.iter().filter(|(pid, ..)| *pid != root && family.contains(pid));
    children.filter_map(|(_, _, path)| command_line(path)).filter(|line| Some(line) != own.as_ref()).collect()
}

fn command_line(process: &Path) -> Option<String> {
    let bytes = std::fs::read(process.join("cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes).replace('\0', " ");
    (!text.trim().is_empty()).then_some(text)
}

/// Everything that the daemon tells over HTTP: each GET route of its own document, with every parameter that may open more
/// of it.
pub(super) fn answers(fluxd: &Fluxd, namespace: &str, jobs: &[String], into: &mut Evidence) {
    let document = fluxd.get("/api/fluxd/v1/openapi.json").expect("it answers").json();
    let paths = document["paths"].as_object().expect("the document has paths");
    let secret = format!("{namespace}:secret/plain");
    let queries = [
        String::new(),
        format!("?namespace={namespace}&service=%3Call%3E&id={secret}&ref=master&all=true&diff=true"),
        format!(
            "?services={namespace}:deployment/web&service={namespace}:deployment/web&id={secret}&last=true&ref=nowhere"
        ),
        jobs.first().map_or(String::new(), |job| format!("?id={job}")),
    ];
    for (path, methods) in paths {
        if methods.get("get").is_none() || path.ends_with("/events") {
            continue;
        }
        for query in &queries {
            for accept in ["application/json", "text/plain"] {
                let place = format!("{path}{query}");
                let headers = [("Accept", accept)];
                let reply = crate::rig::request(fluxd.port(), "GET", &place, &headers, "").expect("it answers");
                into.add(format!("the answer to {place}"), format!("{}\n{}\n", reply.headers, decoded(&reply.body)));
            }
        }
    }
}

/// An export is one JSON string of base64; its text is looked at too.
fn decoded(body: &str) -> String {
    let inner = serde_json::from_str::<String>(body).ok();
    let bytes = inner.and_then(|text| base64::engine::general_purpose::STANDARD.decode(text).ok());
    bytes.map_or_else(|| body.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a stream of server-sent events until the daemon ends.
pub(super) fn listen(port: u16, path: &'static str) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let into = text.clone();
    std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("the daemon is up");
        write!(stream, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
            .expect("it takes requests");
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            into.lock().expect("never poisoned").push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    });
    text
}
