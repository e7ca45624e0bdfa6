//! CustomResourceDefinitions: waiting until a new kind is served.

use std::sync::Arc;
use std::time::Duration;

use futures::{AsyncBufReadExt, StreamExt};
use http::Request;
use http::header::{ACCEPT, USER_AGENT};
use serde::Deserialize;
use tokio::time::Instant;

use super::request::{AGENT, Call, JSON, METADATA_LIST, from_transport, parse};
use super::watch::Event;
use super::{Cluster, ErrorKind, KindInfo, Kinds, RequestError};
use crate::object::Gvk;
use crate::runtime::Backoff;

/// Where definitions live.
const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// First and longest wait between looks at discovery, which follows the definition after a moment.
const WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// Longest time between two looks at a definition whose watch breaks.
const LOOK: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Definition {
    #[serde(default)]
    metadata: DefinitionMetadata,
    #[serde(default)]
    pub(super) spec: DefinitionSpec,
    #[serde(default)]
    status: DefinitionStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DefinitionMetadata {
    resource_version: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct DefinitionSpec {
    pub(super) group: String,
    pub(super) names: Names,
    versions: Vec<DefinitionVersion>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Names {
    pub(super) kind: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct DefinitionVersion {
    name: String,
    served: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct DefinitionStatus {
    /// A definition made this moment has `null` here.
    conditions: Option<Vec<Condition>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    message: String,
}

impl Definition {
    fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status.conditions.iter().flatten().find(|c| c.kind == kind)
    }

    /// Whether its kind is served; an error when it never will be.
    fn is_established(&self, name: &str) -> Result<bool, RequestError> {
        if let Some(refused) = self.condition("NamesAccepted").filter(|c| c.status == "False") {
            let text = format!("CustomResourceDefinition {name} is not accepted: {}", refused.message);
            return Err(RequestError::local(ErrorKind::Invalid, text));
        }
        Ok(self.condition("Established").is_some_and(|c| c.status == "True"))
    }

    fn served(&self) -> impl Iterator<Item = Gvk> {
        let spec = self.spec.clone();
        spec.versions.into_iter().filter(|v| v.served).map(move |v| Gvk {
            group: spec.group.clone(),
            version: v.name,
            kind: spec.names.kind.clone(),
        })
    }
}

impl Cluster {
    /// Waits until a CustomResourceDefinition is established and its kind is in discovery and served, and gives the new
    /// snapshot of discovery.
    ///
    /// # Errors
    /// When its names are not accepted, or the deadline passes; the message says in what state it is.
    pub async fn wait_established(&self, crd: &str, until: Instant) -> Result<Arc<Kinds>, RequestError> {
        let late = |state: &str| {
            let text = format!("CustomResourceDefinition {crd} is not ready in time: {state}");
            RequestError::local(ErrorKind::Timeout, text)
        };
        let definition = loop {
            let found = self.read_definition(crd, until).await?;
            if found.is_established(crd)? {
                break found;
            }
            if Instant::now() >= until {
                return Err(late("it is not established"));
            }
            self.watch_definition(crd, &found.metadata.resource_version, until).await;
        };
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            let kinds = self.refresh_kinds(until).await?;
            let served: Result<Vec<_>, _> = definition.served().map(|gvk| kinds.resolve(&gvk).cloned()).collect();
            match served {
                Ok(served) if self.are_served(&served, until).await => return Ok(kinds),
                _ if Instant::now() >= until => return Err(late("its kind is not served yet")),
                _ => backoff.wait(None).await,
            }
        }
    }

    pub(super) async fn read_definition(&self, crd: &str, until: Instant) -> Result<Definition, RequestError> {
        self.call(&Call::get("get", format!("{PATH}/{crd}"), JSON, until)).await?.parse()
    }

    /// Returns when the definition changed, or after a while; the caller looks again whatever happened.
    async fn watch_definition(&self, crd: &str, from: &str, until: Instant) {
        let uri =
            format!("{PATH}?watch=true&fieldSelector=metadata.name%3D{crd}&resourceVersion={from}&timeoutSeconds=30");
        let end = until.min(Instant::now() + LOOK);
        let watched = tokio::time::timeout_at(end, self.established_event(uri)).await;
        if matches!(watched, Ok(Err(_))) {
            tokio::time::sleep_until(end.min(Instant::now() + WAITS.1)).await;
        }
    }

    async fn established_event(&self, uri: String) -> Result<(), RequestError> {
        let request = self.identify(Request::get(uri)).header(ACCEPT, JSON).header(USER_AGENT, AGENT).body(Vec::new());
        let request = request.map_err(|e| RequestError::local(ErrorKind::Protocol, format!("cannot watch: {e}")))?;
        let opened = self.client().request_stream(request).await.map_err(|e| from_transport(&e));
        (self.settings().on_request)("watch", opened.as_ref().map_or_else(RequestError::status, |_| 200));
        let mut lines = std::pin::pin!(opened?.lines());
        while let Some(Ok(line)) = lines.next().await {
            let event: Event<'_> = parse(line.as_bytes())?;
            let definition: Definition = parse(event.object.get().as_bytes())?;
            if event.kind != "MODIFIED" || definition.is_established("").unwrap_or(true) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether a list of each kind is answered: the handlers of a new version come up a moment after discovery has it.
    async fn are_served(&self, kinds: &[Arc<KindInfo>], until: Instant) -> bool {
        for kind in kinds {
            let uri = format!("{}?limit=1", kind.path(None, ""));
            let asked = self.call(&Call::get("list", uri, METADATA_LIST, until)).await;
            if asked.is_err_and(|e| e.kind() != ErrorKind::Forbidden) {
                return false;
            }
        }
        true
    }
}
