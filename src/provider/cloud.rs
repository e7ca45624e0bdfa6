//! Identities at clouds, each kept until it ends and by everything that it depends on: account, annotations, scope, region,
//! host. How they are had is the room `registry`'s matter.

use super::Error;
use super::providers::{Inner, Request};
use super::tokens::key;
use crate::registry::{Account, AwsKeys, Cloud, Login};

impl Inner {
    /// Keys of AWS for a region.
    pub(super) async fn aws_keys(&self, region: &str, request: &Request) -> Result<AwsKeys, Error> {
        let account = request.account.as_ref();
        let fetch = async { Ok(self.clouds.aws_keys(region, account).await?) };
        self.tokens.get(key_of(&["aws", region], account), &request.asker, fetch).await
    }

    /// A token of Azure for a scope.
    pub(super) async fn azure_token(&self, scope: &str, request: &Request) -> Result<String, Error> {
        let account = request.account.as_ref();
        let fetch = async { Ok(self.clouds.azure_token(scope, account).await?) };
        self.tokens.get(key_of(&["azure", scope], account), &request.asker, fetch).await
    }

    /// A login for a registry of a cloud's.
    pub(super) async fn registry_login(&self, cloud: Cloud, host: &str, request: &Request) -> Result<Login, Error> {
        let account = request.account.as_ref();
        let fetch = async { Ok(self.clouds.login(cloud, host, account).await?) };
        let cloud = format!("{cloud:?}");
        self.tokens.get(key_of(&["registry", &cloud, host], account), &request.asker, fetch).await
    }
}

fn key_of(what: &[&str], account: Option<&Account>) -> [u8; 32] {
    let identity = account.map(Account::identity).unwrap_or_default();
    key(&[what, &identity].concat())
}
