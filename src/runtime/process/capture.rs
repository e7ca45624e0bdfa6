//! Reading a child's output with a bound: all of it up to a limit, or the end of it.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Why reading stopped before the end.
#[derive(Debug)]
pub(super) enum CaptureError {
    Io(io::Error),
    TooLarge,
}

/// What to do with more bytes than the limit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// Stop with an error.
    Refuse,
    /// Forget the oldest bytes.
    DropOldest,
}

/// Bytes read so far, readable even when reading was given up.
pub(super) struct Capture {
    bytes: Vec<u8>,
    limit: usize,
    excess: Excess,
    truncated: bool,
}

impl Capture {
    pub(super) fn new(limit: usize, excess: Excess) -> Self {
        Self { bytes: Vec::new(), limit, excess, truncated: false }
    }

    /// Reads until the end of `from`. The pipe is emptied all the time, so the child never blocks on a full one.
    pub(super) async fn fill(&mut self, mut from: impl AsyncRead + Unpin) -> Result<(), CaptureError> {
        let mut chunk = vec![0; 32 << 10];
        loop {
            match from.read(&mut chunk).await {
                Ok(0) => return Ok(()),
                Ok(n) => self.push(&chunk[..n])?,
                Err(e) => return Err(CaptureError::Io(e)),
            }
        }
    }

    fn push(&mut self, more: &[u8]) -> Result<(), CaptureError> {
        if self.excess == Excess::Refuse && self.bytes.len() + more.len() > self.limit {
            return Err(CaptureError::TooLarge);
        }
        self.bytes.extend_from_slice(more);
        if self.bytes.len() > self.limit.saturating_mul(2) {
            self.trim();
        }
        Ok(())
    }

    fn trim(&mut self) {
        let excess = self.bytes.len().saturating_sub(self.limit);
        self.truncated |= excess > 0;
        self.bytes.drain(..excess);
    }

    /// Returns the bytes, and whether older ones were dropped.
    pub(super) fn finish(mut self) -> (Vec<u8>, bool) {
        self.trim();
        (self.bytes, self.truncated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_tail_is_kept_and_a_full_head_refused() {
        let input = b"0123456789".repeat(10_000);
        let mut tail = Capture::new(15, Excess::DropOldest);
        tail.fill(&input[..]).await.unwrap();
        assert_eq!(tail.finish(), (b"567890123456789".to_vec(), true));
        let mut head = Capture::new(99_999, Excess::Refuse);
        assert!(matches!(head.fill(&input[..]).await, Err(CaptureError::TooLarge)));
        let mut exact = Capture::new(100_000, Excess::Refuse);
        exact.fill(&input[..]).await.unwrap();
        assert_eq!(exact.finish(), (input, false));
    }
}
