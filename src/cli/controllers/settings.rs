//! From flags and environment to checked settings of the controllers (resourceset §7.10).

use std::path::PathBuf;
use std::time::Duration;

use tracing::Level;

use super::super::environment::Environment;
use super::super::flags::Given;
use super::super::settings::{SettingsError, reach};
use crate::operator::controller::Shard;
use crate::provider;
use crate::runtime::{ElectionSettings, log};

/// The label that places an object in a shard.
const SHARD_LABEL: &str = "sharding.fluxd.io/shard";

/// How the controllers work, in whichever process.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Common {
    /// Objects of one kind under way at once.
    pub(in crate::cli) concurrency: usize,
    /// Time between two looks at a dependency that is not ready.
    pub(in crate::cli) requeue_dependency: Duration,
    /// Service account of ResourceSets that name none.
    pub(in crate::cli) default_account: Option<String>,
    /// Service account of input providers that name none, towards clouds.
    pub(in crate::cli) default_workload_account: Option<String>,
    /// Field managers whose fields become ours, beside the usual ones.
    pub(in crate::cli) override_managers: Vec<String>,
    /// Label selector of the ConfigMaps and Secrets that are watched.
    pub(in crate::cli) configs: String,
    /// Namespaces whose custom resources are reconciled; empty for all.
    pub(in crate::cli) namespaces: Vec<String>,
    /// Label selector of the custom resources that are reconciled.
    pub(in crate::cli) selector: String,
    /// Percentage by which an interval may be missed.
    pub(in crate::cli) jitter: u8,
    /// First and longest wait before a retry.
    pub(in crate::cli) retry: (Duration, Duration),
    /// Which part of them is this replica's.
    pub(in crate::cli) shard: Option<Shard>,
    /// How input providers reach what they list, and how long they keep tokens.
    pub(in crate::cli) providers: provider::Settings,
    /// Where events are sent.
    pub(in crate::cli) notify: Notify,
    /// Name of this replica in events.
    pub(in crate::cli) instance: String,
}

/// Where events go beside Kubernetes (resourceset §7.9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Notify {
    /// To the notification-controller of the cluster's one FluxInstance.
    Found,
    /// To this address.
    At(String),
    /// Nowhere.
    Off,
}

/// All settings of `fluxd controllers`.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Settings {
    pub(in crate::cli) common: Common,
    pub(in crate::cli) health: String,
    pub(in crate::cli) metrics: String,
    pub(in crate::cli) kubeconfig: Option<PathBuf>,
    pub(in crate::cli) election: Option<ElectionSettings>,
}

/// Checks what holds for the controllers wherever they run.
pub(in crate::cli) fn common(flags: &Given, env: &Environment) -> Result<Common, SettingsError> {
    let count = |name: &str, least: i64| {
        let given = flags.int(name);
        let number = usize::try_from(given).ok().filter(|n| (least..=10_000).contains(&given) && *n <= 10_000);
        number.ok_or_else(|| SettingsError(format!("--{name} must be from {least} to 10000, not {given}")))
    };
    let jitter = flags.uint("interval-jitter-percentage").and_then(|percent| u8::try_from(percent).ok());
    let jitter = jitter.filter(|percent| *percent < 100);
    let retry = (flags.duration("min-retry-delay"), flags.duration("max-retry-delay"));
    if retry.0.is_zero() || retry.0 > retry.1 {
        return Err(SettingsError("--min-retry-delay must be above zero and not above --max-retry-delay".into()));
    }
    Ok(Common {
        concurrency: count("concurrent", 1)?,
        requeue_dependency: flags.duration("requeue-dependency"),
        default_account: chosen(flags, env, "default-service-account", "DEFAULT_SERVICE_ACCOUNT"),
        default_workload_account: chosen(
            flags,
            env,
            "default-workload-identity-service-account",
            "DEFAULT_WORKLOAD_IDENTITY_SERVICE_ACCOUNT",
        ),
        override_managers: managers(flags, env),
        configs: flags.text("watch-configs-label-selector"),
        namespaces: flags.list("watch-namespaces").into_iter().filter(|name| !name.is_empty()).collect(),
        selector: flags.text("watch-label-selector"),
        jitter: jitter.ok_or_else(|| SettingsError("--interval-jitter-percentage must be from 0 to 99".to_owned()))?,
        retry,
        shard: shard(&flags.text("shard"))?,
        providers: provider::Settings {
            token_cache_size: count("token-cache-max-size", 0)?,
            token_cache_duration: flags.duration("token-cache-max-duration"),
            ..reach(env)
        },
        notify: notify(env),
        instance: env.pod_name(),
    })
}

/// Reads `INDEX/OF`.
fn shard(given: &str) -> Result<Option<Shard>, SettingsError> {
    if given.is_empty() {
        return Ok(None);
    }
    let parts = given.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((index, of)) if index < of => Ok(Some(Shard { index, of, label: SHARD_LABEL.to_owned() })),
        _ => Err(SettingsError(format!(
            "--shard must be INDEX/OF with INDEX from 0 to OF-1, such as 0/3, not {given:?}"
        ))),
    }
}

/// Checks the flags of `fluxd controllers`.
pub(super) fn alone(flags: &Given, env: &Environment) -> Result<Settings, SettingsError> {
    let kubeconfig = Some(PathBuf::from(flags.text("kubeconfig"))).filter(|path| !path.as_os_str().is_empty());
    let common = common(flags, env)?;
    let mut election = election(flags, env);
    if let (Some(election), Some(shard)) = (&mut election, &common.shard) {
        election.name = format!("{}-{}", election.name, shard.index);
    }
    Ok(Settings {
        common,
        health: flags.text("health-addr"),
        metrics: flags.text("metrics-addr"),
        kubeconfig,
        election,
    })
}

/// The log's shape and level.
pub(super) fn logging(flags: &Given) -> Result<(log::Format, Level), SettingsError> {
    let format = match flags.text("log-encoding").as_str() {
        "json" => log::Format::Json,
        "console" => log::Format::Logfmt,
        other => return Err(SettingsError(format!("--log-encoding must be json or console, not {other:?}"))),
    };
    let level = flags.text("log-level");
    let parsed = level.parse().map_err(|_| {
        SettingsError(format!("--log-level must be one of error, warn, info, debug, trace, not {level:?}"))
    })?;
    Ok((format, parsed))
}

/// A value that the environment decides over the flag.
fn chosen(flags: &Given, env: &Environment, flag: &str, variable: &str) -> Option<String> {
    let of_env = env.var(variable).map(|value| value.to_string_lossy().into_owned());
    of_env.or_else(|| Some(flags.text(flag))).filter(|name| !name.is_empty())
}

fn managers(flags: &Given, env: &Environment) -> Vec<String> {
    let all = match env.var("OVERRIDE_MANAGERS") {
        Some(list) => list.to_string_lossy().split(',').map(str::to_owned).collect(),
        None => flags.list("override-manager"),
    };
    all.into_iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

fn notify(env: &Environment) -> Notify {
    // Any value turns it off, the empty one too.
    if env.vars.contains_key(std::ffi::OsStr::new("NOTIFICATIONS_DISABLED")) {
        return Notify::Off;
    }
    env.var("NOTIFICATION_CONTROLLER_ADDRESS")
        .map_or(Notify::Found, |address| Notify::At(address.to_string_lossy().into_owned()))
}

/// The election, with the original's times (resourceset §7.10); `None` when it is off or there is no namespace for its
/// Lease, as on a developer's machine.
fn election(flags: &Given, env: &Environment) -> Option<ElectionSettings> {
    if !flags.bool("leader-elect") {
        return None;
    }
    let given = Some(flags.text("leader-elect-namespace")).filter(|namespace| !namespace.is_empty());
    let told = || env.var("RUNTIME_NAMESPACE").map(|namespace| namespace.to_string_lossy().into_owned());
    let namespace = given.or_else(told).or_else(|| env.own_namespace.clone())?;
    let identity = format!("{}_{}", env.pod_name(), std::process::id());
    Some(ElectionSettings {
        duration: Duration::from_secs(35),
        renew: Duration::from_secs(30),
        retry: Duration::from_secs(5),
        ..ElectionSettings::new(namespace, flags.text("leader-elect-name"), identity)
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::flags::{Parsed, parse_controllers};
    use super::*;

    fn built(args: &[&str], vars: &[(&str, &str)]) -> Result<Settings, String> {
        let Ok(Parsed::Run { given, .. }) = parse_controllers(args.iter().map(Into::into)) else {
            panic!("{args:?}");
        };
        let vars = vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
        alone(&given, &Environment { vars, ..Environment::default() }).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_the_originals() {
        let all = built(&[], &[]).unwrap();
        let common = &all.common;
        assert_eq!((common.concurrency, common.requeue_dependency), (10, Duration::from_secs(5)));
        assert_eq!(common.retry, (Duration::from_millis(750), Duration::from_secs(900)));
        let tokens = (common.providers.token_cache_size, common.providers.token_cache_duration);
        assert_eq!((common.jitter, tokens), (5, (100, Duration::from_secs(3600))));
        assert_eq!(common.configs, "reconcile.fluxcd.io/watch=Enabled");
        assert_eq!((&common.default_account, &common.default_workload_account), (&None, &None));
        assert_eq!((all.health.as_str(), all.metrics.as_str()), (":8081", ":8080"));
        assert!(common.override_managers.is_empty() && common.notify == Notify::Found);
    }

    #[test]
    fn the_environment_wins_over_three_flags() {
        let args = [
            "--default-service-account=flag",
            "--default-workload-identity-service-account=flag",
            "--override-manager=a",
            "--override-manager=b",
        ];
        let common = built(&args, &[]).unwrap().common;
        assert_eq!(
            (common.default_account.as_deref(), common.override_managers),
            (Some("flag"), vec!["a".into(), "b".into()])
        );
        let vars = [
            ("DEFAULT_SERVICE_ACCOUNT", "env"),
            ("DEFAULT_WORKLOAD_IDENTITY_SERVICE_ACCOUNT", "env"),
            ("OVERRIDE_MANAGERS", "c, d"),
        ];
        let common = built(&args, &vars).unwrap().common;
        assert_eq!(common.default_account.as_deref(), Some("env"));
        assert_eq!(common.default_workload_account.as_deref(), Some("env"));
        assert_eq!(common.override_managers, ["c", "d"]);
    }

    #[test]
    fn variables_send_events_elsewhere_or_nowhere() {
        let notify = |vars: &[(&str, &str)]| built(&[], vars).unwrap().common.notify;
        let address = ("NOTIFICATION_CONTROLLER_ADDRESS", "http://localhost:1");
        assert_eq!(notify(&[address]), Notify::At("http://localhost:1".into()));
        assert_eq!(notify(&[address, ("NOTIFICATIONS_DISABLED", "")]), Notify::Off);
    }

    #[test]
    fn a_leader_is_elected_where_a_namespace_is_known_unless_told_otherwise() {
        let lease = |args: &[&str], vars: &[(&str, &str)]| {
            built(args, vars).unwrap().election.map(|election| format!("{}/{}", election.namespace, election.name))
        };
        assert_eq!(lease(&[], &[]), None);
        assert_eq!(lease(&[], &[("RUNTIME_NAMESPACE", "flux")]).as_deref(), Some("flux/flux-operator"));
        assert_eq!(lease(&["--leader-elect-namespace=a"], &[]).as_deref(), Some("a/flux-operator"));
        assert_eq!(lease(&["--leader-elect-namespace=a", "--shard=1/2"], &[]).as_deref(), Some("a/flux-operator-1"));
        assert_eq!(lease(&["--leader-elect-namespace=a", "--leader-elect=false"], &[]), None);
    }

    #[test]
    fn values_that_mean_nothing_are_refused_by_name() {
        for (arg, name) in [
            ("--concurrent=0", "--concurrent"),
            ("--interval-jitter-percentage=100", "--interval-jitter-percentage"),
            ("--min-retry-delay=1h", "--min-retry-delay"),
            ("--token-cache-max-size=-1", "--token-cache-max-size"),
            ("--shard=3/3", "--shard"),
            ("--shard=one", "--shard"),
        ] {
            assert!(built(&[arg], &[]).unwrap_err().contains(name), "{arg}");
        }
    }
}
