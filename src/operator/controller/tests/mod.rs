//! Tests of a controller's parts that need no API server.

mod passes;
mod queue;
mod store;
