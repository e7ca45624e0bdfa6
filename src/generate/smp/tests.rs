//! Strategic merge against the table that is checked in.
use super::*;

#[test]
fn every_line_of_the_built_in_tables_is_understood() {
    let mut table = Table::default();
    for line in include_str!("kinds.txt").lines().chain(include_str!("former-kinds.txt").lines()) {
        assert!(table.add_line(line), "{line}");
    }
    assert_eq!(table.dangling(), Vec::<&str>::new());
}
