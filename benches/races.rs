//! Several writers to one branch: how long a change takes to land when others keep moving the head.

use std::time::{Duration, Instant};

use bytes::Bytes;
use fluxd::source::git::{self, NewCommit, PushError, Settings};
use fluxd::tree::{Entry, FileChange, Tree};

use crate::cases::Bench;
use crate::figures::{Cost, Figures, text};
use crate::rig::Repo;

/// Writers, each with a mirror of its own, as daemons of several clusters have.
const WRITERS: usize = 5;
/// Changes that each writer makes, one after the other.
const ROUNDS: usize = 200;

/// Every writer adds lines to the same file, and makes each change again until it is on the remote.
pub fn races(_: &Bench, figures: &mut Figures) {
    let remote = Repo::new();
    remote.write("all", "").push("first");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let writers = (0..WRITERS).map(|writer| write(&remote, writer));
    let start = Instant::now();
    let done = runtime.expect("a runtime without options can be built").block_on(futures::future::join_all(writers));
    let took = start.elapsed();
    let (tries, mut times): (Vec<usize>, Vec<Duration>) = done.into_iter().flatten().unzip();
    times.sort_unstable();
    let landed = remote.remote_file("master", "all").lines().collect::<std::collections::BTreeSet<_>>().len();
    let commits = remote.remote_git(&["rev-list", "--count", "master"]);
    let notes = remote.remote_git(&["notes", "--ref=flux", "list"]).lines().count();
    assert_eq!((landed, notes), (WRITERS * ROUNDS, WRITERS * ROUNDS), "every change lands with its note");
    assert_eq!(commits.trim(), (WRITERS * ROUNDS + 1).to_string(), "none lands twice");
    let at = |percent: usize| text(times[(times.len() * percent / 100).min(times.len() - 1)]);
    let each = tries.iter().sum::<usize>() as f64 / tries.len() as f64;
    figures.row(
        &format!("{WRITERS} writers, {ROUNDS} rounds, one branch"),
        &format!("p50 {}, p99 {}, longest {}", at(50), at(99), at(100)),
        &format!("all within {}", text(took)),
        &format!("{each:.1} pushes per change"),
        "none lost or doubled, p99 under 10 s",
        Cost::default(),
    );
}

/// Makes all changes of one writer; returns the pushes and the time that each needed.
async fn write(remote: &Repo, writer: usize) -> Vec<(usize, Duration)> {
    let scratch = remote.root().join(format!("writer-{writer}"));
    let env = git::forwarded(std::env::vars_os());
    let settings =
        Settings { url: remote.url(), timeout: Duration::from_secs(60), env, scratch, ..Settings::default() };
    let repo = git::Repo::new(settings);
    repo.refresh().await.expect("the remote can be read");
    let mut done = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let (start, line) = (Instant::now(), format!("{writer}-{round}"));
        let tries = land(&repo, &line).await;
        done.push((tries, start.elapsed()));
    }
    done
}

/// Makes one change on the newest head until it is pushed, as jobs of the daemon do; returns the number of pushes.
async fn land(repo: &git::Repo, line: &str) -> usize {
    let mut tries = 1;
    loop {
        let head = repo.head().await.expect("there is a branch");
        let tree = repo.tree(&head).await.expect("the head can be read");
        let text = format!("{}{line}\n", content(&tree, "all"));
        let change = FileChange::Write { bytes: Bytes::from(text), mode: None };
        let commit =
            NewCommit { files: [("all".to_owned(), change)].into(), message: format!("Add {line}"), author: None };
        let note = format!(r#"{{"jobID":"{line}","spec":{{}},"result":null}}"#);
        match repo.push_commit(&head, commit, note).await {
            Ok(_) => return tries,
            Err(PushError::Rejected(_)) => tries += 1,
            Err(error) => panic!("a push failed: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(rand::random::<u64>() % 50)).await;
        repo.refresh().await.expect("the remote can be read");
    }
}

fn content(tree: &Tree, path: &str) -> String {
    let Ok(Entry::Leaf { id, .. }) = tree.entry(path) else { panic!("{path} is a file") };
    String::from_utf8_lossy(&tree.read(path, &id).expect("its content can be read")).into_owned()
}
