//! The daemon's door.

fn main() {}
