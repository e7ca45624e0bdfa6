//! A load by the difference from the last one gives what a load from nothing gives, whatever changed.

use proptest::prelude::*;

use super::*;
use crate::generate::delta;

/// Files by path.
type Files = BTreeMap<&'static str, (Mode, String)>;

const FLUX: &str = "version: 1\nscanForFiles: {}\n";
const GENERATED: &str = "version: 1\ncommandUpdated: {generators: [{command: cat gen.txt}]}\n";

const PATHS: [&str; 10] = [
    ".flux.yaml",
    "a.yaml",
    "b.yml",
    "d/.flux.yaml",
    "d/Chart.yaml",
    "d/c.yaml",
    "d/e/f.yaml",
    "d/gen.txt",
    "d/values.yaml",
    "s.yaml",
];

fn sops(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sops").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// What may stand in a file: objects of few identities, so that they move, collide and vanish.
fn contents() -> Vec<(Mode, String)> {
    let one = |kind: &str, name: &str, namespace: &str, data: &str| {
        format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}{namespace}}}\ndata: {{k: {data}}}\n")
    };
    let (a, again) = (one("ConfigMap", "a", "", "x"), one("ConfigMap", "a", "", "y"));
    let (moved, secret) = (one("ConfigMap", "a", ", namespace: ns", "x"), one("Secret", "a", "", "eA=="));
    let other_group = a.replace("apiVersion: v1", "apiVersion: example.org/v1");
    let items = |names: &[&str]| {
        let items = names.iter().map(|n| format!("- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {n}}}}}\n"));
        format!("apiVersion: v1\nkind: List\nitems:\n{}", items.collect::<String>())
    };
    let texts = [
        a.clone(),
        format!("# moved down\n\n{a}"),
        again.clone(),
        again.replace('\n', "\r\n"),
        a.replace("ConfigMap", "configmap"),
        other_group,
        moved.clone(),
        secret.clone(),
        format!("{a}---\n{moved}"),
        format!("{moved}---\n{a}"),
        format!("{again}---\n---\n{secret}"),
        format!("{a}---\n{a}"),
        items(&["a"]),
        items(&["a", "b"]),
        items(&["b", "a"]),
        items(&[]),
        one("ConfigMap", "c", "", "x"),
        one("ConfigMap", "c", "", "y"),
        one("ConfigMap", "\"\"", "", "x"),
        "# nothing\n".into(),
        "replicas: 3\n".into(),
        "kind: ConfigMap\nmetadata: []\n".into(),
        "a: [".into(),
        FLUX.into(),
        GENERATED.into(),
        sops("age.yaml"),
        sops("multi.yaml"),
        sops("age.yaml").replacen("ENC[AES256_GCM,data:", "ENC[AES256_GCM,data:A", 1),
    ];
    let links = ["a.yaml", "d/c.yaml", "nowhere.yaml"].map(|to| (Mode::Link, to.to_owned()));
    let files = texts.into_iter().map(|text| (Mode::File, text));
    files.chain([(Mode::Executable, a)]).chain(links).chain([(Mode::Submodule, String::new())]).collect()
}

fn tree_of(revision: usize, files: &Files) -> Tree {
    let mut root = Dir::default();
    let mut texts = BTreeMap::new();
    for (path, (mode, text)) in files {
        let id = BlobId(Digest::of(text.as_bytes()).0);
        texts.insert(id, bytes::Bytes::copy_from_slice(text.as_bytes()));
        insert(&mut root, path, Entry::Leaf { id, mode: *mode });
    }
    let read = move |id: &BlobId| texts.get(id).cloned().ok_or_else(|| "no such content".to_owned());
    Tree::new(Revision(revision.to_string().into()), Arc::new(root), Arc::new(read))
}

fn generator(paths: &[&str], load_errors: LoadErrors) -> Generator {
    let keys = sops::SopsKeys { age: sops("age-key.txt"), ..sops::SopsKeys::default() };
    Generator::new(Settings { sops: Some(keys), load_errors, ..settings(paths) })
}

/// Everything that a load says.
fn said(loaded: &Result<Loaded, Error>) -> Result<(Vec<String>, String), Error> {
    let loaded = loaded.as_ref().map_err(Clone::clone)?;
    let object = |o: &Arc<Object>| format!("{o:?} {}", String::from_utf8_lossy(o.json()));
    let rest = format!("{:?} {:?} {}", loaded.warnings, loaded.errors, loaded.complete);
    Ok((loaded.objects.iter().map(object).collect(), rest))
}

/// A change of one or two files at once: what stands at a path, or nothing.
fn step() -> impl Strategy<Value = Vec<(&'static str, Option<(Mode, String)>)>> {
    let content = prop_oneof![5 => prop::sample::select(contents()).prop_map(Some), 1 => Just(None)];
    // Plain files change most; what a link or a config makes of all else is seen now and then.
    let path = prop_oneof![4 => prop::sample::select(vec!["a.yaml", "b.yml", "d/c.yaml", "d/e/f.yaml"]),
                           1 => prop::sample::select(PATHS.to_vec())];
    prop::collection::vec((path, content), 1..3)
}

/// What one step makes of some files; `None` removes one.
type Edits = Vec<(&'static str, Option<(Mode, String)>)>;

async fn run(paths: &[&str], load_errors: LoadErrors, steps: Vec<Edits>) {
    let (follower, mut files) = (generator(paths, load_errors), Files::new());
    for (number, step) in steps.into_iter().enumerate() {
        for (path, content) in step {
            match content {
                Some(content) => drop(files.insert(path, content)),
                None => drop(files.remove(path)),
            }
        }
        let tree = tree_of(number, &files);
        let followed = said(&load_with(&follower, &tree).await);
        let fresh = said(&load_with(&generator(paths, load_errors), &tree).await);
        assert_eq!(followed, fresh, "step {number}: {files:?}");
    }
}

#[test]
fn a_load_that_follows_the_change_says_what_a_load_from_nothing_says() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let paths = prop::sample::select(vec![&[][..], &["d", "a.yaml"], &["d/e", "b.yml", "a.yaml"], &["d", "d/e"]]);
    let load_errors = prop::sample::select(vec![LoadErrors::Stop, LoadErrors::Skip]);
    let steps = prop::collection::vec(step(), 2..14);
    proptest!(ProptestConfig::with_cases(150), |(paths in paths, errors in load_errors, steps in steps)| {
        runtime.block_on(run(paths, errors, steps));
    });
}

/// Each pair of contents of one file among others, and whether the difference alone is read.
#[tokio::test]
async fn only_what_changes_no_identity_is_taken_in_alone() {
    let (a, renamed) = (config_map("a"), config_map("other"));
    let edited = a.replace("{a: b}", "{a: c}");
    let other_group = a.replace("apiVersion: v1", "apiVersion: example.org/v1");
    for (now, alone) in [
        (edited.clone(), true),
        (format!("# a line\n{a}"), true),
        (edited.replace('\n', "\r\n"), true),
        (other_group, true),
        (sops("age.yaml").replace("name: ", "namespace: ns\n    name: "), false),
        (renamed.clone(), false),
        (a.replace("namespace: ns", "namespace: elsewhere"), false),
        (a.replace("ConfigMap", "Secret"), false),
        (format!("{a}---\n{renamed}"), false),
        (String::new(), false),
        ("a: [".to_owned(), false),
    ] {
        let generator = generator(&[], LoadErrors::Skip);
        let files = |a: &str| {
            let file = |text: &str| (Mode::File, text.to_owned());
            Files::from([("a.yaml", file(a)), ("b.yml", file(&config_map("b"))), ("d/gen.txt", file(a))])
        };
        load_with(&generator, &tree_of(1, &files(&a))).await.unwrap();
        let tree = tree_of(2, &files(&now));
        let taken = delta::load(&generator, &tree, &Stop::new()).await;
        assert_eq!(taken.is_some(), alone, "{now}");
        let loaded = match taken {
            Some(loaded) => Ok(loaded),
            None => load_with(&generator, &tree).await,
        };
        assert_eq!(said(&loaded), said(&load_with(&self::generator(&[], LoadErrors::Skip), &tree).await), "{now}");
    }
}
