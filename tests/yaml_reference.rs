//! The loader against what Flux v1 and kubectl make of the same text: over a thousand streams, value by value. The
//! answers of the originals' libraries are kept in `tests/data/yaml/reference.json`; a second test asks them again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fluxd::object::yaml::{self, Dialect, Limits};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    name: String,
    yaml: String,
}

/// What the reference says of one stream: its documents, or an error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Answer {
    #[serde(default)]
    documents: Vec<Value>,
    error: Option<String>,
}

/// Streams that we read otherwise, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("key .nan", "go-yaml loses the value of a key that equals nothing, itself included"),
    ("key .NaN", "as above"),
    ("item -", "a dash alone in a flow list is no scalar to our parser: refused"),
    ("key &", "an anchor of a strange name; no object either way"),
    ("item !", "tags before a closing bracket are read"),
    ("item !!str", "as above"),
    ("item !!null", "as above"),
    ("item !x", "as above"),
    ("key \"<<\"", "a quoted << is an ordinary key; v1 lost the quotes on the way"),
    ("value \"\\/\"", "JSON's escape of a slash is read"),
    ("key \"\\/\"", "as above"),
    ("item \"\\/\"", "as above"),
    ("doc: json escapes", "as above"),
    ("text 130 '\"\\\\uD83D\\\\uDE00\"'", "JSON's surrogate pairs are read"),
    ("doc: json surrogates", "as above"),
    ("doc: dots only", "a document end without a document is passed over"),
    ("doc: dots then bare", "a document may begin without a marker after a document end"),
    ("doc: yaml directive 1.2", "the version of the directive is not looked at"),
    ("doc: unknown directive", "unknown directives are passed over, as YAML asks"),
    ("doc: tab only", "lines of white space are empty"),
    ("doc: tab line", "as above"),
    ("doc: tab in list", "a tab may separate a dash from its element"),
    ("doc: merge alias to list", "a list of mappings may be merged by an alias too"),
    ("doc: flow question", "a question mark needs a blank after it to mean a key"),
    ("doc: nel", "the next-line character of 1960s mainframes is text, not a line's end"),
    ("doc: bom second doc", "a byte order mark in the middle is refused, not taken into a key"),
];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/yaml").join(name)
}

fn corpus() -> Vec<Case> {
    serde_json::from_slice(&std::fs::read(data("corpus.json")).unwrap()).unwrap()
}

fn ask_reference(corpus: &[Case]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/tools");
    let found = Command::new(script).arg("yamlref").stderr(Stdio::inherit()).output().unwrap();
    let program = Path::new(String::from_utf8(found.stdout).unwrap().trim()).join("yamlref");
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let streams: Vec<u8> = corpus
        .iter()
        .flat_map(|case| [format!("{}\n", case.yaml.len()), case.yaml.clone()].concat().into_bytes())
        .collect();
    let writer = std::thread::spawn(move || input.write_all(&streams));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn values_are_those_that_flux_v1_and_kubectl_read() {
    let answers: BTreeMap<String, Answer> =
        serde_json::from_slice(&std::fs::read(data("reference.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for Case { name, yaml } in corpus() {
        let want = &answers[&name];
        let got = yaml::read(yaml.as_bytes(), Dialect::Kubernetes, &Limits::default());
        let same = match (&got, &want.error) {
            (Ok(found), None) => found.iter().map(|d| &d.value).eq(&want.documents),
            (Err(_), Some(_)) => true,
            _ => false,
        };
        if same == DIFFERENCES.iter().any(|(known, _)| *known == name) {
            wrong.push(format!("{name}: {yaml:.300?}\n  ours      {got:.300?}\n  reference {want:.300?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of the streams differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_kept_answers_are_those_of_the_reference() {
    let corpus = corpus();
    let lines = ask_reference(&corpus);
    let answers: Vec<String> = corpus
        .iter()
        .zip(lines.lines())
        .map(|(case, line)| format!("{}: {line}", Value::from(case.name.as_str())))
        .collect();
    let text = format!("{{\n{}\n}}\n", answers.join(",\n"));
    if std::env::var_os("FLUXD_RECORD").is_some() {
        std::fs::write(data("reference.json"), text).unwrap();
    } else {
        assert!(std::fs::read_to_string(data("reference.json")).unwrap() == text, "record again with FLUXD_RECORD=1");
    }
}
