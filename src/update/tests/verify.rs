//! Edits that did what they should, and those that did not.

use crate::update::tests::fixture::{Fixture, id};
use crate::update::{ImageChange, verify};

fn checked(after: Fixture, container: &str, target: &str) -> Result<(), String> {
    let change = ImageChange {
        id: id("web"),
        container: container.to_owned(),
        current: "shop/web:1".parse().unwrap(),
        target: target.parse().unwrap(),
    };
    verify(&after.git, &[change]).map_err(|e| e.to_string())
}

#[test]
fn only_the_containers_that_were_to_change_are_compared() {
    let after = || {
        Fixture::default().git("web", &[("web", "shop/web:2"), ("side", "anything:9")], &[]).git(
            "new",
            &[("x", "y")],
            &[],
        )
    };
    assert_eq!(checked(after(), "web", "shop/web:2"), Ok(()));
    // a generator may spell the repository in another way
    assert_eq!(checked(after(), "web", "docker.io/shop/web:2"), Ok(()));
    let start = "verifying changes: failed to verify changes: ";
    for (container, target, want) in [
        (
            "web",
            "shop/web:3",
            "the image for container \"web\" in resource \"shop:deployment/web\" should be \"shop/web:3\", but is \"shop/web:2\"",
        ),
        (
            "web",
            "shop/web:2@sha256:00",
            "the image for container \"web\" in resource \"shop:deployment/web\" should be \"shop/web:2@sha256:00\", but is \"shop/web:2\"",
        ),
        ("gone", "shop/web:2", "no container \"gone\" in resource \"shop:deployment/web\" after update"),
    ] {
        assert_eq!(checked(after(), container, target), Err(format!("{start}{want}")));
    }
    let gone = checked(Fixture::default(), "web", "shop/web:2");
    assert_eq!(gone, Err(format!("{start}resource shop:deployment/web is not found after update")));
    let bare = checked(Fixture::default().git("web", &[], &[]), "web", "shop/web:2");
    assert_eq!(bare, Err(format!("{start}resource shop:deployment/web is not a workload after update")));
}
