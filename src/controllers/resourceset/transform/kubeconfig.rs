//! convertKubeConfigFrom: a ConfigMap gets address and CA of the cluster that a kubeconfig in a Secret names
//! (resourceset §5.4).

use serde_json::Value;

use crate::api::annotation::CONVERT_KUBECONFIG_FROM;
use crate::object::yaml::{self, Dialect, Limits};

use super::{Read, SourceKind, contents, map_at, own_annotation, read};

/// Where the kubeconfig is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reference<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    pub(super) key: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// Reads `namespace/name` or `namespace/name:key`; a colon with nothing behind it is no key (errata 23).
    pub(super) fn parse(value: &'a str) -> Option<Self> {
        let (namespace, rest) = value.split_once('/')?;
        let (name, key) = rest.rsplit_once(':').unwrap_or((rest, ""));
        let valid = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
        valid.then_some(Self { namespace, name, key: Some(key).filter(|k| !k.is_empty()) })
    }
}

pub(super) async fn convert_all<R: Read>(objects: &mut [&mut Value], reads: &R) -> Result<(), String> {
    for object in objects {
        if SourceKind::of(object) != Some(SourceKind::ConfigMap) {
            continue;
        }
        let Some(value) = own_annotation(object, CONVERT_KUBECONFIG_FROM) else { continue };
        let Some(reference) = Reference::parse(value) else {
            return Err(format!(
                "invalid {CONVERT_KUBECONFIG_FROM} annotation value '{value}' must be in the format 'namespace/name' or \
                 'namespace/name:key'"
            ));
        };
        let title = format!("kubeconfig Secret/{}/{}", reference.namespace, reference.name);
        let secret = read(reads, SourceKind::Secret, reference.namespace, reference.name)
            .await
            .map_err(|e| format!("failed to get {title}: {e}"))?;
        let text = find(&secret, reference.key).map_err(|what| format!("{title} does not have {what} field"))?;
        let cluster = extract(&text).map_err(|e| format!("failed to extract fields from {title}: {e}"))?;
        if let Some(data) = map_at(object, "data") {
            data.entry("address").or_insert_with(|| cluster.address.into());
            data.entry("ca.crt").or_insert_with(|| cluster.ca.into());
        }
    }
    Ok(())
}

fn find(secret: &Value, key: Option<&str>) -> Result<Vec<u8>, String> {
    let mut data = contents(SourceKind::Secret, secret);
    match key {
        Some(key) => data.remove(key).ok_or_else(|| format!("'{key}'")),
        None => data.remove("kubeconfig").or_else(|| data.remove("value")).ok_or("'kubeconfig' or 'value'".to_owned()),
    }
}

/// Bounds on a kubeconfig. A Secret holds at most a mebibyte.
const LIMITS: Limits = Limits { bytes: 2 << 20, documents: 16, depth: 32, nodes: 100_000 };

/// What a ConfigMap gets: how a cluster is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The address of its API server.
    pub address: String,
    /// The certificates that it is known by, as PEM.
    pub ca: String,
}

/// Address and CA of the first cluster; all clusters must have both. No text of the kubeconfig shows in errors.
///
/// # Errors
/// When it is no YAML, has no clusters, or one of them lacks a part.
pub fn extract(kubeconfig: &[u8]) -> Result<Cluster, String> {
    let documents =
        yaml::read(kubeconfig, Dialect::Kubernetes, &LIMITS).map_err(|e| format!("invalid YAML at line {}", e.line))?;
    let config = documents.into_iter().next().map(|d| d.value).unwrap_or_default();
    let clusters = config["clusters"].as_array().filter(|c| !c.is_empty()).ok_or("no clusters found in kubeconfig")?;
    let mut all = Vec::new();
    for entry in clusters {
        let name = entry["name"].as_str().unwrap_or_default();
        let text = |field: &str| entry["cluster"][field].as_str().filter(|t| !t.is_empty());
        let address = text("server").ok_or_else(|| format!("cluster '{name}' has no server"))?;
        let ca = text("certificate-authority-data");
        let ca = ca.ok_or_else(|| format!("cluster '{name}' has no certificate-authority-data"))?;
        let ca =
            pem(ca).ok_or_else(|| format!("certificate-authority-data of cluster '{name}' is not base64 of a text"))?;
        all.push(Cluster { address: address.to_owned(), ca });
    }
    all.into_iter().next().ok_or_else(|| "no clusters found in kubeconfig".to_owned())
}

fn pem(encoded: &str) -> Option<String> {
    use base64::Engine as _;
    let compact: String = encoded.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(compact).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}
