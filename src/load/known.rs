//! The last response that was read whole and judged good. Servers repeat themselves: a response with the very same bytes
//! is framed and judged in the same way, so that comparing it is enough.

/// The longest response that is kept, in bytes. Of longer ones the parsing is a small part.
const LONGEST: usize = 4096;

/// A response with what was found of it.
#[derive(Debug, Default)]
pub(super) struct Known {
    bytes: Vec<u8>,
    /// Its status.
    pub(super) status: u16,
    /// Bytes of its body as they came.
    pub(super) body_bytes: u64,
}

impl Known {
    /// Whether these bytes are that response, from its first to its last one.
    pub(super) fn is(&self, bytes: &[u8]) -> bool {
        !bytes.is_empty() && self.bytes == bytes
    }

    /// Whether these bytes begin with that response; its size. Its framing says where it ends, so what follows is another one.
    pub(super) fn begins(&self, bytes: &[u8]) -> Option<usize> {
        let size = self.bytes.len();
        (size > 0 && bytes.starts_with(&self.bytes)).then_some(size)
    }

    /// Keeps a response after which its connection can be used again.
    pub(super) fn learn(&mut self, bytes: &[u8], status: u16, body_bytes: u64) {
        if bytes.len() > LONGEST {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.status = status;
        self.body_bytes = body_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_bytes_are_known() {
        let mut known = Known::default();
        assert!(!known.is(b""));
        known.learn(b"one", 200, 1);
        assert!(known.is(b"one"));
        for other in [b"on".as_slice(), b"one!", b"two", b""] {
            assert!(!known.is(other));
        }
        known.learn(&[b'x'; LONGEST + 1], 200, 1);
        assert!(known.is(b"one"));
    }
}
