//! The longest time of a pass.

use std::sync::Arc;
use std::time::Duration;

use crate::operator::controller::Next;
use crate::operator::controller::pass::Waits;
use crate::operator::controller::run::bounded;
use crate::runtime::scoped;

const LONGEST: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn waiting_for_health_may_take_longer_than_a_pass_may_and_work_may_not() {
    let ended = |before: u64, wait: u64, after: u64| async move {
        let waits = Arc::new(Waits::default());
        let clock = Arc::clone(&waits);
        let work = scoped(async move {
            let minutes = |count| tokio::time::sleep(Duration::from_secs(60 * count));
            minutes(before).await;
            let waiting = clock.begin();
            minutes(wait).await;
            drop(waiting);
            minutes(after).await;
            Next::Done
        });
        bounded(LONGEST, work, &waits).await
    };
    assert_eq!(ended(0, 0, 59).await, Some(Next::Done));
    assert_eq!(ended(30, 300, 29).await, Some(Next::Done), "five hours of waiting do not count");
    for (before, wait, after) in [(61, 0, 0), (30, 300, 31), (0, 90, 61)] {
        let next = ended(before, wait, after).await;
        assert!(matches!(&next, Some(Next::Retry { cause, .. }) if cause == "deadline"), "{next:?}");
    }
}

#[tokio::test]
async fn a_panic_is_told_from_an_answer() {
    let work = scoped(async { panic!("as the test wants") });
    assert_eq!(bounded(LONGEST, work, &Waits::default()).await, None);
}
