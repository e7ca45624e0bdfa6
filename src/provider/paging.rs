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

/// Watches over the pages of one listing.
pub(super) struct Guard {
    operation: String,
    what: &'static str,
    seen: HashSet<String>,
    pages: usize,
}

impl Guard {
    /// Begins a listing that is paged by numbers or addresses.
    pub(super) fn pages(operation: &str) -> Self {
        Self { operation: operation.to_owned(), what: "page", seen: HashSet::new(), pages: 1 }
    }

    /// Begins a listing that is paged by tokens.
    pub(super) fn tokens(operation: &str) -> Self {
        Self { what: "continuation token", ..Self::pages(operation) }
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
        if take(reply.json()?).is_break() {
            return Ok(());
        }
        let refuse = |reason| Error::Answer { url: wire::shown(&call.url), reason };
        let Some(url) = next(&call.url, &reply.headers).map_err(refuse)? else { return Ok(()) };
        guard.advance(url.as_str())?;
        call.url = url;
    }
}

/// By the `Link` header, which must stay at the host.
pub(super) fn by_link(url: &Url, headers: &HeaderMap) -> Result<Option<Url>, String> {
    match headers.get("link").and_then(|value| value.to_str().ok()) {
        Some(link) => crate::registry::protocol::next_page(url, link),
        None => Ok(None),
    }
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
