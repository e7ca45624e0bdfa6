//! Files made by the real `sops`, kept with the throw-away keys they were made for, under `tests/data/sops`.

use std::path::Path;

use serde_json::Value;

use super::*;

fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sops").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn text(name: &str) -> String {
    String::from_utf8(data(name)).expect("text")
}

/// Keys that open every file; no program can be found.
fn keys() -> SopsKeys {
    let pgp = vec![data("pgp-curve-key.gpg"), data("pgp-key.asc")];
    SopsKeys { age: text("age-key.txt"), pgp, env: no_programs() }
}

fn no_programs() -> BTreeMap<OsString, OsString> {
    BTreeMap::from([("PATH".into(), "/nonexistent".into())])
}

async fn open_with(keys: &SopsKeys, bytes: &[u8]) -> Result<Option<String>, String> {
    let opened = decrypt(bytes, keys, &Stop::new()).await.map_err(|e| e.to_string())?;
    Ok(opened.map(|bytes| String::from_utf8(bytes).expect("text")))
}

/// Reads as the YAML library of sops does, so that both sides mean the same by a bare `n`.
fn values(text: &str) -> Vec<Value> {
    let found = yaml::read(text.as_bytes(), Dialect::Kustomize, &Limits::default()).expect("valid YAML");
    found.into_iter().map(|document| document.value).collect()
}

#[tokio::test]
async fn files_of_every_rule_and_recipient_are_decrypted_to_what_was_encrypted() {
    for (file, plain) in [
        ("age.yaml", "plain.plain.yaml"),
        ("age-two-recipients.yaml", "plain.plain.yaml"),
        ("encrypted-regex.yaml", "plain.plain.yaml"),
        ("unencrypted-regex.yaml", "plain.plain.yaml"),
        ("encrypted-suffix.yaml", "plain.plain.yaml"),
        ("unencrypted-suffix.yaml", "plain.plain.yaml"),
        ("mac-only-encrypted.yaml", "plain.plain.yaml"),
        ("json.yaml", "plain.plain.yaml"),
        ("pgp.yaml", "plain.plain.yaml"),
        ("pgp-curve.yaml", "plain.plain.yaml"),
        ("shamir.yaml", "plain.plain.yaml"),
        ("multi.yaml", "multi.plain.yaml"),
        ("encrypted-comment-regex.yaml", "comments.plain.yaml"),
        ("unencrypted-comment-regex.yaml", "comments.plain.yaml"),
    ] {
        let opened = open_with(&keys(), &data(file)).await.unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(values(&opened.expect("it is encrypted")), values(&text(plain)), "{file}");
    }
}

#[tokio::test]
async fn lines_stay_where_they_were() {
    let sealed = text("multi.yaml");
    let opened = open_with(&keys(), sealed.as_bytes()).await.expect("it opens").expect("it is encrypted");
    assert_eq!(opened.lines().count(), sealed.lines().count());
    let kept = sealed.lines().zip(opened.lines()).filter(|(before, after)| before == after).count();
    assert!(kept >= 8, "only values and metadata change:\n{opened}");
    assert!(!opened.contains("sops") && opened.contains("\"two\""));
}

#[tokio::test]
async fn files_without_metadata_are_left_alone() {
    for text in
        ["kind: ConfigMap\ndata: {tool: 'sops: x'}\n", "sops: true\n", "a: [sops:", "kind: A\n---\nsops: {}\n", ""]
    {
        assert_eq!(open_with(&keys(), text.as_bytes()).await, Ok(None), "{text}");
    }
}

#[tokio::test]
async fn a_change_of_the_content_is_noticed() {
    let sealed = text("encrypted-regex.yaml");
    let integrity = "failed to verify data integrity: the content or its mac was changed after encryption";
    for (from, to, want) in [
        ("namespace: demo", "namespace: prod", integrity),
        (
            "    password: ENC",
            "    passwort: ENC",
            "could not decrypt value of \"data.passwort\" at line 11: it was changed, or moved to another key",
        ),
        ("lastmodified: \"2", "lastmodified: \"3", integrity),
        ("mac: ENC[", "mac: ENX[", integrity),
        (
            "encrypted_regex: ^(data|stringData)$",
            "encrypted_regex: ^(data|stringData|spec)$",
            "could not decrypt value of \"spec.count\" at line 21: it is not encrypted",
        ),
        (
            "encrypted_regex: ^(data|stringData)$",
            "encrypted_regex: (",
            "the sops metadata cannot be read: regex parse error",
        ),
        ("    mac: ", "    nomac: ", "the sops metadata cannot be read: missing field `mac`"),
    ] {
        assert!(sealed.contains(from), "{from}");
        let got = open_with(&keys(), sealed.replace(from, to).as_bytes()).await.expect_err(to);
        assert!(got.starts_with(want), "{to}: {got}");
    }
}

#[tokio::test]
async fn the_error_names_the_recipients_that_no_key_is_known_for() {
    let other = SopsKeys { age: text("other-age-key.txt"), env: no_programs(), ..SopsKeys::default() };
    let none = SopsKeys { env: no_programs(), ..SopsKeys::default() };
    for (keys, file, want) in [
        (&other, "age.yaml", "No matching keys found"),
        (&none, "age.yaml", "no age identity is configured"),
        (&other, "pgp.yaml", "not among the imported keys; starting gpg"),
        (&other, "shamir.yaml", "1 of 2 parts found"),
    ] {
        let got = open_with(keys, &data(file)).await.expect_err(file);
        assert!(got.starts_with("cannot get the data key: ") && got.contains(want), "{file}: {got}");
        assert!(!got.contains("AGE-SECRET-KEY"), "{got}");
    }
}

#[tokio::test]
async fn a_key_service_without_the_program_is_named() {
    let kms = "sops:\n    kms:\n        - arn: arn:aws:kms:eu-west-1:1:key/x\n          enc: x\n    age: []\n    \
               lastmodified: \"2026-01-01T00:00:00Z\"\n    mac: ENC[]\n";
    let got = open_with(&keys(), kms.as_bytes()).await.expect_err("no program");
    assert_eq!(got, "cannot get the data key: AWS KMS needs the program sops on PATH");
}
