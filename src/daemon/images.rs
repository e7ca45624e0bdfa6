//! Lists of images: what each container runs, and what its repository has (fluxd-v1 §8.3).

use std::collections::HashMap;
use std::sync::Arc;

use crate::object::image::ImageRef;
use crate::object::pattern::{Candidate, Pattern};
use crate::object::{Object, ObjectId, Policies};
use crate::registry::{Info, RepositoryView};
use crate::report::{ALL_WORKLOADS, ApiError, ImageContainer, ImageInfo, ImageStatus, Workload};
use crate::source::git;

use super::shared::{ResourcesError, Shared};
use super::{live, snapshot};

pub(super) async fn list(
    shared: &Shared,
    workload: &str,
    namespace: &str,
    fields: &[String],
) -> Result<Vec<ImageStatus>, ApiError> {
    let untyped = |e: &dyn std::fmt::Display| ApiError::untyped(e.to_string());
    // A field that nobody knows is told of, however many containers there are.
    ImageContainer::default().with_fields(fields).map_err(|e| untyped(&e))?;
    let is_one = !workload.is_empty() && workload != ALL_WORKLOADS;
    if is_one && !namespace.is_empty() {
        return Err(untyped(&"cannot filter by 'namespace' and 'workload' at the same time"));
    }
    let named = || workload.parse().map_err(|e| untyped(&format!("treating workload spec as ID: {e}")));
    let one: Option<ObjectId> = is_one.then(named).transpose()?;
    // Until git is ready, images are listed without its filters, as in v1.
    let in_git = match shared.resources().await {
        Ok(loaded) => snapshot::by_id(shared, &loaded),
        Err(ResourcesError::Repo(git::Error::Unconfigured | git::Error::NotReady(_))) => HashMap::new(),
        Err(e) => return Err(e.into()),
    };
    let workloads = match one {
        Some(id) => live::some(shared, &[id], &in_git).await.map(|found| found.into_values().collect()),
        None => live::all(shared, Some(namespace).filter(|n| !n.is_empty()), &in_git).await,
    };
    let workloads: Vec<Workload> = workloads.map_err(|e| untyped(&e))?;
    workloads.iter().map(|w| status(shared, w, &in_git, fields)).collect()
}

fn status(
    shared: &Shared,
    workload: &Workload,
    in_git: &HashMap<ObjectId, Arc<Object>>,
    fields: &[String],
) -> Result<ImageStatus, ApiError> {
    let policies = in_git.get(&workload.id).map(|object| object.policies());
    let mut containers = Vec::new();
    for container in workload.containers.iter().flatten() {
        let Ok(current) = container.image.parse::<ImageRef>() else { continue };
        let view = shared.registry.repository(&current.canonical()).ok();
        let shown = describe(&container.name, &current, view.as_deref(), &filter(policies, &container.name));
        containers.push(shown.with_fields(fields).map_err(|e| ApiError::untyped(e.to_string()))?);
    }
    Ok(ImageStatus { id: workload.id.clone(), containers })
}

/// The tag filter of a container (fluxd-v1 §3.6).
pub(super) fn filter(policies: Option<&Policies>, container: &str) -> Pattern {
    let text = policies.and_then(|p| p.get(&format!("tag.{container}")));
    text.map(Pattern::parse).unwrap_or_default()
}

/// One container with what is known of its repository; nothing when the repository was never read.
fn describe(name: &str, current: &ImageRef, view: Option<&RepositoryView>, pattern: &Pattern) -> ImageContainer {
    let nothing = RepositoryView::default();
    let view = view.unwrap_or(&nothing);
    let known = |tag: &str| view.images.get(tag);
    let created = |tag: &str| known(tag).and_then(|info| info.created);
    let order = |a: &str, b: &str| {
        pattern.newer(&Candidate { tag: a, created: created(a) }, &Candidate { tag: b, created: created(b) })
    };
    let mut tags: Vec<&str> = view.tags.iter().map(String::as_str).collect();
    tags.sort_by(|a, b| order(a, b));
    let running = known(&current.tag);
    // Of an image that is not known, nothing is known that others could be older than.
    let at = running.map_or("", |info| info.tag.as_str());
    let newer = |tags: &[&str]| tags.iter().take_while(|tag| order(tag, at).is_lt()).count();
    let filtered: Vec<&str> = tags.iter().copied().filter(|tag| pattern.admits(tag)).collect();
    let shown = |tag: &str| match known(tag) {
        Some(info) => shown(&current.with_tag(tag), info),
        // v1's form of a tag of which nothing else is known.
        None => ImageInfo::named(format!(":{tag}")),
    };
    ImageContainer {
        name: name.to_owned(),
        current: running.map(|_| shown(&current.tag)).unwrap_or_default(),
        latest_filtered: filtered.first().map(|tag| shown(tag)).unwrap_or_default(),
        available: tags.iter().map(|tag| shown(tag)).collect(),
        available_error: String::new(),
        available_count: tags.len(),
        new_available_count: newer(&tags),
        filtered_count: filtered.len(),
        new_filtered_count: newer(&filtered),
    }
}

fn shown(reference: &ImageRef, info: &Info) -> ImageInfo {
    let labels = [
        ("org.opencontainers.image.created", info.labels.created),
        ("org.label-schema.build-date", info.labels.build_date),
    ];
    ImageInfo {
        id: reference.to_string(),
        digest: info.digest.clone(),
        image_id: info.image_id.clone(),
        labels: labels.into_iter().filter_map(|(key, time)| Some((key.to_owned(), time?.to_string()))).collect(),
        created_at: info.created,
        last_fetched: Some(info.last_fetched),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;

    use super::*;
    use crate::registry::Labels;

    /// A repository whose tags were made in the order given.
    fn view(tags: &[&str]) -> RepositoryView {
        let info = |(hour, tag): (usize, &&str)| {
            let created = Timestamp::from_second(3600 * i64::try_from(hour).unwrap()).unwrap();
            let info = Info {
                tag: (*tag).to_owned(),
                digest: String::new(),
                pinned: String::new(),
                image_id: String::new(),
                labels: Labels::default(),
                created: Some(created),
                last_fetched: created,
            };
            ((*tag).to_owned(), info)
        };
        let images: BTreeMap<_, _> = tags.iter().enumerate().map(info).collect();
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        RepositoryView { tags, images, ..RepositoryView::default() }
    }

    fn described(current: &str, tags: &[&str], pattern: &str) -> ImageContainer {
        describe("c", &current.parse().unwrap(), Some(&view(tags)), &Pattern::parse(pattern))
    }

    fn counts(of: &ImageContainer) -> [usize; 4] {
        [of.available_count, of.new_available_count, of.filtered_count, of.new_filtered_count]
    }

    #[test]
    fn what_is_newer_is_counted_with_and_without_the_filter() {
        for (current, tags, pattern, latest, want) in [
            ("example.org/web:1", &["1", "2", "latest"][..], "glob:*", "example.org/web:2", [3, 2, 2, 1]),
            ("example.org/web:2", &["1", "2"][..], "glob:*", "example.org/web:2", [2, 0, 2, 0]),
            // by version, 1.2 is newer than 1.10 never mind when they were made
            ("web:1.9", &["1.10", "1.9", "1.2"][..], "semver:^1", "web:1.10", [3, 1, 3, 1]),
            ("web:1", &["1", "dev"][..], "glob:prod-*", "", [2, 1, 0, 0]),
            // nothing is known of the one that runs, so all are newer
            ("web:9", &["1", "2"][..], "glob:*", "web:2", [2, 2, 2, 2]),
        ] {
            let seen = described(current, tags, pattern);
            assert_eq!(
                (seen.latest_filtered.id.as_str(), counts(&seen)),
                (latest, want),
                "{current} {tags:?} {pattern}"
            );
        }
    }

    #[test]
    fn a_tag_without_metadata_is_shown_without_a_name() {
        let mut repository = view(&["1", "2"]);
        repository.images.remove("1");
        let seen = describe("c", &"web:1".parse().unwrap(), Some(&repository), &Pattern::default());
        let ids: Vec<&str> = seen.available.iter().map(|info| info.id.as_str()).collect();
        assert_eq!((ids, seen.current), (vec!["web:2", ":1"], ImageInfo::default()));
    }

    #[test]
    fn a_repository_that_was_never_read_has_nothing() {
        let seen = describe("c", &"web:1".parse().unwrap(), None, &Pattern::default());
        assert_eq!(seen, ImageContainer { name: "c".into(), ..ImageContainer::default() });
    }
}
