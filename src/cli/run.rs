//! The daemon's life, from settings to the last log line: what is connected to what, in one place.
//!
//! Start order is Flux v1's (fluxd-v1 §1.3). A failure before the loops run is fatal; afterwards each part keeps itself
//! going, and one that ends unasked ends the process.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::daemon::{Daemon, Handle, Parts, open_key_ring};
use crate::generate::{Generator, OnRun};
use crate::operator::{Operator, reads::Reads};
use crate::registry::{self, Observation, Observe, Registry};
use crate::report::{ImageWork, Metrics};
use crate::runtime::{Stop, TaskError, TaskFailure, Tasks, Workplace, process, scoped};
use crate::serve::{Leader, Probes, Server, upstream::Upstream};
use crate::source::git::{KeyRing, Repo, SshSettings, Verify, import_gpg_keys, sanitise_url};

use super::connect::{self, Connection};
use super::controllers::{self, Cluster};
use super::ending::{DRAIN, Reason, signals};
use super::environment::Environment;
use super::leader::{Release, elect};
use super::settings::{Settings, is_http};
use super::watchdog;

/// The name of the HTTP server's task; its failure ends the process like a signal (fluxd-v1 §1.3).
const HTTP: &str = "http";

/// Runs the daemon until a signal or a failure.
pub(super) async fn run(mut settings: Settings, env: &Environment) -> Result<(), TaskError> {
    let (stop, reason) = (Stop::new(), Reason::default());
    let tasks = Tasks::new(stop.clone());
    let _signals = scoped(signals(stop.clone(), Arc::clone(&reason))?);
    own_orphans(&tasks, &stop);
    let _working = open_workplace(&mut settings);
    let trust = settings.git.verify != Verify::None;
    for failure in import_gpg_keys(&settings.gpg_keys, trust, &settings.git.env, &stop).await {
        tracing::error!(err = %failure, "failed to import GPG key(s)");
    }
    let release = match stop.or(connect(&mut settings, env, &stop)).await {
        Some(connected) => start(settings, connected?, &tasks, &stop)?,
        None => None,
    };
    let ended = tasks.join(DRAIN).await;
    if let Some((release, election)) = release {
        // Only now, with every writer ended, may another replica begin.
        release.stop();
        tokio::time::timeout(Duration::from_secs(2), election).await.ok();
    }
    conclude(ended, &reason)
}

/// The directory for the working copies of generators, gone when dropped. What a killed process left of them is removed.
fn open_workplace(settings: &mut Settings) -> Option<Workplace> {
    let parent = settings.generate.scratch.clone()?;
    let opened = Workplace::open(&parent, "fluxd-working");
    if let Err(error) = &opened {
        tracing::warn!(%error, path = %parent.display(), "a killed process may leave working copies of generators behind");
    }
    let place = opened.ok()?;
    settings.generate.scratch = Some(place.path().to_owned());
    Some(place)
}

/// Logs why the process ends and decides whether that is a failure.
fn conclude(ended: Result<(), TaskFailure>, reason: &Reason) -> Result<(), TaskError> {
    match ended {
        Ok(()) => {
            tracing::info!(exiting = reason.get().copied().unwrap_or("stopped"));
            tracing::info!(component = "sync-loop", stopping = true);
            Ok(())
        }
        Err(TaskFailure::Failed { name: HTTP, source }) => {
            tracing::info!(exiting = %source);
            tracing::info!(component = "sync-loop", stopping = true);
            Ok(())
        }
        // A part that does not end in time after a signal was cut off; the signal is still why the process ends.
        Err(overdue @ TaskFailure::Overdue { .. }) => {
            tracing::warn!(exiting = reason.get().copied().unwrap_or("stopped"), "{overdue}");
            Ok(())
        }
        Err(failure) => {
            tracing::error!(exiting = %failure);
            Err(failure.into())
        }
    }
}

/// What generators leave behind becomes ours, and is ended.
fn own_orphans(tasks: &Tasks, stop: &Stop) {
    if let Err(error) = process::become_subreaper() {
        tracing::warn!(%error, "processes that generators leave behind may escape");
    }
    let stop = stop.clone();
    tasks.spawn("reaper", async move { Ok(process::reap_orphans(stop).await?) });
}

/// A cluster that answered, and the deploy key kept in it.
struct Connected {
    client: kube::Client,
    config: kube::Config,
    reads: Reads,
    keys: Option<KeyRing>,
    metrics: Arc<Metrics>,
    registry: Registry,
}

/// Connects to the cluster and learns from it what the settings still lack.
async fn connect(settings: &mut Settings, env: &Environment, stop: &Stop) -> Result<Connected, TaskError> {
    let connection = connect::connect(settings.kube_config.as_deref(), env).await?;
    let Connection { client, config } = connection;
    let reads = Reads::new(client.clone(), settings.operator.allow_namespaces.clone(), "fluxd");
    // Users rely on the crash loop at bootstrap when the API server cannot be reached.
    let version = reads.server_version().await?;
    let keys = open_keys(settings, &reads, env, stop).await?;
    tracing::info!(
        component = "cluster",
        host = config.cluster_url.to_string(),
        version = format!("kubernetes-{version}")
    );
    match reads.ping().await {
        Ok(()) => tracing::info!(component = "cluster", ping = true),
        Err(error) => tracing::error!(component = "cluster", ping = false, err = %error),
    }
    if settings.operator.default_namespace.is_empty() {
        let namespace = connect::fallback_namespace(env)?;
        settings.operator.default_namespace.clone_from(&namespace);
        settings.daemon.default_namespace = namespace;
    }
    if let Some(namespace) = env.own_namespace.as_deref().filter(|_| env.in_cluster) {
        let secret = &settings.daemon.secret_name;
        settings.operator.self_objects = reads.own_objects(namespace, &env.pod_name(), secret).await;
    }
    let metrics = Arc::new(Metrics::new(&settings.daemon.version)?);
    let registry = Registry::new(registry_settings(settings.registry.clone(), &metrics))?;
    if settings.require_ecr {
        registry.check_ecr().await?;
    }
    Ok(Connected { client, config, reads, keys, metrics, registry })
}

/// In a cluster, a repository over ssh is reached with the deploy key of our secret; elsewhere, and over http, with what
/// the user has set up.
async fn open_keys(
    settings: &mut Settings,
    reads: &Reads,
    env: &Environment,
    stop: &Stop,
) -> Result<Option<KeyRing>, TaskError> {
    let (url, namespace) = (&settings.git.url, env.own_namespace.clone());
    let Some(namespace) = namespace.filter(|_| env.in_cluster && !is_http(url)) else { return Ok(None) };
    let at = (namespace, settings.daemon.secret_name.clone());
    let ring = open_key_ring(settings.deploy_key.clone(), reads.clone(), at, stop).await?;
    let of_user = |name| env.home().map(|home| home.join(".ssh").join(name));
    settings.git.ssh = Some(SshSettings {
        identities: ring.identities(),
        known_hosts: of_user("known_hosts").into_iter().collect(),
        config: of_user("config"),
    });
    Ok(Some(ring))
}

/// Puts the parts together and starts them.
fn start(settings: Settings, connected: Connected, tasks: &Tasks, stop: &Stop) -> Result<Option<Release>, TaskError> {
    summarise(&settings);
    let Connected { client, config, reads, keys, metrics, registry } = connected;
    let (repo, bound) = (Repo::new(settings.git), settings.operator.deadline);
    let (commands, requests, counted) = (Arc::clone(&metrics), Arc::clone(&metrics), Arc::clone(&metrics));
    let on_run = OnRun(Arc::new(move |took, success| commands.generator(took, success)));
    let generator = Generator::new(settings.generate).on_run(on_run);
    let images = registry.clone();
    let parts = Parts { settings: settings.daemon, repo: repo.clone(), generator, reads, registry, metrics, keys };
    let (daemon, handle) = Daemon::new(parts);
    let mut operator = Operator::new(daemon, settings.operator, client.clone())
        .on_request(Arc::new(move |verb, status| requests.api_request(verb, status)));
    handle.attach(operator.handle());
    let (mut release, mut leader, mut leading) = (None, None, None);
    if let Some(election) = settings.leader_election {
        let running = elect(election, client);
        operator = operator.with_leadership(running.leading.clone());
        (release, leader, leading) = (Some(running.release), Some(running.leader), Some(running.leading));
    }
    if let Some(common) = settings.controllers {
        controllers::start(common, Cluster { config, metrics: counted, leading }, tasks, stop)?;
    }
    let probes = Probes::default();
    let token = || stop.clone();
    let (mirror, head, jobs, sync, http) = (token(), token(), token(), token(), token());
    tasks.spawn("watchdog", watchdog::run(operator.handle(), probes.clone(), bound, token()));
    if let Some(upstream) = settings.upstream {
        connect_upstream(Upstream::new(upstream, handle.clone()), leader.clone(), tasks, stop);
    } else {
        tracing::info!(upstream = "no upstream URL given");
    }
    let (api, address) = (handle.clone(), settings.serve);
    tasks.spawn(HTTP, async move {
        let server = Server::bind(&address, api, probes).await?;
        let server = match leader {
            Some(leader) => server.forwarding(leader)?,
            None => server,
        };
        Ok(server.run(http).await?)
    });
    tasks.spawn("git mirror", async move { Ok(repo.run(mirror).await?) });
    let watched = handle.clone();
    tasks.spawn("head", async move { Ok(Daemon::watch_head(watched, head).await?) });
    let (scan, wanted, wants) = (token(), handle.clone(), token());
    tasks.spawn("image scan", async move { images.run(scan).await });
    let (automatic, automation) = (handle.clone(), token());
    tasks.spawn("automation", async move { Ok(automatic.automate(automation).await?) });
    tasks.spawn("image wants", async move { Ok(wanted.watch_images(wants).await?) });
    tasks.spawn("jobs", async move { Ok(handle.run_jobs(jobs).await?) });
    tasks.spawn("sync loop", async move { Ok(operator.run(sync).await?) });
    Ok(release)
}

/// Lets the upstream service in, where replicas are elected through the leader.
fn connect_upstream(upstream: Upstream<Handle>, leader: Option<watch::Receiver<Leader>>, tasks: &Tasks, stop: &Stop) {
    let upstream = match leader {
        Some(leader) => upstream.leading(leader),
        None => upstream,
    };
    let stop = stop.clone();
    tasks.spawn("upstream", async move { Ok(upstream.run(stop).await?) });
}

/// What scanning is told, with a hook that counts what it does.
fn registry_settings(settings: registry::Settings, metrics: &Arc<Metrics>) -> registry::Settings {
    let metrics = Arc::clone(metrics);
    let observe = Observe(Arc::new(move |what, took, success| metrics.images(word_of(what), took, success)));
    registry::Settings { observe: Some(observe), ..settings }
}

/// One line with what matters most (fluxd-v1 §1.3).
fn summarise(settings: &Settings) {
    let git = &settings.git;
    tracing::info!(
        url = sanitise_url(&git.url),
        user = git.user,
        email = git.email,
        "signing-key" = git.signing_key.as_deref().unwrap_or_default(),
        "verify-signatures-mode" = verify_mode(git.verify),
        "sync-tag" = git.sync_tag,
        state = format!("{:?}", settings.daemon.marker).to_lowercase(),
        readonly = git.readonly,
        "registry-disable-scanning" = !settings.daemon.scanning,
        "notes-ref" = git.notes_ref,
        "set-author" = git.set_author,
        "git-secret" = git.git_secret,
        sops = settings.generate.sops.is_some(),
    );
}

fn word_of(what: Observation) -> ImageWork {
    match what {
        Observation::Fetch => ImageWork::Fetch,
        Observation::Tags => ImageWork::Tags,
        Observation::Metadata => ImageWork::Metadata,
        Observation::CacheGet => ImageWork::CacheGet,
        Observation::CacheSet => ImageWork::CacheSet,
    }
}

fn verify_mode(verify: Verify) -> &'static str {
    match verify {
        Verify::None => "none",
        Verify::All => "all",
        Verify::FirstParent => "first-parent",
    }
}
