//! The command line of `fluxctl`: verbs and flags into calls of the client, its answers onto the terminal. Which verbs there
//! are is in `verbs`; each has a module that runs it.

mod check;
mod command_line;
mod completion;
mod globals;
mod help;
mod identity;
mod install;
mod job;
mod keyboard;
mod list;
mod ours;
mod policy;
mod problem;
mod release;
mod rset;
mod save;
mod session;
mod sync;
mod terminal;
mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use super::environment::Environment;
use super::flags::Given;
use command_line::Call;
use globals::Globals;
use problem::Problem;
use session::Session;
use terminal::{out, tell};
use verbs::{Action, Verb};

/// Runs one invocation, given the program's name and its arguments. The exit code is 1 for every failure, as in v1.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let call = match command_line::read(args.into_iter().skip(1).collect()) {
        Ok(call) => call,
        Err(bad) => return failed(&Problem::Usage(bad.text), bad.verb),
    };
    let Some(verb) = call.verb else { return ended(out(&help::of_program()).map(|()| ExitCode::SUCCESS), None) };
    ended(run(verb, &call), Some(verb))
}

fn ended(result: Result<ExitCode, Problem>, verb: Option<&'static Verb>) -> ExitCode {
    result.unwrap_or_else(|problem| failed(&problem, verb))
}

fn failed(problem: &Problem, verb: Option<&'static Verb>) -> ExitCode {
    let text = problem.text(verb.map(|verb| verb.name));
    if !text.is_empty() {
        tell(&text);
    }
    ExitCode::FAILURE
}

/// Runs a verb: those that need no daemon at once.
fn run(verb: &'static Verb, call: &Call) -> Result<ExitCode, Problem> {
    if call.given.bool("help") {
        return out(&help::of_verb(verb)).map(|()| ExitCode::SUCCESS);
    }
    let takes_arguments = matches!(verb.action, Action::Completion | Action::Custom(..) | Action::Help | Action::Trace);
    if !call.rest.is_empty() && !takes_arguments {
        return Err(Problem::Usage("expected no (non-flag) arguments".to_owned()));
    }
    let done = match verb.action {
        Action::Completion => out(&completion::script(&call.rest)?),
        Action::Group => out(&help::of_verb(verb)),
        Action::Help => help_of(&call.rest),
        Action::Install => install::run(&call.given),
        Action::Version => out(concat!(env!("CARGO_PKG_VERSION"), "\n")),
        Action::Custom(_, deed) if rset::is_offline(deed) => {
            let env = Environment::read();
            let globals = Globals::of(&call.given, &env, &mut Vec::new());
            rset::offline(&Session::new(&call.given, &call.rest, &env, globals)?)
        }
        action => return with_daemon(action, &call.given, &call.rest),
    };
    done.map(|()| ExitCode::SUCCESS)
}

fn help_of(rest: &[String]) -> Result<(), Problem> {
    let found = |name| verbs::find(name).map(|verb| rest.get(1).and_then(|word| verb.find_below(word)).unwrap_or(verb));
    match rest.first().map(|name| (name, found(name))) {
        None => out(&help::of_program()),
        Some((_, Some(verb))) => out(&help::of_verb(verb)),
        Some((name, None)) => {
            // On standard error and with success, as in v1.
            tell(&format!("Unknown help topic [`{name}`]\n{}", help::usage_of_program().trim_end()));
            Ok(())
        }
    }
}

fn with_daemon(action: Action, given: &Given, rest: &[String]) -> Result<ExitCode, Problem> {
    let (env, mut notices) = (Environment::read(), Vec::new());
    let globals = Globals::of(given, &env, &mut notices);
    notices.iter().for_each(|notice| tell(notice));
    let session = Session::new(given, rest, &env, globals)?;
    // A provider that is installed already serves as well.
    rustls::crypto::ring::default_provider().install_default().ok();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(Problem::io("starting"))?;
    let code = runtime.block_on(act(action, &session));
    // A keyboard that is still being read must not keep the process.
    runtime.shutdown_background();
    code
}

async fn act(action: Action, session: &Session<'_>) -> Result<ExitCode, Problem> {
    match action {
        Action::Automate | Action::Deautomate | Action::Lock | Action::Unlock | Action::Policy => {
            policy::run(session, action).await?;
        }
        Action::Check => check::run(session).await?,
        Action::Custom(kind, deed) => return rset::run(session, kind, deed).await,
        Action::Diff => {
            let to_do = ours::diff(session).await?;
            return Ok(ExitCode::from(u8::from(to_do && session.given.bool("exit-code"))));
        }
        Action::Events => ours::events(session).await?,
        Action::Identity => identity::run(session).await?,
        Action::ListImages => list::images(session).await?,
        Action::ListWorkloads => list::workloads(session).await?,
        Action::Pause => ours::pause(session, true).await?,
        Action::Release => release::run(session).await?,
        Action::Resume => ours::pause(session, false).await?,
        Action::Save => save::run(session).await?,
        Action::Sync => sync::run(session).await?,
        Action::Trace => ours::trace(session).await?,
        Action::Tree => ours::tree(session).await?,
        // Those need no daemon.
        Action::Completion | Action::Group | Action::Help | Action::Install | Action::Version => {}
    }
    Ok(ExitCode::SUCCESS)
}
