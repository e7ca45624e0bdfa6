//! Reviews: questions to the API server that are asked by making an object that is never stored.

use http::Method;
use serde_json::Value;
use tokio::time::Instant;

use super::request::{Call, JSON};
use super::{Cluster, ErrorKind, RequestError};

impl Cluster {
    /// Asks a review, such as a `TokenReview`, at its path, and returns it with its `status`. Its text never shows in errors:
    /// it may hold a token.
    ///
    /// # Errors
    /// When the API server refuses it, or does not answer until the deadline.
    pub async fn review(&self, path: &str, body: &Value, until: Instant) -> Result<Value, RequestError> {
        let unwritable = |_| RequestError::local(ErrorKind::Protocol, format!("cannot write a review for {path}"));
        let bytes = serde_json::to_vec(body).map_err(unwritable)?;
        let mut call = Call::get("create", path.to_owned(), JSON, until);
        (call.method, call.content_type, call.body) = (Method::POST, JSON, bytes.into());
        self.call(&call).await?.parse()
    }
}
