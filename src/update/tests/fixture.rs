//! Workloads, live and in git, and repositories, made of short texts. Every table of the room begins with one.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::object::ObjectId;
use crate::object::image::ImageRef;
use crate::registry::{Info, RepositoryView};
use crate::report::Workload;
use crate::update::{GitWorkload, Images, World};

/// A world that grows by calls.
#[derive(Default)]
pub(in crate::update) struct Fixture {
    pub(in crate::update) git: BTreeMap<ObjectId, GitWorkload>,
    pub(in crate::update) cluster: BTreeMap<ObjectId, Workload>,
    pub(in crate::update) images: Images,
}

fn object(name: &str, containers: &[(&str, &str)], annotations: &[(&str, &str)]) -> Value {
    let containers: Vec<_> = containers.iter().map(|(name, image)| json!({"name": name, "image": image})).collect();
    let annotations: Map<String, Value> = annotations.iter().map(|(k, v)| ((*k).to_owned(), json!(v))).collect();
    json!({
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations},
        "spec": {"template": {"spec": {"containers": containers}}},
    })
}

/// The identity `shop:deployment/⟨name⟩`.
pub(in crate::update) fn id(name: &str) -> ObjectId {
    ObjectId::new(Some("shop"), "Deployment", name)
}

impl Fixture {
    /// A workload in git only.
    pub(in crate::update) fn git(
        mut self,
        name: &str,
        containers: &[(&str, &str)],
        annotations: &[(&str, &str)],
    ) -> Self {
        self.git.insert(id(name), GitWorkload::new(id(name), &object(name, containers, annotations)));
        self
    }

    /// A live workload.
    pub(in crate::update) fn live(
        mut self,
        name: &str,
        containers: &[(&str, &str)],
        annotations: &[(&str, &str)],
    ) -> Self {
        self.cluster.insert(id(name), Workload::from_live(&object(name, containers, annotations)).unwrap());
        self
    }

    /// A workload that is live just as it is in git.
    pub(in crate::update) fn both(self, name: &str, containers: &[(&str, &str)], annotations: &[(&str, &str)]) -> Self {
        self.git(name, containers, annotations).live(name, containers, annotations)
    }

    /// A repository with tags and the seconds at which their images were made: 0 for an image without a time, negative for
    /// one of which nothing is known. The digest of each is `sha256:⟨seconds⟩`.
    pub(in crate::update) fn repository(mut self, name: &str, tags: &[(&str, i64)]) -> Self {
        let mut view = RepositoryView::default();
        for (tag, seconds) in tags {
            view.tags.push((*tag).to_owned());
            if *seconds >= 0 {
                view.images.insert((*tag).to_owned(), info(tag, *seconds));
            }
        }
        self.images.insert(name.parse::<ImageRef>().unwrap().canonical(), Arc::new(view));
        self
    }

    pub(in crate::update) fn world(&self) -> World<'_> {
        World { git: &self.git, cluster: &self.cluster, images: &self.images }
    }
}

fn info(tag: &str, seconds: i64) -> Info {
    let digest = format!("sha256:{seconds}");
    Info {
        tag: tag.to_owned(),
        digest: digest.clone(),
        pinned: digest,
        image_id: String::new(),
        labels: Default::default(),
        created: (seconds > 0).then(|| Timestamp::from_second(seconds).unwrap()),
        last_fetched: Timestamp::UNIX_EPOCH,
    }
}
