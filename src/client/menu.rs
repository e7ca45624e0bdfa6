//! The menu of `release --interactive`: which of a plan's changes are released. State and text only; keys come from, and
//! text goes to, whoever has the terminal.

use std::collections::BTreeMap;

use super::answer::WorkloadResult;
use super::show::{Verbosity, row_of, visible};
use super::table::columns;
use crate::object::ObjectId;
use crate::report::ContainerUpdate;

/// The last line.
const HELP: &str = "Use arrow keys and [Space] to toggle updates; hit [Enter] to release selected.\n";
/// Lines that are not rows: heading, blank, help.
const AROUND: usize = 3;

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// To the change above.
    Up,
    /// To the change below.
    Down,
    /// Take it or leave it.
    Toggle,
    /// Release what is taken.
    Enter,
    /// Leave without releasing.
    Abort,
}

/// One row of the table.
struct Row {
    cells: String,
    /// What is released with it; none where there is only a status to tell.
    change: Option<(ObjectId, ContainerUpdate)>,
    taken: bool,
}

/// A menu over a plan's result.
pub struct Menu {
    rows: Vec<Row>,
    cursor: usize,
}

impl Menu {
    /// Makes the menu; all changes are taken at first.
    pub fn new(results: &BTreeMap<String, WorkloadResult>, verbosity: Verbosity) -> Self {
        let mut rows = Vec::new();
        for (id, result) in results.iter().filter(|(_, result)| visible(result, verbosity)) {
            let first = rows.len();
            let mut push = |cell: &str, change: Option<(ObjectId, ContainerUpdate)>| {
                let (id, status) = if rows.len() == first { (id.as_str(), result.status.as_str()) } else { ("", "") };
                rows.push(Row { cells: format!("{id}\t{status}\t{cell}\n"), taken: change.is_some(), change });
            };
            if !result.error.is_empty() || result.containers.is_empty() {
                push(&result.error, None);
            }
            for change in &result.containers {
                let update = ContainerUpdate {
                    container: change.container.clone(),
                    current: change.current.clone(),
                    target: change.target.clone(),
                };
                let releasable = id.parse().ok().filter(|_| result.status == "success");
                push(&row_of(change), releasable.map(|id| (id, update)));
            }
        }
        let mut menu = Self { rows, cursor: 0 };
        menu.cursor = menu.choices().first().copied().unwrap_or_default();
        menu
    }

    fn choices(&self) -> Vec<usize> {
        self.rows.iter().enumerate().filter(|(_, row)| row.change.is_some()).map(|(at, _)| at).collect()
    }

    /// Whether there is nothing to choose from.
    pub fn is_empty(&self) -> bool {
        self.choices().is_empty()
    }

    /// Moves or toggles. The other keys end the menu, which is its owner's affair.
    pub fn press(&mut self, key: Key) {
        let (choices, here) = (self.choices().into_iter(), self.cursor);
        match key {
            Key::Up => self.cursor = choices.rev().find(|at| *at < here).unwrap_or(here),
            Key::Down => self.cursor = choices.into_iter().find(|at| *at > here).unwrap_or(here),
            Key::Toggle => {
                if let Some(row) = self.rows.get_mut(self.cursor).filter(|row| row.change.is_some()) {
                    row.taken = !row.taken;
                }
            }
            Key::Enter | Key::Abort => {}
        }
    }

    /// The menu as lines; of more rows than `height` has lines those around the cursor.
    pub fn text(&self, height: usize) -> String {
        let mut text = String::from("    WORKLOAD\tSTATUS\tUPDATES\n");
        for (at, row) in self.rows.iter().enumerate() {
            let arrow = if at == self.cursor && row.change.is_some() { "⇒ " } else { "  " };
            let mark = match &row.change {
                None => "  ",
                Some(_) if row.taken => "◉ ",
                Some(_) => "◯ ",
            };
            text.push_str(&format!("{arrow}{mark}{}", row.cells));
        }
        let set = columns(&text);
        let lines: Vec<&str> = set.lines().collect();
        let room = height.saturating_sub(AROUND + 1).max(1);
        let first =
            if self.rows.len() <= room { 0 } else { self.cursor.saturating_sub(room / 2).min(self.rows.len() - room) };
        let mut shown = vec![lines[0]];
        shown.extend(lines[1..].iter().skip(first).take(room));
        shown.join("\n") + "\n\n" + HELP
    }

    /// What is taken, as a containers release wants it.
    pub fn taken(&self) -> BTreeMap<ObjectId, Vec<ContainerUpdate>> {
        let mut taken: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (id, update) in self.rows.iter().filter(|row| row.taken).filter_map(|row| row.change.clone()) {
            taken.entry(id).or_default().push(update);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu() -> Menu {
        let results = serde_json::from_str(
            r#"{"s:deployment/api":{"Status":"success","PerContainer":[{"Container":"a","Current":"o/w:1","Target":"o/w:2"}]},
            "s:deployment/bad":{"Status":"failed","Error":"it broke"},
            "s:deployment/web":{"Status":"success","PerContainer":[{"Container":"w","Current":"o/w:1","Target":"o/w:2"},{"Container":"x","Current":"o/x:1","Target":"o/x:2"}]}}"#,
        );
        Menu::new(&results.unwrap(), Verbosity::Changes)
    }

    #[test]
    fn changes_are_taken_at_first_and_the_cursor_skips_what_cannot_be() {
        let mut menu = menu();
        menu.press(Key::Down);
        menu.press(Key::Toggle);
        let expected = "    WORKLOAD          STATUS   UPDATES
  ◉ s:deployment/api  success  a: o/w:1 -> 2
    s:deployment/bad  failed   it broke
⇒ ◯ s:deployment/web  success  w: o/w:1 -> 2
  ◉                            x: o/x:1 -> 2

Use arrow keys and [Space] to toggle updates; hit [Enter] to release selected.
";
        assert_eq!(menu.text(24), expected);
        let taken: Vec<String> = menu.taken().into_values().flatten().map(|update| update.container).collect();
        assert_eq!(taken, ["a", "x"]);
    }

    #[test]
    fn the_cursor_stays_within_the_list() {
        let mut menu = menu();
        menu.press(Key::Up);
        assert_eq!(menu.cursor, 0);
        (0..9).for_each(|_| menu.press(Key::Down));
        assert_eq!(menu.cursor, 3);
    }

    #[test]
    fn a_small_terminal_shows_the_rows_around_the_cursor() {
        let mut menu = menu();
        (0..9).for_each(|_| menu.press(Key::Down));
        let text = menu.text(6);
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.contains('⇒'), "{text}");
    }
}
