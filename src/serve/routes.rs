//! The table of routes: what is matched, under which name, and what is told of it in the OpenAPI document. How a request is
//! answered is elsewhere.

use http::Method;

/// Prefix of v1's API.
pub(super) const V1: &str = "/api/flux";
/// Prefix of what v1 did not have.
pub(super) const OURS: &str = "/api/fluxd/v1";

/// What answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Ping,
    Version,
    Notify,
    ListServices,
    ListImages,
    UpdateManifests,
    JobStatus,
    SyncStatus,
    Export,
    GitRepoConfig,
    UpdateImages,
    UpdatePolicies,
    PublicKey,
    RegenerateKey,
    Status,
    Plan,
    Objects,
    Trace,
    Events,
    JobEvents,
    Outcome,
    Progress,
    Deletes,
    Approve,
    Pause,
    Resume,
    /// Asks for a sync.
    SyncNow,
    OpenApi,
    /// A webhook.
    Hook,
    Metrics,
    Live,
    Ready,
}

/// One route.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) method: Method,
    /// Whole path; a segment in braces matches any one segment.
    pub(super) path: &'static str,
    /// v1's route name, also the label of its metric.
    pub(super) name: &'static str,
    /// Query keys without which the route does not match; an empty value will do (fluxd-v1 §8.1).
    pub(super) required: &'static [&'static str],
    /// Other query keys that mean something.
    pub(super) optional: &'static [&'static str],
    pub(super) endpoint: Endpoint,
    /// One sentence for the document.
    pub(super) about: &'static str,
}

/// Whether a route must be answered however busy the server is.
pub(super) fn is_probe(endpoint: Endpoint) -> bool {
    matches!(endpoint, Endpoint::Live | Endpoint::Ready | Endpoint::PublicKey | Endpoint::Metrics)
}

macro_rules! routes {
    ($($method:ident $path:expr, $name:literal, [$($required:literal)*] [$($optional:literal)*], $endpoint:ident, $about:literal;)*) => {
        /// All routes.
        pub(super) static ROUTES: &[Route] = &[$(Route {
            method: Method::$method,
            path: $path,
            name: $name,
            required: &[$($required),*],
            optional: &[$($optional),*],
            endpoint: Endpoint::$endpoint,
            about: $about,
        }),*];
    };
}

routes! {
    GET "/api/flux/v11/ping", "Ping", [] [], Ping, "Answers 204 when the Kubernetes API server can be reached.";
    GET "/api/flux/v11/version", "Version", [] [], Version, "The program's version.";
    POST "/api/flux/v11/notify", "Notify", [] [], Notify, "Tells that a git repository or an image repository changed.";
    GET "/api/flux/v6/services", "ListServices", [] ["namespace" "services"], ListServices, "Workloads in the cluster with what git says of them.";
    GET "/api/flux/v11/services", "ListServicesWithOptions", [] ["namespace" "services"], ListServices, "Workloads of a namespace, or those named.";
    GET "/api/flux/v6/images", "ListImages", [] ["service" "namespace" "containerFields"], ListImages, "Images available to workloads.";
    GET "/api/flux/v10/images", "ListImagesWithOptions", [] ["service" "namespace" "containerFields"], ListImages, "Images available to workloads.";
    POST "/api/flux/v9/update-manifests", "UpdateManifests", [] [], UpdateManifests, "Starts a release, a policy change or a sync as a job.";
    GET "/api/flux/v6/jobs", "JobStatus", ["id"] [], JobStatus, "Where a job stands.";
    GET "/api/flux/v6/sync", "SyncStatus", ["ref"] [], SyncStatus, "Commits up to a reference that are not applied yet, newest first.";
    GET "/api/flux/v6/export", "Export", [] [], Export, "Namespaces and workloads as YAML, base64.";
    HEAD "/api/flux/v6/export", "Export", [] [], Export, "Whether an export can be made.";
    POST "/api/flux/v9/git-repo-config", "GitRepoConfig", [] [], GitRepoConfig, "Settings and state of the repository; the body says whether to make a new deploy key first.";
    POST "/api/flux/v6/update-images", "UpdateImages", ["service" "image" "kind"] ["exclude" "user" "message"], UpdateImages, "Starts an image release as a job (old clients).";
    PATCH "/api/flux/v6/policies", "UpdatePolicies", [] ["user" "message"], UpdatePolicies, "Starts a policy change as a job (old clients).";
    GET "/api/flux/v6/identity.pub", "GetPublicSSHKey", [] [], PublicKey, "The public deploy key. Answers 200 in every state, because probes ask it.";
    POST "/api/flux/v6/identity.pub", "RegeneratePublicSSHKey", [] [], RegenerateKey, "Makes a new deploy key.";
    GET "/api/fluxd/v1/status", "Status", [] [], Status, "What the daemon does and how the last sync went, in short.";
    GET "/api/fluxd/v1/plan", "Plan", [] ["last" "all" "diff"], Plan, "What a sync would do now, from fresh reads; last=true: what the last one did; all=true: also what is kept; diff=true: field by field. Text when asked for text/plain.";
    GET "/api/fluxd/v1/objects", "Objects", [] [], Objects, "The managed objects with their place in git, and the workloads that they made.";
    GET "/api/fluxd/v1/trace", "Trace", ["id"] [], Trace, "Where an object (ns:kind/name) comes from, what became of it, and who owns each field.";
    GET "/api/fluxd/v1/events", "Events", [] [], Events, "Server-sent events: jobs, syncs, v1's events.";
    GET "/api/fluxd/v1/jobs/{id}/events", "JobEvents", [] [], JobEvents, "Server-sent events of one job, until it ends.";
    GET "/api/fluxd/v1/outcome", "Outcome", [] ["all"], Outcome, "What became of each object at the last sync; with all=true also of the unchanged ones.";
    GET "/api/fluxd/v1/progress", "Progress", [] [], Progress, "How far a running sync is.";
    GET "/api/fluxd/v1/deletes", "Deletes", [] [], Deletes, "Deletes that wait for an approval.";
    POST "/api/fluxd/v1/deletes/{digest}/approve", "ApproveDeletes", [] [], Approve, "Lets the held deletes of a digest through.";
    POST "/api/fluxd/v1/pause", "Pause", [] [], Pause, "Starts no sync and no automated release any more until resumed.";
    POST "/api/fluxd/v1/resume", "Resume", [] [], Resume, "Ends a pause and syncs.";
    POST "/api/fluxd/v1/sync", "SyncNow", [] [], SyncNow, "Syncs what is known of git, without looking at the remote first.";
    GET "/api/fluxd/v1/openapi.json", "OpenAPI", [] [], OpenApi, "This document.";
    POST "/hook/{digest}", "Hook", [] [], Hook, "A webhook of a git host or an image registry (--receivers-config); the digest is of its key.";
    GET "/metrics", "Metrics", [] [], Metrics, "Metrics in the Prometheus text format.";
    HEAD "/metrics", "Metrics", [] [], Metrics, "As GET, without body.";
    GET "/healthz", "Live", [] [], Live, "Answers 200 unless a stage is past its deadline.";
    HEAD "/healthz", "Live", [] [], Live, "As GET, without body.";
    GET "/readyz", "Ready", [] [], Ready, "Answers 200 when the process is of use.";
    HEAD "/readyz", "Ready", [] [], Ready, "As GET, without body.";
}

/// A route that matched, with what stood where its path has braces.
pub(super) struct Match<'a> {
    pub(super) route: &'static Route,
    pub(super) segment: &'a str,
}

/// Finds the route of a request.
pub(super) fn find<'a>(method: &Method, path: &'a str, has_key: impl Fn(&str) -> bool) -> Option<Match<'a>> {
    ROUTES.iter().filter(|route| route.method == *method).find_map(|route| {
        let segment = match_path(route.path, path)?;
        route.required.iter().all(|key| has_key(key)).then_some(Match { route, segment })
    })
}

/// The segment in braces, or nothing where the paths are equal.
fn match_path<'a>(pattern: &str, path: &'a str) -> Option<&'a str> {
    let Some((before, after)) = pattern.split_once('{').and_then(|(b, rest)| Some((b, rest.split_once('}')?.1))) else {
        return (pattern == path).then_some("");
    };
    let segment = path.strip_prefix(before)?.strip_suffix(after)?;
    (!segment.is_empty() && !segment.contains('/')).then_some(segment)
}
