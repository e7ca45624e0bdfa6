//! The kept corpus of the fuzz targets, replayed on the stable compiler, each file also with a bounded number of random
//! changes. The same numbers every time, so that a failure repeats.

#[allow(dead_code, reason = "shared with the fuzz targets")]
#[path = "../fuzz/checks.rs"]
mod checks;

use std::path::Path;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

/// Changed versions of each file.
const CHANGES: usize = 60;

/// Pieces that mean something to one of the readers.
const PIECES: &[&str] = &[
    "\n",
    "\t",
    " ",
    "  ",
    ":",
    ": ",
    "- ",
    "? ",
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "! ",
    "|\n",
    ">-\n",
    "[",
    "]",
    "{",
    "}",
    ",",
    "\"",
    "'",
    "\\",
    "#",
    "%",
    "@",
    "~",
    "null",
    "0x",
    "1e",
    "-",
    "\u{feff}",
    "\u{2028}",
    "é",
    "\0",
    "$patch: delete\n",
    "$retainKeys: []\n",
    "sops: {}\n",
    "ENC[",
    "sha256:",
    "rel=\"next\"",
    "\"tags\":",
    "Bearer ",
    "://",
    "@",
    "..",
    "/",
    "<< ",
    " >>",
    "<<- ",
    " ->>",
    "<< end >>",
    "<< range inputs.l >>",
    "<< if ",
    "inputs.m",
    " | quote",
    "$x := ",
    "printf \"%v\" ",
    "(",
    ")",
    "`",
];

fn replay(target: &str, check: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "{} holds the corpus", dir.display());
    let contents: Vec<Vec<u8>> = files.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let mut random = StdRng::seed_from_u64(7);
    for content in &contents {
        check(content);
        for _ in 0..CHANGES {
            let mut changed = content.clone();
            for _ in 0..random.random_range(1..6) {
                change(&mut changed, &contents, &mut random);
            }
            check(&changed);
        }
    }
}

/// Drops, doubles, swaps in or overwrites a stretch of bytes.
fn change(text: &mut Vec<u8>, others: &[Vec<u8>], random: &mut StdRng) {
    let at = random.random_range(0..=text.len());
    let end = (at + random.random_range(0..12)).min(text.len());
    match random.random_range(0..5) {
        0 => drop(text.drain(at..end)),
        1 => {
            let stretch = text[at..end].to_vec();
            text.splice(at..at, stretch);
        }
        2 => {
            let piece = PIECES.choose(random).unwrap();
            text.splice(at..at, piece.bytes());
        }
        3 => {
            let other = others.choose(random).unwrap();
            let from = random.random_range(0..=other.len());
            let to = (from + 40).min(other.len());
            text.splice(at..end, other[from..to].iter().copied());
        }
        _ => {
            if let Some(byte) = text.get_mut(at) {
                *byte = random.random();
            }
        }
    }
}

#[test]
fn the_loader_survives_its_corpus() {
    replay("loader", checks::loader);
}

#[test]
fn the_reader_of_flux_yaml_survives_its_corpus() {
    replay("flux_yaml", checks::flux_yaml);
}

#[test]
fn git_urls_survive_their_corpus() {
    replay("git_url", checks::git_url);
}

#[test]
fn patches_survive_their_corpus() {
    replay("patch", checks::patch);
}

#[test]
fn the_decryption_survives_its_corpus() {
    replay("sops", checks::sops);
}

#[test]
fn image_references_survive_their_corpus() {
    replay("image", checks::image);
}

#[test]
fn tag_patterns_survive_their_corpus() {
    replay("pattern", checks::pattern);
}

#[test]
fn versions_survive_their_corpus() {
    replay("semver", checks::semver);
}

#[test]
fn workloads_survive_their_corpus() {
    replay("workload", checks::workload);
}

#[test]
fn the_readers_of_what_registries_say_survive_their_corpus() {
    replay("registry", checks::registry);
}

#[test]
fn what_input_providers_read_survives_its_corpus() {
    replay("provider", checks::provider);
}

#[test]
fn the_editor_survives_its_corpus() {
    replay("editor", checks::editor);
}

#[test]
fn the_patch_maker_survives_its_corpus() {
    replay("patch_maker", checks::patch_maker);
}

#[test]
fn the_apis_json_survives_its_corpus() {
    replay("api_json", checks::api_json);
}

#[test]
fn webhooks_survive_their_corpus() {
    replay("webhook", checks::webhook);
}

#[test]
fn answers_survive_their_corpus() {
    replay("answers", checks::answers);
}

#[test]
fn templates_survive_their_corpus() {
    replay("template", checks::template);
}

#[test]
fn emitted_yaml_survives_its_corpus() {
    replay("emit", checks::emit);
}

#[test]
fn expressions_survive_their_corpus() {
    replay("expression", checks::expression);
}

#[test]
fn kubeconfigs_survive_their_corpus() {
    replay("kubeconfig", checks::kubeconfig);
}

#[test]
fn words_of_statuses_survive_their_corpus() {
    replay("status_words", checks::status_words);
}
