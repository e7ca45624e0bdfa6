//! The small JSON bodies of the protocol: lists of tags, errors, tokens.

use std::time::Duration;

use serde::Deserialize;

use super::super::Error;

/// Characters of a tag; the protocol allows 128.
pub const MAX_TAG: usize = 128;
/// Characters of a registry's message that are passed on.
const MAX_MESSAGE: usize = 300;

/// Reads the body of a tag list. Entries that cannot be tags are left out.
///
/// # Errors
/// When it is no such JSON, such as a page of HTML from a proxy.
pub fn read_tags(body: &[u8]) -> Result<Vec<String>, String> {
    #[derive(Deserialize)]
    struct Tags {
        // null where a repository has none
        tags: Option<Vec<String>>,
    }
    // the library's words for wrong types repeat what was found, which may be anything
    let read: Tags = serde_json::from_slice(body).map_err(|e| match e.classify() {
        serde_json::error::Category::Data => "expected a JSON object with a list of tags".to_owned(),
        _ => format!("expected a JSON list of tags: {e}"),
    })?;
    let mut tags = read.tags.unwrap_or_default();
    tags.retain(|tag| is_tag(tag));
    Ok(tags)
}

fn is_tag(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.len() <= MAX_TAG
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

/// Reads an answer that is no success, as the docker client words it: the error code in small letters, then the message.
pub fn read_refusal(status: u16, body: &[u8], retry_after: Option<Duration>) -> Error {
    #[derive(Deserialize)]
    struct Refusal {
        #[serde(default)]
        errors: Vec<Entry>,
        details: Option<String>,
    }
    #[derive(Deserialize)]
    struct Entry {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let read = serde_json::from_slice::<Refusal>(body).ok();
    let details = read.as_ref().and_then(|read| read.details.clone());
    let entry = read.and_then(|read| read.errors.into_iter().next());
    let code = entry.as_ref().map(|entry| shorten(&entry.code).to_ascii_uppercase()).unwrap_or_default();
    let text = match (&entry, details) {
        (Some(entry), _) => {
            format!("{}: {}", shorten(&entry.code).to_lowercase().replace('_', " "), shorten(&entry.message))
        }
        (None, Some(details)) => format!("unauthorized: {}", shorten(&details)),
        (None, None) => format!("the registry answered with HTTP status {status} and without words of the protocol"),
    };
    if status == 429 || code == "TOOMANYREQUESTS" {
        let text = if entry.is_some() { text } else { "toomanyrequests: HTTP status 429".to_owned() };
        return Error::TooManyRequests { text, retry_after };
    }
    Error::Refused { status, code, text }
}

/// One line of bounded length without control characters.
fn shorten(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_MESSAGE).collect()
}

/// What a token service hands out.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// To be presented.
    pub value: String,
    /// How long it is good for; the protocol's default is a minute.
    pub valid: Duration,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Token").field("valid", &self.valid).finish_non_exhaustive()
    }
}

/// Reads a token service's answer.
///
/// # Errors
/// When it is no such JSON or holds no token. The text never shows the body.
pub fn read_token(body: &[u8]) -> Result<Token, String> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        token: String,
        #[serde(default)]
        access_token: String,
        #[serde(default)]
        expires_in: Option<f64>,
    }
    let read: Answer = serde_json::from_slice(body).map_err(|_| "expected a JSON answer with a token".to_owned())?;
    let value = if read.token.is_empty() { read.access_token } else { read.token };
    let plain = !value.is_empty() && value.bytes().all(|b| b.is_ascii_graphic());
    if !plain {
        return Err("the token service's answer holds no token".to_owned());
    }
    let seconds = read.expires_in.filter(|s| s.is_finite()).unwrap_or(60.0).clamp(60.0, 86_400.0);
    Ok(Token { value, valid: Duration::from_secs_f64(seconds) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_and_nonsense_is_left_out() {
        let tags = |body: &str| read_tags(body.as_bytes());
        assert_eq!(tags(r#"{"name":"a","tags":["1.0","_x","-no","a/b",""]}"#).unwrap(), ["1.0", "_x"]);
        assert_eq!(tags(r#"{"tags":null}"#).unwrap(), [""; 0]);
        assert!(tags("<html>").unwrap_err().starts_with("expected a JSON list of tags: "));
    }

    #[test]
    fn refusals_are_worded_as_the_docker_client_does() {
        let text = |status, body: &str| read_refusal(status, body.as_bytes(), None).to_string();
        let unknown = r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{}}]}"#;
        assert_eq!(text(404, unknown), "manifest unknown: manifest unknown");
        assert!(read_refusal(404, unknown.as_bytes(), None).is_manifest_unknown());
        let many = r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}"#;
        assert_eq!(text(403, many), "toomanyrequests: slow down");
        assert!(read_refusal(403, many.as_bytes(), None).is_too_many_requests());
        let wait = Some(Duration::from_secs(3));
        let Error::TooManyRequests { text: told, retry_after } = read_refusal(429, b"<html>", wait) else { panic!() };
        assert_eq!((told.as_str(), retry_after), ("toomanyrequests: HTTP status 429", wait));
        assert_eq!(text(502, "<html>"), "the registry answered with HTTP status 502 and without words of the protocol");
        assert_eq!(
            text(401, r#"{"details":"incorrect username or password"}"#),
            "unauthorized: incorrect username or password"
        );
    }

    #[test]
    fn tokens_are_read_in_both_spellings_and_never_shown() {
        let token = read_token(br#"{"token":"abc","expires_in":300,"issued_at":"x"}"#).unwrap();
        assert_eq!((token.value.as_str(), token.valid), ("abc", Duration::from_secs(300)));
        assert_eq!(format!("{token:?}"), "Token { valid: 300s, .. }");
        assert_eq!(read_token(br#"{"access_token":"x","expires_in":1}"#).unwrap().valid, Duration::from_secs(60));
        for body in ["{}", "hunter2", r#"{"token":"a b"}"#, r#"{"token":3}"#] {
            assert!(!read_token(body.as_bytes()).unwrap_err().contains("hunter2"));
        }
    }
}
