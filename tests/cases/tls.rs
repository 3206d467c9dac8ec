//! Loads over TLS: what counts, what fails and how it is told.

use super::certificates::{Certificate, Manner, NAMES, TlsServer};
use super::kit::{Suite, skipped};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn load(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .arg("load")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", said(output)))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn is_there(program: &str) -> bool {
    let ask = Command::new(program).arg("-v").output();
    ask.is_ok_and(|output| output.status.success())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The arguments of a small load that trusts this certificate's CA.
fn trusting<'a>(url: &'a str, certificate: &'a Certificate, requests: &'a str) -> Vec<&'a str> {
    let ca = text(&certificate.ca);
    vec![
        url, "--cacert", ca, "-c", "2", "-t", "1", "-n", requests, "--json",
    ]
}

#[test]
fn both_sides_count_the_same_with_and_without_keep_alive() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&NAMES, folder.path());
    for host in ["localhost", "127.0.0.1"] {
        let server = TlsServer::start(&certificate, Manner::Good);
        let url = server.url(host);
        let output = load(&trusting(&url, &certificate, "500"));
        assert_eq!(json(&output)["succeeded"], 500, "{}", said(&output));
        // One request more, on a connection of its own, is verified before the load.
        assert_eq!((server.requests(), server.handshakes()), (501, 3));
    }
    let server = TlsServer::start(&certificate, Manner::Good);
    let url = server.url("localhost");
    let mut arguments = trusting(&url, &certificate, "60");
    arguments.push("--no-keep-alive");
    let output = load(&arguments);
    assert_eq!(json(&output)["succeeded"], 60, "{}", said(&output));
    // Each request has a handshake of its own; connections that are opened early carry one too.
    assert_eq!((server.requests(), server.handshakes()), (61, 61));
}

#[test]
fn many_connections_on_two_threads_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&NAMES, folder.path());
    let server = TlsServer::start(&certificate, Manner::Good);
    let (url, ca) = (server.url("localhost"), text(&certificate.ca));
    let output = load(&[
        &url, "--cacert", ca, "-c", "64", "-t", "2", "-n", "3000", "--json",
    ]);
    assert_eq!(json(&output)["succeeded"], 3000, "{}", said(&output));
    assert_eq!((server.requests(), server.handshakes()), (3001, 65));
}

#[test]
fn a_certificate_that_is_not_trusted_is_told_before_the_load() {
    let refused = |certificate: &Certificate, host: &str, arguments: &[&str], words: &str| {
        let server = TlsServer::start(certificate, Manner::Good);
        let url = server.url(host);
        let mut all = vec![url.as_str(), "-n", "1", "-c", "1"];
        all.extend(arguments);
        let output = load(&all);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let said = said(&output);
        assert!(
            said.contains("TLS handshake") && said.contains(words),
            "{said}"
        );
        assert_eq!(server.requests(), 0);
    };
    let folders: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let good = Certificate::of(&NAMES, folders[0].path());
    let other = Certificate::of(&NAMES, folders[1].path());
    let elsewhere = Certificate::of(&["elsewhere.test"], folders[2].path());
    let expired = Certificate::expired(&NAMES, folders[3].path());
    refused(
        &good,
        "localhost",
        &["--cacert", text(&other.ca)],
        "UnknownIssuer",
    );
    refused(&good, "localhost", &[], "UnknownIssuer");
    refused(
        &elsewhere,
        "localhost",
        &["--cacert", text(&elsewhere.ca)],
        "elsewhere.test",
    );
    refused(
        &elsewhere,
        "127.0.0.1",
        &["--cacert", text(&elsewhere.ca)],
        "not valid for name",
    );
    refused(
        &expired,
        "localhost",
        &["--cacert", text(&expired.ca)],
        "expired",
    );
    for certificate in [&elsewhere, &expired] {
        let server = TlsServer::start(certificate, Manner::Good);
        let output = load(&[&server.url("localhost"), "--insecure", "-n", "5", "--json"]);
        assert_eq!(json(&output)["succeeded"], 5, "{}", said(&output));
        assert_eq!(json(&output)["certificate_checked"], false);
        let output = load(&[&server.url("localhost"), "--insecure", "-n", "5"]);
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("its certificate not checked"), "{shown}");
    }
}

#[test]
fn a_certificate_that_signed_itself_is_its_own_ca() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of_itself(&NAMES, folder.path(), 2100);
    let server = TlsServer::start(&certificate, Manner::Good);
    let output = load(&trusting(&server.url("localhost"), &certificate, "5"));
    assert_eq!(json(&output)["succeeded"], 5, "{}", said(&output));
    // That it is known does not make it good for another name, or for another time.
    let elsewhere = Certificate::of_itself(&["elsewhere.test"], folder.path(), 2100);
    let server = TlsServer::start(&elsewhere, Manner::Good);
    let output = load(&trusting(&server.url("localhost"), &elsewhere, "5"));
    assert!(
        said(&output).contains("elsewhere.test"),
        "{}",
        said(&output)
    );
    let expired = Certificate::of_itself(&NAMES, folder.path(), 2020);
    let server = TlsServer::start(&expired, Manner::Good);
    let output = load(&trusting(&server.url("localhost"), &expired, "5"));
    assert!(said(&output).contains("expired"), "{}", said(&output));
}

#[test]
fn what_goes_wrong_under_load_is_counted_by_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&NAMES, folder.path());
    let under = |manner: Manner, more: &[&str]| {
        let server = TlsServer::start(&certificate, manner);
        let url = server.url("localhost");
        let mut arguments = trusting(&url, &certificate, "6");
        arguments.extend(more);
        let output = load(&arguments);
        let told = json(&output);
        let sum = |key: &str| told[key].as_u64().unwrap();
        assert_eq!(
            sum("succeeded") + sum("failed") + sum("timed_out"),
            6,
            "{told}"
        );
        (told, server)
    };
    let (told, server) = under(Manner::HangsUp, &[]);
    assert_eq!(told["errors"]["tls"], 6, "{told}");
    assert_eq!(server.requests(), 1);
    let (told, _) = under(Manner::IsSilent, &["--timeout", "100ms"]);
    assert_eq!(told["errors"]["tls"], 6, "{told}");
    let example = told["error_examples"]["tls"].as_str().unwrap();
    assert!(example.contains("not over in time"), "{example}");
    let (told, server) = under(Manner::ToTheEnd, &[]);
    assert_eq!(told["succeeded"], 6, "{told}");
    assert_eq!(server.requests(), 7);
    let (told, server) = under(Manner::Cut, &[]);
    assert_eq!(told["errors"]["short_body"], 6, "{told}");
    assert_eq!(server.requests(), 7);
    // A connection that was closed while it was idle is opened again, and no request fails for it.
    let (told, server) = under(Manner::ClosesIdle, &[]);
    assert_eq!(told["succeeded"], 6, "{told}");
    assert_eq!(server.requests(), 7);
}

#[test]
fn a_server_that_shakes_no_hands_is_not_waited_for_with_each_connection() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&NAMES, folder.path());
    let server = TlsServer::start(&certificate, Manner::IsSilent);
    let url = server.url("localhost");
    let mut arguments = trusting(&url, &certificate, "640");
    let many = arguments.iter().position(|argument| *argument == "-c");
    arguments[many.unwrap() + 1] = "640";
    arguments.extend(["--timeout", "400ms"]);
    let began = Instant::now();
    let told = json(&load(&arguments));
    // On a busy machine the server's accepting may lag behind; those that it did not accept in time are told as that.
    let of = |kind: &str| told["errors"][kind].as_u64().unwrap_or(0);
    assert_eq!(of("tls") + of("connect_timeout"), 640, "{told}");
    assert!(of("tls") > 0, "{told}");
    // 32 at a time would have been 20 times 400 ms before the load had begun.
    assert!(began.elapsed() < Duration::from_secs(6), "{told}");
}

#[test]
fn plain_http_and_tls_do_not_mix() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&NAMES, folder.path());
    let server = TlsServer::start(&certificate, Manner::Good);
    let plain = server.url("localhost").replace("https", "http");
    let output = load(&[&plain, "-n", "1"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let words = "TLS is spoken there: write https://";
    assert!(said(&output).contains(words), "{}", said(&output));
    let output = load(&[&plain, "-n", "1", "--insecure"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("write https://"),
        "{}",
        said(&output)
    );
    for (file, words) in [
        ("none.pem", "cannot be read"),
        ("key.pem", "no certificate"),
    ] {
        let file = folder.path().join(file);
        let output = load(&[&server.url("localhost"), "-n", "1", "--cacert", text(&file)]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(words), "{}", said(&output));
    }
    assert_eq!(server.requests(), 0);
}

/// What each load of nginx trusts.
const TLS: &str = "tls = { ca = 'ca.pem', server_name = 'localhost' }\n";

const NGINX: &str = "daemon off;
pid {{ dir }}/nginx.pid;
error_log stderr;
worker_processes 1;
events { worker_connections 1024; }
http {
  access_log {{ env.FOLDER }}/access.log;
  client_body_temp_path {{ dir }}/body; proxy_temp_path {{ dir }}/proxy; fastcgi_temp_path {{ dir }}/f;
  uwsgi_temp_path {{ dir }}/u; scgi_temp_path {{ dir }}/s;
  keepalive_requests 1000000;
  server {
    listen 127.0.0.1:{{ port }} ssl;
    ssl_certificate {{ env.FOLDER }}/chain.pem;
    ssl_certificate_key {{ env.FOLDER }}/key.pem;
    location / { return 200 'hello'; }
    location /big { root {{ env.FOLDER }}; }
  }
}
";

/// How often a path was asked for.
fn asked(folder: &Path, path: &str) -> usize {
    let log = fs::read_to_string(folder.join("access.log")).unwrap();
    let line = format!("\"GET {path} ");
    log.lines().filter(|one| one.contains(&line)).count()
}

#[test]
fn nginx_is_measured_over_tls_and_counts_the_same() {
    if !is_there("nginx") && skipped("there is no nginx on the PATH") {
        return;
    }
    let suite = Suite::new().setting("warmup", "'0s'");
    Certificate::of(&["localhost"], suite.path());
    let big: String = "0123456789abcdef".repeat(1 << 16);
    let folder = suite.path().display().to_string();
    let outcome = suite
        .file("nginx.conf.j2", NGINX)
        .file("big", &big)
        .env("FOLDER", &folder)
        .toml(
            "[servers.web]\nfiles = { 'nginx.conf' = 'nginx.conf.j2' }\nready.path = '/ready'\n\
             command = 'nginx -p {{ dir }} -c nginx.conf'\n",
        )
        .load(
            "kept",
            &format!(
                "{TLS}path = '/kept'\nrequests = 300\nconnections = 64\nexpect.body = 'hello'"
            ),
        )
        .load(
            "new",
            &format!("{TLS}path = '/new'\nrequests = 100\nkeep_alive = false"),
        )
        .load(
            "big",
            &format!(
                "{TLS}path = '/big'\nrequests = 30\nconnections = 4\nexpect.min_size = '1MiB'"
            ),
        )
        .run()
        .exits(0);
    for (cell, path, requests) in [
        ("kept", "/kept", 300),
        ("new", "/new", 100),
        ("big", "/big", 30),
    ] {
        let trial = outcome.valid(&format!("web@{cell}"));
        let load = trial.load.unwrap();
        assert_eq!(load.counts.succeeded, requests);
        // Two more are sent before each load: one is verified, and one is held against it.
        assert_eq!(asked(Path::new(&folder), path), requests as usize + 2);
    }
    let report = outcome.markdown();
    assert!(
        report.contains("certificates checked against ca.pem, server name localhost"),
        "{report}"
    );
}

#[test]
fn a_server_of_node_speaks_tls_and_the_report_says_that_nobody_was_checked() {
    let suite = Suite::new();
    Certificate::expired(&["elsewhere.test"], suite.path());
    let outcome = suite
        .node(
            "app",
            "const fs = require('fs');
             const options = { key: fs.readFileSync('key.pem'), cert: fs.readFileSync('chain.pem') };
             require('https').createServer(options, (request, response) => response.end('x'.repeat(1 << 20)))
               .listen(process.env.PORT, '::1');",
            "address = '::1'",
        )
        .load("steady", "requests = 20\ntls.insecure = true")
        .run()
        .exits(0);
    let load = outcome.valid("app@steady").load.unwrap();
    assert_eq!(load.counts.succeeded, 20);
    let report = outcome.markdown();
    assert!(report.contains("Certificates were not checked"), "{report}");
}

#[test]
fn a_server_that_runs_already_is_loaded_by_its_https_url() {
    let suite = Suite::new();
    let certificate = Certificate::of(&NAMES, suite.path());
    let server = TlsServer::start(&certificate, Manner::Good);
    let url = server.url("localhost");
    // Its certificate is nobody's that this machine trusts.
    let outcome = suite
        .toml(&format!("[servers.app]\nurl = '{url}'\n"))
        .load("checked", "requests = 5")
        .load("trusted", "requests = 5\ntls.ca = 'ca.pem'")
        .run()
        .exits(1);
    let (_, reason, _) = outcome.failed("app@checked", hotlap::record::Step::Verify);
    assert!(reason.contains("UnknownIssuer"), "{reason}");
    assert_eq!(
        outcome.valid("app@trusted").load.unwrap().counts.succeeded,
        5
    );
}

#[test]
fn what_cannot_be_trusted_is_said_before_anything_starts() {
    let mistake = |tls: &str, words: &[&str]| {
        let outcome = Suite::new()
            .file("words.pem", "certificate")
            .server("app", &["false"], "")
            .load("steady", &format!("tls = {tls}"))
            .run()
            .exits(2);
        for word in words {
            assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
        }
    };
    mistake(
        "{ ca = 'words.pem' }",
        &[
            "case.toml:",
            "words.pem cannot be trusted",
            "no certificate",
        ],
    );
    mistake(
        "{ ca = 'none.pem' }",
        &["case.toml:", "there is no file none.pem"],
    );
    mistake(
        "{ server_name = 'a b' }",
        &["case.toml:", "neither the name of a host"],
    );
}
