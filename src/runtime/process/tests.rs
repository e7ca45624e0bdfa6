//! Real children of `/bin/sh` that fork, flood, ignore signals, never end or leave others behind.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

fn sh(script: &str) -> Command {
    let path = BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]);
    Command::new("/bin/sh").args(["-c", script]).env(Env::Exactly(path)).timeout(LONG).grace(Duration::from_millis(200))
}

async fn run(command: Command) -> Result<Output, ProcessError> {
    become_subreaper().unwrap();
    command.run(&Stop::new()).await
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// A process is gone when it has no entry, or only that of a zombie which its reaper has not met yet.
fn is_gone(pid: &str) -> bool {
    pid.parse().ok().and_then(descendants::read).is_none_or(|p| p.zombie)
}

#[tokio::test]
async fn output_status_input_and_directory_are_the_commands_own() {
    let command = sh("cat; pwd; echo oops >&2; exit 3").stdin("hello\n").cwd("/usr");
    let output = run(command).await.unwrap();
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("hello\n/usr", "oops"));
    assert_eq!(output.status.to_string(), "exit status 3");
    let killed = run(sh("kill -9 $$")).await.unwrap();
    assert_eq!(killed.status.to_string(), "signal: killed");
}

#[tokio::test]
async fn the_environment_is_exactly_the_one_given() {
    let env = BTreeMap::from([("ONLY".into(), "this".into())]);
    let output = run(Command::new("/usr/bin/env").env(Env::Exactly(env))).await.unwrap();
    assert_eq!(text(&output.stdout), "ONLY=this");
}

#[tokio::test]
async fn combined_output_keeps_the_order_of_writing() {
    let output = run(sh("echo a; echo b >&2; echo c").combine_stderr()).await.unwrap();
    assert_eq!((text(&output.stdout).as_str(), output.stderr.len()), ("a\nb\nc", 0));
}

#[tokio::test]
async fn a_missing_program_is_an_error_that_names_it() {
    let error = run(Command::new("/no/such/program")).await.unwrap_err();
    assert!(error.to_string().starts_with("starting /no/such/program: No such file"), "{error}");
}

#[tokio::test]
async fn input_that_nobody_reads_is_no_error() {
    let output = run(sh("exit 0").stdin(vec![b'x'; 1 << 20])).await.unwrap();
    assert!(output.status.success());
}

#[tokio::test]
async fn a_flood_on_stdout_ends_the_command() {
    let error = run(sh("yes").stdout_limit(1 << 20)).await.unwrap_err();
    assert_eq!(error.to_string(), "/bin/sh wrote more than 1048576 bytes to standard output and was ended");
}

#[tokio::test]
async fn a_flood_on_stderr_keeps_its_end_and_blocks_nobody() {
    let output = run(sh("seq 1 200000 >&2; echo done").stderr_limit(14)).await.unwrap();
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("done", "199999\n200000"));
    assert!(output.stderr_truncated);
}

#[tokio::test]
async fn a_command_that_never_ends_is_ended_at_its_deadline() {
    let error = run(sh("echo started >&2; sleep 1000").timeout(SHORT)).await.unwrap_err();
    let ProcessError::TimedOut { stderr, .. } = &error else { panic!("{error}") };
    assert_eq!(text(stderr), "started");
    assert_eq!(error.to_string(), "/bin/sh did not end within 300ms and was ended");
}

#[tokio::test]
async fn a_command_deaf_to_sigterm_is_killed_with_all_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; (trap '' TERM; echo $$ > one; exec sleep 1000) & setsid sh -c 'echo $$ > two; exec sleep 1000' & \
                  while :; do sleep 1000; done";
    let error = run(sh(script).cwd(dir.path()).timeout(Duration::from_secs(2))).await.unwrap_err();
    assert!(matches!(error, ProcessError::TimedOut { .. }));
    let two = std::fs::read_to_string(dir.path().join("two")).unwrap();
    assert!(is_gone(two.trim()), "the grandchild in a session of its own still runs");
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended() {
    let output = run(sh("sleep 1000 >/dev/null 2>&1 & echo $!").grace(SHORT)).await.unwrap();
    assert!(is_gone(&text(&output.stdout)));
}

#[tokio::test]
async fn an_orphan_that_hides_its_origin_is_ended_once_no_older_command_runs() {
    // Forked twice into a session of its own: neither parent nor group nor session tells where it came from.
    let output = run(sh("setsid sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!' & wait").grace(SHORT)).await.unwrap();
    let pid = text(&output.stdout);
    assert!(!pid.is_empty());
    while !is_gone(&pid) {
        run(sh("true")).await.unwrap();
    }
}

#[tokio::test]
async fn output_that_is_still_held_open_after_the_grace_time_is_no_whole_output() {
    let error = run(sh("(sleep 1000; echo late) & echo early").grace(SHORT)).await.unwrap_err();
    assert!(error.to_string().contains("holds its output open"), "{error}");
}

#[tokio::test]
async fn output_written_after_the_programs_own_end_is_read() {
    let output = run(sh("(sleep 0.05; echo late) &").grace(LONG)).await.unwrap();
    assert_eq!(text(&output.stdout), "late");
}

#[tokio::test]
async fn a_stop_ends_a_running_command() {
    become_subreaper().unwrap();
    let stop = Stop::new();
    let (command, other) = (sh("sleep 1000"), stop.clone());
    let (result, ()) = tokio::join!(command.run(&stop), async move { other.stop() });
    assert!(matches!(result, Err(ProcessError::Stopped { .. })));
    assert!(matches!(sh("true").run(&stop).await, Err(ProcessError::Stopped { .. })));
}

#[tokio::test]
async fn a_dropped_run_takes_its_processes_along() {
    become_subreaper().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let command = sh("sleep 1000 & echo $! > new; mv new pids; wait").cwd(dir.path());
    let stop = Stop::new();
    tokio::select! {
        _ = command.run(&stop) => panic!("it never ends"),
        () = async { while !pids.exists() { tokio::task::yield_now().await } } => {}
    }
    let pid = std::fs::read_to_string(pids).unwrap();
    while !is_gone(pid.trim()) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn limits_hold_for_the_program_and_what_it_starts() {
    let limits = Rlimits { open_files: Some(64), core: Some(0), file_size: Some(4096), cpu_seconds: Some(5) };
    let script = "sleep 0.1; sh -c 'ulimit -n; ulimit -c; ulimit -f; ulimit -t'";
    let output = run(sh(script).limits(limits)).await.unwrap();
    assert_eq!(text(&output.stdout), "64\n0\n8\n5");
}

#[tokio::test]
async fn many_commands_at_once_do_not_take_each_others_children() {
    become_subreaper().unwrap();
    let stop = Stop::new();
    let runs = (0..20).map(|n| sh(&format!("(true &) ; sh -c 'exit {n}'")).run(&stop));
    for (n, output) in futures::future::join_all(runs).await.into_iter().enumerate() {
        assert_eq!(output.unwrap().status, Status::Code(i32::try_from(n).unwrap()));
    }
}
