//! Manifests and image configurations: Docker's schema 1 and 2, lists, OCI images, indexes and artifacts (fluxd-v1 §7.6).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::Labels;

const SCHEMA1_SIGNED: &str = "application/vnd.docker.distribution.manifest.v1+prettyjws";
const SCHEMA1: &str = "application/vnd.docker.distribution.manifest.v1+json";
const SCHEMA2: &str = "application/vnd.docker.distribution.manifest.v2+json";
const LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const OCI: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const OCI_ARTIFACT: &str = "application/vnd.oci.artifact.manifest.v1+json";

/// Media types whose content is an image's configuration; those of artifacts say nothing of times.
const CONFIGS: &[&str] = &[
    "application/vnd.docker.container.image.v1+json",
    "application/vnd.oci.image.config.v1+json",
    "application/octet-stream",
    "",
];

/// What is accepted, best first; one string for the `Accept` header.
pub const ACCEPT: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.artifact.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v1+prettyjws;q=0.5, \
    application/vnd.docker.distribution.manifest.v1+json;q=0.4";

/// Words for an index without an image for us.
const UNSUITABLE: &str = "no suitable manifest (linux amd64) in manifestlist";
const CREATED: &str = "org.opencontainers.image.created";
const BUILD_DATE: &str = "org.label-schema.build-date";

/// A reference to content by its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// `sha256:…`.
    pub digest: String,
    /// Whether the content is an image configuration, so worth reading.
    pub is_config: bool,
}

/// A manifest as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    /// An image or artifact with a configuration of its own.
    Image {
        /// The configuration.
        config: Option<Descriptor>,
        /// What its annotations say, for want of a configuration that does.
        annotated: Config,
    },
    /// Several images, of which this one is ours.
    Index(Descriptor),
    /// An image whose description is in the manifest (schema 1).
    Inline {
        /// Its identifier.
        id: String,
        /// Its description.
        config: Config,
    },
    /// Nothing that can be used, and why.
    Excluded(String),
}

/// What an image's configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// When it was made; none for Go's zero time.
    pub created: Option<Timestamp>,
    /// Labels with times.
    pub labels: Labels,
    /// Labels with times that cannot be read, as `NAME: value`.
    pub unreadable: Vec<String>,
}

/// Reads a manifest. The content type decides; where it says nothing, what the manifest calls itself.
///
/// # Errors
/// When it is no manifest: not JSON, or nothing says what it is. A manifest of an unknown kind is excluded instead.
pub fn read_manifest(content_type: &str, body: &[u8]) -> Result<Manifest, String> {
    let whole: Whole = serde_json::from_slice(body).map_err(|e| format!("expected a JSON manifest: {e}"))?;
    let told = content_type.split(';').next().unwrap_or_default().trim();
    let known = [SCHEMA1_SIGNED, SCHEMA1, SCHEMA2, LIST, OCI, OCI_INDEX, OCI_ARTIFACT];
    let kind = if known.contains(&told) { told } else { whole.media_type.as_deref().unwrap_or_default() };
    let read = match kind {
        SCHEMA1_SIGNED | SCHEMA1 => Ok(inline(&whole)),
        SCHEMA2 | OCI | OCI_ARTIFACT => image(whole),
        LIST | OCI_INDEX => index(&whole),
        "" if whole.manifests.is_some() => index(&whole),
        "" if whole.config.is_some() => image(whole),
        "" if whole.schema_version == Some(1) => Ok(inline(&whole)),
        // it calls itself nothing, so it may be no manifest at all
        "" => return Err(format!("unknown manifest type {told:?}")),
        other => Err(format!("unknown manifest type {other:?}")),
    };
    // what is a manifest, and no use to us, must not keep the other tags from being chosen
    Ok(read.unwrap_or_else(Manifest::Excluded))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Whole {
    schema_version: Option<u32>,
    media_type: Option<String>,
    config: Option<Entry>,
    manifests: Option<Vec<Entry>>,
    history: Option<Vec<History>>,
    annotations: Option<BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    media_type: Option<String>,
    digest: Option<String>,
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
}

#[derive(Deserialize)]
struct History {
    #[serde(rename = "v1Compatibility", default)]
    v1: String,
}

fn image(whole: Whole) -> Result<Manifest, String> {
    let annotated = labels_of(whole.annotations.as_ref());
    let config = match whole.config {
        None => None,
        Some(entry) => Some(Descriptor {
            digest: digest(entry.digest.as_deref())?,
            is_config: CONFIGS.contains(&entry.media_type.as_deref().unwrap_or_default()),
        }),
    };
    Ok(Manifest::Image { config, annotated })
}

/// The first entry for linux/amd64; or the only entry, when it names no platform, which an index need not.
fn index(whole: &Whole) -> Result<Manifest, String> {
    let entries = whole.manifests.as_deref().unwrap_or_default();
    let ours = |entry: &&Entry| entry.platform.as_ref().is_some_and(|p| p.os == "linux" && p.architecture == "amd64");
    let chosen = entries.iter().find(ours).or(match entries {
        [only] if only.platform.is_none() => Some(only),
        _ => None,
    });
    match chosen {
        Some(entry) => Ok(Manifest::Index(Descriptor { digest: digest(entry.digest.as_deref())?, is_config: false })),
        None => Ok(Manifest::Excluded(UNSUITABLE.to_owned())),
    }
}

fn inline(whole: &Whole) -> Manifest {
    let newest = whole.history.as_deref().and_then(|history| history.first());
    let described: Value = newest.and_then(|h| serde_json::from_str(&h.v1).ok()).unwrap_or_default();
    let id = described.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    Manifest::Inline { id, config: config_of(&described) }
}

/// A digest is used in URLs, so nothing else may stand there.
fn digest(text: Option<&str>) -> Result<String, String> {
    let text = text.unwrap_or_default();
    let hex = text.strip_prefix("sha256:").filter(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
    hex.map(|_| text.to_owned()).ok_or_else(|| "expected a digest of the form sha256:HEX".to_owned())
}

/// Reads an image's configuration.
///
/// # Errors
/// When it is no JSON object.
pub fn read_config(body: &[u8]) -> Result<Config, String> {
    match serde_json::from_slice(body) {
        Ok(value @ Value::Object(_)) => Ok(config_of(&value)),
        Ok(_) => Err("expected an image configuration, found other JSON".to_owned()),
        Err(e) => Err(format!("expected an image configuration: {e}")),
    }
}

/// Labels stand in `config` (BuildKit, OCI) or `container_config` (older builders); v1 read only the latter.
fn config_of(value: &Value) -> Config {
    let labels: BTreeMap<String, Value> = ["container_config", "config"]
        .iter()
        .filter_map(|part| value.get(part)?.get("Labels")?.as_object())
        .flatten()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let created = value.get("created").and_then(Value::as_str).and_then(time);
    Config { created, ..labels_of(Some(&labels)) }
}

fn labels_of(labels: Option<&BTreeMap<String, Value>>) -> Config {
    let mut unreadable = Vec::new();
    let mut read = |name: &str| {
        let text = labels?.get(name)?.as_str()?;
        let time = time(text);
        if time.is_none() {
            unreadable.push(format!("{name}: {}", text.chars().take(80).collect::<String>()));
        }
        time
    };
    let labels = Labels { created: read(CREATED), build_date: read(BUILD_DATE) };
    Config { created: None, labels, unreadable }
}

/// RFC 3339; Go's zero time means that there is none.
fn time(text: &str) -> Option<Timestamp> {
    let zero = text.starts_with("0001-01-01T00:00:00");
    if zero { None } else { text.parse().ok() }
}

/// The digest under which a registry keeps this manifest. A signed schema 1 manifest is kept under the digest of what was
/// signed, which its first signature describes.
pub fn digest_of(content_type: &str, body: &[u8]) -> String {
    let signed = content_type.starts_with(SCHEMA1_SIGNED).then(|| payload(body)).flatten();
    let content = signed.as_deref().unwrap_or(body);
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

fn payload(body: &[u8]) -> Option<Vec<u8>> {
    #[derive(Deserialize)]
    struct Signed {
        signatures: Vec<Signature>,
    }
    #[derive(Deserialize)]
    struct Signature {
        protected: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Protected {
        format_length: usize,
        format_tail: String,
    }
    let signed: Signed = serde_json::from_slice(body).ok()?;
    let protected = URL_SAFE_NO_PAD.decode(&signed.signatures.first()?.protected).ok()?;
    let protected: Protected = serde_json::from_slice(&protected).ok()?;
    let mut payload = body.get(..protected.format_length)?.to_vec();
    payload.extend(URL_SAFE_NO_PAD.decode(&protected.format_tail).ok()?);
    Some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn descriptor(is_config: bool) -> Descriptor {
        Descriptor { digest: DIGEST.to_owned(), is_config }
    }

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn every_kind_of_manifest_is_read() {
        let entry = |platform: &str| format!(r#"{{"digest":"{DIGEST}"{platform}}}"#);
        let amd = entry(r#","platform":{"os":"linux","architecture":"amd64"}"#);
        let other = format!(
            r#"{{"digest":"x","platform":{{"os":"unknown","architecture":"unknown"}}}},{}"#,
            entry(r#","platform":{"os":"linux","architecture":"arm64"}"#)
        );
        let config = |media: &str| format!(r#"{{"config":{{"mediaType":"{media}","digest":"{DIGEST}"}}}}"#);
        let image =
            |is_config| Ok(Manifest::Image { config: Some(descriptor(is_config)), annotated: Config::default() });
        let unfit = |reason: &str| Ok(Manifest::Excluded(reason.to_owned()));
        for (media, body, want) in [
            (SCHEMA2, config("application/vnd.docker.container.image.v1+json"), image(true)),
            (OCI, config("application/vnd.oci.image.config.v1+json"), image(true)),
            (OCI, config("application/vnd.cncf.helm.config.v1+json"), image(false)),
            ("", config(""), image(true)),
            (OCI_ARTIFACT, "{}".to_owned(), Ok(Manifest::Image { config: None, annotated: Config::default() })),
            (LIST, format!(r#"{{"manifests":[{other},{amd}]}}"#), Ok(Manifest::Index(descriptor(false)))),
            (OCI_INDEX, format!(r#"{{"manifests":[{}]}}"#, entry("")), Ok(Manifest::Index(descriptor(false)))),
            (
                "application/json",
                format!(r#"{{"mediaType":"{OCI_INDEX}","manifests":[{amd}]}}"#),
                Ok(Manifest::Index(descriptor(false))),
            ),
            (LIST, format!(r#"{{"manifests":[{other}]}}"#), Ok(Manifest::Excluded(UNSUITABLE.to_owned()))),
            (OCI_INDEX, "{}".to_owned(), Ok(Manifest::Excluded(UNSUITABLE.to_owned()))),
            (
                SCHEMA2,
                r#"{"config":{"digest":"../../x"}}"#.to_owned(),
                unfit("expected a digest of the form sha256:HEX"),
            ),
            ("text/html", r#"{"mediaType":"text/x"}"#.to_owned(), unfit("unknown manifest type \"text/x\"")),
            ("text/html", "{}".to_owned(), Err("unknown manifest type \"text/html\"")),
            (OCI, "<html>".to_owned(), Err("expected a JSON manifest: expected value at line 1 column 1")),
        ] {
            assert_eq!(read_manifest(media, body.as_bytes()), want.map_err(str::to_owned), "{media} {body}");
        }
    }

    #[test]
    fn schema_1_describes_its_image_itself() {
        let v1 = r#"{\"id\":\"abc\",\"created\":\"2017-01-02T03:04:05.5Z\",\"config\":{\"Labels\":{\"org.label-schema.build-date\":\"2016-01-02T03:04:05Z\"}}}"#;
        let body = format!(r#"{{"schemaVersion":1,"history":[{{"v1Compatibility":"{v1}"}},{{}}]}}"#);
        let labels = Labels { created: None, build_date: at("2016-01-02T03:04:05Z") };
        let config = Config { created: at("2017-01-02T03:04:05.5Z"), labels, unreadable: vec![] };
        let want = Manifest::Inline { id: "abc".to_owned(), config };
        for media in [SCHEMA1_SIGNED, SCHEMA1, ""] {
            assert_eq!(read_manifest(media, body.as_bytes()), Ok(want.clone()));
        }
    }

    #[test]
    fn configurations_give_times_from_both_places_of_labels() {
        let read = |text: &str| read_config(text.as_bytes()).unwrap();
        let config = read(
            r#"{"created":"2024-01-02T03:04:05Z","config":{"Labels":{"org.opencontainers.image.created":"2023-01-02T03:04:05+01:00"}},
            "container_config":{"Labels":{"org.label-schema.build-date":"yesterday","org.opencontainers.image.created":"2001-01-01T00:00:00Z"}}}"#,
        );
        assert_eq!(config.created, at("2024-01-02T03:04:05Z"));
        assert_eq!(config.labels, Labels { created: at("2023-01-02T02:04:05Z"), build_date: None });
        assert_eq!(config.unreadable, ["org.label-schema.build-date: yesterday"]);
        for nothing in ["{}", r#"{"created":"0001-01-01T00:00:00Z","config":{"Labels":null}}"#, r#"{"created":null}"#] {
            assert_eq!(read(nothing), Config::default());
        }
        assert!(read_config(b"[]").is_err() && read_config(b"<").is_err());
    }

    #[test]
    fn a_signed_manifest_has_the_digest_of_what_was_signed() {
        let body = "{\n   \"a\": 1";
        let protected = URL_SAFE_NO_PAD.encode(format!(
            r#"{{"formatLength":{},"formatTail":"{}"}}"#,
            body.len(),
            URL_SAFE_NO_PAD.encode("\n}")
        ));
        let signed = format!(r#"{body},"signatures":[{{"protected":"{protected}"}}]}}"#);
        let plain = format!("{body}\n}}");
        assert_eq!(digest_of(SCHEMA1_SIGNED, signed.as_bytes()), digest_of(SCHEMA1, plain.as_bytes()));
        assert_eq!(digest_of(OCI, b""), DIGEST);
    }
}
