//! AWS's Signature Version 4, as a function of request, keys and time.

use hmac::{Hmac, Mac as _};
use http::HeaderName;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::super::wire::Asked;

/// Keys of an AWS identity.
#[derive(Clone)]
pub(super) struct Keys {
    pub(super) access: String,
    pub(super) secret: String,
    pub(super) session: Option<String>,
}

/// Where a signature is valid.
pub(super) struct Scope<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) at: Timestamp,
}

/// Signs a request: all headers it has by now, `Host`, and the time. The path must need no escaping.
pub(super) fn sign(asked: Asked, keys: &Keys, scope: &Scope<'_>) -> Asked {
    let time = scope.at.strftime("%Y%m%dT%H%M%SZ").to_string();
    let date = &time[..8];
    let mut asked = asked.header(HeaderName::from_static("x-amz-date"), &time);
    if let Some(session) = &keys.session {
        asked = asked.header(HeaderName::from_static("x-amz-security-token"), session);
    }
    let mut headers: Vec<(String, String)> = asked
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).trim().to_owned()))
        .collect();
    headers.push(("host".to_owned(), asked.host()));
    headers.sort();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");
    let canonical = format!(
        "{}\n{}\n{}\n{}\n{names}\n{}",
        asked.method,
        asked.url.path(),
        asked.url.query().unwrap_or_default(),
        headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect::<String>(),
        hex::encode(Sha256::digest(asked.body.as_deref().unwrap_or_default())),
    );
    let credential = format!("{date}/{}/{}/aws4_request", scope.region, scope.service);
    let digest = hex::encode(Sha256::digest(canonical));
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{credential}\n{digest}");
    let first = format!("AWS4{}", keys.secret).into_bytes();
    let key = [date, scope.region, scope.service, "aws4_request"].iter().fold(first, |key, part| mac(&key, part));
    let signature = hex::encode(mac(&key, &text));
    let value = format!(
        "AWS4-HMAC-SHA256 Credential={}/{credential}, SignedHeaders={names}, Signature={signature}",
        keys.access
    );
    asked.header(http::header::AUTHORIZATION, &value)
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example_gets_its_published_signature() {
        // "get-vanilla" of AWS's own test suite for this signature
        let asked = Asked::get("https://example.amazonaws.com/".parse().unwrap(), 0);
        let keys = Keys {
            access: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session: None,
        };
        let at = "2015-08-30T12:36:00Z".parse().unwrap();
        let signed = sign(asked, &keys, &Scope { region: "us-east-1", service: "service", at });
        assert_eq!(
            signed.headers["authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
    }
}
