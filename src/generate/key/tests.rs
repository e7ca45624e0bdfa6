//! What changes the key of an output, and what does not.

use super::*;
use crate::generate::discover::{Source, discover};
use crate::tree::Revision;
use std::sync::Arc;

/// A tree at a revision; contents are their own ids, so that equal texts have equal ids.
fn tree(revision: &str, files: &[(&str, &str)]) -> Tree {
    crate::generate::tests::tree(revision, files)
}

fn key(revision: &str, files: &[(&str, &str)]) -> Key {
    let tree = tree(revision, files);
    let settings = Settings::default();
    let source = discover(&tree, "app", &settings.limits).unwrap();
    let Source::Config(instance) = source else { panic!("no config found") };
    assert_eq!(tree.revision(), &Revision(Arc::from(revision)));
    Keys::new(&tree, &settings).of(&instance)
}

const OPEN: &str = "version: 1\ncommandUpdated: {generators: [{command: cat a.yaml}]}\n";
const DECLARED: &str = "version: 1\ncommandUpdated: {generators: [{command: cat a.yaml}]}\ninputs: [., /base]\n";

#[test]
fn without_declared_inputs_every_commit_has_its_own_key() {
    let files = [("app/.flux.yaml", OPEN), ("app/a.yaml", "a")];
    assert_eq!(key("1", &files), key("1", &files));
    assert_ne!(key("1", &files).digest, key("2", &files).digest);
    assert!(!key("1", &files).is_declared);
}

#[test]
fn with_declared_inputs_only_they_count() {
    let files = [("app/.flux.yaml", DECLARED), ("app/a.yaml", "a"), ("base/x/b", "b"), ("other", "o")];
    let first = key("1", &files);
    assert!(first.is_declared);
    let changed = |path: &str| key("2", &files.map(|(p, text)| (p, if p == path { "new" } else { text })));
    assert_eq!(first, changed("other"), "another file");
    for path in ["app/a.yaml", "base/x/b"] {
        assert_ne!(first.digest, changed(path).digest, "{path}");
    }
    let without_base = &files[..2];
    assert!(key("1", without_base).is_declared, "a missing input is known to be missing");
    assert_ne!(first.digest, key("1", without_base).digest);
    let moved = [files[0], ("app/b.yaml", "a"), files[2], files[3]];
    assert_ne!(first.digest, key("1", &moved).digest, "the same content under another name");
}

#[test]
fn inputs_outside_of_the_repository_cannot_be_known() {
    let text = "version: 1\ncommandUpdated: {generators: []}\ninputs: [../../x]\n";
    assert!(!key("1", &[("app/.flux.yaml", text)]).is_declared);
}

#[test]
fn a_script_of_the_tree_counts_without_being_declared() {
    let text = "version: 1\ncommandUpdated: {generators: [{command: A=b ../run.sh x}]}\ninputs: []\n";
    let with = |script: &str| key("1", &[("app/.flux.yaml", text), ("run.sh", script)]);
    assert_eq!(with("a"), with("a"));
    assert_ne!(with("a").digest, with("b").digest);
}
