//! The data key of a file: from age identities and PGP keys in process, then from `gpg`, and through `sops` for services.

use std::io::Read as _;
use std::time::Duration;

use age::armor::ArmoredReader;
use pgp::composed::{DecryptionOptions, Deserializable as _, Message, SignedSecretKey, TheRing};
use pgp::types::Password;

use crate::runtime::Stop;
use crate::runtime::process::{Command, Env, ProcessError};

use super::metadata::{AgeKey, Group, Metadata, PgpKey};
use super::{SopsError, SopsKeys, shamir};

/// Time for `gpg` and `sops`.
const PROGRAM_TIME: Duration = Duration::from_secs(30);

/// A data key is 32 bytes; parts are one longer. More than this is no key.
const MAX_KEY: u64 = 1024;

/// Finds the data key.
///
/// # Errors
/// [`SopsError::NoKey`] with what was tried for each recipient.
pub(super) async fn data_key(metadata: &Metadata, keys: &SopsKeys, stop: &Stop) -> Result<[u8; 32], SopsError> {
    let (mut parts, mut tried) = (Vec::new(), Vec::new());
    for group in &metadata.groups {
        match group_key(group, keys, stop, &mut tried).await {
            Some(part) => parts.push(part),
            None if metadata.groups.len() == 1 => return Err(no_key(metadata, &tried)),
            None => {}
        }
    }
    let key = if metadata.groups.len() == 1 {
        parts.pop()
    } else if parts.len() >= metadata.threshold {
        shamir::combine(&parts)
    } else {
        tried.push(format!("{} of {} parts found", parts.len(), metadata.threshold));
        None
    };
    key.and_then(|key| key.try_into().ok()).ok_or_else(|| no_key(metadata, &tried))
}

fn no_key(metadata: &Metadata, tried: &[String]) -> SopsError {
    let mut reasons = tried.to_vec();
    reasons.extend(metadata.services().into_iter().map(|service| format!("{service} needs the program sops on PATH")));
    if reasons.is_empty() {
        reasons.push("the file names no recipient".into());
    }
    SopsError::NoKey(reasons.join("; "))
}

async fn group_key(group: &Group, keys: &SopsKeys, stop: &Stop, tried: &mut Vec<String>) -> Option<Vec<u8>> {
    for recipient in &group.age {
        match open_age(recipient, &keys.age) {
            Ok(key) => return Some(key),
            Err(reason) => tried.push(format!("age recipient {}: {reason}", recipient.recipient)),
        }
    }
    for recipient in &group.pgp {
        if let Some(key) = open_pgp(recipient, &keys.pgp) {
            return Some(key);
        }
        match ask_gpg(recipient, keys, stop).await {
            Ok(key) => return Some(key),
            Err(reason) => tried.push(format!("PGP key {}: not among the imported keys; {reason}", recipient.fp)),
        }
    }
    None
}

fn open_age(recipient: &AgeKey, identities: &str) -> Result<Vec<u8>, String> {
    if identities.trim().is_empty() {
        return Err("no age identity is configured".into());
    }
    let file =
        age::IdentityFile::from_buffer(identities.as_bytes()).map_err(|_| "the age identities cannot be read")?;
    let identities = file.into_identities().map_err(|_| "the age identities cannot be read")?;
    let message = age::Decryptor::new(ArmoredReader::new(recipient.enc.as_bytes())).map_err(|e| e.to_string())?;
    let identities = identities.iter().map(|identity| &**identity as &dyn age::Identity);
    let reader = message.decrypt(identities).map_err(|e| e.to_string())?;
    let mut key = Vec::new();
    reader.take(MAX_KEY).read_to_end(&mut key).map_err(|e| e.to_string())?;
    Ok(key)
}

fn open_pgp(recipient: &PgpKey, imported: &[Vec<u8>]) -> Option<Vec<u8>> {
    let keys: Vec<SignedSecretKey> = imported.iter().flat_map(|file| secret_keys(file)).collect();
    let (message, _) = Message::from_string(&recipient.enc).ok()?;
    let password = Password::empty();
    let ring = TheRing {
        secret_keys: keys.iter().collect(),
        key_passwords: keys.iter().map(|_| &password).collect(),
        decrypt_options: DecryptionOptions::new().enable_gnupg_aead(),
        ..TheRing::default()
    };
    let (mut opened, _) = message.decrypt_the_ring(ring, true).ok()?;
    if opened.is_compressed() {
        opened = opened.decompress().ok()?;
    }
    let mut key = Vec::new();
    opened.take(MAX_KEY).read_to_end(&mut key).ok()?;
    Some(key)
}

fn secret_keys(file: &[u8]) -> Vec<SignedSecretKey> {
    let armoured = SignedSecretKey::from_armor_many(file).map(|(keys, _)| keys.flatten().collect::<Vec<_>>());
    armoured
        .or_else(|_| SignedSecretKey::from_bytes_many(file).map(|keys| keys.flatten().collect()))
        .unwrap_or_default()
}

async fn ask_gpg(recipient: &PgpKey, keys: &SopsKeys, stop: &Stop) -> Result<Vec<u8>, String> {
    let command = Command::new("gpg")
        .args(["--batch", "--quiet", "--no-tty", "--decrypt"])
        .env(Env::Exactly(keys.env.clone()))
        .stdin(recipient.enc.as_bytes())
        .timeout(PROGRAM_TIME);
    let output = command.run(stop).await.map_err(|e| e.to_string())?;
    if output.status.success() { Ok(output.stdout) } else { Err(format!("gpg: {}", last_line(&output.stderr))) }
}

/// Has the `sops` program decrypt the whole file, for recipients that only it can ask.
///
/// # Errors
/// [`SopsError::NoKey`] when the program is not there, [`SopsError::Program`] when it fails.
pub(super) async fn run_sops(
    bytes: &[u8],
    metadata: &Metadata,
    keys: &SopsKeys,
    stop: &Stop,
) -> Result<Vec<u8>, SopsError> {
    let mut env = keys.env.clone();
    if !keys.age.trim().is_empty() {
        env.insert("SOPS_AGE_KEY".into(), keys.age.clone().into());
    }
    let command = Command::new("sops")
        .args(["--decrypt", "--input-type", "yaml", "--output-type", "yaml", "/dev/stdin"])
        .env(Env::Exactly(env))
        .stdin(bytes)
        .timeout(PROGRAM_TIME);
    match command.run(stop).await {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(SopsError::Program(format!("sops: {}", last_line(&output.stderr)))),
        Err(ProcessError::Spawn { .. }) => Err(no_key(metadata, &[])),
        Err(error) => Err(SopsError::Program(error.to_string())),
    }
}

fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message").trim().chars().take(300).collect()
}
