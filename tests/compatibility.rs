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

/// The page about Flux v1.
const PAGE: &str = "docs/compatibility.md";
/// The page about flux-operator.
const RESOURCE_SETS: &str = "docs/compatibility-resourceset.md";

/// All that stands between single backticks on a page, metrics without their labels too.
fn named(page: &str) -> BTreeSet<String> {
    names_in(&read(page))
}

fn names_in(page: &str) -> BTreeSet<String> {
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
    all_among(&named(PAGE), (PAGE, what, least), wanted);
}

#[track_caller]
fn all_among(
    named: &BTreeSet<String>,
    (page, what, least): (&str, &str, usize),
    wanted: impl IntoIterator<Item = String>,
) {
    let wanted = wanted.into_iter().collect::<BTreeSet<_>>();
    assert!(wanted.len() >= least, "only {} of {what} were found in the source: {wanted:?}", wanted.len());
    let absent: Vec<&String> = wanted.difference(named).collect();
    assert!(absent.is_empty(), "{page} has no line for these {what}: {absent:?}");
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
        let elsewhere = ["tests.rs", "controllers.rs", "tokens.rs"].iter().any(|name| file.ends_with(name));
        let path = file.to_string_lossy().into_owned();
        if path.contains("metrics") && !path.contains("/tests/") && !elsewhere {
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

/// The fields of a schema as the page names them: lists with brackets behind them.
fn fields(schema: &serde_json::Value, path: &str, into: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match field["items"].is_object() {
            true => {
                into.push(format!("{path}[]"));
                fields(&field["items"], &format!("{path}[]"), into);
            }
            false => {
                into.push(path.clone());
                fields(field, &path, into);
            }
        }
    }
}

/// What an API machinery type has is not told field by field.
const WELL_KNOWN: &[&str] =
    &["matchExpressions[].", "selector.matchExpressions", "selector.matchLabels", "conditions[]."];

#[test]
fn the_page_of_resource_sets_has_every_field_of_the_schemas() {
    let page = read(RESOURCE_SETS);
    for definition in fluxd::api::definitions() {
        let definition = serde_json::to_value(definition).unwrap();
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
        let section = page.split("\n## ").find(|section| section.starts_with(&format!("{kind}\n")));
        let named = names_in(section.unwrap_or_else(|| panic!("no section about {kind}")));
        let mut all = Vec::new();
        fields(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut all);
        all.retain(|field| !["spec", "status", "metadata", "apiVersion", "kind"].contains(&field.as_str()));
        all.retain(|field| !WELL_KNOWN.iter().any(|known| field.contains(known)));
        all_among(&named, (RESOURCE_SETS, &kind, 30), all);
    }
}

#[test]
fn the_page_of_resource_sets_has_every_annotation_reason_flag_and_metric() {
    let named = named(RESOURCE_SETS);
    let constants = |file: &str| {
        let text = read(file);
        let values = text.lines().filter(|line| line.starts_with("pub const ")).filter_map(|line| quoted(line).next());
        values.map(str::to_owned).collect::<Vec<_>>()
    };
    let annotations = constants("src/api/annotation.rs").into_iter().filter(|value| value.contains('/'));
    all_among(&named, (RESOURCE_SETS, "annotations", 15), annotations);
    let words = constants("src/api/condition.rs").into_iter().filter(|value| !value.contains(' '));
    // Conditions of workloads that others set.
    all_among(&named, (RESOURCE_SETS, "reasons", 14), words.filter(|word| word != "Available"));
    let table = read("src/cli/flags/controllers.rs");
    let flags = table.split("Flag::new(").skip(1).filter_map(|row| quoted(row).next()).map(|name| format!("--{name}"));
    all_among(&named, (RESOURCE_SETS, "flags", 18), flags);
    let text = read("src/report/metrics/controllers.rs") + &read("src/report/metrics/tokens.rs");
    let families = ["flux_", "fluxd_", "controller_runtime_", "workqueue_", "rest_client_"];
    let metrics = quoted(&text).filter(|name| families.iter().any(|family| name.starts_with(family)));
    all_among(&named, (RESOURCE_SETS, "metrics", 15), metrics.filter(|name| !name.contains(' ')).map(str::to_owned));
}

#[test]
fn the_page_of_resource_sets_has_every_verb_below_rset_and_rsip() {
    for group in ["rset", "rsip"] {
        let output = Command::new(env!("CARGO_BIN_EXE_fluxctl")).arg(group).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let list = text.lines().skip_while(|line| *line != "Available Commands:").skip(1);
        let verbs = list.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next());
        let verbs = verbs.map(|verb| format!("{group} {verb}"));
        all_among(&named(RESOURCE_SETS), (RESOURCE_SETS, "verbs", 4), verbs);
    }
}

#[test]
fn every_test_that_the_page_names_exists() {
    every_test_exists(PAGE);
}

#[test]
fn every_test_that_the_page_of_resource_sets_names_exists() {
    every_test_exists(RESOURCE_SETS);
}

/// A test is named by its path; the last part has to be a function (or a module) that exists.
#[track_caller]
fn every_test_exists(page: &str) {
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
    let mut paths: Vec<String> = named(page)
        .into_iter()
        .filter(|name| name.contains("::") && !name.ends_with("::") && !name.contains(' '))
        .collect();
    paths.retain(|path| !exists(path));
    assert!(paths.is_empty(), "{page} names tests that are not there: {paths:#?}");
}

/// Whether a module, by its path below `src`, has a module of tests: in its own file or beside it.
fn has_tests(sources: &[(PathBuf, String)], module: &str) -> bool {
    let at = |end: &str| top().join("src").join(format!("{module}{end}"));
    let text = |path: PathBuf| sources.iter().find(|(file, _)| *file == path).map(|(_, text)| text.as_str());
    let inside = [at(".rs"), at("/mod.rs")].into_iter().filter_map(text).any(|text| text.contains("mod tests"));
    inside || [at("/tests.rs"), at("/tests/mod.rs")].into_iter().any(|path| text(path).is_some())
}
