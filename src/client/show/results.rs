//! What became of each workload of an update, as v1's table (fluxd-v1 §11).

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::answer::{Change, WorkloadResult};
use super::super::table::columns;
use crate::object::ImageRef;

/// How many of the workloads that were left alone are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// None.
    #[default]
    Changes,
    /// Those skipped.
    Skipped,
    /// Those ignored too.
    Ignored,
}

/// Whether a result is shown at all.
pub(in crate::client) fn visible(result: &WorkloadResult, verbosity: Verbosity) -> bool {
    match result.status.as_str() {
        "skipped" => verbosity >= Verbosity::Skipped,
        "ignored" => verbosity >= Verbosity::Ignored,
        _ => true,
    }
}

/// A change as its cell shows it: the new image without its name where the name stays.
pub(in crate::client) fn row_of(change: &Change) -> String {
    let parse = |text: &str| text.parse::<ImageRef>().ok();
    let target = match (parse(&change.current), parse(&change.target)) {
        (Some(current), Some(target)) if current.name == target.name => {
            target.suffix().trim_start_matches([':', '@']).to_owned()
        }
        _ => change.target.clone(),
    };
    format!("{}: {} -> {target}", change.container, change.current)
}

/// The table.
pub fn results(all: &BTreeMap<String, WorkloadResult>, verbosity: Verbosity) -> String {
    let mut text = String::from("WORKLOAD \tSTATUS \tUPDATES\n");
    for (id, result) in all.iter().filter(|(_, result)| visible(result, verbosity)) {
        let mut cells: Vec<String> = Vec::new();
        if !result.error.is_empty() || result.containers.is_empty() {
            cells.push(result.error.clone());
        }
        cells.extend(result.containers.iter().map(row_of));
        for (at, cell) in cells.iter().enumerate() {
            let (id, status) = if at == 0 { (id.as_str(), result.status.as_str()) } else { ("", "") };
            // Writing into a String cannot fail.
            writeln!(text, "{id}\t{status}\t{cell}").unwrap_or_default();
        }
    }
    columns(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> BTreeMap<String, WorkloadResult> {
        serde_json::from_str(
            r#"{"s:deployment/web":{"Status":"success","PerContainer":[{"Container":"web","Current":"o/web:2.0","Target":"o/web:2.1"},
            {"Container":"side","Current":"h:5000/side:2.0","Target":"h:5000/other:2.1"}]},"s:deployment/bad":{"Status":"failed","Error":"it broke"},
            "s:deployment/skip":{"Status":"skipped","Error":"locked"},"s:deployment/ign":{"Status":"ignored","Error":"not included"}}"#,
        )
        .unwrap()
    }

    #[test]
    fn changes_stand_below_each_other_and_what_was_left_alone_is_not_shown() {
        let expected = "\
WORKLOAD          STATUS   UPDATES
s:deployment/bad  failed   it broke
s:deployment/web  success  web: o/web:2.0 -> 2.1
                           side: h:5000/side:2.0 -> h:5000/other:2.1
";
        assert_eq!(results(&all(), Verbosity::Changes), expected);
    }

    #[test]
    fn verbosity_adds_the_skipped_and_then_the_ignored() {
        let lines = |verbosity| results(&all(), verbosity).lines().count();
        assert_eq!((lines(Verbosity::Skipped), lines(Verbosity::Ignored)), (5, 6));
    }

    #[test]
    fn nothing_is_a_line_of_headings() {
        assert_eq!(results(&BTreeMap::new(), Verbosity::Changes), "WORKLOAD   STATUS   UPDATES\n");
    }
}
