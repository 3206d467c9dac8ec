//! Content-encodings: gzip and deflate are taken off in a stream, so that a body of any size
//! can be judged without being kept. deflate is zlib by RFC 9110; servers that
//! send it raw are understood too, since the first two bytes tell the two apart.

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::fmt;
use std::io::{self, Write};

/// A content-encoding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Coding {
    /// None, or `identity`.
    Identity,
    /// `gzip`, `x-gzip`.
    Gzip,
    /// `deflate`, in zlib's format or raw.
    Deflate,
    /// One, or several at once, that hotlap can't take off.
    Unknown(String),
}

impl Coding {
    /// Reads the values of the Content-Encoding headers.
    pub fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut found = Self::Identity;
        let mut all = Vec::new();
        for token in values.flat_map(|value| value.split(|byte| *byte == b',')) {
            let token = token.trim_ascii();
            let is = |name: &str| token.eq_ignore_ascii_case(name.as_bytes());
            if token.is_empty() || is("identity") {
                continue;
            }
            all.push(String::from_utf8_lossy(token).into_owned());
            found = if all.len() > 1 {
                Self::Unknown(all.join(", "))
            } else if is("gzip") || is("x-gzip") {
                Self::Gzip
            } else if is("deflate") {
                Self::Deflate
            } else {
                Self::Unknown(all.join(", "))
            };
        }
        found
    }
}

/// Why a body can't be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodingError {
    /// The encoding is none that hotlap knows.
    Unknown(String),
    /// The body is not what its encoding says, or is cut short.
    Corrupt(String),
    /// Decoded it is larger than may be kept; the limit in bytes.
    TooLarge(u64),
}

impl fmt::Display for CodingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(
                f,
                "its content-encoding {name:?} is none that hotlap can decode (gzip, deflate); ask for one of these with an Accept-Encoding header"
            ),
            Self::Corrupt(reason) => {
                write!(f, "it is not what its content-encoding says: {reason}")
            }
            Self::TooLarge(limit) => write!(
                f,
                "decoded it is larger than {}",
                crate::units::show_bytes(*limit as f64)
            ),
        }
    }
}

impl std::error::Error for CodingError {}

/// Takes an encoding off what is written to it, and writes the rest on to `W`.
pub(super) struct Inflater<W: Write> {
    kind: Kind<W>,
}

enum Kind<W: Write> {
    Plain(W),
    Gzip(MultiGzDecoder<W>),
    Zlib(ZlibDecoder<W>),
    Raw(DeflateDecoder<W>),
    /// Before the bytes that tell which; none at all is an empty body in any encoding.
    Undecided {
        out: W,
        begin: Vec<u8>,
        gzip: bool,
    },
    /// After an error.
    Spent,
}

impl<W: Write> Inflater<W> {
    pub(super) fn new(coding: &Coding, out: W) -> Result<Self, CodingError> {
        let undecided = |out, gzip| Kind::Undecided {
            out,
            begin: Vec::new(),
            gzip,
        };
        let kind = match coding {
            Coding::Identity => Kind::Plain(out),
            Coding::Gzip => undecided(out, true),
            Coding::Deflate => undecided(out, false),
            Coding::Unknown(name) => return Err(CodingError::Unknown(name.clone())),
        };
        Ok(Self { kind })
    }

    pub(super) fn write(&mut self, piece: &[u8]) -> Result<(), CodingError> {
        if let Kind::Undecided { begin, .. } = &mut self.kind {
            begin.extend_from_slice(piece);
            return if begin.len() < 2 {
                Ok(())
            } else {
                self.decide().map_err(|error| corrupt(&error))
            };
        }
        self.write_on(piece).map_err(|error| corrupt(&error))
    }

    fn write_on(&mut self, piece: &[u8]) -> io::Result<()> {
        match &mut self.kind {
            Kind::Plain(out) => out.write_all(piece),
            Kind::Gzip(out) => out.write_all(piece),
            Kind::Zlib(out) => out.write_all(piece),
            Kind::Raw(out) => out.write_all(piece),
            Kind::Undecided { .. } | Kind::Spent => Ok(()),
        }
    }

    fn decide(&mut self) -> io::Result<()> {
        let kind = std::mem::replace(&mut self.kind, Kind::Spent);
        let Kind::Undecided { out, begin, gzip } = kind else {
            return Ok(());
        };
        // RFC 1950: method 8 in the low half of the first byte, and a checksum over both.
        let zlib = begin[0] & 0x0f == 8
            && (u16::from(begin[0]) << 8 | u16::from(begin[1])).is_multiple_of(31);
        self.kind = if gzip {
            Kind::Gzip(MultiGzDecoder::new(out))
        } else if zlib {
            Kind::Zlib(ZlibDecoder::new(out))
        } else {
            Kind::Raw(DeflateDecoder::new(out))
        };
        self.write_on(&begin)
    }

    /// The body is complete: what it was written to, or why it is not.
    pub(super) fn finish(self) -> Result<W, CodingError> {
        match self.kind {
            Kind::Plain(out) => Ok(out),
            Kind::Gzip(out) => out.finish(),
            Kind::Zlib(out) => out.finish(),
            Kind::Raw(out) => out.finish(),
            Kind::Undecided { out, begin, .. } if begin.is_empty() => Ok(out),
            Kind::Undecided { .. } => Err(io::Error::other("it is one byte long")),
            Kind::Spent => Err(io::Error::other("it could not be decoded")),
        }
        .map_err(|error| corrupt(&error))
    }
}

fn corrupt(error: &io::Error) -> CodingError {
    CodingError::Corrupt(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    fn decoded(coding: &Coding, wire: &[u8], piece: usize) -> Result<Vec<u8>, CodingError> {
        let mut inflater = Inflater::new(coding, Vec::new())?;
        for part in wire.chunks(piece) {
            inflater.write(part)?;
        }
        inflater.finish()
    }

    #[test]
    fn every_kind_is_taken_off_and_a_cut_is_noticed() {
        let body = b"some words, and some words more";
        let level = Compression::default();
        let mut gzip = GzEncoder::new(Vec::new(), level);
        let mut zlib = ZlibEncoder::new(Vec::new(), level);
        let mut raw = DeflateEncoder::new(Vec::new(), level);
        for out in [&mut gzip as &mut dyn Write, &mut zlib, &mut raw] {
            out.write_all(body).unwrap();
        }
        for (coding, wire) in [
            (Coding::Gzip, gzip.finish().unwrap()),
            (Coding::Deflate, zlib.finish().unwrap()),
            (Coding::Deflate, raw.finish().unwrap()),
        ] {
            for piece in [1, 2, 7, 1000] {
                assert_eq!(decoded(&coding, &wire, piece).unwrap(), body);
            }
            let cut = decoded(&coding, &wire[..wire.len() - 1], 5);
            assert!(
                matches!(cut, Err(CodingError::Corrupt(_))),
                "{coding:?}: {cut:?}"
            );
            assert!(decoded(&coding, b"x", 1).is_err());
            assert_eq!(decoded(&coding, b"", 1).unwrap(), b"");
        }
        assert!(decoded(&Coding::Gzip, b"not gzip at all", 3).is_err());
    }

    #[test]
    fn names_are_read_in_any_case_and_number() {
        let of = |values: &[&'static str]| Coding::of(values.iter().map(|value| value.as_bytes()));
        assert_eq!(of(&[]), Coding::Identity);
        assert_eq!(of(&["GZip"]), Coding::Gzip);
        assert_eq!(of(&["identity, deflate"]), Coding::Deflate);
        assert_eq!(of(&["br"]), Coding::Unknown("br".to_owned()));
        let both = of(&["gzip", "br"]);
        assert_eq!(both, Coding::Unknown("gzip, br".to_owned()));
        let error = decoded(&both, b"x", 1).unwrap_err();
        assert!(error.to_string().contains("Accept-Encoding"));
    }
}
