//! Images whose place an annotation declares: `images.fluxd.io/⟨alias⟩: spec.path.to.image`. Any object becomes a workload
//! by it. The path's keys are joined with dots, numbers count the items of a list; a second path behind a comma is that of
//! the tag, where the resource keeps it apart.

use serde_json::Value;

use super::path::Field;
use super::{Place, Slot};

/// What such an annotation begins with.
const PREFIX: &str = "images.fluxd.io/";

fn declarations(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let annotations = object["metadata"]["annotations"].as_object().into_iter().flatten();
    annotations.filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?, value.as_str()?)))
}

/// Whether the JSON of an object may declare an image: a quick look that spares parsing most objects.
pub fn may_declare(json: &[u8]) -> bool {
    json.windows(PREFIX.len()).any(|text| text == PREFIX.as_bytes())
}

/// Whether an object declares an image.
pub(super) fn any(object: &Value) -> bool {
    declarations(object).next().is_some()
}

/// The declared images, by alias. A path that leads to no string makes no container.
pub(super) fn slots(object: &Value) -> Vec<Slot> {
    let mut found: Vec<Slot> = declarations(object).filter_map(|(alias, paths)| slot(object, alias, paths)).collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn slot(object: &Value, alias: &str, paths: &str) -> Option<Slot> {
    let (image, tag) = paths.split_once(',').map_or((paths, None), |(image, tag)| (image, Some(tag)));
    let field = |path: &str| Field::at(object, &[], path.trim(), true);
    let tag = match tag {
        Some(tag) => Some(field(tag)?),
        None => None,
    };
    let place = Place { registry: None, repository: field(image)?, tag };
    Some(Slot { name: alias.to_owned(), image: place.reference(), place })
}
