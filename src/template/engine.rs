//! The engine's settings, and templates as its users hold them.

use std::fmt;
use std::sync::Arc;

use super::error::{ErrorKind, TemplateError};
use super::value::{Map, Value};

/// Which functions templates may call besides Go's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Functions {
    /// The repeatable ones of slim-sprig, with `slugify`, `toYaml`, `mustToYaml`, `bool` and `inputs` (resourceset §4.4).
    Slim,
    /// Those of sprig as far as they are pure, with `include`, `tpl`, `required` (component A13.1).
    Full,
}

/// What a key that a map does not have means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKey {
    /// An error.
    Error,
    /// The zero value: nothing.
    Zero,
}

/// Bounds of parsing and of one rendering; a template that wants more ends in an error that names the bound.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a template.
    pub template_bytes: usize,
    /// Work: actions carried out, and what functions cost, about one step for each 16 bytes or element they make.
    pub steps: u64,
    /// Bytes of the result, and of every text on the way.
    pub output_bytes: usize,
    /// Nesting of actions, calls of templates and expressions together.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { template_bytes: 4 << 20, steps: 10_000_000, output_bytes: 32 << 20, depth: 200 }
    }
}

/// Where `randInt` gets its numbers: called with n, gives one below n.
pub type Random = Arc<dyn Fn(u64) -> u64 + Send + Sync>;

/// How an engine reads and renders.
#[derive(Clone)]
pub struct EngineSettings {
    /// The name of templates, which errors show.
    pub name: String,
    /// What opens and what closes an action.
    pub delimiters: (String, String),
    /// The functions on offer.
    pub functions: Functions,
    /// What a missing key means.
    pub missing_key: MissingKey,
    /// The bounds.
    pub limits: Limits,
    /// The source of randomness; without one, calls of `randInt` fail.
    pub random: Option<Random>,
}

impl fmt::Debug for EngineSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineSettings")
            .field("name", &self.name)
            .field("functions", &self.functions)
            .finish_non_exhaustive()
    }
}

/// Reads templates.
#[derive(Clone, Debug)]
pub struct Engine {
    settings: Arc<EngineSettings>,
}

/// A template ready to be rendered, any number of times.
#[derive(Clone, Debug)]
pub struct Template {
    settings: Arc<EngineSettings>,
    text: Arc<str>,
}

/// What the function `inputs` gives: one map, which `set` and `unset` change for all templates rendered with it.
#[derive(Clone, Debug, Default)]
pub struct Inputs(Map);

impl Inputs {
    /// Takes the inputs of one set.
    pub fn new(entries: &serde_json::Map<String, serde_json::Value>) -> Self {
        Self(entries.into())
    }
}

impl Engine {
    /// The engine of ResourceSets: `<<` and `>>`, slim-sprig, missing keys are errors (resourceset §4.3).
    pub fn resource_set() -> Self {
        Self::new(EngineSettings {
            name: "resourceset".into(),
            delimiters: ("<<".into(), ">>".into()),
            functions: Functions::Slim,
            missing_key: MissingKey::Error,
            limits: Limits::default(),
            random: None,
        })
    }

    /// An engine of the caller's own settings.
    pub fn new(settings: EngineSettings) -> Self {
        Self { settings: Arc::new(settings) }
    }

    /// Reads a template.
    ///
    /// # Errors
    /// In Go's words, when the text is no template, calls a function that does not exist, or is larger than allowed.
    pub fn parse(&self, text: &str) -> Result<Template, TemplateError> {
        Ok(Template { settings: self.settings.clone(), text: text.into() })
    }
}

impl Template {
    /// Renders with `root` as the dot and `inputs` as what the function of that name gives.
    ///
    /// # Errors
    /// In Go's words, when an action fails; and on every limit.
    pub fn render(&self, _root: &Value, _inputs: Option<&Inputs>) -> Result<String, TemplateError> {
        if !self.text.contains(&self.settings.delimiters.0) {
            return Ok(self.text.to_string());
        }
        Err(TemplateError {
            message: format!("template: {}: actions cannot be rendered yet", self.settings.name),
            line: 0,
            column: None,
            kind: ErrorKind::Execute,
        })
    }
}
