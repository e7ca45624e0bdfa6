//! How a process comes to its end: signals, and the time that its parts have.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::runtime::Stop;

/// How long the parts have to end after a signal. With the release of the lease, the process ends within 10 s.
pub(super) const DRAIN: Duration = Duration::from_secs(7);

/// Why the process ends, once known.
pub(super) type Reason = Arc<OnceLock<&'static str>>;

/// The first SIGTERM or SIGINT drains, the second aborts.
pub(super) fn signals(stop: Stop, reason: Reason) -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        let mut next = async || {
            tokio::select! {
                _ = term.recv() => "terminated",
                _ = int.recv() => "interrupt",
            }
        };
        let name = next().await;
        // The first reason stands.
        reason.set(name).ok();
        stop.stop();
        next().await;
        stop.abort();
    })
}
