//! `WWW-Authenticate` headers (RFC 9110): how a registry wants to be spoken to.

/// Challenges read of one header; more are ignored.
const MAX: usize = 16;

/// A way to authenticate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// User and password with each request.
    Basic,
    /// A token from a service.
    Bearer {
        /// The service's URL.
        realm: String,
        /// What it calls the registry; may be empty.
        service: String,
    },
}

/// Reads the challenges of one header that are understood here; others are passed over.
pub fn read_challenges(header: &str) -> Vec<Challenge> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some((scheme, parameters, after)) = next(rest) {
        let value = |name: &str| {
            parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
        };
        if scheme.eq_ignore_ascii_case("basic") {
            found.push(Challenge::Basic);
        } else if scheme.eq_ignore_ascii_case("bearer")
            && let Some(realm) = value("realm")
        {
            found.push(Challenge::Bearer { realm, service: value("service").unwrap_or_default() });
        }
        rest = after;
        if found.len() >= MAX {
            break;
        }
    }
    found
}

type Parameters = Vec<(String, String)>;

/// One scheme with its parameters, and what stands behind them.
fn next(text: &str) -> Option<(&str, Parameters, &str)> {
    let text = text.trim_start_matches([' ', '\t', ',']);
    let end = text.find(|c: char| !is_token(c)).unwrap_or(text.len());
    if end == 0 {
        return None;
    }
    let (scheme, mut rest) = text.split_at(end);
    let mut parameters = Vec::new();
    while let Some((name, value, after)) = parameter(rest) {
        parameters.push((name.to_owned(), value));
        rest = after;
    }
    Some((scheme, parameters, rest))
}

/// One `name=value` or `name="value"`, and what stands behind it.
fn parameter(text: &str) -> Option<(&str, String, &str)> {
    let text = text.trim_start_matches([' ', '\t', ',']);
    let end = text.find(|c: char| !is_token(c))?;
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    if name.is_empty() {
        return None;
    }
    let Some(quoted) = rest.strip_prefix('"') else {
        let end = rest.find([',', ' ', '\t']).unwrap_or(rest.len());
        return Some((name, rest[..end].to_owned(), &rest[end..]));
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Some((name, value, &quoted[at + 1..])),
            c => value.push(c),
        }
    }
    // a quote that never ends takes all there is
    Some((name, value, ""))
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: &str) -> Challenge {
        Challenge::Bearer { realm: realm.to_owned(), service: service.to_owned() }
    }

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        for (header, want) in [
            (r#"Basic realm="Registry Realm""#, vec![Challenge::Basic]),
            ("basic", vec![Challenge::Basic]),
            (
                r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io""#,
                vec![bearer("https://auth.docker.io/token", "registry.docker.io")],
            ),
            (
                r#"Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:user/image:pull",error="x""#,
                vec![bearer("https://ghcr.io/token", "ghcr.io")],
            ),
            (r#"Bearer service=a, realm = "https://b/""#, vec![bearer("https://b/", "a")]),
            (
                r#"Negotiate, Bearer realm="https://b/", Basic realm="x""#,
                vec![bearer("https://b/", ""), Challenge::Basic],
            ),
            (r#"Bearer realm="a\"b,c"#, vec![bearer("a\"b,c", "")]),
            (r#"Bearer service="no realm""#, vec![]),
            ("", vec![]),
            ("=,=", vec![]),
        ] {
            assert_eq!(read_challenges(header), want, "{header}");
        }
    }
}
