//! One encrypted value: AES-256-GCM with a nonce of 32 bytes, bound to the keys that lead to the value.

use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U32;
use aes_gcm::aead::generic_array::GenericArray;
use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::aes::Aes256;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A decrypted value.
#[derive(Debug, PartialEq)]
pub(super) enum Plain {
    /// A text.
    Text(String),
    /// A whole number, in decimal digits.
    Int(String),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A moment, as it was written.
    Time(String),
}

/// Decrypts a value; `bound_to` are its keys, each followed by a colon.
///
/// # Errors
/// A reason in words.
pub(super) fn open(value: &str, key: &[u8; 32], bound_to: &str) -> Result<Plain, &'static str> {
    let parts = value.strip_prefix("ENC[AES256_GCM,").and_then(|rest| rest.strip_suffix(']'));
    let mut fields = parts.ok_or("it is not encrypted")?.split(',');
    let mut field =
        |name: &str| fields.next().and_then(|f| f.strip_prefix(name)).ok_or("it is not in the form of sops");
    let (data, nonce, tag, kind) = (field("data:")?, field("iv:")?, field("tag:")?, field("type:")?);
    let decode = |text: &str| STANDARD.decode(text).map_err(|_| "it holds invalid base64");
    let nonce = decode(nonce)?;
    if nonce.len() != 32 {
        return Err("its nonce is not of 32 bytes");
    }
    let sealed = [decode(data)?, decode(tag)?].concat();
    let cipher = AesGcm::<Aes256, U32>::new(GenericArray::from_slice(key));
    let payload = Payload { msg: &sealed, aad: bound_to.as_bytes() };
    let bytes = cipher
        .decrypt(GenericArray::from_slice(&nonce), payload)
        .map_err(|_| "it was changed, or moved to another key")?;
    let text = String::from_utf8(bytes).map_err(|_| "it is no text")?;
    match kind {
        "str" | "bytes" => Ok(Plain::Text(text)),
        "int" => text.parse::<i64>().map(|_| Plain::Int(text)).map_err(|_| "it is no whole number"),
        "float" => text.parse().map(Plain::Float).map_err(|_| "it is no number"),
        "bool" => text.to_ascii_lowercase().parse().map(Plain::Bool).map_err(|_| "it is no truth value"),
        "time" => Ok(Plain::Time(text)),
        _ => Err("it is of an unknown type"),
    }
}

impl Plain {
    /// The text, when it is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What the message authentication code covers.
    pub(super) fn mac_bytes(&self) -> Vec<u8> {
        match self {
            Self::Text(text) | Self::Int(text) | Self::Time(text) => text.clone().into_bytes(),
            Self::Float(f) => f.to_string().into_bytes(),
            Self::Bool(b) => truth(*b).as_bytes().to_vec(),
        }
    }

    /// The JSON value to write in its place.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Text(text) | Self::Time(text) => Value::from(text.as_str()),
            Self::Int(digits) => digits.parse::<i64>().map_or_else(|_| Value::from(digits.as_str()), Value::from),
            Self::Float(f) => Value::from(*f),
            Self::Bool(b) => Value::from(*b),
        }
    }
}

/// A truth value as the code covers it.
pub(super) fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}
