//! The engine's settings, and templates as its users hold them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::error::{ErrorKind, TemplateError};
use super::exec::{self, Meter, Run};
use super::functions::Table;
use super::parse::{self, Set};
use super::time::Time;
use super::value::{Map, Value};

/// Which functions templates may call besides Go's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Functions {
    /// The repeatable ones of slim-sprig, with `slugify`, `toYaml`, `mustToYaml`, `bool` and `inputs` (resourceset §4.4).
    Slim,
    /// Those of sprig as far as they are pure, with `include`, `tpl`, `required`; what is nothing prints as nothing
    /// (component A13.1).
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
    /// Bytes of the result, and of every text and list on the way.
    pub output_bytes: usize,
    /// Nesting of actions, calls of templates and expressions together.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { template_bytes: 4 << 20, steps: 4_000_000, output_bytes: 32 << 20, depth: 200 }
    }
}

/// Where `randInt` gets its numbers: called with n, gives one below n.
pub type Random = Arc<dyn Fn(u64) -> u64 + Send + Sync>;

/// What the time is.
pub type Clock = Arc<dyn Fn() -> Time + Send + Sync>;

/// A function of the embedder: takes any arguments, gives a value or the text of an error.
pub type Hook = Arc<dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync>;

/// How an engine reads and renders.
#[derive(Clone)]
pub struct EngineSettings {
    /// The name of templates, which errors show.
    pub name: String,
    /// What opens and what closes an action.
    pub delimiters: (String, String),
    /// The functions on offer.
    pub functions: Functions,
    /// More functions by their names, such as `lookup`.
    pub hooks: Vec<(String, Hook)>,
    /// What a missing key means.
    pub missing_key: MissingKey,
    /// The bounds.
    pub limits: Limits,
    /// The source of randomness; without one, calls of `randInt` fail.
    pub random: Option<Random>,
    /// The clock; without one, calls of `ago` fail.
    pub clock: Option<Clock>,
}

impl fmt::Debug for EngineSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("EngineSettings");
        shown.field("name", &self.name).field("functions", &self.functions).finish_non_exhaustive()
    }
}

/// Reads templates.
#[derive(Clone, Debug)]
pub struct Engine {
    settings: Arc<EngineSettings>,
    functions: Arc<Table>,
}

/// A template ready to be rendered, any number of times; with those that it defines.
#[derive(Clone, Debug)]
pub struct Template {
    engine: Engine,
    name: String,
    set: Arc<Set>,
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
        Self::new(EngineSettings::resource_set())
    }

    /// An engine of the caller's own settings.
    pub fn new(settings: EngineSettings) -> Self {
        let functions = Arc::new(Table::new(&settings));
        Self { settings: Arc::new(settings), functions }
    }

    /// Reads a template.
    ///
    /// # Errors
    /// In Go's words, when the text is no template, calls a function that does not exist, or is larger than allowed.
    pub fn parse(&self, text: &str) -> Result<Template, TemplateError> {
        let name = self.settings.name.clone();
        self.parse_all(std::iter::once((name.as_str(), text)))?.into_template(name)
    }

    /// Reads templates that call each other by their names, and by those that they define. A later one replaces an
    /// earlier one of its name, as in a chart.
    ///
    /// # Errors
    /// As [`Engine::parse`].
    pub fn parse_all<'t>(
        &self,
        texts: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Templates, TemplateError> {
        let mut set = Set::new();
        for (name, text) in texts {
            parse::add(&self.settings, &self.functions, (name, text), &mut set)?;
        }
        Ok(Templates { engine: self.clone(), set: Arc::new(set) })
    }
}

/// Templates that know each other.
#[derive(Clone, Debug)]
pub struct Templates {
    engine: Engine,
    set: Arc<Set>,
}

impl Templates {
    /// The template of a name; none when there is none.
    pub fn get(&self, name: &str) -> Option<Template> {
        let known = self.set.contains_key(name);
        known.then(|| Template { engine: self.engine.clone(), name: name.to_owned(), set: self.set.clone() })
    }

    fn into_template(self, name: String) -> Result<Template, TemplateError> {
        self.get(&name).ok_or_else(|| TemplateError {
            message: format!("template: {name}: \"{name}\" is an incomplete or empty template"),
            line: 0,
            column: None,
            kind: ErrorKind::Parse,
        })
    }
}

impl EngineSettings {
    /// Those of ResourceSets (resourceset §4.3); no randomness and no clock.
    pub fn resource_set() -> Self {
        Self {
            name: "resourceset".into(),
            delimiters: ("<<".into(), ">>".into()),
            functions: Functions::Slim,
            hooks: Vec::new(),
            missing_key: MissingKey::Error,
            limits: Limits::default(),
            random: None,
            clock: None,
        }
    }
}

impl Template {
    /// Renders with `root` as the dot and `inputs` as what the function of that name gives. Bytes that are no characters,
    /// which functions can make, are replaced in the result.
    ///
    /// # Errors
    /// In Go's words, when an action fails; and on every limit.
    pub fn render(&self, root: &Value, inputs: Option<&Inputs>) -> Result<String, TemplateError> {
        self.render_counted(root, inputs).map(|(text, _)| text)
    }

    /// As [`Template::render`], and says how many steps it took: for callers with a bound over many renderings.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render_counted(&self, root: &Value, inputs: Option<&Inputs>) -> Result<(String, u64), TemplateError> {
        let settings = &self.engine.settings;
        let mut run = Run {
            settings,
            functions: &self.engine.functions,
            inputs: inputs.map(|inputs| inputs.0.clone()),
            meter: Meter::new(settings.limits),
            out: Vec::new(),
            patterns: BTreeMap::new(),
        };
        if let Some(body) = self.set.get(&self.name) {
            exec::execute(&mut run, &self.set, body, root.clone())?;
        }
        let steps = run.meter.spent();
        let text = String::from_utf8(run.out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        Ok((text, steps))
    }
}
