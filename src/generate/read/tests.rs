//! Streams into objects.
