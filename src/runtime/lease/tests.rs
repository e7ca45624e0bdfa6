//! Elections against a small API server in memory, and the decision as a table.

use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::client::Body;

use super::*;

/// An API server that holds one lease, checks resource versions and can be switched off.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Lease>,
    version: u64,
    down: bool,
}

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let bytes = request.into_body().collect_bytes().await?;
                Ok::<_, kube::Error>(server.answer(serde_json::from_slice(&bytes).ok()))
            }
        });
        Client::new(service, "default")
    }

    fn answer(&self, body: Option<Lease>) -> Response<Body> {
        let mut state = self.0.lock().unwrap();
        let current = state.lease.as_ref().and_then(|l| l.metadata.resource_version.clone());
        let refused = match (&state.lease, body.as_ref()) {
            _ if state.down => Some(500),
            (None, None) => Some(404),
            (Some(_), Some(new)) if new.metadata.resource_version != current => Some(409),
            _ => None,
        };
        if let Some(code) = refused {
            let reason = if code == 404 { "NotFound" } else { "" };
            let status = serde_json::json!({"kind": "Status", "code": code, "status": "Failure", "reason": reason, "message": ""});
            return Response::builder().status(code).body(Body::from(status.to_string().into_bytes())).unwrap();
        }
        if let Some(mut new) = body {
            state.version += 1;
            new.metadata.resource_version = Some(state.version.to_string());
            state.lease = Some(new);
        }
        Response::new(Body::from(serde_json::to_vec(&state.lease).unwrap()))
    }

    fn holder(&self) -> Option<String> {
        self.0.lock().unwrap().lease.clone().and_then(|l| l.spec).and_then(|s| s.holder_identity)
    }

    fn go_down(&self) {
        self.0.lock().unwrap().down = true;
    }
}

fn settings(identity: &str) -> ElectionSettings {
    ElectionSettings {
        duration: Duration::from_secs(1),
        renew: Duration::from_millis(600),
        retry: Duration::from_millis(20),
        ..ElectionSettings::new("flux", "fluxd", identity)
    }
}

fn join(server: &Server, identity: &str) -> (watch::Receiver<Leadership>, Stop, crate::runtime::Scoped<()>) {
    let (election, hear) = Election::new(server.client(), settings(identity));
    let stop = Stop::new();
    let task = crate::runtime::scoped(election.run(stop.clone()));
    (hear, stop, task)
}

#[tokio::test]
async fn one_leads_the_other_follows_and_takes_over_after_the_release() {
    let server = Server::default();
    let (mut a, stop_a, task_a) = join(&server, "a");
    a.wait_for(|l| l.leader).await.unwrap();
    let (mut b, _stop_b, _task_b) = join(&server, "b");
    b.wait_for(|l| l.holder.as_deref() == Some("a")).await.unwrap();
    assert!(!b.borrow().leader);
    stop_a.stop();
    task_a.await.unwrap();
    assert!(!a.borrow().leader);
    b.wait_for(|l| l.leader).await.unwrap();
    assert_eq!(server.holder().as_deref(), Some("b"));
}

#[tokio::test]
async fn a_holder_that_vanished_is_replaced_after_its_duration() {
    let server = Server::default();
    let (mut a, _stop_a, task_a) = join(&server, "a");
    a.wait_for(|l| l.leader).await.unwrap();
    drop(task_a);
    let (mut b, _stop_b, _task_b) = join(&server, "b");
    b.wait_for(|l| l.leader).await.unwrap();
    assert_eq!(server.0.lock().unwrap().lease.clone().unwrap().spec.unwrap().lease_transitions, Some(1));
}

#[tokio::test]
async fn leadership_ends_when_the_lease_cannot_be_renewed() {
    let server = Server::default();
    let (mut a, _stop, _task) = join(&server, "a");
    a.wait_for(|l| l.leader).await.unwrap();
    server.go_down();
    a.wait_for(|l| !l.leader).await.unwrap();
}

#[tokio::test]
async fn the_decision_rests_on_own_observation_alone() {
    let server = Server::default();
    let (mut election, _hear) = Election::new(server.client(), settings("me"));
    let spec = |holder: &str| LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(10),
        // A renewal time of another clock, long ago: it must not matter.
        renew_time: Some(MicroTime(jiff::Timestamp::UNIX_EPOCH)),
        ..LeaseSpec::default()
    };
    let now = Instant::now();
    assert_eq!(election.decide(&spec("me"), now), Step::Renew);
    assert_eq!(election.decide(&spec(""), now), Step::Take);
    election.look(spec("other"));
    assert_eq!(election.decide(&spec("other"), now + Duration::from_secs(9)), Step::Follow);
    assert_eq!(election.decide(&spec("other"), now + Duration::from_secs(12)), Step::Take);
}
