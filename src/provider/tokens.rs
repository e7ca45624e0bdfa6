//! What hosts and clouds hand out, tokens, keys and logins, kept until it ends: bounded in number and in time, each by everything that it
//! was asked with. One asker at a time fetches a token; the others then find it.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::Error;

/// Tokens are given up this much before they end, because clocks and networks differ.
const EARLY: Duration = Duration::from_secs(60);

/// For which object tokens are fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What happened to the kept tokens, for those who count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenEvent<'a> {
    /// A token was there.
    Hit(&'a Asker),
    /// None was there, so that one is fetched.
    Miss(&'a Asker),
    /// An asker was answered, with a token or without.
    Answered(bool),
    /// A token that was still good made room for another.
    Evicted,
    /// So many tokens are kept.
    Kept(usize),
}

/// Is told what happens to the kept tokens.
#[derive(Clone)]
pub struct TokenObserver(pub Arc<dyn Fn(TokenEvent<'_>) + Send + Sync>);

impl fmt::Debug for TokenObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenObserver")
    }
}

/// The kept tokens.
pub(super) struct Tokens {
    size: usize,
    longest: Duration,
    observer: Option<TokenObserver>,
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
    pub(super) fn new(size: usize, longest: Duration, observer: Option<TokenObserver>) -> Self {
        Self { size, longest, observer, kept: Mutex::default() }
    }

    /// Finds a token, or fetches one; `fetch` also says how long it is good for.
    pub(super) async fn get<T, F>(&self, key: [u8; 32], asker: &Asker, fetch: F) -> Result<T, Error>
    where
        T: Clone + Send + 'static,
        F: Future<Output = Result<(T, Duration), Error>>,
    {
        if self.size == 0 {
            return fetch.await.map(|(token, _)| token);
        }
        let found = self.find(key, asker, fetch).await;
        self.tell(TokenEvent::Answered(found.is_ok()));
        self.tell(TokenEvent::Kept(self.count()));
        found
    }

    async fn find<T, F>(&self, key: [u8; 32], asker: &Asker, fetch: F) -> Result<T, Error>
    where
        T: Clone + Send + 'static,
        F: Future<Output = Result<(T, Duration), Error>>,
    {
        let place = self.place(key);
        let mut held = place.lock().await;
        if let Some((token, until)) = &*held
            && *until > Instant::now()
            && let Some(token) = token.downcast_ref::<T>()
        {
            self.tell(TokenEvent::Hit(asker));
            return Ok(token.clone());
        }
        self.tell(TokenEvent::Miss(asker));
        *held = None;
        let begun = Instant::now();
        let (token, valid) = fetch.await?;
        *held = Some((Box::new(token.clone()), begun + valid.saturating_sub(EARLY).min(self.longest)));
        Ok(token)
    }

    fn tell(&self, event: TokenEvent<'_>) {
        if let Some(observer) = &self.observer {
            (observer.0)(event);
        }
    }

    fn count(&self) -> usize {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.values().filter(|place| place.try_lock().is_ok_and(|held| held.is_some())).count()
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
            self.tell(TokenEvent::Evicted);
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
        tokens.get(key(&[name]), &Asker::default(), fetch).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_are_kept_until_shortly_before_they_end() {
        let tokens = Tokens::new(2, Duration::from_secs(3600), None);
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
        let none = Tokens::new(0, Duration::from_secs(3600), None);
        assert_eq!((ask(&none, "a", "1", 600).await, ask(&none, "a", "2", 600).await), ("1".into(), "2".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_happens_to_tokens_is_told() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&told);
        let observer = TokenObserver(Arc::new(move |event| seen.lock().unwrap().push(format!("{event:?}"))));
        let tokens = Tokens::new(1, Duration::from_secs(3600), Some(observer));
        for name in ["a", "a", "b"] {
            ask(&tokens, name, "1", 600).await;
        }
        let refused = async { Err(Error::Said("no".to_owned())) };
        tokens.get::<String, _>(key(&["b", "c"]), &Asker::default(), refused).await.unwrap_err();
        let told = told.lock().unwrap().join(" ").replace(r#"(Asker { namespace: "", name: "" })"#, "");
        assert_eq!(
            told,
            "Miss Answered(true) Kept(1) Hit Answered(true) Kept(1) Evicted Miss Answered(true) Kept(1) \
             Evicted Miss Answered(false) Kept(0)"
        );
    }

    #[test]
    fn keys_tell_their_parts_apart() {
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
