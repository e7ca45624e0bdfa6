//! Service accounts: what is written on them, and tokens by which others believe that a process acts as them. Tokens are
//! asked for, handed on and never kept here.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde_json::json;

use super::{Reads, core_kind, failed, strings, until};
use crate::object::Key;
use crate::operator::Error;

/// The kind's path, behind that of the namespace.
const PLURAL: &str = "serviceaccounts";
/// Bytes that a name of the cluster's may have.
const LONGEST_NAME: usize = 253;

/// What a service account says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Its annotations, by which clouds know it.
    pub annotations: BTreeMap<String, String>,
    /// Names of the secrets that its pods pull images with.
    pub pull_secrets: Vec<String>,
}

/// A token of a service account. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct AccountToken {
    /// The token, a JWT of the cluster's.
    pub token: String,
    /// When it ends; the API server may grant more or less time than was asked for.
    pub until: Option<Timestamp>,
}

impl fmt::Debug for AccountToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountToken").field("until", &self.until).finish_non_exhaustive()
    }
}

impl Reads {
    /// What a service account says about itself; `None` when it does not exist.
    ///
    /// # Errors
    /// [`Error::Cluster`].
    pub async fn get_service_account(&self, namespace: &str, name: &str) -> Result<Option<ServiceAccount>, Error> {
        let kind = core_kind("ServiceAccount", PLURAL, true);
        let (namespace, name) = (plain(namespace)?, plain(name)?);
        let key = Key {
            group: String::new(),
            kind: "ServiceAccount".into(),
            namespace: Some(namespace.into()),
            name: name.into(),
        };
        let found = self.cluster().get(&kind, &key, until()).await.map_err(failed)?;
        Ok(found.map(|value| ServiceAccount {
            annotations: strings(&value["metadata"]["annotations"]).collect(),
            pull_secrets: super::workloads::names(&value["imagePullSecrets"]),
        }))
    }

    /// A token of a service account for one audience, good for about `seconds` (the API server grants no less than ten
    /// minutes); whoever knows the cluster's keys can check it.
    ///
    /// # Errors
    /// [`Error::Cluster`], also when the account does not exist or this process may not ask (`create` on
    /// `serviceaccounts/token`); the text never holds the token.
    pub async fn service_account_token(
        &self,
        namespace: &str,
        name: &str,
        audience: &str,
        seconds: u32,
    ) -> Result<AccountToken, Error> {
        let (namespace, name) = (plain(namespace)?, plain(name)?);
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": { "audiences": [audience], "expirationSeconds": seconds },
        });
        let path = format!("/api/v1/namespaces/{namespace}/{PLURAL}/{name}/token");
        let answer = self.cluster().review(&path, &body, until()).await.map_err(failed)?;
        let status = &answer["status"];
        let Some(token) = status["token"].as_str().filter(|token| !token.is_empty()) else {
            return Err(Error::Cluster(format!("the API server answered without a token for {namespace}/{name}")));
        };
        let until = status["expirationTimestamp"].as_str().and_then(|time| time.parse().ok());
        Ok(AccountToken { token: token.to_owned(), until })
    }
}

/// A name as it may stand in a path. What users write is put there, and `..` would lead elsewhere.
fn plain(name: &str) -> Result<&str, Error> {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let ends = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = name.as_bytes();
    let whole = bytes.len() <= LONGEST_NAME && bytes.iter().all(|b| fits(*b));
    if whole && ends(bytes.first()) && ends(bytes.last()) {
        return Ok(name);
    }
    let reason = "expected small letters, digits, hyphens and dots, with a letter or digit at both ends";
    Err(Error::Cluster(format!("'{}' is no name of a service account or namespace: {reason}", name.escape_debug())))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::Value;

    use super::*;

    /// An API server with one account, whose tokens repeat what was asked for.
    fn reads() -> Reads {
        let service = tower::service_fn(|request: http::Request<kube::client::Body>| async move {
            let (parts, body) = request.into_parts();
            let asked: Value = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap_or_default();
            let (status, answer) = match (parts.method.as_str(), parts.uri.path()) {
                ("GET", "/api/v1/namespaces/shop/serviceaccounts/robot") => (
                    200,
                    json!({"metadata": {"name": "robot", "annotations": {"a": "b"}}, "imagePullSecrets": [{"name": "s"}]}),
                ),
                ("POST", "/api/v1/namespaces/shop/serviceaccounts/robot/token") => {
                    let token = format!("{}/{}", asked["spec"]["audiences"][0], asked["spec"]["expirationSeconds"]);
                    (201, json!({"status": {"token": token, "expirationTimestamp": "2030-01-01T00:00:00Z"}}))
                }
                ("POST", "/api/v1/namespaces/shop/serviceaccounts/empty/token") => (201, json!({"status": {}})),
                _ => (404, json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "not found"})),
            };
            let body = axum::body::Body::from(answer.to_string());
            Ok::<_, Infallible>(http::Response::builder().status(status).body(body).unwrap())
        });
        Reads::new(kube::Client::new(service, "default"), Vec::new(), "test")
    }

    #[tokio::test]
    async fn an_account_is_read_with_what_clouds_know_it_by() {
        let found = reads().get_service_account("shop", "robot").await.unwrap().unwrap();
        assert_eq!((found.annotations["a"].as_str(), found.pull_secrets), ("b", vec!["s".to_owned()]));
        assert_eq!(reads().get_service_account("shop", "other").await.unwrap(), None);
    }

    #[tokio::test]
    async fn tokens_are_for_an_audience_and_a_time_and_are_not_shown() {
        let token = reads().service_account_token("shop", "robot", "sts.amazonaws.com", 600).await.unwrap();
        assert_eq!(token.token, r#""sts.amazonaws.com"/600"#);
        assert_eq!(token.until.unwrap().to_string(), "2030-01-01T00:00:00Z");
        assert!(!format!("{token:?}").contains("amazonaws"));
        assert!(reads().service_account_token("shop", "other", "x", 600).await.is_err());
        let refusal = reads().service_account_token("shop", "empty", "x", 600).await.unwrap_err().to_string();
        assert_eq!(refusal, "reading the cluster: the API server answered without a token for shop/empty");
    }

    #[tokio::test]
    async fn names_that_would_lead_elsewhere_are_refused() {
        for name in ["..", "a/../b", "", "A", "-a", "a?b", "a b", &"a".repeat(254)] {
            assert!(reads().service_account_token("shop", name, "x", 600).await.is_err(), "{name}");
            assert!(reads().get_service_account(name, "robot").await.is_err(), "{name}");
        }
    }
}
