//! Listeners and connections: accepting within bounds, heads within their time, a drain at the end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower_http::catch_panic::CatchPanicLayer;

use super::api::Api;
use super::auth::{Auth, Doorkeeper};
use super::dispatch::{Door, Limits, Service, dispatch};
use super::events::Watchers;
use super::forward::{Forward, Leader};
use super::patient::Patient;
use super::receivers::Receivers;
use super::refusals::Refusals;
use super::tls::{Tls, TlsError, TlsFiles};
use super::{Probes, answer, openapi};
use crate::report::ApiError;
use crate::runtime::{Scoped, Stop, scoped};

/// How long open requests may go on after a stop.
const DRAIN: Duration = Duration::from_secs(5);
/// How long accepting rests after an error such as too many open files.
const REST: Duration = Duration::from_millis(100);

/// Where the server listens and what it may cost.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Address of the API, as Go writes it: `:3030` means every interface.
    pub listen: String,
    /// Address of the metrics; `None` puts them beside the API.
    pub listen_metrics: Option<String>,
    /// TLS on the API's address; the metrics' own address stays plain.
    pub tls: Option<TlsFiles>,
    /// Who may use the API.
    pub auth: Auth,
    /// The webhooks that are served.
    pub receivers: Receivers,
    /// What requests may cost.
    pub limits: Limits,
}

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is in use, not ours, or no address.
    #[error(
        "cannot listen on {address}: {source}; expected an address such as :3030 or 127.0.0.1:3030 that nobody uses"
    )]
    Bind {
        /// The address.
        address: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The client that asks the leader cannot be made.
    #[error("requests cannot be handed to the leader: {0}")]
    Forward(#[from] reqwest::Error),
    /// The routes' document could not be written; a bug.
    #[error("the OpenAPI document could not be written: {0}")]
    Document(#[from] serde_json::Error),
}

/// A server that listens and has not begun to answer.
pub struct Server<A> {
    service: Service<A>,
    api: TcpListener,
    tls: Option<Tls>,
    metrics: Option<TcpListener>,
}

impl<A: Api> Server<A> {
    /// Opens the listeners. Connections wait until [`Server::run`].
    ///
    /// # Errors
    /// When an address cannot be had.
    pub async fn bind(settings: &Settings, api: A, probes: Probes) -> Result<Self, Error> {
        let listener = bind(&settings.listen).await?;
        let metrics = match settings.listen_metrics.as_deref().filter(|address| !address.is_empty()) {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        let limits = settings.limits;
        let document = openapi::document(&api.version())?.into();
        let slots = Arc::new(Semaphore::new(limits.in_flight));
        let service = Service {
            api,
            probes,
            limits,
            slots,
            uploads: Arc::new(Semaphore::new(limits.in_flight)),
            document,
            watchers: Watchers::default(),
            doorkeeper: Doorkeeper::new(settings.auth),
            receivers: settings.receivers.clone(),
            refusals: Refusals::default(),
            stop: Stop::new(),
            forward: None,
        };
        let tls = settings.tls.clone().map(Tls::load).transpose()?;
        Ok(Self { service, api: listener, tls, metrics })
    }

    /// Hands what needs the leader over to it while another replica leads.
    ///
    /// # Errors
    /// When the client for that cannot be made.
    pub fn forwarding(mut self, leader: watch::Receiver<Leader>) -> Result<Self, Error> {
        self.service.forward = Some(Forward::new(leader, self.tls.as_ref())?);
        Ok(self)
    }

    /// The API's address.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.api.local_addr()
    }

    /// The metrics' own address, if they have one.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn metrics_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.metrics.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// Answers until stopped; then open requests have a few seconds to end.
    ///
    /// # Errors
    /// None today: what goes wrong with a connection ends that connection.
    pub async fn run(mut self, stop: Stop) -> Result<(), Error> {
        self.service.stop = stop.clone();
        let door = if self.metrics.is_some() { Door::Api } else { Door::All };
        let limits = self.service.limits;
        let service = Arc::new(self.service);
        let _certificates = self.tls.clone().map(|tls| scoped(tls.follow(stop.clone())));
        let api = accept_all(self.api, Front { router: router(&service, door), limits, tls: self.tls }, &stop);
        match self.metrics {
            Some(listener) => {
                let front = Front { router: router(&service, Door::Metrics), limits, tls: None };
                let metrics = accept_all(listener, front, &stop);
                futures::join!(api, metrics);
            }
            None => api.await,
        }
        Ok(())
    }
}

fn router<A: Api>(service: &Arc<Service<A>>, door: Door) -> Router {
    let service = Arc::clone(service);
    let handle = tower::service_fn(move |request: Request| {
        let service = Arc::clone(&service);
        async move { Ok::<_, Infallible>(dispatch(&service, door, request).await) }
    });
    let panicked = |_: Box<dyn std::any::Any + Send>| {
        tracing::error!(component = "daemon", "an answer panicked; this is a bug");
        let e = ApiError::server("internal error", "The daemon has a bug: this answer could not be made.");
        answer::error(&http::HeaderMap::new(), &e)
    };
    Router::new().fallback_service(handle).layer(CatchPanicLayer::custom(panicked))
}

pub(super) async fn bind(address: &str) -> Result<TcpListener, Error> {
    let failed = |source| Error::Bind { address: address.to_owned(), source };
    let Some(port) = address.strip_prefix(':') else { return TcpListener::bind(address).await.map_err(failed) };
    match TcpListener::bind(format!("[::]:{port}")).await {
        Ok(listener) => Ok(listener),
        // Machines without IPv6 have no such address.
        Err(_) => TcpListener::bind(format!("0.0.0.0:{port}")).await.map_err(failed),
    }
}

/// What stands behind a listener.
#[derive(Clone)]
pub(super) struct Front {
    pub(super) router: Router,
    pub(super) limits: Limits,
    pub(super) tls: Option<Tls>,
}

/// Accepts connections; at the bound, new ones wait in the system's queue until an old one ends.
pub(super) async fn accept_all(listener: TcpListener, front: Front, stop: &Stop) {
    let draining = GracefulShutdown::new();
    let mut open: FuturesUnordered<Scoped<()>> = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            () = stop.stopped() => break,
            Some(_) = open.next(), if !open.is_empty() => {}
            accepted = listener.accept(), if open.len() < front.limits.connections => match accepted {
                Ok((stream, _)) => open.push(scoped(greet(stream, front.clone(), draining.watcher()))),
                Err(e) => {
                    tracing::warn!(component = "daemon", err = %e, "a connection could not be accepted");
                    tokio::time::sleep(REST).await;
                }
            },
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, draining.shutdown()).await.is_err() {
        tracing::warn!(
            component = "daemon",
            "requests were cut off: they had not ended {}s after the stop",
            DRAIN.as_secs()
        );
    }
}

/// Shakes hands where that is asked for, then serves the connection.
async fn greet(stream: TcpStream, front: Front, watcher: Watcher) {
    let limits = front.limits;
    let stream = Patient::new(stream, limits.write);
    let Some(tls) = front.tls else { return converse(stream, front.router, limits, watcher).await };
    match tokio::time::timeout(limits.head, tls.acceptor().accept(stream)).await {
        Ok(Ok(stream)) => converse(stream, front.router, limits, watcher).await,
        Ok(Err(e)) => tracing::debug!(component = "daemon", err = %e, "a connection did not come to TLS"),
        Err(_) => tracing::debug!(component = "daemon", "a connection did not come to TLS in time"),
    }
}

/// Serves one connection to its end. HTTP/1 only, as v1: its clients use nothing else.
async fn converse<S>(stream: S, router: Router, limits: Limits, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(64 << 10);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).into_owned();
    if let Err(e) = watcher.watch(connection).await {
        tracing::debug!(component = "daemon", err = %e, "a connection ended early");
    }
}
