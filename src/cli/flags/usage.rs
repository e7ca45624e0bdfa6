//! The help text: every flag that is not deprecated, under headings, in the columns that pflag uses.

use std::fmt::Write;

use super::{Effect, Flag, Group, Kind, Tables, controllers};

const HEADINGS: &[(Group, &str)] = &[
    (Group::General, "General"),
    (Group::Git, "Git repository"),
    (Group::Sync, "Syncing"),
    (Group::Manifests, "Manifests and secrets"),
    (Group::Kubernetes, "Kubernetes"),
    (Group::Ssh, "SSH key"),
    (Group::Images, "Image registries and automation"),
    (Group::Upstream, "Upstream service"),
    (Group::Additions, "Additions to Flux v1"),
    (Group::Controllers, "Controllers, with --controllers"),
];

/// The same for `fluxd controllers`.
const HEADINGS_ALONE: &[(Group, &str)] = &[(Group::General, "General"), (Group::Controllers, "Controllers")];

/// Columns of the terminal that lines are folded to.
const WIDTH: usize = 120;

/// How far the longest name may push the explanations to the right; those of longer names begin on a line of their own.
const COLUMN: usize = 40;

/// Writes the daemon's help.
pub(in crate::cli) fn usage() -> String {
    let mut text = String::from(
        "DESCRIPTION\n  fluxd keeps a Kubernetes cluster equal to a git repository.\n\n\
         USAGE\n  fluxd [flags]        run the daemon\n  fluxd controllers    run controllers alone (--help shows their flags)\n  \
         fluxd crd            print the definitions of the custom resources\n  \
         fluxd openapi        print the API's OpenAPI document\n\nFLAGS\n",
    );
    flags(&mut text, super::DAEMON, HEADINGS);
    text
}

/// Writes the help of `fluxd controllers`.
pub(in crate::cli) fn of_controllers() -> String {
    let mut text = String::from(
        "DESCRIPTION\n  fluxd controllers reconciles ResourceSets and ResourceSetInputProviders.\n\n\
         USAGE\n  fluxd controllers [flags]\n\nFLAGS\n",
    );
    flags(&mut text, controllers::TABLES, HEADINGS_ALONE);
    text
}

fn flags(text: &mut String, tables: Tables, headings: &[(Group, &str)]) {
    let shown = || tables.into_iter().flatten().filter(|flag| flag.deprecated.is_none());
    let column = shown().map(|flag| left_side(flag).len()).max().unwrap_or_default().min(COLUMN) + 3;
    for (group, heading) in headings {
        // Writing into a String cannot fail.
        write!(text, "\n{heading}:\n").unwrap_or_default();
        for flag in shown().filter(|flag| flag.group == *group) {
            let (left, right) = (left_side(flag), fold(&right_side(flag), WIDTH - column, column));
            let gap = if left.len() < column { String::new() } else { format!("\n{:column$}", "") };
            writeln!(text, "{left:column$}{gap}{right}").unwrap_or_default();
        }
    }
    text.push_str(
        "\nA list is one CSV record, and may be given several times. Durations look like 90s, 1m30s or 1h.\n",
    );
}

fn left_side(flag: &Flag) -> String {
    let short = flag.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let kind = match flag.kind {
        Kind::Bool | Kind::Count | Kind::Map => "",
        Kind::Text => " string",
        Kind::Int => " int",
        Kind::Uint => " uint",
        Kind::Float => " float",
        Kind::Duration => " duration",
        Kind::List => " list",
    };
    format!("  {short}--{}{kind}", flag.name)
}

fn right_side(flag: &Flag) -> String {
    let default = match (flag.kind, flag.default) {
        (_, "" | "0" | "0s" | "false") => String::new(),
        (Kind::Text, text) => format!(" (default {text:?})"),
        (_, text) => format!(" (default {text})"),
    };
    let effect = match flag.effect {
        Effect::Works => "",
        Effect::None(_) => " [no effect]",
    };
    format!("{}{default}{effect}", flag.help)
}

/// Breaks a text at spaces; further lines are indented.
fn fold(text: &str, width: usize, indent: usize) -> String {
    let (mut folded, mut used) = (String::new(), 0);
    for word in text.split(' ') {
        if used > 0 && used + 1 + word.len() > width {
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            used = 0;
        } else if used > 0 {
            folded.push(' ');
            used += 1;
        }
        folded.push_str(word);
        used += word.len();
    }
    folded
}
