//! The daemon's ssh identity (fluxd-v1 §2.8): found in the secret or its mount, else generated and stored. Where the
//! secret lives is the caller's knowledge and comes in as two functions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use serde::Serialize;

use super::Error;
use super::run::{Call, Git};
use super::scratch::write_private;
use crate::runtime::{Stop, to_the_end};

/// Longest time of one run of ssh-keygen; large RSA keys take a while.
const TIMEOUT: Duration = Duration::from_secs(120);

/// How new keys are made, and where keys are.
#[derive(Clone, Debug)]
pub struct KeySettings {
    /// Where the secret is mounted.
    pub mount: PathBuf,
    /// Name of the private key in the secret.
    pub data_key: String,
    /// Directory for generated keys, best in memory.
    pub directory: PathBuf,
    /// Bits of a new key.
    pub bits: Option<u64>,
    /// Type of a new key, as `ed25519`.
    pub kind: Option<String>,
    /// Format of a new key, as `PEM`.
    pub format: Option<String>,
    /// Environment of ssh-keygen.
    pub env: BTreeMap<OsString, OsString>,
}

/// A key pair to be stored.
#[derive(Clone)]
pub struct KeyPair {
    /// Name of the private key in the secret.
    pub data_key: String,
    /// The private key's text.
    pub private: Vec<u8>,
    /// The public key's text, stored as `identity.pub`.
    pub public: Vec<u8>,
}

/// Reads the private key from the secret; none when the secret has none. The error is a reason in words.
pub type LoadKey = Arc<dyn Fn() -> BoxFuture<'static, Result<Option<Vec<u8>>, String>> + Send + Sync>;
/// Stores a key pair in the secret, which must exist. The error is a reason in words.
pub type StoreKey = Arc<dyn Fn(KeyPair) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// A public key as the API shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PublicKey {
    /// The line for `authorized_keys`; empty without a key ring.
    pub key: String,
    /// Fingerprints by algorithm (`md5`, `sha256`); none without a key ring.
    pub fingerprints: Option<BTreeMap<&'static str, Fingerprint>>,
}

/// A fingerprint in two forms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fingerprint {
    /// Without the algorithm before it.
    pub hash: String,
    /// The picture that ssh-keygen draws.
    pub randomart: String,
}

/// The ssh identity of this daemon.
#[derive(Clone)]
pub struct KeyRing {
    settings: Arc<KeySettings>,
    store: StoreKey,
    git: Git,
    public: Arc<Mutex<PublicKey>>,
    one: Arc<tokio::sync::Mutex<()>>,
}

impl KeyRing {
    /// Finds the key in the secret, then in its mount, else makes one and stores it. The secret is asked first because
    /// after a restart the mount can still be without a key that was stored a moment ago.
    ///
    /// # Errors
    /// The secret cannot be read or written, or the key is none.
    pub async fn open(settings: KeySettings, load: LoadKey, store: StoreKey, stop: &Stop) -> Result<Self, Error> {
        let git = Git::new(&settings.env, TIMEOUT, Vec::new());
        let ring = Self { settings: Arc::new(settings), store, git, public: Arc::default(), one: Arc::default() };
        let stored =
            load().await.map_err(|reason| Error::Key { doing: "reading the ssh identity's secret", reason })?;
        let mounted = fs::read(ring.settings.mount.join(&ring.settings.data_key)).ok();
        match stored.filter(|key| !key.is_empty()).or(mounted) {
            Some(private) => {
                fs::create_dir_all(&ring.settings.directory)
                    .map_err(Error::io("creating", &ring.settings.directory))?;
                write_private(&ring.generated(), &private)?;
                let public = ring.extract(stop).await?;
                ring.show(&public, stop).await?;
            }
            None => ring.regenerate(stop).await?,
        }
        Ok(ring)
    }

    /// The files in which ssh finds the private key: the mount, which follows changes of the secret, and our copy.
    pub fn identities(&self) -> Vec<PathBuf> {
        vec![self.generated(), self.settings.mount.join(&self.settings.data_key)]
    }

    /// The public key of now.
    pub fn public_key(&self) -> PublicKey {
        self.public.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes a new key and stores it; only then is it used. It is done to the end even when the caller goes away: a key
    /// that is stored and not used would lock the daemon out.
    ///
    /// # Errors
    /// ssh-keygen failed, or the secret cannot be written.
    pub async fn regenerate(&self, stop: &Stop) -> Result<(), Error> {
        let (ring, stop) = (self.clone(), stop.clone());
        to_the_end("making a deploy key", async move { ring.replace(&stop).await }).await?
    }

    async fn replace(&self, stop: &Stop) -> Result<(), Error> {
        let _one = self.one.lock().await;
        let parent = &self.settings.directory;
        fs::create_dir_all(parent).map_err(Error::io("creating", parent))?;
        let dir =
            tempfile::Builder::new().prefix("..keygen").tempdir_in(parent).map_err(Error::io("creating", parent))?;
        let path = dir.path().join("identity");
        let mut args: Vec<OsString> = ["-q", "-N", "", "-f"].map(OsString::from).to_vec();
        args.push(path.clone().into());
        let bits = self.settings.bits.map(|b| b.to_string());
        let choices =
            [("-b", bits.as_ref()), ("-t", self.settings.kind.as_ref()), ("-m", self.settings.format.as_ref())];
        for (flag, value) in choices {
            args.extend(value.into_iter().flat_map(|v| [OsString::from(flag), OsString::from(v)]));
        }
        self.git.run_program("ssh-keygen", Call::new("generating an ssh key: ", args), stop).await?;
        let private = fs::read(&path).map_err(Error::io("reading", &path))?;
        let public_path = path.with_extension("pub");
        let public = fs::read(&public_path).map_err(Error::io("reading", &public_path))?;
        let pair =
            KeyPair { data_key: self.settings.data_key.clone(), private: private.clone(), public: public.clone() };
        let doing = "storing the new ssh identity in its secret";
        (self.store)(pair).await.map_err(|reason| Error::Key { doing, reason })?;
        write_private(&self.generated(), &private)?;
        self.show(&String::from_utf8_lossy(&public), stop).await
    }

    fn generated(&self) -> PathBuf {
        self.settings.directory.join("identity")
    }

    async fn extract(&self, stop: &Stop) -> Result<String, Error> {
        let args = ["-y".as_ref(), "-f".as_ref(), self.generated().into_os_string().as_os_str()].map(OsString::from);
        let printed = self.git.run_program("ssh-keygen", Call::new("extracting public key: ", args), stop).await?;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }

    async fn show(&self, public: &str, stop: &Stop) -> Result<(), Error> {
        let path = self.settings.directory.join("identity.pub");
        write_private(&path, public.as_bytes())?;
        let mut fingerprints = BTreeMap::new();
        for algorithm in ["md5", "sha256"] {
            fingerprints.insert(algorithm, self.fingerprint(&path, algorithm, stop).await?);
        }
        let shown = PublicKey { key: public.to_owned(), fingerprints: Some(fingerprints) };
        *self.public.lock().unwrap_or_else(PoisonError::into_inner) = shown;
        Ok(())
    }

    async fn fingerprint(&self, path: &Path, algorithm: &str, stop: &Stop) -> Result<Fingerprint, Error> {
        let mut args = ["-l", "-v", "-E", algorithm, "-f"].map(OsString::from).to_vec();
        args.push(path.into());
        let call = Call::new("reading the ssh key's fingerprint: ", args);
        let printed = self.git.run_program("ssh-keygen", call, stop).await?;
        let reason = "unexpected output of ssh-keygen -l".to_owned();
        let doing = "reading the ssh key's fingerprint";
        parse_fingerprint(&String::from_utf8_lossy(&printed)).ok_or(Error::Key { doing, reason })
    }
}

/// `2048 SHA256:hash comment (RSA)`, then the picture.
fn parse_fingerprint(printed: &str) -> Option<Fingerprint> {
    let (line, picture) = printed.split_once('\n')?;
    let (_, hash) = line.split(' ').nth(1)?.split_once(':')?;
    Some(Fingerprint { hash: hash.to_owned(), randomart: picture.to_owned() })
}
