//! What the kernel knows of a process: CPU time and memory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn read(pid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// CPU time of the process itself; ended children are not counted. To the microsecond, from the scheduler's figures of
/// each of its threads.
pub fn cpu(pid: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanos = tasks.filter_map(|t| {
        let text = std::fs::read_to_string(t.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

fn status_mib(pid: u32, key: &str) -> f64 {
    let status = read(pid, "status");
    let line = status.lines().find(|l| l.starts_with(key));
    let kib: f64 = line.and_then(|l| l.split_whitespace().nth(1)).and_then(|n| n.parse().ok()).unwrap_or(0.0);
    kib / 1024.0
}

/// Resident memory now, in MiB.
pub fn rss_mib(pid: u32) -> f64 {
    status_mib(pid, "VmRSS:")
}

/// Highest resident memory so far, in MiB.
pub fn peak_mib(pid: u32) -> f64 {
    status_mib(pid, "VmHWM:")
}

/// Posts of one batch on a connection.
const BATCH: usize = 32;

/// Posts requests that are no JSON, one batch after another on one connection at a time, and counts the answers.
pub fn post_nonsense(port: u16, stop: &AtomicBool, answered: &AtomicU64) {
    let body = "{\"type\":\"image\",";
    let head =
        format!("POST /api/flux/v9/update-manifests HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    let batch = format!("{head}{body}").repeat(BATCH);
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { continue };
        drop(stream.set_read_timeout(Some(Duration::from_secs(5))));
        while !stop.load(Ordering::Relaxed) && exchange(&mut stream, &batch) {
            answered.fetch_add(BATCH as u64, Ordering::Relaxed);
        }
    }
}

/// Sends a batch and reads until as many answers have begun; `false` when the connection is over.
fn exchange(stream: &mut TcpStream, batch: &str) -> bool {
    if stream.write_all(batch.as_bytes()).is_err() {
        return false;
    }
    let mut text = Vec::new();
    let mut chunk = [0; 16_384];
    while text.windows(9).filter(|w| w == b"HTTP/1.1 ").count() < BATCH {
        match stream.read(&mut chunk) {
            Ok(n) if n > 0 => text.extend_from_slice(&chunk[..n]),
            _ => return false,
        }
    }
    true
}
