//! How ssh is called when a deploy key is configured: the key copied where ssh accepts it, known hosts from all places
//! Flux v1 had them, and a client configuration in which the user's own wins.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::scratch::Scratch;
use super::{Error, SshSettings};

/// Known hosts that come with the image.
const SYSTEM_KNOWN_HOSTS: &str = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2";

/// Copies the keys and writes the configuration. Returns the value of `GIT_SSH_COMMAND`.
///
/// It is called before each use of the network, so a key that changed in its mount is taken over. Keys are copied because
/// ssh refuses a file that others may read, which a mounted secret is for a user other than root.
pub(super) fn prepare(settings: &SshSettings, scratch: &Scratch, connect_seconds: u64) -> Result<String, Error> {
    let mut identities = Vec::new();
    for (number, path) in settings.identities.iter().enumerate() {
        match fs::read(path) {
            Ok(key) => identities.push(scratch.private_file(&format!("identity-{number}"), &with_end(key))?),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io("reading", path)(e)),
        }
    }
    let user = settings.config.as_deref().filter(|path| path.exists());
    let text = config(user, &identities, &settings.known_hosts, connect_seconds);
    let path = scratch.private_file("ssh_config", text.as_bytes())?;
    Ok(format!("ssh -F {}", quote_shell(&path)))
}

/// A key without its last line end is refused by ssh with an obscure message.
fn with_end(mut key: Vec<u8>) -> Vec<u8> {
    if !key.ends_with(b"\n") {
        key.push(b'\n');
    }
    key
}

/// The first value that ssh reads for a keyword counts, so the user's file comes first.
fn config(user: Option<&Path>, identities: &[PathBuf], known_hosts: &[PathBuf], connect_seconds: u64) -> String {
    let mut text = String::new();
    let mut line = |keyword: &str, value: &str| {
        // Writing to a string cannot fail.
        writeln!(text, "{keyword} {value}").unwrap_or_default();
    };
    if let Some(user) = user {
        line("Include", &quote(user));
        line("Host", "*");
    }
    for identity in identities {
        line("IdentityFile", &quote(identity));
    }
    line("StrictHostKeyChecking", "yes");
    if !known_hosts.is_empty() {
        line("UserKnownHostsFile", &known_hosts.iter().map(|p| quote(p)).collect::<Vec<_>>().join(" "));
    }
    line("GlobalKnownHostsFile", SYSTEM_KNOWN_HOSTS);
    line("BatchMode", "yes");
    line("ConnectTimeout", &connect_seconds.max(1).to_string());
    line("ServerAliveInterval", "5");
    line("ServerAliveCountMax", "3");
    line("LogLevel", "error");
    line("HostKeyAlgorithms", "+ssh-rsa");
    line("PubkeyAcceptedAlgorithms", "+ssh-rsa");
    text
}

fn quote(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('%', "%%"))
}

fn quote_shell(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_configuration_comes_before_ours() {
        let text = config(Some(Path::new("/root/.ssh/config")), &["/k".into()], &["/root/.ssh/known_hosts".into()], 20);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["Include \"/root/.ssh/config\"", "Host *", "IdentityFile \"/k\""]);
        assert!(lines.contains(&"StrictHostKeyChecking yes"), "{text}");
        assert!(lines.contains(&"UserKnownHostsFile \"/root/.ssh/known_hosts\""), "{text}");
    }

    #[test]
    fn keys_are_copied_with_a_line_end_and_missing_ones_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(dir.path()).unwrap();
        fs::write(dir.path().join("key"), "secret").unwrap();
        let identities = vec![dir.path().join("missing"), dir.path().join("key")];
        let settings = SshSettings { identities, known_hosts: Vec::new(), config: None };
        let command = prepare(&settings, &scratch, 5).unwrap();
        let config = command.strip_prefix("ssh -F '").unwrap().trim_end_matches('\'');
        let text = fs::read_to_string(config).unwrap();
        let key = text.lines().find_map(|l| l.strip_prefix("IdentityFile ")).unwrap().trim_matches('"').to_owned();
        assert_eq!(fs::read_to_string(key).unwrap(), "secret\n");
    }
}
