//! Addresses of repositories as users write them, by family of host (resourceset §8.5).

use url::Url;

use super::Error;
use super::wire::without_user;

/// A host with two names of a repository: owner and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) host: Url,
    pub(super) owner: String,
    pub(super) name: String,
}

/// A repository of Azure DevOps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Azure {
    pub(super) organisation: String,
    pub(super) project: String,
    pub(super) repository: String,
}

/// A repository of CodeCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodeCommit {
    pub(super) url: Url,
    pub(super) region: String,
    /// Behind the region: `amazonaws.com` or `amazonaws.com.cn`.
    pub(super) domain: String,
    pub(super) fips: bool,
    pub(super) repository: String,
}

fn refuse(text: &str, expected: &str) -> Error {
    Error::Url { url: without_user(text), expected: expected.to_owned() }
}

/// The URL of a host, the parts of the path (decoded), and nothing else: no user, query or fragment.
fn split(text: &str, expected: &str) -> Result<(Url, Vec<String>), Error> {
    let url: Url = text.parse().map_err(|_| refuse(text, expected))?;
    let plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() || !plain {
        return Err(refuse(text, expected));
    }
    let decoded = |part: &str| {
        let text = format!("x={}", part.replace('+', "%2B"));
        url::form_urlencoded::parse(text.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    let path = url.path().trim_matches('/');
    let parts: Vec<String> = if path.is_empty() { Vec::new() } else { path.split('/').map(decoded).collect() };
    if parts.iter().any(|part| part.is_empty() || part == "." || part == ".." || part.contains('/')) {
        return Err(refuse(text, expected));
    }
    let mut host = url;
    host.set_path("/");
    Ok((host, parts))
}

/// `scheme://host/owner/repo`.
pub(super) fn pair(text: &str) -> Result<Pair, Error> {
    const EXPECTED: &str = "https://HOST/OWNER/REPOSITORY, without .git";
    let (host, parts) = split(text, EXPECTED)?;
    match <[String; 2]>::try_from(parts) {
        Ok([owner, name]) if !name.ends_with(".git") => Ok(Pair { host, owner, name }),
        _ => Err(refuse(text, EXPECTED)),
    }
}

/// `scheme://host/group/…/project`, as host and path.
pub(super) fn project(text: &str) -> Result<(Url, String), Error> {
    const EXPECTED: &str = "https://HOST/GROUP/PROJECT, with as many groups as there are";
    let (host, parts) = split(text, EXPECTED)?;
    if parts.len() < 2 {
        return Err(refuse(text, EXPECTED));
    }
    Ok((host, parts.join("/")))
}

/// `https://dev.azure.com/{org}/{project}/_git/{repo}`.
pub(super) fn azure(text: &str) -> Result<Azure, Error> {
    const EXPECTED: &str = "https://dev.azure.com/ORGANISATION/PROJECT/_git/REPOSITORY";
    let (host, parts) = split(text, EXPECTED)?;
    let ours = host.as_str() == "https://dev.azure.com/";
    match <[String; 4]>::try_from(parts) {
        Ok([organisation, project, git, repository]) if ours && git == "_git" => {
            Ok(Azure { organisation, project, repository })
        }
        _ => Err(refuse(text, EXPECTED)),
    }
}

/// `https://git-codecommit[-fips].<region>.<domain>/v1/repos/<repo>`.
pub(super) fn code_commit(text: &str) -> Result<CodeCommit, Error> {
    const EXPECTED: &str = "https://git-codecommit.REGION.amazonaws.com/v1/repos/REPOSITORY";
    let (host, parts) = split(text, EXPECTED)?;
    let refused = || refuse(text, EXPECTED);
    let name = host.host_str().unwrap_or_default();
    let (first, rest) = name.split_once('.').ok_or_else(refused)?;
    let (region, domain) = rest.split_once('.').ok_or_else(refused)?;
    let fips = first == "git-codecommit-fips";
    let plausible = region.contains('-') && region.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let ours = host.scheme() == "https" && host.port().is_none() && (fips || first == "git-codecommit") && plausible;
    let known = matches!(domain, "amazonaws.com" | "amazonaws.com.cn")
        || domain.starts_with("amazonaws.")
        || domain.ends_with(".aws");
    match <[String; 3]>::try_from(parts) {
        Ok([v1, repos, repository]) if ours && known && v1 == "v1" && repos == "repos" => {
            let (region, domain) = (region.to_owned(), domain.to_owned());
            let mut url = host;
            url.set_path(&format!("/v1/repos/{repository}"));
            Ok(CodeCommit { url, region, domain, fips, repository })
        }
        _ => Err(refused()),
    }
}

/// A base URL with parts added to its path, each escaped as one.
pub(super) fn join(base: &Url, parts: &[&str]) -> Result<Url, Error> {
    let mut url = base.clone();
    match url.path_segments_mut() {
        Ok(mut path) => {
            path.pop_if_empty().extend(parts);
        }
        Err(()) => return Err(refuse(base.as_str(), "an address with a path")),
    }
    Ok(url)
}

/// A URL with a query.
pub(super) fn query(mut url: Url, pairs: &[(&str, &str)]) -> Url {
    url.query_pairs_mut().extend_pairs(pairs);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_family_takes_its_own_form_and_no_other() {
        let shown = |text: &str| pair(text).map(|p| format!("{} {} {}", p.host, p.owner, p.name)).ok();
        assert_eq!(
            shown("https://github.com/stefanprodan/podinfo").unwrap(),
            "https://github.com/ stefanprodan podinfo"
        );
        assert_eq!(shown("http://git.example:3000/a/b/").unwrap(), "http://git.example:3000/ a b");
        for text in [
            "https://github.com/a",
            "https://github.com/a/b/c",
            "https://github.com/a/b.git",
            "https://github.com",
            "ssh://git@github.com/a/b",
            "git@github.com:a/b",
            "https://user:pw@github.com/a/b",
            "https://github.com/a//b",
            "https://github.com/a/b?x=1",
            "https://github.com/a/%2e%2e",
            "https://github.com/a/b%2Fc",
            "",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn projects_of_gitlab_may_lie_deep() {
        let shown = |text: &str| project(text).map(|(host, path)| format!("{host} {path}")).ok();
        assert_eq!(shown("https://gitlab.com/a/b/c/d").unwrap(), "https://gitlab.com/ a/b/c/d");
        assert_eq!(shown("https://gitlab.com/a"), None);
        let url = join(&"https://gitlab.com/api/v4/".parse().unwrap(), &["projects", "a/b c", "x"]).unwrap();
        assert_eq!(url.as_str(), "https://gitlab.com/api/v4/projects/a%2Fb%20c/x");
    }

    #[test]
    fn azure_devops_is_at_one_place() {
        let found = azure("https://dev.azure.com/org/my%20project/_git/repo").unwrap();
        assert_eq!(found.project, "my project");
        for text in [
            "https://dev.azure.com/org/project/repo",
            "https://dev.azure.com/org/project/_git",
            "http://dev.azure.com/o/p/_git/r",
            "https://org.visualstudio.com/p/_git/r",
            "https://dev.azure.com/o/p/_git/r/x",
        ] {
            assert!(azure(text).is_err(), "{text}");
        }
    }

    #[test]
    fn regions_of_codecommit_are_read_from_the_host() {
        let found = code_commit("https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop").unwrap();
        assert_eq!(
            (found.region.as_str(), found.domain.as_str(), found.repository.as_str()),
            ("eu-west-1", "amazonaws.com", "shop")
        );
        let found = code_commit("https://git-codecommit-fips.us-gov-west-1.amazonaws.com/v1/repos/a").unwrap();
        assert!(found.fips && found.region == "us-gov-west-1");
        assert_eq!(
            code_commit("https://git-codecommit.cn-north-1.amazonaws.com.cn/v1/repos/a").unwrap().domain,
            "amazonaws.com.cn"
        );
        for text in [
            "https://git-codecommit.eu-west-1.example.com/v1/repos/a",
            "https://codecommit.eu-west-1.amazonaws.com/v1/repos/a",
            "https://git-codecommit.eu-west-1.amazonaws.com/v1/a",
            "http://git-codecommit.eu-west-1.amazonaws.com/v1/repos/a",
            "https://git-codecommit.amazonaws.com/v1/repos/a",
        ] {
            assert!(code_commit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_never_shown() {
        let refusal = pair("https://ann:hunter2@github.com/a/b?t=hunter2").unwrap_err().to_string();
        assert_eq!(
            refusal,
            "invalid URL 'https://github.com/a/b': expected https://HOST/OWNER/REPOSITORY, without .git"
        );
    }
}
