//! Logins by registry host, read from docker's configuration formats (fluxd-v1 §7.5). They are never printed.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// Bytes that a configuration may have.
const LIMIT: usize = 4 << 20;
/// Names that all mean Docker Hub.
const DOCKER_HUB: &[&str] = &["", "docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"];

/// A user and its secret.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Login {
    pub(super) user: String,
    pub(super) secret: String,
    /// The secret is an identity token, which is exchanged rather than presented.
    pub(super) identity: bool,
    provenance: String,
}

impl Login {
    /// A user with its password, and where they come from (`secret shop:pull`, without anything secret).
    pub fn new(user: impl Into<String>, password: impl Into<String>, provenance: impl Into<String>) -> Self {
        Self { user: user.into(), secret: password.into(), identity: false, provenance: provenance.into() }
    }

    /// An identity token, which token services exchange for access.
    pub fn identity_token(token: impl Into<String>, provenance: impl Into<String>) -> Self {
        Self { identity: true, ..Self::new("<token>", token, provenance) }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<registry creds for {}, from {}>", self.user, self.provenance)
    }
}

/// Logins by registry host. Printing shows hosts, users and where they come from.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Credentials(BTreeMap<String, Login>);

/// A text that is no docker configuration. It names the entry, never its content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// It is no JSON object, or too large.
    #[error("{provenance} holds no docker configuration: expected a JSON object of at most 4 MiB")]
    NotAnObject {
        /// Where it comes from.
        provenance: String,
    },
}

impl Credentials {
    /// Reads `{"auths":{HOST:{"auth":…}}}` (a `.dockerconfigjson`) or the bare inner map (a `.dockercfg`).
    ///
    /// An entry that cannot be used is left out, and named in the second value, so that it does not spoil the others.
    ///
    /// # Errors
    /// When the text is no JSON object.
    pub fn parse(config: &[u8], provenance: &str) -> Result<(Self, Vec<String>), CredentialsError> {
        let refused = || CredentialsError::NotAnObject { provenance: provenance.to_owned() };
        if config.len() > LIMIT {
            return Err(refused());
        }
        let whole: Map<String, Value> = serde_json::from_slice(config).map_err(|_| refused())?;
        let entries = match whole.get("auths") {
            Some(Value::Object(auths)) => auths,
            Some(_) => return Err(refused()),
            // a configuration with helpers alone is one too
            None if whole.contains_key("credHelpers") || whole.contains_key("credsStore") => &Map::new(),
            None => &whole,
        };
        let (mut read, mut unusable) = (Self::default(), Vec::new());
        for (key, entry) in entries {
            let host = host_of(key);
            match login(entry, provenance) {
                Ok(Some(login)) => {
                    read.0.insert(host, login);
                }
                Ok(None) => {}
                Err(reason) => unusable.push(format!("{host}: {reason}")),
            }
        }
        Ok((read, unusable))
    }

    /// Adds a login for a host, given as `HOST[:PORT]` or as a URL.
    pub fn insert(&mut self, host: &str, login: Login) {
        self.0.insert(host_of(host), login);
    }

    /// Takes over the logins of `other`, which win.
    pub fn merge(&mut self, other: &Self) {
        self.0.extend(other.0.iter().map(|(host, login)| (host.clone(), login.clone())));
    }

    /// Finds the login for a host. All names of Docker Hub are one.
    pub fn get(&self, host: &str) -> Option<&Login> {
        self.0.get(&host_of(host))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Credentials {
    /// v1's form: `{map[HOST:<registry creds for USER, from …>]}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{map[")?;
        for (at, (host, login)) in self.0.iter().enumerate() {
            write!(f, "{}{host}:{login:?}", if at == 0 { "" } else { " " })?;
        }
        f.write_str("]}")
    }
}

/// `HOST[:PORT]` of a key, which may be a URL with a path; Docker Hub by its one name.
pub(super) fn host_of(key: &str) -> String {
    let bare = key.split_once("://").map_or(key, |(_, rest)| rest);
    let host = bare.split(['/', '?']).next().unwrap_or(bare);
    // a user and password before the host would be shown with it
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host).to_ascii_lowercase();
    if DOCKER_HUB.contains(&host.as_str()) { "index.docker.io".to_owned() } else { host }
}

fn login(entry: &Value, provenance: &str) -> Result<Option<Login>, &'static str> {
    let Value::Object(entry) = entry else { return Err("expected an object") };
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(token) = text("identitytoken") {
        return Ok(Some(Login::identity_token(token, provenance)));
    }
    if let Some(auth) = text("auth") {
        // programs that write base64 break long lines, which Go and so the kubelet read over
        let whole: String = auth.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let decoded = STANDARD.decode(whole).map_err(|_| "its \"auth\" is no base64")?;
        let decoded = String::from_utf8(decoded).map_err(|_| "its \"auth\" holds no text")?;
        let (user, password) = decoded.split_once(':').ok_or("its \"auth\" holds no colon")?;
        // docker pads with zero bytes on some systems
        return Ok(Some(Login::new(user, password.trim_end_matches('\0'), provenance)));
    }
    match (text("username"), text("password")) {
        (Some(user), Some(password)) => Ok(Some(Login::new(user, password, provenance))),
        // what `docker login` leaves when a credential store keeps the secret
        (None, None) if !entry.contains_key("auth") && !entry.contains_key("username") => Ok(None),
        _ => Err("it has neither \"auth\" nor \"username\" with \"password\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> (Credentials, Vec<String>) {
        Credentials::parse(json.as_bytes(), "secret shop:pull").unwrap()
    }

    fn shown(credentials: &Credentials, host: &str) -> Option<(String, String)> {
        credentials.get(host).map(|login| (login.user.clone(), login.secret.clone()))
    }

    #[test]
    fn hosts_are_found_however_they_are_spelled() {
        let pair = |user: &str| Some((user.to_owned(), "pw".to_owned()));
        // broken into lines, as base64(1) does
        let auth = |user: &str| STANDARD.encode(format!("{user}:pw")).replacen('u', "u\\n", 1);
        for (key, asked) in [
            ("https://index.docker.io/v1/", "index.docker.io"),
            ("docker.io", "index.docker.io"),
            ("registry-1.docker.io", "docker.io"),
            ("https://Quay.io/v2/", "quay.io"),
            ("http://localhost:5000", "localhost:5000"),
            ("https://bob:hunter2@quay.io/v2/", "quay.io"),
            ("ghcr.io", "ghcr.io"),
        ] {
            let (credentials, unusable) = parse(&format!(r#"{{"auths":{{"{key}":{{"auth":"{}"}}}}}}"#, auth("ann")));
            assert_eq!((shown(&credentials, asked), unusable), (pair("ann"), vec![]), "{key}");
            assert_eq!(shown(&credentials, "example.org"), None);
        }
    }

    #[test]
    fn the_bare_map_and_names_with_passwords_are_read() {
        let (credentials, unusable) = parse(r#"{"quay.io":{"username":"u","password":"a:b","email":"x"}}"#);
        assert_eq!(shown(&credentials, "quay.io"), Some(("u".into(), "a:b".into())));
        assert!(unusable.is_empty());
    }

    #[test]
    fn one_bad_entry_does_not_spoil_the_others() {
        let good = STANDARD.encode("u:p:q");
        let (credentials, unusable) = parse(&format!(
            r#"{{"auths":{{"a.io":{{"auth":"%%"}},"b.io":{{"auth":"{good}"}},"c.io":3,"d.io":{{}},"e.io":{{"auth":""}}}}}}"#
        ));
        assert_eq!(shown(&credentials, "b.io"), Some(("u".into(), "p:q".into())));
        assert_eq!(
            unusable,
            [
                "a.io: its \"auth\" is no base64",
                "c.io: expected an object",
                "e.io: it has neither \"auth\" nor \"username\" with \"password\"",
            ]
        );
    }

    #[test]
    fn printing_shows_no_secret() {
        let (credentials, _) = parse(r#"{"quay.io":{"username":"ann","password":"hunter2"}}"#);
        assert_eq!(format!("{credentials:?}"), "{map[quay.io:<registry creds for ann, from secret shop:pull>]}");
        let (credentials, unusable) = parse(r#"{"https://bob:hunter2@quay.io":3}"#);
        assert_eq!((credentials.is_empty(), unusable), (true, vec!["quay.io: expected an object".to_owned()]));
        for text in ["", "[]", "{\"auths\":3}", "hunter2"] {
            let refusal = Credentials::parse(text.as_bytes(), "x").unwrap_err().to_string();
            assert_eq!(refusal, "x holds no docker configuration: expected a JSON object of at most 4 MiB");
        }
    }
}
