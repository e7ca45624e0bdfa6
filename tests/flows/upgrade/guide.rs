//! The guide `docs/upgrade.md`, followed from beginning to end: its own commands, in its order, on a control plane with
//! Flux v1's manifests, with the original daemon, a registry, and images that are released before, between and after.

use super::node::Node;
use crate::rig::{ControlPlane, DockerRegistry, Image, Repo, eventually, source_root, tool};
use std::path::Path;
use std::process::{Command, Stdio};

/// The commands under one heading of the guide, a block each.
fn commands(heading: &str) -> Vec<String> {
    let guide = std::fs::read_to_string(source_root().join("docs/upgrade.md")).expect("the guide is in the source");
    let section = guide.split("\n## ").find(|section| section.lines().next() == Some(heading));
    let section = section.unwrap_or_else(|| panic!("the guide has no heading {heading:?}"));
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = None;
    for line in section.lines() {
        let indent = line.len() - line.trim_start().len();
        match (line.trim(), inside) {
            ("```sh", _) => {
                inside = Some(indent);
                blocks.push(String::new());
            }
            ("```", Some(_)) => inside = None,
            (_, Some(indent)) => {
                let block = blocks.last_mut().expect("one was begun");
                block.push_str(line.get(indent..).unwrap_or_default());
                block.push('\n');
            }
            _ => (),
        }
    }
    blocks
}

/// Somebody who follows the guide.
struct Reader<'a> {
    plane: &'a ControlPlane,
    node: Node<'a>,
    directory: tempfile::TempDir,
    path: String,
}

impl<'a> Reader<'a> {
    /// `fluxctl` is the original's: users need not change it on the same day.
    fn new(plane: &'a ControlPlane) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let fluxctl = tool("flux-v1", "fluxctl");
        let path = format!("{}:{}", fluxctl.parent().expect("it is in a directory").display(), plane.path());
        Self { plane, node: Node::new(plane), directory, path }
    }

    /// Runs the commands under a heading; after each block, the Pod is what the Deployment says. Gives what they printed.
    #[track_caller]
    fn follow(&mut self, heading: &str) -> String {
        let blocks = commands(heading);
        assert!(!blocks.is_empty(), "the guide has no commands under {heading:?}");
        let mut printed = String::new();
        for block in blocks {
            printed.push_str(&self.run(&block));
            self.node.settle();
        }
        printed
    }

    #[track_caller]
    fn run(&self, script: &str) -> String {
        eprintln!("$ {}", script.trim());
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", script]).current_dir(self.directory.path()).stdin(Stdio::null());
        command.env("PATH", &self.path).env("KUBECONFIG", self.plane.kubeconfig()).env("HOME", self.directory.path());
        let output = command.env("FLUX_URL", self.node.url()).output().expect("bash is a program");
        let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        eprintln!("{out}{error}");
        let log = self.node.fluxd().log();
        assert!(output.status.success(), "{script}\nended with {}: {out}{error}\n{}", output.status, log.join("\n"));
        format!("{out}{error}")
    }
}

fn workload(name: &str, image: &str, automated: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n  namespace: shop\n  annotations: \
         {automated}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: \
         {name}}}}}\n    spec:\n      containers:\n      - name: {name}\n        image: {image}\n"
    )
}

/// Updates by a command, because the original edits plain files with a program that is not at hand.
const FLUX_YAML: &str = r#"version: 1
commandUpdated:
  generators:
  - command: cat web.yaml; echo ---; cat api.yaml
  updaters:
  - containerImage:
      command: 'sed -i "s|image:.*|image: $FLUX_IMG:$FLUX_TAG|" "$FLUX_WL_NAME.yaml"'
    policy:
      command: 'true'
"#;

fn repository(registry: &DockerRegistry) -> Repo {
    let repo = Repo::new();
    let image = |name: &str| format!("{}/shop/{name}:1.0.0", registry.host());
    let automated = "{fluxcd.io/automated: 'true', fluxcd.io/tag.web: 'semver:~1'}";
    repo.write("base/shop.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    repo.write("apps/.flux.yaml", FLUX_YAML);
    repo.write("apps/web.yaml", &workload("web", &image("web"), automated));
    repo.write("apps/api.yaml", &workload("api", &image("api"), "{owner: ann}"));
    repo.push("the shop");
    repo
}

struct Shop<'a> {
    plane: &'a ControlPlane,
    registry: DockerRegistry,
    repo: Repo,
}

impl Shop<'_> {
    fn image(&self, name: &str) -> String {
        let live = self.plane.get("shop", "deployment", name).unwrap_or_default();
        let image = live["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap_or_default();
        image.rsplit(':').next().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn runs(&self, name: &str, tag: &str) {
        eventually(&format!("{name} runs {tag}"), || (self.image(name) == tag).then_some(()));
    }

    /// A new tag appears, automation takes it to git and the cluster; somebody releases the other workload by hand.
    #[track_caller]
    fn next_version(&self, reader: &Reader<'_>, tag: &str, created: &str) {
        self.registry.push("shop/api", tag, &Image::made(created));
        self.registry.push("shop/web", tag, &Image::made(created));
        let (domain, tagged) = (self.registry.host(), format!("/shop/web:{tag}"));
        for name in ["shop/api", "shop/web"] {
            let change = format!(r#"{{"Kind":"image","Source":{{"Name":{{"Domain":"{domain}","Image":"{name}"}}}}}}"#);
            reader.node.fluxd().post("/api/flux/v11/notify", &change).expect("the daemon answers");
        }
        eventually("automation commits the tag", || {
            self.repo.remote_file("master", "apps/web.yaml").contains(&tagged).then_some(())
        });
        self.runs("web", tag);
        let head = self.repo.remote_ref("master").expect("the branch is there");
        let message = self.repo.remote_git(&["log", "-1", "--format=%an|%s", &head]);
        assert!(message.starts_with("Flux|"), "{message}");
        let image = format!("{}/shop/api:{tag}", self.registry.host());
        let printed = reader
            .run(&format!("fluxctl release --workload=shop:deployment/api --update-image={image} --message=by-hand"));
        assert!(printed.contains("Commit applied:"), "{printed}");
        self.runs("api", tag);
        let notes = self.repo.remote_git(&["notes", "--ref=refs/notes/flux-sync", "list"]);
        assert!(notes.lines().count() >= 2, "each of the commits has its note: {notes}");
    }

    fn uid(&self) -> String {
        self.plane.get("shop", "deployment", "web").expect("it stays")["metadata"]["uid"].to_string()
    }
}

#[test]
fn the_guide_is_followed_there_and_back_and_images_are_released_all_the_while() {
    let plane = ControlPlane::start();
    let registry = DockerRegistry::start();
    for name in ["shop/web", "shop/api"] {
        registry.push(name, "1.0.0", &Image::made("2024-01-01T00:00:00Z"));
    }
    let repo = repository(&registry);
    let manifests = std::fs::read_to_string(source_root().join("tests/data/upgrade/flux-v1.yaml")).expect("a file");
    plane.apply(&manifests.replace("GIT_URL", &repo.url()).replace("REGISTRY", &registry.host()), &[]);
    let shop = Shop { plane: &plane, registry, repo };
    let mut reader = Reader::new(&plane);

    assert_eq!(reader.node.settle(), "docker.io/fluxcd/flux:1.25.4");
    shop.runs("web", "1.0.0");
    shop.next_version(&reader, "1.1.0", "2024-02-01T00:00:00Z");
    let uid = shop.uid();
    reader.follow("Before");
    assert!(Path::new(&reader.directory.path().join("flux-v1.yaml")).exists());

    reader.follow("The change");
    assert_eq!(reader.node.settle(), "fluxd:0.1.0");
    let seen = reader.follow("Looking at it");
    assert!(seen.contains("shop:deployment/web") && seen.contains("automated"), "{seen}");
    shop.next_version(&reader, "1.2.0", "2024-03-01T00:00:00Z");
    assert_eq!(shop.uid(), uid, "nothing was made anew");

    reader.follow("Going back");
    assert_eq!(reader.node.settle(), "docker.io/fluxcd/flux:1.25.4");
    shop.next_version(&reader, "1.3.0", "2024-04-01T00:00:00Z");

    reader.follow("The change");
    reader.follow("When it stays");
    assert_eq!(reader.node.settle(), "fluxd:0.1.0");
    shop.next_version(&reader, "1.4.0", "2024-05-01T00:00:00Z");
    assert_eq!(shop.uid(), uid, "nothing was made anew");
    assert!(plane.get("flux", "deployment", "memcached").is_none());
}
