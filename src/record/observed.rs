//! What could be seen of a server before it was loaded: its answer to the load's first request, and its processes. It
//! is kept so that two cells can be held against each other: a toggle that changes none of this may do nothing
//! at all. Two answers to the same request tell what an answer is from what merely varies.

use crate::ids::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Headers whose values differ by nature, or tell nothing that sizes do not tell: of them the name is kept.
const BY_NATURE: [&str; 17] = [
    "age",
    "cf-ray",
    "content-length",
    "date",
    "etag",
    "expires",
    "last-modified",
    "request-id",
    "server-timing",
    "set-cookie",
    "traceparent",
    "x-amzn-trace-id",
    "x-correlation-id",
    "x-request-id",
    "x-response-time",
    "x-runtime",
    "x-trace-id",
];
/// Longer values are kept as their hash.
const LONGEST_VALUE: usize = 200;

/// What was seen of a trial before its load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observed {
    /// The status.
    pub status: u16,
    /// Headers that were the same twice, by their names in lower case. Several of one name are joined.
    pub headers: BTreeMap<String, String>,
    /// The names of headers that were there and whose values say nothing: they differed between the two
    /// answers, or do so by nature.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub varying: BTreeSet<String>,
    /// The size of the body as it came.
    pub wire_bytes: u64,
    /// The size of the body without its content-encoding, where that could be taken off.
    pub decoded_bytes: Option<u64>,
    /// SHA-256 of the decoded body, hexadecimal; none where the two answers differed or could not be decoded.
    pub body_sha256: Option<String>,
    /// The processes that serve, where they could be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serving: Option<Serving>,
}

/// The processes that serve.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serving {
    /// How many there are once the server is ready, in all of its trees.
    pub processes: u32,
    /// What became of the variables that the suite sets; none where the environment could not be read.
    pub environment: Option<Arrival>,
    /// The words of the command, by their place from 0, that stand on the command line of no process that serves; none
    /// where no command line could be read.
    pub words_missing: Option<Vec<usize>>,
    /// The same where two trials of one session started what serves with the same program, arguments, environment, folder
    /// and limits, but for the port. Its key is random and forgotten, so that nothing can be told from it.
    pub mark: Option<String>,
}

/// Which variables of the suite's reached a process that serves. Names only: a value may be a secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// There with their value, or not there where the suite takes them away.
    pub arrived: BTreeSet<String>,
    /// Not there, or still there where the suite takes them away.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub missing: BTreeSet<String>,
    /// There with another value.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub changed: BTreeSet<String>,
}

/// An answer as it is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The headers as they came.
    pub headers: &'a [(String, Vec<u8>)],
    /// The body as it came.
    pub wire: &'a [u8],
    /// The body without its content-encoding.
    pub decoded: Option<&'a [u8]>,
}

impl Observed {
    /// What two answers to the same request have in common. `port` is different in each trial and no part of an
    /// answer where it stands behind a colon; a header with one of the `secrets` in it is known by its name alone.
    /// None where the answers differ in their status, so that there is no usual one.
    pub fn new(
        first: Answer<'_>,
        second: Answer<'_>,
        port: u16,
        secrets: &[&str],
        serving: Option<Serving>,
    ) -> Option<Self> {
        if first.status != second.status {
            return None;
        }
        let address = format!(":{port}");
        let (mut headers, again) = (joined(first.headers), joined(second.headers));
        let names: BTreeSet<String> = headers.keys().chain(again.keys()).cloned().collect();
        let tells = |name: &String| {
            let value = headers
                .get(name)
                .filter(|value| again.get(name) == Some(value));
            !BY_NATURE.contains(&name.as_str())
                && value.is_some_and(|value| !secrets.iter().any(|secret| value.contains(secret)))
        };
        let varying: BTreeSet<String> = names.into_iter().filter(|name| !tells(name)).collect();
        headers.retain(|name, _| !varying.contains(name));
        for value in headers.values_mut() {
            *value = value.replace(&address, ":{{ port }}");
            if value.len() > LONGEST_VALUE {
                *value = format!("sha256 {}", sha256(value.as_bytes()));
            }
        }
        let body = first.decoded.filter(|body| second.decoded == Some(body));
        Some(Self {
            status: first.status,
            headers,
            varying,
            wire_bytes: first.wire.len() as u64,
            decoded_bytes: first.decoded.map(|body| body.len() as u64),
            body_sha256: body.map(|body| sha256(&without(body, address.as_bytes()))),
            serving,
        })
    }
}

/// Headers by their names in lower case, values of one name joined in their order.
fn joined(headers: &[(String, Vec<u8>)]) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.trim_ascii());
        all.entry(name.to_ascii_lowercase())
            .and_modify(|known| {
                known.push_str(", ");
                known.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    all
}

/// Whether a colon and a number behind this text are the port of an address, and not some other number that happens to be the same.
fn names_a_port(before: &[u8]) -> bool {
    let Some(last) = before.last() else {
        return true;
    };
    if last.is_ascii_alphanumeric() || last.is_ascii_whitespace() || b".]-".contains(last) {
        return true;
    }
    let quoted = |byte: &u8| b"\"'".contains(byte);
    let end = before.iter().rposition(|byte| !quoted(byte));
    let word = &before[..end.map_or(0, |end| end + 1)];
    word.len() >= 4 && word[word.len() - 4..].eq_ignore_ascii_case(b"port")
}

/// A text without each place where `part`, a colon and a port, stands as an address has it and no further digit follows.
fn without(text: &[u8], part: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        match rest.strip_prefix(part) {
            Some(behind)
                if !behind.first().is_some_and(u8::is_ascii_digit) && names_a_port(&out) =>
            {
                rest = behind;
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}

fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_happens_to_be_the_port_is_none() {
        let cut = |text: &str| String::from_utf8(without(text.as_bytes(), b":8080")).unwrap();
        for (text, left) in [
            ("http://localhost:8080/a", "http://localhost/a"),
            ("[::1]:8080 and :8080", "[::1] and "),
            (r#"{"port":8080}"#, r#"{"port"}"#),
            (r#"{"balance":8080}"#, r#"{"balance":8080}"#),
            ("host:80801", "host:80801"),
        ] {
            assert_eq!(cut(text), left);
        }
    }

    fn headers(list: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
        list.iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
            .collect()
    }

    fn answer<'a>(headers: &'a [(String, Vec<u8>)], body: &'a [u8]) -> Answer<'a> {
        Answer {
            status: 200,
            headers,
            wire: body,
            decoded: Some(body),
        }
    }

    fn observed(first: &[(&str, &str)], second: &[(&str, &str)], bodies: [&str; 2]) -> Observed {
        let (first, second) = (headers(first), headers(second));
        Observed::new(
            answer(&first, bodies[0].as_bytes()),
            answer(&second, bodies[1].as_bytes()),
            8080,
            &["s3cret"],
            None,
        )
        .unwrap()
    }

    #[test]
    fn what_varies_between_two_answers_is_known_by_name_only() {
        let seen = observed(
            &[
                ("Content-Type", "text/plain"),
                ("X-Nonce", "1"),
                ("Date", "same"),
                ("Vary", "a"),
                ("vary", "b"),
                ("X-Token", "a s3cret"),
                ("X-Once", "1"),
            ],
            &[
                ("content-type", "text/plain"),
                ("x-nonce", "2"),
                ("date", "same"),
                ("vary", "a, b"),
                ("x-token", "a s3cret"),
            ],
            ["ok", "ok"],
        );
        let told: Vec<(&str, &str)> = seen
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(told, [("content-type", "text/plain"), ("vary", "a, b")]);
        let names: Vec<&str> = seen.varying.iter().map(String::as_str).collect();
        assert_eq!(names, ["date", "x-nonce", "x-once", "x-token"]);
        assert!(seen.body_sha256.is_some());
        assert!(!serde_json::to_string(&seen).unwrap().contains("s3cret"));
    }

    #[test]
    fn a_body_that_varies_has_no_hash() {
        let seen = observed(&[], &[], ["1", "2"]);
        assert_eq!((seen.body_sha256, seen.wire_bytes), (None, 1));
    }

    #[test]
    fn a_port_is_no_part_of_an_answer() {
        let at = |port: u16| {
            let body = format!("http://localhost:{port}/ or :80801");
            let head = headers(&[("location", &format!("http://h:{port}/"))]);
            let whole = answer(&head, body.as_bytes());
            Observed::new(whole, whole, port, &[], None).unwrap()
        };
        assert_eq!(at(8080), at(9090));
    }

    #[test]
    fn another_status_the_second_time_is_no_observation() {
        let whole = answer(&[], b"ok");
        let failed = Answer {
            status: 503,
            ..whole
        };
        assert_eq!(Observed::new(whole, failed, 1, &[], None), None);
    }
}
