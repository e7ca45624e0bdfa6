//! The way into the cluster of the kubeconfig, and its errors in words.

use kube::Api;

use super::custom::Custom;
use crate::cli::connect::Connection;
use crate::cli::fluxctl::problem::Problem;
use crate::cli::fluxctl::session::Session;

/// Opens the cluster that the flags and the environment name.
pub(super) async fn open(session: &Session<'_>) -> Result<Connection, Problem> {
    session.cluster(&session.given.text("kubeconfig")).await
}

/// The objects of a kind in the namespace meant.
pub(super) fn objects<K: Custom>(session: &Session<'_>, client: &kube::Client) -> Api<K> {
    Api::namespaced(client.clone(), &session.namespace_in(&session.given.text("kubeconfig")))
}

/// Says which call failed.
pub(super) fn failed<K: Custom>(what: &str, name: &str) -> impl FnOnce(kube::Error) -> Problem {
    let what = format!("{what} {} {name}", K::KIND);
    move |error| Problem::Usage(format!("{what}: {}", words(&error)))
}

/// An error's words, with what to do where it is the usual one.
pub(super) fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if status.code == 404 && status.message.contains("the server could not find") => {
            "the cluster does not know this kind: fluxd crd | kubectl apply --server-side -f - makes it known"
                .to_owned()
        }
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
