//! Repository URLs: the form that is shown, the form that is hashed into ownership marks, the form that git gets, and
//! the equality of two of them (fluxd-v1 §2.12). Pure functions.

use super::Error;
use super::reference::Reference;

/// Schemes that make a text a URL; anything else is an scp-like address or a local path.
const SCHEMES: &[&str] = &["ssh", "git", "git+ssh", "http", "https", "ftp", "ftps", "rsync", "file"];
/// What stands in the place of a credential.
const REDACTED: &str = "<redacted>";

/// The password that stands beside a token in the place of the user.
const TOKEN_PASSWORD: &str = "x-oauth-basic";

/// A user name and password taken out of an `http` URL, still percent-encoded as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credential {
    pub(super) user: String,
    pub(super) password: String,
}

impl Credential {
    /// The texts that must never be seen: as written and as decoded. Very short ones would garble every message, and are
    /// left to the rule for URLs.
    pub(super) fn secrets(&self) -> Vec<String> {
        let mut all = vec![self.password.clone(), decode(&self.password), encode(&decode(&self.password))];
        if self.password == TOKEN_PASSWORD || looks_like_token(&self.user) {
            all.push(self.user.clone());
        }
        all.retain(|secret| secret.len() > 2 && secret != TOKEN_PASSWORD);
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.dedup();
        all
    }

    /// The line by which git's credential store finds it for the URL without the password.
    pub(super) fn store_line(&self, clean_url: &str) -> String {
        let (scheme, rest) = clean_url.split_once("://").unwrap_or(("https", clean_url));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        let place = authority.rfind('@').map_or(rest, |at| &rest[at + 1..]);
        let [user, password] = [&self.user, &self.password].map(|text| encode(&decode(text)));
        format!("{scheme}://{user}:{password}@{place}\n")
    }
}

/// Decodes percent escapes as git does: what is no escape stands for itself.
fn decode(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        let digits = tail.get(..2).filter(|_| *byte == b'%').and_then(|d| std::str::from_utf8(d).ok());
        match digits.and_then(|d| u8::from_str_radix(d, 16).ok().filter(|_| !d.starts_with('+'))) {
            Some(value) => {
                out.push(value);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn encode(text: &str) -> String {
    let escape = |b: u8| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") };
    text.bytes().map(escape).collect()
}

/// The URL as it is shown in the API and in logs: no password, whatever the text looks like, and no access token in the
/// place of the user.
pub fn sanitise_url(url: &str) -> String {
    let clean = split_credential(url).0;
    match clean.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?))) {
        Some((scheme, (user, place))) if looks_like_token(user) => v1_url(&format!("{scheme}://{place}")),
        _ => v1_url(&clean),
    }
}

/// Access tokens are given as the user by some forges' own instructions, and are told by how they begin.
fn looks_like_token(user: &str) -> bool {
    const BEGINNINGS: &[&str] =
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "ATATT", "ATBB"];
    BEGINNINGS.iter().any(|beginning| user.starts_with(beginning))
}

/// The URL as Flux v1 printed it, for hashing into ownership marks only: for texts that are no valid URL it can contain a
/// password.
pub fn v1_url(url: &str) -> String {
    parse(url).print()
}

/// Whether two URLs name the same repository: same host and same path but for one leading `/` and one trailing `.git`.
/// The scheme and the user do not count.
pub fn equivalent(a: &str, b: &str) -> bool {
    let [a, b] = [parse(a), parse(b)];
    a.host == b.host && trim_path(&a.path) == trim_path(&b.path)
}

/// Takes passwords out of every URL in a text.
pub fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "/'\"<>|".contains(c)).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@').map(|(info, host)| (info.split_once(':'), info, host)) {
            Some((_, user, host)) if looks_like_token(user) => out.push_str(host),
            Some((Some((user, _)), _, host)) => out.push_str(&format!("{user}@{host}")),
            _ => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Takes passwords out of every URL in a text, and the given secrets wherever they stand.
pub(super) fn redact_all(text: &str, secrets: &[String]) -> String {
    let mut text = redact(text);
    for secret in secrets {
        text = text.replace(secret.as_str(), REDACTED);
    }
    text
}

/// Refuses URLs that would make git run a command, read an option, or cut a line in two.
///
/// # Errors
/// [`Error::Url`] with the reason.
pub fn check_url(url: &str) -> Result<(), Error> {
    let lower = url.to_ascii_lowercase();
    let reason = if url.chars().any(char::is_control) {
        "contains a control character"
    } else if url.starts_with('-') {
        "starts with `-`, which git would take for an option"
    } else if lower.starts_with("ext::") || lower.starts_with("fd::") {
        "names a transport that runs commands; use ssh, https or a path"
    } else if parse(url).host.starts_with(b"-") {
        "has a host that starts with `-`, which ssh would take for an option"
    } else {
        return Ok(());
    };
    Err(Error::Url { reason })
}

/// Takes the password out of a URL. The credential is given for `http` URLs alone; elsewhere a password has no use.
pub(super) fn split_credential(url: &str) -> (String, Option<Credential>) {
    let Some((scheme, rest)) = url.split_once("://") else { return (strip_scp_password(url), None) };
    let Some(at) = user_info_end(rest) else { return (url.to_owned(), None) };
    let (info, host) = (&rest[..at], &rest[at + 1..]);
    let (user, password) = match info.split_once(':') {
        Some(both) => both,
        None if looks_like_token(info) => (info, ""),
        None => return (url.to_owned(), None),
    };
    let is_http = ["http", "https"].contains(&scheme.to_ascii_lowercase().as_str());
    let credential = Credential { user: user.to_owned(), password: password.to_owned() };
    let is_secret = user.is_empty() || password == TOKEN_PASSWORD || looks_like_token(user);
    let clean = if is_http && is_secret { format!("{scheme}://{host}") } else { format!("{scheme}://{user}@{host}") };
    (clean, is_http.then_some(credential))
}

/// Where the user's part ends: at the last `@` of the authority, or of the whole text when a password with `/`, `?` or `#`
/// in it cut the authority short. A number after the colon is taken for a port unless `?` or `#` follows.
fn user_info_end(rest: &str) -> Option<usize> {
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    authority.rfind('@').or_else(|| {
        let (host, port) = authority.rsplit_once(':')?;
        let is_port = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let is_cut = !is_port || rest[authority.len()..].starts_with(['?', '#']);
        rest.rfind('@').filter(|_| is_cut && !host.starts_with('['))
    })
}

/// `user:password@host:path` is no form that git knows, but one that people write.
fn strip_scp_password(url: &str) -> String {
    let Some((user, rest)) = url.split_once(':') else { return url.to_owned() };
    match rest.split_once('@') {
        Some((password, host)) if !user.contains(['@', '/']) && !password.contains('/') => format!("{user}@{host}"),
        _ => url.to_owned(),
    }
}

fn parse(url: &str) -> Reference {
    Reference::parse(url)
        .filter(|u| SCHEMES.contains(&u.scheme.as_str()))
        .or_else(|| parse_scp(url))
        .unwrap_or_else(|| Reference::new("file", None, "", url, ""))
}

fn parse_scp(url: &str) -> Option<Reference> {
    let is_host = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let (place, rest) = url.split_once(':')?;
    let (user, host) = match place.split_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, place),
    };
    let is_user = user.is_none_or(|u| !u.is_empty() && u.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
    let end = rest.bytes().position(|b| !is_host(b) && b != b'/').unwrap_or(rest.len());
    let (path, query) = rest.split_at(end);
    if !is_user || host.is_empty() || !host.bytes().all(is_host) || path.is_empty() || query.contains('\n') {
        return None;
    }
    Some(Reference::new("ssh", user, host, path, query.strip_prefix('?').unwrap_or(query)))
}

fn trim_path(path: &[u8]) -> &[u8] {
    let path = path.strip_prefix(b"/").unwrap_or(path);
    path.strip_suffix(b".git").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urls_are_printed_as_flux_v1_did() {
        let table = [
            ("git@github.com:fluxcd/flux-get-started", "ssh://git@github.com/fluxcd/flux-get-started"),
            ("git@host:2222/path/repo", "ssh://git@host/2222/path/repo"),
            ("https://user:pw@example.com:5050/repo.git", "https://user@example.com:5050/repo.git"),
            ("/srv/git/repo.git", "file:///srv/git/repo.git"),
            ("git@ssh.dev.azure.com:v3/org/my%20proj/repo", "ssh://git@ssh.dev.azure.com/v3/org/my?%20proj/repo"),
            ("https://user:p%ass@example.com/x.git", "ssh://https//user?:p%ass@example.com/x.git"),
            ("", "file:"),
            ("relative/repo", "file://relative/repo"),
            ("host:path", "ssh://host/path"),
            ("host:path?a=b", "ssh://host/path?a=b"),
            ("SSH://git@Host/x", "ssh://git@Host/x"),
            ("git+ssh://git@host/x?ref=a#frag", "git+ssh://git@host/x?ref=a#frag"),
            ("https://example.com/a b", "https://example.com/a%20b"),
            ("https://example.com/a%2Fb/(c)", "https://example.com/a%2Fb/(c)"),
            ("https://us%40er:pw@example.com/x", "https://us%40er@example.com/x"),
            ("https://:pw@example.com/x", "https://@example.com/x"),
            ("https://[::1]:8080/x", "https://[::1]:8080/x"),
            ("/with space/ü", "file:///with%20space/%C3%BC"),
            ("ssh:opaque", "ssh:opaque"),
            ("file:/srv/x", "file:/srv/x"),
            ("ext::sh -c x", "file://ext::sh%20-c%20x"),
        ];
        for (url, printed) in table {
            assert_eq!(v1_url(url), printed, "{url}");
        }
    }

    #[test]
    fn what_is_shown_has_no_password_even_where_flux_v1_printed_it() {
        let table = [
            ("https://user:p%ass@example.com/x.git", "https://user@example.com/x.git"),
            ("https://user:p/ss@example.com/x.git", "https://user@example.com/x.git"),
            ("https://user:12#ss@example.com/x.git", "https://user@example.com/x.git"),
            ("https://user:pw@example.com/pkg@v1", "https://user@example.com/pkg@v1"),
            ("https://example.com:8080/pkg@v1", "https://example.com:8080/pkg@v1"),
            ("user:pw@host:path", "ssh://user@host/path"),
            ("git@host:a@b", "ssh://git@host/a?@b"),
            ("https://ghp_abc@github.com/x", "https://github.com/x"),
            ("https://abcdef:x-oauth-basic@github.com/x", "https://github.com/x"),
        ];
        for (url, shown) in table {
            assert_eq!(sanitise_url(url), shown, "{url}");
        }
    }

    #[test]
    fn the_same_repository_is_recognised_over_any_transport() {
        let url = "git@github.com:fluxcd/flux";
        for same in
            ["https://github.com/fluxcd/flux.git", "ssh://ann@github.com/fluxcd/flux", "github.com:/fluxcd/flux"]
        {
            assert!(equivalent(url, same), "{same}");
        }
        for other in
            ["https://github.com/fluxcd/flux2", "https://gitlab.com/fluxcd/flux", "git@github.com:fluxcd/flux/"]
        {
            assert!(!equivalent(url, other), "{other}");
        }
    }

    #[test]
    fn texts_lose_their_passwords_and_nothing_else() {
        let text = "fatal: unable to access 'https://u:pw@h/x/': 'ssh://git@h/y' http://h:80/@a (see https://a/b)";
        let clean = "fatal: unable to access 'https://u@h/x/': 'ssh://git@h/y' http://h:80/@a (see https://a/b)";
        assert_eq!(redact(text), clean);
        assert_eq!(redact("at https://ghp_abc:x@h/y"), "at https://h/y");
        assert_eq!(redact_all("token abc123 is bad", &["abc123".to_owned()]), "token <redacted> is bad");
    }

    #[test]
    fn git_gets_the_password_through_its_credential_store() {
        let table = [
            ("https://ann:p%40ss@h:1/x.git", "https://ann@h:1/x.git", "https://ann:p%40ss@h:1/x.git\n"),
            ("https://ann:p%ass@h/x", "https://ann@h/x", "https://ann:p%25ass@h/x\n"),
            ("http://:tok@h/x", "http://h/x", "http://:tok@h/x\n"),
        ];
        for (url, clean, line) in table {
            let (remote, credential) = split_credential(url);
            assert_eq!(remote, clean);
            assert_eq!(credential.map(|c| c.store_line(&remote)).as_deref(), Some(line));
        }
        assert_eq!(split_credential("ssh://git:pw@h/x"), ("ssh://git@h/x".to_owned(), None));
        assert_eq!(split_credential("https://token@h/x"), ("https://token@h/x".to_owned(), None));
    }

    proptest! {
        #[test]
        fn a_password_is_never_shown(user in "[a-z]{1,5}", password in "[ -~]{4,12}", path in "[a-z/]{0,8}") {
            // Without a capital it could be found in the text by chance; a number before `/` is a port.
            prop_assume!(password.bytes().any(|b| b.is_ascii_uppercase()));
            // An at-sign at once ends an empty password, and the rest is the host.
            prop_assume!(!password.starts_with('@'));
            let before_slash = password.split('/').next().and_then(|p| p.rsplit(':').next());
            prop_assume!(!before_slash.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit())));
            let url = format!("https://{user}:{password}@example.com/{path}");
            let (clean, credential) = split_credential(&url);
            prop_assert!(credential.is_some());
            prop_assert!(!clean.contains(&password), "{clean}");
            prop_assert!(!sanitise_url(&url).contains(&password));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text in ".{0,80}") {
            sanitise_url(&text);
            v1_url(&text);
            redact(&text);
            check_url(&text).ok();
            equivalent(&text, "a:b");
            split_credential(&text);
        }
    }
}
