//! What a user may choose about git, already checked and read from flags and environment elsewhere.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// Which commits must carry a good signature before they are synced (fluxd-v1 §2.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// No signature is looked at.
    #[default]
    None,
    /// Every commit between the marker and the head.
    All,
    /// Those reached by following first parents only.
    FirstParent,
}

/// Where the ssh client finds the deploy key and the keys of known hosts. Only made when a deploy key is configured;
/// without it the `ssh` program of the user decides everything itself.
#[derive(Clone, Debug)]
pub struct SshSettings {
    /// Private keys to offer, in this order; those that do not exist are left out.
    pub identities: Vec<PathBuf>,
    /// Files of known hosts beside `/etc/ssh/ssh_known_hosts`; they need not exist.
    pub known_hosts: Vec<PathBuf>,
    /// The user's own client configuration, which wins over ours; it need not exist.
    pub config: Option<PathBuf>,
}

/// All that the mirror of one repository needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The repository as the user wrote it, perhaps with a password; empty for none.
    pub url: String,
    /// The branch to follow; empty for the remote's default.
    pub branch: String,
    /// Paths whose changes are reported, relative to the root; none for everything.
    pub paths: Vec<String>,
    /// Longest time of one git operation.
    pub timeout: Duration,
    /// Time between two looks at the remote.
    pub poll_interval: Duration,
    /// Whether nothing may ever be pushed.
    pub readonly: bool,
    /// Name of the committer.
    pub user: String,
    /// Address of the committer.
    pub email: String,
    /// Whether a commit names the person that caused it as its author.
    pub set_author: bool,
    /// Name of the tag that marks what was synced.
    pub sync_tag: String,
    /// The notes ref, as given to `git notes --ref`.
    pub notes_ref: String,
    /// Key for signing commits and the sync tag.
    pub signing_key: Option<String>,
    /// Which signatures are asked for.
    pub verify: Verify,
    /// Whether files hidden with git-secret are revealed in every tree.
    pub git_secret: bool,
    /// Environment of the git program: see [`forwarded`].
    pub env: BTreeMap<OsString, OsString>,
    /// Directory for mirrors and working copies.
    pub scratch: PathBuf,
    /// The deploy key, if there is one.
    pub ssh: Option<SshSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: String::new(),
            branch: "master".to_owned(),
            paths: Vec::new(),
            timeout: Duration::from_secs(20),
            poll_interval: Duration::from_mins(5),
            readonly: false,
            user: "Weave Flux".to_owned(),
            email: "support@weave.works".to_owned(),
            set_author: false,
            sync_tag: "flux-sync".to_owned(),
            notes_ref: "flux".to_owned(),
            signing_key: None,
            verify: Verify::None,
            git_secret: false,
            env: BTreeMap::new(),
            scratch: PathBuf::from("/tmp"),
            ssh: None,
        }
    }
}

/// Variables that reach the git program: the list of fluxd-v1 §2.2, `PATH`, and the agent's socket.
pub const FORWARDED: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTPS_PROXY",
    "NO_PROXY",
    "GIT_PROXY_COMMAND",
    "HOME",
    "GNUPGHOME",
    "SECRETS_DIR",
    "SECRETS_EXTENSION",
    "CLOUDSDK_CONFIG",
    "CLOUDSDK_PYTHON",
    "NSS_WRAPPER_PASSWD",
    "NSS_WRAPPER_GROUP",
    "LD_PRELOAD",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "PATH",
    "SSH_AUTH_SOCK",
];

/// Keeps of a process environment what the git program may see.
pub fn forwarded(all: impl IntoIterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
    all.into_iter().filter(|(name, _)| FORWARDED.iter().any(|f| OsStr::new(f) == name)).collect()
}
