//! What finding new images costs when a registry may be asked ten times a second: how soon a choice can be made, and what a
//! restart asks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fluxd::object::image::{CanonicalName, ImageRef};
use fluxd::object::pattern::Pattern;
use fluxd::registry::{Registry, Settings, Want};
use fluxd::runtime::Stop;
use serde_json::json;

use crate::cases::Bench;
use crate::figures::{Cost, Figures, text};
use crate::rig::{Double, Image, Scripted, Seen, digest};

const IMAGES: usize = 100;
const TAGS: usize = 1_000;
const RATE: u32 = 10;
/// How long a scan is watched after the last decision.
const WATCHED: Duration = Duration::from_secs(5);

/// A registry in which every repository has the same tags, and every tag the same image.
fn registry() -> impl Fn(&Seen) -> Scripted {
    let tags = json!({"tags": (0..TAGS).map(|n| format!("1.{n}.0")).collect::<Vec<_>>()});
    let image = Image::made("2024-01-01T00:00:00Z");
    let (manifest, config) = (image.manifest(), image.config.to_string());
    move |seen| match seen.path.as_str() {
        "/v2/" => Scripted::json(&json!({})),
        path if path.ends_with("/tags/list") => Scripted::json(&tags),
        path if path.contains("/manifests/") => Scripted::new(200, manifest.clone())
            .header("Content-Type", image.types.0)
            .header("Docker-Content-Digest", &digest(&manifest)),
        _ => Scripted::new(200, config.clone()),
    }
}

/// Times until the first and until all images have been decided on, and the paths asked for.
struct Scanned {
    first: Duration,
    all: Duration,
    asked: Vec<String>,
}

async fn scan(settings: Settings, wants: &BTreeMap<CanonicalName, Want>, double: &Double) -> Scanned {
    let registry = Registry::new(settings).expect("the cache can be made");
    let (stop, mut changes) = (Stop::new(), registry.changes());
    let pattern = Pattern::parse("semver:*");
    let known = |name| registry.repository(name).is_ok_and(|view| view.is_complete_for(&pattern));
    let (before, began) = (double.seen().len(), Instant::now());
    registry.want(Arc::new(wants.clone()));
    let watching = async {
        let mut first = None;
        loop {
            let count = wants.keys().filter(|name| known(name)).count();
            if count > 0 {
                first.get_or_insert_with(|| began.elapsed());
            }
            if count == wants.len() {
                break;
            }
            changes.changed().await.expect("the registry lives");
        }
        let all = began.elapsed();
        // what follows is what nobody waits for: the tags that run, and all others for lists of images
        tokio::time::sleep(WATCHED).await;
        stop.stop();
        let asked = double.seen()[before..].iter().map(|seen| seen.path.clone()).collect();
        Scanned { first: first.unwrap_or(all), all, asked }
    };
    let (ended, scanned) = tokio::join!(registry.run(stop.clone()), watching);
    ended.expect("a scan ends when asked");
    scanned
}

/// A hundred images of a thousand tags each, all with a new version: from nothing, and after a restart.
pub fn first_decision(bench: &Bench, figures: &mut Figures) {
    let double = Double::start(registry());
    let folder = tempfile::tempdir().expect("a temporary directory");
    let settings = || Settings {
        rps: f64::from(RATE),
        burst: RATE,
        poll: Duration::from_secs(600),
        insecure_hosts: vec!["127.0.0.1".to_owned()],
        cache: Some(folder.path().join("registry")),
        ..Settings::default()
    };
    let want = Want {
        patterns: vec![Pattern::parse("semver:*")],
        automated: true,
        current: vec!["1.5.0".to_owned()],
        ..Want::default()
    };
    let name = |n: usize| {
        let image: ImageRef = format!("{}/shop/web-{n}:1.5.0", double.host()).parse().expect("an image");
        image.canonical()
    };
    let wants: BTreeMap<_, _> = (0..IMAGES).map(|n| (name(n), want.clone())).collect();
    let cold = bench.block_on(scan(settings(), &wants, &double));
    let cost = |scanned: &Scanned| Cost { requests: scanned.asked.len() as f64, ..Cost::default() };
    let case = format!("{IMAGES} images x {TAGS} tags at {RATE} requests/s, first decision");
    let all = format!("all {IMAGES} after {}", text(cold.all));
    figures.row(&case, &text(cold.first), &all, "-", "under 15 s", cost(&cold));
    let warm = bench.block_on(scan(settings(), &wants, &double));
    // configurations are shared by all images here, and the first contact is a new process's own
    let is_twice = |path: &&String| !path.contains("/blobs/") && *path != "/v2/" && cold.asked.contains(path);
    let twice = warm.asked.iter().filter(is_twice).count();
    let again = format!("{twice} asked again");
    figures.row("the same after a restart", &again, "-", "-", "none asked again", cost(&warm));
}
