//! Figures that something beside the program has made, and whether the report says so.

use crate::kit::{Suite, without_python};

/// Every answer prints 64 KiB.
const PRINTS: &str = "\
import os, socket, threading
line = b'x' * 65535 + b'\\n'
def serve(k):
  k.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
  while k.recv(4096):
    left = line
    while left: left = left[os.write(1, left):]
    k.send(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', int(os.environ['PORT']))); s.listen(128)
while 1: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
";

#[test]
fn all_that_is_printed_is_counted_and_much_of_it_is_told() {
    if without_python() {
        return;
    }
    let outcome = Suite::new()
        .python("prints", PRINTS, "")
        .load("many", "requests = 400\nconnections = 2")
        .run()
        .exits(0);
    let trial = outcome.valid("prints");
    let load = trial.load.unwrap();
    // One request found it ready, one was checked whole, and one held against that.
    let answers = 3 + load.warmup_requests + load.counts.sent;
    let printed = trial.stops["server"].printed_bytes.unwrap();
    assert_eq!(printed, answers * 65_536, "{answers} answers");
    assert!(printed > hotlap::process::Launch::LOG_CAP);
    assert_eq!(
        outcome.csv("trials.csv")[0]["printed_bytes"],
        printed.to_string()
    );
    let markdown = outcome.markdown();
    assert!(markdown.contains("server printed up to "), "{markdown}");
}

#[test]
fn a_server_that_closes_what_was_to_be_kept_is_told() {
    let outcome = Suite::new()
        .fixture("closes", &crate::fixture::Behaviour::good().closing())
        .load("few", "requests = 300\nconnections = 2")
        .run()
        .exits(0);
    let load = outcome.valid("closes").load.unwrap();
    assert!(
        load.connections.reconnects * 20 >= load.counts.sent,
        "{load:?}"
    );
    let markdown = outcome.markdown();
    let told = "The server closes connections that were to be kept in 1 of 1 valid trial";
    assert!(markdown.contains(told), "{markdown}");
    assert!(
        !markdown.contains("which its figures include"),
        "once is enough: {markdown}"
    );
}
