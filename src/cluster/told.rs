//! A client that tells of every answer: its method and status. For metrics of processes whose requests have many authors.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use kube::client::{Body, ClientBuilder};
use tower::{Layer, Service};

use super::ConnectError;
use super::client::quiet;

/// Hears of a finished request: its method, and the HTTP status (0 without an answer).
pub type OnAnswer = Arc<dyn Fn(&Method, u16) + Send + Sync>;

/// Makes a client as [`super::client`] does, whose requests a hook hears of, whoever sends them.
///
/// # Errors
/// When the configuration's certificates, keys or proxy are unusable.
pub fn client_told(config: kube::Config, told: OnAnswer) -> Result<kube::Client, ConnectError> {
    let builder = ClientBuilder::try_from(quiet(config)).map_err(ConnectError::new)?;
    Ok(builder.with_layer(&Telling(told)).build())
}

struct Telling(OnAnswer);

impl<S> Layer<S> for Telling {
    type Service = Told<S>;

    fn layer(&self, inner: S) -> Told<S> {
        Told { inner, told: Arc::clone(&self.0) }
    }
}

struct Told<S> {
    inner: S,
    told: OnAnswer,
}

impl<S, B> Service<Request<Body>> for Told<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (method, told) = (request.method().clone(), Arc::clone(&self.told));
        let answer = self.inner.call(request);
        answer
            .inspect(move |answer| told(&method, answer.as_ref().map_or(0, |answer| answer.status().as_u16())))
            .boxed()
    }
}
