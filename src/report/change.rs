//! What webhooks tell us: something changed in git or in an image registry (fluxd-v1 §8.4).

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::gojson::{DecodeError, Fields, first_value};

/// A notification that something changed outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Commits arrived in a repository.
    Git {
        /// The repository's URL.
        url: String,
        /// The branch.
        branch: String,
    },
    /// An image repository got a new tag.
    Image {
        /// The registry's host.
        domain: String,
        /// The repository's path.
        image: String,
    },
}

/// Reads a notification's body.
///
/// # Errors
/// When it is no JSON, a field has a wrong type, or the kind is neither `git` nor `image`.
pub fn decode_change(body: &[u8]) -> Result<Change, DecodeError> {
    let value = first_value(body)?;
    let top = Fields::of("change", &value)?;
    let kind = top.text("Kind")?;
    if matches!(kind.as_str(), "git" | "image") && !top.has("Source") {
        return Err(DecodeError::absent("Source"));
    }
    let source = top.fields("Source")?;
    match kind.as_str() {
        "git" => Ok(Change::Git { url: source.text("URL")?, branch: source.text("Branch")? }),
        "image" => {
            let name = source.fields("Name")?;
            Ok(Change::Image { domain: name.text("Domain")?, image: name.text("Image")? })
        }
        _ => Err(DecodeError::Value("unknown kind of change: expected \"git\" or \"image\"".into())),
    }
}

#[derive(Serialize)]
struct GitSource<'a> {
    #[serde(rename = "URL")]
    url: &'a str,
    #[serde(rename = "Branch")]
    branch: &'a str,
}

#[derive(Serialize)]
struct ImageSource<'a> {
    #[serde(rename = "Name")]
    name: ImageName<'a>,
}

#[derive(Serialize)]
struct ImageName<'a> {
    #[serde(rename = "Domain")]
    domain: &'a str,
    #[serde(rename = "Image")]
    image: &'a str,
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut out = s.serialize_struct("Change", 2)?;
        match self {
            Self::Git { url, branch } => {
                out.serialize_field("Kind", "git")?;
                out.serialize_field("Source", &GitSource { url, branch })?;
            }
            Self::Image { domain, image } => {
                out.serialize_field("Kind", "image")?;
                out.serialize_field("Source", &ImageSource { name: ImageName { domain, image } })?;
            }
        }
        out.end()
    }
}
