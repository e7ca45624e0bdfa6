//! What input providers read: cron expressions, answers of services, git's advertisement of refs.
#![no_main]

#[allow(dead_code)]
#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::provider(data));
