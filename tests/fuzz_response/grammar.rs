//! Responses as servers write them, and as they should not: every part is right, odd or wrong on its own.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

fn words(choice: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    select(choice).prop_map(|word| word.as_bytes().to_vec())
}

fn end_of_line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![30 => words(&["\r\n"]), 1 => words(&["\n", "\r", " \r\n", "\r\r\n"])]
}

fn status_line() -> impl Strategy<Value = Vec<u8>> {
    let version = prop_oneof![
        12 => words(&["HTTP/1.1"]),
        3 => words(&["HTTP/1.0"]),
        1 => words(&["HTTP/1.2", "HTTP/2.0", "http/1.1", "\r\nHTTP/1.1", ""]),
    ];
    let status = prop_oneof![
        20 => words(&[" 200 OK", " 200", " 200 ", " 404 Not Found", " 500 Oh", " 999 X"]),
        6 => words(&[" 204 No Content", " 304 Not Modified"]),
        1 => words(&["  200 OK", " 99 Low", " 1000 High", " 101 Switch", " 2xx", "\t200", " 200 \u{e4}"]),
    ];
    (version, status, end_of_line())
        .prop_map(|(version, status, end)| [version, status, end].concat())
}

fn interim() -> impl Strategy<Value = Vec<u8>> {
    words(&[
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n",
        "HTTP/1.1 102\r\nContent-Length: 9\r\nConnection: close\r\n\r\n",
        "HTTP/1.0 199 Old\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
}

fn header() -> impl Strategy<Value = Vec<u8>> {
    let name = prop_oneof![
        6 => words(&["Content-Length", "content-LENGTH"]),
        6 => words(&["Transfer-Encoding", "transfer-encoding"]),
        4 => words(&["Connection"]),
        4 => words(&["X", "Content-Encoding", "Date", "Trailer", "!#$%&'*+-.^_`|~"]),
        1 => words(&["", " X", "X ", "X\tY", "(X)", "\u{e4}"]),
    ];
    let colon = prop_oneof![12 => words(&[": ", ":"]), 2 => words(&[":\t ", ":  "]), 1 => words(&[" :", ""])];
    let value = prop_oneof![
        8 => words(&["0", "1", "2", "5", "5, 5", "05", "20"]),
        8 => words(&["chunked", "Chunked", "gzip, chunked", "identity", "chunked, gzip", "chunked, chunked"]),
        5 => words(&["close", "keep-alive", "Keep-Alive, x", "x, CLOSE", "upgrade"]),
        3 => words(&["", "gzip", "a\tb", "one\r\n two", "one \t"]),
        1 => words(&["-1", "+5", "0x5", "5 5", "5,", ",5", "5, 6", "18446744073709551616", "a\u{1}b", "\u{e4}"]),
    ];
    (name, colon, value, end_of_line())
        .prop_map(|(name, colon, value, end)| [name, colon, value, end].concat())
}

fn chunk() -> impl Strategy<Value = Vec<u8>> {
    let extension = prop_oneof![
        8 => words(&[""]),
        2 => words(&[";a", ";a=b", ";a=\"b;c\"", " ", "\t;a", ";", ";\u{e4}\t"]),
        1 => words(&["x", " 1", ";a\nb", ";a\rb", "\n"]),
    ];
    let zeros = prop_oneof![9 => words(&[""]), 1 => words(&["0", "0000000000000000000"])];
    let parts = (
        zeros,
        vec(any::<u8>(), 1..40),
        extension,
        end_of_line(),
        end_of_line(),
    );
    parts.prop_map(|(zeros, data, extension, one, other)| {
        let size = format!("{:x}", data.len()).into_bytes();
        [zeros, size, extension, one, data, other].concat()
    })
}

fn trailer() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => words(&["X-T: 1\r\n", "Y:\r\n", "Content-Length: 9\r\n", "Z: \u{e4}\t\r\n"]),
        1 => words(&[": x\r\n", "no colon\r\n", "X: a\nY: b\r\n", "X: \u{1}\r\n", " folded\r\n", "X : 1\r\n"]),
    ]
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let chunked = (vec(chunk(), 0..4), vec(trailer(), 0..3)).prop_map(|(chunks, trailers)| {
        [
            chunks.concat(),
            b"0\r\n".to_vec(),
            trailers.concat(),
            b"\r\n".to_vec(),
        ]
        .concat()
    });
    prop_oneof![
        3 => words(&["", "h", "hi", "hello", "hello hello hello he"]),
        1 => vec(any::<u8>(), 0..30),
        4 => chunked,
    ]
}

/// The bytes of a response, perhaps cut off and perhaps with something behind it.
pub(crate) fn response() -> impl Strategy<Value = Vec<u8>> {
    let before = vec(interim(), 0..3);
    let behind = prop_oneof![6 => words(&[""]), 1 => words(&["x", "\r\n", "HTTP/1.1 204\r\n\r\n"])];
    let cut = prop_oneof![6 => Just(usize::MAX), 1 => 0..300usize];
    let head = (before, status_line(), vec(header(), 0..5), end_of_line());
    (head, body(), behind, cut).prop_map(|((before, status, headers, end), body, behind, cut)| {
        let mut all = [before.concat(), status, headers.concat(), end, body, behind].concat();
        all.truncate(cut);
        all
    })
}
