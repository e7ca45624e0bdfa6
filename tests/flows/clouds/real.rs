//! A cluster's real tokens: what the API server signs for a service account is what a cloud is shown, for this audience and
//! no other, and the controller exports what the identity is allowed to list.

use std::time::{Duration, Instant};

use fluxd::controllers::inputprovider::{Settings as ControllerOfProviders, controller};
use fluxd::operator::controller::ControllerSettings;
use fluxd::provider::Endpoints;
use fluxd::registry::Aws;
use fluxd::runtime::Stop;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::Api;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use super::*;
use crate::flows::controllers::plane;
use crate::rig::DEADLINE;

const ROLE: &str = "arn:aws:iam::123456789012:role/flux";

fn sts(_: &Seen) -> Scripted {
    Scripted::new(
        200,
        "<R><Credentials><AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t\
         </SessionToken><Expiration>2096-01-01T00:00:00Z</Expiration></Credentials></R>",
    )
}

fn codecommit(seen: &Seen) -> Scripted {
    match seen.headers["x-amz-target"].as_str() {
        "CodeCommit_20150413.ListPullRequests" => Scripted::json(&json!({"pullRequestIds": ["9"]})),
        _ => Scripted::json(&json!({"pullRequest": {
            "pullRequestId": "9", "title": "T", "authorArn": "arn:aws:sts::1:assumed-role/dev/ann",
            "pullRequestTargets": [{"sourceReference": "refs/heads/feat", "sourceCommit": "c0ffee"}],
        }})),
    }
}

/// Runs the controller over one namespace until the stop is told.
async fn run(namespace: &str, sts: &Double, api: &Double) -> Stop {
    let kubeconfig = Kubeconfig::read_from(plane().kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let settings = ControllerOfProviders {
        providers: Settings {
            aws: Aws { sts_endpoint: Some(sts.url()), ..Aws::default() },
            endpoints: Endpoints { codecommit: Some(api.url()), ..Endpoints::default() },
            ..Settings::default()
        },
        default_workload_identity_service_account: Some("by-default".to_owned()),
        ..ControllerOfProviders::default()
    };
    let running = ControllerSettings {
        namespaces: vec![namespace.to_owned()],
        min_retry_delay: Duration::from_millis(200),
        max_retry_delay: Duration::from_secs(1),
        ..ControllerSettings::new("resourcesetinputprovider", "flux-operator")
    };
    let controller = controller(config, plane().client().await, settings, running).unwrap();
    let stop = Stop::new();
    let until = stop.clone();
    tokio::spawn(async move { controller.run(until).await });
    stop
}

fn provider(name: &str, namespace: &str, account: Option<&str>) -> String {
    let mut spec = json!({
        "type": "AWSCodeCommitPullRequest",
        "url": "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop",
    });
    if let Some(account) = account {
        spec["serviceAccountName"] = json!(account);
    }
    json!({"apiVersion": "fluxcd.controlplane.io/v1", "kind": "ResourceSetInputProvider",
           "metadata": {"name": name, "namespace": namespace}, "spec": spec})
    .to_string()
}

fn account(name: &str, namespace: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ServiceAccount",
           "metadata": {"name": name, "namespace": namespace, "annotations": {"eks.amazonaws.com/role-arn": ROLE}}})
    .to_string()
}

/// Waits until an input provider's status is as described.
async fn wait(namespace: &str, name: &str, what: &str, holds: impl Fn(&Value) -> bool) {
    let end = Instant::now() + DEADLINE;
    loop {
        let status = plane().get(namespace, "resourcesetinputprovider", name).unwrap_or_default()["status"].clone();
        if holds(&status) {
            return;
        }
        assert!(Instant::now() < end, "{what}: {status:#}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whose token it is for an audience, says the API server; `None` when it is not for that.
async fn whose(token: &str, audience: &str) -> Option<String> {
    let spec = TokenReviewSpec { token: token.to_owned(), audiences: Some(vec![audience.to_owned()]) };
    let review = TokenReview { spec, ..TokenReview::default() };
    let api = Api::<TokenReview>::all(plane().client().await);
    let status = api.create(&PostParams::default(), &review).await.unwrap().status.unwrap();
    if status.authenticated != Some(true) {
        return None;
    }
    status.user?.username
}

#[tokio::test(flavor = "multi_thread")]
async fn clouds_are_shown_tokens_that_the_api_server_signed_for_them_alone() {
    let namespace = plane().namespace("identity");
    let (sts, api) = (Double::start(sts), Double::start(codecommit));
    plane().apply(&account("robot", &namespace), &[]);
    plane().apply(&account("by-default", &namespace), &[]);
    plane().apply(&provider("named", &namespace, Some("robot")), &[]);
    plane().apply(&provider("default", &namespace, None), &[]);
    plane().apply(&provider("missing", &namespace, Some("nobody")), &[]);
    let stop = run(&namespace, &sts, &api).await;
    for name in ["named", "default"] {
        wait(&namespace, name, "it exports what the role sees", |status| {
            let want = json!([{"id": "9", "sha": "c0ffee", "branch": "feat", "title": "T", "author": "ann"}]);
            status["exportedInputs"] == want
        })
        .await;
    }
    wait(&namespace, "missing", "an account that does not exist is named", |status| {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let mut messages = conditions.filter_map(|condition| condition["message"].as_str());
        messages.any(|text| text.contains(&format!("'{namespace}/nobody'")) && text.contains("not found"))
    })
    .await;
    let mut owners = Vec::new();
    for seen in sts.seen() {
        let token = form(&seen)["WebIdentityToken"].clone();
        owners.extend(whose(&token, "sts.amazonaws.com").await);
        assert_eq!(
            whose(&token, "https://kubernetes.default.svc").await,
            None,
            "it opens the cluster itself to nobody"
        );
        assert_eq!(form(&seen)["RoleArn"], ROLE);
    }
    owners.sort();
    owners.dedup();
    let who = |name: &str| format!("system:serviceaccount:{namespace}:{name}");
    assert_eq!(owners, [who("by-default"), who("robot")]);
    stop.stop();
}
