//! What the process finds around it: environment variables and the files that say whether it runs in a cluster. Read once
//! at start, and passed on as values; no other room looks.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Its existence means that the process runs in a pod (fluxd-v1 §1.3).
const IN_CLUSTER: &str = "/var/run/secrets/kubernetes.io";

/// Variables that commands of `.flux.yaml` see with `--generator-env=clean`, beside `LC_*`.
const CLEAN: &[&str] = &[
    "HOME",
    "PATH",
    "TMPDIR",
    "LANG",
    "TZ",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The process's surroundings.
#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    /// All variables.
    pub(super) vars: BTreeMap<OsString, OsString>,
    /// The file of this program.
    pub(super) program: PathBuf,
    /// Whether the process runs in a pod.
    pub(super) in_cluster: bool,
    /// The namespace of the pod.
    pub(super) own_namespace: Option<String>,
    /// The name of the machine or pod.
    pub(super) host_name: String,
}

impl Environment {
    /// Looks around.
    #[allow(clippy::disallowed_methods, reason = "this is the door that the lint points to")]
    pub(super) fn read() -> Self {
        let namespace = std::fs::read_to_string(Path::new(IN_CLUSTER).join("serviceaccount/namespace")).ok();
        Self {
            vars: std::env::vars_os().collect(),
            program: std::env::current_exe().unwrap_or_default(),
            in_cluster: Path::new(IN_CLUSTER).is_dir(),
            own_namespace: namespace.map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()),
            host_name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        }
    }

    /// A variable that is set and not empty.
    pub(super) fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The user's home directory.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.var("HOME").or_else(|| self.var("USERPROFILE")).map(PathBuf::from)
    }

    /// The name of the pod, as the kubelet tells it; pods on the host's network are told it in `POD_NAME` if at all.
    pub(super) fn pod_name(&self) -> String {
        let told = self.var("POD_NAME").or_else(|| self.var("HOSTNAME"));
        told.map_or_else(|| self.host_name.clone(), |name| name.to_string_lossy().into_owned())
    }

    /// Where mirrors and working copies go.
    pub(super) fn scratch(&self) -> PathBuf {
        self.var("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from)
    }

    /// The files that `KUBECONFIG` names, else the one under the home directory.
    pub(super) fn kubeconfig_files(&self) -> Vec<PathBuf> {
        match self.var("KUBECONFIG") {
            Some(list) => std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect(),
            None => self.home().map(|home| home.join(".kube/config")).into_iter().collect(),
        }
    }

    /// What commands see with `--generator-env=clean`.
    pub(super) fn clean(&self) -> BTreeMap<OsString, OsString> {
        let kept = |name: &OsStr| {
            CLEAN.iter().any(|known| OsStr::new(known) == name) || name.as_encoded_bytes().starts_with(b"LC_")
        };
        self.vars.iter().filter(|(name, _)| kept(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Age keys for SOPS: `SOPS_AGE_KEY`, else the file that `SOPS_AGE_KEY_FILE` names, else the one in the user's
    /// configuration directory, as the `sops` program looks for them. A file that cannot be read holds no keys.
    pub(super) fn age_keys(&self) -> String {
        if let Some(keys) = self.var("SOPS_AGE_KEY") {
            return keys.to_string_lossy().into_owned();
        }
        let config = self.var("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.or_else(|| self.home().map(|home| home.join(".config")));
        let usual = config.map(|dir| dir.join("sops/age/keys.txt"));
        let file = self.var("SOPS_AGE_KEY_FILE").map(PathBuf::from).or(usual);
        file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(vars: &[(&str, &str)]) -> Environment {
        Environment { vars: vars.iter().map(|(k, v)| (k.into(), v.into())).collect(), ..Environment::default() }
    }

    #[test]
    fn kubeconfig_files_are_those_of_the_variable_else_the_home_directorys() {
        let files = |vars| with(vars).kubeconfig_files();
        assert_eq!(files(&[("KUBECONFIG", "/a::/b"), ("HOME", "/h")]), [Path::new("/a"), Path::new("/b")]);
        assert_eq!(files(&[("KUBECONFIG", ""), ("HOME", "/h")]), [Path::new("/h/.kube/config")]);
        assert!(files(&[]).is_empty());
    }

    #[test]
    fn a_clean_environment_holds_no_credentials() {
        let clean =
            with(&[("PATH", "/bin"), ("LC_ALL", "C"), ("GIT_AUTHKEY", "s3cret"), ("AWS_SECRET_ACCESS_KEY", "x")]);
        let names: Vec<String> = clean.clean().keys().map(|k| k.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["LC_ALL", "PATH"]);
    }
}
