//! What hosts and clouds hand out, tokens, keys and logins, kept until it ends: bounded in number and in time, each by everything that it
//! was asked with. One asker at a time fetches a token; the others then find it.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::Error;

/// Tokens are given up this much before they end, because clocks and networks differ.
const EARLY: Duration = Duration::from_secs(60);

/// The kept tokens.
pub(super) struct Tokens {
    size: usize,
    longest: Duration,
    kept: Mutex<HashMap<[u8; 32], Place>>,
}

/// What is kept for one key, with its end; of whatever type its fetch has.
type Place = Arc<tokio::sync::Mutex<Option<(Box<dyn Any + Send>, Instant)>>>;

/// What a token is for: a digest, so that the keys hold nothing secret.
pub(super) fn key(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

impl Tokens {
    /// Keeps at most `size` tokens, each at most `longest`.
    pub(super) fn new(size: usize, longest: Duration) -> Self {
        Self { size, longest, kept: Mutex::default() }
    }

    /// Finds a token, or fetches one; `fetch` also says how long it is good for.
    pub(super) async fn get<T, F>(&self, key: [u8; 32], fetch: F) -> Result<T, Error>
    where
        T: Clone + Send + 'static,
        F: Future<Output = Result<(T, Duration), Error>>,
    {
        if self.size == 0 {
            return fetch.await.map(|(token, _)| token);
        }
        let place = self.place(key);
        let mut held = place.lock().await;
        if let Some((token, until)) = &*held
            && *until > Instant::now()
            && let Some(token) = token.downcast_ref::<T>()
        {
            return Ok(token.clone());
        }
        let begun = Instant::now();
        let (token, valid) = fetch.await?;
        *held = Some((Box::new(token.clone()), begun + valid.saturating_sub(EARLY).min(self.longest)));
        Ok(token)
    }

    fn place(&self, key: [u8; 32]) -> Place {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = kept.get(&key) {
            return Arc::clone(place);
        }
        if kept.len() >= self.size {
            let now = Instant::now();
            // those being fetched are locked, and stay
            kept.retain(|_, place| {
                place.try_lock().map_or(true, |held| held.as_ref().is_some_and(|(_, until)| *until > now))
            });
        }
        if kept.len() >= self.size
            && let Some(any) = kept.keys().next().copied()
        {
            kept.remove(&any);
        }
        let place = Place::default();
        kept.insert(key, Arc::clone(&place));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask(tokens: &Tokens, name: &str, answer: &str, valid: u64) -> String {
        let fetch = async { Ok((answer.to_owned(), Duration::from_secs(valid))) };
        tokens.get(key(&[name]), fetch).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_are_kept_until_shortly_before_they_end() {
        let tokens = Tokens::new(2, Duration::from_secs(3600));
        assert_eq!(ask(&tokens, "a", "1", 600).await, "1");
        assert_eq!(ask(&tokens, "a", "2", 600).await, "1");
        tokio::time::advance(Duration::from_secs(541)).await;
        assert_eq!(ask(&tokens, "a", "3", 86_400).await, "3");
        tokio::time::advance(Duration::from_secs(3601)).await;
        assert_eq!(ask(&tokens, "a", "4", 600).await, "4");
        for name in ["b", "c", "d"] {
            ask(&tokens, name, "x", 600).await;
        }
        assert!(tokens.kept.lock().unwrap().len() <= 2);
        let none = Tokens::new(0, Duration::from_secs(3600));
        assert_eq!((ask(&none, "a", "1", 600).await, ask(&none, "a", "2", 600).await), ("1".into(), "2".into()));
    }

    #[test]
    fn keys_tell_their_parts_apart() {
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
