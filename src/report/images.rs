//! The answers of `list-images`, with v1's exact JSON (fluxd-v1 §8.3). Values only; who fills them is elsewhere.

use serde::Serialize;

use super::types::{ImageInfo, null_when_empty};
use crate::object::ObjectId;

/// The images that one workload runs and could run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImageStatus {
    /// The workload.
    #[serde(rename = "ID")]
    pub id: ObjectId,
    /// Its containers; `null` when there are none.
    #[serde(rename = "Containers", serialize_with = "null_when_empty")]
    pub containers: Vec<ImageContainer>,
}

/// The images of one container. What is zero or was not asked for is left out, but for the two images.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImageContainer {
    /// The container's name.
    #[serde(rename = "Name", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What is known of the image it runs; zero when nothing is.
    #[serde(rename = "Current")]
    pub current: ImageInfo,
    /// The newest image that its filter lets through; zero when there is none.
    #[serde(rename = "LatestFiltered")]
    pub latest_filtered: ImageInfo,
    /// All images of the repository, newest first by its filter's order.
    #[serde(rename = "Available", skip_serializing_if = "Vec::is_empty")]
    pub available: Vec<ImageInfo>,
    /// Why nothing is known of the repository.
    #[serde(rename = "AvailableError", skip_serializing_if = "String::is_empty")]
    pub available_error: String,
    /// How many there are.
    #[serde(rename = "AvailableImagesCount", skip_serializing_if = "is_zero")]
    pub available_count: usize,
    /// How many of them are newer than the one it runs.
    #[serde(rename = "NewAvailableImagesCount", skip_serializing_if = "is_zero")]
    pub new_available_count: usize,
    /// How many its filter lets through.
    #[serde(rename = "FilteredImagesCount", skip_serializing_if = "is_zero")]
    pub filtered_count: usize,
    /// How many of those are newer than the one it runs.
    #[serde(rename = "NewFilteredImagesCount", skip_serializing_if = "is_zero")]
    pub new_filtered_count: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A field of [`ImageContainer`] that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is an invalid field")]
pub struct UnknownField(pub String);

impl ImageContainer {
    /// Leaves the named fields, or all when none is named.
    ///
    /// # Errors
    /// [`UnknownField`], in the order given.
    pub fn with_fields(self, fields: &[String]) -> Result<Self, UnknownField> {
        if fields.is_empty() {
            return Ok(self);
        }
        let mut some = Self::default();
        let from = self;
        for field in fields {
            match field.as_str() {
                "Name" => some.name.clone_from(&from.name),
                "Current" => some.current.clone_from(&from.current),
                "LatestFiltered" => some.latest_filtered.clone_from(&from.latest_filtered),
                "Available" => some.available.clone_from(&from.available),
                "AvailableError" => some.available_error.clone_from(&from.available_error),
                "AvailableImagesCount" => some.available_count = from.available_count,
                "NewAvailableImagesCount" => some.new_available_count = from.new_available_count,
                "FilteredImagesCount" => some.filtered_count = from.filtered_count,
                "NewFilteredImagesCount" => some.new_filtered_count = from.new_filtered_count,
                other => return Err(UnknownField(other.to_owned())),
            }
        }
        Ok(some)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container() -> ImageContainer {
        ImageContainer {
            name: "web".into(),
            current: ImageInfo::named("example.org/web:1"),
            available: vec![ImageInfo::named("example.org/web:2"), ImageInfo::named("example.org/web:1")],
            available_count: 2,
            new_available_count: 1,
            ..ImageContainer::default()
        }
    }

    #[test]
    fn a_container_without_images_shows_its_name_and_two_zero_images() {
        let bare = ImageContainer { name: "web".into(), ..ImageContainer::default() };
        let zero = json!({"ID": "", "Labels": {}});
        assert_eq!(json!(bare), json!({"Name": "web", "Current": zero, "LatestFiltered": zero}));
    }

    #[test]
    fn only_the_fields_asked_for_are_shown() {
        let some = container().with_fields(&["Name".into(), "NewAvailableImagesCount".into()]).unwrap();
        let zero = json!({"ID": "", "Labels": {}});
        let want = json!({"Name": "web", "Current": zero, "LatestFiltered": zero, "NewAvailableImagesCount": 1});
        assert_eq!(json!(some), want);
        assert_eq!(container().with_fields(&[]).unwrap(), container());
    }

    #[test]
    fn a_field_that_nobody_knows_is_named() {
        let error = container().with_fields(&["Name".into(), "Nmae".into()]).unwrap_err();
        assert_eq!(error.to_string(), "Nmae is an invalid field");
    }

    #[test]
    fn a_workload_without_containers_shows_null() {
        let status = ImageStatus { id: "a:deployment/b".parse().unwrap(), containers: Vec::new() };
        assert_eq!(json!(status), json!({"ID": "a:deployment/b", "Containers": null}));
    }
}
