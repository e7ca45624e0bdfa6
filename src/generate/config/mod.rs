//! A `.flux.yaml`: what it says, once its schema has accepted it (fluxd-v1 §4.2). It runs nothing.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::object::yaml::{self, Dialect, Limits};

use super::{ConfigError, duration, schema};

/// What a `.flux.yaml` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The directive that holds.
    pub directive: Directive,
    /// What the generators read, where the file says so; `None` means anything.
    pub inputs: Option<Inputs>,
    /// Remarks on the file for its writer.
    pub warnings: Vec<String>,
}

/// The three kinds of `.flux.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Commands write the manifests, and commands change the sources.
    CommandUpdated {
        /// Commands whose outputs together are the manifests.
        generators: Vec<Command>,
        /// Commands that change the sources.
        updaters: Vec<Updater>,
    },
    /// Commands write the manifests, and a patch file holds all changes.
    PatchUpdated {
        /// Commands whose outputs together are the manifests.
        generators: Vec<Command>,
        /// The patch file, relative to the working directory.
        patch_file: String,
    },
    /// Plain manifests, although a directory above has a `.flux.yaml`.
    ScanForFiles,
}

/// A line for `/bin/sh -c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The line.
    pub command: String,
    /// How long it may run, when the file says one second or more.
    pub timeout: Option<Duration>,
}

/// Commands that change the sources of one `.flux.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updater {
    /// Sets an image. An absent one is an empty line, which changes nothing and succeeds, as in v1.
    pub container_image: Command,
    /// Sets or removes a policy.
    pub policy: Command,
}

/// A promise of the file's writer: its generators read these and nothing else. With it, a commit that touches none of them
/// does not run the generators, nor does the sync interval. Top-level keys of ours, which v1's schema lets pass.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Inputs {
    /// Files and directories (all below them), relative to the working directory; with a leading `/`, to the repository.
    pub paths: Vec<String>,
    /// Programs, looked up in `PATH`, beside the first word of each command.
    pub tools: Vec<String>,
}

impl Config {
    /// Reads one. Of several documents the first counts, as in v1.
    ///
    /// # Errors
    /// When it is no YAML, does not fit the schema, or holds values that cannot be used.
    pub fn parse(text: &[u8], limits: &Limits) -> Result<Self, ConfigError> {
        let documents = yaml::read(text, Dialect::Kubernetes, limits).map_err(|e| ConfigError::Parse(e.to_string()))?;
        let document = documents.into_iter().next().map_or(Value::Null, |d| d.value);
        let violations = schema::violations(&document);
        if !violations.is_empty() {
            return Err(ConfigError::Invalid(violations));
        }
        let mut warnings = Vec::new();
        let inputs = read_inputs(&document, &mut warnings);
        Ok(Self { directive: read_directive(document)?, inputs, warnings })
    }

    /// The commands that write the manifests.
    pub fn generators(&self) -> &[Command] {
        match &self.directive {
            Directive::CommandUpdated { generators, .. } | Directive::PatchUpdated { generators, .. } => generators,
            Directive::ScanForFiles => &[],
        }
    }
}

/// The document as v1 decodes it after validation: also a directive that the schema found invalid, because another one was
/// valid. Absent and `null` are the same.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Decoded {
    command_updated: Option<Body>,
    patch_updated: Option<Body>,
    scan_for_files: Option<serde_json::Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    generators: Option<Vec<Line>>,
    updaters: Option<Vec<Lines>>,
    patch_file: Option<String>,
}

#[derive(Deserialize, Default)]
struct Line {
    command: Option<String>,
    timeout: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lines {
    container_image: Option<Line>,
    policy: Option<Line>,
}

fn read_directive(document: Value) -> Result<Directive, ConfigError> {
    let decoded: Decoded = serde_json::from_value(document).map_err(|e| ConfigError::Parse(e.to_string()))?;
    let commands = decoded.command_updated.map(read_body).transpose()?;
    let patch = decoded.patch_updated.map(read_body).transpose()?;
    Ok(match (decoded.scan_for_files, patch, commands) {
        (Some(_), _, _) | (None, None, None) => Directive::ScanForFiles,
        (None, Some((generators, _, patch_file)), _) => Directive::PatchUpdated { generators, patch_file },
        (None, None, Some((generators, updaters, _))) => Directive::CommandUpdated { generators, updaters },
    })
}

fn read_body(body: Body) -> Result<(Vec<Command>, Vec<Updater>, String), ConfigError> {
    let generators = body.generators.unwrap_or_default().into_iter().map(read_line).collect::<Result<_, _>>()?;
    let updaters = body.updaters.unwrap_or_default().into_iter().map(|lines| {
        let container_image = read_line(lines.container_image.unwrap_or_default())?;
        Ok(Updater { container_image, policy: read_line(lines.policy.unwrap_or_default())? })
    });
    Ok((generators, updaters.collect::<Result<_, _>>()?, body.patch_file.unwrap_or_default()))
}

fn read_line(line: Line) -> Result<Command, ConfigError> {
    let timeout = line.timeout.map(|t| duration::parse(&t)).transpose().map_err(ConfigError::Parse)?;
    // Below one second v1 takes its default, so that `0s` means "no time given".
    let timeout = timeout.filter(|t| *t >= Duration::from_secs(1));
    Ok(Command { command: line.command.unwrap_or_default(), timeout })
}

/// Keys that v1 ignores may hold anything: what is no list of texts is remarked on and counts as not written, which is
/// always safe.
fn read_inputs(document: &Value, warnings: &mut Vec<String>) -> Option<Inputs> {
    let mut list = |key: &str| match document.get(key)? {
        Value::Array(items) if items.iter().all(Value::is_string) => {
            Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect::<Vec<_>>())
        }
        _ => {
            warnings.push(format!("{key} is not a list of strings and is ignored"));
            None
        }
    };
    let (paths, tools) = (list("inputs"), list("tools"));
    Some(Inputs { paths: paths?, tools: tools.unwrap_or_default() })
}

#[cfg(test)]
mod tests;
