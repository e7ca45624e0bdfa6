//! Answers as text: v1's tables to the byte, ours beside them. Nothing is asked or printed here; every function returns
//! what is to be printed.

mod diff;
mod images;
mod json;
mod news;
mod paint;
mod results;
mod trace;
mod tree;
mod workloads;

pub use super::table::columns;
pub use diff::{mask, plan};
pub use images::images;
pub use json::{cut_available, json_list, yaml, yaml_list};
pub use news::news;
pub use paint::Paint;
pub use results::{Verbosity, results};
pub(super) use results::{row_of, visible};
pub use trace::trace;
pub use tree::tree;
pub use workloads::{rollout, with_container, workloads};

/// How wide a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Whether its first line names the columns.
    pub headers: bool,
    /// Whether it has the columns that v1 had not.
    pub wide: bool,
}
