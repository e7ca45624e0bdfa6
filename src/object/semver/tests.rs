//! What the Go library's own tests state, row by row, and what holds for any version.

use proptest::prelude::*;

use super::*;

const ROWS: &str = include_str!("masterminds.txt");

#[test]
fn constraints_hold_as_in_the_go_library() {
    let mut wrong = Vec::new();
    let rows: Vec<_> = ROWS.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(rows.len() >= 197);
    for row in rows {
        let fields: Vec<_> = row.split('\t').collect();
        let version = Version::parse(fields[1]).unwrap();
        let got = Constraint::parse(fields[0]).map(|constraint| constraint.matches(&version).to_string());
        if got.as_deref() != Ok(fields[2]) {
            wrong.push(format!("{row}: {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn broken_constraints_are_refused() {
    for text in [
        ">= bar",
        "BAR >= 1.2.3",
        "foo",
        "12.3.4.1234",
        "12.23.4.1234",
        "12.3.34~ 1.2.3",
        "v1.2.3-beta.01",
        ">=1.1<2",
        "1 ||",
        "|| 1",
        ",1",
        "1,",
        ">",
        ">> 1",
        "1 - ",
        "V1",
        "1..2",
        "1.2.3-",
        "1.2.3+",
    ] {
        assert_eq!(Constraint::parse(text).unwrap_err().to_string(), format!("improper constraint: {text}"));
    }
    assert!(Constraint::parse(&"1 ".repeat(600)).is_err());
    for text in [
        "=< 1.2",
        "=> 1.2",
        "v2.3.5-20161202202307-sha.e8fc5e5",
        "v1.2.3-0abc",
        "12.3.34 ~1.2.3",
        "1.0.0 - 2.0.0, <=2.0.0",
        "~>1.2",
    ] {
        assert!(Constraint::parse(text).is_ok(), "{text}");
    }
}

#[test]
fn versions_are_read_leniently() {
    for (text, want) in [
        ("1", Some("1.0.0")),
        ("v1.2", Some("1.2.0")),
        ("01.2.3", Some("1.2.3")),
        ("2020.01.05", Some("2020.1.5")),
        ("1.2.3-rc.1+build.7", Some("1.2.3-rc.1+build.7")),
        ("1-alpha", Some("1.0.0-alpha")),
        ("1.2.3.4", None),
        ("V1", None),
        ("", None),
        ("v", None),
        ("1.", None),
        ("1.2.3-", None),
        ("1.2.3-01", None),
        ("latest", None),
        ("99999999999999999999", None),
    ] {
        assert_eq!(Version::parse(text).map(|v| v.0.to_string()).as_deref(), want, "{text}");
    }
}

proptest! {
    #[test]
    fn a_version_equals_itself_and_is_within_itself(text in "v?[0-9]{1,3}(\\.[0-9]{1,3}){0,2}(-[a-z]{1,3}(\\.[1-9])?)?") {
        let version = Version::parse(&text).unwrap();
        for operator in ["", "=", ">=", "<=", "~", "^"] {
            let constraint = Constraint::parse(&format!("{operator}{text}")).unwrap();
            prop_assert!(constraint.matches(&version), "{}{}", operator, text);
        }
        let other = Constraint::parse(&format!("!={text}")).unwrap();
        prop_assert!(!other.matches(&version));
    }

    #[test]
    fn no_text_makes_the_reader_fail(text in "[0-9vxX*.|&,<>=~^! +a-z-]{0,30}", version in "[0-9v.a+-]{0,12}") {
        if let (Ok(constraint), Some(version)) = (Constraint::parse(&text), Version::parse(&version)) {
            constraint.matches(&version);
        }
    }
}
