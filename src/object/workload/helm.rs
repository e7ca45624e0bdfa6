//! The images in a HelmRelease's values: found by the usual names of fields, or where annotations say (fluxd-v1 §3.7).

use std::collections::BTreeMap;

use serde_json::Value;

use super::path::{Field, Step};
use super::{Place, Slot};

/// The name of the container that the top level of the values describes.
const CHART_IMAGE: &str = "chart-image";
/// Prefixes of the annotations that say where the parts of an image are.
const MAPPED: [&str; 3] = ["repository.fluxcd.io/", "registry.fluxcd.io/", "tag.fluxcd.io/"];

/// The containers: the top level's first, the others by name; what annotations say wins over what was found.
pub(super) fn slots(object: &Value) -> Vec<Slot> {
    let base = [Step::key("spec"), Step::key("values")];
    let values = &object["spec"]["values"];
    let mut places = BTreeMap::new();
    for (key, value) in values.as_object().into_iter().flatten() {
        let path = [&base[..], &[Step::key(key)]].concat();
        if let Some(place) = place(value, &path) {
            places.insert(key.clone(), place);
        }
    }
    if let Some(place) = place(values, &base) {
        places.insert(CHART_IMAGE.to_owned(), place);
    }
    places.extend(mapped(object, values, &base));
    let mut slots: Vec<Slot> = places
        .into_iter()
        .filter_map(|(name, place)| Some(Slot { name, image: Ok(place.reference().ok()?), place }))
        .collect();
    slots.sort_by_key(|slot| slot.name != CHART_IMAGE);
    slots
}

/// An image described by a mapping's `image` (a text or a mapping with `repository`), `registry` and `tag`.
fn place(map: &Value, path: &[Step]) -> Option<Place> {
    let (map, path, name) = match map.get("image")? {
        Value::String(_) => (map, path.to_vec(), "image"),
        inner @ Value::Object(_) => (inner, [path, &[Step::key("image")]].concat(), "repository"),
        _ => return None,
    };
    let repository = Field::string(map, &path, name)?;
    Some(Place { registry: Field::string(map, &path, "registry"), repository, tag: tag(map, &path) })
}

/// The tag's field. A number is not read as a tag, as in v1, but it is replaced by the next tag: otherwise the chart would
/// put both behind the name.
fn tag(map: &Value, path: &[Step]) -> Option<Field> {
    match map.get("tag")? {
        Value::Number(_) => Some(Field { path: [path, &[Step::key("tag")]].concat(), text: None }),
        _ => Field::string(map, path, "tag"),
    }
}

/// The images that annotations map; each path must lead to a string.
fn mapped(object: &Value, values: &Value, base: &[Step]) -> BTreeMap<String, Place> {
    let annotations = &object["metadata"]["annotations"];
    let aliases = annotations.as_object().into_iter().flatten().filter_map(|(key, _)| key.strip_prefix(MAPPED[0]));
    let place = |alias: &str| {
        let [repository, registry, tag] = MAPPED.map(|prefix| {
            let path = annotations.get(format!("{prefix}{alias}"))?.as_str()?;
            Some(Field::at(values, base, path, false))
        });
        Some(Place { repository: repository??, registry: whole(registry)?, tag: whole(tag)? })
    };
    aliases.filter_map(|alias| Some((alias.to_owned(), place(alias)?))).collect()
}

/// A part that is not asked for is fine, one that leads nowhere is not.
fn whole(part: Option<Option<Field>>) -> Option<Option<Field>> {
    match part {
        None => Some(None),
        Some(None) => None,
        Some(field) => Some(field),
    }
}
