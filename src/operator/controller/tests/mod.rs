//! Tests of a controller's parts that need no API server.

mod queue;
mod store;
