//! Help texts, in the layout of v1's client.

use std::fmt::Write;

use super::super::flags::{Flag, Kind};
use super::verbs::{GLOBAL, ROOT, VERBS, Verb};

const ABOUT: &str = "\
fluxctl shows and steers fluxd, which keeps a Kubernetes cluster equal to a git repository.

Connecting:
  fluxctl list-workloads                              # to the fluxd in namespace \"default\" of the current context
  fluxctl --k8s-fwd-ns=flux list-workloads            # to the one in namespace \"flux\"
  fluxctl --url=http://HOST:3030/api/flux sync        # to a fluxd that can be reached as it is

Workflow:
  fluxctl check                                       # does everything work?
  fluxctl list-workloads                              # which workloads are running?
  fluxctl list-images --workload=default:deployment/web
  fluxctl release --workload=default:deployment/web --update-image=example.org/web:v2
  fluxctl diff                                        # what would the next sync change?
";

/// The help of `fluxctl` itself.
pub(super) fn of_program() -> String {
    format!("{ABOUT}\n{}", usage_of_program())
}

/// The help of `fluxctl` without its introduction.
pub(super) fn usage_of_program() -> String {
    let mut text = format!("Usage:\n  fluxctl [command]\n\nAvailable Commands:\n{}", list(VERBS));
    let mut flags: Vec<&Flag> = GLOBAL.iter().chain(ROOT).collect();
    flags.sort_by_key(|flag| flag.name);
    // Writing into a String cannot fail, here and below.
    write!(text, "\nFlags:\n{}", table(&flags)).unwrap_or_default();
    text.push_str("\nUse \"fluxctl [command] --help\" for more information about a command.\n");
    text
}

/// Verbs with a line each.
fn list(verbs: &[Verb]) -> String {
    let width = verbs.iter().map(|verb| verb.last_word().len()).max().unwrap_or_default();
    verbs.iter().map(|verb| format!("  {:width$} {}\n", verb.last_word(), verb.about)).collect()
}

/// The help of a verb.
pub(super) fn of_verb(verb: &Verb) -> String {
    let mut text = format!("{}.\n", verb.about);
    if !verb.more.is_empty() {
        writeln!(text, "\n{}", verb.more).unwrap_or_default();
    }
    let arguments = if verb.arguments.is_empty() { String::new() } else { format!(" {}", verb.arguments) };
    writeln!(text, "\nUsage:\n  fluxctl {}{arguments} [flags]", verb.name).unwrap_or_default();
    if !verb.below.is_empty() {
        writeln!(text, "\nAvailable Commands:\n{}", list(verb.below).trim_end()).unwrap_or_default();
    }
    if !verb.aliases.is_empty() {
        writeln!(text, "\nAliases:\n  {}, {}", verb.name, verb.aliases.join(", ")).unwrap_or_default();
    }
    if !verb.examples.is_empty() {
        writeln!(text, "\nExamples:\n  {}", verb.examples.join("\n  ")).unwrap_or_default();
    }
    let own: Vec<&Flag> = verb.flags.iter().collect();
    let global: Vec<&Flag> = GLOBAL.iter().collect();
    write!(text, "\nFlags:\n{}\nGlobal Flags:\n{}", table(&own), table(&global)).unwrap_or_default();
    text
}

fn table(flags: &[&Flag]) -> String {
    let width = flags.iter().map(|flag| left(flag).len()).max().unwrap_or_default() + 3;
    flags.iter().map(|flag| format!("{:width$}{}{}\n", left(flag), flag.help, default(flag))).collect()
}

fn left(flag: &Flag) -> String {
    let short = flag.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let kind = match flag.kind {
        Kind::Bool => "",
        Kind::Text => " string",
        Kind::Int => " int",
        Kind::Uint => " uint",
        Kind::Float => " float",
        Kind::Duration => " duration",
        Kind::List => " strings",
        Kind::Count => " count",
        Kind::Map => " stringToString",
    };
    format!("  {short}--{}{kind}", flag.name)
}

fn default(flag: &Flag) -> String {
    match (flag.kind, flag.default) {
        (_, "" | "0" | "false") => String::new(),
        (Kind::Text, text) => format!(" (default {text:?})"),
        (Kind::Map, text) => format!(" (default [{text}])"),
        (_, text) => format!(" (default {text})"),
    }
}
