//! Whose identity requests carry.

use super::*;

fn account(fixture: &Fixture, name: &str) -> Set {
    let identity = Identity::ServiceAccount { namespace: fixture.namespace.clone(), name: name.into() };
    fixture.sets.set(fixture.owner.clone(), identity)
}

/// Lets a service account do everything with config maps in its namespace.
fn grant(plane: &ControlPlane, namespace: &str, name: &str) {
    plane.kubectl(&["-n", namespace, "create", "serviceaccount", name]);
    let verbs = "--verb=get,list,create,patch,delete";
    plane.kubectl(&["-n", namespace, "create", "role", name, verbs, "--resource=configmaps"]);
    let to = format!("--serviceaccount={namespace}:{name}");
    plane.kubectl(&["-n", namespace, "create", "rolebinding", name, &format!("--role={name}"), &to]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_may_do_what_its_account_may_and_nothing_else() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "who").await;
    let elsewhere = plane.namespace("elsewhere");
    let ns = fixture.namespace.clone();
    let map = fixture.config_map("a", json!({}));
    let missing = account(&fixture, "missing").apply(std::slice::from_ref(&map), &how()).await;
    let user = format!("system:serviceaccount:{ns}:missing");
    let want = format!(
        "ConfigMap/{ns}/a dry-run failed (Forbidden): configmaps \"a\" is forbidden: User \"{user}\" cannot patch resource \
         \"configmaps\" in API group \"\" in the namespace \"{ns}\""
    );
    assert_eq!(missing.error.as_deref(), Some(want.as_str()));
    assert!(missing.inventory.is_empty());

    grant(plane, &ns, "tenant");
    let tenant = account(&fixture, "tenant");
    crate::rig::eventually_async("the rights are in force", || async {
        tenant.apply(std::slice::from_ref(&map), &how()).await.error.is_none().then_some(())
    })
    .await;
    let theirs = fixture
        .object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": elsewhere}}));
    let error = tenant.apply(std::slice::from_ref(&theirs), &how()).await.error.unwrap();
    assert!(error.contains(&format!("system:serviceaccount:{ns}:tenant")) && error.contains("(Forbidden)"), "{error}");

    let gvk = theirs.gvk().clone();
    let read = tenant.get(&gvk, Some(&elsewhere), "kube-root-ca.crt").await.unwrap_err();
    assert_eq!((read.not_found, read.reason.as_str()), (false, "Forbidden"));
    assert!(tenant.get(&gvk, Some(&ns), "a").await.is_ok());
    let absent = tenant.get(&gvk, Some(&ns), "none").await.unwrap_err();
    assert_eq!((absent.not_found, absent.message.as_str()), (true, "configmaps \"none\" not found"));

    let pruned = tenant.prune(&[entry(&theirs), entry(&map)], &how()).await;
    assert_eq!(pruned.left, [entry(&theirs)]);
    let error = pruned.error.unwrap();
    let begin =
        format!("delete failed, errors: ConfigMap/{elsewhere}/a delete failed: configmaps \"a\" is forbidden: ");
    assert!(error.starts_with(&begin) && error.ends_with(';'), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_account_applied_says_nothing_about_another_and_lost_rights_are_noticed_without_a_change() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "rights").await;
    let ns = fixture.namespace.clone();
    grant(plane, &ns, "tenant");
    let objects: Vec<_> = ["a", "b", "c"].map(|name| fixture.config_map(name, json!({"a": name}))).to_vec();
    let tenant = account(&fixture, "tenant");
    crate::rig::eventually_async("the rights are in force", || async {
        tenant.apply(&objects, &how()).await.error.is_none().then_some(())
    })
    .await;
    let again = tenant.apply(&objects, &how()).await;
    assert!(Fixture::lines(&again).iter().all(|line| line.ends_with(" unchanged")));

    let other = account(&fixture, "other").apply(&objects, &how()).await;
    let user = format!("User \"system:serviceaccount:{ns}:other\" cannot patch");
    assert!(other.error.as_ref().is_some_and(|error| error.contains(&user)), "{other:?}");
    assert!(other.inventory.is_empty(), "{other:?}");

    plane.kubectl(&["-n", &ns, "delete", "rolebinding", "tenant"]);
    crate::rig::eventually_async("the loss is noticed", || async {
        let error = tenant.apply(&objects, &how()).await.error?;
        error.contains("(Forbidden)").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_no_account_can_have_send_no_request() {
    let plane = ControlPlane::shared();
    let fixture = Fixture::new(plane, "odd").await;
    for name in ["", "a:b", "a\r\nImpersonate-Group: system:masters", "../a"] {
        let set = account(&fixture, name);
        let map = fixture.config_map("a", json!({}));
        assert!(
            set.apply(std::slice::from_ref(&map), &how())
                .await
                .error
                .unwrap()
                .contains("cannot act as service account")
        );
        assert_eq!(set.prune(&[entry(&map)], &how()).await.left.len(), 1);
        assert!(set.get(map.gvk(), Some("default"), "a").await.is_err());
    }
    let patched = fixture.take_requests().into_iter().any(|(verb, _)| verb == "patch" || verb == "delete");
    assert!(!patched);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_impersonates_already_is_refused() {
    let plane = ControlPlane::shared();
    let mut config = kube::Config::new(plane.url().parse().unwrap());
    config.auth_info.impersonate = Some("someone".into());
    assert!(Sets::new(&config, plane.client().await, SetSettings::resource_set()).is_err());
}
