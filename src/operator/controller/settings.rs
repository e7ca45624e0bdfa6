//! How a controller runs: names, bounds and waits. Values only; nothing here acts.

use std::time::Duration;

use crate::report::Metrics;

use super::{Forward, Shard};

/// How a controller runs.
#[derive(Clone, Debug)]
pub struct ControllerSettings {
    /// The controller's name in metrics and logs, such as `resourceset`.
    pub name: &'static str,
    /// The field manager of its own writes, and the source component of its events.
    pub field_manager: String,
    /// The finalizer that its objects carry; without one, [`super::Reconcile::finalize`] is never called.
    pub finalizer: Option<String>,
    /// How many passes run at a time; those that wait ([`super::Pass::waiting`]) do not count.
    pub concurrency: usize,
    /// The wait before the first retry of a cause; it doubles with each.
    pub min_retry_delay: Duration,
    /// The longest wait before a retry.
    pub max_retry_delay: Duration,
    /// How far [`super::Next::AfterJittered`] strays, in percent of the interval.
    pub jitter_percentage: u8,
    /// A pass that takes longer is given up and tried again.
    pub longest_pass: Duration,
    /// How long running passes have to end once a stop is asked for.
    pub grace: Duration,
    /// Which objects are this replica's; without one, all are.
    pub shard: Option<Shard>,
    /// The namespaces to look after; empty for all.
    pub namespaces: Vec<String>,
    /// A selector of the objects to look after; empty for all.
    pub label_selector: String,
    /// Where metrics go.
    pub metrics: Option<Metrics>,
    /// Whether and where events are forwarded.
    pub forward: Option<Forward>,
}

impl ControllerSettings {
    /// The defaults of resourceset §7.10: 10 passes at a time, retries after 750 ms to 15 min, 5 % jitter. A pass may take
    /// an hour, and half a minute of grace follows a stop.
    pub fn new(name: &'static str, field_manager: impl Into<String>) -> Self {
        Self {
            name,
            field_manager: field_manager.into(),
            finalizer: None,
            concurrency: 10,
            min_retry_delay: Duration::from_millis(750),
            max_retry_delay: Duration::from_mins(15),
            jitter_percentage: 5,
            longest_pass: Duration::from_hours(1),
            grace: Duration::from_secs(30),
            shard: None,
            namespaces: Vec::new(),
            label_selector: String::new(),
            metrics: None,
            forward: None,
        }
    }
}
