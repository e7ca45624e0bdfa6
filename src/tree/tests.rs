//! Paths and links of a tree made in memory.

use super::*;

/// A tree of `(path, mode, content)`; the id of a content is its index.
pub(crate) fn tree(files: &[(&str, Mode, &str)]) -> Tree {
    let mut root = Dir::default();
    let mut contents = Vec::new();
    for (index, (path, mode, content)) in files.iter().enumerate() {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&(index as u64).to_be_bytes());
        insert(&mut root, path, Entry::Leaf { id: BlobId(id), mode: *mode });
        contents.push(bytes::Bytes::copy_from_slice(content.as_bytes()));
    }
    let read = move |id: &BlobId| {
        let index = u64::from_be_bytes(id.0[..8].try_into().expect("eight bytes"));
        contents.get(index as usize).cloned().ok_or_else(|| "no such content".to_owned())
    };
    Tree::new(Revision("0".repeat(40).into()), Arc::new(root), Arc::new(read))
}

fn insert(dir: &mut Dir, path: &str, entry: Entry) {
    let Some((first, rest)) = path.split_once('/') else {
        dir.entries.insert(path.into(), entry);
        return;
    };
    let mut below = match dir.entries.remove(first) {
        Some(Entry::Dir(below)) => Arc::try_unwrap(below).expect("held once"),
        _ => Dir::default(),
    };
    insert(&mut below, rest, entry);
    dir.entries.insert(first.into(), Entry::Dir(Arc::new(below)));
}

#[test]
fn links_are_followed_within_the_tree_and_refused_beyond_it() {
    let tree = tree(&[
        ("base/a.yaml", Mode::File, "a"),
        ("apps/a.yaml", Mode::Link, "../base/a.yaml"),
        ("apps/base", Mode::Link, "../base/"),
        ("apps/twice", Mode::Link, "base/a.yaml"),
        ("apps/out", Mode::Link, "../../etc/passwd"),
        ("apps/absolute", Mode::Link, "/etc/passwd"),
        ("apps/circle", Mode::Link, "circle"),
        ("apps/dangling", Mode::Link, "nothing"),
        ("apps/beyond", Mode::Link, "a.yaml/x"),
    ]);
    for (path, want) in [
        ("apps/a.yaml", Ok("base/a.yaml")),
        ("apps/base", Ok("base")),
        ("apps/base/a.yaml", Ok("base/a.yaml")),
        ("./apps//twice", Ok("base/a.yaml")),
        ("", Ok("")),
        ("apps/out", Err("apps/out is a symbolic link to \"../../etc/passwd\", which leaves the repository")),
        ("apps/absolute", Err("apps/absolute is a symbolic link to \"/etc/passwd\", which leaves the repository")),
        ("apps/circle", Err("apps/circle is a symbolic link to \"circle\", which leads in a circle")),
        ("apps/dangling", Err("apps/dangling is a symbolic link to \"nothing\", which leads nowhere")),
        ("apps/beyond", Err("apps/a.yaml is a symbolic link to \"../base/a.yaml\", which leads nowhere")),
        ("apps/none", Err("stat apps/none: no such file or directory")),
        ("../etc", Err("path \"../etc\" is outside of the repository")),
    ] {
        let got = tree.follow(path).map(|(real, _)| real).map_err(|e| e.to_string());
        assert_eq!(got.as_deref().map_err(String::as_str), want, "{path}");
    }
}

#[test]
fn a_lookup_goes_through_links_to_directories_but_shows_the_last_one() {
    let tree = tree(&[("base/a.yaml", Mode::File, "a"), ("link", Mode::Link, "base")]);
    assert!(matches!(tree.entry("link"), Ok(Entry::Leaf { mode: Mode::Link, .. })));
    assert!(matches!(tree.entry("link/a.yaml"), Ok(Entry::Leaf { mode: Mode::File, .. })));
    assert_eq!(tree.entry("link/b.yaml").unwrap_err().to_string(), "stat link/b.yaml: no such file or directory");
}
