//! Every verb of `fluxctl` with its flags: those of v1's client (fluxd-v1 §11), then ours. The parser, the help texts and
//! the completion scripts are driven by this table; what a verb does is in the module that its `run` names.

use super::super::flags::Flag;
use super::super::flags::Kind::{Bool, Count, Duration, Int, List, Map, Text};
use super::rset;

/// What a verb does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Automate,
    Check,
    Completion,
    /// About a custom resource; the daemon is not asked.
    Custom(rset::Kind, rset::Deed),
    Deautomate,
    Diff,
    Events,
    /// Nothing by itself: it has verbs below it.
    Group,
    Help,
    Identity,
    Install,
    ListImages,
    ListWorkloads,
    Lock,
    Pause,
    Policy,
    Release,
    Resume,
    Save,
    Sync,
    Trace,
    Tree,
    Unlock,
    Version,
}

/// One verb.
#[derive(Debug)]
pub(super) struct Verb {
    pub(super) name: &'static str,
    pub(super) aliases: &'static [&'static str],
    /// What stands behind the name in its usage.
    pub(super) arguments: &'static str,
    /// One line.
    pub(super) about: &'static str,
    /// More lines, or none.
    pub(super) more: &'static str,
    pub(super) examples: &'static [&'static str],
    pub(super) flags: &'static [Flag],
    pub(super) action: Action,
    /// Verbs below it, each with its full name.
    pub(super) below: &'static [Self],
}

pub(super) const HELP: Flag = Flag::new("help", Bool, "false", "show this help").short('h');

/// Flags that every verb has, as v1 named them; then ours.
pub(super) static GLOBAL: &[Flag] = &[
    Flag::new("color", Text, "auto", "colours: auto, always or never; NO_COLOR in the environment means never"),
    Flag::new("context", Text, "", "context of the kubeconfig to use instead of the current one"),
    Flag::new("k8s-fwd-labels", Map, "app=flux", "labels of the pod to forward to; or FLUX_FORWARD_LABELS"),
    Flag::new(
        "k8s-fwd-ns",
        Text,
        "default",
        "namespace of the pod to forward to when there is no URL; or FLUX_FORWARD_NAMESPACE",
    ),
    Flag::new("timeout", Duration, "1m0s", "how long to wait for a job or a sync; or FLUX_TIMEOUT"),
    Flag::new("token", Text, "", "token to authenticate with; or FLUX_SERVICE_TOKEN or WEAVE_CLOUD_TOKEN").short('t'),
    Flag::new(
        "url",
        Text,
        "",
        "base URL of the API, such as http://HOST:3030/api/flux, used instead of a port forward; or FLUX_URL",
    )
    .short('u'),
];

const MESSAGE: Flag = Flag::new("message", Text, "", "message of the commit").short('m');
const NAMESPACE: Flag =
    Flag::new("namespace", Text, "", "namespace of workloads that are named without one").short('n');
const USER: Flag = Flag::new("user", Text, "", "who asks for it, instead of git's user.name and user.email");
const VERBOSE: Flag = Flag::new("verbose", Count, "0", "also show skipped workloads; -vv also ignored ones").short('v');
const WORKLOAD: Flag = Flag::new("workload", Text, "", "the workload: NAMESPACE:KIND/NAME or KIND/NAME").short('w');
const NO_HEADERS: Flag = Flag::new("no-headers", Bool, "false", "leave the line of headings out");
const OUTPUT: Flag = Flag::new("output-format", Text, "tab", "how to show it: tab, wide, json or yaml").short('o');
const OUTPUT_OURS: Flag = Flag::new("output-format", Text, "text", "how to show it: text, json or yaml").short('o');

/// Flags of verbs that set one policy.
static ONE_POLICY: &[Flag] = &[HELP, MESSAGE, NAMESPACE, USER, VERBOSE, WORKLOAD];
static ONLY_HELP: &[Flag] = &[HELP];

/// The flags of `fluxctl` without a verb.
pub(super) static ROOT: &[Flag] = ONLY_HELP;

pub(super) const fn verb(name: &'static str, action: Action, about: &'static str, flags: &'static [Flag]) -> Verb {
    Verb { name, aliases: &[], arguments: "", about, more: "", examples: &[], flags, action, below: &[] }
}

impl Verb {
    pub(super) const fn with_examples(mut self, examples: &'static [&'static str]) -> Self {
        self.examples = examples;
        self
    }

    pub(super) const fn with_more(mut self, more: &'static str) -> Self {
        self.more = more;
        self
    }

    pub(super) const fn with_arguments(mut self, arguments: &'static str) -> Self {
        self.arguments = arguments;
        self
    }
}

/// Finds a verb by its name or one of its other names.
pub(super) fn find(name: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| verb.name == name || verb.aliases.contains(&name))
}

impl Verb {
    /// Finds a verb below this one by the last word of its name.
    pub(super) fn find_below(&self, word: &str) -> Option<&'static Self> {
        self.below.iter().find(|verb| verb.last_word() == word)
    }

    /// The word that it is called by behind the verb that it stands below.
    pub(super) fn last_word(&self) -> &'static str {
        self.name.rsplit(' ').next().unwrap_or(self.name)
    }
}

/// The table, by name.
pub(super) static VERBS: &[Verb] = &[
    verb("automate", Action::Automate, "Let new images of a workload be released on their own", ONE_POLICY)
        .with_examples(&["fluxctl automate --workload=default:deployment/web"]),
    verb("check", Action::Check, "Find out what is wrong between here, the daemon, git and the cluster", &[HELP, OUTPUT_OURS]),
    verb("completion", Action::Completion, "Print the completion script of a shell: bash, zsh, fish or powershell", ONLY_HELP)
        .with_arguments("SHELL")
        .with_examples(&["source <(fluxctl completion bash)"]),
    verb("deautomate", Action::Deautomate, "Let new images of a workload wait for a release", ONE_POLICY)
        .with_examples(&["fluxctl deautomate --workload=default:deployment/web"]),
    verb("diff", Action::Diff, "Show what a sync would change now, field by field; values of secrets are masked", DIFF)
        .with_more("The exit code is 0 when there is nothing to do and 1 when there is, with --exit-code.")
        .with_examples(&["fluxctl diff", "fluxctl diff --last -o json"]),
    verb("events", Action::Events, "Show jobs, syncs and events as they happen, until interrupted", &[
        HELP,
        Flag::new("output-format", Text, "text", "how to show it: text or json, one event a line").short('o'),
        Flag::new("progress", Bool, "false", "also show how far a running sync is"),
        Flag::new("watch", Bool, "true", "go on until interrupted; otherwise end after the next sync"),
    ]),
    verb("help", Action::Help, "Show the help of a verb", ONLY_HELP).with_arguments("[VERB]"),
    verb("identity", Action::Identity, "Show the public key that the daemon reaches git with", &[
        Flag::new("fingerprint", Bool, "false", "show its fingerprint instead").short('l'),
        HELP,
        Flag::new("regenerate", Bool, "false", "make a new key first").short('r'),
        Flag::new("visual", Bool, "false", "show the fingerprint with its picture").short('v'),
    ]),
    verb("install", Action::Install, "Print the manifests that run the daemon in a cluster", INSTALL)
        .with_examples(&["fluxctl install --git-url=git@HOST:TEAM/CONFIG --git-email=EMAIL | kubectl apply -f -"]),
    verb("list-images", Action::ListImages, "Show the images that workloads run and could run", &[
        HELP,
        Flag::new("limit", Int, "10", "how many images of each container to show, 0 for all").short('l'),
        NAMESPACE,
        NO_HEADERS,
        OUTPUT,
        WORKLOAD,
    ])
    .with_examples(&["fluxctl list-images --namespace default --workload=deployment/web"]),
    Verb {
        aliases: &["list-controllers"],
        ..verb("list-workloads", Action::ListWorkloads, "Show the workloads of a namespace", &[
            Flag::new("all-namespaces", Bool, "false", "show those of all namespaces").short('a'),
            Flag::new("container", Text, "", "only those that have a container of this name").short('c'),
            HELP,
            Flag::new("namespace", Text, "", "only those of this namespace").short('n'),
            NO_HEADERS,
            OUTPUT,
            Flag::new("watch", Bool, "false", "show them again whenever they changed, until interrupted"),
        ])
    }
    .with_examples(&["fluxctl list-workloads", "fluxctl list-workloads --all-namespaces -o wide"]),
    verb("lock", Action::Lock, "Forbid releases of a workload", ONE_POLICY)
        .with_examples(&["fluxctl lock --workload=default:deployment/web -m 'until Monday'"]),
    verb("pause", Action::Pause, "Start no sync and no automated release until resumed; drift is left alone too", ONLY_HELP),
    verb("policy", Action::Policy, "Change the policies of a workload", POLICY)
        .with_more(
            "A tag filter is CONTAINER=PATTERN; the pattern is glob:..., semver:..., regexp:... or a glob without prefix, \
             and * removes the filter. --tag-all is for the containers that no --tag names.",
        )
        .with_examples(&[
            "fluxctl policy --workload=default:deployment/web --automate",
            "fluxctl policy --workload=default:deployment/web --tag='web=semver:~1.2' --tag='side=2.*'",
            "fluxctl policy --workload=default:deployment/web --tag-all='main-*'",
        ]),
    verb("release", Action::Release, "Release images to workloads", RELEASE).with_examples(&[
        "fluxctl release -n default --workload=deployment/web --update-image=example.org/web:v2",
        "fluxctl release --all --update-image=example.org/web:v2",
        "fluxctl release --workload=default:deployment/web --update-all-images --interactive",
    ]),
    verb("resume", Action::Resume, "End a pause and sync", ONLY_HELP),
    Verb { below: rset::RSET, ..verb("rset", Action::Group, "Build, compare, show and steer ResourceSets", ONLY_HELP) }
        .with_arguments("[VERB]"),
    Verb { below: rset::RSIP, ..verb("rsip", Action::Group, "Show and steer the input providers of ResourceSets", ONLY_HELP) }
        .with_arguments("[VERB]"),
    verb("save", Action::Save, "Write the workloads of the cluster as manifests", &[
        HELP,
        Flag::new("out", Text, "-", "directory to write one file per object into, or - for standard output").short('o'),
    ])
    .with_examples(&["fluxctl save --out=config/"]),
    verb("sync", Action::Sync, "Bring the cluster to the state of the repository now", &[
        Flag::new("allow-deletes", Text, "", "let the held deletes of this digest through first (fluxctl diff names it)"),
        HELP,
    ])
    .with_examples(&["fluxctl sync"]),
    verb("trace", Action::Trace, "Show where an object comes from: file, line, commit, last apply, owner of each field", &[
        HELP,
        NAMESPACE,
        OUTPUT_OURS,
    ])
    .with_arguments("OBJECT")
    .with_examples(&["fluxctl trace default:deployment/web", "fluxctl trace -n default deployment/web"]),
    verb("tree", Action::Tree, "Show the managed objects in their files, and what others made of them", &[HELP, OUTPUT_OURS]),
    verb("unlock", Action::Unlock, "Allow releases of a workload again", ONE_POLICY)
        .with_examples(&["fluxctl unlock --workload=default:deployment/web"]),
    verb("version", Action::Version, "Print the version of fluxctl", ONLY_HELP),
];

static DIFF: &[Flag] = &[
    Flag::new("all", Bool, "false", "also show what stays as it is"),
    Flag::new("exit-code", Bool, "false", "end with code 1 when there is something to do"),
    HELP,
    Flag::new("last", Bool, "false", "the plan of the last sync, without looking again"),
    OUTPUT_OURS,
];

static INSTALL: &[Flag] = &[
    Flag::new("add-security-context", Bool, "true", "write the security contexts of pod and container"),
    Flag::new("controllers", Bool, "false", "also reconcile ResourceSets and input providers, with their definitions"),
    Flag::new("git-branch", Text, "master", "branch to sync"),
    Flag::new("git-email", Text, "", "e-mail address of the committer"),
    Flag::new(
        "git-label",
        Text,
        "flux",
        "name of the sync tag and of the notes; another for each daemon of a repository",
    ),
    Flag::new("git-path", List, "", "directories of the repository that hold manifests"),
    Flag::new("git-readonly", Bool, "false", "never write to the repository"),
    Flag::new("git-url", Text, "", "URL of the repository"),
    Flag::new("git-user", Text, "Flux", "name of the committer"),
    HELP,
    Flag::new("manifest-generation", Bool, "false", "obey .flux.yaml files"),
    Flag::new("namespace", Text, "", "namespace to run in, instead of flux"),
    Flag::new("output-dir", Text, "", "directory to write one file per manifest into, instead of printing").short('o'),
    Flag::new("registry-disable-scanning", Bool, "false", "ask no image registries"),
];

static POLICY: &[Flag] = &[
    Flag::new("automate", Bool, "false", "release new images on their own"),
    Flag::new("deautomate", Bool, "false", "let new images wait for a release"),
    HELP,
    Flag::new("lock", Bool, "false", "forbid releases"),
    MESSAGE,
    NAMESPACE,
    Flag::new("tag", List, "", "tag filters, each CONTAINER=PATTERN"),
    Flag::new("tag-all", Text, "", "tag filter of all other containers"),
    Flag::new("unlock", Bool, "false", "allow releases again"),
    USER,
    VERBOSE,
    WORKLOAD,
];

static RELEASE: &[Flag] = &[
    Flag::new("all", Bool, "false", "release to all workloads"),
    Flag::new("dry-run", Bool, "false", "only say what would be done"),
    Flag::new("exclude", List, "", "workloads to leave out"),
    Flag::new(
        "force",
        Bool,
        "false",
        "overrule locks and tag filters; with --all only filters, with --update-all-images only locks",
    )
    .short('f'),
    HELP,
    Flag::new("interactive", Bool, "false", "choose from a menu what is released"),
    MESSAGE,
    NAMESPACE,
    Flag::new("update-all-images", Bool, "false", "release the newest image of every container"),
    Flag::new("update-image", Text, "", "release this image").short('i'),
    USER,
    VERBOSE,
    Flag::new("watch", Bool, "false", "watch the roll-out afterwards").short('w'),
    Flag::new("workload", List, "", "workloads to release to, each NAMESPACE:KIND/NAME or KIND/NAME"),
];
