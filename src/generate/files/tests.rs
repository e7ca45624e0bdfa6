//! Walks over trees in memory.

use super::*;
use crate::tree::tests::tree;

fn walk_of(files: &[(&str, Mode)], path: &str) -> Result<Vec<String>, String> {
    let files: Vec<_> = files.iter().map(|(path, mode)| (*path, *mode, "")).collect();
    names(&tree(&files), path)
}

fn names(tree: &Tree, path: &str) -> Result<Vec<String>, String> {
    raw_files(tree, path).map(|found| found.files.into_iter().map(|f| f.path).collect()).map_err(|e| e.to_string())
}

fn plain<'a>(paths: &[&'a str]) -> Vec<(&'a str, Mode)> {
    paths.iter().map(|path| (*path, Mode::File)).collect()
}

#[test]
fn a_walk_finds_both_extensions_hidden_files_too_in_lexical_order() {
    let files = plain(&["b.yml", "a/z.yaml", "a.yaml", "c.YAML", "d.json", ".x/y.yaml", ".flux.yaml", "README.md"]);
    let all = [".flux.yaml", ".x/y.yaml", "a/z.yaml", "a.yaml", "b.yml"];
    assert_eq!(walk_of(&files, ".").unwrap(), all);
    assert_eq!(walk_of(&files, "").unwrap(), all);
    assert_eq!(walk_of(&files, "./a/").unwrap(), ["a/z.yaml"]);
    assert_eq!(walk_of(&files, "b.yml").unwrap(), ["b.yml"]);
}

#[test]
fn charts_are_passed_over_even_when_the_configured_path_lies_in_one() {
    let files = plain(&["x/Chart.yaml", "x/values.yaml", "x/templates/a.yaml", "y/Chart.yaml", "y/a.yaml"]);
    assert_eq!(walk_of(&files, "").unwrap(), ["y/Chart.yaml", "y/a.yaml"]);
    assert!(walk_of(&files, "x/templates").unwrap().is_empty());
    assert!(walk_of(&files, "x/templates/a.yaml").unwrap().is_empty());
}

#[test]
fn a_path_that_cannot_be_walked_is_an_error() {
    let tree = tree(&[
        ("real/a.yaml", Mode::File, ""),
        ("link", Mode::Link, "real"),
        ("sub", Mode::Submodule, ""),
        ("x.md", Mode::File, ""),
    ]);
    for (path, want) in [
        ("none", "stat none: no such file or directory"),
        ("../x", "path \"../x\" is outside of the repository"),
        ("link", "it is a symbolic link to a directory; configure the directory itself"),
        ("sub", "it is a git submodule, whose content is not part of this repository"),
        ("x.md", "it is a file that does not end in .yaml or .yml"),
    ] {
        assert_eq!(names(&tree, path), Err(format!("unable to read root path \"{path}\": {want}")));
    }
}

#[test]
fn links_to_files_are_read_and_those_out_of_the_repository_refused() {
    let good = tree(&[
        ("base/b.yaml", Mode::File, "b"),
        ("apps/a.yaml", Mode::Link, "../base/b.yaml"),
        ("apps/dir", Mode::Link, "../base"),
        ("apps/x.txt", Mode::Link, "/etc/passwd"),
    ]);
    let found = raw_files(&good, "apps").unwrap().files;
    assert_eq!(found.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["apps/a.yaml"]);
    assert_eq!(&good.read("apps/a.yaml", &found[0].id).unwrap()[..], b"b");
    let bad = tree(&[("a.yaml", Mode::Link, "/etc/passwd")]);
    let want =
        "unable to read file at \"a.yaml\": a.yaml is a symbolic link to \"/etc/passwd\", which leaves the repository";
    assert_eq!(names(&bad, ""), Err(want.into()));
}

#[test]
fn submodules_are_passed_over_and_told() {
    let found = raw_files(&tree(&[("a.yaml", Mode::File, ""), ("vendor", Mode::Submodule, "")]), "").unwrap();
    assert_eq!((found.files.len(), found.submodules), (1, vec!["vendor".to_owned()]));
}
