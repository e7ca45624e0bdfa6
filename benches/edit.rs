//! What it costs to change an image in a large file, beside reading that file once.

use std::time::{Duration, Instant};

use fluxd::object::workload::{FieldChange, Step};
use fluxd::object::yaml::edit::{ObjectEdit, Op, edit};
use fluxd::object::yaml::{Dialect, Limits, read};

use crate::figures::{Cost, Figures, text};

/// Objects of the file, and about how many bytes each has.
const OBJECTS: usize = 282;
const SIZE: usize = 9_600;
/// Measurements, of which the middle one counts.
const RUNS: usize = 15;

/// A file as a large repository has it: Deployments with comments and many variables.
fn stream() -> String {
    let mut out = String::new();
    for number in 0..OBJECTS {
        let start = out.len();
        out += &format!(
            "---\n# workload {number}\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-{number}\n  namespace: \
             ns\n  annotations:\n    fluxcd.io/automated: 'true'\nspec:\n  template:\n    spec:\n      containers:\n      - name: \
             web\n        image: example.org/web:v1 # current\n        env:\n"
        );
        let mut variable = 0;
        while out.len() - start < SIZE {
            variable += 1;
            out += &format!("        - name: VARIABLE_{variable}\n          value: \"some {variable} value\" # why\n");
        }
    }
    out
}

fn change(number: usize) -> ObjectEdit {
    let keys = ["spec", "template", "spec", "containers"].map(Step::key);
    let path = keys.into_iter().chain([Step::Index(0), Step::key("image")]).collect();
    let id = format!("ns:deployment/web-{number}").parse().expect("it is an identity");
    ObjectEdit { id, ops: vec![Op::Set(FieldChange { path, value: "example.org/web:v2".into() })] }
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[RUNS / 2]
}

/// One image of the last of 282 objects, and one of each, in 2.7 MB.
pub fn image_edit(figures: &mut Figures) {
    let (stream, limits) = (stream(), Limits::default());
    let whole = median(|| {
        assert_eq!(read(stream.as_bytes(), Dialect::Kubernetes, &limits).expect("it is YAML").len(), OBJECTS)
    });
    let (one, all) = ([change(OBJECTS - 1)], (0..OBJECTS).map(change).collect::<Vec<_>>());
    let last = stream.rfind("web:v1").expect("the image is there");
    let want = format!("{}web:v2{}", &stream[..last], &stream[last + 6..]);
    assert!(
        edit(stream.as_bytes(), &one, &limits).expect("it is edited").bytes == want.as_bytes(),
        "all other bytes stay"
    );
    let took = median(|| drop(edit(stream.as_bytes(), &one, &limits)));
    let took_all = median(|| drop(edit(stream.as_bytes(), &all, &limits)));
    let none = Cost { cpu: took, peak_mib: 0.0, requests: 0.0 };
    let peer = format!("read once: {}", text(whole));
    let ratio = |took: Duration| format!("{:.2}", took.as_secs_f64() / whole.as_secs_f64());
    figures.row("image edit, 282 objects, 2.7 MB", &text(took), &peer, &ratio(took), "< 30 ms", none);
    let all = Cost { cpu: took_all, peak_mib: 0.0, requests: 0.0 };
    figures.row("the same, an image of each object", &text(took_all), &peer, &ratio(took_all), "-", all);
}
