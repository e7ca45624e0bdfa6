//! Every flag: those of Flux v1 1.25.4 (fluxd-v1 §1.2), then ours. This is the only list of them.

use super::Kind::{Bool, Duration, Float, Int, List, Text, Uint};
use super::{Effect, Flag, Group, Kind};

/// Why a flag does nothing.
const NO_KUBECTL: &str = "kubectl is not used; objects are applied through the API";
const NO_MEMCACHED: &str = "memcached is not used";

const fn flag(group: Group, name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
    Flag { name, short: None, kind, default, help, group, deprecated: None, effect: Effect::Works }
}

impl Flag {
    const fn deprecated(mut self, instead: &'static str) -> Self {
        self.deprecated = Some(instead);
        self
    }

    const fn no_effect(mut self, why: &'static str) -> Self {
        self.effect = Effect::None(why);
        self
    }
}

/// Finds a flag by its name.
#[cfg(test)]
pub(super) fn find(name: &str) -> Option<&'static Flag> {
    FLAGS.iter().find(|flag| flag.name == name)
}

use Group::{Additions, General, Git, Images, Kubernetes, Manifests, Ssh, Sync, Upstream};

/// The table. In the help a flag stands under its group's heading, in the order of this list.
pub(super) static FLAGS: &[Flag] = &[
    flag(General, "log-format", Text, "fmt", "how log lines on standard error look: fmt (key=value) or json"),
    flag(General, "listen", Text, ":3030", "address of the HTTP API, and of /metrics unless --listen-metrics is given")
        .short('l'),
    flag(General, "listen-metrics", Text, "", "separate address of /metrics"),
    flag(General, "version", Bool, "false", "print the version and exit"),
    flag(
        Git,
        "git-url",
        Text,
        "",
        "repository with the manifests, such as ssh://git@host/team/repo; none syncs nothing",
    ),
    flag(Git, "git-branch", Text, "master", "branch to sync; empty for the remote's default"),
    flag(
        Git,
        "git-path",
        List,
        "",
        "paths in the repository with the manifests, relative to its root; none for the root",
    ),
    flag(Git, "git-readonly", Bool, "false", "never push to the repository; implies --sync-state=secret"),
    flag(Git, "git-user", Text, "Weave Flux", "name of the committer"),
    flag(Git, "git-email", Text, "support@weave.works", "address of the committer"),
    flag(Git, "git-set-author", Bool, "false", "name the user who asked for a change as the author of its commit"),
    flag(
        Git,
        "git-label",
        Text,
        "",
        "a label that tells this daemon from others; replaces --git-sync-tag and --git-notes-ref",
    ),
    flag(Git, "git-sync-tag", Text, "flux-sync", "tag that marks the commit the cluster was last brought to"),
    flag(Git, "git-notes-ref", Text, "flux", "ref of the notes on our commits, under refs/notes"),
    flag(Git, "git-secret", Bool, "false", "run `git secret reveal` in the working copies"),
    flag(Git, "git-ci-skip", Bool, "false", "append \"[ci skip]\" to commit messages"),
    flag(Git, "git-ci-skip-message", Text, "", "text to append to commit messages"),
    flag(Git, "git-poll-interval", Duration, "5m", "time between two looks at the remote"),
    flag(Git, "git-timeout", Duration, "20s", "longest time of one git operation"),
    flag(Git, "git-gpg-key-import", List, "", "files, or directories of files, with GPG keys to import at start"),
    flag(Git, "git-signing-key", Text, "", "id of the GPG key that signs commits and the sync tag"),
    flag(Git, "git-verify-signatures", Bool, "false", "verify the signature of every commit")
        .deprecated("Changed to --git-verify-signatures-mode, use that instead"),
    flag(
        Git,
        "git-verify-signatures-mode",
        Text,
        "",
        "which commits must carry a good signature to be synced: none, all, or first-parent (of merges, only what stands \
         on the branch itself)",
    ),
    flag(Sync, "sync-interval", Duration, "5m", "apply the manifests at least this often"),
    flag(
        Sync,
        "sync-timeout",
        Duration,
        "1m",
        "longest time of one sync, of one job, and of a command of .flux.yaml by default",
    ),
    flag(Sync, "sync-garbage-collection", Bool, "false", "delete objects of ours that are no longer in the repository"),
    flag(Sync, "sync-garbage-collection-dry", Bool, "false", "only log what garbage collection would delete"),
    flag(
        Sync,
        "sync-state",
        Text,
        "git",
        "where the last synced commit is kept: git (a tag) or secret (an annotation)",
    ),
    flag(
        Manifests,
        "manifest-generation",
        Bool,
        "false",
        "honour .flux.yaml files, which generate and patch manifests",
    ),
    flag(Manifests, "sops", Bool, "false", "decrypt manifests that were encrypted with SOPS"),
    flag(Kubernetes, "kube-config", Text, "", "kubeconfig file of the API client")
        .deprecated("Please use the KUBECONFIG environment variable instead"),
    flag(Kubernetes, "kubernetes-kubectl", Text, "", "path of kubectl").no_effect(NO_KUBECTL),
    flag(Kubernetes, "k8s-in-cluster", Bool, "true", "run in the cluster")
        .deprecated("No longer used")
        .no_effect("whether it runs in a cluster is found out"),
    flag(
        Kubernetes,
        "k8s-secret-name",
        Text,
        "flux-git-deploy",
        "secret with the deploy key and, with --sync-state=secret, the marker",
    ),
    flag(Kubernetes, "k8s-secret-volume-mount-path", Text, "/etc/fluxd/ssh", "where that secret is mounted"),
    flag(Kubernetes, "k8s-secret-data-key", Text, "identity", "name of the deploy key's file in that mount"),
    flag(Kubernetes, "k8s-allow-namespace", List, "", "touch these namespaces only; none for all"),
    flag(Kubernetes, "k8s-namespace-whitelist", List, "", "touch these namespaces only")
        .deprecated("Changed to --k8s-allow-namespace, use that instead"),
    flag(
        Kubernetes,
        "k8s-default-namespace",
        Text,
        "",
        "namespace of objects that name none; empty for the kubeconfig's",
    ),
    flag(
        Kubernetes,
        "k8s-unsafe-exclude-resource",
        List,
        "*metrics.k8s.io/*,webhook.certmanager.k8s.io/*,v1/Event",
        "globs of kinds (group/version/Kind) that are never read from the cluster; such objects are never deleted",
    ),
    flag(Kubernetes, "k8s-verbosity", Int, "0", "verbosity of the API client").no_effect("use --log-level"),
    flag(Ssh, "ssh-keygen-bits", Uint, "", "-b of ssh-keygen"),
    flag(Ssh, "ssh-keygen-type", Text, "", "-t of ssh-keygen"),
    flag(Ssh, "ssh-keygen-format", Text, "", "-m of ssh-keygen"),
    flag(Ssh, "ssh-keygen-dir", Text, "", "directory for generated keys; empty for the secret's mount path"),
    flag(Images, "registry-disable-scanning", Bool, "false", "do not look for new images"),
    flag(Images, "automation-interval", Duration, "5m", "time between two looks for new images of automated workloads"),
    flag(Images, "registry-poll-interval", Duration, "5m", "time between two looks for new images")
        .deprecated("Changed to --automation-interval, use that instead"),
    flag(Images, "registry-rps", Float, "50", "requests per second to one registry"),
    flag(Images, "registry-burst", Int, "10", "requests to one registry at once"),
    flag(Images, "registry-trace", Bool, "false", "log every request to a registry"),
    flag(
        Images,
        "registry-insecure-host",
        List,
        "",
        "registries whose certificates are not verified, and that may speak plain HTTP",
    ),
    flag(Images, "registry-exclude-image", List, "k8s.gcr.io/*", "globs of images never looked for"),
    flag(Images, "registry-include-image", List, "", "look only for images that match these globs"),
    flag(
        Images,
        "registry-use-labels",
        List,
        "index.docker.io/weaveworks/*,index.docker.io/fluxcd/*",
        "globs of images whose labels tell when they were made",
    ),
    flag(Images, "registry-ecr-region", List, "", "ECR regions to look into"),
    flag(Images, "registry-ecr-include-id", List, "", "AWS accounts to look into"),
    flag(Images, "registry-ecr-exclude-id", List, "602401143452,918309763551", "AWS accounts not to look into"),
    flag(Images, "registry-require", List, "", "exit if these cannot be used: ecr"),
    flag(Images, "registry-cache-expiry", Duration, "0s", "how long registry answers are kept")
        .deprecated("No longer used; answers are kept for as long as they are likely to hold")
        .no_effect("no longer used, as in Flux v1"),
    flag(Images, "docker-config", Text, "", "docker config.json with credentials of registries"),
    flag(Images, "memcached-hostname", Text, "memcached", "host of memcached").no_effect(NO_MEMCACHED),
    flag(Images, "memcached-port", Int, "11211", "port of memcached").no_effect(NO_MEMCACHED),
    flag(Images, "memcached-timeout", Duration, "1s", "longest time of a request to memcached").no_effect(NO_MEMCACHED),
    flag(Images, "memcached-service", Text, "memcached", "SRV name of memcached").no_effect(NO_MEMCACHED),
    flag(
        Upstream,
        "connect",
        Text,
        "",
        "address of an upstream service that may call this daemon's API and is told events, such as ws://fluxcloud; none for none",
    ),
    flag(Upstream, "token", Text, "", "token for the upstream service"),
    flag(Upstream, "rpc-timeout", Duration, "10s", "longest time of a call from upstream"),
    flag(
        Additions,
        "drift",
        Text,
        "watch",
        "when changes that others make to our objects are put right: watch (when they happen), interval (at the next sync, \
         as Flux v1), off (only when the manifest changes)",
    ),
    flag(
        Additions,
        "sync-full-interval",
        Duration,
        "1h",
        "time between two syncs that look for our marks on every kind",
    ),
    flag(
        Additions,
        "sync-gc-budget",
        Text,
        "20%,10",
        "deletes that one sync may make before they are held for approval: a number, a percentage of the managed objects, \
         20%,10 for the larger of both, or off (as Flux v1)",
    ),
    flag(
        Additions,
        "load-errors",
        Text,
        "stop",
        "what a manifest that does not load does: stop (the whole sync fails, as Flux v1) or skip (the others are applied, \
         nothing is deleted)",
    ),
    flag(
        Additions,
        "generator-env",
        Text,
        "inherit",
        "environment of the commands of .flux.yaml: inherit (all of fluxd's, as Flux v1) or clean (HOME, PATH, TMPDIR, \
         locale and proxies)",
    ),
    flag(
        Additions,
        "generator-sandbox",
        Bool,
        "false",
        "confine the commands of .flux.yaml (Landlock): they read the system's files, and write to the working copy, \
         TMPDIR, and .config, .cache and .local of the home directory",
    ),
    flag(
        Additions,
        "controllers",
        List,
        "",
        "controllers to run beside the git loop: resourceset (ResourceSets and their input providers); `fluxd controllers` \
         runs them alone",
    ),
    flag(Additions, "leader-elect", Bool, "false", "work only while holding a Lease, so that several replicas may run"),
    flag(Additions, "leader-elect-namespace", Text, "", "namespace of that Lease; empty for our own"),
    flag(Additions, "leader-elect-name", Text, "fluxd", "name of that Lease"),
    flag(
        Additions,
        "leader-elect-address",
        Text,
        "",
        "host:port at which the other replicas reach this one's API, to hand requests to the leader; empty for POD_IP of the \
         environment with the port of --listen, else for the host of --listen",
    ),
    flag(
        Additions,
        "api-auth",
        Text,
        "none",
        "who may use the HTTP API: none (whoever reaches the port, as Flux v1) or kubernetes (TokenReview and \
         SubjectAccessReview of the token, by path and verb; probes, the public key and webhooks stay open)",
    ),
    flag(
        Additions,
        "listen-tls-cert",
        Text,
        "",
        "PEM file with the certificate of the HTTP API; read again when it changes; empty for plain HTTP",
    ),
    flag(Additions, "listen-tls-key", Text, "", "PEM file with that certificate's key"),
    flag(
        Additions,
        "listen-tls-client-ca",
        Text,
        "",
        "PEM file with authorities of which one must have signed a client's certificate; empty asks clients for none",
    ),
    flag(
        Additions,
        "receivers-config",
        Text,
        "",
        "flux-recv's configuration file (fluxRecvVersion: 1) of webhooks that are served at /hook/DIGEST, with keys beside it",
    ),
    flag(
        Additions,
        "cache-dir",
        Text,
        "",
        "directory for what may be lost; empty for none, which makes restarts slower",
    ),
    flag(Additions, "sync-concurrency", Int, "32", "requests to the API server in flight"),
    flag(Additions, "events", Bool, "true", "record Kubernetes events"),
    flag(Additions, "log-level", Text, "info", "least level that is logged: error, warn, info, debug, trace"),
];
