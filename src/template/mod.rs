//! Templates as Go's `text/template` renders them, with the function sets that users of Kubernetes tools know. Pure: a
//! template is a function of its data, bounded in steps, depth and size.

mod engine;
mod error;
mod value;

pub use engine::{Engine, EngineSettings, Functions, Inputs, Limits, MissingKey, Template};
pub use error::{ErrorKind, TemplateError};
pub use value::{List, Map, Value};
