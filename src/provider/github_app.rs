//! GitHub Apps: a signed introduction is exchanged for a token of one installation, which is kept until it ends
//! (resourceset §8.4).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use url::Url;

use super::address::join;
use super::providers::Inner;
use super::tokens::{Asker, key};
use super::wire::{Call, Wire};
use super::{Error, SecretData};

/// How long an introduction is good for, and how far it is dated back, because clocks differ.
const VALID: i64 = 120;
const BACK: i64 = 30;

/// Whose installation of the app is used.
enum Installation {
    Owner(String),
    Id(String),
}

#[derive(Deserialize)]
struct Found {
    id: u64,
}

#[derive(Deserialize)]
struct Token {
    token: String,
    expires_at: Timestamp,
}

/// A token of an installation, by a secret that holds an app's key, for an object.
pub(super) async fn token(
    inner: &Inner,
    wire: &Wire,
    api: &Url,
    (secret, asker): (&SecretData, &Asker),
) -> Result<String, Error> {
    let app = secret.required("githubAppID")?;
    let private = secret.required("githubAppPrivateKey")?;
    let given = |key: &str| Ok::<_, Error>(secret.text(key)?.filter(|text| !text.is_empty()));
    let installation = match (given("githubAppInstallationOwner")?, given("githubAppInstallationID")?) {
        (Some(owner), None) => Installation::Owner(owner),
        (None, Some(id)) => Installation::Id(id),
        _ => {
            let reason = "exactly one of 'githubAppInstallationOwner' and 'githubAppInstallationID' must be set";
            return Err(secret.refuse(reason.to_owned()));
        }
    };
    let base = match given("githubAppBaseURL")? {
        Some(base) => base.parse().map_err(|_| secret.refuse("key 'githubAppBaseURL' holds no URL".to_owned()))?,
        None => api.clone(),
    };
    let (kind, name) = match &installation {
        Installation::Owner(owner) => ("owner", owner),
        Installation::Id(id) => ("id", id),
    };
    let key = key(&["github-app", base.as_str(), &app, &private, kind, name]);
    let fetch = async {
        let introduction = sign(&app, &private, Timestamp::now()).map_err(|reason| secret.refuse(reason))?;
        fetch(wire, &base, &introduction, &installation).await
    };
    inner.tokens.get(key, asker, fetch).await
}

async fn fetch(
    wire: &Wire,
    base: &Url,
    introduction: &str,
    installation: &Installation,
) -> Result<(String, Duration), Error> {
    let doing = |error: Error| error.within("failed to get the token of the GitHub App's installation");
    let with = |call: Call| {
        call.header("authorization", &format!("Bearer {introduction}")).header("x-github-api-version", "2022-11-28")
    };
    let id = match installation {
        Installation::Id(id) => id.clone(),
        Installation::Owner(owner) => {
            let org = with(Call::get(join(base, &["orgs", owner, "installation"])?));
            let found = match wire.json::<Found>(org).await {
                Err(error) if error.code() == Some(404) => {
                    wire.json(with(Call::get(join(base, &["users", owner, "installation"])?))).await
                }
                answered => answered,
            };
            found.map_err(doing)?.id.to_string()
        }
    };
    let url = join(base, &["app", "installations", &id, "access_tokens"])?;
    let token: Token = wire.json(with(Call::post(url, Vec::new()))).await.map_err(doing)?;
    let valid = token.expires_at.duration_since(Timestamp::now());
    Ok((token.token, Duration::try_from(valid).unwrap_or_default()))
}

/// Signs an introduction (a JWT by RS256). The key is in PEM, in either of the forms that are usual.
fn sign(app: &str, private: &str, now: Timestamp) -> Result<String, String> {
    let unreadable = || "key 'githubAppPrivateKey' holds no RSA key in PEM".to_owned();
    let pair = match PrivateKeyDer::from_pem_slice(private.as_bytes()).map_err(|_| unreadable())? {
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        _ => return Err(unreadable()),
    };
    let pair = pair.map_err(|_| unreadable())?;
    let at = now.as_second();
    let head = serde_json::json!({"alg": "RS256", "typ": "JWT"}).to_string();
    let claims = serde_json::json!({"iss": app, "iat": at - BACK, "exp": at + VALID}).to_string();
    let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(claims));
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| "the GitHub App's introduction cannot be signed".to_owned())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        for text in ["", "hunter2", "-----BEGIN PRIVATE KEY-----\naHVudGVyMg==\n-----END PRIVATE KEY-----\n"] {
            let refusal = sign("1", text, Timestamp::UNIX_EPOCH).unwrap_err();
            assert_eq!(refusal, "key 'githubAppPrivateKey' holds no RSA key in PEM");
        }
    }

    #[test]
    fn introductions_are_signed_by_the_apps_key() {
        let private = include_str!("../../tests/data/provider/github-app.pem");
        let token = sign("42", private, "2026-01-01T00:00:00Z".parse().unwrap()).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let read = |part: &str| -> serde_json::Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
        };
        assert_eq!(read(parts[0]), serde_json::json!({"alg": "RS256", "typ": "JWT"}));
        assert_eq!(read(parts[1]), serde_json::json!({"iss": "42", "iat": 1_767_225_570, "exp": 1_767_225_720}));
        let pair = match PrivateKeyDer::from_pem_slice(private.as_bytes()).unwrap() {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()).unwrap(),
            _ => panic!("openssl's traditional form"),
        };
        let public = ring::signature::UnparsedPublicKey::new(
            &ring::signature::RSA_PKCS1_2048_8192_SHA256,
            pair.public().as_ref().to_vec(),
        );
        let signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
        public.verify(format!("{}.{}", parts[0], parts[1]).as_bytes(), &signature).unwrap();
    }
}
