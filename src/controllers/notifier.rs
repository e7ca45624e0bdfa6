//! Where events are forwarded to when nobody says: the notification-controller of the cluster's one FluxInstance
//! (resourceset §7.9). It is looked for now and then, because it comes and goes rarely.

use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use tokio::sync::watch;

use crate::api::{API_VERSION, GROUP};
use crate::runtime::Stop;

/// The component that takes events.
const COMPONENT: &str = "notification-controller";
/// The kind that says whether it is installed.
const KIND: &str = "FluxInstance";
/// Domain of a cluster that names none.
const DOMAIN: &str = "cluster.local";

/// Time between two looks.
const LOOK: Duration = Duration::from_secs(60);
/// How long a look may take.
const DEADLINE: Duration = Duration::from_secs(15);

/// Keeps the address up to date until stopped. When it cannot be told, the last one stands.
pub async fn follow(client: Client, tell: watch::Sender<Option<String>>, stop: Stop) {
    let version = API_VERSION.rsplit('/').next().unwrap_or(API_VERSION);
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, version, KIND));
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    loop {
        // Two are as good as many.
        let some = ListParams::default().limit(2);
        match stop.or(tokio::time::timeout(DEADLINE, api.list(&some))).await {
            None => return,
            Some(Ok(Ok(found))) => say(&tell, address(&found.items)),
            // The kind does not exist: neither does an instance.
            Some(Ok(Err(kube::Error::Api(status)))) if status.code == 404 => say(&tell, None),
            Some(Ok(Err(error))) => tracing::debug!(%error, "FluxInstances could not be listed"),
            Some(Err(_)) => tracing::debug!("FluxInstances could not be listed in time"),
        }
        if stop.or(tokio::time::sleep(LOOK)).await.is_none() {
            return;
        }
    }
}

fn say(tell: &watch::Sender<Option<String>>, found: Option<String>) {
    tell.send_if_modified(|address| {
        let changed = *address != found;
        *address = found;
        changed
    });
}

/// The address in the namespace of the one instance, if that has the component.
fn address(instances: &[DynamicObject]) -> Option<String> {
    let [instance] = instances else { return None };
    let spec = &instance.data["spec"];
    let components = spec["components"].as_array().filter(|list| !list.is_empty());
    // An instance that names no components has the usual ones, and this among them.
    let has = components.is_none_or(|list| list.iter().any(|component| component == COMPONENT));
    let domain = spec.pointer("/cluster/domain").and_then(Value::as_str).filter(|domain| !domain.is_empty());
    let namespace = instance.namespace().filter(|_| has)?;
    Some(format!("http://{COMPONENT}.{namespace}.svc.{}./", domain.unwrap_or(DOMAIN)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn instance(spec: Value) -> DynamicObject {
        let text = json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "flux", "namespace": "system"}, "spec": spec});
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn events_go_to_the_one_instance_that_has_the_component() {
        let usual = "http://notification-controller.system.svc.cluster.local./";
        let of = |spec| address(&[instance(spec)]);
        assert_eq!(of(json!({})).as_deref(), Some(usual));
        assert_eq!(of(json!({"components": ["notification-controller"]})).as_deref(), Some(usual));
        assert_eq!(of(json!({"components": ["source-controller"]})), None);
        let own = "http://notification-controller.system.svc.example.org./";
        assert_eq!(of(json!({"cluster": {"domain": "example.org"}})).as_deref(), Some(own));
        assert_eq!(address(&[]), None);
        assert_eq!(address(&[instance(json!({})), instance(json!({}))]), None);
    }
}
