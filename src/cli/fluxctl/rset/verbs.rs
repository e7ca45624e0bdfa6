//! The verbs below `fluxctl rset` and `fluxctl rsip`, in the shape of the table of all verbs.

use super::super::super::flags::Flag;
use super::super::super::flags::Kind::{Bool, List, Text};
use super::super::verbs::{Action, HELP, Verb, verb};
use super::{Deed, Kind};

const ALL: Flag = Flag::new("all-namespaces", Bool, "false", "show those of all namespaces").short('A');
const FILE: Flag = Flag::new("filename", Text, "", "file with one ResourceSet, - for standard input").short('f');
const INPUTS: Flag =
    Flag::new("inputs-from", List, "", "files with a list of input sets, which count as the ResourceSet's own");
const PROVIDERS: Flag = Flag::new(
    "inputs-from-provider",
    List,
    "",
    "files with input providers of type Static, which stand in for those of spec.inputsFrom",
);
const KUBECONFIG: Flag = Flag::new("kubeconfig", Text, "", "kubeconfig of the cluster instead of KUBECONFIG's");
const NAMESPACE: Flag = Flag::new("namespace", Text, "", "namespace; empty for the context's").short('n');
const OUTPUT: Flag = Flag::new("output", Text, "table", "how to show it: table, json or yaml").short('o');
const OUTPUT_TREE: Flag = Flag::new("output", Text, "text", "how to show it: text, json or yaml").short('o');
const WAIT: Flag = Flag::new("wait", Bool, "true", "wait until the controller is through and the object is ready");

/// Flags of verbs that only ask for something.
static ASK: &[Flag] = &[HELP, KUBECONFIG, NAMESPACE];
static ASK_AND_WAIT: &[Flag] = &[HELP, KUBECONFIG, NAMESPACE, WAIT];
static RECONCILE: &[Flag] = &[
    Flag::new("force", Bool, "false", "of input providers: also outside of their schedule"),
    HELP,
    KUBECONFIG,
    NAMESPACE,
    WAIT,
];
static GET: &[Flag] = &[
    ALL,
    HELP,
    KUBECONFIG,
    NAMESPACE,
    Flag::new("no-headers", Bool, "false", "leave the line of headings out"),
    OUTPUT,
    Flag::new("ready-status", Text, "", "only those that are True, False, Unknown or Suspended"),
];

const fn set(name: &'static str, deed: Deed, about: &'static str, flags: &'static [Flag]) -> Verb {
    verb(name, Action::Custom(Kind::ResourceSet, deed), about, flags)
}

const fn provider(name: &'static str, deed: Deed, about: &'static str, flags: &'static [Flag]) -> Verb {
    verb(name, Action::Custom(Kind::InputProvider, deed), about, flags)
}

/// Below `fluxctl rset`, by name.
pub(in super::super) static RSET: &[Verb] = &[
    set("rset build", Deed::Build, "Print what a ResourceSet generates, without a cluster", &[
        FILE,
        HELP,
        INPUTS,
        PROVIDERS,
    ])
    .with_more(
        "Objects are printed in the order of building, each with --- behind it, those of steps below a comment with the \
         step's name. Data that copyFrom, convertKubeConfigFrom and checksumFrom would read from a cluster is left out.",
    )
    .with_examples(&["fluxctl rset build -f tenants.yaml", "fluxctl rset build -f apps.yaml --inputs-from-provider tenants.yaml"]),
    set("rset diff", Deed::Diff, "Show what a ResourceSet's file would change, in the cluster or against another file", &[
        Flag::new("against", Text, "", "file with the ResourceSet to compare with; empty for what is live").short('a'),
        Flag::new("exit-code", Bool, "false", "end with code 1 when there is something to do"),
        FILE,
        HELP,
        INPUTS,
        PROVIDERS,
        KUBECONFIG,
        NAMESPACE,
        OUTPUT_TREE,
    ])
    .with_more(
        "Against the cluster by a dry run of the API server, with your own rights. Inputs that no file gives are those that \
         the cluster's input providers export. Values of secrets are masked.",
    )
    .with_examples(&["fluxctl rset diff -f tenants.yaml", "fluxctl rset diff -f new.yaml --against old.yaml"]),
    set("rset get", Deed::Get, "Show ResourceSets", GET)
        .with_arguments("[NAME]")
        .with_examples(&["fluxctl rset get --all-namespaces", "fluxctl rset get tenants -n apps -o yaml"]),
    set("rset reconcile", Deed::Reconcile, "Have a ResourceSet reconciled now", RECONCILE)
        .with_arguments("NAME")
        .with_examples(&["fluxctl rset reconcile tenants -n apps"]),
    set("rset resume", Deed::Resume, "Let the controller at a suspended ResourceSet again", ASK_AND_WAIT)
        .with_arguments("NAME"),
    set("rset suspend", Deed::Suspend, "Keep the controller off a ResourceSet and its objects", ASK).with_arguments("NAME"),
    set("rset tree", Deed::Tree, "Show the objects that a ResourceSet has applied, and how they are", &[
        HELP,
        KUBECONFIG,
        NAMESPACE,
        OUTPUT_TREE,
    ])
    .with_arguments("NAME")
    .with_examples(&["fluxctl rset tree tenants -n apps"]),
];

/// Below `fluxctl rsip`, by name.
pub(in super::super) static RSIP: &[Verb] = &[
    provider("rsip get", Deed::Get, "Show input providers", GET).with_arguments("[NAME]"),
    provider("rsip reconcile", Deed::Reconcile, "Have an input provider reconciled now", RECONCILE)
        .with_arguments("NAME"),
    provider("rsip resume", Deed::Resume, "Let the controller at a suspended input provider again", ASK_AND_WAIT)
        .with_arguments("NAME"),
    provider("rsip suspend", Deed::Suspend, "Keep the controller off an input provider", ASK).with_arguments("NAME"),
];
