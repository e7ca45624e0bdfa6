//! Server-sent events over real connections.

use crate::operator::Stage;
use crate::report::News;

use super::*;

fn status(state: JobState) -> JobStatus {
    JobStatus { result: JobResult { revision: "9f".into(), ..JobResult::default() }, err: String::new(), state }
}

/// Reads a stream until it has `text`.
async fn until(response: &mut Response, text: &str) -> String {
    let mut all = String::new();
    while !all.contains(text) {
        let piece = response.chunk().await.unwrap().unwrap_or_else(|| panic!("ended without {text:?}: {all}"));
        all.push_str(std::str::from_utf8(&piece).unwrap());
    }
    all
}

#[tokio::test]
async fn news_are_told_when_they_happen_and_what_was_missed_when_asked_for() {
    let rig = Rig::usual().await;
    let mut response = rig.get("/api/fluxd/v1/events").await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    rig.fake.feed.job("a", &status(JobState::Queued));
    let told = until(&mut response, "queued").await;
    assert_eq!(
        told,
        "id: 1\nevent: job\ndata: {\"type\":\"job\",\"id\":\"a\",\"state\":\"queued\",\"revision\":\"9f\",\"error\":\"\"}\n\n"
    );
    drop(response);
    rig.fake.feed.tell(News::Sync {
        revision: "<x>".into(),
        success: true,
        counts: [("created".to_owned(), 3)].into(),
        error: None,
    });
    let again = rig.client.get(format!("{}/api/fluxd/v1/events", rig.base)).header("last-event-id", "1");
    let mut again = again.send().await.unwrap();
    let told = until(&mut again, "\n\n").await;
    assert!(
        told.starts_with("id: 2\nevent: sync\ndata: {\"type\":\"sync\",\"revision\":\"\\u003cx\\u003e\""),
        "{told}"
    );
}

#[tokio::test]
async fn one_jobs_stream_tells_its_states_alone_and_ends_with_it() {
    let rig = Rig::usual().await;
    assert_eq!(rig.get("/api/fluxd/v1/jobs/nobody/events").await.status(), 404);
    let mut response = rig.get("/api/fluxd/v1/jobs/waiting/events").await;
    until(&mut response, "queued").await;
    rig.fake.feed.job("other", &status(JobState::Failed));
    rig.fake.feed.job("waiting", &status(JobState::Succeeded));
    let rest = response.text().await.unwrap();
    assert!(rest.contains("succeeded") && !rest.contains("other"), "{rest}");
    let ended = rig.get("/api/fluxd/v1/jobs/known/events").await.text().await.unwrap();
    assert_eq!(ended.matches("event: job").count(), 1, "{ended}");
}

#[tokio::test]
async fn progress_of_a_running_sync_is_told() {
    let rig = Rig::usual().await;
    let mut response = rig.get("/api/fluxd/v1/events").await;
    *rig.fake.progress.lock().unwrap() =
        Progress { stage: Stage::Apply, done: 2, total: 5, failed: 1, ..Progress::default() };
    let told = until(&mut response, "\n\n").await;
    assert!(told.contains("{\"type\":\"progress\",\"stage\":\"apply\",\"done\":2,\"total\":5,\"failed\":1}"), "{told}");
}

#[tokio::test]
async fn a_stop_ends_streams_at_once() {
    let rig = Rig::usual().await;
    let response = rig.get("/api/fluxd/v1/events").await;
    rig.stop.stop();
    response.text().await.unwrap();
    rig.task.await.unwrap();
}

#[tokio::test]
async fn watchers_are_bounded() {
    let rig = Rig::usual().await;
    let mut watching = Vec::new();
    loop {
        let response = rig.get("/api/fluxd/v1/events").await;
        if response.status() != 200 {
            assert_eq!(response.status(), 503);
            break;
        }
        watching.push(response);
        assert!(watching.len() < 1000);
    }
    assert_eq!(rig.get("/api/flux/v11/version").await.status(), 200);
}
