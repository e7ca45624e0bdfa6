//! What a rendering may still spend: steps, depth, bytes.

use super::super::engine::Limits;

/// Why a function gave no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Fail {
    /// It failed, in Go's words.
    Message(String),
    /// A bound is reached; the text names it.
    Limit(String),
}

impl From<String> for Fail {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for Fail {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

/// Nesting of lists and maps that are printed, compared or turned into JSON; readers of JSON stop at 128.
const NESTING: usize = 120;

/// Bytes that cost a step.
const BYTES_PER_STEP: usize = 16;

/// Counts what a rendering does.
#[derive(Debug)]
pub(in super::super) struct Meter {
    limits: Limits,
    spent: u64,
    depth: usize,
}

impl Meter {
    pub(in super::super) fn new(limits: Limits) -> Self {
        Self { limits, spent: 0, depth: 0 }
    }

    /// Steps taken so far.
    pub(in super::super) fn spent(&self) -> u64 {
        self.spent
    }

    /// Takes steps.
    pub(in super::super) fn spend(&mut self, steps: usize) -> Result<(), Fail> {
        self.spent = self.spent.saturating_add(steps as u64);
        let limit = self.limits.steps;
        if self.spent > limit {
            return Err(Fail::Limit(format!("the template takes more than the limit of {limit} steps")));
        }
        Ok(())
    }

    /// Makes a text or a list longer: what it costs, and whether it may.
    pub(in super::super) fn grow(&mut self, length: usize, added: usize) -> Result<(), Fail> {
        let limit = self.limits.output_bytes;
        if length.saturating_add(added) > limit {
            return Err(Fail::Limit(format!("a text of the template is longer than the limit of {limit} bytes")));
        }
        self.spend(added / BYTES_PER_STEP)
    }

    /// Looks at a nested value.
    pub(in super::super) fn nest(&mut self, depth: usize) -> Result<(), Fail> {
        if depth > NESTING {
            return Err(Fail::Limit(format!("lists and maps are nested deeper than the limit of {NESTING}")));
        }
        self.spend(1)
    }

    /// Goes one level deeper into actions, templates or expressions.
    pub(in super::super) fn enter(&mut self) -> Result<(), Fail> {
        let limit = self.limits.depth;
        if self.depth >= limit {
            return Err(Fail::Limit(format!("actions and templates are nested deeper than the limit of {limit}")));
        }
        self.depth += 1;
        Ok(())
    }

    pub(in super::super) fn leave(&mut self) {
        self.depth -= 1;
    }
}
