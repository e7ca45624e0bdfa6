//! Flags of the controllers (resourceset §7.10): those that hold wherever they run, and those of `fluxd controllers`, which
//! runs nothing else. Names and defaults are the original operator's, so that its Deployment's arguments go on working.

use super::Kind::{Bool, Duration, Int, List, Text, Uint};
use super::{Effect, Flag, Group, Tables};

const fn flag(mut flag: Flag) -> Flag {
    flag.group = Group::Controllers;
    flag
}

/// What `fluxd controllers` is read by.
pub(super) const TABLES: Tables = [ALONE, SHARED];

/// Flags of the controllers, in the daemon's process too.
pub(super) static SHARED: &[Flag] = &[
    flag(Flag::new("concurrent", Int, "10", "objects of one kind that are reconciled at the same time")),
    flag(Flag::new("requeue-dependency", Duration, "5s", "time between two looks at a dependency that is not ready")),
    flag(Flag::new(
        "default-service-account",
        Text,
        "",
        "service account that objects are applied as when a ResourceSet names none; empty for our own identity; or \
         DEFAULT_SERVICE_ACCOUNT, which wins",
    )),
    flag(Flag::new(
        "default-workload-identity-service-account",
        Text,
        "",
        "service account whose tokens are exchanged with clouds when an input provider names none; or \
         DEFAULT_WORKLOAD_IDENTITY_SERVICE_ACCOUNT, which wins",
    )),
    flag(Flag::new(
        "override-manager",
        List,
        "",
        "field managers whose fields become ours, beside kubectl's, Helm's and kustomize-controller's; or OVERRIDE_MANAGERS, \
         which wins",
    )),
    flag(Flag::new(
        "watch-configs-label-selector",
        Text,
        "reconcile.fluxcd.io/watch=Enabled",
        "which ConfigMaps and Secrets reconcile those that read them when they change",
    )),
    flag(Flag::new(
        "watch-namespaces",
        List,
        "",
        "namespaces whose ResourceSets and input providers are reconciled; none for all",
    )),
    flag(Flag::new(
        "watch-label-selector",
        Text,
        "",
        "labels of the ResourceSets and input providers that are reconciled, to share them among several deployments",
    )),
    flag(Flag::new(
        "shard",
        Text,
        "",
        "part of the objects that this replica reconciles, as INDEX/OF such as 0/3; each part has a Lease of its own",
    )),
    flag(Flag::new(
        "interval-jitter-percentage",
        Uint,
        "5",
        "how far a periodic reconcile may stray from its interval",
    )),
    flag(Flag::new("min-retry-delay", Duration, "750ms", "wait before the first retry; each further one is doubled")),
    flag(Flag::new("max-retry-delay", Duration, "15m", "longest wait before a retry")),
    flag(Flag::new("token-cache-max-size", Int, "100", "tokens of clouds and forges that are kept; 0 keeps none")),
    flag(Flag::new("token-cache-max-duration", Duration, "1h", "longest time that a token is kept")),
    flag(Flag {
        effect: Effect::None("there is no web page; fluxctl rset shows what it showed"),
        ..Flag::new("web-server-port", Int, "9080", "port of the original's web page")
    }),
];

/// Flags of a process that runs controllers alone.
pub(super) static ALONE: &[Flag] = &[
    Flag::new("health-addr", Text, ":8081", "address of /healthz and /readyz; 0 for none"),
    Flag::new("metrics-addr", Text, ":8080", "address of /metrics; 0 for none"),
    Flag::new("kubeconfig", Text, "", "kubeconfig of the cluster; empty for KUBECONFIG, else the pod's own cluster"),
    Flag::new(
        "leader-elect",
        Bool,
        "true",
        "work only while holding a Lease, so that several replicas may run; without effect when no namespace is known for it",
    ),
    Flag::new("leader-elect-namespace", Text, "", "namespace of that Lease; empty for RUNTIME_NAMESPACE, else our own"),
    Flag::new("leader-elect-name", Text, "flux-operator", "name of that Lease"),
    Flag::new("log-encoding", Text, "json", "how log lines on standard error look: json or console (key=value)"),
    Flag::new("log-level", Text, "info", "least level that is logged: error, warn, info, debug, trace"),
];
