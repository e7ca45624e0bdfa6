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
        kube::Error::Api(status) if status.code == 404 && is_of_no_kind(&status.message) => {
            "the cluster does not know this kind: fluxd crd | kubectl apply --server-side -f - makes it known"
                .to_owned()
        }
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// An unknown group is answered in plain text, an unknown kind of a known one by a Status.
fn is_of_no_kind(message: &str) -> bool {
    ["the server could not find", "404 page not found"].iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    #[test]
    fn a_cluster_without_the_definitions_is_told_from_one_without_the_object() {
        let said =
            |message: &str| words(&kube::Error::Api(Box::new(Status::failure(message, "NotFound").with_code(404))));
        for message in ["404 page not found\n", "the server could not find the requested resource"] {
            assert!(said(message).contains("fluxd crd | kubectl apply"), "{message}");
        }
        let gone = "resourcesets.fluxcd.controlplane.io \"a\" not found";
        assert_eq!(said(gone), gone);
    }
}
