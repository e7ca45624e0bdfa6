//! Patterns as files have them: what they match, how they order, what they print.
