//! `.flux.yaml` with the real kustomize: bases beside the overlays, several environments, a patch file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use fluxd::generate::{Export, Generator, Loaded, Settings};
use fluxd::object::Digest;
use fluxd::runtime::Stop;
use fluxd::tree::{BlobId, Dir, Entry, Mode, Revision, Tree};

use crate::rig::run;

/// A directory on disk as a tree.
fn tree(revision: &str, top: &Path) -> Tree {
    let mut contents = BTreeMap::new();
    let root = dir(top, &mut contents);
    let read = move |id: &BlobId| contents.get(id).cloned().ok_or_else(|| "no such content".to_owned());
    Tree::new(Revision(revision.into()), Arc::new(root), Arc::new(read))
}

fn dir(path: &Path, contents: &mut BTreeMap<BlobId, bytes::Bytes>) -> Dir {
    let mut found = Dir::default();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let value = if entry.file_type().unwrap().is_dir() {
            Entry::Dir(Arc::new(dir(&entry.path(), contents)))
        } else {
            let bytes = bytes::Bytes::from(std::fs::read(entry.path()).unwrap());
            let id = BlobId(Digest::of(&bytes).0);
            contents.insert(id, bytes);
            Entry::Leaf { id, mode: Mode::File }
        };
        found.entries.insert(entry.file_name().to_str().unwrap().into(), value);
    }
    found
}

/// An export that copies the directory.
fn export(top: &Path) -> Export {
    let from = format!("{}/.", top.display());
    Arc::new(move |_, to| {
        let from = from.clone();
        Box::pin(async move {
            run(Command::new("cp").args(["-a", &from]).arg(to));
            Ok(())
        })
    })
}

fn generator(paths: &[&str]) -> Generator {
    let tools = run(Command::new("scripts/tools").arg("etcd-kwok-kustomize"));
    let path = format!("{}:{}", tools.trim(), std::env::var("PATH").unwrap());
    Generator::new(Settings {
        paths: paths.iter().map(|p| (*p).to_owned()).collect(),
        manifest_generation: true,
        env: BTreeMap::from([("PATH".into(), path.into())]),
        ..Settings::default()
    })
}

fn summary(loaded: &Loaded) -> Vec<String> {
    let image = |value: &serde_json::Value| {
        value.pointer("/spec/template/spec/containers/0/image").and_then(|i| i.as_str().map(str::to_owned))
    };
    let line = |o: &Arc<fluxd::object::Object>| match image(&o.value()) {
        Some(image) => format!("{} {image}", o.id()),
        None => o.id().to_string(),
    };
    loaded.objects.iter().map(line).collect()
}

const FILES: &[(&str, &str)] = &[
    ("base/kustomization.yaml", "resources: [deployment.yaml]\nconfigMapGenerator:\n- {name: conf, literals: [a=b]}\n"),
    (
        "base/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  \
         template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: 'web:1'}]}\n",
    ),
    ("staging/kustomization.yaml", "namespace: staging\nresources: [../base]\n"),
    ("production/kustomization.yaml", "namespace: production\nresources: [../base]\n"),
    (
        "production/flux-patch.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: production}\nspec:\n  template:\n    spec:\n      \
         $setElementOrder/containers: [{name: web}]\n      containers: [{name: web, image: 'web:7'}]\n",
    ),
    ("staging/.flux.yaml", "version: 1\ncommandUpdated: {generators: [{command: kustomize build .}]}\n"),
    (
        "production/.flux.yaml",
        "version: 1\npatchUpdated:\n  generators: [{command: kustomize build .}]\n  patchFile: flux-patch.yaml\n",
    ),
];

#[tokio::test]
async fn overlays_of_one_base_are_built_and_patched() {
    let top = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = top.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let generator = generator(&["staging", "production"]);
    let (tree, export) = (tree("1", top.path()), export(top.path()));
    let loaded = generator.load(&tree, &export, false, &Stop::new()).await.unwrap();
    let found = summary(&loaded);
    let conf = |namespace: &str| format!("{namespace}:configmap/conf-");
    assert!(found[0].starts_with(&conf("staging")) && found[2].starts_with(&conf("production")), "{found:?}");
    assert_eq!([&found[1], &found[3]], ["staging:deployment/web web:1", "production:deployment/web web:7"]);
    assert_eq!(found.len(), 4);
}

#[tokio::test]
async fn what_kustomize_says_is_in_the_error() {
    let top = tempfile::tempdir().unwrap();
    std::fs::write(top.path().join(".flux.yaml"), FILES[5].1).unwrap();
    let (tree, export) = (tree("1", top.path()), export(top.path()));
    let error = generator(&[]).load(&tree, &export, false, &Stop::new()).await.unwrap_err().to_string();
    let head = "error executing generator command \"kustomize build .\" from file \".flux.yaml\": exit status 1\nerror output:\n";
    assert!(error.starts_with(head) && error.contains("unable to find one of 'kustomization.yaml'"), "{error}");
}
