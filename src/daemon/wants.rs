//! Which images are to be looked for, and with which credentials: what runs in the cluster, with the filters that git
//! gives it (fluxd-v1 §7.1).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, stream};

use crate::object::image::{CanonicalName, ImageRef};
use crate::object::{Object, ObjectId};
use crate::operator;
use crate::operator::reads::ImageUser;
use crate::registry::{Credentials, Want};
use crate::runtime::Stop;

use super::images::filter;
use super::shared::Shared;
use super::{live, snapshot};

/// How often the cluster is asked what runs in it.
const EVERY: Duration = Duration::from_secs(60);
/// Reads of accounts and secrets at once.
const READS: usize = 8;
/// Complaints that are remembered, so that each is logged once.
const TOLD: usize = 1000;

/// An object's namespace and name.
type Name = (String, String);

/// Tells the registry what to look for, each minute and after each sync that changed something, until stopped.
pub(super) async fn run(shared: &Shared, stop: &Stop) -> Result<(), operator::Error> {
    let mut complaints = Complaints::default();
    loop {
        match stop.or(collect(shared, &mut complaints)).await {
            None => return Ok(()),
            Some(Ok(wants)) => shared.registry.want(Arc::new(wants)),
            Some(Err(e)) => complaints.tell(&format!("reading the cluster's workloads for their images: {e}")),
        }
        tokio::select! {
            () = stop.stopped() => return Ok(()),
            () = tokio::time::sleep(EVERY) => {}
            () = shared.cluster_changed.notified() => {}
        }
    }
}

/// What was complained of, once each.
#[derive(Default)]
struct Complaints(HashSet<String>);

impl Complaints {
    fn tell(&mut self, text: &str) {
        if self.0.len() >= TOLD {
            self.0.clear();
        }
        if self.0.insert(text.to_owned()) {
            tracing::warn!(component = "cluster", err = text);
        }
    }
}

async fn collect(
    shared: &Shared,
    complaints: &mut Complaints,
) -> Result<BTreeMap<CanonicalName, Want>, operator::Error> {
    // Not knowing git means that nothing is automated yet; what runs can be looked for all the same.
    let in_git = shared.resources().await.map(|loaded| snapshot::by_id(shared, &loaded)).unwrap_or_default();
    let users = live::image_users(shared, &in_git).await?;
    let accounts =
        read_all(users.iter().map(|u| (u.namespace.clone(), u.service_account.clone())), |(ns, name)| async move {
            shared.reads.get_pull_secrets(&ns, &name).await.map_err(|e| format!("{e}"))
        });
    let accounts = settle("service account", accounts.await, complaints);
    let secrets = users.iter().flat_map(|user| secrets_of(user, &accounts));
    let secrets = read_all(secrets, |(ns, name)| async move { read_secret(shared, &ns, &name).await });
    let secrets = settle("image pull secret", secrets.await, complaints);
    Ok(assemble(&users, &accounts, &secrets, &in_git, complaints))
}

/// Reads each name once, several at a time.
async fn read_all<T, F: Future<Output = Result<T, String>>>(
    names: impl Iterator<Item = Name>,
    read: impl Fn(Name) -> F,
) -> Vec<(Name, Result<T, String>)> {
    let names: HashSet<Name> = names.collect();
    let reads: Vec<_> = names
        .into_iter()
        .map(|name| {
            let reading = read(name.clone());
            async move { (name, reading.await) }
        })
        .collect();
    stream::iter(reads).buffer_unordered(READS).collect().await
}

/// Keeps what could be read, and tells of the rest.
fn settle<T>(what: &str, read: Vec<(Name, Result<T, String>)>, complaints: &mut Complaints) -> HashMap<Name, T> {
    let mut good = HashMap::new();
    for (name, result) in read {
        match result {
            Ok(value) => drop(good.insert(name, value)),
            Err(e) => complaints.tell(&format!("{what} {}/{}: {e}", name.0, name.1)),
        }
    }
    good
}

async fn read_secret(shared: &Shared, namespace: &str, name: &str) -> Result<Credentials, String> {
    let secret = shared.reads.get_secret(namespace, name).await.map_err(|e| e.to_string())?;
    let secret = secret.ok_or("it does not exist")?;
    let key = match secret.kind.as_str() {
        "kubernetes.io/dockercfg" => ".dockercfg",
        "kubernetes.io/dockerconfigjson" => ".dockerconfigjson",
        other => return Err(format!("skipped: its type is {other:?}, not that of image credentials")),
    };
    let config = secret.data.get(key).ok_or_else(|| format!("it has no key {key}"))?;
    let provenance = format!("secret {namespace}:{name}");
    let (credentials, unusable) = Credentials::parse(config, &provenance).map_err(|e| e.to_string())?;
    if unusable.is_empty() || !credentials.is_empty() {
        for entry in unusable {
            tracing::debug!(component = "cluster", provenance, "an entry is left out: {entry}");
        }
        return Ok(credentials);
    }
    Err(format!("no entry can be used: {}", unusable.join("; ")))
}

/// The secrets of a workload's images: its service account's, then its own (fluxd-v1 §7.1).
fn secrets_of(user: &ImageUser, accounts: &HashMap<Name, Vec<String>>) -> Vec<Name> {
    let account = accounts.get(&(user.namespace.clone(), user.service_account.clone()));
    let names = account.into_iter().flatten().chain(&user.pull_secrets);
    names.map(|name| (user.namespace.clone(), name.clone())).collect()
}

fn assemble(
    users: &[ImageUser],
    accounts: &HashMap<Name, Vec<String>>,
    secrets: &HashMap<Name, Credentials>,
    in_git: &HashMap<ObjectId, Arc<Object>>,
    complaints: &mut Complaints,
) -> BTreeMap<CanonicalName, Want> {
    let mut wants: BTreeMap<CanonicalName, Want> = BTreeMap::new();
    for user in users {
        let policies = in_git.get(&user.workload.id).map(|object| object.policies());
        let automated = policies.is_some_and(|p| p.is_set("automated"));
        let containers = match &user.workload.containers {
            Ok(containers) => containers,
            Err(excuse) => {
                complaints.tell(&format!("{}: {excuse}", user.workload.id));
                continue;
            }
        };
        for container in containers {
            let Ok(image) = container.image.parse::<ImageRef>() else { continue };
            let want = wants.entry(image.canonical()).or_default();
            add(if automated { &mut want.patterns } else { &mut want.others }, filter(policies, &container.name));
            add(&mut want.names, image.name.clone());
            add(&mut want.current, image.tag.clone());
            want.automated |= automated;
            for secret in secrets_of(user, accounts) {
                if let Some(credentials) = secrets.get(&secret) {
                    want.credentials.merge(credentials);
                }
            }
        }
    }
    wants
}

fn add<T: PartialEq>(list: &mut Vec<T>, one: T) {
    if !list.contains(&one) {
        list.push(one);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::Origin;
    use crate::object::pattern::Pattern;
    use crate::report::Workload;

    fn user(kind: &str, name: &str, image: &str, pull_secrets: &[&str]) -> ImageUser {
        let pod = json!({"containers": [{"name": "main", "image": image}]});
        let live =
            json!({"kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": {"template": {"spec": pod}}});
        ImageUser {
            workload: Workload::from_live(&live).unwrap(),
            namespace: "shop".into(),
            service_account: "default".into(),
            pull_secrets: pull_secrets.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    fn login(host: &str, user: &str) -> Credentials {
        let auth = json!({"auths": {host: {"username": user, "password": "pw"}}}).to_string();
        Credentials::parse(auth.as_bytes(), user).unwrap().0
    }

    fn at(name: &str) -> Name {
        ("shop".to_owned(), name.to_owned())
    }

    #[test]
    fn workloads_that_share_an_image_share_what_is_wanted_of_it() {
        let annotations = json!({"fluxcd.io/automated": "true", "fluxcd.io/tag.main": "semver:~1"});
        let meta = json!({"name": "web", "namespace": "shop", "annotations": annotations});
        let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta});
        let origin = Origin { file: "web.yaml".into(), line: 1, generated: false };
        let object = Arc::new(Object::new(&manifest, origin).unwrap());
        let in_git = HashMap::from([("shop:deployment/web".parse().unwrap(), object)]);
        let users = [
            user("Deployment", "web", "nginx:1.2", &[]),
            user("DaemonSet", "agent", "docker.io/library/nginx:1.3", &["own", "gone"]),
            user("StatefulSet", "broken", "a:b:c", &[]),
        ];
        let accounts = HashMap::from([(at("default"), vec!["of-account".to_owned()])]);
        let secrets =
            HashMap::from([(at("of-account"), login("quay.io", "account")), (at("own"), login("docker.io", "own"))]);
        let mut complaints = Complaints::default();

        let wants = assemble(&users, &accounts, &secrets, &in_git, &mut complaints);

        let (name, want) = wants.iter().next().unwrap();
        assert_eq!((wants.len(), name.to_string().as_str()), (1, "index.docker.io/library/nginx"));
        let shown = |patterns: &[Pattern]| patterns.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!((shown(&want.patterns), want.automated), (vec!["semver:~1".to_owned()], true));
        assert_eq!(shown(&want.others), ["glob:*"], "no choice waits for what nobody automated");
        let names: Vec<String> = want.names.iter().map(ToString::to_string).collect();
        assert_eq!(
            (names.as_slice(), &want.current),
            (["nginx".into(), "docker.io/library/nginx".into()].as_slice(), &vec!["1.2".into(), "1.3".into()])
        );
        assert!(want.credentials.get("quay.io").is_some() && want.credentials.get("index.docker.io").is_some());
        assert_eq!(complaints.0.len(), 1, "the broken image is told of once: {:?}", complaints.0);
    }
}
