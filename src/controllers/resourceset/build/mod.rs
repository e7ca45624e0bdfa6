//! From templates and inputs to objects (resourceset §4.5-§4.9). The same spec and inputs give the same objects, unless a
//! template asks for the time or for random numbers.
//!
//! What was rendered is kept by template and set of inputs, so that one changed set of thousands is rendered alone.

mod cache;
mod chunks;
mod cost;
mod read;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rand::RngExt as _;

use crate::api::duration;
use crate::api::resourceset::ResourceSetSpec;
use crate::object::{Digest, Key, Object, yaml};
use crate::template::{Engine, EngineSettings, Template, Time, Value as Root};

pub use super::inputs::{Combined, InputError, Source, combine, normalized};
pub use cache::Cache;
use cache::Renderer;

/// The engine of all templates, with the time and randomness that `ago` and `randInt` need.
static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let now = || {
        let now = jiff::Timestamp::now();
        Time::unix(now.as_second(), u32::try_from(now.subsec_nanosecond()).unwrap_or_default())
    };
    Engine::new(EngineSettings {
        random: Some(Arc::new(|below| rand::rng().random_range(0..below.max(1)))),
        clock: Some(Arc::new(now)),
        ..EngineSettings::resource_set()
    })
});

/// Functions after which the next template sees other inputs.
const CHANGING: &[&str] = &["set", "unset"];

/// Functions that give something else each time.
const FICKLE: &[&str] = &["randInt", "ago", "durationRound"];

/// The objects of one step; a ResourceSet without steps has one that has no name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name.
    pub name: Option<String>,
    /// How long its objects may take to become ready, where it says so.
    pub timeout: Option<Duration>,
    /// Its objects, in build order.
    pub objects: Vec<Arc<Object>>,
}

/// A spec from which no objects can be made. The texts are those of the API that ours follows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Steps stand beside resources of the set itself.
    #[error("spec.steps is mutually exclusive with spec.resources and spec.resourcesTemplate")]
    StepsAndResources,
    /// A step has nothing.
    #[error("step \"{0}\": at least one of resources or resourcesTemplate must be set")]
    EmptyStep(String),
    /// An item of `resources` gives no object; its index, when there are inputs.
    #[error("failed to build resource{}: {why}", index.map_or_else(String::new, |i| format!("s[{i}]")))]
    Resource {
        /// Its place in the list.
        index: Option<usize>,
        /// What is wrong.
        why: String,
    },
    /// `resourcesTemplate` gives no objects.
    #[error("failed to build resources: {0}")]
    Template(String),
    /// The same within a step.
    #[error("step \"{name}\": {error}")]
    Step {
        /// The step.
        name: String,
        /// What is wrong.
        error: Box<Self>,
    },
    /// Two steps make the same object.
    #[error("duplicate resource {object} in step \"{step}\", already defined in step \"{first}\"")]
    Duplicate {
        /// The object as `Kind/namespace/name`.
        object: String,
        /// The later step.
        step: String,
        /// The earlier step.
        first: String,
    },
}

/// Checks what the schema also checks, for clusters that do not.
///
/// # Errors
/// When steps and resources stand side by side, or a step has nothing.
pub fn validate(spec: &ResourceSetSpec) -> Result<(), BuildError> {
    let Some(steps) = &spec.steps else { return Ok(()) };
    if !steps.is_empty() && (!spec.resources.is_empty() || !spec.resources_template.is_empty()) {
        return Err(BuildError::StepsAndResources);
    }
    match steps.iter().find(|step| step.resources.is_empty() && step.resources_template.is_empty()) {
        Some(empty) => Err(BuildError::EmptyStep(empty.name.clone())),
        None => Ok(()),
    }
}

/// Renders the templates of a spec with all sets of inputs. Steps are kept also when they are left without objects.
///
/// # Errors
/// On the first template that is wrong, text that is no object, or object that two steps have.
pub fn build(spec: &ResourceSetSpec, inputs: &Combined, cache: &mut Cache) -> Result<Vec<Step>, BuildError> {
    validate(spec)?;
    let steps = spec.steps.as_deref().unwrap_or_default();
    let anonymous = [(None, Templates::new(&spec.resources, &spec.resources_template), None)];
    let named = steps.iter().map(|step| {
        let templates = Templates::new(&step.resources, &step.resources_template);
        (Some(step.name.clone()), templates, step.timeout.as_deref().and_then(duration::positive))
    });
    let all: Vec<_> = if steps.is_empty() { anonymous.into() } else { named.collect() };
    let mut renderer = cache.begin(inputs, all.iter().any(|(_, templates, _)| templates.change_inputs()));
    let mut built = Vec::with_capacity(all.len());
    for (name, templates, timeout) in all {
        let objects = templates.build(inputs, &mut renderer).map_err(|error| match &name {
            Some(name) => BuildError::Step { name: name.clone(), error: Box::new(error) },
            None => error,
        })?;
        built.push(Step { name, timeout, objects });
    }
    renderer.finish();
    no_duplicates(&built)?;
    Ok(built)
}

fn no_duplicates(steps: &[Step]) -> Result<(), BuildError> {
    let mut seen: HashMap<Key, &str> = HashMap::new();
    for step in steps {
        let Some(name) = step.name.as_deref() else { continue };
        for object in &step.objects {
            let key = object.key(object.namespace());
            match seen.get(&key) {
                Some(first) if *first != name => {
                    return Err(BuildError::Duplicate {
                        object: display(object),
                        step: name.to_owned(),
                        first: (*first).to_owned(),
                    });
                }
                Some(_) => {}
                None => drop(seen.insert(key, name)),
            }
        }
    }
    Ok(())
}

/// An object as messages name it: `Kind/namespace/name`, without the namespace when it has none.
pub fn display(object: &Object) -> String {
    match object.namespace() {
        Some(namespace) => format!("{}/{namespace}/{}", object.gvk().kind, object.name()),
        None => format!("{}/{}", object.gvk().kind, object.name()),
    }
}

/// The templates of one step.
struct Templates<'a> {
    /// The items of `resources` as text.
    items: Vec<String>,
    stream: &'a str,
}

/// Whether an action of a template may call one of these functions. It says yes too often rather than too seldom.
fn calls(text: &str, functions: &[&str]) -> bool {
    let actions = text.split("<<").skip(1).map(|action| action.rsplit_once(">>").map_or(action, |(inner, _)| inner));
    let mut words = actions.flat_map(|action| action.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.any(|word| functions.contains(&word))
}

impl<'a> Templates<'a> {
    /// Lines stay whole: a fold within an action would break the texts in it (resourceset §4.2).
    fn new(resources: &[serde_json::Value], stream: &'a str) -> Self {
        Self { items: resources.iter().map(yaml::emit_unfolded).collect(), stream }
    }

    /// Whether a template may change the inputs that the next one sees: what it gives then depends on more than its own
    /// text and inputs.
    fn change_inputs(&self) -> bool {
        self.items.iter().map(String::as_str).chain([self.stream]).any(|text| calls(text, CHANGING))
    }

    /// Item by item, set by set, then the stream set by set; the first of equal objects stays (resourceset §4.6).
    fn build(&self, inputs: &Combined, renderer: &mut Renderer<'_>) -> Result<Vec<Arc<Object>>, BuildError> {
        let mut found = Found::default();
        let has_inputs = matches!(inputs, Combined::Sets(_));
        if inputs.is_empty() && has_inputs {
            return Ok(found.objects);
        }
        for (index, item) in self.items.iter().enumerate() {
            let index = has_inputs.then_some(index);
            let mut template = Lazy::new(item, read::Form::Item { keep_excluded: !has_inputs });
            for set in 0..inputs.len().max(1) {
                let objects = renderer.render(&mut template, set).map_err(|why| BuildError::Resource { index, why })?;
                found.take(&objects, has_inputs);
            }
        }
        if !self.stream.is_empty() {
            let mut template = Lazy::new(self.stream, read::Form::Stream);
            for set in 0..inputs.len().max(1) {
                found.take(&renderer.render(&mut template, set).map_err(BuildError::Template)?, true);
            }
        }
        Ok(found.objects)
    }
}

/// Objects found so far.
#[derive(Default)]
struct Found {
    objects: Vec<Arc<Object>>,
    keys: HashSet<Key>,
}

impl Found {
    fn take(&mut self, objects: &[Arc<Object>], once: bool) {
        for object in objects {
            let new = self.keys.insert(object.key(object.namespace()));
            if new || !once {
                self.objects.push(Arc::clone(object));
            }
        }
    }
}

/// A template that is read when it is first needed.
struct Lazy<'t> {
    text: &'t str,
    digest: Digest,
    form: read::Form,
    parsed: Option<Template>,
    /// It may give something else each time, so that nothing of it is kept.
    is_fickle: bool,
}

impl<'t> Lazy<'t> {
    fn new(text: &'t str, form: read::Form) -> Self {
        Self { text, digest: Digest::of(text.as_bytes()), form, parsed: None, is_fickle: calls(text, FICKLE) }
    }

    /// The objects, the steps that it took, and the bytes of what was read, of which there may be `left`.
    fn render(
        &mut self,
        inputs: Option<&crate::template::Inputs>,
        left: usize,
    ) -> Result<(Vec<Arc<Object>>, u64, usize), String> {
        let what = self.form.template();
        let template = match &self.parsed {
            Some(parsed) => parsed,
            None => {
                let parsed = ENGINE.parse(self.text);
                self.parsed.insert(parsed.map_err(|e| format!("failed to parse {what}: {e}"))?)
            }
        };
        let rendered = template.render_counted(&Root::Nil, inputs);
        let (text, steps) = rendered.map_err(|e| format!("failed to execute {what}: {e}"))?;
        let (objects, bytes) = self.form.read(&text, left)?;
        Ok((objects, steps, bytes))
    }
}
