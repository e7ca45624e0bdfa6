//! Documents into values.
