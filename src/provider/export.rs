//! Sets of inputs as providers export them, and their digest (resourceset §8.2, §8.11).

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::Error;
use crate::object::yaml;

/// Bytes of an export. API servers take requests of no more than this.
const BYTES: usize = 3 << 20;

/// One set of inputs.
pub type InputSet = Map<String, Value>;

/// The identifier of a name: the decimal Adler-32 of its bytes (resourceset §3.3).
pub fn id_of(name: &str) -> String {
    const PRIME: u32 = 65_521;
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in name.bytes() {
        low = (low + u32::from(byte)) % PRIME;
        high = (high + low) % PRIME;
    }
    (high << 16 | low).to_string()
}

/// Fills keys that a set lacks.
pub fn add_defaults(set: &mut InputSet, defaults: &InputSet) {
    for (key, value) in defaults {
        if !set.contains_key(key) {
            set.insert(key.clone(), value.clone());
        }
    }
}

/// Fills keys that sets lack, as long as all of them together can be kept in a status.
///
/// # Errors
/// When they cannot: their size is the number of sets times that of the defaults.
pub fn complete(sets: &mut [InputSet], defaults: &InputSet) -> Result<(), Error> {
    let size = |key: &str, value: &Value| key.len() + value.to_string().len();
    let sizes: Vec<(&String, usize)> = defaults.iter().map(|(key, value)| (key, size(key, value))).collect();
    let mut total = 0_usize;
    for set in sets.iter_mut() {
        total += set.iter().map(|(key, value)| size(key, value)).sum::<usize>();
        total += sizes.iter().filter(|(key, _)| !set.contains_key(*key)).map(|(_, size)| size).sum::<usize>();
        if total > BYTES {
            return Err(Error::Said(format!(
                "the exported inputs have more than {BYTES} bytes, which no status can hold: expected a lower \
                 spec.filter.limit or shorter spec.defaultValues"
            )));
        }
        add_defaults(set, defaults);
    }
    Ok(())
}

/// What a listing exports. A git host's empty listing is Go's nil list, which has a digest of its own (resourceset §8.11).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Export {
    /// The sets, in the order of the listing.
    pub sets: Vec<InputSet>,
    /// Whether a listing of nothing is written as `null` rather than as `[]`.
    pub nil_when_empty: bool,
}

impl Export {
    /// The digest by which a change of the export is noticed, as `sha256:HEX`.
    pub fn revision(&self) -> String {
        let value = match self.sets.is_empty() && self.nil_when_empty {
            true => Value::Null,
            false => Value::Array(self.sets.iter().cloned().map(Value::Object).collect()),
        };
        format!("sha256:{}", hex::encode(Sha256::digest(yaml::emit(&value))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(value: Value) -> InputSet {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn identifiers_are_adler_32() {
        for (name, id) in [
            ("", "1"),
            ("foo", "42074437"),
            ("bar", "39649590"),
            ("baz", "40173886"),
            ("6.0.4", "48955639"),
            ("patch-1", "183501423"),
            ("patch-2", "183566960"),
            ("rset=0/rsip=0", "563152006"),
        ] {
            assert_eq!(id_of(name), id, "{name}");
        }
    }

    #[test]
    fn defaults_fill_only_what_is_missing_and_keep_their_types() {
        let mut exported = set(json!({"id": "1", "env": "prod"}));
        add_defaults(&mut exported, &set(json!({"env": "dev", "replicas": 3, "ratio": 0.5})));
        assert_eq!(exported, set(json!({"id": "1", "env": "prod", "replicas": 3, "ratio": 0.5})));
    }

    #[test]
    fn defaults_do_not_grow_beyond_what_a_status_holds() {
        let defaults = set(json!({"long": "x".repeat(1 << 20)}));
        let sets = |count: usize| vec![set(json!({"id": "1"})); count];
        complete(&mut sets(2), &defaults).unwrap();
        let refusal = complete(&mut sets(10_000), &defaults).unwrap_err().to_string();
        assert!(refusal.starts_with("the exported inputs have more than 3145728 bytes"), "{refusal}");
        // what the sets have themselves is not filled
        complete(&mut vec![set(json!({"long": 1})); 10_000], &defaults).unwrap();
    }

    #[test]
    fn digests_are_those_of_the_original() {
        let tag = json!({"id": "48955639", "sha": "11cf36d83818e64aaa60d523ab6438258ebb6009", "slug": "6-0-4", "tag": "6.0.4"});
        let oci = json!({
            "digest": "sha256:d4ec9861522d4961b2acac5a070ef4f92d732480dff2062c2f3a1dcf9a5d1e91", "id": "48955639", "tag": "6.0.4",
        });
        let one = |value| Export { sets: vec![set(value)], nil_when_empty: true }.revision();
        assert_eq!(one(tag), "sha256:8d17289b10914ff4cf5226d649a7266136d071de6ed9be1c2745eb24449f7cf4");
        assert_eq!(one(oci), "sha256:b7d3334b3411cccf4c9c08b328ec7ae141fcda58e45e1e3d098f59791c033ced");
        let none = |nil_when_empty| Export { sets: Vec::new(), nil_when_empty }.revision();
        assert_eq!(none(true), "sha256:38e0b9de817f645c4bec37c0d4a3e58baecccb040f5718dc069a72c7385a0bed");
        assert_eq!(none(false), format!("sha256:{}", hex::encode(Sha256::digest("[]\n"))));
    }
}
