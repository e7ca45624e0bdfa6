//! A follower hands over to the leader what needs it, once, and says so when there is none.

use super::*;

/// A replica that hears who leads from the sender.
async fn replica() -> (Rig, watch::Sender<Leader>) {
    let (tell, leader) = watch::channel(Leader::Unknown);
    (Rig::following(leader).await, tell)
}

fn address(rig: &Rig) -> Leader {
    Leader::At(rig.base.trim_start_matches("http://").parse().unwrap())
}

#[tokio::test]
async fn a_follower_hands_requests_with_their_bodies_to_the_leader() {
    let ((leader, lead), (follower, follow)) = (replica().await, replica().await);
    lead.send_replace(Leader::Us);
    follow.send_replace(address(&leader));
    let response = follower.send(Method::POST, "/api/fluxd/v1/deletes/abc/approve", None, "").await;
    assert!(response.status().is_success());
    follower.get_json("/api/flux/v11/services?namespace=shop").await;
    let body = r#"{"Kind":"git","Source":{"URL":"git@example.org:a/b","Branch":"master"}}"#;
    assert!(follower.send(Method::POST, "/api/flux/v11/notify", None, body).await.status().is_success());
    let asked = leader.asked();
    assert_eq!(asked[..2], ["approve abc", "services \"shop\" []"]);
    assert!(asked[2].contains("git@example.org:a/b"), "{asked:?}");
    assert!(follower.asked().is_empty(), "a follower does nothing itself");
}

#[tokio::test]
async fn the_leaders_errors_arrive_as_they_are() {
    let ((leader, lead), (follower, follow)) = (replica().await, replica().await);
    lead.send_replace(Leader::Us);
    follow.send_replace(address(&leader));
    for accept in [None, Some("application/json"), Some("text/plain")] {
        let path = "/api/flux/v6/services?namespace=broken";
        let direct = leader.send(Method::GET, path, accept, "").await;
        let handed = follower.send(Method::GET, path, accept, "").await;
        assert_eq!(handed.status(), direct.status());
        assert_eq!(handed.headers()["content-type"], direct.headers()["content-type"]);
        assert_eq!(handed.text().await.unwrap(), direct.text().await.unwrap());
    }
}

#[tokio::test]
async fn followers_that_take_each_other_for_the_leader_hand_over_once_only() {
    let ((one, tell_one), (two, tell_two)) = (replica().await, replica().await);
    tell_one.send_replace(address(&two));
    tell_two.send_replace(address(&one));
    let response = one.get("/api/flux/v11/services").await;
    assert_eq!(response.status(), 503);
    assert!(response.text().await.unwrap().contains("no leader"));
}

#[tokio::test]
async fn without_a_leader_probes_and_what_all_know_are_answered_and_nothing_else() {
    let (follower, tell) = replica().await;
    let gone = Rig::usual().await;
    let nobody = address(&gone);
    gone.stop.stop();
    gone.task.await.unwrap();
    for leader in [Leader::Unknown, nobody] {
        tell.send_replace(leader);
        for path in ["/healthz", "/readyz", "/metrics", "/api/flux/v11/version", "/api/flux/v6/identity.pub"] {
            assert_eq!(follower.get(path).await.status(), 200, "{path}");
        }
        let refused = follower.get("/api/flux/v11/services").await;
        assert_eq!(refused.status(), 503);
        assert!(refused.headers().contains_key("retry-after"));
        assert!(refused.json::<Value>().await.unwrap()["help"].as_str().unwrap().contains("Nothing was done"));
    }
    assert!(follower.asked().is_empty());
}
