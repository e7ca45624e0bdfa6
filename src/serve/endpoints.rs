//! Probes and metrics of a process that has no API: one that runs controllers alone. Each has an address of its own, as
//! Deployments of controllers expect it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use http::{Method, StatusCode};
use tokio::net::TcpListener;

use super::answer;
use super::dispatch::Limits;
use super::server::{Error, Front, accept_all, bind};
use super::{Probes, probes};
use crate::report::Metrics;
use crate::runtime::Stop;

/// What stands for "no address", as in controller-runtime.
const NONE: &str = "0";

/// Where probes and metrics are served.
pub struct Endpoints {
    health: Option<TcpListener>,
    metrics: Option<TcpListener>,
    shown: Shown,
}

/// What answers are made of.
#[derive(Clone)]
struct Shown {
    probes: Probes,
    metrics: Arc<Metrics>,
}

/// Which listener a request came to.
#[derive(Clone, Copy, Debug)]
enum Door {
    Health,
    Metrics,
}

impl Endpoints {
    /// Opens the listeners; an address that is empty or `0` has none.
    ///
    /// # Errors
    /// [`Error::Bind`] when an address cannot be had.
    pub async fn bind(health: &str, metrics: &str, probes: Probes, shown: Arc<Metrics>) -> Result<Self, Error> {
        let open = async |address: &str| match address {
            "" | NONE => Ok(None),
            address => bind(address).await.map(Some),
        };
        let shown = Shown { probes, metrics: shown };
        Ok(Self { health: open(health).await?, metrics: open(metrics).await?, shown })
    }

    /// The addresses of the probes and of the metrics, for those that were given as port 0.
    pub fn addresses(&self) -> (Option<SocketAddr>, Option<SocketAddr>) {
        let of = |listener: &Option<TcpListener>| listener.as_ref().and_then(|listener| listener.local_addr().ok());
        (of(&self.health), of(&self.metrics))
    }

    /// Answers until stopped.
    pub async fn run(self, stop: Stop) {
        let serve = async |listener: Option<TcpListener>, door| match listener {
            Some(listener) => {
                let front = Front { router: router(self.shown.clone(), door), limits: Limits::default(), tls: None };
                accept_all(listener, front, &stop).await;
            }
            None => stop.stopped().await,
        };
        futures::join!(serve(self.health, Door::Health), serve(self.metrics, Door::Metrics));
    }
}

fn router(shown: Shown, door: Door) -> Router {
    let handle = tower::service_fn(move |request: Request| {
        let answer = shown.answer(door, request.method(), request.uri().path());
        async move { Ok::<_, Infallible>(answer) }
    });
    Router::new().fallback_service(handle)
}

impl Shown {
    fn answer(&self, door: Door, method: &Method, path: &str) -> Response {
        if method != Method::GET && method != Method::HEAD {
            return answer::plain(StatusCode::METHOD_NOT_ALLOWED, "only GET is served here\n");
        }
        match (door, path) {
            (Door::Health, "/healthz") => self.probes.live(),
            (Door::Health, "/readyz") => self.probes.ready(),
            (Door::Metrics, "/metrics") => probes::exposed(&self.metrics).unwrap_or_else(|error| {
                answer::plain(StatusCode::INTERNAL_SERVER_ERROR, format!("metrics could not be written: {error}\n"))
            }),
            _ => answer::plain(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn get(address: SocketAddr, path: &str) -> (u16, String) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        (text[9..12].parse().unwrap(), text.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    #[tokio::test]
    async fn probes_and_metrics_have_an_address_each() {
        let (probes, stop) = (Probes::default(), Stop::new());
        let metrics = Arc::new(Metrics::new("1.2.3").unwrap());
        let endpoints = Endpoints::bind("127.0.0.1:0", "127.0.0.1:0", probes.clone(), metrics).await.unwrap();
        let (Some(health), Some(metrics)) = endpoints.addresses() else { panic!("both listen") };
        let running = crate::runtime::scoped(endpoints.run(stop.clone()));
        assert_eq!(get(health, "/healthz").await, (200, "ok\n".to_owned()));
        probes.readiness.wait_for("cluster", "not asked yet");
        assert_eq!(get(health, "/readyz").await, (503, "cluster: not asked yet\n".to_owned()));
        assert!(get(metrics, "/metrics").await.1.contains("fluxd_build_info"));
        assert_eq!((get(health, "/metrics").await.0, get(metrics, "/healthz").await.0), (404, 404));
        stop.stop();
        running.await.unwrap();
    }

    #[tokio::test]
    async fn an_address_of_0_is_none() {
        let metrics = Arc::new(Metrics::new("1.2.3").unwrap());
        let endpoints = Endpoints::bind("0", "", Probes::default(), metrics).await.unwrap();
        assert_eq!(endpoints.addresses(), (None, None));
    }
}
