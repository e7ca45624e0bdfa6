//! What a process has started, as `/proc` tells it: its children and theirs, and whoever is in its process group or
//! session. Signals go through pid file descriptors, so a pid that was given to another process meanwhile is never hit.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// One line of `/proc/PID/stat`, as far as it is needed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Clock ticks since boot; with the pid it identifies a process.
    pub(super) start: u64,
    pub(super) zombie: bool,
}

/// Reads all processes that can be seen; those that end meanwhile are left out.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(read).collect()
}

/// Reads the children of this process. The kernel's own list is asked first, because looking at every process once a
/// second would cost more than all else that an idle daemon does.
pub(super) fn children(own: i32) -> Vec<Process> {
    let listed = || -> Option<Vec<Process>> {
        let mut pids = Vec::new();
        for task in fs::read_dir("/proc/self/task").ok()?.flatten() {
            match fs::read_to_string(task.path().join("children")) {
                Ok(text) => pids.extend(text.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok())),
                Err(_) if task.path().exists() => return None,
                Err(_) => {}
            }
        }
        Some(pids.into_iter().filter_map(read).collect())
    };
    listed().unwrap_or_else(|| all().into_iter().filter(|p| p.parent == own).collect())
}

/// Reads one process.
pub(super) fn read(pid: i32) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The command's name stands in parentheses and may contain anything, so the fields are counted after the last one.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        start: fields.get(19)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// Selects the living descendants of `leader` from `all`, without itself: by parent, process group and session.
pub(super) fn of(leader: i32, all: &[Process]) -> Vec<Process> {
    let mut found = BTreeSet::from([leader]);
    loop {
        let before = found.len();
        found.extend(
            all.iter()
                .filter(|p| found.contains(&p.parent) || found.contains(&p.group) || found.contains(&p.session))
                .map(|p| p.pid)
                .collect::<Vec<_>>(),
        );
        if found.len() == before {
            break;
        }
    }
    all.iter().filter(|p| p.pid != leader && !p.zombie && found.contains(&p.pid)).copied().collect()
}

/// Sends a signal to exactly this process. One that has ended already is left in peace.
pub(super) fn signal(process: Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    if read(process.pid).is_some_and(|now| now.start == process.start)
        && let Err(error) = pidfd_send_signal(handle, signal)
    {
        // It has ended (wanted), or changed to a user that we may not signal (then nothing can be done).
        tracing::trace!(pid = process.pid, %error, "signal not delivered");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_line_is_read_whatever_the_name() {
        let line = "7 (a) b ) S 3 5 4 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 1234 99 9";
        let expected = Process { pid: 7, parent: 3, group: 5, session: 4, start: 1234, zombie: false };
        assert_eq!(parse(7, line), Some(expected));
        assert!(parse(7, &line.replace(" S ", " Z ")).is_some_and(|p| p.zombie));
        assert_eq!(parse(7, "7 (a"), None);
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(all().iter().any(|p| p.pid == own));
    }

    #[test]
    fn descendants_are_found_by_parent_group_and_session() {
        let p = |pid, parent, group, session| Process { pid, parent, group, session, start: 0, zombie: false };
        let all =
            [p(10, 1, 10, 1), p(11, 10, 10, 1), p(12, 11, 12, 12), p(13, 1, 10, 1), p(14, 1, 14, 12), p(20, 1, 20, 1)];
        let found: Vec<i32> = of(10, &all).iter().map(|p| p.pid).collect();
        assert_eq!(found, [11, 12, 13, 14]);
    }
}
