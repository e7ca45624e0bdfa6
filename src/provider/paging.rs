//! Listings page by page, until there are no more or enough was found. A page that fails, comes again or is one too many
//! makes an error, never a shorter list (resourceset §8.5).

use std::collections::HashSet;
use std::ops::ControlFlow;

use http::HeaderMap;
use serde::de::DeserializeOwned;
use url::Url;

use super::wire::{Call, Wire};
use super::{Error, wire};

/// Pages of one listing.
const PAGES: usize = 1_000;
/// Bytes of all pages of one listing: twenty times what a thousand pages of a hundred short records have.
const BYTES: usize = 256 << 20;

/// Watches over the pages of one listing.
pub(super) struct Guard {
    operation: String,
    what: &'static str,
    seen: HashSet<String>,
    pages: usize,
    bytes: usize,
}

impl Guard {
    /// Begins a listing that is paged by numbers or addresses.
    pub(super) fn pages(operation: &str) -> Self {
        Self { operation: operation.to_owned(), what: "page", seen: HashSet::new(), pages: 1, bytes: 0 }
    }

    /// Begins a listing that is paged by tokens.
    pub(super) fn tokens(operation: &str) -> Self {
        Self { what: "continuation token", ..Self::pages(operation) }
    }

    /// Counts a page that was read.
    pub(super) fn read(&mut self, bytes: usize) -> Result<(), Error> {
        self.bytes += bytes;
        if self.bytes > BYTES {
            return Err(Error::Said(format!("{} pagination exceeds maximum of {BYTES} bytes", self.operation)));
        }
        Ok(())
    }

    /// Goes on to another page, named by its number, address or token.
    pub(super) fn advance(&mut self, page: &str) -> Result<(), Error> {
        let operation = &self.operation;
        if !self.seen.insert(page.to_owned()) {
            return Err(Error::Said(format!("{operation} pagination returned a repeated {}", self.what)));
        }
        self.pages += 1;
        if self.pages > PAGES {
            return Err(Error::Said(format!("{operation} pagination exceeds maximum of {PAGES} pages")));
        }
        Ok(())
    }
}

/// Finds the next page by the answer to this one.
pub(super) type Next = fn(&Url, &HeaderMap) -> Result<Option<Url>, String>;

/// Reads pages until there are no more, or `take` has enough.
pub(super) async fn read_pages<P: DeserializeOwned>(
    wire: &Wire,
    first: Call,
    next: Next,
    mut guard: Guard,
    mut take: impl FnMut(P) -> ControlFlow<()>,
) -> Result<(), Error> {
    let mut call = first.header("accept", "application/json");
    guard.seen.insert(call.url.to_string());
    loop {
        let reply = wire.send(call.clone()).await?.ok()?;
        guard.read(reply.body.len())?;
        if take(reply.json()?).is_break() {
            return Ok(());
        }
        let refuse = |reason| Error::Answer { url: wire::shown(&call.url), reason };
        let Some(url) = next(&call.url, &reply.headers).map_err(refuse)? else { return Ok(()) };
        guard.advance(url.as_str())?;
        call.url = url;
    }
}

/// By the `Link` header. Hosts write it with the address by which they know themselves, which need not be the one that they
/// are reached by: then the number of its page counts, and the request stays where it was. A header that cannot be read is
/// an error, because it may stand for more pages.
pub(super) fn by_link(url: &Url, headers: &HeaderMap) -> Result<Option<Url>, String> {
    for value in headers.get_all("link") {
        let unreadable = || "expected a 'Link' header with addresses in angle brackets".to_owned();
        let link = value.to_str().map_err(|_| unreadable())?;
        match link_target(link, "next") {
            Some(target) => return elsewhere_or_here(url, target).map(Some),
            None if link.contains("next") && link_target(link, "").is_none() => return Err(unreadable()),
            None => {}
        }
    }
    Ok(None)
}

fn elsewhere_or_here(url: &Url, target: &str) -> Result<Url, String> {
    let next = url.join(target).map_err(|e| format!("the next page's address cannot be read: {e}"))?;
    if next.origin() == url.origin() {
        return Ok(next);
    }
    let page = next.query_pairs().find_map(|(key, value)| (key == "page").then(|| value.into_owned()));
    let host = next.host_str().unwrap_or("nowhere").to_owned();
    let page = page.filter(|page| !page.is_empty() && page.bytes().all(|b| b.is_ascii_digit()));
    let page = page.ok_or_else(|| format!("the next page is said to be at {host}, without its number"))?;
    Ok(with_parameter(url, "page", &page))
}

/// The target of the first link with this relation, or of the first of all.
fn link_target<'a>(header: &'a str, relation: &str) -> Option<&'a str> {
    let mut rest = header;
    while let Some((_, behind)) = rest.split_once('<') {
        let (target, behind) = behind.split_once('>')?;
        let parameters = behind.split('<').next().unwrap_or_default();
        let relations = parameters.split([';', ',']).filter_map(|part| part.trim().strip_prefix("rel="));
        let mut words = relations.flat_map(|value| value.trim_matches('"').split_ascii_whitespace());
        if relation.is_empty() || words.any(|word| word.eq_ignore_ascii_case(relation)) {
            return Some(target);
        }
        rest = behind;
    }
    None
}

/// By the number in `X-Next-Page`.
pub(super) fn by_number(url: &Url, headers: &HeaderMap) -> Result<Option<Url>, String> {
    Ok(text(headers, "x-next-page").map(|page| with_parameter(url, "page", page)))
}

/// By the token in `X-MS-ContinuationToken`.
pub(super) fn by_token(url: &Url, headers: &HeaderMap) -> Result<Option<Url>, String> {
    Ok(text(headers, "x-ms-continuationtoken").map(|token| with_parameter(url, "continuationToken", token)))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty())
}

/// A URL whose query says this of a parameter, instead of what it said before.
pub(super) fn with_parameter(url: &Url, name: &str, value: &str) -> Url {
    let mut other = url.clone();
    let kept: Vec<(String, String)> =
        url.query_pairs().filter(|(key, _)| key != name).map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
    other.query_pairs_mut().clear().extend_pairs(kept).append_pair(name, value);
    other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_where_the_host_was_reached_whatever_it_calls_itself() {
        let here: Url = "http://gitea.svc:3000/api/v1/repos/a/b/pulls?state=open&limit=100".parse().unwrap();
        let own = "http://gitea.svc:3000/api/v1/repos/a/b/pulls?state=open&limit=100&page=2";
        for (headers, want) in [
            (&[r#"</api/v1/x?page=2>; rel="next""#][..], Ok(Some("http://gitea.svc:3000/api/v1/x?page=2"))),
            (
                &[r#"<https://git.example/api/v1/x?page=2&limit=50>; rel="next",<https://git.example/y>; rel="last""#],
                Ok(Some(own)),
            ),
            (&[r#"<https://evil.example/x?after=abc>; rel="next""#], Err("evil.example, without its number")),
            (&[r#"<https://evil.example/x?page=http>; rel="next""#], Err("evil.example, without its number")),
            // the relation may come second, and in a header of its own
            (&[r#"</p>; rel="prev""#, r#"</n>; title="x"; rel="next""#], Ok(Some("http://gitea.svc:3000/n"))),
            (&[r#"</p>; rel="prev""#], Ok(None)),
            (&[], Ok(None)),
            // what cannot be read is not the end
            (&["<no end; rel=next"], Err("angle brackets")),
        ] {
            let mut given = HeaderMap::new();
            for value in headers {
                given.append("link", value.parse().unwrap());
            }
            match (by_link(&here, &given), want) {
                (Ok(found), Ok(want)) => assert_eq!(found.as_ref().map(Url::as_str), want, "{headers:?}"),
                (Err(refusal), Err(want)) => assert!(refusal.contains(want), "{headers:?}: {refusal}"),
                (found, _) => panic!("{headers:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn all_pages_together_are_bounded() {
        let mut guard = Guard::pages("tags");
        (0..25).for_each(|_| guard.read(10 << 20).unwrap());
        let refusal = guard.read(10 << 20).unwrap_err().to_string();
        assert_eq!(refusal, "tags pagination exceeds maximum of 268435456 bytes");
    }
}
