//! Updates of workloads in raw files, by updaters and in patch files (fluxd-v1 §4.3, §4.5, §4.6, §14).

use super::*;

use std::path::Path;

use crate::object::ObjectId;
use crate::tree::FileChange;

const GREETER: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: helloworld # say hello\nspec:\n  template:\n    \
                       spec:\n      containers:\n      - name: greeter\n        image: quay.io/weaveworks/helloworld:master-a000001\n      \
                       - name: sidecar\n        image: quay.io/weaveworks/sidecar:master-a000002\n";

/// What a directory holds that differs from a tree.
fn collect() -> Collect {
    Arc::new(|tree, dir| {
        Box::pin(async move {
            let (mut files, mut known) = (BTreeMap::new(), BTreeMap::new());
            list(&tree, tree.root(), "", &mut known);
            read(&dir, &dir, &mut files);
            let mut changes = BTreeMap::new();
            for (path, bytes) in &files {
                if known.get(path) != Some(bytes) {
                    changes.insert(path.clone(), FileChange::Write { bytes: bytes.clone().into(), mode: None });
                }
            }
            let gone = known.into_keys().filter(|path| !files.contains_key(path));
            changes.extend(gone.map(|path| (path, FileChange::Remove)));
            Ok(changes)
        })
    })
}

fn list(tree: &Tree, dir: &Dir, at: &str, known: &mut BTreeMap<String, Vec<u8>>) {
    for (name, entry) in &dir.entries {
        let path = if at.is_empty() { name.to_string() } else { format!("{at}/{name}") };
        match entry {
            Entry::Dir(below) => list(tree, below, &path, known),
            Entry::Leaf { id, .. } => drop(known.insert(path.clone(), tree.read(&path, id).unwrap().to_vec())),
        }
    }
}

fn read(root: &Path, dir: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
}

fn image(container: &str, image: &str) -> Change {
    Change::Image { container: container.to_owned(), image: image.parse().unwrap() }
}

fn policy(policy: &str, value: Option<&str>) -> Change {
    Change::Policy { policy: policy.to_owned(), value: value.map(str::to_owned) }
}

/// An update in a tree of files: what came of it, and how often a working copy was made.
struct Case {
    generator: Generator,
    tree: Tree,
    exports: Arc<AtomicUsize>,
    working: Working,
}

impl Case {
    fn new(paths: &[&str], files: &[(&str, &str)]) -> Self {
        let (export, exports) = export();
        let working = Working { export, collect: collect() };
        Self { generator: Generator::new(settings(paths)), tree: tree("1", files), exports, working }
    }

    async fn update(&self, changes: &[(&str, Vec<Change>)]) -> Result<Updated, UpdateError> {
        let loaded = self.generator.load(&self.tree, &self.working.export, false, &Stop::new()).await.unwrap();
        let changes: Vec<WorkloadChange> = changes
            .iter()
            .map(|(id, changes)| {
                let id: ObjectId = id.parse().unwrap();
                let is_it = |o: &&Arc<Object>| o.name() == id.name() && o.gvk().kind.to_lowercase() == id.kind();
                let object = Arc::clone(loaded.objects.iter().find(is_it).expect("the workload is loaded"));
                WorkloadChange { id, object, changes: changes.clone() }
            })
            .collect();
        self.exports.store(0, Ordering::Relaxed);
        self.generator.update(&self.tree, &changes, &self.working, &Stop::new()).await
    }

    fn exports(&self) -> usize {
        self.exports.load(Ordering::Relaxed)
    }
}

fn texts(updated: &Updated) -> BTreeMap<&str, String> {
    let text = |change: &FileChange| match change {
        FileChange::Write { bytes, .. } => String::from_utf8(bytes.to_vec()).unwrap(),
        FileChange::Remove => "(gone)".to_owned(),
    };
    updated.files.iter().map(|(path, change)| (path.as_str(), text(change))).collect()
}

fn images(loaded: &Loaded, id: &str) -> Vec<String> {
    crate::object::workload::containers(&value(loaded, id)).into_iter().map(|c| c.image.unwrap().to_string()).collect()
}

#[tokio::test]
async fn workloads_of_raw_files_are_edited_in_memory_all_at_once() {
    let second = GREETER.replace("helloworld #", "second #");
    let other = GREETER.replace("helloworld #", "other #");
    let both = format!("{GREETER}---\n{second}");
    let case =
        Case::new(&["a"], &[("a/both.yaml", &both), ("a/other.yaml", &other), ("a/same.yaml", &config_map("x"))]);
    let updated = case
        .update(&[
            (
                "apps:deployment/second",
                vec![image("sidecar", "quay.io/weaveworks/sidecar:3"), policy("locked", Some("true"))],
            ),
            ("apps:deployment/helloworld", vec![image("greeter", "quay.io/weaveworks/helloworld:4")]),
            ("apps:deployment/other", vec![policy("automated", None)]),
        ])
        .await
        .unwrap();
    let want = format!(
        "{}---\n{}",
        GREETER.replace("master-a000001", "4"),
        second
            .replace("master-a000002", "3")
            .replace("say hello\n", "say hello\n  annotations:\n    fluxcd.io/locked: 'true'\n")
    );
    assert_eq!(texts(&updated), BTreeMap::from([("a/both.yaml", want)]));
    assert_eq!(
        updated.changed.values().copied().collect::<Vec<_>>(),
        [true, false, true],
        "the third had no such policy"
    );
    assert_eq!(case.exports(), 0, "no working copy is made");
    let sidecar = "quay.io/weaveworks/sidecar:3";
    assert_eq!(images(&updated.loaded, "<cluster>:deployment/second")[1], sidecar, "the result is loaded");
}

#[tokio::test]
async fn a_file_that_must_not_be_edited_is_told_with_workload_and_place() {
    let encrypted = format!("{GREETER}sops:\n  mac: ENC[x]\n  version: 3.7.3\n");
    let case = Case::new(&["a"], &[("a/x.yaml", &encrypted), ("a/y.yaml", GREETER.replace("hello", "y").as_str())]);
    let change = vec![image("greeter", "x:2")];
    let error = case.update(&[("apps:deployment/helloworld", change.clone())]).await.unwrap_err().to_string();
    assert!(
        error.starts_with("updating resource apps:deployment/helloworld in a/x.yaml: the file is encrypted with sops"),
        "{error}"
    );
    let missing = vec![image("nobody", "x:2")];
    let error = case.update(&[("apps:deployment/yworld", missing)]).await.unwrap_err().to_string();
    assert!(
        error.starts_with("updating resource apps:deployment/yworld in a/y.yaml: no container \"nobody\""),
        "{error}"
    );
}

#[tokio::test]
async fn a_link_is_followed_to_the_file_that_it_leads_to() {
    let mut root = Dir::default();
    let id = |text: &str| BlobId(Digest::of(text.as_bytes()).0);
    let target = "../base/a.yaml";
    insert(&mut root, "base/a.yaml", Entry::Leaf { id: id(GREETER), mode: Mode::File });
    insert(&mut root, "apps/a.yaml", Entry::Leaf { id: id(target), mode: Mode::Link });
    let contents = BTreeMap::from([(id(GREETER), GREETER), (id(target), target)]);
    let read = move |id: &BlobId| contents.get(id).map(|t| (*t).into()).ok_or_else(String::new);
    let case =
        Case { tree: Tree::new(Revision("1".into()), Arc::new(root), Arc::new(read)), ..Case::new(&["apps"], &[]) };
    let updated =
        case.update(&[("x:deployment/helloworld", vec![image("greeter", "quay.io/weaveworks/helloworld:2")])]).await;
    assert_eq!(updated.unwrap().files.into_keys().collect::<Vec<_>>(), ["base/a.yaml"]);
}

/// A `.flux.yaml` with updaters that write down what they are told.
fn updaters(image: &[&str], policy: &[&str]) -> String {
    let updaters: Vec<_> = image
        .iter()
        .zip(policy)
        .map(|(image, policy)| serde_json::json!({"containerImage": {"command": image}, "policy": {"command": policy}}))
        .collect();
    serde_json::json!({"version": 1, "commandUpdated": {"generators": [{"command": "cat all.txt"}], "updaters": updaters}})
        .to_string()
}

#[tokio::test]
async fn all_updaters_run_in_one_working_copy_and_are_told_the_change() {
    let show = "env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD= | sed s/PATH=.*/PATH/ | LC_ALL=C sort >> told.txt";
    let flux = updaters(
        &[show, "sed -i s/master-a000001/$FLUX_TAG/ all.txt"],
        &[show, "echo ${FLUX_POLICY_VALUE-unset} >> told.txt"],
    );
    let case = Case::new(&["envs/staging"], &[("envs/.flux.yaml", &flux), ("envs/staging/all.txt", GREETER)]);
    let changes = vec![
        image("greeter", "quay.io/weaveworks/helloworld:v2"),
        policy("tag.greeter", Some("glob:*")),
        policy("locked", None),
    ];
    let updated = case.update(&[("ns:deployment/helloworld", changes)]).await.unwrap();
    let workload = "FLUX_WL_KIND=deployment\nFLUX_WL_NAME=helloworld\nFLUX_WL_NS=ns\nFLUX_WORKLOAD=ns:deployment/helloworld\nPATH\n";
    let told = format!(
        "FLUX_CONTAINER=greeter\nFLUX_IMG=quay.io/weaveworks/helloworld\nFLUX_TAG=v2\n{workload}\
         FLUX_POLICY=tag.greeter\nFLUX_POLICY_VALUE=glob:*\n{workload}glob:*\nFLUX_POLICY=locked\n{workload}unset\n"
    );
    let all = GREETER.replace("master-a000001", "v2");
    assert_eq!(texts(&updated), BTreeMap::from([("envs/staging/all.txt", all), ("envs/staging/told.txt", told)]));
    assert_eq!(case.exports(), 2, "one for the updaters, one for the generators of the result");
    assert_eq!(images(&updated.loaded, "<cluster>:deployment/helloworld")[0], "quay.io/weaveworks/helloworld:v2");
}

#[tokio::test]
async fn a_failing_updater_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let flux = updaters(&["echo a > a; echo out; echo err >&2; exit 3", "touch never"], &["true", "exit 1"]);
    let mut case = Case::new(&["."], &[(".flux.yaml", &flux), ("all.txt", GREETER)]);
    case.generator = Generator::new(Settings { scratch: Some(scratch.path().to_owned()), ..settings(&["."]) });
    let error = case.update(&[("ns:deployment/helloworld", vec![image("greeter", "x:2")])]).await.unwrap_err();
    let want = "updating resource ns:deployment/helloworld in ./.flux.yaml: error executing image updater command \"echo a > a; \
                echo out; echo err >&2; exit 3\" from file \".flux.yaml\": exit status 3\noutput:\nout\nerr\n";
    assert_eq!(error.to_string(), want);
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "the working copy is gone");
    let error = case.update(&[("ns:deployment/helloworld", vec![policy("locked", None)])]).await.unwrap_err();
    assert!(error.to_string().contains("error executing annotation updater command \"exit 1\""), "{error}");
}

#[tokio::test]
async fn a_configuration_without_updaters_refuses_updates() {
    let flux = updaters(&[], &[]);
    let case = Case::new(&["sub"], &[(".flux.yaml", &flux), ("sub/all.txt", GREETER)]);
    let error = case.update(&[("ns:deployment/helloworld", vec![image("greeter", "x:2")])]).await.unwrap_err();
    let want = "no update.containerImage commands to run in ../.flux.yaml (from path sub)";
    assert!(error.to_string().ends_with(want), "{error}");
}

#[tokio::test]
async fn an_updater_is_ended_at_its_time_limit() {
    let flux = "version: 1\ncommandUpdated:\n  generators: [{command: cat all.txt}]\n  updaters: [{containerImage: {command: sleep \
                60, timeout: 1s}}]\n";
    let case = Case::new(&["."], &[(".flux.yaml", flux), ("all.txt", GREETER)]);
    let error = case.update(&[("ns:deployment/helloworld", vec![image("greeter", "x:2")])]).await.unwrap_err();
    assert!(error.to_string().contains("context deadline exceeded: ended after 1s"), "{error}");
}

const PATCHED: &str =
    "version: 1\npatchUpdated:\n  generators: [{command: cat all.txt}]\n  patchFile: flux-patch.yaml\n";

#[tokio::test]
async fn an_update_of_generated_workloads_writes_the_patch_file_that_v1_wrote() {
    let all = format!("{GREETER}---\n{}", config_map("other"));
    let case = Case::new(&["."], &[(".flux.yaml", PATCHED), ("all.txt", &all)]);
    let changes = vec![
        image("greeter", "quay.io/weaveworks/helloworld:master-b000001"),
        policy("tag.greeter", Some("glob:master-*")),
    ];
    let updated = case.update(&[("ns:deployment/helloworld", changes)]).await.unwrap();
    let want = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  annotations:\n    fluxcd.io/tag.greeter: glob:master-*\n  \
                name: helloworld\nspec:\n  template:\n    spec:\n      $setElementOrder/containers:\n      - name: greeter\n      \
                - name: sidecar\n      containers:\n      - image: quay.io/weaveworks/helloworld:master-b000001\n        name: \
                greeter\n";
    assert_eq!(texts(&updated), BTreeMap::from([("flux-patch.yaml", want.to_owned())]));
    assert_eq!(
        images(&updated.loaded, "<cluster>:deployment/helloworld")[0],
        "quay.io/weaveworks/helloworld:master-b000001"
    );
}

#[tokio::test]
async fn a_second_identical_update_changes_no_byte_and_a_patch_without_content_is_an_empty_file() {
    let by_hand = "# by hand\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: helloworld, annotations: {fluxcd.io/locked: \
                   'true'}}\n";
    let files = [(".flux.yaml", PATCHED), ("all.txt", GREETER), ("flux-patch.yaml", by_hand)];
    let lock = vec![policy("locked", Some("true"))];
    let same = Case::new(&["."], &files).update(&[("ns:deployment/helloworld", lock)]).await.unwrap();
    assert!(same.files.is_empty() && !same.changed.values().any(|changed| *changed), "comments stay");
    let unlock = vec![policy("locked", None)];
    let updated = Case::new(&["."], &files).update(&[("ns:deployment/helloworld", unlock)]).await.unwrap();
    assert_eq!(texts(&updated), BTreeMap::from([("flux-patch.yaml", String::new())]));
    let automate = vec![policy("automated", Some("true")), image("sidecar", "quay.io/weaveworks/sidecar:2")];
    let first = Case::new(&["."], &files).update(&[("ns:deployment/helloworld", automate.clone())]).await.unwrap();
    let text = texts(&first).remove("flux-patch.yaml").unwrap();
    assert!(text.contains("    fluxcd.io/automated: \"true\"\n    fluxcd.io/locked: \"true\"\n"), "{text}");
    let files = [(".flux.yaml", PATCHED), ("all.txt", GREETER), ("flux-patch.yaml", text.as_str())];
    let second = Case::new(&["."], &files).update(&[("ns:deployment/helloworld", automate)]).await.unwrap();
    assert!(second.files.is_empty());
}

#[tokio::test]
async fn removing_a_generated_annotation_is_written_as_null_and_deleted_resources_stay_deleted() {
    let release = "apiVersion: helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata: {name: r, namespace: ns, annotations: \
                   {fluxcd.io/automated: 'true', a: b}}\nspec: {values: {image: a/b, tag: v1, list: [1, 2]}}\n";
    let gone = GREETER.replace("helloworld #", "gone #");
    let all = format!("{release}---\n{gone}");
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: gone}\n$patch: delete\n";
    let case = Case::new(&["."], &[(".flux.yaml", PATCHED), ("all.txt", &all), ("flux-patch.yaml", patch)]);
    let changes = vec![policy("automated", None), image("chart-image", "a/b:v2")];
    let updated = case.update(&[("ns:helmrelease/r", changes)]).await.unwrap();
    let want = "---\n$patch: delete\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: gone\n---\napiVersion: \
                helm.fluxcd.io/v1\nkind: HelmRelease\nmetadata:\n  annotations:\n    fluxcd.io/automated: null\n  name: r\n  \
                namespace: ns\nspec:\n  values:\n    tag: v2\n";
    assert_eq!(texts(&updated), BTreeMap::from([("flux-patch.yaml", want.to_owned())]));
    assert_eq!(ids(&updated.loaded), ["ns:helmrelease/r"]);
}

#[tokio::test]
async fn one_update_reaches_raw_files_commands_and_patch_files() {
    let flux = updaters(&["sed -i s/:1/:$FLUX_TAG/ all.txt"], &["true"]);
    let workload = |name: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec: {{template: {{spec: {{containers: [{{name: c, image: 'a:1'}}]}}}}}}\n"
        )
    };
    let case = Case::new(
        &["raw", "cmd", "patch"],
        &[
            ("raw/a.yaml", &workload("raw")),
            ("cmd/.flux.yaml", &flux),
            ("cmd/all.txt", &workload("cmd")),
            ("patch/.flux.yaml", PATCHED),
            ("patch/all.txt", &workload("patch")),
        ],
    );
    let changes = ["raw", "cmd", "patch"].map(|name| (format!("ns:deployment/{name}"), vec![image("c", "a:2")]));
    let changes: Vec<_> = changes.iter().map(|(id, changes)| (id.as_str(), changes.clone())).collect();
    let updated = case.update(&changes).await.unwrap();
    assert_eq!(updated.files.keys().collect::<Vec<_>>(), ["cmd/all.txt", "patch/flux-patch.yaml", "raw/a.yaml"]);
    for name in ["raw", "cmd", "patch"] {
        assert_eq!(images(&updated.loaded, &format!("<cluster>:deployment/{name}")), ["a:2"]);
    }
}
