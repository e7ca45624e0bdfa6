//! Leader election over a Kubernetes `Lease`: at most one of several replicas writes.
//!
//! Promise: leadership ends (and the watch channel says so) when the lease was not renewed for the renew time, which is
//! shorter than the lease's own duration; what is left between the two is the time to end writes in flight. Clocks of
//! different machines are never compared: another's lease counts as expired when *this* process has seen no change of it
//! for its duration. An own implementation because fencing by the renew time, the holder's name (followers forward to
//! it) and release after the drain are needed together.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;

use super::Stop;

/// Which lease, and as whom.
#[derive(Clone, Debug)]
pub struct ElectionSettings {
    /// The lease's namespace.
    pub namespace: String,
    /// The lease's name.
    pub name: String,
    /// This replica's unique name; the others see it, and may find in it where to reach this one.
    pub identity: String,
    /// How long a lease holds without renewal.
    pub duration: Duration,
    /// After how long without renewal the leader stops leading.
    pub renew: Duration,
    /// How often it is tried.
    pub retry: Duration,
}

impl ElectionSettings {
    /// The times of our design: 10 s, 6 s, 2 s.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            duration: Duration::from_secs(10),
            renew: Duration::from_secs(6),
            retry: Duration::from_secs(2),
        }
    }
}

/// Who leads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leadership {
    /// Whether this process does, and may write.
    pub leader: bool,
    /// The holder's identity as last seen.
    pub holder: Option<String>,
}

/// Takes part in an election.
pub struct Election {
    settings: ElectionSettings,
    api: Api<Lease>,
    tell: watch::Sender<Leadership>,
    /// The lease's spec as last seen, and when it was first seen so.
    seen: Option<(LeaseSpec, Instant)>,
    /// When the last successful renewal was *begun*.
    renewed: Option<Instant>,
}

/// What to do about the lease as it is.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Renew,
    Take,
    Follow,
}

impl Election {
    /// Prepares to take part; nothing is sent before [`Election::run`].
    pub fn new(client: Client, settings: ElectionSettings) -> (Self, watch::Receiver<Leadership>) {
        let (tell, hear) = watch::channel(Leadership::default());
        let api = Api::namespaced(client, &settings.namespace);
        (Self { settings, api, tell, seen: None, renewed: None }, hear)
    }

    /// Takes part until `release` stops, then gives the lease back if it is ours. Stop it only after every writer has
    /// ended: it is not the process's own stop.
    pub async fn run(mut self, release: Stop) {
        loop {
            let begun = Instant::now();
            match tokio::time::timeout(self.time_left(begun), self.attempt()).await {
                Ok(Ok(leads)) => self.renewed = if leads { Some(begun) } else { None },
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {
                    tracing::debug!("the lease was changed by another at the same time");
                }
                Ok(Err(error)) => tracing::warn!(lease = self.settings.name, %error, "lease not renewed"),
                Err(_) => tracing::warn!(lease = self.settings.name, "lease not renewed in time"),
            }
            self.publish(Instant::now());
            if release.or(tokio::time::sleep(self.settings.retry.min(self.time_left(Instant::now())))).await.is_none() {
                break;
            }
            self.publish(Instant::now());
        }
        self.give_back().await;
    }

    /// The bound of one attempt: the retry time, and as leader no longer than leadership lasts.
    fn time_left(&self, now: Instant) -> Duration {
        let limit = self.settings.renew.min(self.settings.retry * 2);
        let Some(renewed) = self.renewed else { return limit };
        (renewed + self.settings.renew).saturating_duration_since(now).clamp(Duration::from_millis(10), limit)
    }

    fn publish(&mut self, now: Instant) {
        let leader = self.renewed.is_some_and(|renewed| now.duration_since(renewed) < self.settings.renew);
        if !leader {
            self.renewed = None;
        }
        let holder = self.seen.as_ref().and_then(|(spec, _)| spec.holder_identity.clone()).filter(|h| !h.is_empty());
        let told = Leadership { leader, holder };
        self.tell.send_if_modified(|current| {
            let changed = *current != told;
            if current.leader != leader {
                tracing::info!(lease = self.settings.name, leader, "leadership changed");
            }
            *current = told;
            changed
        });
    }

    /// Reads the lease and creates, renews or takes it where it may. Returns whether it is ours now.
    async fn attempt(&mut self) -> Result<bool, kube::Error> {
        let Some(mut lease) = self.api.get_opt(&self.settings.name).await? else {
            let metadata = ObjectMeta { name: Some(self.settings.name.clone()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.spec(None)) };
            let made = self.api.create(&PostParams::default(), &lease).await?;
            self.look(made.spec.unwrap_or_default());
            return Ok(true);
        };
        let spec = lease.spec.take().unwrap_or_default();
        self.look(spec.clone());
        if self.decide(&spec, Instant::now()) == Step::Follow {
            return Ok(false);
        }
        lease.spec = Some(self.spec(Some(&spec)));
        // The read object carries its resourceVersion: a write in between makes this fail with 409.
        let written = self.api.replace(&self.settings.name, &PostParams::default(), &lease).await?;
        self.look(written.spec.unwrap_or_default());
        Ok(true)
    }

    fn look(&mut self, spec: LeaseSpec) {
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != spec) {
            self.seen = Some((spec, Instant::now()));
        }
    }

    fn decide(&self, spec: &LeaseSpec, now: Instant) -> Step {
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let duration =
            Duration::from_secs(spec.lease_duration_seconds.unwrap_or_default().max(0).unsigned_abs().into());
        let unchanged_since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        if holder == self.settings.identity {
            Step::Renew
        } else if holder.is_empty() || now.duration_since(unchanged_since) > duration {
            Step::Take
        } else {
            Step::Follow
        }
    }

    /// The spec that makes the lease ours; `before` is what it was.
    fn spec(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(jiff::Timestamp::now());
        let ours = before.filter(|b| b.holder_identity.as_deref() == Some(&self.settings.identity));
        let transitions = before.and_then(|b| b.lease_transitions).unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(self.settings.identity.clone()),
            lease_duration_seconds: i32::try_from(self.settings.duration.as_secs()).ok(),
            acquire_time: ours.and_then(|b| b.acquire_time.clone()).or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(if ours.is_some() || before.is_none() { transitions } else { transitions + 1 }),
            ..LeaseSpec::default()
        }
    }

    /// Lets another replica take over at once.
    async fn give_back(&mut self) {
        let held = self.renewed.take().is_some();
        self.publish(Instant::now());
        if !held {
            return;
        }
        let released = async {
            let mut lease = self.api.get(&self.settings.name).await?;
            let spec = lease.spec.get_or_insert_default();
            if spec.holder_identity.as_deref() == Some(&self.settings.identity) {
                spec.holder_identity = None;
                spec.lease_duration_seconds = Some(1);
                self.api.replace(&self.settings.name, &PostParams::default(), &lease).await?;
            }
            Ok::<_, kube::Error>(())
        };
        match tokio::time::timeout(self.settings.retry, released).await {
            Ok(Ok(())) => tracing::info!(lease = self.settings.name, "lease released"),
            Ok(Err(error)) => tracing::warn!(lease = self.settings.name, %error, "lease not released"),
            Err(_) => tracing::warn!(lease = self.settings.name, "lease not released in time"),
        }
    }
}

#[cfg(test)]
mod tests;
