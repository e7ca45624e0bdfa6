//! Templates and YAML against the libraries of the original: Go's `text/template` with slim-sprig, and `sigs.k8s.io/yaml`.
//! A corpus of templates has its answers kept in `tests/data/template`; one test asks Go again. A matrix of every function
//! with odd arguments and generated YAML are put to Go only.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use fluxd::object::yaml::{self, Dialect, Limits};
use fluxd::template::{Engine, EngineSettings, Inputs, Time, Value};
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
    let now = || Time::unix(i64::try_from(UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap(), 0);
    let settings =
        EngineSettings { random: Some(Arc::new(|_| 0)), clock: Some(Arc::new(now)), ..EngineSettings::resource_set() };
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
        "2",
        "-1",
        "\"\"",
        "\"abc\"",
        "inputs.i",
        "inputs.l",
        "inputs.m",
        "0",
        "1.5",
        "true",
        "\"é,1\"",
        "inputs.nil",
        "inputs.f",
        "inputs.lempty",
        "(until 2)",
        "(split \",\" \"a,b\")",
        "(toDate \"2006\" \"2020\")",
        "(index \"a\" 0)",
        "inputs.s",
    ];
    const SECOND: &[&str] = ARGUMENTS.split_at(8).0;
    let mut templates = Vec::new();
    for name in functions() {
        templates.push(format!("<< {name} >>"));
        for a in ARGUMENTS {
            templates.push(format!("<< {name} {a} >>"));
            templates.push(format!("<< {a} | {name} >>"));
            for b in SECOND {
                templates.push(format!("<< {name} {a} {b} >>"));
            }
        }
        for a in ["\"a\"", "1", "inputs.m"] {
            for b in ["\"abc\"", "2", "inputs.l"] {
                for c in ["\"b\"", "3", "true", "inputs.m"] {
                    // A map in itself ends Go's process.
                    if (name.as_str(), a, c) == ("set", "inputs.m", "inputs.m") {
                        continue;
                    }
                    templates.push(format!("<< {name} {a} {b} {c} >>"));
                }
            }
        }
    }
    assert_none(&disagreements(&templates, &ask_templates(&templates)));
}

/// Texts that YAML could take for something else, or that have more than one form.
const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    " a",
    "a ",
    "a b",
    "a  b",
    "true",
    "True",
    "TRUE",
    "tRue",
    "false",
    "yes",
    "Yes",
    "y",
    "Y",
    "n",
    "no",
    "on",
    "off",
    "Off",
    "null",
    "Null",
    "~",
    "nil",
    "0",
    "-0",
    "+1",
    "012",
    "08",
    "0o7",
    "0x1F",
    "0b1",
    "1_000",
    "_1",
    "1.",
    ".5",
    ".",
    "..",
    "...",
    "1.10",
    "1e6",
    "1e",
    "1e400",
    "-1.5e-3",
    ".inf",
    "-.INF",
    ".nan",
    "1:30",
    "12:30:45",
    "1:60",
    "1:2.5",
    "2024-01-01",
    "2024-1-1",
    "2024-13-01",
    "2024-02-30",
    "2024-01-01T00:00:00Z",
    "2024-01-01t1:2:3.5+02:00",
    "2024-01-01 00:00:00",
    "2024-01-01 00:00",
    "20240101",
    "-",
    "- a",
    "-a",
    "--",
    "---",
    "--- a",
    "----",
    "--x",
    "?",
    "? a",
    "?a",
    ":",
    ": a",
    ":a",
    "a:",
    "a: b",
    "a:b",
    "a :b",
    "http://x:80/a",
    "#",
    "#a",
    "a#b",
    "a #b",
    "a\t#b",
    ",",
    ",a",
    "a,b",
    "[",
    "[a]",
    "a[b]",
    "]",
    "{",
    "{a}",
    "{}",
    "[]",
    "a{b",
    "&a",
    "a&b",
    "*a",
    "!a",
    "!!str a",
    "|",
    "|a",
    "a|b",
    ">",
    ">a",
    ">=1.0.0",
    "<1",
    "<<",
    "=",
    "'",
    "'a'",
    "it's",
    "a'",
    "\"",
    "\"a\"",
    "a\"b",
    "%a",
    "a%",
    "@a",
    "a@b",
    "`a`",
    "\\",
    "a\\b",
    "\n",
    "a\n",
    "a\n\n",
    "\na",
    "\n\n",
    "a\nb",
    "a\nb\n",
    "a\n\nb",
    "  a\nb",
    "a\n  b",
    "a \nb",
    "a\n b \n",
    "a\n# b",
    "\ta",
    "a\tb",
    "a\nb\tc",
    "a\r",
    "a\r\nb",
    "\u{7}",
    "\u{0}",
    "\u{1b}x",
    "\u{85}",
    "a\u{85}b",
    "\u{a0}",
    "a\u{a0}b",
    "é",
    "日本語",
    "a\u{2028}b",
    "\u{2029}",
    "😀",
    "a\n😀",
    "\u{feff}a",
    "a\u{feff}",
    "\u{fffd}",
    "\u{e000}",
    "<< inputs.a >>",
    "<< inputs.a | quote >>",
    "it's << inputs.a >>",
    "{{ .x }}",
    "1.2.3",
    "v1",
    "1a",
    "a1",
    "$x",
    "/",
    "/a",
    "a/b",
    "(a)",
    ".a",
    "a.b",
    "+",
    "+a",
    "*",
    "x=y",
    "null ",
    "0x",
    "1__0",
    "2024",
    "é: ü",
    "é #",
];

fn emission_cases() -> Vec<Json> {
    let mut cases: Vec<Json> = Vec::new();
    for text in TEXTS {
        cases.push(json!(text));
        cases.push(json!({"key": text, (*text): [text, {"a": text}, [text]]}));
    }
    for length in [60, 78, 79, 80, 81, 82, 120, 128, 129, 300] {
        let words: String = "word ".chars().cycle().take(length).collect();
        for text in
            [words.clone(), format!("{words}: x"), format!("{words}\t"), format!("a  {words}  b"), "x".repeat(length)]
        {
            cases.push(json!({"k": text, "deep": {"er": [text.clone()]}}));
            cases.push(json!({(text.clone()): {"a": [1]}, "z": [{(text): []}]}));
        }
    }
    for number in [
        "0",
        "1",
        "-1",
        "1.0",
        "1.5",
        "-2.25",
        "1e3",
        "1e20",
        "1e21",
        "1.5e300",
        "1e-5",
        "0.0001",
        "1e-7",
        "123456.5",
        "1234567.5",
        "12345678901234567890",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "100000000000000000000",
    ] {
        cases.push(serde_json::from_str(number).unwrap());
    }
    cases.push(json!({"a": null, "b": true, "c": false, "d": [], "e": {}, "f": [[]], "g": [{}], "h": {"i": {}}, "j": [[1, [2]], [[3]]]}));
    cases.push(json!([[["a"]], {"b": {"c": [["d"]]}}, [{"e": 1, "f": [2]}]]));
    let keys =
        "a a1 a2 a10 a01 a001 b-y b.z b_x A Z z 1 10 2 02 -1 _ é ü a-1 a-10 a-2 a0 a00 x0y x00y 9 09 v1.10 v1.9 ''";
    let map: serde_json::Map<String, Json> = keys.split(' ').map(|key| (key.to_owned(), json!(1))).collect();
    cases.push(Json::Object(map));
    cases
}

#[test]
fn yaml_is_written_as_the_originals_library_writes_it() {
    let cases = emission_cases();
    assert!(cases.len() >= 200);
    let requests: Vec<Json> = cases.iter().map(|case| json!({"emit": case})).collect();
    let wrong: Vec<String> = cases
        .iter()
        .zip(ask(&requests))
        .filter_map(|(case, want)| {
            let got = yaml::emit(case);
            // go-yaml refuses JSON with some control characters in it, and long keys. The line ends of other scripts it
            // writes as they are, and joins lines at one of them.
            let is_break = |c| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
            let same = want.error.is_some() || got == want.output || case.to_string().contains(is_break);
            (!same).then(|| format!("{case}\n  ours {got:?}\n  Go   {:?}", want.output))
        })
        .collect();
    assert_none(&wrong);
}

#[test]
fn what_is_written_reads_as_it_was() {
    // A key of two angle brackets is written as the merge key, there as here.
    let is_merge = |case: &Json| case.get("<<").is_some();
    for case in emission_cases().into_iter().filter(|case| !is_merge(case)) {
        for text in [yaml::emit(&case), yaml::emit_unfolded(&case)] {
            let read = yaml::read(text.as_bytes(), Dialect::Kubernetes, &Limits::default());
            let back = read.as_ref().map(|documents| documents[0].value.clone());
            let again = back.as_ref().map(yaml::emit);
            assert_eq!(again.as_ref(), Ok(&yaml::emit(&case)), "{text:?} was read as {back:?}");
        }
    }
}

/// Whether we are known to read a stream otherwise than the original; `yaml_reference` says why for its corpus. The rest
/// are line ends of other scripts, tabs where they do no harm, JSON's escapes, and collections as keys.
fn is_read_otherwise(name: &str, text: &str) -> bool {
    let is_strange = |c| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\t' | '\r');
    let odd_names =
        ["item -", "item !", "key &", "key \"&a\"", "key \"{}\"", "key \"[]\"", "alone \"...\"", "doc: dots only"];
    let odd_documents = [
        "doc: yaml directive",
        "doc: unknown directive",
        "doc: merge alias",
        "doc: flow question",
        "doc: alias across",
    ];
    text.contains(is_strange)
        || ["-0.0", "\\/", "\\ud83d", "\\uD83D"].iter().any(|part| text.contains(part))
        || (name.starts_with("key \"") && name.contains("\\n"))
        || odd_names.iter().chain(&odd_documents).any(|known| name.starts_with(known))
}

#[test]
fn yaml_is_read_as_the_original_reads_rendered_text() {
    let corpus = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/yaml/corpus.json")).unwrap();
    let corpus: Vec<Json> = serde_json::from_slice(&corpus).unwrap();
    let mut cases: Vec<(String, String)> = corpus
        .iter()
        .map(|case| (case["name"].as_str().unwrap().to_owned(), case["yaml"].as_str().unwrap().to_owned()))
        .collect();
    for text in
        TEXTS.iter().copied().chain("0b101 0o10 010 08 5. -0 1.10 6.7.x 1e +.5 0x_1 1_0.5 !!str\u{20}1".split(' '))
    {
        cases.push((format!("value {text:?}"), format!("k: {text}\n")));
        cases.push((format!("element {text:?}"), format!("- {text}\n")));
        cases.push((format!("key {text:?}"), format!("{text}: v\n")));
        cases.push((format!("alone {text:?}"), text.to_owned()));
    }
    let requests: Vec<Json> = cases.iter().map(|(_, text)| json!({"read": text})).collect();
    let mut wrong = Vec::new();
    for ((name, text), want) in cases.iter().zip(ask(&requests)) {
        let first =
            |documents: Vec<yaml::Document>| documents.into_iter().next().map_or(Json::Null, |first| first.value);
        let got = yaml::read(text.as_bytes(), Dialect::Kubernetes, &Limits::default()).map(first);
        let want = match want.error {
            Some(error) => Err(error),
            None => Ok(serde_json::from_str::<Json>(&want.output).unwrap()),
        };
        let same = got.is_err() == want.is_err() && (got.is_err() || got.as_ref().ok() == want.as_ref().ok());
        if !same && !is_read_otherwise(name, text) {
            wrong.push(format!("{name}: {text:.300?}\n  ours {got:.300?}\n  Go   {want:.300?}"));
        }
    }
    assert_none(&wrong);
}
