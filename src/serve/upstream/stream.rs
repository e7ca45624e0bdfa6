//! Requests out of a stream of bytes: JSON objects, one after the other, cut anywhere. Nothing is parsed before it is whole.

use bytes::BytesMut;

/// Largest request, in bytes.
const REQUEST: usize = 8 << 20;

/// Why a stream cannot be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum StreamError {
    /// Something else than an object begins.
    #[error("the upstream service sent something that is no JSON object")]
    NoObject,
    /// One object is too large.
    #[error("the upstream service sent a request of more than {REQUEST} bytes")]
    TooLarge,
}

/// Cuts objects out of a stream. Each byte is looked at once.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    bytes: BytesMut,
    looked: usize,
    depth: u32,
    in_text: bool,
    escaped: bool,
}

impl Splitter {
    /// Takes bytes in.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole object, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<BytesMut>, StreamError> {
        if self.depth == 0 {
            let blank = self.bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            drop(self.bytes.split_to(blank));
        }
        while let Some(byte) = self.bytes.get(self.looked).copied() {
            if self.depth == 0 && byte != b'{' {
                return Err(StreamError::NoObject);
            }
            self.looked += 1;
            self.look(byte);
            if self.depth == 0 {
                return Ok(Some(self.bytes.split_to(std::mem::take(&mut self.looked))));
            }
        }
        if self.bytes.len() > REQUEST { Err(StreamError::TooLarge) } else { Ok(None) }
    }

    fn look(&mut self, byte: u8) {
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_wherever_the_stream_is_cut() {
        let stream = br#" {"a":"}{\"","b":[1,{}]}
{"c":"\\"}{}"#;
        let wanted = [r#"{"a":"}{\"","b":[1,{}]}"#, r#"{"c":"\\"}"#, "{}"];
        for size in 1..=stream.len() {
            let (mut splitter, mut found) = (Splitter::default(), Vec::new());
            for piece in stream.chunks(size) {
                splitter.push(piece);
                while let Some(object) = splitter.next().unwrap() {
                    found.push(String::from_utf8(object.to_vec()).unwrap());
                }
            }
            assert_eq!(found, wanted, "in pieces of {size}");
        }
    }

    #[test]
    fn other_things_and_endless_objects_end_the_stream() {
        let mut splitter = Splitter::default();
        splitter.push(b"[1]");
        assert_eq!(splitter.next(), Err(StreamError::NoObject));
        let mut splitter = Splitter::default();
        splitter.push(b"{\"a\":\"");
        splitter.push(&vec![b'x'; REQUEST]);
        assert_eq!(splitter.next(), Err(StreamError::TooLarge));
    }
}
