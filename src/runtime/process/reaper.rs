//! Orphans: what a command left behind comes to this process when it is the subreaper. They are ended and reaped here,
//! without ever waiting for a child that someone else waits for.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, set_child_subreaper, waitpid};
use tokio::signal::unix::{SignalKind, signal};

use super::descendants::{self, Process};
use crate::runtime::Stop;

/// The commands running now: pid and start time. Process-wide because pids are. The lock is held while a program is
/// being started, so no sweep sees a child that is not yet listed.
static RUNNING: Mutex<BTreeMap<i32, u64>> = Mutex::new(BTreeMap::new());

pub(super) fn running() -> MutexGuard<'static, BTreeMap<i32, u64>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes this process the parent of all orphans among its descendants. Called once at start.
///
/// # Errors
/// What the system says; commands still run then, but what leaves its process group can escape.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Reaps orphans as they end, until `stop` stops.
///
/// # Errors
/// If the signal handler cannot be installed.
pub async fn reap_orphans(stop: Stop) -> io::Result<()> {
    let mut ended = signal(SignalKind::child())?;
    while stop.or(ended.recv()).await.flatten().is_some() {
        sweep();
        // One sweep serves many signals.
        if stop.or(tokio::time::sleep(Duration::from_secs(1))).await.is_none() {
            break;
        }
        sweep();
    }
    Ok(())
}

/// Reaps dead orphans and ends those that belong to no running command. Returns whether living ones remain.
///
/// An orphan is a child of this process that no door here started and that is in another process group: programs that a
/// library starts (a kubeconfig's credential plugin) share ours and are waited for by that library. An orphan older than
/// every running command was left by a finished one.
pub(super) fn sweep() -> bool {
    let own = getpid().as_raw_nonzero().get();
    // Read rather than asked for: as process 1 of a new namespace the group is 0, which the library takes for impossible.
    let Some(group) = descendants::read(own).map(|p| p.group) else { return false };
    let running = running();
    let orphans = descendants::children(own)
        .into_iter()
        .filter(|p| p.parent == own && p.group != group && !running.contains_key(&p.pid))
        .collect::<Vec<Process>>();
    let mut left = false;
    for orphan in orphans {
        if orphan.zombie {
            // Nobody wants its status, and being gone already is fine.
            waitpid(Pid::from_raw(orphan.pid), WaitOptions::NOHANG).ok();
        } else if running.values().all(|start| orphan.start < *start) {
            descendants::signal(orphan, Signal::KILL);
            left = true;
        }
    }
    left
}
