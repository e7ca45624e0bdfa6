//! URLs into their parts and back, by the rules of Go's `net/url`.

use super::super::exec::Fail;
use super::super::format::quote;
use super::super::value::Value;
use super::Type::{Map, Text};
use super::{Context, Definition, Given, function, map, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("urlParse", &[Text], |_, args| match parse(text(args, 0)) {
        Ok(url) => Ok(url.into_map()),
        Err(message) => Err(format!("unable to parse url: {message}").into()),
    }),
    function("urlJoin", &[Map], join),
];

/// Which part of a URL is escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Path,
    Fragment,
    User,
}

impl Part {
    fn escapes(self, b: u8) -> bool {
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~') {
            return false;
        }
        match self {
            Self::Host => !b"!$&'()*+,;=:[]<>\"".contains(&b),
            Self::Path => !b"$&+,/:;=@".contains(&b),
            Self::Fragment => !b"$&+,/:;=?@!()*".contains(&b),
            Self::User => !b"$&+,;=".contains(&b),
        }
    }

    fn escape(self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        for b in text {
            if self.escapes(*b) {
                out.extend_from_slice(format!("%{b:02X}").as_bytes());
            } else {
                out.push(*b);
            }
        }
        out
    }

    fn unescape(self, text: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let byte = text[at];
            if byte != b'%' {
                if self == Self::Host && byte.is_ascii() && self.escapes(byte) {
                    return Err(format!("invalid character {} in host name", quote(&[byte], b'"')));
                }
                out.push(byte);
                at += 1;
                continue;
            }
            let end = text.len().min(at + 3);
            let digits = std::str::from_utf8(&text[at + 1..end]).ok().filter(|digits| digits.len() == 2);
            let code = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
            let code = code.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            let code = code.filter(|code| self != Self::Host || !code.is_ascii() || *code == b'%');
            let Some(code) = code else {
                return Err(format!("invalid URL escape {}", quote(&text[at..end], b'"')));
            };
            out.push(code);
            at += 3;
        }
        Ok(out)
    }
}

#[derive(Default)]
struct Url {
    scheme: Vec<u8>,
    opaque: Vec<u8>,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    path: Vec<u8>,
    query: Vec<u8>,
    fragment: Vec<u8>,
}

fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|b| *b == at) {
        Some(found) => (&text[..found], Some(&text[found + 1..])),
        None => (text, None),
    }
}

fn parse(text: &[u8]) -> Result<Url, String> {
    let (before, fragment) = cut(text, b'#');
    let mut url = parse_absolute(before).map_err(|e| format!("parse {}: {e}", quote(before, b'"')))?;
    if let Some(fragment) = fragment {
        url.fragment = Part::Fragment.unescape(fragment).map_err(|e| format!("parse {}: {e}", quote(text, b'"')))?;
    }
    Ok(url)
}

fn parse_absolute(text: &[u8]) -> Result<Url, String> {
    if text.iter().any(u8::is_ascii_control) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text == b"*" {
        return Ok(Url { path: text.to_vec(), ..Url::default() });
    }
    let (scheme, rest) = scheme(text)?;
    let (mut rest, query) = cut(rest, b'?');
    let mut url =
        Url { scheme: scheme.to_ascii_lowercase(), query: query.unwrap_or_default().to_vec(), ..Url::default() };
    if !rest.starts_with(b"/") {
        if !scheme.is_empty() {
            url.opaque = rest.to_vec();
            return Ok(url);
        }
        if cut(rest, b'/').0.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    if rest.starts_with(b"//") && (!scheme.is_empty() || !rest.starts_with(b"///")) {
        let end = rest[2..].iter().position(|b| *b == b'/').map_or(rest.len(), |at| at + 2);
        url.authority(&rest[2..end])?;
        rest = &rest[end..];
    }
    url.path = Part::Path.unescape(rest)?;
    Ok(url)
}

fn scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (at, b) in text.iter().enumerate() {
        match b {
            b':' if at == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            b if b.is_ascii_alphabetic() => {}
            b if at > 0 && (b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.')) => {}
            _ => break,
        }
    }
    Ok((b"", text))
}

fn is_port(text: &[u8]) -> bool {
    text.is_empty() || text.strip_prefix(b":").is_some_and(|port| port.iter().all(u8::is_ascii_digit))
}

impl Url {
    fn authority(&mut self, authority: &[u8]) -> Result<(), String> {
        let at = authority.iter().rposition(|b| *b == b'@');
        self.host = self.host_of(&authority[at.map_or(0, |at| at + 1)..])?;
        let Some(at) = at else { return Ok(()) };
        let user = &authority[..at];
        if !user.iter().all(|b| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(b)) {
            return Err("net/url: invalid userinfo".into());
        }
        let (name, password) = cut(user, b':');
        let password = password.map(|password| Part::User.unescape(password)).transpose();
        self.user = Some((Part::User.unescape(name)?, password?));
        Ok(())
    }

    fn host_of(&self, host: &[u8]) -> Result<Vec<u8>, String> {
        let invalid_port = |port: &[u8]| Err(format!("invalid port {} after host", quote(port, b'"')));
        if let Some(open) = host.iter().rposition(|b| *b == b'[') {
            let close = host.iter().rposition(|b| *b == b']');
            return match close {
                _ if open > 0 => Err("invalid IP-literal".into()),
                None => Err("missing ']' in host".into()),
                Some(close) if !is_port(&host[close + 1..]) => invalid_port(&host[close + 1..]),
                Some(close) => literal_address(&host[1..close])
                    .map(|address| [b"[", address.as_slice(), b"]", &host[close + 1..]].concat()),
            };
        }
        // Only for http is a second colon an error; databases have several hosts in one URL.
        let is_http = self.scheme == b"http" || self.scheme == b"https";
        let colon = |b: &u8| *b == b':';
        let at = if is_http { host.iter().position(colon) } else { host.iter().rposition(colon) };
        match at {
            Some(at) if !is_port(&host[at..]) => invalid_port(&host[at..]),
            _ => Part::Host.unescape(host),
        }
    }

    fn into_map(self) -> Value {
        let host = &self.host;
        let colon = host.iter().rposition(|b| *b == b':').filter(|at| is_port(&host[*at..]));
        let name = &host[..colon.unwrap_or(host.len())];
        let name = name.strip_prefix(b"[").and_then(|name| name.strip_suffix(b"]")).unwrap_or(name).to_vec();
        let entries = [
            ("scheme", self.scheme),
            ("hostname", name),
            ("host", self.host),
            ("path", self.path),
            ("query", self.query),
            ("opaque", self.opaque),
            ("fragment", self.fragment),
            ("userinfo", self.user.as_ref().map_or_else(Vec::new, userinfo)),
        ];
        Value::map(entries.into_iter().map(|(key, value)| (key.as_bytes().into(), value.into())).collect())
    }

    fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend_from_slice(&Part::Fragment.escape(&self.fragment));
        }
        out
    }

    fn hierarchy(&self, out: &mut Vec<u8>) {
        let has_authority = !self.host.is_empty() || self.user.is_some();
        if has_authority || !self.scheme.is_empty() && !self.path.is_empty() {
            out.extend_from_slice(b"//");
        }
        if let Some(user) = &self.user {
            out.extend_from_slice(&userinfo(user));
            out.push(b'@');
        }
        out.extend_from_slice(&Part::Host.escape(&self.host));
        let path = if self.path == b"*" { b"*".to_vec() } else { Part::Path.escape(&self.path) };
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            out.push(b'/');
        }
        if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend_from_slice(&path);
    }
}

fn userinfo((name, password): &(Vec<u8>, Option<Vec<u8>>)) -> Vec<u8> {
    let mut out = Part::User.escape(name);
    if let Some(password) = password {
        out.push(b':');
        out.extend_from_slice(&Part::User.escape(password));
    }
    out
}

/// An IPv6 address, with an optional zone.
fn literal_address(text: &[u8]) -> Result<Vec<u8>, String> {
    let text = String::from_utf8_lossy(text);
    let (address, zone) = text.split_once("%25").map_or((text.as_ref(), None), |(a, z)| (a, Some(z)));
    if address.parse::<core::net::Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".into());
    }
    if address.parse::<core::net::Ipv6Addr>().is_err() {
        return Err(format!("invalid host: ParseAddr({}): unable to parse IP", quote(text.as_bytes(), b'"')));
    }
    Ok(zone.map_or_else(|| address.to_owned(), |zone| format!("{address}%{zone}")).into_bytes())
}

fn join(_: &mut Context<'_, '_>, args: &[Value]) -> Given {
    let parts = map(args, 0);
    let part = |key: &str| match parts.get(key.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::Text(text)) => Ok(text.to_vec()),
        Some(Value::Nil) => Err(Fail::from(super::NIL_POINTER)),
        Some(other) => {
            let kind = other.kind_name();
            Err(format!("unable to parse {key} key, must be of type string, but {kind} found").into())
        }
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        user: None,
    };
    let user = part("userinfo")?;
    if !user.is_empty() {
        let text = [b"proto://", user.as_slice(), b"@host"].concat();
        let parsed = parse(&text).map_err(|e| Fail::Message(format!("unable to parse userinfo in dict: {e}")))?;
        url.user = parsed.user;
    }
    Ok(url.text().into())
}
