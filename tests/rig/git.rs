//! A git repository as a user has one: a bare "remote" on disk and a working copy that pushes to it. Real git,
//! untouched by the configuration of the machine.

use super::processes::run;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A bare remote repository with a working copy beside it.
#[derive(Debug)]
pub struct Repo {
    directory: tempfile::TempDir,
    branch: String,
}

impl Default for Repo {
    fn default() -> Self {
        Self::new()
    }
}

impl Repo {
    /// An empty remote whose branch will be `master`, which is fluxd's default.
    pub fn new() -> Self {
        Self::on_branch("master")
    }

    /// An empty remote whose branch will be `branch`.
    #[track_caller]
    pub fn on_branch(branch: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let repo = Self { directory, branch: branch.to_owned() };
        run(git_command(repo.directory.path()).args(["init", "-q", "--bare", "-b", branch, "remote.git"]));
        run(git_command(repo.directory.path()).args(["init", "-q", "-b", branch, "work"]));
        repo.git(&["remote", "add", "origin", "../remote.git"]);
        // What forges set: pushes over http by anyone who may read, and fetching any object asked for by name.
        repo.remote_git(&["config", "http.receivepack", "true"]);
        repo.remote_git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        repo
    }

    /// The remote's `file://` URL.
    pub fn url(&self) -> String {
        format!("file://{}", self.remote().display())
    }

    /// The bare repository.
    pub fn remote(&self) -> PathBuf {
        self.directory.path().join("remote.git")
    }

    /// The directory that holds `remote.git`, for servers that serve it.
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// The working copy.
    pub fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// The branch that commits go to.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Writes a file of the working copy, with its directories.
    #[track_caller]
    pub fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a directory")).expect("the working copy is writable");
        std::fs::write(path, text).expect("the working copy is writable");
        self
    }

    /// Removes a file or directory of the working copy.
    #[track_caller]
    pub fn remove(&self, path: &str) -> &Self {
        run(git_command(&self.work()).args(["rm", "-rq", "--ignore-unmatch", "--", path]));
        self
    }

    /// Commits all that changed (or nothing) and gives the commit's id.
    #[track_caller]
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    /// Commits all that changed, pushes the branch, and gives the commit's id.
    #[track_caller]
    pub fn push(&self, message: &str) -> String {
        let id = self.commit(message);
        self.git(&["push", "-q", "--force", "origin", &format!("HEAD:{}", self.branch)]);
        id
    }

    /// The commit checked out in the working copy.
    #[track_caller]
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// The commit that a reference of the remote leads to, if it is there.
    pub fn remote_ref(&self, name: &str) -> Option<String> {
        let output = git_command(&self.remote())
            .args(["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])
            .stdin(Stdio::null())
            .output()
            .expect("git runs");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// The text of a file at a reference of the remote.
    #[track_caller]
    pub fn remote_file(&self, reference: &str, path: &str) -> String {
        self.remote_git(&["show", &format!("{reference}:{path}")])
    }

    /// Runs git in the working copy.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        run(git_command(&self.work()).args(args))
    }

    /// Runs git in the bare remote.
    #[track_caller]
    pub fn remote_git(&self, args: &[&str]) -> String {
        run(git_command(&self.remote()).args(args))
    }
}

/// A git command that reads no configuration of the machine or the user.
pub fn git_command(directory: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory).env_clear();
    for (key, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_AUTHOR_NAME", "Ann"),
        ("GIT_AUTHOR_EMAIL", "ann@example.com"),
        ("GIT_COMMITTER_NAME", "Ann"),
        ("GIT_COMMITTER_EMAIL", "ann@example.com"),
        ("LC_ALL", "C"),
    ] {
        command.env(key, value);
    }
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", directory);
    command
}
