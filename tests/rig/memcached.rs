//! A memcached, which the original daemon keeps image metadata in.

use super::eventually;
use super::processes::{Process, free_port};
use std::process::Command;

/// A memcached on loopback.
#[derive(Debug)]
pub struct Memcached {
    port: u16,
    _process: Process,
}

impl Memcached {
    /// Starts an empty one.
    #[track_caller]
    pub fn start() -> Self {
        let port = free_port();
        let mut command = Command::new("memcached");
        command.args(["-u", "root", "-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0"]);
        let process = Process::start(command, "KILL");
        eventually("memcached listens", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        Self { port, _process: process }
    }

    /// The arguments that lead the original daemon to it.
    pub fn args(&self) -> [String; 3] {
        [
            "--memcached-hostname=127.0.0.1".to_owned(),
            format!("--memcached-port={}", self.port),
            "--memcached-service=".to_owned(),
        ]
    }
}
