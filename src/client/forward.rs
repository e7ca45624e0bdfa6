//! A way to the daemon through the API server: a port on loopback whose connections are carried to port 3030 of its pod
//! (fluxd-v1 §11). Which cluster, is the caller's affair.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use super::error::causes;
use crate::runtime::{Scoped, scoped};

/// The port of the daemon's API.
const PORT: u16 = 3030;
/// Where else to look when nothing has the labels asked for.
const FALLBACK: &str = "name in (flux,fluxd,weave-flux-agent)";
/// Connections carried at one time.
const CONNECTIONS: usize = 32;
/// How long the API server may take to open a connection to the pod.
const OPENING: Duration = Duration::from_secs(30);

/// Why there is no way; the texts are v1's where scripts know them.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// No running pod has the labels.
    #[error(
        "No pod found in namespace {namespace:?} using the following selectors:\n  {labels}\n  {FALLBACK}\n\n\
         Make sure Flux is running in namespace {namespace:?}.\n\
         If Flux is running in another different namespace, please supply it to --k8s-fwd-ns."
    )]
    NoPod {
        /// Where was looked.
        namespace: String,
        /// For what.
        labels: String,
    },
    /// Several daemons run there.
    #[error(
        "Could not create a dialer: Could not get pod name: Ambiguous pod: found more than one pod for selector: \
         labels {labels:?} ({}); name one by --k8s-fwd-labels", pods.join(", ")
    )]
    Ambiguous {
        /// The selector that found them.
        labels: String,
        /// Their names.
        pods: Vec<String>,
    },
    /// The API server did not list the pods.
    #[error("Could not create a dialer: Could not get pod name: Listing pods in kubernetes: {0}")]
    List(String),
    /// The API server did not open the way.
    #[error("Could not create port forward: {0}")]
    Open(String),
}

/// A way that is open until this value goes away.
pub struct Forward {
    address: SocketAddr,
    _carrying: Scoped<()>,
}

impl Forward {
    /// Opens a way to the one daemon in `namespace` that runs with `labels` (`app=flux`), else with the names that v1's
    /// manifests gave it. Replicas of one daemon are one: any of them answers for all.
    ///
    /// # Errors
    /// See [`ForwardError`].
    pub async fn open(client: kube::Client, namespace: &str, labels: &str) -> Result<Self, ForwardError> {
        let pods: Api<Pod> = Api::namespaced(client, namespace);
        let pod = match find(&pods, labels).await? {
            Some(pod) => pod,
            None => find(&pods, FALLBACK)
                .await?
                .ok_or_else(|| ForwardError::NoPod { namespace: namespace.to_owned(), labels: labels.to_owned() })?,
        };
        // Once beforehand, so that what hinders it is told as what it is.
        drop(connect(&pods, &pod).await?);
        let open = |e: std::io::Error| ForwardError::Open(format!("listening on a local port: {e}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(open)?;
        let address = listener.local_addr().map_err(open)?;
        Ok(Self { address, _carrying: scoped(carry(listener, pods, pod)) })
    }

    /// The base URL of the daemon's API on this side.
    pub fn url(&self) -> String {
        format!("http://{}/api/flux", self.address)
    }
}

/// The running pod that a selector finds.
async fn find(pods: &Api<Pod>, labels: &str) -> Result<Option<String>, ForwardError> {
    let wanted = ListParams::default().labels(labels).fields("status.phase=Running");
    let listed = tokio::time::timeout(OPENING, pods.list(&wanted)).await;
    let listed = listed.map_err(|_| ForwardError::List(format!("no answer within {OPENING:?}")))?;
    let found = listed.map_err(|e| ForwardError::List(told(e)))?.items;
    let owners: BTreeSet<_> = found.iter().map(owner).collect();
    let mut names: Vec<String> = found.into_iter().filter_map(|pod| pod.metadata.name).collect();
    names.sort_unstable();
    match names.as_slice() {
        [] => Ok(None),
        [_] => Ok(names.pop()),
        [first, ..] if owners.len() == 1 && !owners.contains(&None) => Ok(Some(first.clone())),
        _ => Err(ForwardError::Ambiguous { labels: labels.to_owned(), pods: names }),
    }
}

/// The controller that made a pod.
fn owner(pod: &Pod) -> Option<String> {
    let owners = pod.metadata.owner_references.as_ref()?;
    owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

fn told(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        other => causes(&other),
    }
}

/// A stream to the daemon's port in its pod.
async fn connect(
    pods: &Api<Pod>,
    pod: &str,
) -> Result<impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + use<>, ForwardError> {
    let opened = tokio::time::timeout(OPENING, pods.portforward(pod, &[PORT])).await;
    let opened = opened.map_err(|_| ForwardError::Open(format!("no answer within {OPENING:?}")))?;
    let mut way = opened.map_err(|e| ForwardError::Open(told(e)))?;
    way.take_stream(PORT).ok_or_else(|| ForwardError::Open(format!("port {PORT} of pod {pod} was not offered")))
}

/// Carries connections for ever. One that cannot be carried is closed, which its client sees.
async fn carry(listener: TcpListener, pods: Api<Pod>, pod: String) {
    let mut carried = FuturesUnordered::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if carried.len() < CONNECTIONS => {
                if let Ok((near, _)) = accepted {
                    carried.push(one(near, &pods, &pod));
                }
            }
            Some(()) = carried.next() => {}
        }
    }
}

async fn one(mut near: TcpStream, pods: &Api<Pod>, pod: &str) {
    if let Ok(mut far) = connect(pods, pod).await {
        // Either side may end a connection at any time.
        copy_bidirectional(&mut near, &mut far).await.ok();
    }
}
