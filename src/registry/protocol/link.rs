//! `Link` headers (RFC 8288) as registries page their tags with: relative or absolute, with opaque cursors.

use url::Url;

/// Finds the next page that a `Link` header names.
///
/// # Errors
/// When the page is at another host, which is not followed: the request would carry this registry's credentials.
pub fn next_page(current: &Url, header: &str) -> Result<Option<Url>, String> {
    let Some(target) = target(header) else { return Ok(None) };
    let next = current.join(target).map_err(|e| format!("the next page's address cannot be read: {e}"))?;
    let same = next.scheme() == current.scheme()
        && next.host() == current.host()
        && next.port_or_known_default() == current.port_or_known_default();
    if !same {
        let host = next.host_str().unwrap_or("nowhere");
        return Err(format!("the next page is said to be at {host}; pages at another host are not followed"));
    }
    if next == *current {
        return Err("the next page is said to be this page".to_owned());
    }
    Ok(Some(next))
}

/// The target of the first link whose relation is `next`, or that names no relation at all.
fn target(header: &str) -> Option<&str> {
    let mut rest = header;
    while let Some(start) = rest.find('<') {
        let inner = &rest[start + 1..];
        let end = inner.find('>')?;
        let (target, behind) = (&inner[..end], &inner[end + 1..]);
        let parameters = &behind[..behind.find('<').unwrap_or(behind.len())];
        if is_next(parameters) {
            return Some(target);
        }
        rest = behind;
    }
    None
}

fn is_next(parameters: &str) -> bool {
    let mut relations = parameters.split([';', ',']).filter_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("rel").then(|| value.trim().trim_matches('"'))
    });
    relations.next().is_none_or(|rel| rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("next")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_followed_within_their_host_only() {
        let here = Url::parse("https://quay.io/v2/a/b/tags/list?n=50").unwrap();
        for (header, want) in [
            (
                r#"</v2/a/b/tags/list?last=x&n=50>; rel="next""#,
                Ok(Some("https://quay.io/v2/a/b/tags/list?last=x&n=50")),
            ),
            (
                r#"<https://quay.io/v2/a/b/tags/list?next_page=gAAAA%3D>; rel=next"#,
                Ok(Some("https://quay.io/v2/a/b/tags/list?next_page=gAAAA%3D")),
            ),
            (r#"<https://quay.io:443/x>"#, Ok(Some("https://quay.io/x"))),
            (r#"<?last=y>; rel="next""#, Ok(Some("https://quay.io/v2/a/b/tags/list?last=y"))),
            (r#"</p>; rel="prev", </n>; rel="next""#, Ok(Some("https://quay.io/n"))),
            (r#"</p>; rel="prev""#, Ok(None)),
            ("", Ok(None)),
            ("<no end", Ok(None)),
            (r#"<https://evil.example/x>; rel="next""#, Err("evil.example")),
            (r#"<http://quay.io/x>; rel="next""#, Err("another host")),
            (r#"<https://quay.io:444/x>; rel="next""#, Err("another host")),
            (r#"<//evil.example/x>; rel="next""#, Err("evil.example")),
            (r#"<?n=50>; rel="next""#, Err("this page")),
        ] {
            match (next_page(&here, header), want) {
                (Ok(found), Ok(want)) => assert_eq!(found.as_ref().map(Url::as_str), want, "{header}"),
                (Err(refusal), Err(want)) => assert!(refusal.contains(want), "{header}: {refusal}"),
                (found, _) => panic!("{header}: {found:?}"),
            }
        }
    }
}
