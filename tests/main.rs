//! All integration tests in one binary, so that the crate is linked once and one control plane serves them all.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests start processes, read the environment and stop at the first surprise; the lints guard the daemon"
)]

mod architecture;
mod compatibility;
mod flows;
mod fuzz_corpus;
#[allow(dead_code, unused_imports, reason = "the harness offers more than any one set of tests uses")]
mod rig;
mod sops_reference;
mod template_reference;
mod yaml_reference;
