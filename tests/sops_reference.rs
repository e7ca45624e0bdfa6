//! Decryption against the real `sops` and `gpg`: fresh keys each run, keys that only the gpg key ring holds, and
//! recipients that only the program can ask.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use fluxd::generate::sops::{self, SopsKeys};
use fluxd::runtime::Stop;

const PLAIN: &str = "kind: Secret\nmetadata:\n    name: x\nstringData:\n    password: hunter2\n";

/// A directory with a key ring of its own, and the tools on its path.
struct Home {
    dir: tempfile::TempDir,
    path: OsString,
}

impl Home {
    fn new() -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/tools");
        let found = Command::new(script).arg("sops").output().unwrap();
        let tools = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
        let dirs = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect::<Vec<_>>();
        let path = std::env::join_paths([tools].into_iter().chain(dirs)).unwrap();
        let home = Self { dir: tempfile::tempdir().unwrap(), path };
        std::fs::write(home.dir.path().join("plain.yaml"), PLAIN).unwrap();
        home
    }

    fn env(&self) -> BTreeMap<OsString, OsString> {
        let dir = self.dir.path().as_os_str().to_owned();
        BTreeMap::from([("PATH".into(), self.path.clone()), ("HOME".into(), dir.clone()), ("GNUPGHOME".into(), dir)])
    }

    fn run(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program)
            .args(args)
            .env_clear()
            .envs(self.env())
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn open(&self, sealed: &str, keys: SopsKeys) -> Result<String, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let keys = SopsKeys { env: keys.env.into_iter().chain(self.env()).collect(), ..keys };
        let opened = runtime.block_on(sops::decrypt(sealed.as_bytes(), &keys, &Stop::new()));
        opened.map(|bytes| String::from_utf8(bytes.unwrap()).unwrap()).map_err(|e| e.to_string())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The agent of this key ring would outlive the test.
        let ended = Command::new("gpgconf").args(["--kill", "gpg-agent"]).env("GNUPGHOME", self.dir.path()).status();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn age_identity() -> (String, String) {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sops/age-key.txt")).unwrap();
    let recipient = text.lines().find_map(|line| line.strip_prefix("# public key: ")).unwrap().to_owned();
    (text, recipient)
}

#[test]
fn what_sops_encrypts_now_is_decrypted() {
    let home = Home::new();
    let (age, recipient) = age_identity();
    let sealed = home.run("sops", &["--encrypt", "--age", &recipient, "plain.yaml"]);
    assert!(!sealed.contains("hunter2"));
    let opened = home.open(&sealed, SopsKeys { age, ..SopsKeys::default() }).unwrap();
    assert!(
        opened.starts_with("kind: \"Secret\"\nmetadata:\n    name: \"x\"\nstringData:\n    password: \"hunter2\"\n"),
        "{opened}"
    );
}

#[test]
fn a_key_that_only_the_gpg_ring_holds_is_asked_there() {
    let home = Home::new();
    home.run(
        "gpg",
        &["--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "a@b.c", "rsa2048", "encrypt", "never"],
    );
    let listed = home.run("gpg", &["--list-keys", "--with-colons"]);
    let fingerprint = listed.lines().find_map(|line| line.strip_prefix("fpr:")).unwrap().trim_matches(':').to_owned();
    let sealed = home.run("sops", &["--encrypt", "--pgp", &fingerprint, "plain.yaml"]);
    assert!(home.open(&sealed, SopsKeys::default()).unwrap().contains("password: \"hunter2\""));
}

#[test]
fn recipients_of_key_services_are_left_to_the_program() {
    let home = Home::new();
    let (age, recipient) = age_identity();
    std::fs::write(home.dir.path().join("keys.txt"), age).unwrap();
    let sealed = home.run("sops", &["--encrypt", "--age", &recipient, "plain.yaml"]);
    let service = "sops:\n    kms:\n        - arn: arn:aws:kms:eu-west-1:1:key/x\n          created_at: \"2026-01-01T00:00:00Z\"\n          enc: eA==\n";
    let sealed = sealed.replacen("sops:\n", service, 1);
    // The identity is known to the program alone.
    let env = BTreeMap::from([("SOPS_AGE_KEY_FILE".into(), home.dir.path().join("keys.txt").into())]);
    let opened = home.open(&sealed, SopsKeys { env, ..SopsKeys::default() }).unwrap();
    assert!(opened.contains("password: hunter2"), "{opened}");
}
