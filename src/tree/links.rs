//! Following symbolic links without ever leaving the tree.

use super::{Entry, Mode, Tree, TreeError, normalise};

/// Links followed for one path, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// The link that a walk went through last, for errors.
struct Hop {
    path: String,
    target: String,
}

impl Tree {
    /// Looks up a relative path, following every link on the way and at its end. Returns the path without links too.
    ///
    /// # Errors
    /// [`TreeError::Outside`] and [`TreeError::Missing`] as [`Tree::entry`]; [`TreeError::Link`] when a link is absolute,
    /// leaves the tree, leads nowhere or in a circle; [`TreeError::Unreadable`].
    pub fn follow(&self, path: &str) -> Result<(String, Entry), TreeError> {
        let mut left: Vec<String> = components(&normalise(path)?);
        let mut real: Vec<String> = Vec::new();
        let mut last: Option<Hop> = None;
        let mut hops = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                real.pop().ok_or_else(|| broken(path, last.take(), "leaves the repository"))?;
                continue;
            }
            real.push(name);
            let at = real.join("/");
            match self.entry_without_links(&at) {
                Some(Entry::Dir(_)) => {}
                Some(Entry::Leaf { id, mode: Mode::Link }) => {
                    let target = String::from_utf8_lossy(&self.read(&at, &id)?).into_owned();
                    let hop = Hop { path: at, target };
                    hops += 1;
                    if hops > MAX_LINKS {
                        return Err(broken(path, Some(hop), "leads in a circle"));
                    }
                    if hop.target.starts_with('/') {
                        return Err(broken(path, Some(hop), "leaves the repository"));
                    }
                    real.pop();
                    left.extend(components(&hop.target));
                    last = Some(hop);
                }
                Some(leaf @ Entry::Leaf { .. }) if left.is_empty() => return Ok((at, leaf)),
                Some(Entry::Leaf { .. }) | None => return Err(broken(path, last, "leads nowhere")),
            }
        }
        let at = real.join("/");
        let entry = self.entry_without_links(&at).ok_or_else(|| TreeError::Missing(path.to_owned()))?;
        Ok((at, entry))
    }
}

/// The parts of a path, last first.
fn components(path: &str) -> Vec<String> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").rev().map(Into::into).collect()
}

fn broken(path: &str, through: Option<Hop>, reason: &'static str) -> TreeError {
    match through {
        Some(Hop { path, target }) => TreeError::Link { path, target, reason },
        None => TreeError::Missing(path.to_owned()),
    }
}
