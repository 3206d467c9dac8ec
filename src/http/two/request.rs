//! A request as HTTP/2 has it: names in lower case, no Host but an authority, nothing that is of one connection.

use crate::http::{Request, RequestError};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Uri, Version};
use std::fmt::Write as _;

/// A body that is sent whole.
pub type Body = Full<Bytes>;

/// Headers of a connection of HTTP/1.1, which HTTP/2 forbids (RFC 9113, section 8.2.2).
const OF_A_CONNECTION: [&str; 5] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

/// A request that can be sent again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Http2Request {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl Http2Request {
    /// The request with its pseudo-headers; `scheme` is `http` or `https`. A Host that is written is the authority.
    pub fn new(request: &Request<'_>, scheme: &str) -> Result<Self, RequestError> {
        request.check()?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| RequestError::Method(request.method.to_owned()))?;
        let mut headers = HeaderMap::with_capacity(request.headers.len());
        let mut authority = request.authority;
        for (name, value) in request.headers {
            if name.eq_ignore_ascii_case("host") {
                authority = value;
                continue;
            }
            let one = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| RequestError::HeaderName(name.clone()))?;
            if OF_A_CONNECTION.contains(&one.as_str()) {
                continue;
            }
            let value = HeaderValue::from_bytes(value.as_bytes())
                .map_err(|_| RequestError::HeaderValue(name.clone()))?;
            headers.append(one, value);
        }
        Ok(Self {
            method,
            uri: uri(scheme, authority, request.target)?,
            headers,
            body: Bytes::copy_from_slice(request.body.unwrap_or_default()),
        })
    }

    /// One of it. Nothing of its text is copied.
    pub fn to_send(&self) -> hyper::Request<Body> {
        let mut request = hyper::Request::new(Full::new(self.body.clone()));
        *request.version_mut() = Version::HTTP_2;
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }
}

/// Whether a response that came to an end is not whole, after so many bytes of its body; `ended` tells whether the server
/// ended the stream itself. It may reset a stream with `NO_ERROR` behind a whole response (RFC 9113, section 8.1), and hyper
/// takes each such reset for the end; h2 keeps whether the stream was ended before.
pub fn is_cut(headers: &HeaderMap, received: u64, ended: bool) -> bool {
    // How much there is of a body whose stream was ended is judged by h2.
    !ended && announced(headers).is_none_or(|length| received < length)
}

/// The size of a body as its head announces it, in bytes.
pub fn announced(headers: &HeaderMap) -> Option<u64> {
    let length = headers.get(CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

fn uri(scheme: &str, authority: &str, target: &str) -> Result<Uri, RequestError> {
    let lower = target.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        let uri: Option<Uri> = target.parse().ok();
        return uri.ok_or_else(|| unsendable(target));
    }
    // The parser cuts a fragment off without a word.
    let path = Some(target).filter(|target| !target.contains('#'));
    let path = path.ok_or_else(|| unsendable(target))?;
    Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query(path)
        .build()
        .map_err(|_| unsendable(target))
}

fn unsendable(target: &str) -> RequestError {
    let mut encoded = String::new();
    for c in target.chars() {
        match c {
            '#' | '<' | '>' | '"' | '`' => {
                // Writing to a String can't fail.
                let _ = write!(encoded, "%{:02X}", c as u32);
            }
            _ => encoded.push(c),
        }
    }
    RequestError::Target {
        target: target.to_owned(),
        encoded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(target: &'a str, headers: &'a [(String, String)]) -> Request<'a> {
        Request {
            method: "GET",
            target,
            headers,
            body: None,
            authority: "127.0.0.1:80",
            keep_alive: true,
        }
    }

    #[test]
    fn what_is_of_a_connection_is_not_sent_and_a_host_is_the_authority() {
        let headers = [
            ("Host", "example.org"),
            ("Connection", "keep-alive"),
            ("X-One", "1"),
            ("x-one", "2"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let made = Http2Request::new(&request("/a?b=%20", &headers), "http").unwrap();
        let sent = made.to_send();
        assert_eq!(sent.uri().to_string(), "http://example.org/a?b=%20");
        let all: Vec<_> = sent.headers().iter().collect();
        assert_eq!(all.len(), 2, "{all:?}");
        assert_eq!(sent.headers().get_all("x-one").iter().count(), 2);
        let plain = Http2Request::new(&request("/", &[]), "https").unwrap();
        assert_eq!(plain.to_send().uri().to_string(), "https://127.0.0.1:80/");
    }

    #[test]
    fn a_path_goes_out_as_it_is_written_or_not_at_all() {
        for path in ["/", "/a?b=c&d", "/%2F//x;y,z", "/\"{}\"?q={|}", "*"] {
            let made = Http2Request::new(&request(path, &[]), "http").unwrap();
            let sent = made.to_send();
            assert_eq!(sent.uri().path_and_query().unwrap().as_str(), path);
        }
        for (path, encoded) in [
            ("/a#b", "/a%23b"),
            ("/?q=\"<", "/?q=%22%3C"),
            ("/`", "/%60"),
        ] {
            let refused = Http2Request::new(&request(path, &[]), "http");
            let told = refused.unwrap_err().to_string();
            assert!(told.contains(encoded), "{told}");
            assert!(Http2Request::new(&request(encoded, &[]), "http").is_ok());
        }
    }
}
