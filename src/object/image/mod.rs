//! Image references as Flux v1 reads, compares and writes them (fluxd-v1 §3.8). No registry is asked anything here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Where images without a domain are kept.
const DOCKER_HUB: &str = "index.docker.io";
/// Docker Hub's other name, which means the same.
const DOCKER_HUB_ALIAS: &str = "docker.io";
/// What separates a name from the only kind of digest that v1 knows.
const DIGEST_MARK: &str = "@sha256:";

/// The name of an image repository as somebody spelled it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageName {
    /// Host and port; empty when none was written.
    pub domain: String,
    /// All behind the domain.
    pub path: String,
}

/// The one name that all spellings of an image repository share: `alpine`, `docker.io/alpine` and
/// `index.docker.io/library/alpine` are the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CanonicalName {
    /// Host and port, never empty.
    pub domain: String,
    /// All behind the domain; at Docker Hub never a single word.
    pub path: String,
}

/// A reference to an image. The default is the empty reference, which stands for an image that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageRef {
    /// The repository's name as spelled.
    pub name: ImageName,
    /// The tag; empty when there is none.
    pub tag: String,
    /// The digest with its algorithm (`sha256:…`).
    pub digest: Option<String>,
}

/// A text that is no image reference, in v1's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Nothing was given.
    #[error("parsing \"\": blank image name: invalid image ID")]
    Blank,
    /// A slash at the beginning or at the end, or nothing before or behind a colon.
    #[error("parsing {0:?}: expected image name as either <image>:<tag> or just <image>: invalid image ID")]
    Malformed(String),
    /// Too many colons. v1 does not quote the text in this case (errata 2).
    #[error("expected image name as either <image>:<tag> or just <image>: invalid image ID")]
    Colons,
}

impl ImageName {
    /// The name that all spellings share.
    pub fn canonical(&self) -> CanonicalName {
        if !matches!(self.domain.as_str(), "" | DOCKER_HUB | DOCKER_HUB_ALIAS) {
            return CanonicalName { domain: self.domain.clone(), path: self.path.clone() };
        }
        let path = if self.path.contains('/') { self.path.clone() } else { format!("library/{}", self.path) };
        CanonicalName { domain: DOCKER_HUB.to_owned(), path }
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.domain.is_empty() {
            write!(f, "{}/", self.domain)?;
        }
        f.write_str(&self.path)
    }
}

impl fmt::Display for CanonicalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.domain, self.path)
    }
}

impl ImageRef {
    /// The repository's name that all spellings share.
    pub fn canonical(&self) -> CanonicalName {
        self.name.canonical()
    }

    /// Whether this is the empty reference of an image that cannot be read.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same repository, spelled the same, with another tag and without a digest.
    pub fn with_tag(&self, tag: impl Into<String>) -> Self {
        Self { name: self.name.clone(), tag: tag.into(), digest: None }
    }

    /// The same reference with a digest (`sha256:…`), or with none.
    pub fn with_digest(&self, digest: Option<String>) -> Self {
        Self { digest, ..self.clone() }
    }

    /// All of it: `name:tag@digest`. [`Display`](fmt::Display) drops the tag of a reference with a digest, as v1 does.
    pub fn full(&self) -> String {
        format!("{}{}", self.name, self.suffix())
    }

    /// What stands behind the name: `:tag@digest`, either part or both possibly absent.
    pub fn suffix(&self) -> String {
        let tag = if self.tag.is_empty() { String::new() } else { format!(":{}", self.tag) };
        let digest = self.digest.as_ref().map(|d| format!("@{d}")).unwrap_or_default();
        tag + &digest
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.digest {
            Some(digest) => write!(f, "{}@{digest}", self.name),
            None if self.tag.is_empty() => write!(f, "{}", self.name),
            None => write!(f, "{}:{}", self.name, self.tag),
        }
    }
}

impl FromStr for ImageRef {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        if text.is_empty() {
            return Err(ImageError::Blank);
        }
        let malformed = || ImageError::Malformed(text.to_owned());
        if text.starts_with('/') || text.ends_with('/') {
            return Err(malformed());
        }
        let (named, digest) = match text.split_once(DIGEST_MARK) {
            Some((named, hex)) if !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
                (named, Some(format!("{}{hex}", &DIGEST_MARK[1..])))
            }
            Some(_) => return Err(malformed()),
            None => (text, None),
        };
        let (domain, rest) = split_domain(named);
        let (path, tag) = rest.split_once(':').map_or((rest, None), |(path, tag)| (path, Some(tag)));
        if tag.is_some_and(|tag| tag.contains(':')) {
            return Err(ImageError::Colons);
        }
        if path.is_empty() || tag.is_some_and(str::is_empty) {
            return Err(malformed());
        }
        let name = ImageName { domain: domain.to_owned(), path: path.to_owned() };
        Ok(Self { name, tag: tag.unwrap_or_default().to_owned(), digest })
    }
}

/// The first of three or more elements is always a domain; the first of two only when it looks like a host. So
/// `host:5000/img` is the image `host` with the tag `5000/img`, as in v1.
fn split_domain(named: &str) -> (&str, &str) {
    match named.split_once('/') {
        Some((first, rest)) if rest.contains('/') || looks_like_host(first) => (first, rest),
        Some(_) | None => ("", named),
    }
}

/// Whether `localhost` or a dotted host occurs anywhere in the text.
fn looks_like_host(text: &str) -> bool {
    let dotted = text.as_bytes().windows(3);
    text.contains("localhost")
        || dotted.into_iter().any(|w| w[1] == b'.' && w[0].is_ascii_alphanumeric() && w[2].is_ascii_alphanumeric())
}

impl Serialize for ImageRef {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ImageRef {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
