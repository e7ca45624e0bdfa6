//! Base 64 and base 32. What cannot be decoded gives the text of the error, as in sprig.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::value::Value;
use super::Type::Text;
use super::{Context, Definition, Given, function, text};

pub(super) const FUNCTIONS: &[Definition] = &[
    function("b64enc", &[Text], |cx, args| encoded(cx, args, |text| STANDARD.encode(text).into())),
    function("b32enc", &[Text], |cx, args| encoded(cx, args, encode32)),
    function("b64dec", &[Text], |_, args| Ok(decode64(text(args, 0)).unwrap_or_else(|at| illegal(64, at)))),
    function("b32dec", &[Text], |_, args| Ok(decode32(text(args, 0)).unwrap_or_else(|at| illegal(32, at)))),
];

fn encoded(cx: &mut Context<'_, '_>, args: &[Value], encode: fn(&[u8]) -> Value) -> Given {
    let text = text(args, 0);
    cx.text_of_length(text.len().saturating_mul(2))?;
    Ok(encode(text))
}

fn illegal(base: u32, at: usize) -> Value {
    format!("illegal base{base} data at input byte {at}").into()
}

fn digit64(b: u8) -> Option<u32> {
    Some(u32::from(match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

fn is_line_end(b: u8) -> bool {
    matches!(b, b'\r' | b'\n')
}

/// Decodes in groups of four; the error is where Go's decoder finds one.
fn decode64(text: &[u8]) -> Result<Value, usize> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    let skip = |mut at: usize| {
        while text.get(at).copied().is_some_and(is_line_end) {
            at += 1;
        }
        at
    };
    loop {
        let (mut group, mut count) = (0u32, 0);
        while count < 4 {
            at = skip(at);
            let Some(byte) = text.get(at).copied() else {
                return if count == 0 { Ok(out.into()) } else { Err(at - count) };
            };
            at += 1;
            if let Some(digit) = digit64(byte) {
                group = group << 6 | digit;
                count += 1;
                continue;
            }
            if byte != b'=' || count < 2 {
                return Err(at - 1);
            }
            if count == 2 {
                at = skip(at);
                match text.get(at) {
                    None => return Err(text.len()),
                    Some(b'=') => at += 1,
                    Some(_) => return Err(at - 1),
                }
            }
            at = skip(at);
            let bytes = (group << (6 * (4 - count))).to_be_bytes();
            out.extend_from_slice(&bytes[1..count]);
            return if at < text.len() { Err(at) } else { Ok(out.into()) };
        }
        out.extend_from_slice(&group.to_be_bytes()[1..4]);
    }
}

const ALPHABET32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn encode32(text: &[u8]) -> Value {
    let mut out = String::with_capacity(text.len().div_ceil(5) * 8);
    for group in text.chunks(5) {
        let bits = group.iter().chain([0; 5].iter()).take(5).fold(0u64, |bits, b| bits << 8 | u64::from(*b));
        let digits = (group.len() * 8).div_ceil(5);
        for index in 0..8 {
            let digit = usize::try_from(bits >> (35 - 5 * index) & 31).unwrap_or(0);
            out.push(if index < digits { char::from(ALPHABET32[digit]) } else { '=' });
        }
    }
    out.into()
}

/// Decodes in groups of eight; the error is where Go's decoder finds one, line ends not counted.
fn decode32(text: &[u8]) -> Result<Value, usize> {
    let text: Vec<u8> = text.iter().copied().filter(|b| !is_line_end(*b)).collect();
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let mut at = 0;
    while at < text.len() {
        let (mut bits, mut count, mut is_end) = (0u64, 0, false);
        while count < 8 {
            let Some(byte) = text.get(at).copied() else { return Err(at - count) };
            at += 1;
            let left = text.len() - at;
            if byte == b'=' && count >= 2 && left < 8 {
                if left + count < 7 {
                    return Err(text.len());
                }
                if let Some(wrong) = text[at..].iter().take(7 - count).position(|b| *b != b'=') {
                    return Err((at + wrong).saturating_sub(1));
                }
                if matches!(count, 1 | 3 | 6) {
                    return Err(at - 1);
                }
                is_end = true;
                break;
            }
            let digit = ALPHABET32.iter().position(|known| *known == byte).ok_or(at - 1)?;
            bits = bits << 5 | digit as u64;
            count += 1;
        }
        bits <<= 5 * (8 - count);
        out.extend_from_slice(&bits.to_be_bytes()[3..3 + count * 5 / 8]);
        if is_end {
            break;
        }
    }
    Ok(out.into())
}
