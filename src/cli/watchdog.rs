//! Watches that passes get on. A pass is bounded by its deadline; one of its stages that lasts much longer hangs somewhere
//! that no deadline covers, and then the probes say so and the process is restarted from outside.

use std::time::Duration;

use crate::operator::{Handle, Progress, Stage};
use crate::runtime::{self, Stop, TaskError};
use crate::serve::Probes;

/// How often it looks.
const LOOK: Duration = Duration::from_secs(1);

/// What a stage may take beyond twice the pass's own deadline: generators are ended with a grace, writes are drained.
const SLACK: Duration = Duration::from_secs(60);

/// The name under which an overdue stage shows in readiness.
const CONDITION: &str = "watchdog";

/// Runs until stopped. `bound` is the deadline of a pass.
pub(super) async fn run(operator: Handle, probes: Probes, bound: Duration, stop: Stop) -> Result<(), TaskError> {
    let deadline = bound.saturating_mul(2) + SLACK;
    let (mut before, mut watched) = (Progress::default(), None);
    while stop.or(tokio::time::sleep(LOOK)).await.is_some() {
        let now = operator.progress();
        if now != before {
            watched = watch(&now, &probes, deadline);
            before = now;
        }
        match probes.liveness.overdue(std::time::Instant::now()).first() {
            Some(overdue) => {
                tracing::error!(err = %overdue);
                probes.readiness.wait_for(CONDITION, overdue.to_string());
            }
            None => probes.readiness.done(CONDITION),
        }
    }
    drop(watched);
    Ok(())
}

/// Times the stage of a running pass from now, as any progress shows that it lives.
fn watch(progress: &Progress, probes: &Probes, deadline: Duration) -> Option<runtime::Stage> {
    (progress.stage != Stage::Idle).then(|| probes.liveness.stage(progress.stage.as_str(), deadline))
}
