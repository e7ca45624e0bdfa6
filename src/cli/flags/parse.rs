//! Reading the command line by the table, with pflag's rules and error texts.

use std::ffi::OsString;

use super::{DAEMON, Flag, Given, Kind, Tables, Value, controllers, value};

/// What the command line asks for.
#[derive(Debug)]
pub(in crate::cli) enum Parsed {
    /// Run with these flags. Positional arguments are ignored as in v1, but the first is a subcommand if we know it.
    Run {
        /// The flags.
        given: Given,
        /// Positional arguments.
        rest: Vec<String>,
    },
    /// Show the help.
    Help,
}

/// A command line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(in crate::cli) struct FlagError(String);

/// Reads the daemon's arguments (without the program's name). Lines about deprecated flags go to `notices`, also when an
/// error follows.
pub(in crate::cli) fn parse(
    args: impl IntoIterator<Item = OsString>,
    notices: &mut Vec<String>,
) -> Result<Parsed, FlagError> {
    parse_with(DAEMON, args, notices)
}

/// Reads the arguments behind `fluxd controllers`.
pub(in crate::cli) fn parse_controllers(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, FlagError> {
    // No flag of theirs is deprecated.
    parse_with(controllers::TABLES, args, &mut Vec::new())
}

/// Reads arguments by the tables given.
pub(in crate::cli) fn parse_with(
    tables: Tables,
    args: impl IntoIterator<Item = OsString>,
    notices: &mut Vec<String>,
) -> Result<Parsed, FlagError> {
    let mut args: std::collections::VecDeque<String> =
        args.into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let (mut given, mut rest) = (Given::of(tables), Vec::new());
    while let Some(arg) = args.pop_front() {
        if arg == "--" {
            rest.extend(args);
            break;
        }
        let found = if let Some(long) = arg.strip_prefix("--") {
            read_long(&given, long, &mut args)?
        } else if let Some(letters) = arg.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            read_short(&given, letters, &mut args)?
        } else {
            rest.push(arg);
            continue;
        };
        let Some(pairs) = found else { return Ok(Parsed::Help) };
        for (flag, text) in pairs {
            set(&mut given, flag, &text, notices)?;
        }
    }
    Ok(Parsed::Run { given, rest })
}

type Pairs = Vec<(&'static Flag, String)>;

/// Reads `--name`, `--name=value` or `--name value`; `None` is a request for help.
fn read_long(
    given: &Given,
    long: &str,
    args: &mut std::collections::VecDeque<String>,
) -> Result<Option<Pairs>, FlagError> {
    if long.starts_with(['-', '=']) {
        return Err(FlagError(format!("bad flag syntax: --{long}")));
    }
    let (name, value) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (long, None),
    };
    let Some(flag) = given.find(name) else {
        return if name == "help" { Ok(None) } else { Err(FlagError(format!("unknown flag: --{name}"))) };
    };
    let text = match value {
        Some(value) => value,
        None => match alone(flag) {
            Some(text) => text.to_owned(),
            None => args.pop_front().ok_or_else(|| FlagError(format!("flag needs an argument: --{long}")))?,
        },
    };
    Ok(Some(vec![(flag, text)]))
}

/// Reads `-l value`, `-l=value`, `-lvalue`; `None` is a request for help.
fn read_short(
    given: &Given,
    letters: &str,
    args: &mut std::collections::VecDeque<String>,
) -> Result<Option<Pairs>, FlagError> {
    let (mut pairs, mut left) = (Pairs::new(), letters);
    while let Some(letter) = left.chars().next() {
        let after = &left[letter.len_utf8()..];
        let Some(flag) = given.tables.iter().copied().flatten().find(|flag| flag.short == Some(letter)) else {
            let unknown = || FlagError(format!("unknown shorthand flag: {letter:?} in -{left}"));
            return if letter == 'h' { Ok(None) } else { Err(unknown()) };
        };
        let (text, rest) = match after.strip_prefix('=').filter(|value| !value.is_empty()) {
            Some(value) => (value.to_owned(), ""),
            None if alone(flag).is_some() => (alone(flag).unwrap_or_default().to_owned(), after),
            None if !after.is_empty() => (after.to_owned(), ""),
            None => {
                let error = || FlagError(format!("flag needs an argument: {letter:?} in -{left}"));
                (args.pop_front().ok_or_else(error)?, "")
            }
        };
        pairs.push((flag, text));
        left = rest;
    }
    Ok(Some(pairs))
}

/// The value of a flag that is given without one.
fn alone(flag: &Flag) -> Option<&'static str> {
    match flag.kind {
        Kind::Bool => Some("true"),
        Kind::Count => Some(ONE_MORE),
        _ => None,
    }
}

/// The value of a counting flag that stands alone, as pflag has it.
const ONE_MORE: &str = "+1";

fn set(given: &mut Given, flag: &'static Flag, text: &str, notices: &mut Vec<String>) -> Result<(), FlagError> {
    let value = value::read(flag.kind, text).map_err(|why| {
        let name = flag.short.map_or_else(String::new, |letter| format!("-{letter}, ")) + "--" + flag.name;
        FlagError(format!("invalid argument {text:?} for {name:?} flag: {why}"))
    })?;
    let value = match (given.values.remove(flag.name), value) {
        (Some(Value::List(mut before)), Value::List(more)) => {
            before.extend(more);
            Value::List(before)
        }
        (Some(Value::Pairs(before)), Value::Pairs(more)) => {
            let key = |pair: &String| pair.split('=').next().unwrap_or_default().to_owned();
            let mut kept = before;
            kept.retain(|old| !more.iter().any(|new| key(new) == key(old)));
            kept.extend(more);
            Value::Pairs(kept)
        }
        (Some(Value::Int(before)), Value::Int(_)) if flag.kind == Kind::Count && text == ONE_MORE => {
            Value::Int(before.saturating_add(1))
        }
        (_, value) => value,
    };
    given.values.insert(flag.name, value);
    if let Some(instead) = flag.deprecated {
        notices.push(format!("Flag --{} has been deprecated, {instead}", flag.name));
    }
    Ok(())
}
