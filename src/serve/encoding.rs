//! Content coding of the demo server: whether a client accepts gzip (RFC 9110,
//! 12.5.3), and the coding itself, done anew for each request as a real server does.

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;
use std::io::Write as _;

/// The level that servers use by default.
const LEVEL: u32 = 6;

/// Whether the client accepts gzip: it is named with a weight above 0, or is
/// covered by `*` and not named. Without the header nothing is compressed:
/// the client has not asked for it.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut by_name = None;
    let mut by_star = None;
    for value in headers.get_all(ACCEPT_ENCODING) {
        for offer in value.to_str().unwrap_or("").split(',') {
            let mut parts = offer.split(';');
            let coding = parts.next().unwrap_or("").trim();
            let wanted = parts.all(|parameter| weight(parameter).is_none_or(|q| q > 0.0));
            if coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip") {
                by_name = Some(wanted);
            } else if coding == "*" {
                by_star = Some(wanted);
            }
        }
    }
    by_name.or(by_star).unwrap_or(false)
}

/// The weight, where the parameter is one. A weight that is no number counts as 0.
fn weight(parameter: &str) -> Option<f32> {
    let (name, value) = parameter.split_once('=')?;
    name.trim()
        .eq_ignore_ascii_case("q")
        .then(|| value.trim().parse().unwrap_or(0.0))
}

/// `bytes` as a gzip member.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(LEVEL));
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .expect("writing to memory cannot fail")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn only_a_client_that_accepts_gzip_gets_it() {
        let asks = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, text.parse().unwrap());
            accepts_gzip(&headers)
        };
        for yes in [
            "gzip",
            "deflate, GZIP;q=0.5",
            "*",
            "br;q=1.0, *;q=0.1",
            "x-gzip",
        ] {
            assert!(asks(yes), "{yes}");
        }
        for no in [
            "",
            "identity",
            "gzip;q=0",
            "gzip; q=0.000, *",
            "br",
            "*;q=0",
            "gzip;q=x",
        ] {
            assert!(!asks(no), "{no}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn what_is_compressed_reads_back() {
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(gzip(b"abc").as_slice())
            .read_to_end(&mut back)
            .unwrap();
        assert_eq!(back, b"abc");
    }
}
