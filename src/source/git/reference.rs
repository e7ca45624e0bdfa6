//! URLs read and printed by the rules of Go's `net/url`, because the marks of existing clusters are hashes of what it
//! printed (fluxd-v1 §2.12). Only what those rules need; nothing is resolved or fetched.

/// Parts of a URL. Texts that were percent-decoded are bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) scheme: String,
    pub(super) opaque: String,
    pub(super) user: Option<Vec<u8>>,
    pub(super) host: Vec<u8>,
    pub(super) path: Vec<u8>,
    /// The path as written, when that differs from its usual encoding.
    raw_path: Option<String>,
    query: Option<String>,
    fragment: Vec<u8>,
    omit_host: bool,
}

/// Where a text stands in a URL, which decides what must be encoded there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    User,
    Host,
    Path,
    Fragment,
}

impl Reference {
    /// Makes one from parts that are not encoded.
    pub(super) fn new(scheme: &str, user: Option<&str>, host: &str, path: &str, query: &str) -> Self {
        Self {
            scheme: scheme.to_owned(),
            user: user.map(|u| u.as_bytes().to_vec()),
            host: host.as_bytes().to_vec(),
            path: path.as_bytes().to_vec(),
            query: (!query.is_empty()).then(|| query.to_owned()),
            ..Self::default()
        }
    }

    /// Reads a URL; a password is dropped at once. `None` when Go would report an error, or when there is no scheme.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        if text.bytes().any(|b| b < b' ' || b == 0x7f) {
            return None;
        }
        let (scheme, rest) = split_scheme(text)?;
        let mut url = Self { scheme, fragment: decode(fragment, Part::Fragment)?, ..Self::default() };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        url.query = query;
        if !rest.starts_with('/') {
            rest.clone_into(&mut url.opaque);
            return Some(url);
        }
        let path = match rest.strip_prefix("//") {
            Some(rest) => {
                let at = rest.find('/').unwrap_or(rest.len());
                let (authority, path) = rest.split_at(at);
                url.set_authority(authority)?;
                path
            }
            None => {
                url.omit_host = true;
                rest
            }
        };
        url.path = decode(path, Part::Path)?;
        url.raw_path = is_encoded(path).then(|| path.to_owned());
        Some(url)
    }

    fn set_authority(&mut self, authority: &str) -> Option<()> {
        let host = match authority.rsplit_once('@') {
            None => authority,
            Some((info, host)) => {
                if !info.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b)) {
                    return None;
                }
                let (user, password) = info.split_once(':').unwrap_or((info, ""));
                decode(password, Part::User)?;
                self.user = Some(decode(user, Part::User)?);
                host
            }
        };
        let port = match host.strip_prefix('[') {
            Some(v6) => v6.rsplit_once(']')?.1,
            None => host.rfind(':').map_or("", |at| &host[at..]),
        };
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
        self.host = decode(host, Part::Host).filter(|_| is_port)?;
        Some(())
    }

    /// Prints it without a password.
    pub(super) fn print(&self) -> String {
        let mut out = format!("{}:", self.scheme);
        if self.opaque.is_empty() {
            let is_empty = self.host.is_empty() && self.user.is_none();
            if !(is_empty && (self.omit_host || self.path.is_empty())) {
                out.push_str("//");
            }
            if let Some(user) = &self.user {
                out.push_str(&encode(user, Part::User));
                out.push('@');
            }
            out.push_str(&encode(&self.host, Part::Host));
            if !self.host.is_empty() && self.path.first().is_some_and(|b| *b != b'/') {
                out.push('/');
            }
            match &self.raw_path {
                Some(raw) => out.push_str(raw),
                None => out.push_str(&encode(&self.path, Part::Path)),
            }
        } else {
            out.push_str(&self.opaque);
        }
        if let Some(query) = &self.query {
            out.push('?');
            out.push_str(query);
        }
        if !self.fragment.is_empty() {
            out.push('#');
            out.push_str(&encode(&self.fragment, Part::Fragment));
        }
        out
    }
}

fn split_scheme(text: &str) -> Option<(String, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    is_scheme.then(|| (scheme.to_ascii_lowercase(), rest))
}

fn must_encode(byte: u8, part: Part) -> bool {
    let allowed: &[u8] = match part {
        Part::User => b"$&+,;=",
        Part::Host => b"!'()*[]<>\"$&+,;=:",
        Part::Path => b"$&+,/:;=@",
        Part::Fragment => b"$&+,/:;=?@!()*",
    };
    !(byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || allowed.contains(&byte))
}

fn encode(bytes: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if must_encode(*byte, part) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(*byte));
        }
    }
    out
}

fn decode(text: &str, part: Part) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'%' {
            let digits = text.get(at + 1..at + 3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
            let value = u8::from_str_radix(digits, 16).ok()?;
            if part == Part::Host && value < 0x80 && value != b'%' {
                return None;
            }
            out.push(value);
            at += 3;
        } else {
            if part == Part::Host && byte.is_ascii() && must_encode(*byte, part) {
                return None;
            }
            out.push(*byte);
            at += 1;
        }
    }
    Some(out)
}

/// Whether a path as written may be printed as it is.
fn is_encoded(path: &str) -> bool {
    path.bytes().all(|b| b"!$&'()*+,;=:@[]%".contains(&b) || !must_encode(b, Part::Path))
}
