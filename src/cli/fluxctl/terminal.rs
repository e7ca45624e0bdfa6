//! What `fluxctl` prints and where: standard output, standard error, whether they are terminals, a line of progress while
//! something takes longer than a second.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::super::environment::Environment;
use super::super::flags::Given;
use super::problem::Problem;
use crate::client::show::Paint;

/// How long something takes before progress is shown, and how often it is shown anew.
const PATIENCE: Duration = Duration::from_secs(1);

/// The terminal, or what stands in for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// Whether standard output is coloured.
    pub(super) paint: Paint,
    progress: bool,
}

impl Screen {
    /// Looks at the terminal.
    pub(super) fn of(given: &Given, env: &Environment) -> Result<Self, Problem> {
        let smart = env.var("TERM").is_none_or(|term| term != "dumb");
        let paint = match given.text("color").as_str() {
            "always" => true,
            "never" => false,
            "auto" => std::io::stdout().is_terminal() && smart && env.var("NO_COLOR").is_none(),
            other => return Err(Problem::Usage(format!("--color must be auto, always or never, not {other:?}"))),
        };
        Ok(Self { paint: Paint(paint), progress: std::io::stderr().is_terminal() && smart })
    }

    /// Waits for `work`, and shows after a second that and for what.
    pub(super) async fn patient<T>(self, what: &str, work: impl Future<Output = T>) -> T {
        self.watched(work, || std::future::ready(what.to_owned())).await
    }

    /// Waits for `work`, and shows after a second what `state` says, anew every second.
    pub(super) async fn watched<T, S: Future<Output = String>>(
        self,
        work: impl Future<Output = T>,
        state: impl Fn() -> S,
    ) -> T {
        if !self.progress {
            return work.await;
        }
        let mut work = std::pin::pin!(work.fuse());
        let began = Instant::now();
        let mut ticks = interval_at(began + PATIENCE, PATIENCE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut shown = false;
        loop {
            let asked = async {
                ticks.tick().await;
                state().await
            };
            tokio::select! {
                biased;
                done = &mut work => {
                    if shown {
                        progress("");
                    }
                    return done;
                }
                text = asked => {
                    progress(&format!("{text} ({} s)", began.elapsed().as_secs()));
                    shown = true;
                }
            }
        }
    }
}

/// Replaces the line of progress.
fn progress(text: &str) {
    // Standard error is gone: there is nobody to be told.
    write!(std::io::stderr().lock(), "\r\u{1b}[2K{text}").ok();
}

/// Prints to standard output as it is.
pub(super) fn out(text: &str) -> Result<(), Problem> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        // The reader has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Err(Problem::Told),
        Err(error) => Err(Problem::io("writing to standard output")(error)),
    }
}

/// Prints a line on standard error.
pub(super) fn tell(text: &str) {
    super::super::print_error(text);
}
