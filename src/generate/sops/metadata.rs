//! The `sops` mapping of a file: who can decrypt it, and which values are encrypted.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::SopsError;
use super::rules::Rules;

/// What a file says about its encryption.
#[derive(Debug)]
pub(super) struct Metadata {
    /// Groups of recipients; with several, each holds a part of the data key.
    pub(super) groups: Vec<Group>,
    /// How many parts make the data key.
    pub(super) threshold: usize,
    /// When it was last changed: it is authenticated together with the code below.
    pub(super) lastmodified: String,
    /// The encrypted message authentication code.
    pub(super) mac: String,
    /// Whether the code covers encrypted values alone.
    pub(super) mac_only_encrypted: bool,
    /// Which values are encrypted.
    pub(super) rules: Rules,
}

/// Recipients of which any one suffices.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Group {
    #[serde(default, deserialize_with = "list")]
    pub(super) age: Vec<AgeKey>,
    #[serde(default, deserialize_with = "list")]
    pub(super) pgp: Vec<PgpKey>,
    #[serde(default, deserialize_with = "list")]
    kms: Vec<IgnoredAny>,
    #[serde(default, deserialize_with = "list")]
    gcp_kms: Vec<IgnoredAny>,
    #[serde(default, deserialize_with = "list")]
    azure_kv: Vec<IgnoredAny>,
    #[serde(default, deserialize_with = "list")]
    hc_vault: Vec<IgnoredAny>,
    #[serde(default, deserialize_with = "list")]
    hckms: Vec<IgnoredAny>,
}

impl Group {
    fn services(&self) -> impl Iterator<Item = &'static str> {
        let counted = [
            ("AWS KMS", self.kms.len()),
            ("GCP KMS", self.gcp_kms.len()),
            ("Azure Key Vault", self.azure_kv.len()),
            ("HashiCorp Vault", self.hc_vault.len()),
            ("Huawei Cloud KMS", self.hckms.len()),
        ];
        counted.into_iter().filter(|(_, count)| *count > 0).map(|(name, _)| name)
    }
}

/// The data key, encrypted for an age recipient.
#[derive(Debug, Deserialize)]
pub(super) struct AgeKey {
    #[serde(default)]
    pub(super) recipient: String,
    pub(super) enc: String,
}

/// The data key, encrypted for a PGP key.
#[derive(Debug, Deserialize)]
pub(super) struct PgpKey {
    #[serde(default)]
    pub(super) fp: String,
    pub(super) enc: String,
}

#[derive(Deserialize)]
struct Written {
    #[serde(flatten)]
    group: Group,
    #[serde(default, deserialize_with = "list")]
    key_groups: Vec<Group>,
    #[serde(default)]
    shamir_threshold: usize,
    lastmodified: String,
    mac: String,
    #[serde(default)]
    mac_only_encrypted: bool,
    #[serde(flatten)]
    rules: super::rules::Written,
}

/// A list that may be null.
fn list<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(d: D) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(d)?.unwrap_or_default())
}

impl Metadata {
    /// Reads it.
    ///
    /// # Errors
    /// [`SopsError::Metadata`] when something is missing or of another type.
    pub(super) fn from_value(value: &Value) -> Result<Self, SopsError> {
        let written = Written::deserialize(value).map_err(|e| SopsError::Metadata(e.to_string()))?;
        let groups = if written.key_groups.is_empty() { vec![written.group] } else { written.key_groups };
        Ok(Self {
            groups,
            threshold: written.shamir_threshold,
            lastmodified: written.lastmodified,
            mac: written.mac,
            mac_only_encrypted: written.mac_only_encrypted,
            rules: Rules::new(&written.rules)?,
        })
    }

    /// Whether a recipient is of a kind that only the `sops` program can ask.
    pub(super) fn needs_program(&self) -> bool {
        !self.services().is_empty()
    }

    /// Names of the key services among the recipients.
    pub(super) fn services(&self) -> Vec<&'static str> {
        let mut found: Vec<&'static str> = self.groups.iter().flat_map(Group::services).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
