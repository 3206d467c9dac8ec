//! Answers of every kind: how they are framed, what status they have, when they come, and whether
//! a toggle that is published was there at all.

use crate::fixture::{Behaviour, OK, status};
use crate::kit::{Outcome, Suite, skipped, without_node, without_python};
use hotlap::record::{ErrorKind, Load, Step};
use std::process::Command;
use std::time::Duration;

const FIFTY: &str = "requests = 50\nwarmup = '0s'";

fn load(outcome: &Outcome, server: &str) -> Load {
    outcome.valid(server).load.unwrap()
}

#[test]
fn a_body_that_ends_with_its_connection_is_whole() {
    let bare = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello";
    let old = "HTTP/1.0 200 OK\r\n\r\nhello";
    let outcome = Suite::new()
        .fixture("closing", &Behaviour::answers(bare).closing())
        .fixture("old", &Behaviour::answers(old).closing())
        .load("few", FIFTY)
        .run()
        .exits(0);
    for server in ["closing", "old"] {
        let load = load(&outcome, server);
        assert!(load.connecting_ns.unwrap() > 0);
        assert_eq!(load.counts.succeeded, 50);
        assert_eq!(load.bytes.body, Some(250));
        // The connections that were opened first serve the first requests.
        assert_eq!(load.connections.reconnects, 48, "{:?}", load.connections);
    }
    assert!(
        outcome.markdown().contains("closes connections"),
        "{}",
        outcome.markdown()
    );
}

#[test]
fn connections_that_carry_one_request_each_agree_with_their_figures() {
    let outcome = Suite::new()
        .fixture(
            "closes",
            &Behaviour::answers("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello").closing(),
        )
        .fixture("kept", &Behaviour::good())
        .load("steady", "duration = '200ms'\nconnections = 4")
        .load(
            "single",
            "duration = '200ms'\nconnections = 4\nkeep_alive = false",
        )
        .run()
        .exits(0);
    for cell in ["closes@steady", "closes@single", "kept@single"] {
        let found = outcome
            .trials()
            .into_iter()
            .find(|trial| trial.trial.cell.names() == cell)
            .unwrap();
        let load = found.load.unwrap();
        // Connections were opened and closed all the time, and that time is accounted for.
        assert!(
            load.connections.opened > load.counts.succeeded / 2,
            "{cell}: {load:?}"
        );
        assert!(load.connecting_ns.unwrap() > 0, "{cell}");
    }
}

#[test]
fn chunks_and_trailers_are_framing() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n5;x=y\r\nworld\r\n0\r\nX-T: 1\r\n\r\n";
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhelloworld";
    let outcome = Suite::new()
        .fixture("chunked", &Behaviour::answers(chunked))
        .fixture("early", &Behaviour::answers(early))
        .load(
            "few",
            &format!("{FIFTY}\nexpect = {{ body = 'helloworld' }}"),
        )
        .run()
        .exits(0);
    for server in ["chunked", "early"] {
        let load = load(&outcome, server);
        assert_eq!(load.counts.succeeded, 50);
        assert_eq!(load.bytes.body_decoded, Some(10));
        assert_eq!(load.connections.reconnects, 0);
    }
}

#[test]
fn the_servers_own_chunks_too() {
    if without_node() {
        return;
    }
    let program = "require('http').createServer((q, r) => { r.setHeader('Trailer', 'X-T'); r.write('hello'); setImmediate(() => { r.write('world'); r.addTrailers({'X-T': '1'}); r.end() }) }).listen(process.env.PORT)";
    let outcome = Suite::new()
        .node("chunked", program, "")
        .load("few", FIFTY)
        .run()
        .exits(0);
    let load = load(&outcome, "chunked");
    assert_eq!(
        (load.bytes.body, load.connections.reconnects),
        (Some(500), 0)
    );
}

/// A server whose answers break after the first ones, so that the load meets it and not the check.
fn later(bytes: &str) -> Behaviour {
    Behaviour::good().from(21, bytes).closing()
}

#[test]
fn broken_framing_is_an_error_of_its_kind() {
    let cases = [
        (
            "short",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nxxxxxxxxxx",
            ErrorKind::ShortBody,
        ),
        (
            "cut",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            ErrorKind::ShortBody,
        ),
        (
            "chunk",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello",
            ErrorKind::BadChunk,
        ),
        ("head", "SSH-2.0-OpenSSH_9.2\r\n\r\n", ErrorKind::BadHead),
        (
            "body",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad",
            ErrorKind::Body,
        ),
        (
            "header",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Debug: 1\r\n\r\nok",
            ErrorKind::Header,
        ),
    ];
    let mut suite = Suite::new();
    for (name, bytes, _) in cases {
        suite = suite.fixture(name, &later(bytes));
    }
    let outcome = suite
        .load(
            "few",
            &format!("{FIFTY}\nexpect = {{ body = 'ok', no_headers = ['x-debug'] }}"),
        )
        .run()
        .exits(1);
    for (name, _, kind) in cases {
        let (trial, reasons) = outcome.invalid(name);
        let load = trial.load.unwrap();
        // Three requests came before the load.
        assert_eq!(load.counts.succeeded, 17, "{name}: {load:?}");
        assert_eq!(
            load.errors.get(&kind),
            Some(&33),
            "{name}: {:?}",
            load.errors
        );
        assert!(reasons.contains(kind.words()), "{reasons}");
        assert_eq!(load.service.unwrap().count, 17);
    }
}

#[test]
fn a_close_without_an_answer_is_an_error() {
    // What begins with an empty line and ends is no response at all.
    let outcome = Suite::new()
        .fixture("nothing", &later("\r\n"))
        .load("few", FIFTY)
        .run()
        .exits(1);
    let (trial, _) = outcome.invalid("nothing");
    assert_eq!(trial.load.unwrap().counts.failed, 33);
}

#[test]
fn broken_answers_from_the_start_fail_the_check() {
    let short = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n50 bytes are not a hundred";
    let outcome = Suite::new()
        .fixture_with(
            "short",
            &Behaviour::answers(short).closing(),
            "ready = { timeout = '600ms' }",
        )
        .run()
        .exits(1);
    let (trial, reason, _) = outcome.failed("short", Step::Ready);
    assert!(reason.contains("before the end of the body"), "{reason}");
    assert!(trial.load.is_none());
}

#[test]
fn ports_that_run_out_are_ours() {
    let prepare = "ip link set lo up && echo 40000 40029 > /proc/sys/net/ipv4/ip_local_port_range && exec \"$@\"";
    let under = ["unshare", "-r", "-n", "sh", "-c", prepare, "sh"];
    let works = Command::new(under[0])
        .args(&under[1..])
        .arg("true")
        .output();
    if !works.is_ok_and(|output| output.status.success())
        && skipped("no network namespace with a port range of its own can be made here")
    {
        return;
    }
    // The runner needs its guard's and the servers' ports below that range.
    let outcome = Suite::new()
        .under(&under)
        .fixture(
            "closing",
            &Behaviour::answers("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello").closing(),
        )
        .load("many", "connections = 64\nrequests = 300\nwarmup = '0s'")
        .run()
        .exits(1);
    let (trial, reasons) = outcome.invalid("closing");
    assert!(reasons.contains("no local port left"), "{reasons}");
    let errors = trial.load.unwrap().errors;
    assert!(errors[&ErrorKind::NoLocalPort] > 0, "{errors:?}");
}

#[test]
fn waiting_to_connect_is_no_latency() {
    if without_python() {
        return;
    }
    let slow = "\
import os, socket, time
s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', int(os.environ['PORT']))); s.listen(1)
while 1:
  time.sleep(.02); k, _ = s.accept(); k.recv(4096); k.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok'); k.close()
";
    let outcome = Suite::new()
        .setting("max_errors", "'100%'")
        .python("slow", slow, "")
        .load("burst", "connections = 16\nrequests = 16\nwarmup = '0s'")
        .run();
    let load = outcome.trial("slow").load.unwrap();
    assert!(load.connect.unwrap().max_ns.unwrap() >= 950_000_000);
    assert!(
        outcome.markdown().contains("lost SYN"),
        "{}",
        outcome.markdown()
    );
}

#[test]
fn another_status_than_expected_is_no_figure() {
    let mut suite = Suite::new();
    let codes = [404, 500, 302, 204];
    for code in codes {
        suite = suite.fixture(
            &format!("s{code}"),
            &Behaviour::answers(&status(code).replace(
                "Content-Length: 2\r\n\r\nno",
                if code == 204 {
                    "\r\n"
                } else {
                    "Content-Length: 2\r\n\r\nno"
                },
            )),
        );
    }
    let outcome = suite.run().exits(1);
    for code in codes {
        let (trial, reason, _) = outcome.failed(&format!("s{code}"), Step::Verify);
        assert!(
            reason.contains(&format!(
                "100 % of answers (10 of 10) were {code}, expected 200"
            )),
            "{reason}"
        );
        assert!(trial.load.is_none());
        let cell = outcome.cell(&format!("s{code}"));
        assert!(cell["metrics"]["requests_per_second"]["median"].is_null());
        assert_eq!(cell["state"], "failed");
    }
}

#[test]
fn an_expected_error_page_is_a_success() {
    let outcome = Suite::new()
        .fixture("missing", &Behaviour::answers(&status(404)))
        .load("few", &format!("{FIFTY}\nexpect = {{ status = 404 }}"))
        .run()
        .exits(0);
    assert_eq!(load(&outcome, "missing").statuses, [(404, 50)].into());
}

#[test]
fn answers_that_turn_bad_are_counted_apart() {
    let outcome = Suite::new()
        .fixture("s500", &Behaviour::good().from(302, &status(500)))
        .fixture("s429", &Behaviour::good().from(302, &status(429)))
        .fixture("good", &Behaviour::good())
        .load("many", "requests = 600\nwarmup = '0s'")
        .run()
        .exits(1);
    for code in [500, 429] {
        let (trial, reasons) = outcome.invalid(&format!("s{code}"));
        let load = trial.load.unwrap();
        // Readiness and the two looks at an answer took three of the good ones.
        assert_eq!(load.statuses, [(200, 298), (code, 302)].into());
        assert_eq!(load.counts.succeeded, 298);
        assert_eq!(load.errors, [(ErrorKind::Status, 302)].into());
        assert_eq!(load.service.unwrap().count, 298);
        assert_eq!(load.service_failed.unwrap().count, 302);
        assert!(
            reasons.contains(&format!("were {code}, expected 200")),
            "{reasons}"
        );
        assert!(reasons.contains("the first error came"), "{reasons}");
        assert!(reasons.contains("the limit is 0.1 %"), "{reasons}");
    }
    outcome.valid("good");
    for row in outcome.csv("summary.csv") {
        let rate = &row["requests_per_second_median"];
        assert_eq!(rate.is_empty(), row["server"] != "good", "{row:?}");
    }
}

#[test]
fn rare_errors_within_the_limit_are_shown() {
    let outcome = Suite::new()
        .setting("max_errors", "'1%'")
        .fixture("rare", &Behaviour::good().every(500, &status(503)))
        .fixture("good", &Behaviour::good())
        .server("absent", &["no-such-program-anywhere"], "")
        .load("many", "requests = 998\nwarmup = '0s'")
        .run()
        .exits(1);
    let load = load(&outcome, "rare");
    assert_eq!((load.counts.succeeded, load.counts.failed), (996, 2));
    assert_eq!(outcome.cell("rare")["errors"]["status"], 2);
    let markdown = outcome.markdown();
    assert!(markdown.contains("unexpected status"), "{markdown}");
    let rows: Vec<&str> = markdown
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    let at = |name: &str| {
        rows.iter()
            .position(|row| row.contains(name))
            .unwrap_or_else(|| panic!("{markdown}"))
    };
    let errors = rows[at("rare")]
        .trim_end_matches([' ', '|'])
        .rsplit('|')
        .next()
        .unwrap();
    assert!(errors.trim().starts_with('2'), "{markdown}");
    assert!(at("absent") > at("good"), "{markdown}");
}

#[test]
fn requests_that_are_never_answered_time_out_and_are_not_lost() {
    if without_node() {
        return;
    }
    let program = "let n = 0; require('http').createServer((q, r) => { if (++n % 400) r.end('ok') }).listen(process.env.PORT)";
    let outcome = Suite::new()
        .setting("max_errors", "'1%'")
        .node("forgets", program, "")
        .load(
            "many",
            "requests = 1600\nwarmup = '0s'\ntimeout = '300ms'\nconnections = 4",
        )
        .run()
        .exits(0);
    let load = load(&outcome, "forgets");
    assert_eq!(load.counts.timed_out, 4, "{:?}", load.counts);
    assert_eq!(load.errors, [(ErrorKind::Timeout, 4)].into());
    assert_eq!(load.counts.succeeded, 1596);
    assert!(
        outcome.markdown().contains("timed out"),
        "{}",
        outcome.markdown()
    );
    let row = &outcome.csv("trials.csv")[0];
    assert_eq!(
        (
            row["timed_out_count"].as_str(),
            row["error_timeout_count"].as_str()
        ),
        ("4", "4")
    );
}

#[test]
fn what_is_in_flight_at_the_end_is_waited_for_and_counted() {
    let outcome = Suite::new()
        .setting("max_errors", "'100%'")
        .fixture(
            "slow",
            &Behaviour::good()
                .every(50, "")
                .taking(Duration::from_millis(1)),
        )
        .fixture(
            "late",
            &Behaviour::good().taking(Duration::from_millis(300)),
        )
        .load(
            "short",
            "duration = '200ms'\nconnections = 4\nwarmup = '0s'\ntimeout = '700ms'",
        )
        .run();
    let slow = outcome.trial("slow").load.unwrap();
    assert!(
        slow.counts.timed_out + slow.counts.unfinished > 0,
        "{:?}",
        slow.counts
    );
    assert_eq!(slow.unfinished_ages_ns.len() as u64, slow.counts.unfinished);
    let late = outcome.trial("late").load.unwrap();
    assert_eq!(
        (late.counts.sent, late.counts.succeeded),
        (4, 4),
        "{:?}",
        late.counts
    );
    // A histogram has three digits.
    assert!(late.service.unwrap().min_ns.unwrap() >= 299_000_000);
}

#[test]
fn forty_milliseconds_of_delayed_acknowledgement_are_told() {
    if without_python() {
        return;
    }
    let nagle = "\
import os, socket, threading
def h(k):
  while 1:
    if not k.recv(4096): return
    k.send(b'HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\n'); k.send(b'he'); k.send(b'llo')
s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', int(os.environ['PORT']))); s.listen(128)
while 1: threading.Thread(target=h, args=(s.accept()[0],), daemon=True).start()
";
    let outcome = Suite::new()
        .python("nagle", nagle, "")
        .load("few", "requests = 160\nwarmup = '900ms'\nconnections = 8")
        .run()
        .exits(0);
    let live = load(&outcome, "nagle").service.unwrap().load().unwrap();
    let band = 38_000_000..48_000_000;
    // A tenth may lie on either side: quick acknowledgements, and what a busy machine adds.
    if band.contains(&live.value_at_quantile(0.1)) && band.contains(&live.value_at_quantile(0.9)) {
        assert!(
            outcome.markdown().contains("delayed acknowledgement"),
            "{}",
            outcome.markdown()
        );
    } else {
        skipped("acknowledgements were not delayed by about 40 ms on this machine");
    }
}

const GZIP: &str = "const z = require('zlib'), b = Buffer.alloc(20000, 'a'); require('http').createServer((q, r) => { if (/gzip/.test(q.headers['accept-encoding'] || '')) { r.setHeader('Content-Encoding', 'gzip'); r.end(z.gzipSync(b)) } else r.end(b) }).listen(process.env.PORT)";
const ZIP_TOGGLE: &str = "\
[toggles.zip]
values.off = { expect.no_headers = ['content-encoding'] }
[toggles.zip.values.on]
headers.accept-encoding = 'gzip'
expect.headers.content-encoding = 'gzip'
";

#[test]
fn compression_is_asked_for_and_asserted() {
    if without_node() {
        return;
    }
    let outcome = Suite::new()
        .node("asks", GZIP, "")
        .node(
            "always",
            &GZIP.replace("/gzip/.test(q.headers['accept-encoding'] || '')", "true"),
            "",
        )
        .node(
            "never",
            &GZIP.replace("/gzip/.test(q.headers['accept-encoding'] || '')", "false"),
            "",
        )
        .toml(ZIP_TOGGLE)
        .load(
            "few",
            "requests = 20\nwarmup = '0s'\nexpect = { min_size = '20000B' }",
        )
        .run()
        .exits(1);
    let bytes = |names: &str| load(&outcome, names).bytes;
    let (on, off) = (bytes("asks/zip=on"), bytes("asks/zip=off"));
    assert_eq!(
        (off.body_wire, off.body_decoded),
        (Some(20_000), Some(20_000))
    );
    assert_eq!(on.body_decoded, Some(20_000));
    assert!(on.body_wire.unwrap() < 200, "{on:?}");
    assert_eq!(on.body, Some(20 * on.body_wire.unwrap()));
    let (_, reason, _) = outcome.failed("always/zip=off", Step::Verify);
    assert!(reason.contains("content-encoding"), "{reason}");
    let (_, reason, _) = outcome.failed("never/zip=on", Step::Verify);
    assert!(reason.contains("content-encoding"), "{reason}");
}

#[test]
fn the_path_goes_out_byte_for_byte() {
    let path = "/a%2Fb/%E2%82%AC?x=%3Ca%3E&y=1%7C2&z=a+b*;c,d";
    let echo = "HTTP/1.1 200 OK\r\nContent-Length: LENGTH\r\n\r\nTARGET";
    let outcome = Suite::new()
        .fixture("echo", &Behaviour::answers(echo))
        .load(
            "few",
            &format!("{FIFTY}\npath = '{path}'\nexpect = {{ body = '{path}' }}"),
        )
        .run()
        .exits(0);
    assert_eq!(load(&outcome, "echo").counts.succeeded, 50);
    for bad in ["/a b", "/€", "no-slash"] {
        let outcome = Suite::new()
            .fixture("echo", &Behaviour::answers(OK))
            .load("few", &format!("path = '{bad}'"))
            .run()
            .exits(2);
        assert!(outcome.stderr.contains("case.toml:"), "{}", outcome.stderr);
        assert!(outcome.suite.run_folder().is_none());
    }
}

/// Reads every tenth request of a connection, and drops it with the connection.
const FORGETFUL: &str = "require('http').createServer((q, r) => { q.resume(); const s = q.socket; s.n = (s.n || 0) + 1; \
    s.n % 10 ? r.end('hello') : s.destroy() }).listen(process.env.PORT, '127.0.0.1')";

#[test]
fn a_server_that_drops_requests_is_told_and_a_post_that_it_dropped_has_failed() {
    if without_node() {
        return;
    }
    let few = "connections = 2\nrequests = 300\n";
    let outcome = Suite::new()
        .node("forgetful", FORGETFUL, "")
        .load("get", few)
        .load("post", &format!("{few}method = 'POST'\nbody = 'x'"))
        .run()
        .exits(1);
    let trials = outcome.trials();
    let load = |name: &str| {
        let trial = trials
            .iter()
            .find(|trial| trial.trial.cell.0.contains(name));
        trial.unwrap().load.clone().unwrap()
    };
    let (get, post) = (load("@get"), load("@post"));
    assert_eq!(get.counts.succeeded, 300, "{get:?}");
    assert!(get.connections.retried >= 20, "{get:?}");
    assert_eq!(post.connections.retried, 0, "{post:?}");
    assert!(post.counts.errors() >= 20, "{post:?}");
    let report = outcome.markdown();
    assert!(
        report.contains("were sent once more in 1 of 1 valid trial"),
        "{report}"
    );
}
