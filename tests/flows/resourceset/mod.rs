//! ResourceSets against a real API server.

mod definitions;
