//! When a provider may ask, and when it asks again (resourceset §8.10). Functions of data and of a given moment.

mod cron;

use std::time::Duration;

use jiff::Timestamp;

use self::cron::Cron;
use crate::api::duration;

/// A schedule as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleSpec {
    /// The cron expression.
    pub cron: String,
    /// The IANA name of the zone in which it is understood; UTC when empty.
    pub time_zone: String,
    /// A Go duration: how long after a trigger the provider may still ask. Nothing is no time at all.
    pub window: String,
}

/// Why a schedule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to validate schedule[{index}]: {reason}")]
pub struct ScheduleError {
    /// Which of the schedules, from 0.
    pub index: usize,
    /// Why not.
    pub reason: String,
}

/// Why a cron expression is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
struct CronError(String);

/// The schedules of a provider; without any it may always ask.
#[derive(Clone, Debug, Default)]
pub struct Schedules {
    schedules: Vec<Schedule>,
    timeout: Duration,
}

#[derive(Clone, Debug)]
struct Schedule {
    spec: ScheduleSpec,
    cron: Cron,
    window: Duration,
}

/// The next trigger, for the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextRun {
    /// The cron expression.
    pub cron: String,
    /// Its zone.
    pub time_zone: String,
    /// Its window as a Go duration (`8h0m0s`, errata 12).
    pub window: String,
    /// When.
    pub when: Timestamp,
}

/// What follows a successful pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// After which time the next pass is due; `None` for never.
    pub after: Option<Duration>,
    /// The trigger that the next pass waits for, unless it is the interval's.
    pub next: Option<NextRun>,
}

impl Schedules {
    /// Reads schedules; `timeout` is how long one pass may take.
    ///
    /// # Errors
    /// The first that is no schedule, or whose window is shorter than two passes.
    pub fn parse(specs: &[ScheduleSpec], timeout: Duration) -> Result<Self, ScheduleError> {
        let read = |(index, spec)| Schedule::parse(spec, timeout).map_err(|reason| ScheduleError { index, reason });
        Ok(Self { schedules: specs.iter().enumerate().map(read).collect::<Result<_, _>>()?, timeout })
    }

    /// Whether a pass may begin.
    pub fn may_run(&self, now: Timestamp) -> bool {
        self.schedules.is_empty()
            || self.schedules.iter().any(|schedule| schedule.window.is_zero() || self.fits(schedule, now))
    }

    /// The earliest trigger after a moment.
    pub fn next(&self, now: Timestamp) -> Option<NextRun> {
        let next = |schedule: &Schedule| Some((schedule.cron.next(now)?, schedule.clone()));
        let (when, schedule) = self.schedules.iter().filter_map(next).min_by_key(|(when, _)| *when)?;
        let Schedule { spec, window, .. } = schedule;
        Some(NextRun { cron: spec.cron, time_zone: spec.time_zone, window: duration::format(window), when })
    }

    /// What follows a pass that succeeded: the interval, unless that ends outside of all windows or after a trigger. An
    /// interval that is none leaves the triggers.
    pub fn following(&self, now: Timestamp, interval: Option<Duration>) -> Following {
        let interval = interval.filter(|interval| !interval.is_zero());
        let Some(next) = self.next(now) else {
            return Following { after: interval, next: None };
        };
        let end = interval.and_then(|interval| now.checked_add(interval).ok());
        let by_interval = end.is_some_and(|end| {
            next.when >= end && self.schedules.iter().any(|s| !s.window.is_zero() && self.fits(s, end))
        });
        if by_interval {
            return Following { after: interval, next: None };
        }
        let after = Duration::try_from(next.when.duration_since(now)).unwrap_or_default();
        Following { after: Some(after), next: Some(next) }
    }

    /// Whether a pass that begins now ends within a schedule's window.
    fn fits(&self, schedule: &Schedule, now: Timestamp) -> bool {
        let Some(previous) = schedule.cron.previous(now) else { return false };
        match (now.checked_add(self.timeout), previous.checked_add(schedule.window)) {
            (Ok(end), Ok(closes)) => end < closes,
            _ => false,
        }
    }
}

impl Schedule {
    fn parse(spec: &ScheduleSpec, timeout: Duration) -> Result<Self, String> {
        let nanos = match spec.window.as_str() {
            "" => 0,
            text => duration::parse(text).map_err(|e| format!("failed to parse window: {e}"))?,
        };
        let window = Duration::from_nanos(nanos.unsigned_abs());
        let cron = Cron::parse(&spec.cron, &spec.time_zone).map_err(|e| {
            let zone = Some(&spec.time_zone).filter(|zone| !zone.is_empty());
            let zone = zone.map_or_else(String::new, |zone| format!(" with timezone '{zone}'"));
            format!("failed to parse cron spec '{}'{zone}: {e}", spec.cron)
        })?;
        if nanos < 0 || (nanos > 0 && window < timeout.saturating_mul(2)) {
            return Err(format!(
                "a non-zero window ({}{}) must always be at least twice the timeout ({})",
                if nanos < 0 { "-" } else { "" },
                duration::format(window),
                duration::format(timeout)
            ));
        }
        Ok(Self { spec: spec.clone(), cron, window })
    }
}

impl NextRun {
    /// The moment as the status and events show it: RFC 3339, whole seconds, UTC.
    pub fn shown(&self) -> String {
        cron::whole_seconds(self.when).to_string()
    }
}

#[cfg(test)]
mod tests;
