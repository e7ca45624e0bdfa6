//! Importing GPG keys at start (fluxd-v1 §2.10). Signatures themselves are judged by git.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Error;
use super::run::{Call, Git};
use crate::runtime::Stop;

/// Longest time of one run of gpg.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Imports the keys in the given files, or in the files of the given directories (not of those below). With `trust`, all
/// keys of the ring are then trusted fully, but only if nothing failed. Returns the failures; the others went on.
pub async fn import_gpg_keys(
    paths: &[PathBuf],
    trust: bool,
    env: &BTreeMap<OsString, OsString>,
    stop: &Stop,
) -> Vec<Error> {
    let git = Git::new(env, TIMEOUT, Vec::new());
    let mut failures = Vec::new();
    for path in paths {
        match key_files(path) {
            Ok(files) if files.is_empty() => {}
            Ok(files) => {
                let options = ["--batch", "--import", "--"].map(OsString::from);
                let args = options.into_iter().chain(files.into_iter().map(PathBuf::into_os_string));
                let call = Call::new(format!("importing GPG keys from {}: ", path.display()), args);
                failures.extend(git.run_program("gpg", call, stop).await.err());
            }
            Err(error) => failures.push(error),
        }
    }
    if trust && failures.is_empty() {
        failures.extend(trust_all(&git, stop).await.err());
    }
    failures
}

/// The regular files at a path; links are followed, as the entries of a mounted secret are links.
fn key_files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = || Error::io("reading", path);
    if !fs::metadata(path).map_err(failed())?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        if fs::metadata(&path).is_ok_and(|m| m.is_file()) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Sets owner trust 6 (ultimate) for every key of the ring, without which git calls no signature good.
async fn trust_all(git: &Git, stop: &Stop) -> Result<(), Error> {
    let prefix = "setting the trust of GPG keys: ";
    let list = Call::new(prefix, ["--batch", "--with-colons", "--list-keys", "--fingerprint"]);
    let printed = git.run_program("gpg", list, stop).await?;
    let lines: String =
        fingerprints(&String::from_utf8_lossy(&printed)).into_iter().map(|f| format!("{f}:6:\n")).collect();
    let call = Call::new(prefix, ["--batch", "--import-ownertrust"]).stdin(lines);
    git.run_program("gpg", call, stop).await.map(drop)
}

/// Fingerprints of primary keys: the first `fpr` line after each `pub` line.
fn fingerprints(printed: &str) -> Vec<&str> {
    let mut wanted = false;
    let mut found = Vec::new();
    for line in printed.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        match (fields.first(), fields.get(9)) {
            (Some(&"pub"), _) => wanted = true,
            (Some(&"fpr"), Some(print)) if wanted => {
                found.push(*print);
                wanted = false;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_primary_keys_are_trusted() {
        let printed = "tru::1\npub:u:4096:1:AA\nfpr:::::::::AAAA:\nsub:u:4096:1:BB\nfpr:::::::::BBBB:\n\
                       pub:-:255\nfpr:::::::::CCCC:\n";
        assert_eq!(fingerprints(printed), ["AAAA", "CCCC"]);
    }
}
