//! What providers list, against hosts played at the wire by their public documentation, and the real docker-registry.

mod azure_devops;
mod codecommit;
mod external_service;
mod gitea;
mod github;
mod gitlab;
mod hostile;
mod oci;

use std::collections::BTreeMap;
use std::time::Duration;

use fluxd::api::inputprovider::ProviderType;
use fluxd::provider::{Asker, Filter, Pair, Providers, Request, SecretData, Settings};
use serde_json::{Value, json};

use crate::rig::{Double, Scripted, Seen};

/// Providers whose repetitions do not take long.
fn providers(change: impl FnOnce(&mut Settings)) -> Providers {
    let mut settings = Settings {
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(20),
        ..Settings::default()
    };
    change(&mut settings);
    Providers::new(settings).unwrap()
}

fn request(kind: ProviderType, url: String) -> Request {
    Request {
        asker: Asker::default(),
        kind,
        url,
        insecure: false,
        filter: Filter::default(),
        skip: Vec::new(),
        before: Vec::new(),
        defaults: serde_json::Map::new(),
        secret: None,
        certificates: None,
        pull_secrets: Vec::new(),
        account: None,
        timeout: Duration::from_secs(60),
    }
}

fn secret(pairs: &[(&str, &str)]) -> Option<SecretData> {
    let data = pairs.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
    Some(SecretData { reference: "apps/auth".to_owned(), data: data.collect::<BTreeMap<_, _>>() })
}

fn include(text: &str) -> Pair {
    Pair { include: Some(text.to_owned()), exclude: None }
}

/// Lists with providers of ordinary settings.
async fn list(request: &Request) -> Result<Value, String> {
    list_with(&providers(|_| {}), request).await
}

async fn list_with(providers: &Providers, request: &Request) -> Result<Value, String> {
    let export = providers.list(request).await.map_err(|e| e.to_string())?;
    Ok(Value::Array(export.sets.into_iter().map(Value::Object).collect()))
}

/// One field of all sets.
fn each(listed: &Value, field: &str) -> Vec<String> {
    listed.as_array().unwrap().iter().map(|set| set[field].as_str().unwrap_or_default().to_owned()).collect()
}

/// The page that a query asks for, from 1.
fn page_of(seen: &Seen) -> usize {
    let query = seen.path.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let page = query.split('&').find_map(|pair| pair.strip_prefix("page="));
    page.map_or(1, |page| page.parse().unwrap())
}

fn path_of(seen: &Seen) -> &str {
    seen.path.split('?').next().unwrap_or_default()
}

/// One page of several, with a `Link` to the next, as GitHub and Gitea write it.
fn linked(seen: &Seen, pages: &[Value]) -> Scripted {
    let page = page_of(seen);
    let answer = Scripted::json(pages.get(page - 1).unwrap_or(&json!([])));
    if page >= pages.len() {
        return answer;
    }
    let base = format!("http://{}{}", seen.host, path_of(seen));
    let link = format!(r#"<{base}?page={}>; rel="next", <{base}?page={}>; rel="last""#, page + 1, pages.len());
    answer.header("Link", &link)
}
