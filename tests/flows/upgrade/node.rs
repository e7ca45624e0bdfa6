//! Plays the kubelet for the one Pod that matters: whatever image and arguments the Deployment `flux` has, the program of
//! that image runs with them, out of the cluster, at an address that stays. (kwok only says that Pods run.)

use crate::rig::{ControlPlane, Fluxd, Memcached, eventually, free_port, tool};
use std::path::PathBuf;

/// The node that the Deployment `flux` runs on.
pub(super) struct Node<'a> {
    plane: &'a ControlPlane,
    port: u16,
    memcached: Memcached,
    running: Option<(String, Fluxd)>,
}

impl<'a> Node<'a> {
    pub(super) fn new(plane: &'a ControlPlane) -> Self {
        Self { plane, port: free_port(), memcached: Memcached::start(), running: None }
    }

    /// What `fluxctl` is given as its `FLUX_URL`.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/api/flux", self.port)
    }

    /// The daemon that runs.
    pub(super) fn fluxd(&self) -> &Fluxd {
        &self.running.as_ref().expect("settled before").1
    }

    /// Ends what should not run any more, starts what should, and waits until its repository is ready. Gives the image.
    #[track_caller]
    pub(super) fn settle(&mut self) -> String {
        let deployment = self.plane.get("flux", "deployment", "flux").expect("the guide keeps the Deployment");
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let image = container["image"].as_str().expect("a container has an image").to_owned();
        if self.running.as_ref().is_none_or(|(running, _)| *running != image) {
            if let Some((_, old)) = self.running.take() {
                assert!(old.terminate().success(), "it ends in peace");
            }
            let args: Vec<String> = container["args"].as_array().into_iter().flatten().map(text).collect();
            self.running = Some((image.clone(), self.start(&image, &args)));
        }
        eventually("the repository is ready", || {
            let reply = self.fluxd().post("/api/flux/v9/git-repo-config", "false")?;
            (reply.json()["status"] == "ready").then_some(())
        });
        image
    }

    /// Only what a node differs in from this machine is put into the arguments: where memcached is, and a port for metrics.
    fn start(&self, image: &str, args: &[String]) -> Fluxd {
        let program = match image {
            "docker.io/fluxcd/flux:1.25.4" => tool("flux-v1", "fluxd"),
            "fluxd:0.1.0" => PathBuf::from(env!("CARGO_BIN_EXE_fluxd")),
            other => panic!("no program for the image {other}"),
        };
        let args: Vec<&str> = args
            .iter()
            .map(|arg| if arg.starts_with("--listen-metrics") { "--listen-metrics=" } else { arg })
            .collect();
        let builder = Fluxd::against(self.plane).program(&program).port(self.port).args(&args);
        let mut fluxd = builder.args(&self.memcached.args().each_ref().map(String::as_str)).start();
        fluxd.wait_until_up();
        fluxd
    }
}

fn text(value: &serde_json::Value) -> String {
    value.as_str().expect("arguments are text").to_owned()
}
