//! Commands that fail, and commands that misbehave.

use super::*;

async fn error_of(line: &str) -> String {
    let flux = generators(&["echo 'kind: C'", line]);
    load(&["app"], &[("app/.flux.yaml", &flux)]).await.expect_err(line).to_string()
}

#[tokio::test]
async fn a_failing_command_is_told_in_the_layout_of_flux_v1() {
    let line = "echo secret; echo 'no such base' >&2; exit 3";
    let want = format!(
        "error executing generator command \"{line}\" from file \".flux.yaml\": exit status 3\n\
         error output:\nno such base\n\ngenerated output:\nno such base\n(in \"app/.flux.yaml\")"
    );
    assert_eq!(error_of(line).await, want);
    assert!(error_of("kill -9 $$").await.contains(": signal: killed\n"));
    assert!(error_of("no-such-program").await.contains(": exit status 127\nerror output:\n"));
}

#[tokio::test]
async fn output_that_is_no_yaml_fails_the_load() {
    let error = error_of("echo 'a: ['").await;
    assert!(error.starts_with("scanning multidoc from \"app/.flux.yaml\": yaml: line "), "{error}");
}

/// One second is the least time that a `.flux.yaml` can give.
fn timed(line: &str) -> String {
    let commands = serde_json::json!([{"command": line, "timeout": "1s"}]);
    serde_json::json!({"version": 1, "commandUpdated": {"generators": commands}}).to_string()
}

#[tokio::test]
async fn a_command_that_never_ends_is_ended_with_all_it_started() {
    crate::runtime::process::become_subreaper().unwrap();
    let dir = tempfile::tempdir().unwrap();
    for line in [
        "sleep 1000",
        "trap '' TERM; sleep 1000 & echo $! > PIDS; wait",
        "(setsid sleep 1000 & echo $! > PIDS); sleep 1000",
    ] {
        let pids = dir.path().join("pids");
        let flux = timed(&format!("echo why >&2; {}", line.replace("PIDS", &pids.display().to_string())));
        let error = load(&[], &[(".flux.yaml", &flux)]).await.expect_err(line).to_string();
        assert!(error.contains("\": context deadline exceeded: ended after 1s with all it had started\n"), "{error}");
        assert!(error.contains("error output:\nwhy\n"), "{error}");
        if let Ok(pid) = std::fs::read_to_string(&pids) {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
            assert!(stat.is_empty() || stat.contains(") Z "), "{line} left process {pid} running: {stat}");
        }
    }
}

#[tokio::test]
async fn a_flood_of_output_ends_in_an_error() {
    let error = error_of("yes 'kind: C'").await;
    assert!(error.contains("wrote more than 67108864 bytes to standard output and was ended"), "{error}");
}

#[tokio::test]
async fn a_flood_of_errors_is_cut_to_its_end() {
    let error = error_of("head -c 1000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 1").await;
    assert!(error.len() < 200_000 && error.contains("the end\n"), "{} bytes", error.len());
}

#[tokio::test]
async fn a_command_that_reads_its_input_gets_none() {
    let loaded = load(&[], &[(".flux.yaml", &generators(&["cat; echo 'kind: C'"]))]).await.unwrap();
    assert_eq!(loaded.objects.len(), 1);
}

#[tokio::test]
async fn a_stop_ends_commands_and_the_load() {
    let stop = Stop::new();
    let marker = tempfile::tempdir().unwrap();
    let started = marker.path().join("started");
    let flux = generators(&[&format!("touch {}; sleep 1000", started.display())]);
    let generator = Generator::new(settings(&[]));
    let tree = tree("1", &[(".flux.yaml", &flux)]);
    let stopper = async {
        while !started.exists() {
            tokio::task::yield_now().await;
        }
        stop.stop();
    };
    let (export, _) = export();
    let (loaded, ()) = tokio::join!(generator.load(&tree, &export, false, &stop), stopper);
    assert_eq!(loaded.unwrap_err(), Error::Stopped);
}

#[tokio::test]
async fn one_failing_generator_fails_the_load_unless_errors_are_skipped() {
    let (good, bad, a) = (generators(&["echo 'kind: C'"]), generators(&["exit 1"]), config_map("a"));
    let files =
        [("good/.flux.yaml", good.as_str()), ("bad/.flux.yaml", &bad), ("raw/a.yaml", &a), ("raw/b.yaml", "a: [")];
    let paths = ["bad", "good", "raw", "none"];
    let error = load(&paths[..2], &files).await.unwrap_err();
    assert!(matches!(error, Error::Command(_)), "{error}");
    let skipping = Generator::new(Settings { load_errors: LoadErrors::Skip, ..settings(&paths) });
    for _ in 0..2 {
        let loaded = load_with(&skipping, &tree("1", &files)).await.unwrap();
        assert_eq!(ids(&loaded), ["ns:configmap/a", "<cluster>:c/"]);
        assert!(!loaded.complete, "nothing may be deleted");
        assert_eq!(loaded.errors.len(), 3, "{:?}", loaded.errors);
    }
}

#[tokio::test]
async fn a_working_copy_that_cannot_be_made_is_an_error_of_its_own() {
    let export: Export = Arc::new(|_, _| Box::pin(async { Err("no space left on device".to_owned()) }));
    let tree = tree("1", &[(".flux.yaml", &generators(&["true"]))]);
    let error = Generator::new(settings(&[])).load(&tree, &export, false, &Stop::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot make a working copy of revision 1 for generators: no space left on device");
}
