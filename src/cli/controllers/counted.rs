//! The client of the controllers, which counts every request to the API server, as users of controller-runtime know it
//! (`rest_client_requests_total`).

use std::sync::Arc;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use kube::client::ClientBuilder;
use tower::{Layer, Service};

use crate::report::Metrics;

/// Makes the client.
///
/// # Errors
/// When the configuration's certificates, keys or proxy cannot be used.
pub(super) fn client(config: kube::Config, metrics: Arc<Metrics>) -> Result<kube::Client, kube::Error> {
    let host = config.cluster_url.authority().map_or_else(String::new, ToString::to_string);
    Ok(ClientBuilder::try_from(config)?.with_layer(&Count { host: host.into(), metrics }).build())
}

#[derive(Clone)]
struct Count {
    host: Arc<str>,
    metrics: Arc<Metrics>,
}

impl<S> Layer<S> for Count {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, count: self.clone() }
    }
}

#[derive(Clone)]
struct Counted<S> {
    inner: S,
    count: Count,
}

impl<S, B, R> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (method, count) = (request.method().clone(), self.count.clone());
        let answered = self.inner.call(request);
        async move {
            let answer = answered.await;
            // A request without an answer has no status.
            let status = answer.as_ref().map_or(0, |response| response.status().as_u16());
            count.metrics.rest_request(status, &count.host, method.as_str());
            answer
        }
        .boxed()
    }
}
