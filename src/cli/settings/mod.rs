//! From flags and environment to checked settings, in one function and in Flux v1's order (fluxd-v1 §1.3), so that of
//! two mistakes the one is told that v1 told.
//!
//! It reads no files but keys, and starts nothing. What needs the cluster (the fallback namespace) is filled in later.

mod api;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::generate::{self, LoadErrors, sops::SopsKeys};
use crate::object::{Glob, SyncSet};
use crate::operator::{self, Budget, Drift, Gc, Identity};
use crate::runtime::process::Sandbox;
use crate::source::git::{self, KeySettings, Verify};
use crate::{daemon, daemon::MarkerStore, registry, serve};

mod images;

pub(super) use images::reach;

use super::environment::Environment;
use super::flags::Given;
use super::{controllers, leader};

/// Settings that cannot be used; the process exits with code 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct SettingsError(pub(super) String);

/// Something to log once at start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// A setting is not what the user may think.
    Warning(String),
    /// A setting follows from others.
    Info(String),
    /// `--git-label` replaced another flag's value.
    Overridden { flag: &'static str, value: String },
}

/// Leader election, when asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaderElection {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) identity: String,
}

/// All settings of the daemon. The rooms' own settings are complete but for the default namespace, when it is empty.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) serve: serve::Settings,
    /// The upstream service, if there is one.
    pub(super) upstream: Option<serve::upstream::Settings>,
    pub(super) kube_config: Option<PathBuf>,
    pub(super) git: git::Settings,
    pub(super) gpg_keys: Vec<PathBuf>,
    /// How the deploy key is found or made; it is not needed for repositories over HTTP.
    pub(super) deploy_key: KeySettings,
    pub(super) generate: generate::Settings,
    pub(super) operator: operator::Settings,
    pub(super) daemon: daemon::Settings,
    pub(super) registry: registry::Settings,
    /// Whether ECR must be usable.
    pub(super) require_ecr: bool,
    pub(super) leader_election: Option<LeaderElection>,
    /// The controllers, when they run beside the git loop.
    pub(super) controllers: Option<controllers::Common>,
}

/// Checks flags and environment. What is to be logged goes to `notices`, also when an error follows.
pub(super) fn build(flags: &Given, env: &Environment, notices: &mut Vec<Notice>) -> Result<Settings, SettingsError> {
    let effectless = flags.without_effect().into_iter();
    notices.extend(effectless.map(|(name, why)| Notice::Warning(format!("--{name} has no effect: {why}"))));
    let marker = marker_store(flags, env, notices);
    let verify = verify(flags)?;
    let (sync_tag, notes_ref) = tag_and_notes(flags, notices);
    let paths = git_paths(flags)?;
    let deploy_key = deploy_key(flags, env, notices);
    check_requirements(flags)?;
    warn_of_missing_keys(flags, notices);
    let marker = marker?;
    let mut git = git(flags, env);
    (git.verify, git.sync_tag, git.notes_ref, git.paths) = (verify, sync_tag, notes_ref, paths);
    let generate = generate(flags, env, &git.paths)?;
    let operator = operator(flags, env, &git)?;
    let mut daemon = daemon(flags, env, &git, (marker, &operator));
    daemon.automation_interval = images::automation_interval(flags, notices);
    Ok(Settings {
        serve: api::settings(flags)?,
        upstream: api::upstream(flags)?,
        kube_config: kube_config(flags, env),
        gpg_keys: gpg_keys(flags),
        deploy_key,
        leader_election: leader_election(flags, env, notices)?,
        controllers: if controllers::are_wanted(flags)? { Some(controllers::common(flags, env)?) } else { None },
        git,
        generate,
        operator,
        daemon,
        registry: images::registry(flags, env)?,
        require_ecr: flags.list("registry-require").iter().any(|name| name == "ecr"),
    })
}

/// A read-only repository cannot hold the marker. The marker in a secret needs to know in which namespace that is.
///
/// The result is judged after the other flags, as in v1.
fn marker_store(flags: &Given, env: &Environment, notices: &mut Vec<Notice>) -> Result<MarkerStore, SettingsError> {
    let mut state = flags.text("sync-state");
    if flags.bool("git-readonly") {
        if state == "git" {
            notices.push(Notice::Warning(
                "--git-readonly prevents use of --sync-state=git. Forcing to --sync-state=secret".into(),
            ));
            state = "secret".to_owned();
        }
        let pointless =
            ["git-user", "git-email", "git-sync-tag", "git-set-author", "git-ci-skip", "git-ci-skip-message"];
        let given: Vec<&str> = pointless.into_iter().filter(|name| flags.is_given(name)).collect();
        if !given.is_empty() {
            let (all, given) = (pointless.join(", "), given.join(" and --"));
            notices.push(Notice::Warning(format!(
                "Configuring any of {{{all}}} has no effect when --git-readonly is set; given: --{given}"
            )));
        }
    }
    match state.as_str() {
        "git" => Ok(MarkerStore::Git),
        "secret" if env.own_namespace.is_some() => Ok(MarkerStore::Secret),
        "secret" => Err(SettingsError(
            "--sync-state=secret works only in a cluster: open /var/run/secrets/kubernetes.io/serviceaccount/namespace: no \
             such file or directory"
                .into(),
        )),
        other => Err(SettingsError(format!("unknown sync state mode: {other:?}; it is git or secret"))),
    }
}

fn verify(flags: &Given) -> Result<Verify, SettingsError> {
    let mode = flags.text("git-verify-signatures-mode");
    if !flags.is_given("git-verify-signatures-mode") && flags.bool("git-verify-signatures") {
        return Ok(Verify::All);
    }
    match mode.as_str() {
        "" | "none" => Ok(Verify::None),
        "all" => Ok(Verify::All),
        "first-parent" => Ok(Verify::FirstParent),
        other => Err(SettingsError(format!("'{other}' is not a valid git-verify-signatures-mode"))),
    }
}

/// The label replaces both names, also when it is empty (fluxd-v1 §1.2).
fn tag_and_notes(flags: &Given, notices: &mut Vec<Notice>) -> (String, String) {
    if !flags.is_given("git-label") {
        return (flags.text("git-sync-tag"), flags.text("git-notes-ref"));
    }
    let label = flags.text("git-label");
    for flag in ["git-sync-tag", "git-notes-ref"] {
        if flags.is_given(flag) {
            notices.push(Notice::Overridden { flag, value: label.clone() });
        }
    }
    (label.clone(), label)
}

fn git_paths(flags: &Given) -> Result<Vec<String>, SettingsError> {
    let paths = flags.list("git-path");
    match paths.iter().find(|path| path.starts_with('/')) {
        Some(path) => Err(SettingsError(format!(
            "subdirectory given as --git-path should not have leading forward slash: {path:?}"
        ))),
        None => Ok(paths),
    }
}

fn deploy_key(flags: &Given, env: &Environment, notices: &mut Vec<Notice>) -> KeySettings {
    let mount = PathBuf::from(flags.text("k8s-secret-volume-mount-path"));
    let (url, dir) = (flags.text("git-url"), flags.text("ssh-keygen-dir"));
    let directory = match dir.is_empty() {
        true if is_http(&url) => PathBuf::new(),
        true => {
            let text = format!(
                "SSH keygen dir (--ssh-keygen-dir) not provided, so using the deploy key volume \
                 (--k8s-secret-volume-mount-path={})",
                mount.display()
            );
            notices.push(Notice::Info(text));
            mount.clone()
        }
        false => PathBuf::from(dir),
    };
    let given = |name| Some(flags.text(name)).filter(|text| !text.is_empty());
    KeySettings {
        mount,
        data_key: flags.text("k8s-secret-data-key"),
        directory,
        bits: flags.uint("ssh-keygen-bits"),
        kind: given("ssh-keygen-type"),
        format: given("ssh-keygen-format"),
        env: git::forwarded(env.vars.clone()),
    }
}

/// A repository reached over HTTP needs no deploy key.
pub(super) fn is_http(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

fn check_requirements(flags: &Given) -> Result<(), SettingsError> {
    let required = flags.list("registry-require");
    match required.iter().find(|name| *name != "ecr") {
        Some(name) => {
            Err(SettingsError(format!("--registry-require value {name:?} is not in possible values {{ecr}}")))
        }
        None => Ok(()),
    }
}

fn warn_of_missing_keys(flags: &Given, notices: &mut Vec<Notice>) {
    let asked = ["git-secret", "sops"].into_iter().filter(|name| flags.bool(name));
    if flags.list("git-gpg-key-import").is_empty() {
        notices.extend(asked.map(|name| {
            Notice::Warning(format!(
                "--{name} is enabled but there is no GPG key(s) provided using --git-gpg-key-import"
            ))
        }));
    }
}

fn gpg_keys(flags: &Given) -> Vec<PathBuf> {
    flags.list("git-gpg-key-import").into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect()
}

fn git(flags: &Given, env: &Environment) -> git::Settings {
    git::Settings {
        url: flags.text("git-url"),
        branch: flags.text("git-branch"),
        timeout: flags.duration("git-timeout"),
        poll_interval: flags.duration("git-poll-interval"),
        readonly: flags.bool("git-readonly"),
        user: flags.text("git-user"),
        email: flags.text("git-email"),
        set_author: flags.bool("git-set-author"),
        signing_key: Some(flags.text("git-signing-key")).filter(|key| !key.is_empty()),
        git_secret: flags.bool("git-secret"),
        env: git::forwarded(env.vars.clone()),
        scratch: env.scratch(),
        ..git::Settings::default()
    }
}

fn generate(flags: &Given, env: &Environment, paths: &[String]) -> Result<generate::Settings, SettingsError> {
    let sops = flags.bool("sops").then(|| SopsKeys {
        age: env.age_keys(),
        pgp: gpg_keys(flags).iter().flat_map(|path| key_files(path)).filter_map(|f| std::fs::read(f).ok()).collect(),
        env: env.vars.clone(),
    });
    let mut variables = choice(flags, "generator-env", &[("inherit", env.vars.clone()), ("clean", env.clean())])?;
    let sandbox = flags.bool("generator-sandbox").then(|| sandbox(env, &mut variables));
    Ok(generate::Settings {
        paths: paths.to_vec(),
        manifest_generation: flags.bool("manifest-generation"),
        sops,
        default_timeout: flags.duration("sync-timeout"),
        env: variables,
        load_errors: choice(flags, "load-errors", &[("stop", LoadErrors::Stop), ("skip", LoadErrors::Skip)])?,
        sandbox,
        scratch: Some(env.scratch()),
        ..generate::Settings::default()
    })
}

/// What confined commands may touch: the system's programs and libraries, the user's configuration and caches, and a
/// temporary directory of their own. Not: the service account's token, the deploy key, our mirrors.
fn sandbox(env: &Environment, variables: &mut BTreeMap<OsString, OsString>) -> Sandbox {
    let temporary = env.scratch().join("fluxd-commands");
    // A path that does not exist cannot be granted. When it cannot be made, commands say so when they need it.
    if let Err(error) = std::fs::create_dir_all(&temporary) {
        tracing::warn!(%error, path = %temporary.display(), "confined generators have no temporary directory");
    }
    variables.insert("TMPDIR".into(), temporary.clone().into());
    let system = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/opt", "/nix", "/proc", "/dev"];
    let devices = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm"];
    let own = ["fluxd", "kubernetes", "shadow", "gshadow"];
    let etc = std::fs::read_dir("/etc").into_iter().flatten().flatten();
    let etc = etc.filter(|entry| !own.iter().any(|name| entry.file_name() == *name)).map(|entry| entry.path());
    let home = env.home().unwrap_or_default();
    Sandbox {
        launcher: env.program.clone(),
        read: system.iter().map(PathBuf::from).chain(etc).collect(),
        write: devices
            .iter()
            .map(PathBuf::from)
            .chain([".config", ".cache", ".local"].iter().map(|dir| home.join(dir)))
            .chain([temporary])
            .collect(),
    }
}

/// A key file, or the files of a directory of keys; no deeper (fluxd-v1 §2.10).
fn key_files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn operator(flags: &Given, env: &Environment, git: &git::Settings) -> Result<operator::Settings, SettingsError> {
    let identity = Identity::SyncSet(SyncSet::new(&git::v1_url(&git.url), &git.branch, &git.paths));
    let mut namespaces = flags.list("k8s-allow-namespace");
    namespaces.extend(flags.list("k8s-namespace-whitelist"));
    namespaces.retain(|namespace| !namespace.is_empty());
    Ok(operator::Settings {
        default_namespace: flags.text("k8s-default-namespace"),
        allow_namespaces: namespaces,
        exclude_resources: flags.list("k8s-unsafe-exclude-resource").iter().map(|glob| Glob::new(glob)).collect(),
        gc: match (flags.bool("sync-garbage-collection"), flags.bool("sync-garbage-collection-dry")) {
            (_, true) => Gc::DryRun,
            (true, false) => Gc::On,
            (false, false) => Gc::Off,
        },
        gc_budget: budget(&flags.text("sync-gc-budget"))?,
        drift: choice(flags, "drift", &[("watch", Drift::Watch), ("interval", Drift::Interval), ("off", Drift::Off)])?,
        concurrency: concurrency(flags.int("sync-concurrency"))?,
        deadline: flags.duration("sync-timeout"),
        interval: flags.duration("sync-interval"),
        full_interval: flags.duration("sync-full-interval"),
        cache: cache_file(&flags.text("cache-dir"), git),
        self_namespace: env.own_namespace.clone(),
        ..operator::Settings::new(identity)
    })
}

fn concurrency(given: i64) -> Result<usize, SettingsError> {
    let number = usize::try_from(given).ok().filter(|n| (1..=1000).contains(n));
    number.ok_or_else(|| SettingsError(format!("--sync-concurrency must be from 1 to 1000, not {given}")))
}

/// One file per sync set, so that daemons may share the directory.
fn cache_file(dir: &str, git: &git::Settings) -> Option<PathBuf> {
    let set = SyncSet::new(&git::v1_url(&git.url), &git.branch, &git.paths);
    (!dir.is_empty()).then(|| Path::new(dir).join(format!("applied-{set}.redb")))
}

fn budget(text: &str) -> Result<Budget, SettingsError> {
    let error = || {
        SettingsError(format!(
            "--sync-gc-budget must be a number, a percentage such as 30%, 20%,10 or off, not {text:?}"
        ))
    };
    match text {
        "off" => Ok(Budget::Off),
        "20%,10" => Ok(Budget::Default),
        _ => match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|p| *p <= 100).map(Budget::Percent).ok_or_else(error),
            None => text.parse().map(Budget::Objects).map_err(|_| error()),
        },
    }
}

fn daemon(
    flags: &Given,
    env: &Environment,
    git: &git::Settings,
    (marker, operator): (MarkerStore, &operator::Settings),
) -> daemon::Settings {
    daemon::Settings {
        url: git.url.clone(),
        branch: git.branch.clone(),
        paths: git.paths.clone(),
        readonly: git.readonly,
        sync_tag: git.sync_tag.clone(),
        marker,
        manifest_generation: flags.bool("manifest-generation"),
        sync_timeout: operator.deadline,
        sync_interval: operator.interval,
        verify_signatures: git.verify != Verify::None,
        own_namespace: env.own_namespace.clone(),
        secret_name: flags.text("k8s-secret-name"),
        default_namespace: operator.default_namespace.clone(),
        allow_namespaces: operator.allow_namespaces.clone(),
        events: flags.bool("events"),
        scanning: !flags.bool("registry-disable-scanning"),
        automation_interval: flags.duration("automation-interval"),
        ci_skip: images::ci_skip(flags),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn leader_election(
    flags: &Given,
    env: &Environment,
    notices: &mut Vec<Notice>,
) -> Result<Option<LeaderElection>, SettingsError> {
    if !flags.bool("leader-elect") {
        return Ok(None);
    }
    let given = Some(flags.text("leader-elect-namespace")).filter(|namespace| !namespace.is_empty());
    let namespace = given.or_else(|| env.own_namespace.clone()).ok_or_else(|| {
        SettingsError("--leader-elect needs --leader-elect-namespace when not running in a cluster".into())
    })?;
    let pod_ip = env.var("POD_IP").map(|ip| ip.to_string_lossy());
    let given = flags.text("leader-elect-address");
    let address = leader::address(&given, pod_ip.as_deref(), &flags.text("listen"))?;
    if address.is_none() {
        notices.push(Notice::Warning(
            "other replicas cannot hand requests to this one: set --leader-elect-address, or POD_IP in the environment"
                .into(),
        ));
    }
    let identity = leader::identity(&env.host_name, std::process::id(), address.as_ref());
    Ok(Some(LeaderElection { namespace, name: flags.text("leader-elect-name"), identity }))
}

/// A given path is taken as it is; without one, the file under the home directory if it exists (fluxd-v1 §1.2).
fn kube_config(flags: &Given, env: &Environment) -> Option<PathBuf> {
    if flags.is_given("kube-config") {
        return Some(PathBuf::from(flags.text("kube-config"))).filter(|path| !path.as_os_str().is_empty());
    }
    env.home().map(|home| home.join(".kube/config")).filter(|path| path.exists())
}

/// The value that goes with the word a flag was given.
fn choice<T: Clone>(flags: &Given, name: &str, words: &[(&str, T)]) -> Result<T, SettingsError> {
    let given = flags.text(name);
    let found = words.iter().find(|(word, _)| *word == given).map(|(_, value)| value.clone());
    found.ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        SettingsError(format!("--{name} must be one of {}, not {given:?}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests;
