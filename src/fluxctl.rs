//! The client's door.

fn main() -> std::process::ExitCode {
    fluxd::cli::fluxctl::main(std::env::args_os())
}
