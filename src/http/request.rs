//! Requests as bytes: the target, the headers, their order and their case are
//! what the suite wrote. Only what HTTP/1.1 can't do without is added, and what would
//! make another request than the one written is refused.

use std::fmt;
use std::fmt::Write as _;

/// One request, its parts as text.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// The request target, sent byte for byte.
    pub target: &'a str,
    /// Names and values, sent in this order and case.
    pub headers: &'a [(String, String)],
    /// The body; none sends none, and no Content-Length either.
    pub body: Option<&'a [u8]>,
    /// The value of `Host`, where the headers have none.
    pub authority: &'a str,
    /// False adds `Connection: close`, where the headers have no Connection.
    pub keep_alive: bool,
}

/// A part of a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadPart<'a> {
    /// These characters.
    Text(&'a str),
    /// The request target.
    Target,
    /// The value of the header with this index.
    Value(usize),
    /// The size of the body in bytes, in digits.
    Length,
}

/// Why a request can't be sent as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestError {
    /// The method is not a token.
    Method(String),
    /// CONNECT makes a tunnel, which is nothing that can be measured as a request.
    Connect,
    /// The target has spaces, control characters or non-ASCII characters.
    Target {
        /// As it is written.
        target: String,
        /// The same, percent-encoded.
        encoded: String,
    },
    /// The target is neither a path nor an absolute URL nor `*`.
    TargetForm(String),
    /// A header's name is not a token.
    HeaderName(String),
    /// A header's value holds CR, LF or NUL.
    HeaderValue(String),
    /// A header that frames the body, and does not say what will be sent.
    Framing {
        /// The header, as it is written.
        header: String,
        /// The size of the body, in bytes.
        size: usize,
    },
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Method(method) => write!(
                f,
                "the method {method:?} is not an HTTP method; write one word without spaces, such as GET"
            ),
            Self::Connect => write!(
                f,
                "the method CONNECT opens a tunnel and can't be measured; choose another method"
            ),
            Self::Target { target, encoded } => write!(
                f,
                "the path {target:?} has characters that can't be sent; write {encoded:?}"
            ),
            Self::TargetForm(target) => write!(
                f,
                "the path {target:?} does not begin with a slash; write {:?}",
                format!("/{target}")
            ),
            Self::HeaderName(name) => write!(
                f,
                "{name:?} is not the name of a header; letters, digits and dashes are"
            ),
            Self::HeaderValue(name) => write!(
                f,
                "the value of the header {name:?} holds a line break or NUL; write it on one line"
            ),
            Self::Framing { header, size } => write!(
                f,
                "the header {header:?} does not fit the body, which has {size} bytes; leave it out, it is added where it is needed"
            ),
        }
    }
}

impl std::error::Error for RequestError {}

impl Request<'_> {
    /// The bytes to write.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RequestError> {
        let body = self.body.unwrap_or_default();
        let mut out = Vec::with_capacity(256 + body.len());
        self.head(|part| match part {
            HeadPart::Text(text) => out.extend_from_slice(text.as_bytes()),
            HeadPart::Target => out.extend_from_slice(self.target.as_bytes()),
            HeadPart::Value(index) => out.extend_from_slice(self.headers[index].1.as_bytes()),
            HeadPart::Length => out.extend_from_slice(body.len().to_string().as_bytes()),
        })?;
        out.extend_from_slice(body);
        Ok(out)
    }

    /// Tells the head part by part, for whoever sends it with other targets, values or lengths than those given here.
    pub fn head(&self, mut tell: impl FnMut(HeadPart<'_>)) -> Result<(), RequestError> {
        self.check()?;
        let mut line = |parts: &[HeadPart<'_>]| {
            for part in parts {
                tell(*part);
            }
            tell(HeadPart::Text("\r\n"));
        };
        let text = HeadPart::Text;
        line(&[
            text(self.method),
            text(" "),
            HeadPart::Target,
            text(" HTTP/1.1"),
        ]);
        if !self.has("host") {
            line(&[text("Host: "), text(self.authority)]);
        }
        for (index, (name, _)) in self.headers.iter().enumerate() {
            line(&[text(name), text(": "), HeadPart::Value(index)]);
        }
        if self.body.is_some() && !self.has("content-length") {
            line(&[text("Content-Length: "), HeadPart::Length]);
        }
        if !self.keep_alive && !self.has("connection") {
            line(&[text("Connection: close")]);
        }
        line(&[]);
        Ok(())
    }

    /// Whether it can be sent as it is written.
    pub(super) fn check(&self) -> Result<(), RequestError> {
        self.check_line()?;
        self.check_headers()
    }

    fn has(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|(given, _)| given.eq_ignore_ascii_case(name))
    }

    fn check_line(&self) -> Result<(), RequestError> {
        if !is_token(self.method) {
            return Err(RequestError::Method(self.method.to_owned()));
        }
        if self.method == "CONNECT" {
            return Err(RequestError::Connect);
        }
        if !self.target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(RequestError::Target {
                target: self.target.to_owned(),
                encoded: percent_encoded(self.target),
            });
        }
        let lower = self.target.to_ascii_lowercase();
        let absolute = lower.starts_with("http://") || lower.starts_with("https://");
        if self.target.starts_with('/') || self.target == "*" || absolute {
            return Ok(());
        }
        Err(RequestError::TargetForm(self.target.to_owned()))
    }

    fn check_headers(&self) -> Result<(), RequestError> {
        for (name, value) in self.headers {
            if !is_token(name) {
                return Err(RequestError::HeaderName(name.clone()));
            }
            if value.contains(['\r', '\n', '\0']) {
                return Err(RequestError::HeaderValue(name.clone()));
            }
            let size = self.body.map_or(0, <[u8]>::len);
            let wrong_length =
                name.eq_ignore_ascii_case("content-length") && value.trim() != size.to_string();
            // The body is sent as it is, so a transfer coding would announce something else.
            if wrong_length || name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(RequestError::Framing {
                    header: format!("{name}: {value}"),
                    size,
                });
            }
        }
        if self.authority.contains(|c: char| !c.is_ascii_graphic()) {
            return Err(RequestError::HeaderValue("Host".to_owned()));
        }
        Ok(())
    }
}

/// A token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The target with everything percent-encoded that can't be sent; what was encoded stays.
fn percent_encoded(target: &str) -> String {
    let mut out = String::new();
    for byte in target.bytes() {
        if byte.is_ascii_graphic() {
            out.push(char::from(byte));
        } else {
            // Writing to a String can't fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get<'a>(target: &'a str, headers: &'a [(String, String)]) -> Request<'a> {
        Request {
            method: "GET",
            target,
            headers,
            body: None,
            authority: "127.0.0.1:80",
            keep_alive: true,
        }
    }

    fn header(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    #[test]
    fn bytes_are_as_they_were_given() {
        let headers = header("X-oDD", "a  b");
        let mut request = get("/a%2Fb/%E2%82%AC?x=%3Ca%3E&y=1%7C2&z=a+b", &headers);
        request.keep_alive = false;
        request.body = Some(b"hi");
        assert_eq!(
            String::from_utf8(request.to_bytes().unwrap()).unwrap(),
            "GET /a%2Fb/%E2%82%AC?x=%3Ca%3E&y=1%7C2&z=a+b HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\
             X-oDD: a  b\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
        );
    }

    #[test]
    fn nothing_is_added_twice() {
        let mut headers = header("host", "example");
        headers.extend(header("CONTENT-length", "2"));
        headers.extend(header("connection", "keep-alive"));
        let mut request = get("/", &headers);
        request.body = Some(b"hi");
        request.keep_alive = false;
        assert_eq!(
            request.to_bytes().unwrap(),
            b"GET / HTTP/1.1\r\nhost: example\r\nCONTENT-length: 2\r\nconnection: keep-alive\r\n\r\nhi"
        );
    }

    #[test]
    fn what_would_be_another_request_is_refused() {
        let error = get("/a b/\u{20ac}%20", &[]).to_bytes().unwrap_err();
        assert!(
            error.to_string().contains("\"/a%20b/%E2%82%AC%20\""),
            "{error}"
        );
        for target in ["/a\r\nX: y", "/\0", "", "path", "/\u{7f}"] {
            assert!(get(target, &[]).to_bytes().is_err(), "{target:?} was taken");
        }
        for (name, value) in [
            ("a b", "x"),
            ("", "x"),
            ("a\r\nb", "x"),
            ("a", "x\r\ny"),
            ("a", "x\ny"),
            ("a", "\0"),
            ("Content-Length", "3"),
            ("Transfer-Encoding", "chunked"),
        ] {
            let headers = header(name, value);
            assert!(
                get("/", &headers).to_bytes().is_err(),
                "{name:?}: {value:?}"
            );
        }
        for method in ["", "GET ", "G\nET", "CONNECT"] {
            let mut request = get("/", &[]);
            request.method = method;
            assert!(request.to_bytes().is_err(), "{method:?} was taken");
        }
    }
}
