//! The docker configuration that `--docker-config` names, with the credential helpers it names. It is read again at each
//! scan; what helpers say is kept for some minutes, because each is a process.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::super::credentials::host_of;
use super::super::{Credentials, Login, Settings};
use super::only;
use crate::runtime::Stop;
use crate::runtime::process::{Command, Env};

/// How long a helper may take, how much it may write, and how long its answer is kept.
const TIMEOUT: Duration = Duration::from_secs(30);
const OUTPUT: usize = 1 << 20;
const KEPT: Duration = Duration::from_secs(300);
/// Bytes of the configuration.
const LIMIT: u64 = 4 << 20;

/// What a helper said of a host, until when.
type Kept = HashMap<String, (Instant, Option<Login>)>;

pub(super) struct DockerConfig {
    settings: Arc<Settings>,
    kept: Mutex<Kept>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Helpers {
    cred_helpers: HashMap<String, String>,
    creds_store: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    username: String,
    secret: String,
}

impl DockerConfig {
    pub(super) fn new(settings: &Arc<Settings>) -> Self {
        Self { settings: Arc::clone(settings), kept: Mutex::default() }
    }

    /// Finds the login for a host; a configuration that cannot be used is logged and ignored, as in v1.
    pub(super) async fn find(&self, host: &str, stop: &Stop) -> Credentials {
        let Some(path) = &self.settings.docker_config else { return Credentials::default() };
        let config = match read(path).await {
            Ok(config) => config,
            Err(reason) => {
                tracing::warn!(component = "registry", path = %path.display(), err = reason, "docker config ignored");
                return Credentials::default();
            }
        };
        let helpers: Helpers = serde_json::from_slice(&config).unwrap_or_default();
        let own = helpers.cred_helpers.iter().find(|(key, _)| host_of(key) == host).map(|(_, name)| name);
        let helper = own.or(Some(&helpers.creds_store)).filter(|name| !name.is_empty());
        if let Some(helper) = helper
            && let Some(login) = self.helped(helper, host, stop).await
        {
            return only(host, login);
        }
        match Credentials::parse(&config, &path.display().to_string()) {
            Ok((credentials, unusable)) => {
                for entry in unusable {
                    tracing::debug!(component = "registry", path = %path.display(), entry, "entry ignored");
                }
                credentials
            }
            Err(error) => {
                tracing::warn!(component = "registry", err = %error, "docker config ignored");
                Credentials::default()
            }
        }
    }

    async fn helped(&self, helper: &str, host: &str, stop: &Stop) -> Option<Login> {
        let key = format!("{helper} {host}");
        if let Some((until, login)) = self.kept().get(&key)
            && *until > Instant::now()
        {
            return login.clone();
        }
        let login = match self.run(helper, host, stop).await {
            Ok(login) => login,
            Err(reason) => {
                tracing::warn!(component = "registry", helper, host, err = reason, "credential helper failed");
                None
            }
        };
        self.kept().insert(key, (Instant::now() + KEPT, login.clone()));
        login
    }

    /// Runs `docker-credential-NAME get`. What it writes may be secret, so no message shows it.
    async fn run(&self, helper: &str, host: &str, stop: &Stop) -> Result<Option<Login>, String> {
        if !helper.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')) {
            return Err("expected the name of a helper to consist of letters, digits, '.', '-' and '_'".to_owned());
        }
        let server = if host == "index.docker.io" { "https://index.docker.io/v1/" } else { host };
        let command = Command::new(format!("docker-credential-{helper}"))
            .arg("get")
            .stdin(server.as_bytes().to_vec())
            .env(Env::Exactly(self.settings.helper_env.clone()))
            .timeout(TIMEOUT)
            .stdout_limit(OUTPUT);
        let output = command.run(stop).await.map_err(|e| e.to_string())?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stdout).to_lowercase();
            let none = words.contains("credentials not found");
            return if none { Ok(None) } else { Err(format!("it ended with {}", output.status)) };
        }
        let answer: Answer = serde_json::from_slice(&output.stdout)
            .map_err(|_| "expected JSON with \"Username\" and \"Secret\"".to_owned())?;
        let provenance = format!("docker-credential-{helper}");
        Ok(Some(match answer.username.as_str() {
            "<token>" => Login::identity_token(answer.secret, provenance),
            user => Login::new(user, answer.secret, provenance),
        }))
    }

    /// A lock whose holder panicked still holds consistent data here.
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, String> {
    use tokio::io::AsyncReadExt as _;
    let file = tokio::fs::File::open(path).await.map_err(|e| e.to_string())?;
    let mut config = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut config).await.map_err(|e| e.to_string())?;
    Ok(config)
}
