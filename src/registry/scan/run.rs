//! The loop that keeps what is known up to date: takes over what is wanted, starts jobs as they are due, tells of news.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::super::Observation;
use super::super::inner::Inner;
use super::super::limiter::Urgency;
use super::Plan;
use crate::object::image::CanonicalName;
use crate::runtime::Stop;

/// How often the loop looks whether something has become due.
const LOOK: Duration = Duration::from_millis(200);
/// How often answers are written to the file.
const SAVE: Duration = Duration::from_secs(1);

impl Inner {
    /// Runs until `stop`; jobs under way are then given up, because all they know is noted already.
    pub(in super::super) async fn scan(&self, stop: &Stop) {
        let (mut plan, mut wants) = (Plan::default(), self.wants.subscribe());
        self.take_wants(&mut plan);
        let mut running = FuturesUnordered::new();
        let (mut look, mut saved, mut saving) = (interval(LOOK), Instant::now(), FuturesUnordered::new());
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = Timestamp::now();
            let stale = plan.stale(now);
            for name in &stale {
                self.make_agenda(&mut plan, name);
            }
            while let Some(job) = plan.next(now, |host, urgency| self.is_open(host, urgency)) {
                let want = plan.wanted(&job.name).cloned().unwrap_or_default();
                running.push(async move {
                    let ended = self.work(&job, &want, stop).await;
                    (job, ended)
                });
            }
            tokio::select! {
                () = stop.stopped() => break,
                // more may be stale; others have their turn in between
                () = tokio::task::yield_now(), if !stale.is_empty() => {}
                Some((job, ended)) = running.next(), if !running.is_empty() => {
                    plan.done(&job, ended.list_due);
                    if ended.news {
                        plan.note_news(&job.name);
                    }
                    self.make_agenda(&mut plan, &job.name);
                }
                Ok(()) = wants.changed() => self.take_wants(&mut plan),
                () = self.woken.notified() => self.take_notified(&mut plan),
                _ = look.tick() => {
                    // beside the jobs: a slow disk is not to hold them up
                    if saved.elapsed() >= SAVE && saving.is_empty() {
                        saving.push(self.save());
                        saved = Instant::now();
                    }
                }
                Some(()) = saving.next(), if !saving.is_empty() => {}
            }
        }
        drop(running);
        while saving.next().await.is_some() {}
        self.save().await;
    }

    fn take_wants(&self, plan: &mut Plan) {
        let wants = self.wants.borrow().clone();
        self.store.forget(|name| wants.contains_key(name), Timestamp::now());
        plan.want(wants, self.settings.poll, |name| self.store.listed(name).0);
        // names that were told before they were wanted
        self.woken.notify_one();
    }

    fn take_notified(&self, plan: &mut Plan) {
        for name in self.take_names() {
            if !plan.hurry(&name) {
                tracing::info!(component = "warmer", priority = %name, err = "no creds available");
            }
        }
    }

    fn make_agenda(&self, plan: &mut Plan, name: &CanonicalName) {
        let Some(want) = plan.wanted(name) else { return };
        let work = self.store.work(name, want, Timestamp::now());
        if plan.set_agenda(name, work.agenda, work.again) {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// A host that wants to be left alone is; one that was overburdened lately is asked only what somebody waits for.
    fn is_open(&self, host: &str, urgency: Urgency) -> bool {
        let strained = urgency == Urgency::Background && self.wire.limiter.is_strained(host);
        !strained && self.wire.limiter.paused(host).is_none()
    }

    async fn save(&self) {
        let begun = std::time::Instant::now();
        if let Some(success) = self.store.save().await {
            self.observe(Observation::CacheSet, begun, success);
        }
    }
}
