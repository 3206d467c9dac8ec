//! Loads over HTTP/2 of real servers: what node and nginx make of it, and what the report says.

use crate::certificates::{Certificate, Manner, NAMES, TlsServer};
use crate::kit::{Suite, missing, without_node};
use hotlap::record::{Http2, Step};
use std::process::{Command, Stdio};

/// Answers over HTTP/2 without TLS, and to nothing else.
const NODE: &str = "require('http2').createServer({ settings: { maxConcurrentStreams: Number(process.env.MOST) } }, \
    (q, r) => { r.setHeader('content-type', 'text/plain'); r.end('hello') }).listen(process.env.PORT, '127.0.0.1')";

const FEW: &str =
    "http = '2'\nconnections = 4\nstreams = 8\nrequests = 2000\nexpect.body = 'hello'";

#[test]
fn a_server_that_speaks_nothing_else_is_ready_verified_and_loaded() {
    if without_node() {
        return;
    }
    let outcome = Suite::new()
        .node("plenty", NODE, "env.MOST = '100'")
        .node("single", NODE, "env.MOST = '1'")
        .load("few", FEW)
        .run()
        .exits(0);
    for (server, allowed) in [("plenty", 100), ("single", 1)] {
        let trial = outcome.valid(server);
        let load = trial.load.unwrap();
        assert_eq!((load.counts.succeeded, load.counts.sent), (2000, 2000));
        assert_eq!(load.bytes.body, Some(10_000));
        let agreed = Http2 {
            streams: 8,
            streams_allowed: Some(allowed),
        };
        assert_eq!(load.http2, Some(agreed));
        assert_eq!(load.connections.opened, 4);
        assert_eq!(trial.observed.unwrap().status, 200);
    }
    let report = outcome.markdown();
    for words in [
        "HTTP/2, 8 streams on each of 4 connections",
        "The server allowed 1 stream on a connection of HTTP/2 in 1 of 1 valid trial, where 8 were to be in flight",
    ] {
        assert!(report.contains(words), "{words}\n{report}");
    }
    outcome.nothing_is_left();
}

#[test]
fn a_server_of_http_1_is_not_ready_for_http_2() {
    if without_node() {
        return;
    }
    let program = "require('http').createServer((q, r) => r.end('hello')).listen(process.env.PORT)";
    let outcome = Suite::new()
        .node("old", program, "ready = { timeout = '2s' }")
        .load("few", FEW)
        .run()
        .exits(1);
    let (_, reason, _) = outcome.failed("old", Step::Ready);
    assert!(
        // The answer in HTTP/1 is lost where the server's reset is faster.
        reason.contains("the server does not speak HTTP/2"),
        "{reason}"
    );
}

#[test]
fn nginx_is_loaded_without_tls_and_closes_connections_by_goaway() {
    let there = Command::new("nginx")
        .arg("-v")
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !there && missing("there is no nginx on the PATH") {
        return;
    }
    // After 100 requests on a connection nginx sends GOAWAY.
    let config = r#"
daemon off;
worker_processes 1;
pid {{ dir }}/nginx.pid;
error_log stderr;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path {{ dir }}/body;
  proxy_temp_path {{ dir }}/proxy;
  fastcgi_temp_path {{ dir }}/fastcgi;
  uwsgi_temp_path {{ dir }}/uwsgi;
  scgi_temp_path {{ dir }}/scgi;
  keepalive_requests 100;
  server {
    listen 127.0.0.1:{{ port }} http2;
    location / { return 200 "hello"; }
  }
}
"#;
    let outcome = Suite::new()
        .file("nginx.conf", config)
        .server(
            "nginx",
            &["nginx", "-p", "{{ dir }}", "-c", "{{ dir }}/nginx.conf"],
            "files = { 'nginx.conf' = 'nginx.conf' }",
        )
        .load("few", FEW)
        .run();
    let trial = outcome.trial("nginx");
    let load = trial.load.unwrap();
    assert_eq!(load.counts.succeeded, 2000, "{load:?}");
    assert!(load.connections.reconnects >= 2000 / 100 - 4, "{load:?}");
    outcome.exits(0);
}

/// Answers over HTTP/2 with TLS, and to HTTP/1.1 not at all.
const SECURE_NODE: &str = "const f = require('fs'); require('http2').createSecureServer( \
    { key: f.readFileSync(process.env.KEY), cert: f.readFileSync(process.env.CHAIN) }, \
    (q, r) => r.end(q.scheme + ' ' + q.authority.split(':')[0])).listen(process.env.PORT, '127.0.0.1')";

/// A server of node that is loaded over TLS, and the load.
fn over_tls(program: &str, certificate: &Certificate, of_load: &str) -> Suite {
    let (key, chain) = (certificate.key.display(), certificate.chain.display());
    let env = format!("env.KEY = '{key}'\nenv.CHAIN = '{chain}'\nready.timeout = '3s'");
    Suite::new()
        .node("safe", program, &env)
        .load("few", of_load)
}

#[test]
fn http_2_over_tls_is_agreed_on_in_the_handshake() {
    if without_node() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&NAMES, folder.path());
    let load = format!(
        "http = '2'\nconnections = 4\nstreams = 8\nrequests = 2000\ntls.ca = '{}'\n\
         expect.body = 'https 127.0.0.1'",
        certificate.ca.display()
    );
    let outcome = over_tls(SECURE_NODE, &certificate, &load).run().exits(0);
    let load = outcome.valid("safe").load.unwrap();
    assert_eq!((load.counts.succeeded, load.counts.sent), (2000, 2000));
    assert_eq!(load.connections.opened, 4);
    assert_eq!(load.http2.unwrap().streams, 8);
    let report = outcome.markdown();
    assert!(
        report.contains("HTTP/2, 8 streams on each of 4 connections"),
        "{report}"
    );
    outcome.nothing_is_left();
}

#[test]
fn a_certificate_is_looked_at_over_http_2_too() {
    if without_node() {
        return;
    }
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let certificate = Certificate::of(&NAMES, folders[0].path());
    let other = Certificate::of(&NAMES, folders[1].path());
    let load =
        |ca: &Certificate| format!("http = '2'\nrequests = 10\ntls.ca = '{}'", ca.ca.display());
    let outcome = over_tls(SECURE_NODE, &certificate, &load(&other))
        .run()
        .exits(1);
    let (_, reason, _) = outcome.failed("safe", Step::Verify);
    assert!(
        reason.contains("TLS handshake") && reason.contains("UnknownIssuer"),
        "{reason}"
    );
}

#[test]
fn a_server_that_does_not_agree_to_http_2_is_told() {
    if without_node() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&NAMES, folder.path());
    let load = format!(
        "http = '2'\nrequests = 10\ntls.ca = '{}'",
        certificate.ca.display()
    );
    let program = SECURE_NODE.replace(
        "require('http2').createSecureServer",
        "require('https').createServer",
    );
    let outcome = over_tls(&program, &certificate, &load).run().exits(1);
    let (_, reason, _) = outcome.failed("safe", Step::Ready);
    assert!(reason.contains("ALPN"), "{reason}");
    // One that has never heard of such agreements.
    let server = TlsServer::start(&certificate, Manner::Good);
    let ca = certificate.ca.display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .args([
            "load",
            &server.url("localhost"),
            "--cacert",
            &ca,
            "--h2",
            "-n",
            "5",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("did not agree to speak HTTP/2"), "{said}");
}

#[test]
fn other_generators_are_not_asked_for_http_2() {
    let outcome = Suite::new()
        .server("any", &["true"], "")
        .load("few", &format!("{FEW}\ngenerator = 'wrk'"))
        .run()
        .exits(4);
    assert!(
        outcome
            .stderr
            .contains("it is asked for HTTP/1.1 alone, and the load is HTTP/2"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn the_generator_alone_speaks_it_too() {
    if without_node() {
        return;
    }
    let program = "const s = require('http2').createServer((q, r) => r.end('hello')); \
        s.listen(0, '127.0.0.1', () => console.log(s.address().port))";
    let mut server = Command::new("node")
        .args(["-e", program])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let told = server.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(told), &mut line).unwrap();
    let url = format!("http://127.0.0.1:{}/", line.trim());
    let load = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .args(["load", &url, "-c", "2", "-n", "500"])
            .args(more)
            .output()
            .unwrap()
    };
    let good = load(&["--h2", "--streams", "4"]);
    let without_h2 = load(&["--streams", "4"]);
    let old = load(&[]);
    server.kill().unwrap();
    server.wait().unwrap();
    let told = String::from_utf8_lossy(&good.stdout).into_owned();
    assert_eq!(good.status.code(), Some(0), "{told}");
    assert!(
        told.contains("2 connections of HTTP/2 with 4 streams each"),
        "{told}"
    );
    assert_eq!(without_h2.status.code(), Some(2));
    assert_eq!(old.status.code(), Some(1));
}
