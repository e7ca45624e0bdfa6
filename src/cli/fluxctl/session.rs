//! One invocation: its settings, its terminal, and its way to the daemon, which is found when a verb needs it.

use std::ops::Deref;
use std::time::Duration;

use super::super::connect;
use super::super::environment::Environment;
use super::super::flags::Given;
use super::globals::Globals;
use super::problem::Problem;
use super::terminal::Screen;
use crate::client::{Client, ClientError, Forward, REQUEST_TIMEOUT, Target};
use crate::object::ObjectId;
use crate::report::Cause;
use crate::runtime::Stop;
use crate::runtime::process::{Command, Env};

/// How long git may take to say who its user is.
const GIT: Duration = Duration::from_secs(10);

/// What a verb works with.
pub(super) struct Session<'a> {
    pub(super) given: &'a Given,
    /// Arguments that are no flags.
    pub(super) rest: &'a [String],
    pub(super) globals: Globals,
    pub(super) screen: Screen,
    env: &'a Environment,
}

/// A client, and what keeps its way open.
pub(super) struct Connection {
    client: Client,
    _forward: Option<Forward>,
}

impl Deref for Connection {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl<'a> Session<'a> {
    pub(super) fn new(
        given: &'a Given,
        rest: &'a [String],
        env: &'a Environment,
        globals: Globals,
    ) -> Result<Self, Problem> {
        Ok(Self { given, rest, globals, screen: Screen::of(given, env)?, env })
    }

    /// Finds the daemon: at its URL, else in the cluster.
    pub(super) async fn connect(&self) -> Result<Connection, Problem> {
        let mut url = self.globals.url.clone();
        let mut forward = None;
        if url.is_empty() {
            let way = self.screen.patient("Looking for the daemon's pod", self.forward()).await?;
            url = way.url();
            forward = Some(way);
        }
        let timeout = self.globals.timeout.max(REQUEST_TIMEOUT);
        let client = Client::new(Target { url, token: self.globals.token.clone(), timeout })?;
        Ok(Connection { client, _forward: forward })
    }

    /// The environment with another kubeconfig, unless its name is empty.
    fn env_with(&self, kubeconfig: &str) -> Environment {
        let mut env = self.env.clone();
        if !kubeconfig.is_empty() {
            env.vars.insert("KUBECONFIG".into(), kubeconfig.into());
        }
        env
    }

    /// The namespace of `-n`, else of the context in a kubeconfig, else `default`.
    pub(super) fn namespace_in(&self, kubeconfig: &str) -> String {
        let given = self.given.text("namespace");
        if !given.is_empty() {
            return given;
        }
        // An unreadable kubeconfig is told when a way into its cluster is needed.
        let found = connect::context_namespace(&self.globals.context, &self.env_with(kubeconfig));
        found.unwrap_or_else(|_| "default".to_owned())
    }

    /// The cluster of the kubeconfig's context; `kubeconfig` is a file that is used instead of the user's.
    pub(super) async fn cluster(&self, kubeconfig: &str) -> Result<connect::Connection, Problem> {
        let unusable =
            |e: connect::ConnectError| Problem::Usage(format!("Could not load kubernetes configuration file: {e}"));
        connect::in_context(&self.globals.context, &self.env_with(kubeconfig)).await.map_err(unusable)
    }

    async fn forward(&self) -> Result<Forward, Problem> {
        let unusable = |e: connect::ConnectError| {
            Problem::Usage(format!(
                "Could not load kubernetes configuration file: {e}\n\nOr name the daemon's address with --url."
            ))
        };
        let client = connect::in_context(&self.globals.context, self.env).await.map_err(unusable)?.client;
        Ok(Forward::open(client, &self.globals.namespace, &self.globals.labels).await?)
    }

    /// The namespace of `-n`, else of the kubeconfig's context, else `default`.
    pub(super) fn namespace(&self) -> String {
        self.namespace_in("")
    }

    /// A workload as a user names it: `NAMESPACE:KIND/NAME`, or `KIND/NAME` in the namespace meant.
    pub(super) fn id(&self, text: &str) -> Result<ObjectId, Problem> {
        let bad = || Problem::Usage(format!("parsing {text}: invalid service ID"));
        let full = if text.contains(':') { text.to_owned() } else { format!("{}:{text}", self.namespace()) };
        full.parse().map_err(|_| bad())
    }

    /// Who asks, and why: flags, else git's user.
    pub(super) async fn cause(&self) -> Cause {
        let mut user = self.given.text("user");
        if user.is_empty() {
            user = self.git_user().await;
        }
        Cause { message: self.given.text("message"), user }
    }

    async fn git_user(&self) -> String {
        let (name, email) = (self.git_config("user.name").await, self.git_config("user.email").await);
        match (name.is_empty(), email.is_empty()) {
            (false, false) => format!("{name} <{email}>"),
            (false, true) => name,
            _ => email,
        }
    }

    /// A setting of git; empty when it has none, or there is no git.
    async fn git_config(&self, key: &str) -> String {
        let env = Env::Exactly(self.env.vars.clone());
        let command = Command::new("git").args(["config", key]).env(env).timeout(GIT).stdout_limit(4096);
        match command.run(&Stop::new()).await {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            _ => String::new(),
        }
    }
}

/// Explains that a request of ours met a daemon that does not know it.
pub(super) fn ours(error: ClientError) -> Problem {
    if error.is_missing() && matches!(&error, ClientError::Api { error, .. } if error.contains("endpoint")) {
        let text = "the daemon does not know this request: it is Flux v1, or a fluxd older than this fluxctl (fluxctl check \
                    tells its version)";
        return Problem::Usage(text.to_owned());
    }
    error.into()
}
