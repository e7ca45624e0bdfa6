//! Importing GPG keys at start (fluxd-v1 §2.10). A key that cannot be imported is told of and stops nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::runtime::Stop;
use crate::runtime::process::{Command, Env, Output};

use super::settings::key_files;

/// Imports keys from files, or from the files of directories. With `trust` and no failure, all keys of the ring get
/// ultimate trust, without which git calls their signatures good only with reservations.
pub(super) async fn import(paths: &[PathBuf], trust: bool, env: &BTreeMap<OsString, OsString>, stop: &Stop) {
    let mut failed = false;
    for path in paths {
        let mut args: Vec<OsString> = vec!["--import".into()];
        args.extend(key_files(path).into_iter().map(Into::into));
        match gpg(args, Vec::new(), env, stop).await {
            Ok(_) => tracing::info!(path = %path.display(), "imported GPG key(s)"),
            Err(error) => {
                failed = true;
                tracing::error!(err = error, path = %path.display(), "failed to import GPG key(s)");
            }
        }
    }
    if trust
        && !failed
        && let Err(error) = trust_all(env, stop).await
    {
        tracing::error!(err = error, "failed to set the trust of GPG keys");
    }
}

async fn trust_all(env: &BTreeMap<OsString, OsString>, stop: &Stop) -> Result<(), String> {
    let listed = gpg(["--list-keys", "--with-colons", "--fingerprint"], Vec::new(), env, stop).await?;
    let trust = ultimate_trust(&String::from_utf8_lossy(&listed.stdout));
    gpg(["--import-ownertrust"], trust.into_bytes(), env, stop).await.map(drop)
}

/// The input of `gpg --import-ownertrust` that trusts every primary key of a listing.
fn ultimate_trust(listing: &str) -> String {
    let (mut lines, mut primary) = (String::new(), false);
    for line in listing.lines() {
        let mut fields = line.split(':');
        match fields.next() {
            Some("pub") => primary = true,
            Some("fpr") if primary => {
                primary = false;
                lines.extend(fields.nth(8).map(|fingerprint| format!("{fingerprint}:6:\n")));
            }
            _ => {}
        }
    }
    lines
}

async fn gpg(
    args: impl IntoIterator<Item = impl Into<OsString>>,
    stdin: Vec<u8>,
    env: &BTreeMap<OsString, OsString>,
    stop: &Stop,
) -> Result<Output, String> {
    let command = Command::new("gpg").args(["--batch", "--no-tty"]).args(args);
    let output = command.stdin(stdin).env(Env::Exactly(env.clone())).run(stop).await.map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(output),
        false => Err(format!("gpg: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::ultimate_trust;

    #[test]
    fn primary_keys_are_trusted_and_subkeys_left_alone() {
        let listing = "tru::1:1:0:3:1:5\npub:u:255:22:AA:1:::u:::scESC:::::ed25519:::0:\nfpr:::::::::AAAA:\n\
                       uid:u::::1::H::Name <a@b>::::::::::0:\nsub:u:255:18:BB:1::::::e:::::cv25519::\nfpr:::::::::BBBB:\n\
                       pub:-:255:22:CC:1:::-:::scESC:::::ed25519:::0:\nfpr:::::::::CCCC:\n";
        assert_eq!(ultimate_trust(listing), "AAAA:6:\nCCCC:6:\n");
    }
}
