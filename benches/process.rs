//! What the kernel knows of a process: CPU time and memory.

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
