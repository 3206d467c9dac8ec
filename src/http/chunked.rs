//! The chunked transfer coding (RFC 9112, section 7.1): sizes that can't
//! overflow, strict line ends, extensions and trailers read over within limits.

use super::decoder::ProtocolError;

/// The most bytes that a response may spend on extensions and trailers.
const MAX_OVERHEAD: u32 = 64 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first digit of a size.
    SizeStart,
    /// Within the digits.
    Size,
    /// Blanks behind the digits.
    Blank,
    /// Within an extension.
    Extension,
    /// The LF that ends the size's line.
    SizeLf,
    /// Within the data.
    Data,
    /// The CR behind the data.
    DataCr,
    /// The LF behind the data.
    DataLf,
    /// At the start of a trailer's line.
    TrailerStart,
    /// Within the name of a trailer.
    TrailerName,
    /// Within the value of a trailer.
    TrailerValue,
    /// The LF that ends a trailer.
    TrailerLf,
    /// The LF of the last line.
    EndLf,
}

/// Where a chunked body stands.
#[derive(Debug, Clone)]
pub(super) struct Chunked {
    state: State,
    left: u64,
    overhead: u32,
}

impl Chunked {
    pub(super) fn new() -> Self {
        Self {
            state: State::SizeStart,
            left: 0,
            overhead: 0,
        }
    }

    /// Reads on. Gives the bytes that were used, and whether the body is complete.
    pub(super) fn feed(
        &mut self,
        input: &[u8],
        mut data: impl FnMut(&[u8]),
    ) -> Result<(usize, bool), ProtocolError> {
        let mut at = 0;
        while at < input.len() {
            if self.state == State::Data {
                let take = usize::try_from(self.left)
                    .unwrap_or(usize::MAX)
                    .min(input.len() - at);
                data(&input[at..at + take]);
                at += take;
                self.left -= take as u64;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
                continue;
            }
            let done = self.state == State::EndLf;
            self.state = self.next(input[at])?;
            at += 1;
            if done {
                return Ok((at, true));
            }
        }
        Ok((at, false))
    }

    fn next(&mut self, byte: u8) -> Result<State, ProtocolError> {
        use ProtocolError::BadChunk;
        let after_lf = if self.left == 0 {
            State::TrailerStart
        } else {
            State::Data
        };
        Ok(match (self.state, byte) {
            (State::SizeStart | State::Size, byte) if byte.is_ascii_hexdigit() => {
                self.digit(byte)?;
                State::Size
            }
            (State::Size | State::Blank | State::Extension, b'\r') => State::SizeLf,
            (State::Size | State::Blank, b' ' | b'\t') => self.count(State::Blank)?,
            (State::Size | State::Blank, b';') => self.count(State::Extension)?,
            (State::SizeStart | State::Size | State::Blank, _) => {
                return Err(BadChunk("a chunk's size is not a hexadecimal number"));
            }
            (State::Extension, b'\n') => {
                return Err(BadChunk("a chunk's extension holds a bare line feed"));
            }
            (State::Extension, _) => self.count(State::Extension)?,
            (State::SizeLf, b'\n') => after_lf,
            (State::DataCr, b'\r') => State::DataLf,
            // After the last line feed the state is of no use any more.
            (State::DataLf | State::EndLf, b'\n') => State::SizeStart,
            (State::DataCr | State::DataLf, _) => {
                return Err(BadChunk("a chunk's data is longer than its size"));
            }
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerStart | State::TrailerName | State::TrailerValue, b'\n') => {
                return Err(BadChunk("a trailer holds a bare line feed"));
            }
            (State::TrailerName, b':') => self.count(State::TrailerValue)?,
            (State::TrailerStart | State::TrailerName, byte) if is_name(byte) => {
                self.count(State::TrailerName)?
            }
            (State::TrailerStart | State::TrailerName, _) => {
                return Err(BadChunk("a trailer is not a header"));
            }
            (State::TrailerValue, b'\r') => State::TrailerLf,
            // As in the head: obsolete text may be there, control characters may not.
            (State::TrailerValue, byte) if byte != b'\t' && byte.is_ascii_control() => {
                return Err(BadChunk("a trailer holds a control character"));
            }
            (State::TrailerValue, _) => self.count(State::TrailerValue)?,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::SizeLf | State::TrailerLf | State::EndLf, _) => {
                return Err(BadChunk("a carriage return has no line feed behind it"));
            }
            (State::Data, _) => unreachable!("data is taken in slices, not byte by byte"),
        })
    }

    fn digit(&mut self, byte: u8) -> Result<(), ProtocolError> {
        let too_large = ProtocolError::BadChunk("a chunk's size is too large");
        if self.state == State::SizeStart {
            self.left = 0;
        } else {
            // Leading zeros never overflow, so they have to be limited too.
            self.count(State::Size)?;
        }
        let digit = char::from(byte).to_digit(16).unwrap_or_default();
        self.left = self
            .left
            .checked_mul(16)
            .and_then(|left| left.checked_add(u64::from(digit)))
            .ok_or(too_large)?;
        Ok(())
    }

    /// Counts a byte that is neither data nor needed.
    fn count(&mut self, next: State) -> Result<State, ProtocolError> {
        // Every size has digits; only what goes on without end shall be caught.
        if self.state == State::Size && next == State::Size {
            if self.left == 0 {
                self.overhead += 1;
            }
        } else {
            self.overhead += 1;
        }
        if self.overhead > MAX_OVERHEAD {
            return Err(ProtocolError::BadChunk(
                "its extensions and trailers are longer than 64 KiB",
            ));
        }
        Ok(next)
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
