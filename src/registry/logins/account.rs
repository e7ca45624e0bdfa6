//! Service accounts as clouds see them: annotations that say who they are there, and tokens that prove it
//! (resourceset §8.4). What is written by users is checked here, because it becomes part of addresses.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::super::Error;

const ROLE: &str = "eks.amazonaws.com/role-arn";
const TENANT: &str = "azure.workload.identity/tenant-id";
const CLIENT: &str = "azure.workload.identity/client-id";
const GOOGLE_ACCOUNT: &str = "iam.gke.io/gcp-service-account";
const GOOGLE_PROVIDER: &str = "gcp.auth.fluxcd.io/workload-identity-provider";

/// Asks the cluster for a service account's token for an audience.
#[derive(Clone)]
pub struct Oidc(pub Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>);

impl fmt::Debug for Oidc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Oidc")
    }
}

/// A service account as clouds see it.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its annotations, which say who it is at a cloud.
    pub annotations: BTreeMap<String, String>,
    /// Where its tokens come from.
    pub oidc: Oidc,
}

impl Account {
    /// Everything that a cloud's answer depends on, in a fixed order.
    pub fn identity(&self) -> Vec<&str> {
        let annotations = [ROLE, TENANT, CLIENT, GOOGLE_ACCOUNT, GOOGLE_PROVIDER];
        let values = annotations.iter().map(|key| self.annotation(key).unwrap_or_default());
        [self.namespace.as_str(), self.name.as_str()].into_iter().chain(values).collect()
    }

    /// The role at AWS.
    pub(super) fn role(&self) -> Result<&str, Error> {
        let role = self.annotation(ROLE).unwrap_or_default();
        if is_role(role) { Ok(role) } else { Err(self.refuse(ROLE, role, "arn:aws:iam::ACCOUNT:role/NAME")) }
    }

    /// Tenant and client at Azure.
    pub(super) fn tenant_and_client(&self) -> Result<(&str, &str), Error> {
        let id = |what: &str, key: &str| match self.annotation(key) {
            Some(id) if is_id(id) => Ok(id),
            Some(id) => Err(self.refuse(key, id, "a UUID or a domain's name")),
            None => Err(self.misfit(&format!("azure {what} ID is not set in the service account annotation {key}"))),
        };
        Ok((id("tenant", TENANT)?, id("client", CLIENT)?))
    }

    /// The service account at Google that is impersonated, if one is.
    pub(super) fn google_account(&self) -> Result<Option<&str>, Error> {
        match self.annotation(GOOGLE_ACCOUNT) {
            Some(email) if !is_google_account(email) => {
                Err(self.refuse(GOOGLE_ACCOUNT, email, "NAME@PROJECT.iam.gserviceaccount.com"))
            }
            email => Ok(email),
        }
    }

    /// The provider in a pool of Google's by which a cluster that is not Google's is known there.
    pub(super) fn google_provider(&self) -> Result<Option<&str>, Error> {
        let expected = "projects/NUMBER/locations/global/workloadIdentityPools/POOL/providers/PROVIDER";
        match self.annotation(GOOGLE_PROVIDER) {
            Some(path) if !is_google_provider(path) => Err(self.refuse(GOOGLE_PROVIDER, path, expected)),
            path => Ok(path),
        }
    }

    /// A token of the cluster's for an audience.
    pub(super) async fn token(&self, audience: &str) -> Result<String, Error> {
        let asked = (self.oidc.0)(audience.to_owned()).await;
        asked.map_err(|e| {
            Error::Identity(format!("failed to create kubernetes token for service account '{}': {e}", self.who()))
        })
    }

    /// The failure of a cloud to take such a token.
    pub(super) fn failed(&self, error: &Error) -> Error {
        let doing = "failed to create provider access token for service account";
        Error::Identity(format!("{doing} '{}': {error}", self.who()))
    }

    fn who(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    fn refuse(&self, key: &str, value: &str, expected: &str) -> Error {
        self.misfit(&format!("invalid {key} annotation: '{}'. must match {expected}", value.escape_debug()))
    }

    fn misfit(&self, reason: &str) -> Error {
        let doing = "failed to get provider identity from service account";
        Error::Identity(format!("{doing} '{}' annotations: {reason}", self.who()))
    }
}

/// `arn:aws[-PARTITION]:iam::ACCOUNT:role/NAME`.
fn is_role(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    let &[arn, partition, service, region, account, role] = parts.as_slice() else { return false };
    let partition = partition.strip_prefix("aws").is_some_and(|rest| rest.bytes().all(|b| is_word(b) || b == b'-'));
    let name = role.strip_prefix("role/").is_some_and(|name| (1..=200).contains(&name.len()));
    arn == "arn" && partition && service == "iam" && region.is_empty() && is_number(account) && name
}

fn is_id(text: &str) -> bool {
    text.len() <= 200
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
        && !text.contains("..")
}

fn is_google_account(text: &str) -> bool {
    let name = text.strip_suffix(".iam.gserviceaccount.com").and_then(|rest| rest.split_once('@'));
    name.is_some_and(|(name, project)| !name.contains('.') && [name, project].iter().all(|p| !p.is_empty() && is_id(p)))
}

fn is_google_provider(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    let &[projects, number, locations, global, pools, pool, providers, provider] = parts.as_slice() else {
        return false;
    };
    let fixed = [projects, locations, global, pools, providers];
    let named =
        |name: &str| (1..=100).contains(&name.len()) && name.bytes().all(|b| is_word(b) || b == b'-' || b == b'.');
    fixed == ["projects", "locations", "global", "workloadIdentityPools", "providers"]
        && is_number(number)
        && named(pool)
        && named(provider)
}

fn is_number(text: &str) -> bool {
    (1..=30).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn account(pairs: &[(&str, &str)]) -> Account {
        let annotations = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let oidc = Oidc(Arc::new(|audience| {
            async move { if audience == "good" { Ok("jwt".to_owned()) } else { Err("forbidden".to_owned()) } }.boxed()
        }));
        Account { namespace: "apps".to_owned(), name: "flux".to_owned(), annotations, oidc }
    }

    #[test]
    fn annotations_are_taken_in_the_forms_of_their_clouds_only() {
        for (key, value, fits) in [
            (ROLE, " arn:aws:iam::123456789012:role/flux\n", true),
            (ROLE, "arn:aws-us-gov:iam::1:role/path/flux", true),
            (ROLE, "arn:aws:iam::123456789012:user/flux", false),
            (ROLE, "arn:aws:iam:eu:1:role/x", false),
            (ROLE, "", false),
            (TENANT, "contoso.onmicrosoft.com", true),
            (TENANT, "../common", false),
            (TENANT, "a/b", false),
            (GOOGLE_ACCOUNT, "flux@my-project.iam.gserviceaccount.com", true),
            (GOOGLE_ACCOUNT, "flux@p.iam.gserviceaccount.com/../../x:y", false),
            (GOOGLE_ACCOUNT, "a/b@p.iam.gserviceaccount.com", false),
            (GOOGLE_PROVIDER, "projects/1/locations/global/workloadIdentityPools/p/providers/q", true),
            (GOOGLE_PROVIDER, "projects/x/locations/global/workloadIdentityPools/p/providers/q", false),
            (GOOGLE_PROVIDER, "/projects/1/locations/global/workloadIdentityPools/p/providers/q", false),
        ] {
            let account = account(&[(CLIENT, "c0ffee"), (key, value)]);
            let read = match key {
                ROLE => account.role().is_ok(),
                TENANT => account.tenant_and_client().is_ok(),
                GOOGLE_ACCOUNT => account.google_account().is_ok(),
                _ => account.google_provider().is_ok(),
            };
            assert_eq!(read, fits, "{key}: {value}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_the_account() {
        let begun = "failed to get provider identity from service account 'apps/flux' annotations: ";
        assert_eq!(
            account(&[]).role().unwrap_err().to_string(),
            format!(
                "{begun}invalid eks.amazonaws.com/role-arn annotation: ''. must match arn:aws:iam::ACCOUNT:role/NAME"
            )
        );
        assert_eq!(
            account(&[(TENANT, "t")]).tenant_and_client().unwrap_err().to_string(),
            format!(
                "{begun}azure client ID is not set in the service account annotation azure.workload.identity/client-id"
            )
        );
        assert!(account(&[]).google_account().unwrap().is_none());
    }

    #[tokio::test]
    async fn a_cluster_that_gives_no_token_is_told_with_its_reason() {
        assert_eq!(account(&[]).token("good").await.unwrap(), "jwt");
        let refusal = account(&[]).token("other").await.unwrap_err().to_string();
        assert_eq!(refusal, "failed to create kubernetes token for service account 'apps/flux': forbidden");
    }

    #[test]
    fn an_identity_changes_with_the_account_and_what_clouds_read_of_it() {
        let one = account(&[(ROLE, "a"), ("other", "x")]);
        assert_eq!(one.identity(), account(&[(ROLE, "a"), ("other", "y")]).identity());
        assert_ne!(one.identity(), account(&[(TENANT, "a")]).identity());
        assert_ne!(one.identity(), Account { name: "b".to_owned(), ..one.clone() }.identity());
    }
}
