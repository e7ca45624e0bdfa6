//! Settings of image scanning and automation: limits, globs, hosts, clouds and proxies (fluxd-v1 §1.2, §7).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::environment::Environment;
use super::super::flags::Given;
use super::{Notice, SettingsError};
use crate::provider;
use crate::registry::{Aws, Azure, Ecr, Google, Proxies, Settings};

/// What scanning is told.
///
/// # Errors
/// On limits that would never let a request through.
pub(super) fn registry(flags: &Given, env: &Environment) -> Result<Settings, SettingsError> {
    let path = |name: &str| Some(flags.text(name)).filter(|text| !text.is_empty()).map(PathBuf::from);
    let (rps, burst) = (flags.float("registry-rps"), flags.int("registry-burst"));
    if !(rps.is_finite() && rps > 0.0) {
        return Err(SettingsError(format!("--registry-rps must be a number above 0, not {rps}")));
    }
    let burst = u32::try_from(burst).ok().filter(|n| *n > 0);
    Ok(Settings {
        disabled: flags.bool("registry-disable-scanning"),
        rps,
        burst: burst.ok_or_else(|| SettingsError("--registry-burst must be a number above 0".into()))?,
        insecure_hosts: flags.list("registry-insecure-host"),
        trace: flags.bool("registry-trace"),
        include: flags.list("registry-include-image"),
        exclude: flags.list("registry-exclude-image"),
        use_labels: flags.list("registry-use-labels"),
        docker_config: path("docker-config"),
        helper_env: env.vars.clone(),
        ecr: Ecr {
            regions: flags.list("registry-ecr-region"),
            include_ids: flags.list("registry-ecr-include-id"),
            exclude_ids: flags.list("registry-ecr-exclude-id"),
            aws: aws(env),
        },
        google: google(env),
        azure: azure(env),
        proxies: proxies(env),
        cache: path("cache-dir").map(|dir| dir.join("images.redb")),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ..Settings::default()
    })
}

/// How often automated workloads are looked at; the older flag counts when only it is given.
pub(super) fn automation_interval(flags: &Given, notices: &mut Vec<Notice>) -> Duration {
    let (new, old) = ("automation-interval", "registry-poll-interval");
    if !flags.is_given(old) {
        return flags.duration(new);
    }
    if flags.is_given(new) {
        notices.push(Notice::Warning(format!("--{old} has no effect beside --{new}")));
        return flags.duration(new);
    }
    flags.duration(old)
}

/// What is appended to commit messages; the text that was given wins (fluxd-v1 §1.2).
pub(super) fn ci_skip(flags: &Given) -> String {
    let given = flags.text("git-ci-skip-message");
    if given.is_empty() && flags.bool("git-ci-skip") { "\n\n[ci skip]".to_owned() } else { given }
}

fn text(env: &Environment, name: &str) -> Option<String> {
    env.var(name).map(|value| value.to_string_lossy().into_owned())
}

fn aws(env: &Environment) -> Aws {
    let text = |name: &str| text(env, name);
    Aws {
        region: text("AWS_REGION").or_else(|| text("AWS_DEFAULT_REGION")),
        access_key_id: text("AWS_ACCESS_KEY_ID"),
        secret_access_key: text("AWS_SECRET_ACCESS_KEY"),
        session_token: text("AWS_SESSION_TOKEN"),
        web_identity_token_file: env.var("AWS_WEB_IDENTITY_TOKEN_FILE").map(PathBuf::from),
        role_arn: text("AWS_ROLE_ARN"),
        role_session_name: text("AWS_ROLE_SESSION_NAME"),
        ecr_endpoint: text("AWS_ENDPOINT_URL_ECR").or_else(|| text("AWS_ENDPOINT_URL")),
        sts_endpoint: text("AWS_ENDPOINT_URL_STS").or_else(|| text("AWS_ENDPOINT_URL")),
        metadata_endpoint: text("AWS_EC2_METADATA_SERVICE_ENDPOINT"),
        container_credentials_uri: text("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        container_token_file: env.var("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE").map(PathBuf::from),
    }
}

fn google(env: &Environment) -> Google {
    let metadata_endpoint = text(env, "GCE_METADATA_HOST").map(|host| format!("http://{host}"));
    Google { metadata_endpoint, ..Google::default() }
}

/// How input providers reach what they list: proxies, and the process's own identity at clouds.
pub(in crate::cli) fn reach(env: &Environment) -> provider::Settings {
    let (aws, azure, google) = (aws(env), azure(env), google(env));
    let codecommit = text(env, "AWS_ENDPOINT_URL_CODECOMMIT").or_else(|| text(env, "AWS_ENDPOINT_URL"));
    let endpoints = provider::Endpoints { codecommit, ..provider::Endpoints::default() };
    provider::Settings { proxies: proxies(env), aws, azure, google, endpoints, ..provider::Settings::default() }
}

fn azure(env: &Environment) -> Azure {
    let text = |name: &str| text(env, name);
    Azure {
        config: Some(Path::new("/etc/kubernetes/azure.json").to_owned()),
        client_id: text("AZURE_CLIENT_ID"),
        tenant_id: text("AZURE_TENANT_ID"),
        federated_token_file: env.var("AZURE_FEDERATED_TOKEN_FILE").map(PathBuf::from),
        authority: text("AZURE_AUTHORITY_HOST"),
        exchange_endpoint: None,
        client_secret: text("AZURE_CLIENT_SECRET"),
        metadata_endpoint: None,
    }
}

/// Either spelling, as Go's programs read them.
fn proxies(env: &Environment) -> Proxies {
    let either = |name: &str| text(env, name).or_else(|| text(env, &name.to_lowercase()));
    Proxies { https: either("HTTPS_PROXY"), http: either("HTTP_PROXY"), exempt: either("NO_PROXY") }
}

#[cfg(test)]
mod tests {
    use super::super::super::flags::{Parsed, parse};
    use super::*;

    fn flags(args: &[&str]) -> Given {
        match parse(args.iter().map(Into::into), &mut Vec::new()) {
            Ok(Parsed::Run { given, .. }) => given,
            other => panic!("{args:?}: {other:?}"),
        }
    }

    #[test]
    fn the_older_flag_of_the_interval_counts_only_alone() {
        for (args, seconds, told) in [
            (&[][..], 300, 0),
            (&["--registry-poll-interval=1m"][..], 60, 0),
            (&["--registry-poll-interval=1m", "--automation-interval=2m"][..], 120, 1),
        ] {
            let mut notices = Vec::new();
            let interval = automation_interval(&flags(args), &mut notices);
            assert_eq!((interval.as_secs(), notices.len()), (seconds, told), "{args:?}");
        }
    }

    #[test]
    fn the_text_that_skips_continuous_integration_is_the_given_one_or_the_usual() {
        for (args, text) in [
            (&[][..], ""),
            (&["--git-ci-skip"][..], "\n\n[ci skip]"),
            (&["--git-ci-skip", "--git-ci-skip-message=[skip me]"][..], "[skip me]"),
            (&["--git-ci-skip-message=[skip me]"][..], "[skip me]"),
        ] {
            assert_eq!(ci_skip(&flags(args)), text, "{args:?}");
        }
    }

    #[test]
    fn limits_that_let_nothing_through_are_refused() {
        let env = Environment::default();
        for arg in ["--registry-rps=0", "--registry-rps=-1", "--registry-burst=0"] {
            assert!(registry(&flags(&[arg]), &env).is_err(), "{arg}");
        }
        let built = registry(&flags(&["--registry-rps=200", "--registry-burst=125"]), &env).unwrap();
        assert_eq!((built.rps, built.burst, built.disabled), (200.0, 125, false));
    }

    #[test]
    fn proxies_are_read_in_either_spelling() {
        let vars = [("https_proxy".into(), "http://p:1".into()), ("NO_PROXY".into(), "x".into())].into();
        let proxies = proxies(&Environment { vars, ..Environment::default() });
        assert_eq!((proxies.https.as_deref(), proxies.exempt.as_deref()), (Some("http://p:1"), Some("x")));
    }
}
