//! The menu of `release --interactive` at a terminal, which `script` lends.

use super::double::{Double, Script, script};
use super::own;
use crate::rig::eventually;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const PLANNED: &str = concat!(
    r#"{"Result":{"result":{"s:deployment/api":{"Status":"success","PerContainer":[{"Container":"a","Current":"o/w:1","Target":"o/w:2"}]},"#,
    r#""s:deployment/bad":{"Status":"failed","Error":"it broke"},"s:deployment/web":{"Status":"success","PerContainer":["#,
    r#"{"Container":"w","Current":"o/w:1","Target":"o/w:2"}]}}},"Err":"","StatusString":"succeeded"}"#,
);

fn daemon() -> Script {
    script(&[
        ("/v9/update-manifests", &[(200, r#""job-1""#)]),
        ("/v6/jobs", &[(200, PLANNED)]),
        ("/v6/sync", &[(200, "[]")]),
    ])
}

/// Types `keys` one after the other, each once the menu has been drawn again; gives the screen and the exit code.
fn at_a_terminal(double: &Double, args: &str, keys: &[&str]) -> (String, Option<i32>) {
    let home = tempfile::tempdir().unwrap();
    let line = format!("exec {} release --all --update-all-images --interactive {args}", own().display());
    let mut command = Command::new("script");
    command.args(["-qefc", &line, "/dev/null"]).env_clear().env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh");
    command.env("HOME", home.path()).env("FLUX_URL", double.url()).env("TERM", "xterm");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let screen = Arc::new(Mutex::new(Vec::new()));
    let (seen, mut pipe) = (screen.clone(), child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut bytes) {
            seen.lock().unwrap().extend_from_slice(&bytes[..count]);
        }
    });
    let text = || String::from_utf8_lossy(&screen.lock().unwrap()).into_owned();
    let mut stdin = child.stdin.take().unwrap();
    for (at, key) in keys.iter().enumerate() {
        eventually("the menu is drawn", || (text().matches("hit [Enter]").count() > at).then_some(()));
        stdin.write_all(key.as_bytes()).unwrap();
        stdin.flush().unwrap();
    }
    let code = child.wait().unwrap().code();
    reader.join().unwrap();
    (text(), code)
}

#[test]
fn what_is_left_in_the_menu_is_released() {
    let double = Double::start(daemon());
    let (screen, code) = at_a_terminal(&double, "-m why", &["\u{1b}[B", " ", "\r"]);
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("⇒ ◉ s:deployment/api") && screen.contains("⇒ ◯ s:deployment/web"), "{screen}");
    assert!(screen.contains("Submitting selected release ..."), "{screen}");
    let released = double.asked().into_iter().filter(|line| line.starts_with("POST")).nth(1).unwrap();
    let spec = r#"{"type":"containers","cause":{"Message":"why","User":""},"spec":{"Kind":"execute","ContainerSpecs":{"s:deployment/api":[{"Container":"a","Current":"o/w:1","Target":"o/w:2"}]},"SkipMismatches":false,"Force":false}}"#;
    assert!(released.ends_with(spec), "{released}");
}

#[test]
fn a_menu_that_is_left_releases_nothing() {
    for key in ["q", "\u{3}"] {
        let double = Double::start(daemon());
        let (screen, code) = at_a_terminal(&double, "", &[key]);
        assert_eq!(code, Some(0), "{screen}");
        assert!(screen.contains("Aborted."), "{screen}");
        assert_eq!(double.asked().iter().filter(|line| line.starts_with("POST")).count(), 1);
    }
}
