//! Identities at clouds, with each cloud played at the wire by its public documentation: a service account's token is
//! exchanged, kept, and used for what the identity is for; the process's own identity stands in where no account is named.

mod aws;
mod azure;
mod google;
mod real;

use std::sync::{Arc, Mutex};

use fluxd::api::inputprovider::ProviderType;
use fluxd::provider::{Asker, Filter, Providers, Request, Settings};
use fluxd::registry::{Account, Oidc, Proxies};
use futures::FutureExt as _;
use serde_json::Value;

use crate::rig::{Double, Image, Scripted, Seen, Tunnel, basic, scripted_registry};

/// A service account whose tokens say what they are for, and the audiences that were asked for.
struct Robot {
    account: Account,
    audiences: Arc<Mutex<Vec<String>>>,
}

fn robot(annotations: &[(&str, &str)]) -> Robot {
    let audiences: Arc<Mutex<Vec<String>>> = Arc::default();
    let record = Arc::clone(&audiences);
    let oidc = move |audience: String| {
        record.lock().unwrap().push(audience.clone());
        async move { Ok(format!("jwt-for-{audience}")) }.boxed()
    };
    let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let account = Account {
        namespace: "apps".to_owned(),
        name: "robot".to_owned(),
        annotations: annotations.collect(),
        oidc: Oidc(Arc::new(oidc)),
    };
    Robot { account, audiences }
}

impl Robot {
    fn audiences(&self) -> Vec<String> {
        self.audiences.lock().unwrap().clone()
    }
}

fn request(kind: ProviderType, url: &str, account: Option<&Account>) -> Request {
    Request {
        asker: Asker::default(),
        kind,
        url: url.to_owned(),
        // the doubles' certificates are nobody's
        insecure: true,
        filter: Filter::default(),
        skip: Vec::new(),
        before: Vec::new(),
        defaults: serde_json::Map::new(),
        secret: None,
        certificates: None,
        pull_secrets: Vec::new(),
        account: account.cloned(),
        timeout: crate::rig::DEADLINE,
    }
}

async fn list(providers: &Providers, request: &Request) -> Result<Value, String> {
    let export = providers.list(request).await.map_err(|e| e.to_string())?;
    Ok(Value::Array(export.sets.into_iter().map(Value::Object).collect()))
}

fn each(listed: &Value, field: &str) -> Vec<String> {
    listed.as_array().unwrap().iter().map(|set| set[field].as_str().unwrap_or_default().to_owned()).collect()
}

/// A registry under a cloud's name that lets one login in; its host is reached through a proxy that leads here.
struct CloudRegistry {
    double: Double,
    tunnel: Tunnel,
}

impl CloudRegistry {
    fn start(user: &str, password: &str) -> Self {
        let registry = scripted_registry("shop/web", &[("1.0.0", Image::made("2024-01-01T00:00:00Z"))]);
        let expected = basic(user, password);
        let double = Double::with_tls(move |seen| match &seen.authorization {
            Some(found) if *found == expected => registry(seen),
            _ => Scripted::new(401, "").header("WWW-Authenticate", "Basic realm=\"cloud\""),
        });
        let tunnel = Tunnel::to(double.port());
        Self { double, tunnel }
    }

    fn proxies(&self) -> Proxies {
        Proxies { https: Some(self.tunnel.url()), ..Proxies::default() }
    }

    /// Whether this host was asked, and no other.
    fn was_asked_as(&self, host: &str) {
        let hosts = self.tunnel.hosts();
        assert!(!hosts.is_empty() && hosts.iter().all(|asked| *asked == format!("{host}:443")), "{hosts:?}");
        assert!(!self.double.seen().is_empty());
    }
}

/// The fields of a form.
fn form(seen: &Seen) -> std::collections::BTreeMap<String, String> {
    url::form_urlencoded::parse(seen.body.as_bytes()).into_owned().collect()
}

fn providers(settings: Settings) -> Providers {
    Providers::new(settings).unwrap()
}
