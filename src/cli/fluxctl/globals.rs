//! Flags that every verb has, together with the variables that stand in for them (fluxd-v1 §11). A flag wins over its
//! variable.

use std::time::Duration;

use super::super::environment::Environment;
use super::super::flags::{Given, parse_duration};

/// Where v1's tokens were good for.
const SERVICE: &str = "https://cloud.weave.works/api/flux";

/// The settings of one invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Globals {
    /// Base URL; empty for a port forward.
    pub(super) url: String,
    pub(super) token: String,
    pub(super) timeout: Duration,
    /// Whether somebody asked for that time.
    pub(super) timeout_given: bool,
    /// Context of the kubeconfig; empty for the current one.
    pub(super) context: String,
    /// Namespace to look for the daemon's pod in.
    pub(super) namespace: String,
    /// Label selector of that pod.
    pub(super) labels: String,
}

impl Globals {
    /// Puts flags and variables together; what cannot be read of a variable is told in `notices` and left out.
    pub(super) fn of(given: &Given, env: &Environment, notices: &mut Vec<String>) -> Self {
        let var = |name: &str| env.var(name).map(|value| value.to_string_lossy().into_owned());
        let text = |flag: &str, names: &[&str]| match names.iter().find_map(|name| var(name)) {
            Some(value) if !given.is_given(flag) => value,
            _ => given.text(flag),
        };
        let token = text("token", &["WEAVE_CLOUD_TOKEN", "FLUX_SERVICE_TOKEN"]);
        let mut url = text("url", &["FLUX_URL"]);
        if url.is_empty() && !token.is_empty() {
            url = SERVICE.to_owned();
        }
        let (mut timeout, mut timeout_given) = (given.duration("timeout"), given.is_given("timeout"));
        if let Some(value) = var("FLUX_TIMEOUT").filter(|_| !timeout_given) {
            match parse_duration(&value) {
                Ok(nanos) => {
                    (timeout, timeout_given) = (Duration::from_nanos(nanos.max(0).unsigned_abs()), true);
                }
                Err(why) => notices.push(format!("Warning: FLUX_TIMEOUT is not used: {why}")),
            }
        }
        Self {
            url,
            token,
            timeout,
            timeout_given,
            context: given.text("context"),
            namespace: text("k8s-fwd-ns", &["FLUX_FORWARD_NAMESPACE"]),
            labels: labels(given, var("FLUX_FORWARD_LABELS"), notices),
        }
    }
}

fn labels(given: &Given, var: Option<String>, notices: &mut Vec<String>) -> String {
    let mut pairs = given.list("k8s-fwd-labels");
    if let Some(value) = var.filter(|_| !given.is_given("k8s-fwd-labels")) {
        let read: Vec<String> = value.split(',').map(str::to_owned).collect();
        match read.iter().find(|pair| !pair.contains('=')) {
            None => pairs = read,
            Some(bad) => {
                notices.push(format!("Warning: FLUX_FORWARD_LABELS is not used: {bad} must be formatted as key=value"))
            }
        }
    }
    pairs.sort_unstable();
    pairs.join(",")
}

#[cfg(test)]
mod tests {
    use super::super::command_line;
    use super::*;

    fn globals(args: &[&str], vars: &[(&str, &str)]) -> (Globals, Vec<String>) {
        let args = [&["sync"], args].concat();
        let call = command_line::read(args.iter().map(Into::into).collect()).unwrap();
        let vars = vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut notices = Vec::new();
        (Globals::of(&call.given, &Environment { vars, ..Environment::default() }, &mut notices), notices)
    }

    #[test]
    fn a_flag_wins_over_its_variable() {
        let vars = [("FLUX_URL", "http://env/api/flux"), ("FLUX_TIMEOUT", "3s"), ("FLUX_FORWARD_NAMESPACE", "envns")];
        let (from_env, _) = globals(&[], &vars);
        assert_eq!((from_env.url.as_str(), from_env.timeout.as_secs()), ("http://env/api/flux", 3));
        assert_eq!(from_env.namespace, "envns");
        let (from_flags, _) = globals(&["-u", "http://flag", "--timeout=5s", "--k8s-fwd-ns=x"], &vars);
        assert_eq!((from_flags.url.as_str(), from_flags.timeout.as_secs()), ("http://flag", 5));
        assert_eq!(from_flags.namespace, "x");
    }

    #[test]
    fn of_two_token_variables_the_older_wins_and_a_token_alone_names_the_service() {
        let (both, _) = globals(&[], &[("WEAVE_CLOUD_TOKEN", "a"), ("FLUX_SERVICE_TOKEN", "b")]);
        assert_eq!((both.token.as_str(), both.url.as_str()), ("a", SERVICE));
        let (flag, _) = globals(&["-t", "c", "-u", "http://h"], &[("FLUX_SERVICE_TOKEN", "b")]);
        assert_eq!((flag.token.as_str(), flag.url.as_str()), ("c", "http://h"));
    }

    #[test]
    fn a_variable_that_means_nothing_is_told_and_left_out() {
        let (globals, notices) = globals(&[], &[("FLUX_TIMEOUT", "1x"), ("FLUX_FORWARD_LABELS", "xy")]);
        assert_eq!((globals.timeout.as_secs(), globals.labels.as_str()), (60, "app=flux"));
        assert_eq!(notices.len(), 2, "{notices:?}");
    }

    #[test]
    fn labels_are_a_selector_with_sorted_names() {
        assert_eq!(globals(&["--k8s-fwd-labels=c=d,a=b"], &[]).0.labels, "a=b,c=d");
    }
}
