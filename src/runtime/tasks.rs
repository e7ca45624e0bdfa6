//! The only place where tasks are started. Every task has a name; one that ends before it was asked to stops the process,
//! and the name is told. It does not restart anything: that is the supervisor's work, outside.

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::Stop;

/// How long tasks have to end after an abort.
const ABORT: Duration = Duration::from_millis(500);

/// What a task may fail with.
pub type TaskError = Box<dyn Error + Send + Sync>;

/// Why the tasks of a process did not end well.
#[derive(Debug, thiserror::Error)]
pub enum TaskFailure {
    /// A task returned although nobody had asked it to.
    #[error("task {name} ended although it should run until the process stops")]
    Ended {
        /// The task's name.
        name: &'static str,
    },
    /// A task returned an error.
    #[error("task {name} failed: {source}")]
    Failed {
        /// The task's name.
        name: &'static str,
        /// What it failed with.
        source: TaskError,
    },
    /// A task panicked: a bug in this program.
    #[error("task {name} panicked: {message}")]
    Panicked {
        /// The task's name.
        name: &'static str,
        /// The panic's message.
        message: String,
    },
    /// Tasks were still running when their time to stop was over; they were cut off.
    #[error("not stopped within {after:?}: {names}", names = names.join(", "))]
    Overdue {
        /// The names of those still running.
        names: Vec<&'static str>,
        /// How long they had.
        after: Duration,
    },
}

#[derive(Default)]
struct State {
    set: JoinSet<()>,
    running: Vec<&'static str>,
    failure: Option<TaskFailure>,
}

/// The long-running tasks of a process.
#[derive(Clone)]
pub struct Tasks {
    stop: Stop,
    state: Arc<Mutex<State>>,
}

impl Tasks {
    /// Makes an empty set of tasks under `stop`, which is pulled when one of them ends unasked.
    pub fn new(stop: Stop) -> Self {
        Self { stop, state: Arc::default() }
    }

    /// Starts a task that should run until the process stops.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = Result<(), TaskError>> + Send + 'static) {
        let (stop, state) = (self.stop.clone(), Arc::clone(&self.state));
        let mut locked = lock(&self.state);
        locked.running.push(name);
        locked.set.spawn(async move {
            let ended = AssertUnwindSafe(task).catch_unwind().await;
            let failure = match ended {
                Ok(Ok(())) if stop.is_stopped() => None,
                Ok(Ok(())) => Some(TaskFailure::Ended { name }),
                Ok(Err(source)) => Some(TaskFailure::Failed { name, source }),
                Err(panic) => Some(TaskFailure::Panicked { name, message: panic_message(panic.as_ref()) }),
            };
            let mut state = lock(&state);
            if let Some(at) = state.running.iter().position(|other| *other == name) {
                state.running.swap_remove(at);
            }
            if failure.is_some() {
                state.failure = state.failure.take().or(failure);
                stop.stop();
            }
        });
    }

    /// Waits until a stop is asked for, then gives the tasks `deadline` to end, or half a second after an abort; those
    /// that do not are cut off.
    ///
    /// # Errors
    /// The first failure of a task, or the names of those that were cut off.
    pub async fn join(self, deadline: Duration) -> Result<(), TaskFailure> {
        self.stop.stopped().await;
        let mut set = std::mem::take(&mut lock(&self.state).set);
        let all = async { while set.join_next().await.is_some() {} };
        let in_time = tokio::select! {
            () = all => true,
            () = tokio::time::sleep(deadline) => false,
            // What was aborted has only to end its children.
            () = async { self.stop.aborted().await; tokio::time::sleep(ABORT).await } => false,
        };
        let mut state = lock(&self.state);
        match state.failure.take() {
            Some(failure) => Err(failure),
            None if in_time => Ok(()),
            None => Err(TaskFailure::Overdue { names: state.running.clone(), after: deadline }),
        }
    }
}

/// A task that is cut off when its handle is dropped.
pub type Scoped<T> = AbortOnDropHandle<T>;

/// Starts a short-lived task whose owner waits for it. Prefer `futures::stream::buffer_unordered` where no task is needed.
#[allow(clippy::disallowed_methods, reason = "this is the door that the lint points to")]
pub fn scoped<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> Scoped<T> {
    AbortOnDropHandle::new(tokio::spawn(task))
}

/// Does work that must not be left half done: it goes on when whoever waits for it goes away. It has to bound itself.
///
/// # Errors
/// [`TaskFailure::Panicked`] if the work panicked; [`TaskFailure::Ended`] if the runtime went away.
#[allow(clippy::disallowed_methods, reason = "this is the door that the lint points to")]
pub async fn to_the_end<T: Send + 'static>(
    name: &'static str,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, TaskFailure> {
    tokio::spawn(work).await.map_err(|e| failure(name, e))
}

fn failure(name: &'static str, error: tokio::task::JoinError) -> TaskFailure {
    match error.try_into_panic() {
        Ok(panic) => TaskFailure::Panicked { name, message: panic_message(panic.as_ref()) },
        Err(_) => TaskFailure::Ended { name },
    }
}

/// Runs blocking or long computing work on a thread of its own.
///
/// # Errors
/// [`TaskFailure::Panicked`] if the work panicked; [`TaskFailure::Ended`] if the runtime went away.
#[allow(clippy::disallowed_methods, reason = "this is the door that the lint points to")]
pub async fn blocking<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, TaskFailure> {
    tokio::task::spawn_blocking(work).await.map_err(|e| failure(name, e))
}

/// Does short computing work whose calls nest deeper than an ordinary stack allows, on a thread of its own with a stack of
/// so many bytes, and waits for it.
///
/// # Errors
/// [`TaskFailure::Panicked`] if the work panicked; [`TaskFailure::Failed`] if there can be no more threads.
#[allow(clippy::disallowed_methods, reason = "this is the door that the lint points to")]
pub fn with_stack<T: Send>(
    name: &'static str,
    bytes: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, TaskFailure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(bytes).spawn_scoped(scope, work);
        let thread = thread.map_err(|e| TaskFailure::Failed { name, source: e.into() })?;
        thread.join().map_err(|panic| TaskFailure::Panicked { name, message: panic_message(panic.as_ref()) })
    })
}

/// A lock whose holder panicked still holds consistent data here: every critical section is a few assignments.
fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn tasks_that_end_when_asked_are_fine() {
        let stop = Stop::new();
        let tasks = Tasks::new(stop.clone());
        let heard = stop.clone();
        tasks.spawn("loop", async move {
            heard.stopped().await;
            Ok(())
        });
        stop.stop();
        assert!(tasks.join(LONG).await.is_ok());
    }

    #[tokio::test]
    async fn a_task_that_ends_unasked_stops_the_process_by_name() {
        let stop = Stop::new();
        let tasks = Tasks::new(stop.clone());
        tasks.spawn("mirror", async { Ok(()) });
        let failure = tasks.join(LONG).await.unwrap_err();
        assert!(stop.is_stopped());
        assert_eq!(failure.to_string(), "task mirror ended although it should run until the process stops");
    }

    #[tokio::test]
    async fn a_failing_task_and_a_panicking_task_tell_why() {
        for panics in [false, true] {
            let tasks = Tasks::new(Stop::new());
            tasks.spawn("loop", async move {
                assert!(!panics, "out of luck");
                Err("no disk".into())
            });
            let text = tasks.join(LONG).await.unwrap_err().to_string();
            assert_eq!(text, if panics { "task loop panicked: out of luck" } else { "task loop failed: no disk" });
        }
    }

    #[tokio::test]
    async fn an_overdue_task_is_cut_off_and_named() {
        let stop = Stop::new();
        let tasks = Tasks::new(stop.clone());
        tasks.spawn("deaf", std::future::pending());
        stop.stop();
        let text = tasks.join(Duration::from_millis(1)).await.unwrap_err().to_string();
        assert_eq!(text, "not stopped within 1ms: deaf");
    }

    #[tokio::test]
    async fn work_goes_on_to_its_end_when_nobody_waits_any_more() {
        let (go, gone) = tokio::sync::oneshot::channel::<()>();
        let (tell, told) = tokio::sync::oneshot::channel();
        let work = to_the_end("key", async move {
            gone.await.ok();
            tell.send(7).ok();
        });
        tokio::select! { biased; _ = work => panic!("it waits for the signal"), () = async {} => {} }
        go.send(()).unwrap();
        assert_eq!(told.await, Ok(7));
    }

    #[test]
    fn work_with_a_stack_of_its_own_may_nest_deeply() {
        fn depth(n: u64) -> u64 {
            let wide = std::hint::black_box([n; 64]);
            if n == 0 { 0 } else { depth(n - 1) + wide[1] / n }
        }
        assert_eq!(with_stack("deep", 64 << 20, || depth(20_000)).ok(), Some(20_000));
        let text = with_stack("deep", 1 << 20, || assert_eq!(1, 2, "odd")).unwrap_err().to_string();
        assert!(text.starts_with("task deep panicked: "), "{text}");
    }

    #[tokio::test]
    async fn blocking_work_returns_its_value_or_its_panic() {
        assert_eq!(blocking("sum", || 1 + 1).await.ok(), Some(2));
        let text = blocking("sum", || assert_eq!(1, 2, "odd")).await.unwrap_err().to_string();
        assert!(text.starts_with("task sum panicked: "), "{text}");
    }
}
