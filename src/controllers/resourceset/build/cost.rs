//! What one build may spend over all its templates and sets. A single rendering has bounds of its own; a hundred thousand
//! small sets must not multiply them. The count does not depend on what the cache holds.

use serde_json::Value;

/// Steps that a rendering costs whatever it does.
const RENDERING: u64 = 20;

/// Bytes of a set of inputs that are made ready for a template for one step.
const BYTES_PER_STEP: u64 = 16;

/// What an object costs beside its content.
const OBJECT: usize = 512;

/// What was spent, or may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Bytes of everything that was read from rendered texts.
    pub(super) bytes: usize,
    /// Steps of templates.
    pub(super) steps: u64,
}

impl Cost {
    /// What a build may spend: several times what fits into an inventory that etcd takes.
    pub(super) const LIMIT: Self = Self { bytes: 256 << 20, steps: 400_000_000 };

    /// Of a rendering, with a set of so many bytes.
    pub(super) fn of_rendering(set_bytes: usize, steps: u64, bytes: usize) -> Self {
        Self { bytes, steps: RENDERING.saturating_add(set_bytes as u64 / BYTES_PER_STEP).saturating_add(steps) }
    }

    /// Adds more.
    ///
    /// # Errors
    /// In words, when that is more than `limit`.
    pub(super) fn add(&mut self, more: Self, limit: Self) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.steps = self.steps.saturating_add(more.steps);
        if self.bytes > limit.bytes {
            return Err(too_large(limit.bytes));
        }
        if self.steps > limit.steps {
            return Err(format!("all templates together take more than the limit of {} steps", limit.steps));
        }
        Ok(())
    }
}

/// What is said of too many or too large objects.
pub(super) fn too_large(limit: usize) -> String {
    format!("all objects together are larger than the limit of {limit} bytes")
}

/// About the bytes that an object takes.
pub(super) fn object_size(value: &Value) -> usize {
    OBJECT + size(value)
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 16 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 16 + map.iter().map(|(key, value)| 16 + key.len() + size(value)).sum::<usize>(),
        Value::String(text) => 16 + text.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 16,
    }
}
