//! Whatever the file, and whatever the edit: all other bytes stay, and the result reads as intended, or nothing comes out.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A file put together from ways to write the same things, with what is between them.
#[derive(Clone, Debug)]
struct File {
    eol: &'static str,
    step: usize,
    documents: Vec<Workload>,
    last_line_ends: bool,
}

#[derive(Clone, Debug)]
struct Workload {
    lead: &'static str,
    annotations: Annotations,
    images: Vec<(usize, &'static str)>,
    tail: &'static str,
}

#[derive(Clone, Debug)]
enum Annotations {
    Absent,
    Empty(&'static str),
    Block(Vec<&'static str>),
    Flow(Vec<&'static str>),
}

/// Ways to write an image, `@` in the place of the text.
const IMAGES: [&str; 8] =
    ["@", "'@'", "\"@\"", "@ # note", "!!str @", "&anchor@INDEX @", ">-\n          @", "# below\n          '@'  "];
const LEADS: [&str; 4] = ["---\n", "# head\n---\n", "--- # c\n", "---\n\n# note: {x\n"];
const TAILS: [&str; 4] = ["", "\n", "# end\n\n", "status: {}   \n"];
const ENTRIES: [&str; 5] =
    ["a: b", "'c': \"d: e\"", "f.io/g: |-\n      h\n\n      i\n    ", "fluxcd.io/automated: 'true'", "j: k # l"];
const FLOW_ENTRIES: [&str; 4] = ["a: b", "'c': \"d: e\"", "fluxcd.io/automated: 'true'", "j: [k, {l: m}]"];

fn annotations() -> impl Strategy<Value = Annotations> {
    prop_oneof![
        Just(Annotations::Absent),
        prop::sample::select(vec!["", " {}", " # none", " ~"]).prop_map(Annotations::Empty),
        prop::sample::subsequence(ENTRIES.to_vec(), 1..=5).prop_map(Annotations::Block),
        prop::sample::subsequence(FLOW_ENTRIES[..3].to_vec(), 1..=3).prop_map(Annotations::Flow),
    ]
}

prop_compose! {
    fn workload()(
        lead in prop::sample::select(LEADS.to_vec()),
        annotations in annotations(),
        images in vec((0..IMAGES.len(), prop::sample::select(vec!["a:1", "quay.io/x/y:v1.2", "b"])), 1..4),
        tail in prop::sample::select(TAILS.to_vec()),
    ) -> Workload {
        Workload { lead, annotations, images, tail }
    }
}

prop_compose! {
    fn file()(
        eol in prop::sample::select(vec!["\n", "\r\n"]),
        step in 2..5_usize,
        documents in vec(workload(), 1..4),
        last_line_ends in any::<bool>(),
    ) -> File {
        File { eol, step, documents, last_line_ends }
    }
}

impl File {
    fn text(&self) -> String {
        let mut out = String::new();
        for (number, workload) in self.documents.iter().enumerate() {
            workload.write(number, self.step, &mut out);
        }
        if !self.last_line_ends && !out.ends_with("\n\n") {
            out.truncate(out.trim_end_matches('\n').len());
        }
        out.replace('\n', self.eol)
    }
}

impl Workload {
    fn write(&self, number: usize, step: usize, out: &mut String) {
        let pad = " ".repeat(step);
        out.push_str(&format!(
            "{}apiVersion: apps/v1\nkind: Deployment\nmetadata:\n{pad}name: w{number}\n{pad}namespace: ns\n",
            self.lead
        ));
        match &self.annotations {
            Annotations::Absent => {}
            Annotations::Empty(text) => out.push_str(&format!("{pad}annotations:{text}\n")),
            Annotations::Flow(entries) => out.push_str(&format!("{pad}annotations: {{{}}}\n", entries.join(", "))),
            Annotations::Block(entries) => {
                out.push_str(&format!("{pad}annotations:\n"));
                for entry in entries {
                    out.push_str(&format!(
                        "{pad}{pad}{}\n",
                        entry.trim_end().replace("\n      ", &format!("\n{pad}{pad}{pad}"))
                    ));
                }
            }
        }
        out.push_str("spec:\n  template:\n    spec:\n      containers:\n");
        for (index, (style, image)) in self.images.iter().enumerate() {
            let image = IMAGES[*style].replace("@INDEX", &index.to_string()).replace('@', image);
            out.push_str(&format!("      - name: c{index}\n        image: {image}\n"));
        }
        out.push_str(self.tail);
    }
}

fn op() -> impl Strategy<Value = (usize, Op)> {
    let values = prop::sample::select(vec![
        "a:2",
        "x.io/p:1.0",
        "1.0",
        "true",
        "a: b",
        "it's",
        "",
        "\u{e9} #",
        "two\nlines",
        "glob:*",
    ]);
    let keys = prop::sample::select(vec!["a", "c", "j", "f.io/g", "fluxcd.io/automated", "fluxcd.io/tag.c0", "y"]);
    let annotation = (keys, prop::option::of(values.clone())).prop_map(|(key, value)| annotate(key, value));
    let image = (0..3_usize, values)
        .prop_map(|(index, value)| set(&format!("spec/template/spec/containers/{index}/image"), value));
    (0..3_usize, prop_oneof![annotation, image])
}

/// The lines that stand in both, in order, counted from the front and from the back.
fn assert_only_lines_differ(before: &str, after: &str, edits: usize) {
    let (before, after): (Vec<_>, Vec<_>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let changed = similar::capture_diff_slices(similar::Algorithm::Myers, &before, &after);
    let touched = changed.iter().filter(|op| op.tag() != similar::DiffTag::Equal).count();
    assert!(touched <= edits * 2, "{touched} places changed by {edits} edits");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_edit_reads_as_intended_and_leaves_the_rest_alone(file in file(), ops in vec(op(), 1..4)) {
        let text = file.text();
        let mut edits: Vec<ObjectEdit> = Vec::new();
        for (number, op) in ops {
            let of = id(&format!("ns:deployment/w{}", number % file.documents.len()));
            match edits.iter_mut().find(|edit| edit.id == of) {
                Some(edit) => edit.ops.push(op),
                None => edits.push(ObjectEdit { id: of, ops: vec![op] }),
            }
        }
        let count = edits.iter().map(|edit| edit.ops.len()).sum();
        let Ok(done) = edit(text.as_bytes(), &edits, &Limits::default()) else { return Ok(()) };
        let after = String::from_utf8(done.bytes).unwrap();
        for number in 0..file.documents.len() {
            let of = format!("ns:deployment/w{number}");
            let mut wanted = object(&text, &of);
            let found = object(&after, &of);
            for (edit, changed) in edits.iter().zip(&done.changed).filter(|(edit, _)| edit.id == id(&of)) {
                if *changed {
                    edit.ops.iter().for_each(|op| change(&mut wanted, op).unwrap());
                }
            }
            prop_assert_eq!(found, wanted, "{}", after);
        }
        assert_only_lines_differ(&text, &after, count);
        let again = edit(after.as_bytes(), &edits, &Limits::default());
        if let Ok(again) = again {
            prop_assert_eq!(String::from_utf8(again.bytes).unwrap(), after, "a second time it changes nothing");
        }
    }

    #[test]
    fn most_edits_are_made(file in file(), key in prop::sample::select(vec!["y", "fluxcd.io/automated"])) {
        let text = file.text();
        let ops = vec![annotate(key, Some("true")), set("spec/template/spec/containers/0/image", "new:2")];
        let made = edited(&text, &[("ns:deployment/w0", ops)]);
        prop_assert!(made.is_ok(), "{:?}\n{}", made, text);
    }
}
