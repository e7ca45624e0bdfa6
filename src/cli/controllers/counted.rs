//! The client of the controllers, which counts every request to the API server, as users of controller-runtime know it
//! (`rest_client_requests_total`).

use std::sync::Arc;

use crate::operator::{ConnectError, client_told};
use crate::report::Metrics;

/// Makes the client.
///
/// # Errors
/// When the configuration's certificates, keys or proxy cannot be used.
pub(super) fn client(config: kube::Config, metrics: Arc<Metrics>) -> Result<kube::Client, ConnectError> {
    let host = config.cluster_url.authority().map_or_else(String::new, ToString::to_string);
    client_told(config, Arc::new(move |method, status| metrics.rest_request(status, &host, method.as_str())))
}
