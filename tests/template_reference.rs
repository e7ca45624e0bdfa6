//! Templates and YAML against the libraries of the original: Go's `text/template` with slim-sprig, and `sigs.k8s.io/yaml`.
//! A corpus of templates has its answers kept in `tests/data/template`; one test asks Go again. A matrix of every function
//! with odd arguments and generated YAML are put to Go only.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use fluxd::object::yaml::{self, Dialect, Limits};
use fluxd::template::{Engine, EngineSettings, Inputs, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// What Go says of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Answer {
    #[serde(default)]
    output: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Templates that we render otherwise, and why: the beginning of the template.
const DIFFERENCES: &[(&str, &str)] = &[];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/template").join(name)
}

fn inputs() -> Json {
    serde_json::from_slice(&std::fs::read(data("inputs.json")).unwrap()).unwrap()
}

fn corpus() -> Vec<String> {
    let text = std::fs::read_to_string(data("corpus.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.replace('⏎', "\n").replace('⇥', "\t")).collect()
}

/// Puts requests to Go.
fn ask(requests: &[Json]) -> Vec<Answer> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/tools");
    let found = Command::new(script).arg("tmplref").stderr(Stdio::inherit()).output().unwrap();
    let program = Path::new(String::from_utf8(found.stdout).unwrap().trim()).join("tmplref");
    let mut child =
        Command::new(program).env("TZ", "UTC").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers: Vec<Answer> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), requests.len());
    answers
}

fn ask_templates(templates: &[String]) -> Vec<Answer> {
    let inputs = inputs();
    let requests: Vec<Json> = templates.iter().map(|text| json!({"render": text, "inputs": inputs})).collect();
    ask(&requests)
}

fn render(engine: &Engine, inputs: &Json, text: &str) -> Answer {
    let inputs = Inputs::new(inputs.as_object().unwrap());
    match engine.parse(text).and_then(|template| template.render(&Value::Nil, Some(&inputs))) {
        Ok(output) => Answer { output, error: None },
        Err(error) => Answer { output: String::new(), error: Some(error.to_string()) },
    }
}

/// The templates on which we and Go disagree beyond what is known.
fn disagreements(templates: &[String], answers: &[Answer]) -> Vec<String> {
    let settings = EngineSettings { random: Some(Arc::new(|_| 0)), ..EngineSettings::resource_set() };
    let (engine, inputs) = (Engine::new(settings), inputs());
    let mut wrong = Vec::new();
    for (text, want) in templates.iter().zip(answers) {
        let got = render(&engine, &inputs, text);
        let is_known = DIFFERENCES.iter().any(|(known, _)| text.starts_with(known));
        if (got == *want) == is_known {
            wrong.push(format!("{text:?}\n  ours {got:?}\n  Go   {want:?}"));
        }
    }
    wrong
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn templates_give_the_bytes_and_the_errors_that_go_gives() {
    let answers: Vec<Answer> = serde_json::from_slice(&std::fs::read(data("reference.json")).unwrap()).unwrap();
    let corpus = corpus();
    assert_eq!(answers.len(), corpus.len(), "record again with FLUXD_RECORD=1");
    assert_none(&disagreements(&corpus, &answers));
}

#[test]
fn the_kept_answers_are_those_of_go() {
    let lines: Vec<String> =
        ask_templates(&corpus()).iter().map(|answer| serde_json::to_string(answer).unwrap()).collect();
    let text = format!("[\n{}\n]\n", lines.join(",\n"));
    if std::env::var_os("FLUXD_RECORD").is_some() {
        std::fs::write(data("reference.json"), text).unwrap();
    } else {
        let kept = std::fs::read_to_string(data("reference.json")).unwrap();
        assert!(kept == text, "record again with FLUXD_RECORD=1");
    }
}

/// Functions whose results are a matter of chance, of order or of the time.
const UNSTEADY: &[&str] = &["keys", "values", "randInt", "ago", "bool"];

fn functions() -> Vec<String> {
    let names = std::fs::read_to_string(data("functions.txt")).unwrap();
    names.split_whitespace().filter(|name| !UNSTEADY.contains(name)).map(str::to_owned).collect()
}

#[test]
fn every_function_takes_odd_arguments_as_go_does() {
    const ARGUMENTS: &[&str] = &[
        "nil",
        "0",
        "2",
        "-1",
        "1.5",
        "true",
        "\"\"",
        "\"abc\"",
        "\"é,1\"",
        "inputs.nil",
        "inputs.i",
        "inputs.f",
        "inputs.l",
        "inputs.m",
        "inputs.lempty",
        "(until 2)",
        "(split \",\" \"a,b\")",
        "(toDate \"2006\" \"2020\")",
        "(index \"a\" 0)",
        "inputs.s",
    ];
    let mut templates = Vec::new();
    for name in functions() {
        templates.push(format!("<< {name} >>"));
        for a in ARGUMENTS {
            templates.push(format!("<< {name} {a} >>"));
            templates.push(format!("<< {a} | {name} >>"));
            for b in ARGUMENTS {
                templates.push(format!("<< {name} {a} {b} >>"));
            }
        }
        for a in ["\"a\"", "1", "inputs.m", "nil"] {
            for b in ["\"abc\"", "2", "inputs.l", "nil"] {
                for c in ["\"b\"", "3", "true", "inputs.m", "nil"] {
                    templates.push(format!("<< {name} {a} {b} {c} >>"));
                }
            }
        }
    }
    assert_none(&disagreements(&templates, &ask_templates(&templates)));
}
