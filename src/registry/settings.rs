//! What a scan is told from outside: limits, globs, hosts, clouds. All values are given; the environment is not read here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Settings of a [`Registry`](super::Registry).
#[derive(Clone, Debug)]
pub struct Settings {
    /// Nothing is asked, ever (`--registry-disable-scanning`).
    pub disabled: bool,
    /// Requests per second to one host (`--registry-rps`).
    pub rps: f64,
    /// Requests at once to one host, and manifests fetched at once for one repository (`--registry-burst`).
    pub burst: u32,
    /// Time between two listings of a repository's tags. v1's was a minute.
    pub poll: Duration,
    /// Time that one request has, with its body.
    pub timeout: Duration,
    /// Hosts whose certificates are not verified and which may be spoken to without TLS (`--registry-insecure-host`).
    pub insecure_hosts: Vec<String>,
    /// Logs every request (`--registry-trace`).
    pub trace: bool,
    /// Globs on canonical names; when there are any, only these are scanned (`--registry-include-image`).
    pub include: Vec<String>,
    /// Globs on canonical names that are never scanned (`--registry-exclude-image`).
    pub exclude: Vec<String>,
    /// Globs on canonical names whose labels say when an image was made (`--registry-use-labels`).
    pub use_labels: Vec<String>,
    /// A docker configuration with credentials of the lowest precedence (`--docker-config`), read again at each scan.
    pub docker_config: Option<PathBuf>,
    /// The whole environment of credential helpers that the docker configuration names.
    pub helper_env: BTreeMap<OsString, OsString>,
    /// Amazon's registries.
    pub ecr: Ecr,
    /// Google's registries.
    pub google: Google,
    /// Microsoft's registries.
    pub azure: Azure,
    /// Proxies for all requests.
    pub proxies: Proxies,
    /// Certificates instead of the system's, and our own.
    pub trust: Trust,
    /// The file that keeps answers over restarts. It is a cache and may be deleted at any time.
    pub cache: Option<PathBuf>,
    /// Sent as `User-Agent: fluxd/VERSION`.
    pub version: String,
    /// Hears how long things took.
    pub observe: Option<Observe>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            disabled: false,
            rps: 50.0,
            burst: 10,
            poll: Duration::from_secs(60),
            timeout: Duration::from_secs(60),
            insecure_hosts: Vec::new(),
            trace: false,
            include: Vec::new(),
            exclude: vec!["k8s.gcr.io/*".to_owned()],
            use_labels: vec!["index.docker.io/weaveworks/*".to_owned(), "index.docker.io/fluxcd/*".to_owned()],
            docker_config: None,
            helper_env: BTreeMap::new(),
            ecr: Ecr::default(),
            google: Google::default(),
            azure: Azure::default(),
            proxies: Proxies::default(),
            trust: Trust::default(),
            cache: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            observe: None,
        }
    }
}

/// Proxies as the environment names them (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). Their URLs may hold passwords.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `https` URLs.
    pub https: Option<String>,
    /// For `http` URLs.
    pub http: Option<String>,
    /// Hosts spoken to directly, in the form of `NO_PROXY`.
    pub exempt: Option<String>,
}

impl std::fmt::Debug for Proxies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |url: &Option<String>| url.as_ref().map(|_| "<set>");
        f.debug_struct("Proxies")
            .field("https", &shown(&self.https))
            .field("http", &shown(&self.http))
            .field("exempt", &self.exempt)
            .finish()
    }
}

/// How registries prove who they are, and we to them. Never printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// PEM certificates that replace the system's.
    pub authorities: Option<Vec<u8>>,
    /// Our certificate with its key, both PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let set = (self.authorities.is_some(), self.identity.is_some());
        f.debug_struct("Trust").field("authorities", &set.0).field("identity", &set.1).finish()
    }
}

/// Amazon's Elastic Container Registry: which accounts and regions, and how to sign requests.
#[derive(Clone, Debug, Default)]
pub struct Ecr {
    /// Regions to scan (`--registry-ecr-region`); when empty, the one that the environment or the machine is in.
    pub regions: Vec<String>,
    /// Accounts to scan, all when empty (`--registry-ecr-include-id`).
    pub include_ids: Vec<String>,
    /// Accounts not to scan (`--registry-ecr-exclude-id`).
    pub exclude_ids: Vec<String>,
    /// Where credentials come from.
    pub aws: Aws,
}

/// What AWS's tools read from the environment, by value.
#[derive(Clone, Default)]
pub struct Aws {
    /// `AWS_REGION`, or `AWS_DEFAULT_REGION`.
    pub region: Option<String>,
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key_id: Option<String>,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: Option<String>,
    /// `AWS_SESSION_TOKEN`.
    pub session_token: Option<String>,
    /// `AWS_WEB_IDENTITY_TOKEN_FILE`.
    pub web_identity_token_file: Option<PathBuf>,
    /// `AWS_ROLE_ARN`.
    pub role_arn: Option<String>,
    /// `AWS_ROLE_SESSION_NAME`.
    pub role_session_name: Option<String>,
    /// Base URL instead of `https://api.ecr.REGION.amazonaws.com`.
    pub ecr_endpoint: Option<String>,
    /// Base URL instead of `https://sts.REGION.amazonaws.com`.
    pub sts_endpoint: Option<String>,
    /// Base URL instead of `http://169.254.169.254` (`AWS_EC2_METADATA_SERVICE_ENDPOINT`).
    pub metadata_endpoint: Option<String>,
    /// Where a container's agent hands out keys (`AWS_CONTAINER_CREDENTIALS_FULL_URI`): EKS Pod Identity.
    pub container_credentials_uri: Option<String>,
    /// The file with what the agent wants to see (`AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`).
    pub container_token_file: Option<PathBuf>,
}

impl std::fmt::Debug for Aws {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aws")
            .field("region", &self.region)
            .field("role_arn", &self.role_arn)
            .field("keys", &self.access_key_id.is_some())
            .finish_non_exhaustive()
    }
}

/// Google's registries: the machine's own service account.
#[derive(Clone, Debug, Default)]
pub struct Google {
    /// Base URL instead of `http://metadata.google.internal`.
    pub metadata_endpoint: Option<String>,
    /// Base URL instead of `https://sts.googleapis.com`.
    pub sts_endpoint: Option<String>,
    /// Base URL instead of `https://iamcredentials.googleapis.com`.
    pub iam_endpoint: Option<String>,
}

/// Microsoft's registries: the cluster's service principal, or the pod's workload identity.
#[derive(Clone, Default)]
pub struct Azure {
    /// File with the service principal instead of `/etc/kubernetes/azure.json`.
    pub config: Option<PathBuf>,
    /// `AZURE_CLIENT_ID`.
    pub client_id: Option<String>,
    /// `AZURE_TENANT_ID`.
    pub tenant_id: Option<String>,
    /// `AZURE_FEDERATED_TOKEN_FILE`.
    pub federated_token_file: Option<PathBuf>,
    /// `AZURE_AUTHORITY_HOST`, instead of `https://login.microsoftonline.com`.
    pub authority: Option<String>,
    /// Base URL of the registry's token exchange instead of `https://HOST`.
    pub exchange_endpoint: Option<String>,
    /// `AZURE_CLIENT_SECRET`.
    pub client_secret: Option<String>,
    /// Base URL instead of `http://169.254.169.254`, where machines have identities of their own.
    pub metadata_endpoint: Option<String>,
}

impl std::fmt::Debug for Azure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Azure")
            .field("client_id", &self.client_id)
            .field("tenant_id", &self.tenant_id)
            .field("secret", &self.client_secret.is_some())
            .finish_non_exhaustive()
    }
}

/// Something whose duration or count is measured (fluxd-v1 §9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A repository was scanned: `flux_registry_fetch_duration_seconds`.
    Fetch,
    /// Tags were listed: `flux_client_fetch_duration_seconds{kind="tags"}`.
    Tags,
    /// A manifest was fetched or looked at: `flux_client_fetch_duration_seconds{kind="metadata"}`.
    Metadata,
    /// An answer was looked up: `flux_cache_request_duration_seconds{method="GetKey"}`.
    CacheGet,
    /// Answers were kept: `flux_cache_request_duration_seconds{method="SetKey"}`.
    CacheSet,
}

/// Hears what was observed, how long it took, and whether it succeeded.
#[derive(Clone)]
pub struct Observe(pub Arc<dyn Fn(Observation, Duration, bool) + Send + Sync>);

impl std::fmt::Debug for Observe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observe")
    }
}
