//! What a scalar means: its tag, or for a plain one its look (fluxd-v1 §3.2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{ScalarStyle, Tag};
use serde_json::Value;

use super::Dialect;
use super::number::Numeric;

const CORE: &str = "tag:yaml.org,2002:";

/// A scalar as go-yaml resolves it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Resolved {
    Null,
    Bool(bool),
    Number(Numeric),
    Text,
}

/// What a plain scalar's look says.
pub(super) fn resolve_plain(text: &str, dialect: Dialect) -> Resolved {
    let Some(first) = text.bytes().next() else { return Resolved::Null };
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => match text {
            ".nan" | ".NaN" | ".NAN" => Resolved::Number(Numeric::Float(f64::NAN)),
            ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Resolved::Number(Numeric::Float(f64::INFINITY)),
            "-.inf" | "-.Inf" | "-.INF" => Resolved::Number(Numeric::Float(f64::NEG_INFINITY)),
            _ => Numeric::parse(text).map_or(Resolved::Text, Resolved::Number),
        },
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text, dialect),
        _ => Resolved::Text,
    }
}

fn word(text: &str, dialect: Dialect) -> Resolved {
    match text {
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        _ if dialect == Dialect::Kustomize => Resolved::Text,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Resolved::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Resolved::Bool(false),
        _ => Resolved::Text,
    }
}

/// Whether a scalar is the merge key.
pub(super) fn is_merge(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    text == "<<"
        && match tag {
            None => style == ScalarStyle::Plain,
            Some(tag) => tag.suffix_in_namespace(CORE).as_deref() == Some("merge"),
        }
}

/// Resolves a scalar; the text in the result may differ from the one read only for `!!binary`.
///
/// # Errors
/// When an explicit tag does not fit the text, in words.
pub(super) fn resolve(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    dialect: Dialect,
) -> Result<(Resolved, Option<String>), String> {
    let Some(tag) = tag else {
        let is_plain = style == ScalarStyle::Plain;
        return Ok((if is_plain { resolve_plain(text, dialect) } else { Resolved::Text }, None));
    };
    let plain = || resolve_plain(text, dialect);
    let wrong = |kind: &str| Err(format!("cannot decode `{text}` as a !!{kind}"));
    let resolved = match (tag.suffix_in_namespace(CORE).as_deref(), plain()) {
        (Some("binary"), _) => {
            let clean = text.replace(['\r', '\n'], "");
            let bytes = STANDARD.decode(clean).map_err(|_| "!!binary value contains invalid base64 data".to_owned())?;
            return Ok((Resolved::Text, Some(String::from_utf8_lossy(&bytes).into_owned())));
        }
        (Some("int"), found @ Resolved::Number(Numeric::Int(_) | Numeric::UInt(_)))
        | (Some("float"), found @ Resolved::Number(_))
        | (Some("bool"), found @ Resolved::Bool(_))
        | (Some("null"), found @ Resolved::Null) => found,
        (Some(kind @ ("int" | "float" | "bool" | "null")), _) => return wrong(kind),
        _ => Resolved::Text,
    };
    Ok((resolved, None))
}

impl Resolved {
    /// The JSON value; `text` is the scalar's.
    ///
    /// # Errors
    /// For infinities and NaN, in words.
    pub(super) fn into_value(self, text: String) -> Result<Value, String> {
        match self {
            Self::Null => Ok(Value::Null),
            Self::Bool(b) => Ok(Value::Bool(b)),
            Self::Number(n) => n.to_json().ok_or_else(|| format!("{text} has no form in JSON")),
            Self::Text => Ok(Value::String(text)),
        }
    }

    /// The text of a mapping key.
    ///
    /// # Errors
    /// For kinds that no JSON key can be made of, in words.
    pub(super) fn into_key(self, text: String) -> Result<String, String> {
        match self {
            Self::Null => Err("null is no usable mapping key; quote it".into()),
            Self::Bool(b) => Ok(b.to_string()),
            Self::Number(n) => n.to_key().ok_or_else(|| format!("{text} is too large for a mapping key; quote it")),
            Self::Text => Ok(text),
        }
    }
}
