//! Takes secrets out of what processes print, before it is written anywhere.

/// What stands where a secret stood.
const MASK: &[u8] = b"***";
/// A shorter value would be found by chance in any text.
const SHORTEST: usize = 4;

/// A text without the secrets in it.
pub fn hide(text: &str, secrets: &[String]) -> String {
    let mut mask = Mask::new(secrets);
    let mut out = mask.pass(text.as_bytes());
    out.extend(mask.rest());
    String::from_utf8_lossy(&out).into_owned()
}

/// Replaces texts in a stream, also where one comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Mask {
    secrets: Vec<Vec<u8>>,
    /// The end of what came, which may be the beginning of a secret.
    held: Vec<u8>,
}

impl Mask {
    pub(super) fn new(secrets: &[String]) -> Self {
        let mut secrets: Vec<Vec<u8>> = secrets
            .iter()
            .filter(|secret| secret.len() >= SHORTEST)
            .map(|secret| secret.as_bytes().to_vec())
            .collect();
        // Of one that begins another, the longer one is meant.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self {
            secrets,
            held: Vec::new(),
        }
    }

    /// Whether there is nothing to take out.
    pub(super) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// What may be written of what came so far.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.masked(bytes, false)
    }

    fn masked(&mut self, bytes: &[u8], at_end: bool) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let text = std::mem::take(&mut self.held);
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let is_begun = |secret: &Vec<u8>| secret.len() > rest.len() && secret.starts_with(rest);
            if !at_end && self.secrets.iter().any(is_begun) {
                self.held = rest.to_vec();
                return out;
            }
            if let Some(secret) = self.secrets.iter().find(|secret| rest.starts_with(secret)) {
                out.extend_from_slice(MASK);
                at += secret.len();
            } else {
                out.push(text[at]);
                at += 1;
            }
        }
        out
    }

    /// What is still held back, at the end of the stream.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        self.masked(&[], true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(secrets: &[&str], pieces: &[&str]) -> String {
        let secrets: Vec<String> = secrets.iter().map(|&secret| secret.to_owned()).collect();
        let mut mask = Mask::new(&secrets);
        let mut out = Vec::new();
        for piece in pieces {
            out.extend(mask.pass(piece.as_bytes()));
        }
        out.extend(mask.rest());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_secret_is_found_in_pieces() {
        assert_eq!(masked(&["hunter2"], &["a hun", "ter2 b"]), "a *** b");
        assert_eq!(masked(&["hunter2"], &["hunhun", "te", "r2"]), "hun***");
        assert_eq!(masked(&["hunter2"], &["hunter"]), "hunter");
        let both = ["token", "token-long"];
        assert_eq!(masked(&both, &["token-long token"]), "*** ***");
        assert_eq!(masked(&both, &["token", "-long to", "ken"]), "*** ***");
    }

    #[test]
    fn a_value_too_short_to_be_told_from_chance_is_left() {
        assert_eq!(masked(&["1", ""], &["1 of 10"]), "1 of 10");
    }

    #[test]
    fn what_cannot_be_a_secret_is_not_held_back() {
        let mut mask = Mask::new(&["hunter2".to_owned()]);
        assert_eq!(mask.pass(b"ready\n"), b"ready\n");
        assert_eq!(mask.pass(b"ready hunt"), b"ready ");
    }
}
