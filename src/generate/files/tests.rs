//! Walks over trees in memory.
