//! The verdicts of fluxd-v1 §4.2, one by one, and what the accepted files mean.

use super::*;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text.as_bytes(), &Limits::default())
}

fn directive(text: &str) -> Directive {
    parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).directive
}

fn line(command: &str) -> Command {
    Command { command: command.into(), timeout: None }
}

const GENERATORS: &str = "{generators: [{command: echo}]}";

#[test]
fn the_three_forms_are_accepted() {
    assert_eq!(
        directive("version: 1\ncommandUpdated:\n  generators:\n  - command: kustomize build .\n    timeout: 30s\n"),
        Directive::CommandUpdated {
            generators: vec![Command { timeout: Some(Duration::from_secs(30)), ..line("kustomize build .") }],
            updaters: vec![],
        }
    );
    assert_eq!(
        directive("version: 1.0\npatchUpdated:\n  generators: []\n  patchFile: flux-patch.yaml\n"),
        Directive::PatchUpdated { generators: vec![], patch_file: "flux-patch.yaml".into() }
    );
    assert_eq!(directive("version: 1\nscanForFiles: {}\n"), Directive::ScanForFiles);
}

#[test]
fn updaters_are_kept_and_an_absent_one_is_an_empty_line() {
    let text = "version: 1\ncommandUpdated:\n  generators: []\n  updaters:\n  - containerImage: {command: set-image}\n    \
                note: any\n  - policy: {command: set-policy, timeout: 500ms}\n";
    let updater = |image: &str, policy: &str| Updater { container_image: line(image), policy: line(policy) };
    let updaters = vec![updater("set-image", ""), updater("", "set-policy")];
    assert_eq!(directive(text), Directive::CommandUpdated { generators: vec![], updaters });
}

#[test]
fn what_the_schema_rejects_is_rejected_in_its_words() {
    let one_of = "(root): Must validate one and only one schema (oneOf)";
    for (text, violations) in [
        ("", vec!["(root): Invalid type. Expected: object, given: null"]),
        ("[]", vec!["(root): Invalid type. Expected: object, given: array"]),
        ("version: 1", vec![one_of, "(root): commandUpdated is required"]),
        ("version: 2\nscanForFiles: {}", vec![one_of, "version: version does not match: 1"]),
        ("version: '1'\nscanForFiles: {}", vec![one_of, "version: version does not match: 1"]),
        ("scanForFiles: {}", vec![one_of, "(root): version is required"]),
        ("version: 1\ncommandUpdated: {}", vec![one_of, "commandUpdated: generators is required"]),
        (
            "version: 1\ncommandUpdated: {generators: [5]}",
            vec![one_of, "commandUpdated.generators.0: Invalid type. Expected: object, given: integer"],
        ),
        (
            "version: 1\ncommandUpdated: {generators: [{command: yes}]}",
            vec![one_of, "commandUpdated.generators.0.command: Invalid type. Expected: string, given: boolean"],
        ),
        (
            "version: 1\ncommandUpdated: {generators: [{command: a, timeout: 10}]}",
            vec![one_of, "commandUpdated.generators.0.timeout: Invalid type. Expected: string, given: integer"],
        ),
        (
            "version: 1\ncommandUpdated: {generators: [{timeout: 10s, x: 1}]}",
            vec![
                one_of,
                "commandUpdated.generators.0: Additional property x is not allowed",
                "commandUpdated.generators.0: command is required",
            ],
        ),
        (
            "version: 1\ncommandUpdated: {generators: [], patchFile: p.yaml}",
            vec![one_of, "commandUpdated: Additional property patchFile is not allowed"],
        ),
        ("version: 1\npatchUpdated: {generators: []}", vec![one_of, "patchUpdated: patchFile is required"]),
        (
            "version: 1\npatchUpdated: {generators: [], patchFile: p, updaters: []}",
            vec![one_of, "patchUpdated: Additional property updaters is not allowed"],
        ),
        ("version: 1\nscanForFiles: {a: 1}", vec![one_of, "scanForFiles: Additional property a is not allowed"]),
        ("version: 1\nscanForFiles: {}\nx: 1", vec![one_of, "(root): Additional property x is not allowed"]),
        (
            &format!("version: 1\ncommandUpdated: {GENERATORS}\npatchUpdated: {{generators: [], patchFile: p}}"),
            vec![one_of],
        ),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error, ConfigError::Invalid(violations.iter().map(|v| (*v).to_owned()).collect()), "{text}");
        assert!(error.to_string().starts_with("config file is not valid: \n(root): ") || violations.len() == 1);
    }
}

#[test]
fn of_a_valid_and_an_invalid_directive_both_are_decoded_and_the_patch_wins() {
    let commands = Directive::CommandUpdated { generators: vec![line("echo")], updaters: vec![] };
    let both = format!("version: 1\ncommandUpdated: {GENERATORS}\n");
    let patch = Directive::PatchUpdated { generators: vec![line("echo")], patch_file: String::new() };
    assert_eq!(directive(&format!("{both}patchUpdated: {GENERATORS}")), patch);
    assert_eq!(directive(&format!("{both}patchUpdated: null")), commands);
    assert_eq!(directive(&format!("{both}scanForFiles: {{}}")), Directive::ScanForFiles);
    assert_eq!(directive(&format!("{both}anything: else")), commands);
    assert!(matches!(parse(&format!("{both}patchUpdated: 5")), Err(ConfigError::Parse(_))));
}

#[test]
fn a_scan_without_a_value_means_an_empty_one() {
    assert_eq!(directive("version: 1\nscanForFiles:\n"), Directive::ScanForFiles);
}

#[test]
fn bad_durations_and_bad_yaml_are_told_apart_from_violations() {
    let text = "version: 1\ncommandUpdated: {generators: [{command: a, timeout: '10'}]}";
    assert_eq!(parse(text), Err(ConfigError::Parse("time: missing unit in duration \"10\"".into())));
    let error = parse("version: [").unwrap_err().to_string();
    assert!(error.starts_with("cannot parse: yaml: line "), "{error}");
}

#[test]
fn inputs_are_a_promise_only_when_they_are_a_list_of_strings() {
    let base = format!("version: 1\ncommandUpdated: {GENERATORS}\n");
    let config = parse(&format!("{base}inputs: [., ../base]\ntools: [kustomize]\n")).unwrap();
    let paths = vec![".".to_owned(), "../base".to_owned()];
    assert_eq!(config.inputs, Some(Inputs { paths, tools: vec!["kustomize".into()] }));
    let config = parse(&format!("{base}inputs: {{a: 1}}\n")).unwrap();
    assert_eq!(config.inputs, None);
    assert_eq!(config.warnings, ["inputs is not a list of strings and is ignored"]);
}
