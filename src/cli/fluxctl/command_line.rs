//! From arguments to a verb and its flags, as cobra and pflag found them for v1's client: flags may stand before the verb,
//! and a verb that nobody knows is told with those that look like it.

use std::ffi::OsString;

use super::super::flags::{Flag, FlagError, Given, Kind, Parsed, parse_with};
use super::verbs::{self, GLOBAL, ROOT, VERBS, Verb};

/// What the arguments ask for.
pub(super) struct Call {
    /// The verb; none for `fluxctl` alone.
    pub(super) verb: Option<&'static Verb>,
    pub(super) given: Given,
    /// Arguments that are no flags.
    pub(super) rest: Vec<String>,
}

/// Arguments that cannot be used, and the verb that they were meant for.
#[derive(Debug)]
pub(super) struct Unusable {
    pub(super) verb: Option<&'static Verb>,
    pub(super) text: String,
}

/// Reads the arguments, without the program's name.
pub(super) fn read(args: Vec<OsString>) -> Result<Call, Unusable> {
    let mut args: Vec<String> = args.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let verb = match verb_at(&args) {
        None => None,
        Some(at) => {
            let name = args.remove(at);
            let unknown = || Unusable { verb: None, text: unknown_verb(&name, "fluxctl", VERBS) };
            Some(below(verbs::find(&name).ok_or_else(unknown)?, &mut args)?)
        }
    };
    let tables = [GLOBAL, verb.map_or(ROOT, |verb| verb.flags)];
    let bad = |error: FlagError| Unusable { verb, text: error.to_string() };
    // No flag of ours is deprecated.
    match parse_with(tables, args.into_iter().map(OsString::from), &mut Vec::new()).map_err(bad)? {
        Parsed::Run { given, rest } => Ok(Call { verb, given, rest }),
        // The tables hold the flag themselves.
        Parsed::Help => Err(Unusable { verb, text: "help is a flag of every verb".to_owned() }),
    }
}

/// The verb below a verb that the next argument names; the verb itself when it has none below or nothing follows.
fn below(verb: &'static Verb, args: &mut Vec<String>) -> Result<&'static Verb, Unusable> {
    let at = if verb.below.is_empty() { None } else { verb_at(args) };
    let Some(at) = at else { return Ok(verb) };
    let word = args.remove(at);
    let path = format!("fluxctl {}", verb.name);
    verb.find_below(&word).ok_or_else(|| Unusable { verb: Some(verb), text: unknown_verb(&word, &path, verb.below) })
}

/// Where the first argument stands that is neither a flag nor, by what can be known without the verb, a flag's value.
fn verb_at(args: &[String]) -> Option<usize> {
    let mut skip = false;
    for (at, arg) in args.iter().enumerate() {
        if std::mem::take(&mut skip) {
            continue;
        }
        match arg.strip_prefix('-') {
            _ if arg == "--" => return None,
            None if arg.is_empty() => {}
            None => return Some(at),
            Some(_) if arg.contains('=') => {}
            Some(long) if long.starts_with('-') => skip = takes_value(|flag| flag.name == &long[1..]),
            Some(letter) if letter.chars().count() == 1 => {
                skip = takes_value(|flag| flag.short == letter.chars().next())
            }
            Some(_) => {}
        }
    }
    None
}

/// Whether a flag that stands before the verb takes the next argument; those of verbs do.
fn takes_value(is_it: impl Fn(&&Flag) -> bool) -> bool {
    let known = GLOBAL.iter().chain(ROOT).find(is_it);
    known.is_none_or(|flag| !matches!(flag.kind, Kind::Bool | Kind::Count))
}

fn unknown_verb(name: &str, path: &str, verbs: &[Verb]) -> String {
    let alike: Vec<&str> = verbs.iter().map(Verb::last_word).filter(|known| is_like(name, known)).collect();
    let hint =
        if alike.is_empty() { String::new() } else { format!("\n\nDid you mean this?\n\t{}\n", alike.join("\n\t")) };
    format!("unknown command {name:?} for {path:?}{hint}")
}

/// Whether a verb begins with what was written, or is at most two letters away from it.
fn is_like(written: &str, verb: &str) -> bool {
    let written = written.to_lowercase();
    verb.starts_with(&written) || distance(&written, verb) <= 2
}

/// How many letters must be put in, left out or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, from) in a.chars().enumerate() {
        let mut above_left = row[0];
        row[0] = at + 1;
        for (column, to) in b.iter().enumerate() {
            let replaced = above_left + usize::from(from != *to);
            above_left = row[column + 1];
            row[column + 1] = replaced.min(above_left + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: &[&str]) -> Result<Call, Unusable> {
        read(args.iter().map(OsString::from).collect())
    }

    #[test]
    fn flags_may_stand_before_the_verb() {
        for args in [
            &["-n", "shop", "list-workloads"][..],
            &["list-workloads", "-n", "shop"],
            &["--url", "x", "list-workloads", "-nshop"],
        ] {
            let call = call(args).unwrap();
            assert_eq!(
                (call.verb.unwrap().name, call.given.text("namespace").as_str()),
                ("list-workloads", "shop"),
                "{args:?}"
            );
        }
    }

    #[test]
    fn a_verb_has_its_other_names() {
        assert_eq!(call(&["list-controllers"]).unwrap().verb.unwrap().name, "list-workloads");
    }

    #[test]
    fn an_unknown_verb_is_told_with_those_like_it() {
        let text = |arg: &str| call(&[arg]).err().unwrap().text;
        assert_eq!(text("nonsense"), "unknown command \"nonsense\" for \"fluxctl\"");
        let lists = "unknown command \"lis\" for \"fluxctl\"\n\nDid you mean this?\n\tlist-images\n\tlist-workloads\n";
        assert_eq!(text("lis"), lists);
        assert!(text("relase").contains("\trelease\n"));
    }

    #[test]
    fn counted_flags_and_pairs_are_read_as_pflag_reads_them() {
        let verbose = |args: &[&str]| call(&[&["automate"], args].concat()).unwrap().given.int("verbose");
        assert_eq!((verbose(&[]), verbose(&["-vv"]), verbose(&["--verbose"]), verbose(&["--verbose=2"])), (0, 2, 1, 2));
        let labels = |args: &[&str]| call(&[&["sync"], args].concat()).unwrap().given.list("k8s-fwd-labels");
        assert_eq!(labels(&[]), ["app=flux"]);
        assert_eq!(labels(&["--k8s-fwd-labels=a=b,c=d", "--k8s-fwd-labels=a=e"]), ["c=d", "a=e"]);
        let error = call(&["--k8s-fwd-labels=x", "sync"]).err().unwrap().text;
        assert_eq!(error, "invalid argument \"x\" for \"--k8s-fwd-labels\" flag: x must be formatted as key=value");
    }

    #[test]
    fn every_default_can_be_read_and_no_name_or_letter_stands_twice() {
        for verb in VERBS.iter().flat_map(|verb| std::iter::once(verb).chain(verb.below)) {
            let words: Vec<&str> = verb.name.split(' ').collect();
            let (mut names, mut letters) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
            for flag in GLOBAL.iter().chain(verb.flags) {
                assert!(names.insert(flag.name), "--{} of {} stands twice", flag.name, verb.name);
                assert!(flag.short.is_none_or(|letter| letters.insert(letter)), "-{:?} of {}", flag.short, verb.name);
                let default = format!("--{}={}", flag.name, flag.default);
                assert!(
                    flag.default.is_empty() || call(&[&words[..], &[&default]].concat()).is_ok(),
                    "{default} of {}",
                    verb.name
                );
            }
            assert!(verb.flags.is_sorted_by_key(|flag| flag.name), "the flags of {} are not sorted", verb.name);
        }
        assert!(VERBS.is_sorted_by_key(|verb| verb.name));
        assert!(VERBS.iter().all(|verb| verb.below.is_sorted_by_key(|verb| verb.name)));
    }

    #[test]
    fn verbs_stand_below_others_and_flags_anywhere() {
        for args in [
            &["rset", "tree", "web", "-n", "a"][..],
            &["rset", "-n", "a", "tree", "web"],
            &["-n=a", "rset", "tree", "web"],
        ] {
            let call = call(args).unwrap();
            assert_eq!(
                (call.verb.unwrap().name, call.rest.as_slice()),
                ("rset tree", &["web".to_owned()][..]),
                "{args:?}"
            );
            assert_eq!(call.given.text("namespace"), "a");
        }
        assert_eq!(call(&["rset"]).unwrap().verb.unwrap().name, "rset");
        let error = call(&["rset", "tre"]).err().unwrap();
        assert_eq!(error.text, "unknown command \"tre\" for \"fluxctl rset\"\n\nDid you mean this?\n\ttree\n");
        assert_eq!(error.verb.unwrap().name, "rset");
    }
}
