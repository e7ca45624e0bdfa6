//! Patience with those who flood: while many requests a second are refused, each refusal is told a moment later, so that a
//! flood's clients wait instead of the processor. It waits after the request has given back its place.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::response::Response;
use tokio::time::Instant;

/// Refusals in one second that are told at once.
const AT_ONCE: u32 = 500;
/// How much later the others are told.
const LATER: Duration = Duration::from_millis(200);

/// Counts the refusals of this second.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Option<(Instant, u32)>>);

impl Refusals {
    /// Passes answers on, refusals later while there are many.
    pub(super) async fn slow_down(&self, response: Response) -> Response {
        let status = response.status();
        if (status.is_client_error() || status.as_u16() == 503) && self.is_flood() {
            tokio::time::sleep(LATER).await;
        }
        response
    }

    fn is_flood(&self) -> bool {
        let now = Instant::now();
        let mut second = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = second.filter(|(since, _)| now - *since < Duration::from_secs(1)).unwrap_or((now, 0));
        *second = Some((since, count.saturating_add(1)));
        count >= AT_ONCE
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::super::answer::empty;
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_refusals_beyond_the_first_hundreds_of_a_second_wait() {
        let refusals = Refusals::default();
        let took = async |status: StatusCode| {
            let began = Instant::now();
            refusals.slow_down(empty(status)).await;
            began.elapsed()
        };
        for _ in 0..AT_ONCE {
            assert_eq!(took(StatusCode::BAD_REQUEST).await, Duration::ZERO);
        }
        assert!(took(StatusCode::BAD_REQUEST).await >= LATER);
        assert_eq!(took(StatusCode::OK).await, Duration::ZERO);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(took(StatusCode::NOT_FOUND).await, Duration::ZERO);
    }
}
