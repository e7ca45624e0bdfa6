//! Which configured paths hold raw manifests, and which are written by a `.flux.yaml` (fluxd-v1 §4.1).

use crate::object::yaml::Limits;
use crate::tree::{Entry, Tree, TreeError, normalise};

use super::{Config, ConfigError, Directive, Error};

/// Name of the files looked for.
pub(super) const FILE_NAME: &str = ".flux.yaml";

/// What a configured path is.
#[derive(Debug)]
pub(super) enum Source {
    /// Raw manifests under this path.
    Raw(String),
    /// What a `.flux.yaml` makes.
    Config(Box<Instance>),
}

/// One use of a `.flux.yaml`. Two paths below the same file are two uses, each with its own working directory.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// What the file says.
    pub(super) config: Config,
    /// The file's bytes, of which the output is a function among others.
    pub(super) text: bytes::Bytes,
    /// Where commands run: the configured path (the file's directory when the file itself is configured), relative to the
    /// repository root, empty for the root.
    pub(super) dir: String,
    /// The file's path, relative to the repository root.
    pub(super) path: String,
    /// How the file is called in messages, such as `staging/../.flux.yaml`.
    pub(super) name: String,
}

impl Instance {
    /// The file's path from the working directory, such as `../.flux.yaml`: what v1 calls it where a command or a patch
    /// fails.
    pub(super) fn file(&self) -> &str {
        let dir = if self.dir.is_empty() { "." } else { &self.dir };
        self.name.strip_prefix(dir).map_or(self.name.as_str(), |rest| rest.trim_start_matches('/'))
    }
}

/// Finds out what a configured path is: the nearest `.flux.yaml` from there up to the root decides.
///
/// # Errors
/// When the path is missing or outside of the tree, or the file found is not usable.
pub(super) fn discover(tree: &Tree, path: &str, limits: &Limits) -> Result<Source, Error> {
    let plain = normalise(path).map_err(|_| Error::Outside(path.to_owned()))?;
    let missing = |source| match source {
        TreeError::Outside(_) => Error::Outside(path.to_owned()),
        source => Error::Discover { path: path.to_owned(), source },
    };
    if let Entry::Leaf { .. } = tree.follow(&plain).map_err(missing)?.1 {
        let (dir, name) = plain.rsplit_once('/').unwrap_or(("", &plain));
        return match name {
            // Named itself and asking for a scan, it stands for its directory.
            FILE_NAME => Ok(unless_scan(read(tree, dir, dir, limits)?, dir)),
            _ => Ok(Source::Raw(path.to_owned())),
        };
    }
    let mut at = plain.as_str();
    loop {
        // A directory of that name is none of ours.
        if let Ok((_, Entry::Leaf { .. })) = tree.follow(&join(at, FILE_NAME)) {
            return Ok(unless_scan(read(tree, &plain, at, limits)?, path));
        }
        if at.is_empty() {
            return Ok(Source::Raw(path.to_owned()));
        }
        at = at.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
}

/// `scanForFiles` makes raw manifests of a path.
fn unless_scan(instance: Instance, path: &str) -> Source {
    match instance.config.directive {
        Directive::ScanForFiles => Source::Raw(path.to_owned()),
        _ => Source::Config(Box::new(instance)),
    }
}

fn read(tree: &Tree, dir: &str, config_dir: &str, limits: &Limits) -> Result<Instance, Error> {
    let name = display_name(dir, config_dir);
    let path = join(config_dir, FILE_NAME);
    let unusable = |reason| Error::Config { file: name.clone(), reason };
    let unreadable = |e: TreeError| unusable(ConfigError::Read(e.to_string()));
    let text = match tree.follow(&path).map_err(unreadable)?.1 {
        Entry::Leaf { id, .. } => tree.read(&path, &id).map_err(unreadable)?,
        Entry::Dir(_) => return Err(unusable(ConfigError::Read(format!("read {path}: is a directory")))),
    };
    let config = Config::parse(&text, limits).map_err(unusable)?;
    Ok(Instance { config, text, dir: dir.to_owned(), path, name })
}

/// The working directory and the file's path from there, not simplified: that tells two uses of one file apart.
fn display_name(dir: &str, config_dir: &str) -> String {
    let depth = |path: &str| path.split('/').filter(|s| !s.is_empty()).count();
    let up = "../".repeat(depth(dir).saturating_sub(depth(config_dir)));
    format!("{}/{up}{FILE_NAME}", if dir.is_empty() { "." } else { dir })
}

/// Joins two relative paths; the first may be empty.
pub(super) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}
