//! The daemon's door.

fn main() -> std::process::ExitCode {
    fluxd::cli::main(std::env::args_os())
}
