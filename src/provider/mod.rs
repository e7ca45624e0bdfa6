//! What exists elsewhere, as lists of inputs: branches, tags and change requests of git hosts, tags of artifacts, answers
//! of services; with their filters and schedules (resourceset §8). It lists; what is made of the lists is decided above.
//!
//! A listing is complete or an error: a page that failed, or a limit that was met, never makes a shorter list.

mod settings;

pub use settings::{Endpoints, Settings};
