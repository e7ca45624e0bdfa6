//! Templates as Go's `text/template` renders them, with the function sets that users of Kubernetes tools know. Pure: a
//! template is a function of its data, bounded in steps, depth and size.

mod engine;
mod error;
mod exec;
mod format;
mod functions;
mod lex;
mod parse;
mod slug;
mod strconv;
#[cfg(test)]
mod tests;
mod time;
mod value;

pub use engine::{
    Clock, Engine, EngineSettings, Functions, Hook, Inputs, Limits, MissingKey, Random, Template, Templates,
};
pub use error::{ErrorKind, TemplateError};
pub use slug::slugify;
pub use time::Time;
pub use value::{Element, List, Map, Text, Value};
