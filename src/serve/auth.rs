//! Who may use the API: nobody is asked (as v1), or the API server decides by token and path, as it does for its own paths
//! that are no resources. Answers are remembered for some seconds. Probes, the public key and webhooks, which prove
//! themselves, stay open. A path is asked about without its `/api`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Method, header::AUTHORIZATION};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::api::Api;
use super::dispatch::{Call, Door};
use super::routes::Endpoint;
use crate::operator::Person;
use crate::report::ApiError;

/// How long an answer of the API server holds.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Answers remembered; the oldest go first.
const ENTRIES: usize = 2048;
/// Questions to the API server at once; a flood of invented tokens must not become its flood.
const QUESTIONS: usize = 16;
/// Longest token that is looked at, in bytes.
const TOKEN: usize = 16 << 10;

/// Who may use the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// Whoever reaches the port.
    #[default]
    None,
    /// Whom the API server's reviews let through.
    Kubernetes,
}

/// A bounded memory of answers.
struct Memory<K, V> {
    entries: HashMap<K, (Instant, u64, V)>,
    order: BTreeMap<u64, K>,
    count: u64,
}

impl<K, V> Default for Memory<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), order: BTreeMap::new(), count: 0 }
    }
}

impl<K: Clone + Eq + std::hash::Hash, V: Clone> Memory<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        let (since, _, value) = self.entries.get(key)?;
        (since.elapsed() < REMEMBERED).then(|| value.clone())
    }

    fn put(&mut self, key: K, value: V) {
        self.count += 1;
        if let Some((_, old, _)) = self.entries.insert(key.clone(), (Instant::now(), self.count, value)) {
            self.order.remove(&old);
        }
        self.order.insert(self.count, key);
        while self.entries.len() > ENTRIES {
            let Some((_, oldest)) = self.order.pop_first() else { return };
            self.entries.remove(&oldest);
        }
    }
}

/// Only a token's digest is kept, and only a path's: paths can be long.
type Digested = [u8; 32];

fn digested(text: &str) -> Digested {
    Sha256::digest(text.as_bytes()).into()
}

/// The doorkeeper.
pub(super) struct Doorkeeper {
    auth: Auth,
    people: Mutex<Memory<Digested, Option<Person>>>,
    rights: Mutex<Memory<(Digested, &'static str, Digested), bool>>,
    questions: Semaphore,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Doorkeeper {
    pub(super) fn new(auth: Auth) -> Self {
        Self { auth, people: Mutex::default(), rights: Mutex::default(), questions: Semaphore::new(QUESTIONS) }
    }

    /// Lets a request through or says why not.
    pub(super) async fn admit<A: Api>(&self, api: &A, call: &Call<'_>) -> Result<(), ApiError> {
        // Metrics and probes with an address of their own are there to be scraped; the network decides who gets to it.
        if self.auth == Auth::None || call.door == Door::Metrics || is_open(call.route.endpoint) {
            return Ok(());
        }
        let token = token(call.headers).ok_or_else(no_token)?;
        let digest = digested(token);
        let known = lock(&self.people).get(&digest);
        let person = match known {
            Some(person) => person,
            None => {
                let _seat = self.questions.try_acquire().map_err(|_| too_many())?;
                let person = api.authenticate(token).await.map_err(|e| unsure(&e))?;
                lock(&self.people).put(digest, person.clone());
                person
            }
        };
        let person = person.ok_or_else(unknown)?;
        let path = asked(call.target.split('?').next().unwrap_or_default());
        let verb = verb(&call.route.method);
        let key = (digest, verb, digested(path));
        let known = lock(&self.rights).get(&key);
        let allowed = match known {
            Some(allowed) => allowed,
            None => {
                let _seat = self.questions.try_acquire().map_err(|_| too_many())?;
                let allowed = api.may(&person, verb, path).await.map_err(|e| unsure(&e))?;
                lock(&self.rights).put(key, allowed);
                allowed
            }
        };
        if allowed { Ok(()) } else { Err(forbidden(&person.user, verb, path)) }
    }
}

fn is_open(endpoint: Endpoint) -> bool {
    matches!(endpoint, Endpoint::Live | Endpoint::Ready | Endpoint::PublicKey | Endpoint::Hook)
}

/// The path that the API server is asked about: without `/api`. Kubernetes lets every account `get` all paths below `/api/`
/// (its role `system:discovery`, for its own API), which says nothing of whom our API is for.
fn asked(path: &str) -> &str {
    path.strip_prefix("/api").filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

/// The API server's verb for a path that is no resource; looking without a body is looking.
fn verb(method: &Method) -> &'static str {
    match *method {
        Method::POST => "post",
        Method::PATCH => "patch",
        _ => "get",
    }
}

/// A bearer's token, or the one that v1's `fluxctl --token` sends.
fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    let token = match scheme.to_ascii_lowercase().as_str() {
        "bearer" => rest.trim(),
        "scope-probe" => rest.trim().strip_prefix("token=")?,
        _ => return None,
    };
    (!token.is_empty() && token.len() <= TOKEN).then_some(token)
}

fn no_token() -> ApiError {
    let help = "Not authenticated\n\nThis daemon runs with --api-auth=kubernetes: send a token of the cluster, as in\n\
                \"Authorization: Bearer $(kubectl create token ACCOUNT)\", or give it to fluxctl with --token.\n";
    ApiError::unauthorized("no token", help)
}

fn unknown() -> ApiError {
    let help = "Not authenticated\n\nThe cluster does not know the token: it is mistyped, has expired, or is another cluster's.\n";
    ApiError::unauthorized("the token is not valid", help)
}

fn forbidden(user: &str, verb: &str, path: &str) -> ApiError {
    let help = format!(
        "Not allowed\n\n{user} may not {verb} {path}. Grant it with a ClusterRole that has the rule\n\
         nonResourceURLs: [\"{path}\"], verbs: [\"{verb}\"].\n"
    );
    ApiError::forbidden(format!("{user} may not {verb} {path}"), help)
}

fn too_many() -> ApiError {
    let help = "Too many callers whom the daemon does not know yet want in at once. Try again in a second.\n";
    ApiError::busy("too many access checks at once", help)
}

/// Nobody is let in on a guess.
fn unsure(e: &ApiError) -> ApiError {
    tracing::warn!(component = "daemon", err = %e, "access to the API cannot be checked");
    let help = "The API server could not be asked whether you may do this. The daemon's log says why; it needs the right to\n\
                create tokenreviews and subjectaccessreviews.\n";
    ApiError::busy("access cannot be checked at this moment", help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_are_forgotten_after_a_while_and_the_oldest_when_there_are_many() {
        let mut memory = Memory::default();
        memory.put(0, true);
        assert_eq!(memory.get(&0), Some(true));
        tokio::time::advance(REMEMBERED).await;
        assert_eq!(memory.get(&0), None);
        for key in 0..ENTRIES + 1 {
            memory.put(key, false);
        }
        assert_eq!((memory.get(&0), memory.get(&1), memory.entries.len()), (None, Some(false), ENTRIES));
        assert_eq!(memory.order.len(), ENTRIES);
    }

    #[test]
    fn tokens_come_as_bearers_or_as_v1s_client_sends_them() {
        for (value, wanted) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Scope-Probe token=abc", Some("abc")),
            ("Scope-Probe abc", None),
            ("Basic YTpi", None),
            ("Bearer ", None),
            ("Bearer", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, value.parse().unwrap());
            assert_eq!(token(&headers), wanted, "{value}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, format!("Bearer {}", "x".repeat(TOKEN + 1)).parse().unwrap());
        assert_eq!(token(&headers), None);
    }
}
