//! `docs/compatibility.md` is complete and true to the source: it has a line for every flag, route, metric, verb and chart
//! value that there is, and every test that it names exists. What the lines say is for people to judge.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    let path = top().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All that stands between single backticks on the page, metrics without their labels too.
fn named() -> BTreeSet<String> {
    let page = read("docs/compatibility.md");
    let names = page.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    names
        .flat_map(|name| [Some(name), name.split_once('{').map(|(name, _)| name)])
        .flatten()
        .map(str::to_owned)
        .collect()
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => found.extend(rust_files(&path)),
            path if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            _ => (),
        }
    }
    found
}

/// The strings of a text that are written between double quotes on one line.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('"').skip(1).step_by(2))
}

#[track_caller]
fn all_named(what: &str, least: usize, wanted: impl IntoIterator<Item = String>) {
    let (named, wanted) = (named(), wanted.into_iter().collect::<BTreeSet<_>>());
    assert!(wanted.len() >= least, "only {} of {what} were found in the source: {wanted:?}", wanted.len());
    let absent: Vec<&String> = wanted.difference(&named).collect();
    assert!(absent.is_empty(), "docs/compatibility.md has no line for these {what}: {absent:?}");
}

#[test]
fn the_page_has_every_flag() {
    let table = read("src/cli/flags/table.rs");
    let rows = table.split("flag(").skip(1).filter_map(|row| quoted(row).next());
    all_named("flags", 80, rows.filter(|name| !name.contains(' ')).map(|name| format!("--{name}")));
}

/// Routes of v1 stand without their prefix, as its users write them.
#[test]
fn the_page_has_every_route() {
    let table = read("src/serve/routes.rs");
    let rows = table.lines().filter_map(|line| line.trim().split_once(" \"/"));
    let routes = rows.filter(|(method, _)| ["GET", "POST", "PATCH", "PUT", "DELETE", "HEAD"].contains(method));
    let written = routes.map(|(method, rest)| {
        let path = format!("/{}", rest.split('"').next().unwrap_or_default());
        format!("{method} {}", path.strip_prefix("/api/flux/").map_or(path.clone(), |rest| format!("/{rest}")))
    });
    all_named("routes", 30, written);
}

#[test]
fn the_page_has_every_metric() {
    let mut metrics = Vec::new();
    for file in rust_files(&top().join("src/report")) {
        if file.to_string_lossy().contains("metrics") && !file.ends_with("tests.rs") {
            let text = std::fs::read_to_string(file).unwrap();
            let names = quoted(&text).filter(|text| text.starts_with("flux_") || text.starts_with("fluxd_"));
            metrics.extend(names.filter(|name| !name.contains(['{', ' '])).map(str::to_owned));
        }
    }
    all_named("metrics", 22, metrics);
}

/// The verbs are those that the program itself lists.
#[test]
fn the_page_has_every_verb_of_fluxctl() {
    let output = Command::new(env!("CARGO_BIN_EXE_fluxctl")).arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    let list = text.lines().skip_while(|line| !line.trim_end().ends_with("ommands:")).skip(1);
    let verbs = list.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next());
    all_named("verbs", 15, verbs.map(str::to_owned));
}

#[test]
fn the_page_has_every_value_of_the_chart() {
    all_named("values", 100, crate::flows::chart::values().iter().map(|value| (*value).to_owned()));
}

/// A test is named by its path; the last part has to be a function (or a module) that exists.
#[test]
fn every_test_that_the_page_names_exists() {
    let files = [rust_files(&top().join("src")), rust_files(&top().join("tests"))].concat();
    let sources: Vec<(PathBuf, String)> =
        files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).unwrap())).collect();
    let exists = |path: &str| {
        if let Some(room) = path.strip_suffix("::tests") {
            return has_tests(&sources, &room.replace("::", "/"));
        }
        let last = path.rsplit("::").next().unwrap_or(path);
        let module = sources.iter().any(|(file, _)| {
            let stem = file.file_stem().is_some_and(|stem| stem == last);
            stem || file.parent().and_then(Path::file_name).is_some_and(|name| name == last)
        });
        module || sources.iter().any(|(_, text)| text.contains(&format!("fn {last}(")))
    };
    let mut paths: Vec<String> = named()
        .into_iter()
        .filter(|name| name.contains("::") && !name.ends_with("::") && !name.contains(' '))
        .collect();
    paths.retain(|path| !exists(path));
    assert!(paths.is_empty(), "docs/compatibility.md names tests that are not there: {paths:#?}");
}

/// Whether a module, by its path below `src`, has a module of tests: in its own file or beside it.
fn has_tests(sources: &[(PathBuf, String)], module: &str) -> bool {
    let at = |end: &str| top().join("src").join(format!("{module}{end}"));
    let text = |path: PathBuf| sources.iter().find(|(file, _)| *file == path).map(|(_, text)| text.as_str());
    let inside = [at(".rs"), at("/mod.rs")].into_iter().filter_map(text).any(|text| text.contains("mod tests"));
    inside || [at("/tests.rs"), at("/tests/mod.rs")].into_iter().any(|path| text(path).is_some())
}
