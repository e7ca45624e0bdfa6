//! `save`: the workloads of the cluster as manifests, on standard output or as files.

use std::path::Path;

use super::problem::Problem;
use super::session::Session;
use super::terminal::{out, tell};
use crate::client::{Saved, split_export};

/// Runs the verb.
pub(super) async fn run(session: &Session<'_>) -> Result<(), Problem> {
    let client = session.connect().await?;
    let export = session.screen.patient("Exporting", client.export()).await?;
    let documents =
        split_export(&export).map_err(|e| Problem::Usage(format!("exporting config: the daemon's answer: {e}")))?;
    let to = session.given.text("out");
    if to == "-" {
        return documents.iter().try_for_each(|document| out(&document.text));
    }
    let directory = Path::new(&to);
    let found = std::fs::metadata(directory).map_err(|e| {
        let why = if e.kind() == std::io::ErrorKind::NotFound {
            "no such file or directory".to_owned()
        } else {
            e.to_string()
        };
        Problem::Usage(format!("stat {to}: {why}"))
    })?;
    if !found.is_dir() {
        return Err(Problem::Usage(format!("path {to} is not a directory")));
    }
    documents.iter().try_for_each(|document| write(directory, document))
}

fn write(directory: &Path, document: &Saved) -> Result<(), Problem> {
    let Some(path) = &document.path else {
        tell(&format!("Warning: {} {:?} is left out: its names are no file names", document.kind, document.name));
        return Ok(());
    };
    let file = directory.join(path);
    out(&format!("Saving {} '{}' to {}\n", document.kind, document.name, file.display()))?;
    let io = || Problem::io(format!("writing {}", file.display()));
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent).map_err(io())?;
    }
    std::fs::write(&file, &document.text).map_err(io())
}
