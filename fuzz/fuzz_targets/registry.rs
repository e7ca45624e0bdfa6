//! What registries say: headers, lists, manifests, configurations, tokens, errors; and docker's configuration.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::registry(data));
