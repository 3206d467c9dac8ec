//! The null server: the same answer to every request, for as little CPU as a
//! plain socket loop needs. It stands for a server that is never the bottleneck.
//! A load generator sends the same head over and over, so a head is parsed once and
//! then only compared.

use std::ops::ControlFlow;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const REFUSAL: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

/// Room for heads that are not complete yet; a longer head is refused.
const LONGEST_HEAD: usize = 64 * 1024;

/// Most header fields of a request.
const MOST_FIELDS: usize = 100;

/// Answers requests until the client closes or asks to.
pub(super) async fn serve(mut stream: TcpStream) {
    let mut buffer = vec![0; LONGEST_HEAD];
    let mut filled = 0;
    let mut requests = Requests::default();
    let mut answers = Vec::new();
    loop {
        let read = match stream.read(&mut buffer[filled..]).await {
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        filled += read;
        answers.clear();
        let (used, mut flow) = requests.take(&buffer[..filled], &mut answers);
        buffer.copy_within(used..filled, 0);
        filled -= used;
        if filled == buffer.len() {
            answers.extend_from_slice(REFUSAL);
            flow = ControlFlow::Break(());
        }
        if !answers.is_empty() && stream.write_all(&answers).await.is_err() {
            return;
        }
        if flow.is_break() {
            return;
        }
    }
}

/// What a request's head means for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    length: usize,
    body: u64,
    last: bool,
}

/// Requests of one connection, found in what was read.
#[derive(Default)]
struct Requests {
    /// The head before, and what it meant.
    known: Option<(Vec<u8>, Head)>,
    /// Bytes of a request's body that are still to come.
    body_left: u64,
}

impl Requests {
    /// Adds an answer for every complete head in `bytes`. Returns how many bytes
    /// are done with, and whether the connection goes on.
    fn take(&mut self, bytes: &[u8], answers: &mut Vec<u8>) -> (usize, ControlFlow<()>) {
        let mut used = 0;
        loop {
            let skipped = self.body_left.min((bytes.len() - used) as u64);
            self.body_left -= skipped;
            used += skipped as usize;
            let rest = &bytes[used..];
            if rest.is_empty() {
                return (used, ControlFlow::Continue(()));
            }
            match self.head(rest) {
                Ok(None) => return (used, ControlFlow::Continue(())),
                Ok(Some(head)) => {
                    answers.extend_from_slice(if head.last { LAST_ANSWER } else { ANSWER });
                    used += head.length;
                    self.body_left = head.body;
                    if head.last {
                        return (used, ControlFlow::Break(()));
                    }
                }
                Err(()) => {
                    answers.extend_from_slice(REFUSAL);
                    return (bytes.len(), ControlFlow::Break(()));
                }
            }
        }
    }

    /// The head that `bytes` begin with, if it is complete.
    fn head(&mut self, bytes: &[u8]) -> Result<Option<Head>, ()> {
        if let Some((known, head)) = &self.known
            && bytes.starts_with(known)
        {
            return Ok(Some(*head));
        }
        let Some(head) = parse(bytes)? else {
            return Ok(None);
        };
        self.known = Some((bytes[..head.length].to_vec(), head));
        Ok(Some(head))
    }
}

fn parse(bytes: &[u8]) -> Result<Option<Head>, ()> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let httparse::Status::Complete(length) = request.parse(bytes).map_err(drop)? else {
        return Ok(None);
    };
    let mut head = Head {
        length,
        body: 0,
        last: request.version == Some(0),
    };
    for field in request.headers.iter() {
        let value = str::from_utf8(field.value).map_err(drop)?;
        if field.name.eq_ignore_ascii_case("content-length") {
            head.body = value.trim().parse().map_err(drop)?;
        } else if field.name.eq_ignore_ascii_case("connection") {
            head.last |= names(value, "close");
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            // Chunks are not followed: the answer is right, the next request would not be.
            head.last = true;
        }
    }
    Ok(Some(head))
}

fn names(list: &str, option: &str) -> bool {
    list.split(',')
        .any(|one| one.trim().eq_ignore_ascii_case(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(whole: &[u8], cut: usize) -> (usize, bool) {
        let mut requests = Requests::default();
        let mut out = Vec::new();
        let mut pending = Vec::new();
        let mut open = true;
        for piece in [&whole[..cut], &whole[cut..]] {
            pending.extend_from_slice(piece);
            let (used, flow) = requests.take(&pending, &mut out);
            pending.drain(..used);
            open &= flow.is_continue();
            if !open {
                break;
            }
        }
        let count = out.windows(6).filter(|part| *part == b"\r\n\r\nok").count();
        (count, open)
    }

    #[test]
    fn every_request_gets_one_answer_however_it_is_cut() {
        let whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\
            POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n\r\n\r\nGET \
            GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for cut in 0..=whole.len() {
            assert_eq!(answers(whole, cut), (3, true), "cut at {cut}");
        }
    }

    #[test]
    fn a_client_that_asks_for_it_is_closed() {
        for ending in [
            "GET / HTTP/1.1\r\nConnection: keep-alive, Close\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
        ] {
            let whole = format!("{ending}GET / HTTP/1.1\r\n\r\n");
            assert_eq!(answers(whole.as_bytes(), 0), (1, false), "{ending}");
        }
    }

    #[test]
    fn what_is_not_http_is_refused() {
        let mut out = Vec::new();
        let (_, flow) = Requests::default().take(b"\x16\x03\x01\x02\x00\x01", &mut out);
        assert!(flow.is_break());
        assert_eq!(out, REFUSAL);
    }
}
