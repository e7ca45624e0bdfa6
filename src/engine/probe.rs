//! A look at objects that are wanted and do not carry our mark yet: they may exist, and ask to be ignored, or belong to
//! kubectl or to another daemon.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures::StreamExt as _;
use tokio::time::Instant;

use crate::cluster::{Cluster, ErrorKind, KindInfo, LiveObject, RequestError};
use crate::object::{Ignore, Key};
use crate::plan::{Candidate, Target};

/// Up to so many objects of a kind and namespace are read one by one; more are read by one list.
const SINGLE: usize = 3;

/// What was seen.
#[derive(Default)]
pub(super) struct Probed {
    /// Objects that exist.
    pub(super) found: HashMap<Key, LiveObject>,
    /// Objects that could not be read, with the reason.
    pub(super) failed: HashMap<Key, String>,
}

type Group<'a> = (Arc<KindInfo>, Option<&'a str>, Vec<&'a Key>);

/// Looks at all candidates that are not in the live index.
pub(super) async fn probe(cluster: &Cluster, candidates: &[Candidate], concurrency: usize, until: Instant) -> Probed {
    let fresh: Vec<&Target> = candidates.iter().filter_map(|c| is_fresh(cluster, c)).collect();
    let mut probed = Probed::default();
    let (namespaces, others): (Vec<_>, Vec<_>) = fresh.into_iter().partition(|t| is_namespace(&t.key));
    let wanted: HashSet<&str> = namespaces.iter().map(|t| t.key.name.as_str()).collect();
    look(cluster, &namespaces, concurrency, until, &mut probed).await;
    let absent: HashSet<&str> = wanted
        .into_iter()
        .filter(|name| {
            let key = Key { group: String::new(), kind: "Namespace".into(), namespace: None, name: (*name).into() };
            !probed.found.contains_key(&key) && !probed.failed.contains_key(&key)
        })
        .collect();
    let others: Vec<&Target> =
        others.into_iter().filter(|t| t.key.namespace.as_deref().is_none_or(|n| !absent.contains(n))).collect();
    look(cluster, &others, concurrency, until, &mut probed).await;
    probed
}

fn is_namespace(key: &Key) -> bool {
    key.group.is_empty() && key.kind == "Namespace"
}

fn is_fresh<'a>(cluster: &Cluster, candidate: &'a Candidate) -> Option<&'a Target> {
    let Candidate::Known(target) = candidate else { return None };
    let ignored = target.want.as_ref().is_none_or(|w| w.object.policies().ignore() == Some(Ignore::Always));
    (!ignored && cluster.live().get(&target.key).is_none()).then_some(target.as_ref())
}

async fn look(cluster: &Cluster, targets: &[&Target], concurrency: usize, until: Instant, probed: &mut Probed) {
    let kinds = cluster.kinds();
    let mut groups: BTreeMap<(&crate::object::Gvk, Option<&str>), Group<'_>> = BTreeMap::new();
    for target in targets {
        // A kind that is not served yet has no objects.
        let Ok(kind) = kinds.resolve(&target.gvk) else { continue };
        let namespace = target.key.namespace.as_deref();
        let group = groups.entry((&target.gvk, namespace)).or_insert_with(|| (Arc::clone(kind), namespace, Vec::new()));
        group.2.push(&target.key);
    }
    let mut singles = Vec::new();
    let mut lists = Vec::new();
    for (kind, namespace, keys) in groups.into_values() {
        if keys.len() > SINGLE && kind.can("list") {
            lists.push((kind, namespace, keys));
        } else if kind.can("get") {
            singles.extend(keys.into_iter().map(|key| (Arc::clone(&kind), key)));
        }
    }
    // The futures are made first: a closure that lives across an await keeps the compiler from seeing that all is `Send`.
    let gets = singles.into_iter().map(|(kind, key)| async move { (key, cluster.read_meta(&kind, key, until).await) });
    let gets: Vec<_> = gets.collect();
    let gets: Vec<_> = futures::stream::iter(gets).buffer_unordered(concurrency.max(1)).collect().await;
    for (key, answer) in gets {
        note(probed, &[key], answer.map(|found| found.into_iter().collect()));
    }
    let lists = lists
        .into_iter()
        .map(|(kind, namespace, keys)| async move { (keys, cluster.list_meta(&kind, namespace, until).await) });
    let lists: Vec<_> = lists.collect();
    let lists: Vec<_> = futures::stream::iter(lists).buffer_unordered(concurrency.clamp(1, 8)).collect().await;
    for (keys, answer) in lists {
        note(probed, &keys, answer);
    }
}

/// What we may not read, we know nothing of: Flux v1 went on as well (fluxd-v1 §5.7).
fn note(probed: &mut Probed, keys: &[&Key], answer: Result<Vec<LiveObject>, RequestError>) {
    match answer {
        Ok(objects) => {
            let wanted: HashSet<&Key> = keys.iter().copied().collect();
            let found = objects.into_iter().map(|o| (o.key(), o)).filter(|(key, _)| wanted.contains(key));
            probed.found.extend(found);
        }
        Err(e) if matches!(e.kind(), ErrorKind::Forbidden | ErrorKind::KindMissing | ErrorKind::NotFound) => {}
        Err(e) => {
            let reason = format!("could not be read before its first apply: {e}");
            probed.failed.extend(keys.iter().map(|key| ((*key).clone(), reason.clone())));
        }
    }
}
