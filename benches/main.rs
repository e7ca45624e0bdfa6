//! The benchmarks of `scripts/bench`: what a sync costs, each figure beside the bare client's of the same run.
//!
//! Every case runs the built `fluxd` against a real control plane and a local git server, both on this machine, and reads
//! its CPU time and memory from the kernel. A table goes to stdout; nothing is asserted, because speed is not a test.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::panic,
    unreachable_pub,
    reason = "a program for developers, which prints and stops at the first surprise"
)]

#[path = "../tests/rig/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "the tests use the rest of the harness")]
mod rig;

mod cases;
mod edit;
mod figures;
mod process;
mod races;
mod raw;
mod registry;
mod release;
mod sets;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime without options can be built");
    let mut figures = figures::Figures::new();
    let bench = cases::Bench::start(runtime);
    for (name, case) in cases::ALL {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
            eprintln!("bench: {name}");
            case(&bench, &mut figures);
        }
    }
    figures.print();
}
