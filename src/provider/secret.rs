//! What secrets must hold for each kind of host (resourceset §8.4). Values are never shown.

use std::collections::BTreeMap;
use std::fmt;

use super::Error;
use super::wire::Tls;

/// A Secret's data, with where it is.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct SecretData {
    /// `NAMESPACE/NAME`.
    pub reference: String,
    /// Its data, decoded.
    pub data: BTreeMap<String, Vec<u8>>,
}

impl fmt::Debug for SecretData {
    /// Shows which keys there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({}: {:?})", self.reference, self.data.keys().collect::<Vec<_>>())
    }
}

impl SecretData {
    /// A value without white space around it, if there is one.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Error> {
        let Some(value) = self.data.get(key) else { return Ok(None) };
        let text = std::str::from_utf8(value).map_err(|_| self.refuse(format!("key '{key}' holds no text")))?;
        Ok(Some(text.trim().to_owned()))
    }

    /// A value without white space around it.
    pub(super) fn required(&self, key: &str) -> Result<String, Error> {
        self.text(key)?.ok_or_else(|| self.refuse(format!("key '{key}' is missing")))
    }

    /// User and password.
    pub(super) fn user_and_password(&self) -> Result<(String, String), Error> {
        Ok((self.required("username")?, self.required("password")?))
    }

    /// Certificates: of authorities, and our own with its key; also by their old names.
    pub(super) fn tls(&self) -> Result<Tls, Error> {
        let either = |names: [&str; 2]| names.iter().find_map(|name| self.data.get(*name)).filter(|v| !v.is_empty());
        let authorities = either(["ca.crt", "caFile"]);
        let identity = match (either(["tls.crt", "certFile"]), either(["tls.key", "keyFile"])) {
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            (None, None) => None,
            (Some(_), None) => return Err(self.refuse("key 'tls.key' is missing".to_owned())),
            (None, Some(_)) => return Err(self.refuse("key 'tls.crt' is missing".to_owned())),
        };
        if authorities.is_none() && identity.is_none() {
            return Err(self.refuse("expected 'ca.crt', or 'tls.crt' and 'tls.key', or all three".to_owned()));
        }
        Ok(Tls { authorities: authorities.cloned(), identity })
    }

    pub(super) fn refuse(&self, reason: String) -> Error {
        Error::Secret { secret: self.reference.clone(), reason }
    }

    /// The values that no error may repeat. Short ones would blank out ordinary words.
    pub(super) fn values(&self) -> impl Iterator<Item = String> + '_ {
        let hidden = |key: &str| !matches!(key, "username" | "ca.crt" | "caFile" | "tls.crt" | "certFile");
        self.data
            .iter()
            .filter(move |(key, _)| hidden(key))
            .map(|(_, value)| String::from_utf8_lossy(value).trim().to_owned())
            .filter(|value| value.len() >= 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(pairs: &[(&str, &str)]) -> SecretData {
        let data = pairs.iter().map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec())).collect();
        SecretData { reference: "apps/auth".to_owned(), data }
    }

    #[test]
    fn what_is_missing_is_named_and_values_are_trimmed() {
        let whole = secret(&[("username", " ann\n"), ("password", "hunter2\n")]);
        assert_eq!(whole.user_and_password().unwrap(), ("ann".to_owned(), "hunter2".to_owned()));
        assert_eq!(format!("{whole:?}"), r#"Secret(apps/auth: ["password", "username"])"#);
        for (held, missing) in [(&[("password", "x")][..], "username"), (&[("username", "x")][..], "password")] {
            let refusal = secret(held).user_and_password().unwrap_err().to_string();
            assert_eq!(refusal, format!("invalid secret 'apps/auth': key '{missing}' is missing"));
        }
    }

    #[test]
    fn certificates_are_found_by_both_names_and_a_key_needs_its_certificate() {
        let old = secret(&[("caFile", "ca"), ("certFile", "c"), ("keyFile", "k")]).tls().unwrap();
        let new = secret(&[("ca.crt", "ca"), ("tls.crt", "c"), ("tls.key", "k")]).tls().unwrap();
        assert!(old == new && old.identity.is_some());
        assert!(secret(&[("ca.crt", "ca")]).tls().unwrap().identity.is_none());
        for (held, said) in [
            (&[("tls.crt", "c")][..], "invalid secret 'apps/auth': key 'tls.key' is missing"),
            (&[("tls.key", "k")][..], "invalid secret 'apps/auth': key 'tls.crt' is missing"),
            (&[][..], "invalid secret 'apps/auth': expected 'ca.crt', or 'tls.crt' and 'tls.key', or all three"),
        ] {
            assert_eq!(secret(held).tls().err().unwrap().to_string(), said);
        }
    }
}
