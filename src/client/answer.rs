//! What a client reads of v1's answers: only what it shows, and tolerant of what else is there, so that daemons of other
//! versions can be asked. The full types are `report`'s.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::Offset;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::object::ImageRef;

/// An element of a list with its text as the daemon wrote it, which `-o json` repeats.
#[derive(Clone, Debug)]
pub struct Raw<T> {
    /// The text.
    pub text: Box<RawValue>,
    /// What it says.
    pub value: T,
}

/// A list that may be `null`, which `-o json` repeats.
#[derive(Clone, Debug)]
pub struct List<T> {
    /// Whether it was `null`.
    pub null: bool,
    /// Its elements.
    pub items: Vec<Raw<T>>,
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let texts = Option::<Vec<Box<RawValue>>>::deserialize(d)?;
        let null = texts.is_none();
        let read = |text: Box<RawValue>| Ok(Raw { value: serde_json::from_str(text.get())?, text });
        let items = texts.unwrap_or_default().into_iter().map(read).collect::<Result<_, serde_json::Error>>();
        Ok(Self { null, items: items.map_err(serde::de::Error::custom)? })
    }
}

/// `null` reads as the empty value, as Go does it.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or_default())
}

/// An image and what is known of it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Image {
    /// The reference.
    #[serde(rename = "ID", default, deserialize_with = "or_default")]
    pub id: String,
    /// When it was built, RFC 3339 as written.
    #[serde(rename = "CreatedAt", default, deserialize_with = "or_default")]
    pub created: String,
}

impl Image {
    /// Name without tag and digest; what is no reference is a name.
    pub fn name(&self) -> String {
        self.id.parse::<ImageRef>().map_or_else(|_| self.id.clone(), |image| image.name.to_string())
    }

    /// The tag; empty when there is none, or a digest in its place.
    pub fn tag(&self) -> String {
        self.id.parse::<ImageRef>().map(|image| image.tag).unwrap_or_default()
    }

    /// When it was built, as Go's RFC 822 shows it; empty when it is not known.
    pub fn created(&self) -> String {
        let Ok(pieces) = jiff::fmt::temporal::DateTimeParser::new().parse_pieces(&self.created) else {
            return String::new();
        };
        let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
        let Ok(at) = self.created.parse::<Timestamp>() else { return String::new() };
        let local = offset.to_datetime(at);
        if local.year() <= 1 {
            return String::new(); // Go's zero time
        }
        let zone = if offset == Offset::UTC { "UTC".to_owned() } else { offset_text(offset) };
        format!("{} {zone}", local.strftime("%d %b %y %H:%M"))
    }
}

fn offset_text(offset: Offset) -> String {
    let minutes = offset.seconds() / 60;
    format!("{}{:02}{:02}", if minutes < 0 { '-' } else { '+' }, minutes.abs() / 60, minutes.abs() % 60)
}

/// A container in a list of workloads.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Container {
    /// Its name.
    #[serde(rename = "Name", default)]
    pub name: String,
    /// The image it runs.
    #[serde(rename = "Current", default)]
    pub current: Image,
}

/// Numbers of a roll-out.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Rollout {
    /// Pods wanted.
    #[serde(rename = "Desired")]
    pub desired: i64,
    /// Pods of the newest version.
    #[serde(rename = "Updated")]
    pub updated: i64,
    /// Pods ready.
    #[serde(rename = "Ready")]
    pub ready: i64,
    /// What is wrong; `None` when nothing is.
    #[serde(rename = "Messages")]
    pub messages: Option<Vec<String>>,
}

/// One workload of a list.
#[derive(Clone, Debug, Deserialize)]
pub struct Workload {
    /// Identity.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its containers.
    #[serde(rename = "Containers", default, deserialize_with = "or_default")]
    pub containers: Vec<Container>,
    /// Why it cannot be changed, empty when it can.
    #[serde(rename = "ReadOnly", default)]
    pub read_only: String,
    /// `ready`, `updating` and the like.
    #[serde(rename = "Status", default)]
    pub status: String,
    /// Numbers of its roll-out.
    #[serde(rename = "Rollout", default)]
    pub rollout: Rollout,
    /// Why it could not be applied.
    #[serde(rename = "SyncError", default)]
    pub sync_error: String,
    /// Policies that lists show.
    #[serde(rename = "Automated", default)]
    pub automated: bool,
    /// See `automated`.
    #[serde(rename = "Locked", default)]
    pub locked: bool,
    /// See `automated`.
    #[serde(rename = "Ignore", default)]
    pub ignore: bool,
    /// All policies.
    #[serde(rename = "Policies", default, deserialize_with = "or_default")]
    pub policies: BTreeMap<String, String>,
}

/// A container in a list of images.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ImageContainer {
    /// Its name.
    #[serde(rename = "Name", default)]
    pub name: String,
    /// The image it runs.
    #[serde(rename = "Current", default)]
    pub current: Image,
    /// All images there are, in its filter's order.
    #[serde(rename = "Available", default, deserialize_with = "or_default")]
    pub available: Vec<Image>,
    /// Why nothing is known.
    #[serde(rename = "AvailableError", default)]
    pub available_error: String,
    /// How many images its filter lets through.
    #[serde(rename = "FilteredImagesCount", default)]
    pub filtered: usize,
    /// How many of those are newer than the one it runs.
    #[serde(rename = "NewFilteredImagesCount", default)]
    pub newer: usize,
    /// The newest image its filter lets through.
    #[serde(rename = "LatestFiltered", default)]
    pub latest: Image,
}

/// One workload in a list of images.
#[derive(Clone, Debug, Deserialize)]
pub struct WorkloadImages {
    /// Identity.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its containers.
    #[serde(rename = "Containers", default, deserialize_with = "or_default")]
    pub containers: Vec<ImageContainer>,
}

/// One change of a result.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Change {
    /// The container.
    #[serde(rename = "Container", default)]
    pub container: String,
    /// The image it runs.
    #[serde(rename = "Current", default)]
    pub current: String,
    /// The image it gets.
    #[serde(rename = "Target", default)]
    pub target: String,
}

/// What became of one workload.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct WorkloadResult {
    /// `success`, `failed`, `skipped`, `ignored`, `unknown`.
    #[serde(rename = "Status", default)]
    pub status: String,
    /// Why.
    #[serde(rename = "Error", default)]
    pub error: String,
    /// Its containers' changes.
    #[serde(rename = "PerContainer", default, deserialize_with = "or_default")]
    pub containers: Vec<Change>,
}

/// What a job came to.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct JobResult {
    /// The commit, empty when there is none.
    #[serde(default)]
    pub revision: String,
    /// By workload; `None` when there was nothing to do.
    #[serde(default)]
    pub result: Option<BTreeMap<String, WorkloadResult>>,
}

/// Where a job stands.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Job {
    /// What it came to.
    #[serde(rename = "Result", default, deserialize_with = "or_default")]
    pub result: JobResult,
    /// Its error.
    #[serde(rename = "Err", default, deserialize_with = "or_default")]
    pub err: String,
    /// `queued`, `running`, `failed` or `succeeded`.
    #[serde(rename = "StatusString", default)]
    pub state: String,
}

/// Where the repository is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Remote {
    /// URL without password.
    pub url: String,
    /// Branch.
    pub branch: String,
    /// The paths.
    pub path: String,
}

/// A key's fingerprint.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Fingerprint {
    /// In hexadecimal with colons, or base64.
    pub hash: String,
    /// The picture.
    pub randomart: String,
}

/// The public deploy key.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct PublicKey {
    /// The line for `authorized_keys`.
    #[serde(default)]
    pub key: String,
    /// By algorithm.
    #[serde(default, deserialize_with = "or_default")]
    pub fingerprints: BTreeMap<String, Fingerprint>,
}

/// The repository's settings and state.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct GitConfig {
    /// Where it is.
    #[serde(default)]
    pub remote: Remote,
    /// The deploy key.
    #[serde(rename = "publicSSHKey", default)]
    pub key: PublicKey,
    /// `unconfigured`, `new`, `unreachable`, `cloned` or `ready`.
    #[serde(default)]
    pub status: String,
    /// The last error.
    #[serde(default)]
    pub errors: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(id: &str, created: &str) -> Image {
        Image { id: id.to_owned(), created: created.to_owned() }
    }

    #[test]
    fn references_come_apart_as_in_v1s_lists() {
        for (id, name, tag) in [
            ("x:3", "x", "3"),
            ("localhost:5000/x:5", "localhost:5000/x", "5"),
            ("localhost:5000/x", "localhost:5000/x", ""),
            ("a/b@sha256:00", "a/b", ""),
            ("a:b:c", "a:b:c", ""),
            ("", "", ""),
        ] {
            assert_eq!((image(id, "").name(), image(id, "").tag()), (name.to_owned(), tag.to_owned()), "{id}");
        }
    }

    #[test]
    fn times_are_shown_in_their_own_zone() {
        for (text, shown) in [
            ("2024-01-02T00:00:00Z", "02 Jan 24 00:00 UTC"),
            ("2019-12-31T23:59:59.5+02:00", "31 Dec 19 23:59 +0200"),
            ("2019-12-31T23:59:59-03:30", "31 Dec 19 23:59 -0330"),
            ("0001-01-01T00:00:00Z", ""),
            ("", ""),
        ] {
            assert_eq!(image("", text).created(), shown, "{text}");
        }
    }

    #[test]
    fn a_null_list_is_told_from_an_empty_one() {
        let null: List<Workload> = serde_json::from_str("null").unwrap();
        let empty: List<Workload> = serde_json::from_str("[]").unwrap();
        assert!(null.null && null.items.is_empty() && !empty.null);
    }
}
