//! Server-sent events: the `data:` of each event of a stream of bytes. Names, ids and retries are not looked at.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt};

use super::error::ClientError;

/// Bytes of the longest event.
const LIMIT: usize = 4 << 20;

/// The data of events.
pub(super) struct Lines<S> {
    parts: S,
    buffer: Vec<u8>,
    data: String,
    ready: VecDeque<String>,
    ended: bool,
}

impl<S> Lines<S> {
    pub(super) fn new(parts: S) -> Self {
        Self { parts, buffer: Vec::new(), data: String::new(), ready: VecDeque::new(), ended: false }
    }

    fn push(&mut self, part: &[u8]) -> Result<(), ClientError> {
        self.buffer.extend_from_slice(part);
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.line(line.trim_end_matches(['\n', '\r']));
        }
        if self.buffer.len() + self.data.len() > LIMIT {
            return Err(ClientError::Decode(format!("an event is longer than {LIMIT} bytes")));
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        if line.is_empty() {
            if !self.data.is_empty() {
                self.ready.push_back(std::mem::take(&mut self.data));
            }
        } else if let Some(text) = line.strip_prefix("data:") {
            if !self.data.is_empty() {
                self.data.push('\n');
            }
            self.data.push_str(text.strip_prefix(' ').unwrap_or(text));
        }
    }
}

impl<S: Stream<Item = Result<Bytes, ClientError>> + Unpin> Stream for Lines<S> {
    type Item = Result<String, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(data) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(data)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let pushed = match self.parts.poll_next_unpin(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {
                    self.ended = true;
                    continue;
                }
                Poll::Ready(Some(part)) => part.and_then(|part| self.push(&part)),
            };
            if let Err(error) = pushed {
                self.ended = true;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(parts: &[&'static str]) -> Vec<String> {
        let parts: Vec<_> = parts.iter().map(|part| Ok(Bytes::from_static(part.as_bytes()))).collect();
        Lines::new(futures::stream::iter(parts)).map(|data| data.unwrap()).collect().await
    }

    #[tokio::test]
    async fn events_are_put_together_from_any_pieces() {
        let parts =
            ["event: sync\r\nda", "ta: {\"a\":\r\ndata: 1}\r\n", "\r\n: keep-alive\n\ndata: 2\n\ndata: unfinished"];
        assert_eq!(read(&parts).await, ["{\"a\":\n1}", "2"]);
    }

    #[tokio::test]
    async fn an_event_without_end_is_refused() {
        let long =
            "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".repeat(LIMIT / 64);
        let parts = futures::stream::iter([Ok(Bytes::from(long))]);
        assert!(Lines::new(parts).next().await.unwrap().is_err());
    }
}
