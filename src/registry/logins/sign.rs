//! AWS's Signature Version 4, as a function of request, keys and time.

use hmac::{Hmac, Mac as _};
use http::HeaderName;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::super::wire::{Asked, host_and_port};

/// Keys of an AWS identity. Never printed.
#[derive(Clone)]
pub struct AwsKeys {
    /// The key's identifier.
    pub access: String,
    /// The secret that requests are signed with.
    pub secret: String,
    /// Goes with temporary keys.
    pub session: Option<String>,
}

impl std::fmt::Debug for AwsKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AwsKeys").field("access", &self.access).finish_non_exhaustive()
    }
}

/// Where and when a signature is valid.
#[derive(Clone, Copy, Debug)]
pub struct AwsScope<'a> {
    /// The region.
    pub region: &'a str,
    /// The service.
    pub service: &'a str,
    /// The time.
    pub at: Timestamp,
}

/// What is signed of a request.
#[derive(Clone, Copy, Debug)]
pub struct AwsRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// The address. Its path must need no escaping.
    pub url: &'a Url,
    /// Headers that are sent with it, names in small letters.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: &'a [u8],
}

impl AwsKeys {
    /// Signs a request, its headers, its host and the time; these are the headers to be added to it.
    pub fn sign(&self, request: &AwsRequest<'_>, scope: &AwsScope<'_>) -> Vec<(&'static str, String)> {
        let time = scope.at.strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut added = vec![("x-amz-date", time.clone())];
        added.extend(self.session.iter().map(|session| ("x-amz-security-token", session.clone())));
        let mut headers = request.headers.to_vec();
        headers.extend(added.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        headers.push(("host".to_owned(), host_and_port(request.url)));
        headers.sort();
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let canonical = format!(
            "{}\n{}\n{}\n{}\n{names}\n{}",
            request.method,
            request.url.path(),
            request.url.query().unwrap_or_default(),
            headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect::<String>(),
            hex::encode(Sha256::digest(request.body)),
        );
        let signature = self.signature(&time, &canonical, scope);
        let credential = format!("{}/{}", self.access, place(&time, scope));
        let value = format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}");
        added.push(("authorization", value));
        added
    }

    /// User and password by which git speaks to CodeCommit at a URL, good for some minutes.
    pub fn git_login(&self, url: &Url, scope: &AwsScope<'_>) -> (String, String) {
        let time = scope.at.strftime("%Y%m%dT%H%M%S").to_string();
        let canonical = format!("GIT\n{}\n\nhost:{}\n\nhost\n", url.path(), host_and_port(url));
        let password = format!("{time}Z{}", self.signature(&time, &canonical, scope));
        let user = match &self.session {
            Some(session) => format!("{}%{session}", self.access),
            None => self.access.clone(),
        };
        (user, password)
    }

    fn signature(&self, time: &str, canonical: &str, scope: &AwsScope<'_>) -> String {
        let text =
            format!("AWS4-HMAC-SHA256\n{time}\n{}\n{}", place(time, scope), hex::encode(Sha256::digest(canonical)));
        let first = format!("AWS4{}", self.secret).into_bytes();
        let parts = [&time[..8], scope.region, scope.service, "aws4_request"];
        let key = parts.iter().fold(first, |key, part| mac(&key, part));
        hex::encode(mac(&key, &text))
    }
}

fn place(time: &str, scope: &AwsScope<'_>) -> String {
    format!("{}/{}/{}/aws4_request", &time[..8], scope.region, scope.service)
}

/// Signs a request with all headers that it has by then.
pub(super) fn sign(asked: Asked, keys: &AwsKeys, scope: &AwsScope<'_>) -> Asked {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
    let headers: Vec<_> = asked.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let body = asked.body.as_deref().unwrap_or_default();
    let request = AwsRequest { method: asked.method.as_str(), url: &asked.url, headers: &headers, body };
    let added = keys.sign(&request, scope);
    added.into_iter().fold(asked, |asked, (name, value)| asked.header(HeaderName::from_static(name), &value))
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
        let keys = AwsKeys {
            access: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session: None,
        };
        let at = "2015-08-30T12:36:00Z".parse().unwrap();
        let signed = sign(asked, &keys, &AwsScope { region: "us-east-1", service: "service", at });
        assert_eq!(
            signed.headers["authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
        );
    }

    #[test]
    fn gits_login_is_signed_as_by_awss_own_helper() {
        // the signature was calculated apart, by the steps of that helper
        let keys = AwsKeys {
            access: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session: None,
        };
        let at = "2015-08-30T12:36:00Z".parse().unwrap();
        let scope = AwsScope { region: "us-east-1", service: "codecommit", at };
        let url = "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/shop".parse().unwrap();
        let (user, password) = keys.git_login(&url, &scope);
        assert_eq!(user, "AKIDEXAMPLE");
        let signature = "e4d2c7e36a5c6ea35cdd152e39992f28a2443bac0a578bc80eef571fb2a46e9c";
        assert_eq!(password, format!("20150830T123600Z{signature}"));
        let temporary = AwsKeys { session: Some("token".to_owned()), ..keys };
        assert_eq!(temporary.git_login(&url, &scope), ("AKIDEXAMPLE%token".to_owned(), password));
    }
}
