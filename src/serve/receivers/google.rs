//! The token that Pub/Sub sends with a push: Google is asked whose it is and for whom it was made.

use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::Value;

use super::HookError;

/// Where Google tells what a token says.
pub(super) const TOKEN_INFO: &str = "https://oauth2.googleapis.com/tokeninfo";
/// Longest time for the answer.
const DEADLINE: Duration = Duration::from_secs(10);
/// Largest answer, in bytes.
const ANSWER: usize = 64 << 10;
/// Longest token, in bytes.
const TOKEN: usize = 8 << 10;

/// Checks that the request carries a token of Google's that was made for `audience`.
pub(super) async fn check(token_info: &str, headers: &HeaderMap, audience: &str) -> Result<(), HookError> {
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = value.and_then(|value| value.strip_prefix("Bearer ")).filter(|token| token.len() <= TOKEN);
    let token = token.ok_or(HookError::Unverified)?;
    // The address holds the token: errors are told without it.
    let failed = |e: reqwest::Error| HookError::Uncheckable(e.without_url().to_string());
    let client = reqwest::Client::builder().timeout(DEADLINE).redirect(reqwest::redirect::Policy::none());
    let client = client.build().map_err(failed)?;
    let mut answer = client.get(token_info).query(&[("id_token", token)]).send().await.map_err(failed)?;
    if answer.status().is_server_error() {
        return Err(HookError::Uncheckable(format!("the token's issuer answered {}", answer.status())));
    }
    if !answer.status().is_success() {
        return Err(HookError::Unverified);
    }
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(failed)? {
        if body.len() + piece.len() > ANSWER {
            return Err(HookError::Uncheckable("the answer about the token is too large".into()));
        }
        body.extend_from_slice(&piece);
    }
    let claims: Value = serde_json::from_slice(&body).unwrap_or_default();
    let issued_by_google =
        claims["iss"].as_str().is_none_or(|iss| iss.trim_start_matches("https://") == "accounts.google.com");
    if issued_by_google && claims["aud"] == audience { Ok(()) } else { Err(HookError::Unverified) }
}
