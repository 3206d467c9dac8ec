//! The response decoder: the same result however the input is split, no panic
//! whatever comes, and the same as hyper's client on the same bytes.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use hotlap::http::{Decoder, Head, ProtocolError, Sink, Step, exchange};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Debug, Default, PartialEq, Clone)]
struct Seen {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    reusable: bool,
    left: usize,
}

impl Sink for Seen {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
        for header in head.headers {
            self.headers
                .push((header.name.to_owned(), header.value.to_vec()));
        }
    }

    fn body(&mut self, piece: &[u8]) {
        self.body.extend_from_slice(piece);
    }
}

/// Decodes `pieces` and then the end of the connection.
fn decode(pieces: &[&[u8]]) -> Result<Seen, ProtocolError> {
    let total: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut decoder = Decoder::new(false);
    let mut seen = Seen::default();
    let mut used = 0;
    for piece in pieces {
        if let Step::Done(ending) = decoder.feed(piece, &mut seen)? {
            seen.reusable = ending.reusable;
            seen.left = total - used - ending.consumed;
            return Ok(seen);
        }
        used += piece.len();
    }
    seen.reusable = decoder.end()?.reusable;
    Ok(seen)
}

/// What comes over the wire, and whether it is a whole response.
const RESPONSES: &[(&[u8], bool)] = &[
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\ncontent-length: 5\r\n\r\nhello", true),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true),
    (b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", true),
    (b"HTTP/1.1 200 OK\nContent-Length: 1\n\nx", true),
    (b"HTTP/1.1 204 No Content\r\n\r\n", true),
    (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", true),
    (b"HTTP/1.1 500 Oh\r\nConnection: close\r\n\r\nto the end", true),
    (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", true),
    (b"HTTP/1.0 200 OK\r\n\r\nold", true),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", true),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n00A;x=\"y\"\r\n0123456789\r\n1\r\n!\r\n0\r\nX-T: 1\r\n\r\n", true),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", true),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nto the end", true),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", false),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", false),
    (b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", false),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello", false),
    (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n", false),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", false),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", false),
    (b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n", false),
    (b"HTTP/2.0 200 OK\r\n\r\n", false),
    (b"HTTP/1.1 200 OK\r\nContent-Le", false),
    (b"garbage", false),
    (b"", false),
];

#[test]
fn every_split_gives_the_same() {
    for (bytes, whole) in RESPONSES {
        let text = String::from_utf8_lossy(bytes);
        let at_once = decode(&[bytes]);
        assert_eq!(at_once.is_ok(), *whole, "{text}: {at_once:?}");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(
            decode(&single),
            at_once.clone().map(|seen| Seen { left: 0, ..seen }),
            "{text}"
        );
        for split in 0..=bytes.len() {
            let (a, b) = bytes.split_at(split);
            let parts = decode(&[a, b]);
            match (&parts, &at_once) {
                (Err(_), Err(_)) => {}
                _ => assert_eq!(parts, at_once, "{text} split at {split}"),
            }
        }
    }
}

#[test]
fn the_ends_of_connections_are_told_apart() {
    let error = |bytes: &[u8]| decode(&[bytes]).unwrap_err();
    assert_eq!(error(b""), ProtocolError::ClosedEarly);
    assert_eq!(
        error(b"HTTP/1.1 100 Continue\r\n\r\n"),
        ProtocolError::ClosedEarly
    );
    assert!(matches!(error(b"HTTP/1.1 200"), ProtocolError::BadHead(_)));
    assert!(matches!(
        error(b"HTTP/1.1 101 Switch\r\n\r\n"),
        ProtocolError::BadHead(_)
    ));
    assert_eq!(
        error(b"\r\nHTTP/1.1 200 OK\r\n\r\n"),
        ProtocolError::UnaskedBytes
    );
    assert_eq!(
        error(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"),
        ProtocolError::ShortBody
    );
    let two = decode(&[b"HTTP/1.1 204 A\r\n\r\nHTTP/1.1 204 B\r\n\r\n"]).unwrap();
    assert_eq!(two.left, 18);
}

#[test]
fn heads_are_limited() {
    let mut long = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    long.resize(70_000, b'x');
    for piece in [1, 4096, 70_000] {
        let pieces: Vec<&[u8]> = long.chunks(piece).collect();
        assert!(matches!(decode(&pieces), Err(ProtocolError::BadHead(_))));
    }
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(129));
    assert!(matches!(
        decode(&[many.as_bytes()]),
        Err(ProtocolError::BadHead(_))
    ));
    let interim = b"HTTP/1.1 100 C\r\n\r\n".repeat(40);
    assert!(matches!(
        decode(&[&interim]),
        Err(ProtocolError::BadHead(_))
    ));
}

/// Serves the bytes to one connection, then closes it.
async fn serve(bytes: &'static [u8]) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (mut peer, _) = listener.accept().await.unwrap();
    tokio::spawn(async move {
        let mut request = [0; 1024];
        let _ = peer.read(&mut request).await;
        let _ = peer.write_all(bytes).await;
        let _ = peer.shutdown().await;
        // Until the client closes too, so that nothing is reset.
        while peer.read(&mut request).await.is_ok_and(|size| size > 0) {}
    });
    stream
}

async fn by_hyper(bytes: &'static [u8]) -> Option<(u16, Vec<u8>)> {
    let io = TokioIo::new(serve(bytes).await);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.ok()?;
    tokio::spawn(connection);
    let request = hyper::Request::get("/")
        .header("host", "x")
        .body(String::new())
        .ok()?;
    let response = sender.send_request(request).await.ok()?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.ok()?;
    Some((status, body.to_bytes().to_vec()))
}

#[tokio::test]
async fn hyper_reads_the_same() {
    for (bytes, _) in RESPONSES {
        let mut stream = serve(bytes).await;
        let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        let ours = exchange(&mut stream, request, false, 1 << 20).await.ok();
        let ours = ours.map(|response| (response.status, response.wire));
        assert_eq!(
            ours,
            by_hyper(bytes).await,
            "{}",
            String::from_utf8_lossy(bytes)
        );
    }
}

proptest! {
    #[test]
    fn bytes_of_any_kind_never_panic(
        head in 0..RESPONSES.len(),
        cut in 0usize..200,
        noise in proptest::collection::vec(any::<u8>(), 0..200),
        size in 1usize..50,
    ) {
        let begin = RESPONSES[head].0;
        let mut bytes = begin[..cut.min(begin.len())].to_vec();
        bytes.extend(noise);
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        let _ = decode(&pieces);
    }

    #[test]
    fn chunked_bodies_come_out_whole(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..60), 0..10),
        size in 1usize..40,
    ) {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in &chunks {
            bytes.extend(format!("{:X}\r\n", chunk.len()).bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
        let seen = decode(&pieces).unwrap();
        prop_assert_eq!(seen.body, chunks.concat());
        prop_assert!(seen.reusable);
    }
}
