//! Every verb and flag of the original is there, with its letters, types and defaults.

use super::{command, original, own, run};
use std::collections::BTreeMap;
use std::path::Path;

/// A flag as the help shows it: letter, type, default.
type Shown = (String, String, String);

fn help(program: &Path, verb: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let ran = run(command(program, home.path(), "", &[verb, "--help"]));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "help of {verb}");
    ran.stdout
}

fn flags(help: &str) -> BTreeMap<String, Shown> {
    let lines = help.lines().filter(|line| line.trim_start().starts_with('-') && line.contains("--"));
    lines
        .map(|line| {
            let (head, text) = line.trim_start().split_once("   ").unwrap();
            let (letter, long) = head.split_once("--").unwrap();
            let (name, kind) = long.split_once(' ').unwrap_or((long, ""));
            let default = text.split_once("(default ").map_or("", |(_, rest)| rest.trim_end().trim_end_matches(')'));
            // The help of one flag says "(default print headers)", and means none.
            let default = if default == "print headers" { "" } else { default };
            (name.to_owned(), (letter.trim_matches([' ', ',']).to_owned(), kind.to_owned(), default.to_owned()))
        })
        .collect()
}

fn verbs(help: &str) -> Vec<String> {
    let listed =
        help.lines().skip_while(|line| *line != "Available Commands:").skip(1).take_while(|line| !line.is_empty());
    listed.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

#[test]
fn every_verb_and_flag_of_the_original_is_there_with_its_letter_type_and_default() {
    let (theirs, ours) = (original(), own());
    let known = verbs(&run(command(&ours, Path::new("/"), "", &[])).stdout);
    for verb in verbs(&run(command(&theirs, Path::new("/"), "", &[])).stdout) {
        assert!(known.contains(&verb), "there is no verb {verb}");
        let here = flags(&help(&ours, &verb));
        for (name, shown) in flags(&help(&theirs, &verb)) {
            assert_eq!(here.get(&name), Some(&shown), "--{name} of {verb}");
        }
    }
}

#[test]
fn fluxctl_alone_shows_its_help_and_ends_well() {
    let home = tempfile::tempdir().unwrap();
    let ran = run(command(&own(), home.path(), "", &[]));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("Available Commands:\n"), "{}", ran.stdout);
    let unknown = run(command(&own(), home.path(), "", &["help", "nope"]));
    assert!(unknown.code == Some(0) && unknown.stderr.starts_with("Unknown help topic [`nope`]\n"), "{unknown:?}");
}

#[test]
fn the_version_is_one_line_and_needs_no_daemon() {
    let home = tempfile::tempdir().unwrap();
    let ran = run(command(&own(), home.path(), "", &["version"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), concat!(env!("CARGO_PKG_VERSION"), "\n")));
}
