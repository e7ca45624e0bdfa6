//! Tags of OCI artifacts, with their digests (resourceset §8.8). Registries are spoken to by the room `registry`.

use futures::StreamExt as _;
use futures::stream;
use serde_json::Value;

use super::export::{InputSet, id_of};
use super::filter::Filters;
use super::providers::{Inner, Request};
use super::{Error, Settings};
use crate::api::inputprovider::ProviderType;
use crate::object::image::{CanonicalName, ImageRef};
use crate::registry::{self, Cloud, Credentials, Ecr, Listing, Trust};

/// Digests that are asked for at a time.
const AT_ONCE: usize = 5;
/// The key of a docker configuration in a secret, and its older form.
const CONFIG_KEYS: [&str; 2] = [".dockerconfigjson", ".dockercfg"];

/// Whether a kind lists tags of OCI artifacts.
pub(super) fn is_oci(kind: ProviderType) -> bool {
    use ProviderType as T;
    matches!(kind, T::OCIArtifactTag | T::ACRArtifactTag | T::ECRArtifactTag | T::GARArtifactTag)
}

/// How registries and clouds are spoken to.
pub(super) fn registry_settings(settings: &Settings) -> registry::Settings {
    registry::Settings {
        proxies: settings.proxies.clone(),
        ecr: Ecr { aws: settings.aws.clone(), ..Ecr::default() },
        azure: settings.azure.clone(),
        google: settings.google.clone(),
        version: settings.version.clone(),
        trust: Trust { authorities: settings.authorities.clone(), identity: None },
        ..registry::Settings::default()
    }
}

/// Lists the tags that pass, each with its digest.
pub(super) async fn list(inner: &Inner, request: &Request) -> Result<Vec<InputSet>, Error> {
    let filters = Filters::new(&request.filter)?;
    let name = repository(&request.url)?;
    let shown = request.url.trim_start_matches("oci://");
    let listing = listing(inner, request, &name.domain)?;
    let credentials = credentials(inner, request, &name.domain).await?;
    let tags = listing.tags(&name, &credentials).await;
    let tags = tags.map_err(|e| Error::from(e).within(format!("failed to list OCI tags for '{shown}'")))?;
    let chosen = filters.select_tags(&tags);
    let (listing, name, credentials) = (&listing, &name, &credentials);
    let mut found = stream::iter(chosen)
        .map(|tag| async move {
            let digest = listing.digest(name, &tag, credentials).await;
            let doing = || format!("failed to get digest for tag '{tag}' in repository '{shown}'");
            let digest = digest.map_err(|e| Error::from(e).within(doing()))?;
            Ok::<_, Error>(export(&tag, digest))
        })
        .buffered(AT_ONCE);
    let mut sets = Vec::new();
    while let Some(set) = found.next().await {
        sets.push(set?);
    }
    Ok(sets)
}

fn export(tag: &str, digest: String) -> InputSet {
    let pairs = [("id", id_of(tag)), ("tag", tag.to_owned()), ("digest", digest)];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), Value::String(value))).collect()
}

/// The repository of `oci://HOST/PATH`.
pub(super) fn repository(url: &str) -> Result<CanonicalName, Error> {
    let refuse = || Error::Url {
        url: super::wire::without_user(url),
        expected: "oci://HOST/REPOSITORY, without a tag".to_owned(),
    };
    let rest = url.strip_prefix("oci://").ok_or_else(refuse)?.trim_end_matches('/');
    let (host, path) = rest.split_once('/').ok_or_else(refuse)?;
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-/".contains(&b);
    let plausible = !host.is_empty() && !path.is_empty() && path.bytes().all(allowed) && !host.contains('@');
    if !plausible {
        return Err(refuse());
    }
    // a host without a dot or port would be read as a part of Docker Hub
    if !host.contains(['.', ':']) && host != "localhost" {
        return Err(refuse());
    }
    let reference: ImageRef = rest.parse().map_err(|_| refuse())?;
    Ok(reference.name.canonical())
}

/// The client: of its own where certificates are given or nothing is verified. Given certificates count more.
fn listing(inner: &Inner, request: &Request, host: &str) -> Result<Listing, Error> {
    let mut settings = registry_settings(&inner.settings);
    if let Some(secret) = &request.certificates {
        let tls = secret.tls()?;
        settings.trust = Trust { authorities: tls.authorities, identity: tls.identity };
    } else if request.insecure {
        settings.insecure_hosts = vec![host.to_owned()];
    }
    Ok(Listing::new(settings)?)
}

async fn credentials(inner: &Inner, request: &Request, host: &str) -> Result<Credentials, Error> {
    let mut credentials = Credentials::default();
    match request.kind {
        ProviderType::ACRArtifactTag => {
            credentials.insert(host, inner.registry_login(Cloud::Azure, host, request).await?)
        }
        ProviderType::ECRArtifactTag => {
            credentials.insert(host, inner.registry_login(Cloud::Aws, host, request).await?)
        }
        ProviderType::GARArtifactTag => {
            credentials.insert(host, inner.registry_login(Cloud::Google, host, request).await?)
        }
        _ => {
            if let Some(path) = &inner.settings.docker_config
                && let Ok(config) = tokio::fs::read(path).await
                && let Ok((read, _)) = Credentials::parse(&config, &path.display().to_string())
            {
                credentials = read;
            }
            for secret in request.pull_secrets.iter().chain(&request.secret) {
                let config = CONFIG_KEYS.iter().find_map(|key| secret.data.get(*key));
                let config = config.ok_or_else(|| secret.refuse(format!("key '{}' is missing", CONFIG_KEYS[0])))?;
                let (read, unusable) = Credentials::parse(config, &secret.reference)
                    .map_err(|_| secret.refuse("expected a docker configuration in JSON".to_owned()))?;
                for entry in unusable {
                    tracing::warn!(secret = secret.reference, entry, "an entry of a pull secret is not used");
                }
                credentials.merge(&read);
            }
        }
    }
    Ok(credentials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_need_a_scheme_a_host_and_a_path() {
        let shown = |url: &str| repository(url).map(|name| format!("{} {}", name.domain, name.path)).ok();
        for (url, want) in [
            ("oci://ghcr.io/stefanprodan/podinfo", "ghcr.io stefanprodan/podinfo"),
            ("oci://127.0.0.1:5000/a/b/c", "127.0.0.1:5000 a/b/c"),
            ("oci://localhost/a", "localhost a"),
            ("oci://docker.io/library/alpine", "index.docker.io library/alpine"),
        ] {
            assert_eq!(shown(url).as_deref(), Some(want), "{url}");
        }
        for url in [
            "ghcr.io/a/b",
            "https://ghcr.io/a",
            "oci://ghcr.io",
            "oci://ghcr.io/",
            "oci://ghcr/a",
            "oci:///a",
            "oci://ghcr.io/a:1.0",
            "oci://u:p@ghcr.io/a",
            "oci://ghcr.io/A B",
        ] {
            assert_eq!(shown(url), None, "{url}");
        }
    }
}
