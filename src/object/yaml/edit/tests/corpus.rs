//! What Flux v1's own tests ask of updates (fluxd-v1 §14), and files in the manner of charts and operators.

use super::*;

const WORKLOADS: &str = include_str!("data/workloads.yaml");
const RELEASES: &str = include_str!("data/releases.yaml");

#[test]
fn images_of_all_kinds_of_workloads_are_found_and_set() {
    for (of, container, old, new) in [
        ("monitoring:statefulset/prometheus", "prometheus", "v2.21.0 # renovate", "v2.22.1 # renovate"),
        ("monitoring:statefulset/prometheus", "config-reloader", "v0.42.1\"", "v0.43.0\""),
        ("monitoring:statefulset/prometheus", "permissions", "busybox:1.31\n", "busybox:1.32\n"),
        ("cert-manager:deployment/cert-manager", "cert-manager", "v1.0.4'", "v1.1.0'"),
        ("<cluster>:daemonset/node-exporter", "exporter", "exporter:1.0.1,", "exporter:1.0.2,"),
        ("backup:cronjob/dump", "dump", "00000001\n", "00000002\n"),
        ("legacy:deployment/api", "api", "legacy/api:1.2.3-rc.1\"", "legacy/api:1.2.3\""),
    ] {
        let object = object(WORKLOADS, of);
        let found = workload::containers(&object).into_iter().find(|c| c.name == container).expect(container);
        let tag = new.trim_end_matches(['\n', '\'', '"', ',']).trim_end_matches(" # renovate");
        let image = found.image.unwrap().with_tag(tag.rsplit(':').next().unwrap()).to_string();
        assert_release(WORKLOADS, of, container, (old, new), &image);
    }
}

#[test]
fn every_form_of_helm_release_is_written_in_its_own_fields() {
    for (of, container, old, new, image) in [
        ("ns:helmrelease/whole", "chart-image", "a/b:1", "a/b:2", "a/b:2"),
        ("ns:helmrelease/split", "chart-image", "tag: v1", "tag: v2", "a/b:v2"),
        ("ns:helmrelease/registry", "chart-image", "tag: \"1.0\"", "tag: \"1.1\"", "quay.io/a/b:1.1"),
        ("ns:helmrelease/nested", "web", "tag: 1.0.0-web", "tag: 1.0.1-web", "a/web:1.0.1-web"),
        ("ns:helmrelease/nested", "db", "postgres:12.4", "postgres:13.0", "postgres:13.0"),
        ("ns:helmrelease/mapped", "app", "version: '7'", "version: '8'", "a/deep:8"),
    ] {
        assert_release(RELEASES, of, container, (old, new), image);
    }
}

#[test]
fn one_edit_changes_many_workloads_of_one_file() {
    let mut want = WORKLOADS.to_owned();
    let mut edits = Vec::new();
    for (of, container, old, new) in [
        ("monitoring:statefulset/prometheus", "prometheus", "prometheus:v2.21.0", "prometheus:v2.22.1"),
        ("legacy:deployment/api", "api", "legacy/api:1.2.3-rc.1", "legacy/api:1.2.3"),
        ("backup:cronjob/dump", "dump", "dump:00000001", "dump:00000002"),
    ] {
        let object = object(WORKLOADS, of);
        let image = workload::containers(&object).into_iter().find(|c| c.name == container).unwrap().image.unwrap();
        let image = image.with_tag(new.rsplit(':').next().unwrap());
        let changes = workload::image_changes(&object, container, &image).unwrap();
        edits.push((of, changes.into_iter().map(Op::Set).collect::<Vec<_>>()));
        want = want.replacen(old, new, 1);
    }
    assert_eq!(edited(WORKLOADS, &edits), Ok(want));
}

#[test]
fn policies_are_written_as_flux_v1_wrote_them() {
    let text = |annotations: &str| {
        format!(
            "---\napiVersion: extensions/v1beta1\nkind: Deployment\nmetadata:\n{annotations}  name: nginx\nspec:\n  template:\n    \
             spec:\n      containers:\n      - image: nginx # These keys are purposefully un-sorted.\n        name: nginx # And \
             these comments are testing comments.\n"
        )
    };
    let add = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    for (before, set, unset, after) in [
        (
            "    fluxcd.io/automated: 'true'\n",
            vec![("locked", "true")],
            vec![],
            "    fluxcd.io/automated: 'true'\n    fluxcd.io/locked: 'true'\n",
        ),
        (
            "    flux.weave.works/automated: 'false'\n",
            vec![("automated", "true")],
            vec![],
            "    flux.weave.works/automated: 'true'\n",
        ),
        (
            "    fluxcd.io/automated: 'true'\n",
            vec![("locked", "true")],
            vec!["automated"],
            "    fluxcd.io/locked: 'true'\n",
        ),
        (
            "    fluxcd.io/locked: 'true'\n    fluxcd.io/locked_msg: |-\n      first line\n\n      second line\n",
            vec![],
            vec!["locked_msg"],
            "    fluxcd.io/locked: 'true'\n",
        ),
        (
            "    filter.fluxcd.io/nginx: glob:*\n",
            vec![("tag.nginx", "semver:*")],
            vec![],
            "    filter.fluxcd.io/nginx: semver:*\n",
        ),
        (
            "    fluxcd.io/tag.nginx: glob:*\n",
            vec![("tag.nginx", "regexp:(.*?)")],
            vec![],
            "    fluxcd.io/tag.nginx: regexp:(.*?)\n",
        ),
        ("    a: b\n", vec![("tag_all", "semver:~1")], vec![], "    a: b\n    fluxcd.io/tag.nginx: semver:~1\n"),
        ("    a: b\n    fluxcd.io/tag.nginx: glob:x\n", vec![("tag_all", "glob:*")], vec![], "    a: b\n"),
        ("    a: b\n", vec![], vec!["automated"], "    a: b\n"),
    ] {
        let text = |annotations: &str| text(&format!("  annotations:\n{annotations}"));
        let remove = unset.iter().map(|policy| ((*policy).to_owned(), "true".to_owned())).collect();
        let of = "<cluster>:deployment/nginx";
        let changes = workload::policy_changes(&object(&text(before), of), &add(&set), &remove).unwrap();
        let got = edited(&text(before), &[(of, changes.into_iter().map(Op::Annotate).collect())]);
        assert_eq!(got, Ok(text(after)));
    }
    let off = vec![annotate("fluxcd.io/automated", None)];
    let last =
        edited(&text("  annotations:\n    fluxcd.io/automated: 'true'\n"), &[("<cluster>:deployment/nginx", off)]);
    assert_eq!(last, Ok(text("")), "the last one takes the mapping with it");
}
