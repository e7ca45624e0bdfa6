//! Bytes of a stream into text: byte order marks, UTF-16, and the bound on size.

use std::borrow::Cow;

use super::{Limits, YamlError};

/// Decodes a stream. UTF-8 is assumed unless a byte order mark says UTF-16, as every YAML reader does.
///
/// # Errors
/// When the stream is larger than `limits` allow, or not in that encoding.
pub fn decode<'t>(bytes: &'t [u8], limits: &Limits) -> Result<Cow<'t, str>, YamlError> {
    if bytes.len() > limits.bytes {
        let message = format!("the stream has {} bytes, more than the limit of {}", bytes.len(), limits.bytes);
        return Err(YamlError { line: 1, message });
    }
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, YamlError> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|e| {
        let valid = &bytes[..e.valid_up_to()];
        let line = 1 + u32::try_from(valid.iter().filter(|b| **b == b'\n').count()).unwrap_or(u32::MAX - 1);
        YamlError { line, message: "invalid UTF-8".into() }
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'static, str>, YamlError> {
    let error = || YamlError { line: 1, message: "invalid UTF-16".into() };
    if !bytes.len().is_multiple_of(2) {
        return Err(error());
    }
    let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
    String::from_utf16(&units).map(Cow::Owned).map_err(|_| error())
}
