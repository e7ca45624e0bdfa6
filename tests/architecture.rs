//! The rules of the house as a test: who may import whom, where side effects live, how large files may grow, and that
//! every file says what it is for. The table below is the one that ARCHITECTURE.md explains.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Each room with the rooms it may import. Levels go down only, so no cycle can be written here without being seen.
const ROOMS: &[(u8, &str, &[&str])] = &[
    (0, "object", &[]),
    (0, "tree", &[]),
    (0, "runtime", &[]),
    (1, "api", &["object"]),
    (1, "health", &["object"]),
    (1, "cluster", &["object", "runtime"]),
    (1, "source", &["tree", "runtime"]),
    (1, "generate", &["tree", "object", "runtime"]),
    (1, "registry", &["object", "runtime"]),
    (1, "template", &["object"]),
    (2, "provider", &["object", "api", "registry", "runtime"]),
    (2, "plan", &["object", "health"]),
    (3, "apply", &["object", "health", "plan", "cluster", "runtime"]),
    (4, "report", &["object", "api", "health", "plan", "apply", "runtime"]),
    (4, "engine", &["object", "health", "plan", "cluster", "apply", "runtime"]),
    (
        5,
        "operator",
        &["object", "tree", "api", "health", "generate", "cluster", "plan", "apply", "engine", "report", "runtime"],
    ),
    (5, "update", &["object", "registry", "report"]),
    (5, "client", &["object", "report", "runtime"]),
    (6, "controllers", &["object", "api", "template", "provider", "registry", "operator", "report", "runtime"]),
    (6, "daemon", &["object", "tree", "source", "generate", "registry", "operator", "update", "report", "runtime"]),
    (7, "serve", &["daemon", "operator", "report", "object", "runtime"]),
    (
        8,
        "cli",
        &[
            "daemon",
            "controllers",
            "operator",
            "serve",
            "client",
            "report",
            "registry",
            "provider",
            "source",
            "generate",
            "template",
            "api",
            "object",
            "runtime",
        ],
    ),
];

/// Rooms that are functions of data: nothing asynchronous, no files, processes, clocks or clients.
const PURE: &[&str] = &["object", "tree", "api", "health", "template", "plan", "update"];

/// Words that a pure room never writes, as path prefixes.
const IMPURE_PATHS: &[&str] = &[
    "kube::",
    "tokio::",
    "std::fs",
    "std::process",
    "std::env",
    "std::net",
    "std::time::SystemTime",
    "std::time::Instant",
];

/// Paths that a pure room may name all the same: custom resources are types, and their schemas are derived.
const PURE_AFTER_ALL: &[(&str, &str)] = &[("api", "kube::")];

/// Crates with one door each: the room that may use them.
const DOORS: &[(&str, &[&str])] = &[
    ("git2", &["source"]),
    ("axum", &["serve"]),
    ("landlock", &["runtime"]),
    ("kube", &["api", "cluster", "operator", "runtime", "client", "controllers", "cli"]),
    ("cel", &["controllers"]),
    ("ring", &["provider"]),
    ("prometheus", &["report"]),
    ("age", &["generate"]),
    ("pgp", &["generate"]),
    ("reqwest", &["registry", "provider", "client", "operator", "serve"]),
    ("tokio_tungstenite", &["serve"]),
];

/// Lines a file may have, tests in it not counted.
const FILE_LIMIT: usize = 500;

struct Source {
    room: String,
    path: PathBuf,
    text: String,
    file: syn::File,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let src = root().join("src");
    let mut paths = Vec::new();
    rust_files(&src, &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let path = path.strip_prefix(&src).unwrap().to_path_buf();
            let room = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
            Source { room: if path.components().count() == 1 { String::new() } else { room }, path, text, file }
        })
        .collect()
}

fn is_test_file(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n == "tests.rs") || path.components().any(|c| c.as_os_str() == "tests")
}

fn is_test_only(attrs: &[syn::Attribute]) -> bool {
    attrs
        .iter()
        .any(|a| a.path().is_ident("cfg") && matches!(&a.meta, syn::Meta::List(l) if l.tokens.to_string() == "test"))
}

/// Every path that code outside of tests names, with its line; `use a::{b, c}` gives `a::b` and `a::c`.
#[derive(Default)]
struct Paths {
    found: Vec<(String, usize)>,
}

impl Paths {
    fn of(file: &syn::File) -> Vec<(String, usize)> {
        let mut paths = Self::default();
        paths.visit_file(file);
        paths.found
    }

    fn use_tree(&mut self, prefix: &str, tree: &syn::UseTree) {
        let join = |name: &syn::Ident| if prefix.is_empty() { name.to_string() } else { format!("{prefix}::{name}") };
        match tree {
            syn::UseTree::Path(p) => self.use_tree(&join(&p.ident), &p.tree),
            syn::UseTree::Name(n) => self.found.push((join(&n.ident), n.ident.span().start().line)),
            syn::UseTree::Rename(r) => self.found.push((join(&r.ident), r.ident.span().start().line)),
            syn::UseTree::Glob(g) => self.found.push((format!("{prefix}::*"), g.star_token.spans[0].start().line)),
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.use_tree(prefix, t)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test_only(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_test_only(&item.attrs) {
            self.use_tree("", &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if names.len() > 1 {
            self.found.push((names.join("::"), path.segments[0].ident.span().start().line));
        }
        syn::visit::visit_path(self, path);
    }
}

fn assert_none(broken: &[String], rule: &str) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let table: BTreeMap<&str, &[&str]> = ROOMS.iter().map(|(_, room, may)| (*room, *may)).collect();
    let mut broken = Vec::new();
    for source in sources().iter().filter(|s| !s.room.is_empty() && !is_test_file(&s.path)) {
        let Some(may) = table.get(source.room.as_str()) else {
            broken.push(format!("src/{}: room `{}` is not in the table", source.path.display(), source.room));
            continue;
        };
        for (path, line) in Paths::of(&source.file) {
            let Some(rest) = path.strip_prefix("crate::") else { continue };
            let room = rest.split("::").next().unwrap_or("");
            let place = format!("src/{}:{line}", source.path.display());
            if !table.contains_key(room) {
                broken.push(format!("{place}: `{path}` goes through the crate root; name the room"));
            } else if room != source.room && !may.contains(&room) {
                broken.push(format!(
                    "{place}: `{}` may not import `{room}` (allowed: {})",
                    source.room,
                    may.join(", ")
                ));
            }
        }
    }
    assert_none(&broken, "imports against the table in ARCHITECTURE.md");
}

#[test]
fn the_table_goes_down_only() {
    let level: BTreeMap<&str, u8> = ROOMS.iter().map(|(l, room, _)| (*room, *l)).collect();
    for (own, room, may) in ROOMS {
        for other in *may {
            assert!(
                level[other] < *own,
                "{room} (level {own}) may not be allowed to import {other} (level {})",
                level[other]
            );
        }
    }
}

#[test]
fn every_room_stands_in_the_table_and_every_row_has_a_room() {
    let mut rooms: Vec<String> = sources().into_iter().map(|s| s.room).filter(|r| !r.is_empty()).collect();
    rooms.sort();
    rooms.dedup();
    let mut table: Vec<String> = ROOMS.iter().map(|(_, room, _)| (*room).to_owned()).collect();
    table.sort();
    assert_eq!(rooms, table);
}

#[test]
fn pure_rooms_have_no_effects() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|s| PURE.contains(&s.room.as_str()) && !is_test_file(&s.path)) {
        for (path, line) in Paths::of(&source.file) {
            let allowed = PURE_AFTER_ALL.iter().any(|(room, good)| source.room == *room && path.starts_with(good));
            if !allowed && IMPURE_PATHS.iter().any(|bad| path.starts_with(bad)) {
                broken.push(format!("src/{}:{line}: `{path}`", source.path.display()));
            }
        }
        if source.text.contains("async fn") {
            broken.push(format!("src/{}: async function", source.path.display()));
        }
    }
    assert_none(&broken, "effects in a pure room");
}

#[test]
fn effects_go_through_one_door_each() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|s| !is_test_file(&s.path)) {
        for (path, line) in Paths::of(&source.file) {
            let first = path.split("::").next().unwrap_or("");
            for (name, rooms) in DOORS {
                if first == *name && !rooms.contains(&source.room.as_str()) {
                    let place = format!("src/{}:{line}", source.path.display());
                    broken.push(format!("{place}: `{path}`: only {} may use {name}", rooms.join(", ")));
                }
            }
        }
    }
    assert_none(&broken, "a crate used outside of its door");
}

#[test]
fn every_file_says_what_it_is_for() {
    let broken: Vec<String> = sources()
        .iter()
        .filter(|s| !s.text.starts_with("//!"))
        .map(|s| format!("src/{}: the first line is no `//!` header", s.path.display()))
        .collect();
    assert_none(&broken, "files without a header");
}

#[test]
fn files_stay_small() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|s| !is_test_file(&s.path)) {
        let code = source.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
        let lines = code.lines().count();
        if lines > FILE_LIMIT {
            broken.push(format!("src/{}: {lines} lines (limit {FILE_LIMIT})", source.path.display()));
        }
    }
    assert_none(&broken, "files that grew too long");
}

#[test]
fn no_room_is_called_util() {
    let broken: Vec<String> = sources()
        .iter()
        .filter(|s| {
            s.path.components().any(|c| {
                let name = c.as_os_str().to_string_lossy();
                ["util", "utils", "common", "helpers", "misc", "v2"].contains(&name.trim_end_matches(".rs"))
            })
        })
        .map(|s| format!("src/{}", s.path.display()))
        .collect();
    assert_none(&broken, "names that say nothing");
}

#[test]
fn every_test_file_is_run() {
    let mut files = Vec::new();
    rust_files(&root().join("tests"), &mut files);
    let mut broken = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let parent = path.parent().unwrap();
        let listed = |list: PathBuf| {
            fs::read_to_string(list).is_ok_and(|t| {
                t.lines()
                    .any(|l| l.trim_start_matches("pub ").trim_start_matches("pub(crate) ") == format!("mod {name};"))
            })
        };
        let folder = parent.file_name().unwrap().to_string_lossy().into_owned();
        let is_root = name == "main" || name == "mod";
        if !is_root
            && !listed(parent.join("main.rs"))
            && !listed(parent.join("mod.rs"))
            && !listed(parent.parent().unwrap().join(format!("{folder}.rs")))
        {
            broken.push(format!("{}", path.display()));
        }
    }
    assert_none(&broken, "test files that no module lists");
}
