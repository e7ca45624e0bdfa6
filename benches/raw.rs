//! The bare client that every figure is compared with: one HTTP/2 connection, no retries, no bookkeeping.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use serde_json::{Value, json};

/// Requests in flight, as many as the engine uses.
pub const IN_FLIGHT: usize = 32;

/// A connection to the API server that only knows URLs and bodies.
#[derive(Clone)]
pub struct Raw {
    http: reqwest::Client,
    base: Arc<str>,
    token: Arc<str>,
}

impl Raw {
    /// Connects with the control plane's own CA and an administrator's token.
    pub fn new(base: &str, token: &str, ca_pem: &[u8]) -> Self {
        let http = reqwest::Client::builder()
            .tls_certs_only([reqwest::Certificate::from_pem(ca_pem).expect("the control plane's CA is PEM")])
            .timeout(Duration::from_secs(60))
            .build()
            .expect("a client without options can be built");
        Self { http, base: base.trim_end_matches('/').into(), token: token.into() }
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> (u16, bytes::Bytes) {
        let answer = request.bearer_auth(&*self.token).send().await.expect("the API server answers");
        let status = answer.status().as_u16();
        (status, answer.bytes().await.expect("the body arrives"))
    }

    /// GETs a path.
    pub async fn get(&self, path: &str) -> (u16, bytes::Bytes) {
        self.send(self.http.get(format!("{}{path}", self.base))).await
    }

    /// GETs a list as metadata only.
    pub async fn list_metadata(&self, path: &str) -> (u16, bytes::Bytes) {
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        self.send(self.http.get(format!("{}{path}", self.base)).header("accept", accept)).await
    }

    /// Server-side applies one object.
    pub async fn apply(&self, path: &str, body: Vec<u8>) -> u16 {
        let url = format!("{}{path}?fieldManager=raw&force=true", self.base);
        let request = self.http.patch(url).header("content-type", "application/apply-patch+yaml").body(body);
        self.send(request).await.0
    }

    /// Applies all bodies with [`IN_FLIGHT`] in flight; returns the time it took.
    pub async fn apply_all(&self, bodies: Vec<(String, Vec<u8>)>) -> Duration {
        let start = Instant::now();
        let failed = futures::stream::iter(bodies)
            .map(|(path, body)| async move { self.apply(&path, body).await })
            .buffer_unordered(IN_FLIGHT)
            .filter(|status| futures::future::ready(!(200..300).contains(status)))
            .count()
            .await;
        assert_eq!(failed, 0, "the bare client's own requests must all succeed");
        start.elapsed()
    }
}

impl Raw {
    /// Merge-patches one object.
    pub async fn merge(&self, path: &str, body: Vec<u8>) -> u16 {
        let url = format!("{}{path}?fieldManager=raw", self.base);
        let request = self.http.patch(url).header("content-type", "application/merge-patch+json").body(body);
        self.send(request).await.0
    }

    /// Tries and then applies each body, with [`IN_FLIGHT`] in flight; returns the time it took.
    pub async fn try_and_apply_all(&self, bodies: Vec<(String, Vec<u8>)>) -> Duration {
        let start = Instant::now();
        let failed = futures::stream::iter(bodies)
            .map(|(path, body)| async move {
                let url = format!("{}{path}?fieldManager=raw&force=true&dryRun=All", self.base);
                let dry =
                    self.http.patch(url).header("content-type", "application/apply-patch+yaml").body(body.clone());
                (self.send(dry).await.0, self.apply(&path, body).await)
            })
            .buffer_unordered(IN_FLIGHT)
            .filter(|(dry, wet)| futures::future::ready(!(200..300).contains(dry) || !(200..300).contains(wet)))
            .count()
            .await;
        assert_eq!(failed, 0, "the bare client's own requests must all succeed");
        start.elapsed()
    }
}

/// A small ConfigMap, as the bare client and the repositories of the benchmarks both use it.
pub fn config_map(namespace: &str, name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
           "data": {"key": value, "text": "a line that gives the object an ordinary size\n".repeat(4)}})
}

/// The URL path of a ConfigMap.
pub fn config_map_path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}
