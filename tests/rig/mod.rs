//! The test harness: a real control plane, real git servers, the built `fluxd`, and a way to wait without sleeping.
//! It asserts nothing about fluxd itself.
//!
//! ```text
//! let plane = ControlPlane::shared();                 // started once per test process, gone with it
//! let namespace = plane.namespace("shop");            // a fresh name
//! let repo = Repo::new();                             // a bare "remote" and a working copy
//! repo.write("cm.yaml", &text); repo.push("add a config map");
//! let fluxd = Fluxd::against(plane).git(&repo).arg("--sync-interval=1h").start();
//! eventually("the config map is live", || plane.get(&namespace, "configmap", "a"));
//! ```

mod controllers;
mod controlplane;
mod fluxd;
mod git;
mod http;
mod memcached;
mod processes;
mod registry;
mod servers;
mod tools;
mod wait;
mod webhook;

pub use controllers::{Controllers, ControllersBuilder};
pub use controlplane::{ControlPlane, fresh_name, source_root};
pub use fluxd::{Fluxd, FluxdBuilder, Metrics};
pub use git::Repo;
pub use http::{Reply, request};
pub use memcached::Memcached;
pub use processes::{Process, free_port, run};
pub use registry::{DockerRegistry, Double, Image, Scripted, Seen, Tunnel, basic, digest, scripted_registry};
pub use servers::{Answer, GitHttp, GitHttpOptions, GitSsh};
pub use tools::tool;
pub use wait::{DEADLINE, eventually, eventually_async};
pub use webhook::{Review, Verdict, Webhook, configuration};
