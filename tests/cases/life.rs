//! Servers that come late, never, badly or twice, and that do not want to go.

use crate::fixture::Behaviour;
use crate::kit::{Suite, skipped, without_node, without_python};
use hotlap::record::{ErrorKind, Proof, Step};
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

/// 20 s of patience for readiness, so that an early verdict shows.
const PATIENT: &str = "ready = { timeout = '20s' }";

#[test]
fn ready_is_who_answers_not_who_says_so() {
    if without_node() {
        return;
    }
    let late = "console.log('ready'); setTimeout(() => require('http').createServer((q, r) => r.end('ok')).listen(process.env.PORT), 700)";
    let outcome = Suite::new()
        .node("talker", late, "")
        .fixture(
            "quiet",
            &Behaviour::good().listening_after(Duration::from_millis(400)),
        )
        .run()
        .exits(0);
    for (server, least) in [("talker", 700_000_000), ("quiet", 400_000_000)] {
        let trial = outcome.valid(server);
        assert!(trial.startup_ns.unwrap() >= least, "{trial:?}");
        let load = trial.load.unwrap();
        assert_eq!(load.counts.errors(), 0);
        assert!(load.counts.succeeded > 0);
        assert_eq!(trial.listener, Proof::Proved);
    }
}

#[test]
fn who_never_listens_is_given_up_with_all_that_is_known() {
    if without_node() {
        return;
    }
    let outcome = Suite::new()
        .node(
            "hangs",
            "console.error('about to hang'); setInterval(() => {}, 1000)",
            "ready = { timeout = '1200ms' }",
        )
        .fixture("good", &Behaviour::good())
        .run()
        .exits(1);
    let (trial, reason, tail) = outcome.failed("hangs", Step::Ready);
    assert!(reason.contains("`node hangs.js`"), "{reason}");
    assert!(reason.contains("within 1."), "{reason}");
    assert!(reason.contains("refused"), "{reason}");
    assert!(tail.contains("about to hang"), "{tail}");
    assert!(trial.load.is_none() && trial.stops.is_empty());
    outcome.valid("good");
    assert!(outcome.markdown().contains("about to hang"));
}

#[test]
fn who_listens_and_never_answers_is_given_up_too() {
    let outcome = Suite::new()
        .fixture_with(
            "mute",
            &Behaviour::good().from(1, ""),
            "ready = { timeout = '500ms' }",
        )
        .run()
        .exits(1);
    let (_, reason, _) = outcome.failed("mute", Step::Ready);
    assert!(reason.contains("did not answer"), "{reason}");
}

#[test]
fn who_dies_before_it_answers_is_noticed_at_once() {
    let outcome = Suite::new()
        .server(
            "exits",
            &["sh", "-c", "sleep 0.1; echo cannot load config >&2; exit 3"],
            PATIENT,
        )
        .server(
            "killed",
            &["sh", "-c", "echo the kernel comes >&2; kill -KILL $$"],
            PATIENT,
        )
        .server("leaves", &["sh", "-c", "echo nothing to do"], PATIENT)
        .server("absent", &["no-such-program-anywhere"], PATIENT)
        .fixture("good", &Behaviour::good())
        .run()
        .exits(1);
    let cases = [
        ("exits", "exited with 3", "cannot load config"),
        ("killed", "SIGKILL", "the kernel comes"),
        ("leaves", "exited with 0", "nothing to do"),
    ];
    for (server, how, said) in cases {
        let (trial, reason, tail) = outcome.failed(server, Step::Ready);
        assert!(reason.contains(how), "{reason}");
        assert!(tail.contains(said), "{tail}");
        assert!(trial.took_ns < 15_000_000_000, "{}", trial.took_ns);
        assert!(outcome.stderr.contains(how), "{}", outcome.stderr);
        assert!(outcome.markdown().contains(said));
    }
    let (_, reason, _) = outcome.failed("absent", Step::Start);
    assert!(reason.contains("no-such-program-anywhere"), "{reason}");
    outcome.valid("good");
}

const DAEMON: &str = "\
import os, http.server as h
class Quiet(h.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200); self.send_header('Content-Length', '2'); self.end_headers(); self.wfile.write(b'ok')
    def log_message(self, *a): pass
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
h.ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Quiet).serve_forever()
";

#[test]
fn a_daemon_is_found_measured_and_ended() {
    if without_python() {
        return;
    }
    let outcome = Suite::new()
        .setting("repetitions", "2")
        .python("daemon", DAEMON, "stop = { grace = '2s' }")
        .load("few", "requests = 20")
        .run()
        .exits(0);
    assert_eq!(outcome.trials().len(), 2);
    for trial in outcome.trials() {
        assert!(
            trial
                .warnings
                .iter()
                .any(|warning| warning.contains("background")),
            "{:?}",
            trial.warnings
        );
        let usage = &trial.usage["total"];
        assert!(usage.rss_idle.unwrap() > 4 << 20, "{usage:?}");
        assert_eq!(trial.listener, Proof::Proved);
    }
}

const DEAF: &str = "process.on('SIGTERM', () => {}); require('http').createServer((q, r) => r.end('ok')).listen(process.env.PORT)";

#[test]
fn who_ignores_the_stop_is_killed_and_keeps_its_figures() {
    if without_node() {
        return;
    }
    let outcome = Suite::new()
        .setting("repetitions", "2")
        .node("deaf", DEAF, "stop = { grace = '150ms' }")
        .load("few", "requests = 20")
        .run()
        .exits(0);
    assert_eq!(outcome.trials().len(), 2);
    for trial in outcome.trials() {
        let stop = &trial.stops["server"];
        assert!(!stop.polite && stop.killed == 1, "{stop:?}");
        assert_eq!(stop.exit, "killed by SIGKILL");
        assert!(trial.load.unwrap().counts.succeeded == 20);
    }
    assert!(
        outcome.markdown().contains("had to be killed"),
        "{}",
        outcome.markdown()
    );
}

#[test]
fn a_stranger_on_the_port_is_named_and_left_alone() {
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    // Any address in the way counts, also one of the other family or of all interfaces.
    let others = ["[::1]:0", "0.0.0.0:0"].map(TcpListener::bind);
    let held: Vec<TcpListener> = [Ok(own)]
        .into_iter()
        .chain(others)
        .filter_map(Result::ok)
        .collect();
    let mut suite = Suite::new();
    for (index, listener) in held.iter().enumerate() {
        let port = listener.local_addr().unwrap().port();
        suite = suite.fixture_with(
            &format!("late{index}"),
            &Behaviour::good(),
            &format!("port = {port}"),
        );
    }
    let outcome = suite.run().exits(1);
    for (index, listener) in held.iter().enumerate() {
        let (trial, reason, _) = outcome.failed(&format!("late{index}"), Step::Start);
        let port = listener.local_addr().unwrap().port();
        let words = format!("port {port} is in use by pid {} (", std::process::id());
        assert!(reason.contains(&words), "{reason}");
        assert!(trial.load.is_none());
        // It was not so much as spoken to.
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err());
    }
}

const REUSEPORT: &str = "\
import os, socket
if os.fork() == 0:
  os.setsid()
s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.setsockopt(1, socket.SO_REUSEPORT, 1); s.bind(('127.0.0.1', int(os.environ['PORT']))); s.listen(64)
while 1:
  k, _ = s.accept(); k.recv(4096); k.send(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok'); k.close()
";

#[test]
fn a_worker_of_another_session_does_not_survive_its_trial() {
    if without_python() {
        return;
    }
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let outcome = Suite::new()
        .setting("repetitions", "2")
        .python(
            "twins",
            REUSEPORT,
            &format!("port = {free}\nstop = {{ grace = '2s' }}"),
        )
        .load("few", "requests = 20\nkeep_alive = false")
        .run()
        .exits(0);
    assert_eq!(outcome.trials().len(), 2);
    for trial in outcome.trials() {
        assert_eq!(trial.usage["total"].processes, 2, "{trial:?}");
        assert_eq!(trial.port, Some(free));
    }
    assert!(TcpListener::bind(("127.0.0.1", free)).is_ok());
}

#[test]
fn who_dies_under_load_is_a_failure_with_its_counts() {
    let outcome = Suite::new()
        .fixture("exits", &Behaviour::good().ends_at(200, "1"))
        .fixture("leaves", &Behaviour::good().ends_at(200, "0"))
        .fixture("aborts", &Behaviour::good().ends_at(200, "abort"))
        .fixture("good", &Behaviour::good())
        .load("many", "requests = 20000\nwarmup = '0s'\ntimeout = '2s'")
        .run()
        .exits(1);
    for (server, how) in [
        ("exits", "exited with 1"),
        ("leaves", "exited with 0"),
        ("aborts", "SIGABRT"),
    ] {
        let (trial, reason, tail) = outcome.failed(server, Step::Load);
        assert!(reason.contains(how), "{reason}");
        assert!(tail.contains("the end has come at request 200"), "{tail}");
        let load = trial.load.unwrap();
        // While it ends, the other connection may still be answered.
        assert!(
            (190..=230).contains(&load.counts.succeeded),
            "{server}: {:?}",
            load.counts
        );
        assert!(
            reason.contains(&format!("after {} requests", load.counts.succeeded)),
            "{reason}"
        );
        assert!(outcome.markdown().contains(how));
        assert!(outcome.cell(server)["metrics"]["requests_per_second"]["median"].is_null());
    }
    outcome.valid("good");
}

const REPLACED: &str = "\
const c = require('cluster');
if (c.isPrimary) { c.fork(); c.fork(); c.on('exit', () => c.fork()) }
else { let n = 0; require('http').createServer((q, r) => { r.end('ok'); if (++n == 100) setTimeout(() => process.exit(0), 5) }).listen(process.env.PORT) }
";

#[test]
fn workers_that_are_replaced_count_all() {
    if without_node() {
        return;
    }
    let outcome = Suite::new()
        .setting("max_errors", "'100%'")
        .setting("sample_interval", "'20ms'")
        .node("cluster", REPLACED, "")
        .load(
            "steady",
            "duration = '800ms'\nconnections = 4\ntimeout = '1s'",
        )
        .run();
    let usage = outcome.trial("cluster").usage["total"].clone();
    assert!(usage.pids_seen > 3, "{usage:?}");
    assert!(usage.cpu_seconds.unwrap() > 0.0, "{usage:?}");
    for row in outcome.csv("samples.csv") {
        assert_ne!(row["rss_bytes"], "0", "{row:?}");
    }
}

const CLUSTER: &str = "\
const c = require('cluster');
if (c.isPrimary) for (let i = 0; i < 4; i++) c.fork();
else require('http').createServer((q, r) => r.end('ok')).listen(process.env.PORT)
";

#[test]
fn a_cluster_is_its_whole_tree() {
    if without_node() {
        return;
    }
    let outcome = Suite::new()
        .node(
            "one",
            "require('http').createServer((q, r) => r.end('ok')).listen(process.env.PORT)",
            "",
        )
        .node("four", CLUSTER, "")
        .load(
            "steady",
            "duration = '400ms'\nconnections = 8\nwarmup = '200ms'",
        )
        .run()
        .exits(0);
    let one = outcome.valid("one").usage["total"].clone();
    let four = outcome.valid("four").usage["total"].clone();
    assert_eq!((one.processes, four.processes), (1, 5));
    assert!(
        four.rss_peak.unwrap() > 3 * one.rss_peak.unwrap(),
        "{one:?} {four:?}"
    );
    assert!(
        four.pss_loaded.unwrap() < four.rss_peak.unwrap(),
        "{four:?}"
    );
}

const SERVE_NODE: &str =
    "require('http').createServer((q, r) => r.end('ok')).listen(process.env.PORT, process.env.AT)";

#[test]
fn a_name_is_tried_in_both_families_an_address_is_not() {
    if without_node() {
        return;
    }
    if TcpListener::bind("[::1]:0").is_err() && skipped("this machine has no IPv6") {
        return;
    }
    let six = "env.AT = '::1'";
    let outcome = Suite::new()
        .node("six", SERVE_NODE, &format!("{six}\naddress = '::1'"))
        .node(
            "name",
            SERVE_NODE,
            &format!("{six}\naddress = 'localhost'\nready = {{ timeout = '3s' }}"),
        )
        .node(
            "four",
            SERVE_NODE,
            "env.AT = '127.0.0.1'\naddress = 'localhost'",
        )
        .node(
            "wrong",
            SERVE_NODE,
            &format!("{six}\nready = {{ timeout = '700ms' }}"),
        )
        .run()
        .exits(1);
    outcome.valid("six");
    let localhost = Command::new("getent")
        .args(["ahosts", "localhost"])
        .output();
    let has_six =
        localhost.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("::1"));
    if has_six || !skipped("localhost has no IPv6 address here") {
        outcome.valid("name");
    }
    outcome.valid("four");
    let (_, reason, _) = outcome.failed("wrong", Step::Ready);
    assert!(reason.contains("listens on [::1]:"), "{reason}");
    assert!(reason.contains("refused"), "{reason}");
}

#[test]
fn another_address_of_this_machine_is_another_address() {
    let outcome = Suite::new()
        .fixture_with(
            "loopback",
            &Behaviour::good(),
            "address = '127.0.0.2'\nready = { timeout = '500ms' }",
        )
        .fixture_with(
            "there",
            &Behaviour::good().listening_on("127.0.0.2"),
            "address = '127.0.0.2'",
        )
        .fixture_with(
            "port",
            &Behaviour::good(),
            "env.PORT = '18'\nready = { timeout = '500ms' }",
        )
        .run()
        .exits(1);
    let (_, reason, _) = outcome.failed("loopback", Step::Ready);
    assert!(reason.contains("127.0.0.1:"), "{reason}");
    outcome.valid("there");
}

#[test]
fn no_listener_no_connect_errors() {
    let outcome = Suite::new()
        .fixture_with("good", &Behaviour::good(), "ready = { path = '/there' }")
        .load("none", "connections = 3\nrequests = 30\nkeep_alive = false")
        .run()
        .exits(0);
    let load = outcome.valid("good").load.unwrap();
    assert!(!load.errors.contains_key(&ErrorKind::ConnectRefused));
    assert_eq!(load.counts.succeeded, 30);
}
