//! The URL that is loaded: where it is, what Host says, and the request target as it was written.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// How long one of several addresses is given to take a connection.
const TRY_FOR: Duration = Duration::from_secs(1);

/// A URL in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Url {
    /// What Host says: host and port as they were written.
    pub(super) authority: String,
    host: String,
    port: u16,
    /// Whether TLS is spoken there.
    pub(super) tls: bool,
    /// The request target, byte for byte.
    pub(super) path: String,
}

impl Url {
    /// Reads a URL; the message says what is wrong with it and what to write.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let tls = lower.starts_with("https://");
        let rest = if tls {
            &text["https://".len()..]
        } else if lower.starts_with("http://") {
            &text["http://".len()..]
        } else if lower.starts_with("unix:/") {
            let path = &text["unix:".len()..];
            let path = path.strip_prefix("//").unwrap_or(path);
            return Err(format!(
                "a Unix-domain socket is named beside the URL: --unix-socket {path} http://localhost/"
            ));
        } else if has_a_scheme(text) {
            return Err(format!(
                "{text:?} is not an HTTP URL; write http://HOST:PORT/PATH or https://HOST:PORT/PATH"
            ));
        } else if text
            .strip_prefix(':')
            .is_some_and(|port| port.starts_with(|c: char| c.is_ascii_digit()))
        {
            // A port alone is one of this machine.
            &format!("localhost{text}")
        } else {
            text
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(
                "a URL with a user name is not taken; send it with -H \"Authorization: …\""
                    .to_owned(),
            );
        }
        // A fragment never leaves the client.
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        let (host, port) = split_port(authority, if tls { 443 } else { 80 })
            .ok_or_else(|| format!("{authority:?} is not a host with a port; write HOST:PORT"))?;
        Ok(Self {
            authority: authority.to_owned(),
            host: host.to_owned(),
            port,
            tls,
            path,
        })
    }

    /// The URL in full.
    pub(super) fn shown(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }

    /// The name of the host, as its certificate has it.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// The addresses of the host, at least one.
    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        let unknown = |why: String| format!("the host {:?} has no address{why}", self.host);
        let all: Vec<SocketAddr> = (self.host.as_str(), self.port)
            .to_socket_addrs()
            .map_err(|error| unknown(format!(": {error}")))?
            .collect();
        if all.is_empty() {
            return Err(unknown(String::new()));
        }
        Ok(all)
    }
}

/// The one that is loaded: of several, as `localhost` has, the first that takes a connection, else the first.
pub(super) fn answering(all: &[SocketAddr]) -> Option<SocketAddr> {
    let takes = |address: &&SocketAddr| TcpStream::connect_timeout(address, TRY_FOR).is_ok();
    match all {
        [one] => Some(*one),
        several => several.iter().find(takes).or(several.first()).copied(),
    }
}

/// Whether a text begins as `ftp://` does.
fn has_a_scheme(text: &str) -> bool {
    text.find(['/', '?', '#'])
        .is_some_and(|end| text[..end].ends_with(':') && text[end..].starts_with("//"))
}

/// Host without brackets, and port or else `usual`; none where that is neither.
fn split_port(authority: &str, usual: u16) -> Option<(&str, u16)> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        (
            host,
            port.strip_prefix(':').or(port.is_empty().then_some(""))?,
        )
    } else {
        authority.split_once(':').unwrap_or((authority, ""))
    };
    if host.is_empty() {
        return None;
    }
    if port.is_empty() {
        return Some((host, usual));
    }
    Some((host, port.parse().ok().filter(|port| *port > 0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, String, u16, String) {
        let url = Url::parse(text).unwrap();
        (url.authority, url.host, url.port, url.path)
    }

    #[test]
    fn a_url_falls_into_its_parts() {
        for (text, authority, host, port, path) in [
            (
                "http://127.0.0.1:8080/a?b=%20#c",
                "127.0.0.1:8080",
                "127.0.0.1",
                8080,
                "/a?b=%20",
            ),
            ("HTTP://localhost", "localhost", "localhost", 80, "/"),
            (
                "localhost:3000?x",
                "localhost:3000",
                "localhost",
                3000,
                "/?x",
            ),
            ("127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1", 8080, "/"),
            ("a?u=ftp://b", "a", "a", 80, "/?u=ftp://b"),
            (":8080", "localhost:8080", "localhost", 8080, "/"),
            (":8080/a?b", "localhost:8080", "localhost", 8080, "/a?b"),
            ("http://[::1]:81/", "[::1]:81", "::1", 81, "/"),
            ("http://[::1]", "[::1]", "::1", 80, "/"),
            ("https://a.test/b", "a.test", "a.test", 443, "/b"),
            ("HTTPS://[::1]:8443", "[::1]:8443", "::1", 8443, "/"),
        ] {
            let expected = (authority.to_owned(), host.to_owned(), port, path.to_owned());
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    #[test]
    fn of_several_addresses_the_one_that_answers_is_loaded() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let ours = listener.local_addr().unwrap();
        let gone = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let other = gone.local_addr().unwrap();
        drop(gone);
        assert_eq!(answering(&[other, ours]), Some(ours));
        assert_eq!(answering(&[other]), Some(other));
        assert_eq!(answering(&[]), None);
    }

    #[test]
    fn what_is_no_url_is_said() {
        for text in [
            "",
            "http://",
            ":",
            "http://:80/",
            ":/a",
            "http://a:b/",
            "http://a:0/",
            "http://a:70000/",
            "http://[::1/",
            "http://[::1]x/",
            "https://",
            "ftp://a/",
            "http://me@a/",
        ] {
            assert!(Url::parse(text).is_err(), "{text:?} was taken");
        }
    }
}
