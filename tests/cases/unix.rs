//! Servers behind Unix-domain sockets.

use super::kit::{Suite, skipped};
use hotlap::record::{Proof, Step};
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const NODE: &str =
    "require('http').createServer((request, response) => response.end(request.headers.host))
    .listen(process.argv[2]);";

#[test]
fn a_server_listens_where_it_is_told_and_is_proved_to_be_ours() {
    let outcome = Suite::new()
        .file("app.js", NODE)
        .server(
            "app",
            &["node", "app.js", "{{ dir }}/app.sock"],
            "socket = '{{ dir }}/app.sock'",
        )
        .load(
            "kept",
            "requests = 200\nconnections = 16\nexpect.body = 'localhost'",
        )
        .load("new", "requests = 100\nkeep_alive = false")
        .run()
        .exits(0);
    for (cell, requests) in [("kept", 200), ("new", 100)] {
        let trial = outcome.valid(&format!("app@{cell}"));
        assert_eq!(trial.listener, Proof::Proved);
        assert_eq!((trial.port, trial.address), (None, None));
        assert_eq!(trial.load.unwrap().counts.succeeded, requests);
    }
    assert!(
        outcome
            .markdown()
            .contains("listens on the Unix-domain socket {{ dir }}/app.sock")
    );
}

#[test]
fn nginx_listens_on_a_socket() {
    let there = Command::new("nginx").arg("-v").output();
    if !there.is_ok_and(|output| output.status.success())
        && skipped("there is no nginx on the PATH")
    {
        return;
    }
    let config = "daemon off;\npid {{ dir }}/nginx.pid;\nerror_log stderr;\nworker_processes 1;\n\
                  events { worker_connections 256; }\nhttp {\n  access_log off;\n\
                  client_body_temp_path {{ dir }}/b; proxy_temp_path {{ dir }}/p; fastcgi_temp_path {{ dir }}/f;\n\
                  uwsgi_temp_path {{ dir }}/u; scgi_temp_path {{ dir }}/s;\n\
                  server { listen unix:{{ dir }}/web.sock; location / { return 200 'hello'; } }\n}\n";
    let outcome = Suite::new()
        .file("nginx.conf.j2", config)
        .toml(
            "[servers.web]\nfiles = { 'nginx.conf' = 'nginx.conf.j2' }\nsocket = '{{ dir }}/web.sock'\n\
             command = 'nginx -p {{ dir }} -c nginx.conf'\n",
        )
        .load("steady", "requests = 300\nconnections = 32\nexpect.body = 'hello'")
        .run()
        .exits(0);
    let trial = outcome.valid("web@steady");
    assert_eq!(trial.load.unwrap().counts.succeeded, 300);
    assert_eq!(trial.listener, Proof::Proved);
}

/// Answers one request a connection, one connection after the other, so that others find no room.
fn slow_listener(listener: UnixListener) -> Arc<AtomicU64> {
    let requests = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&requests);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut request, mut piece) = (Vec::new(), [0; 1024]);
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(size @ 1..) => request.extend_from_slice(&piece[..size]),
                    _ => break,
                }
            }
            if request.is_empty() {
                continue;
            }
            seen.fetch_add(1, Ordering::SeqCst);
            let _ = stream
                .write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    requests
}

#[test]
fn a_socket_without_room_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    // Room for one that waits, beside the one that is served.
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        None,
    )
    .unwrap();
    rustix::net::bind(&socket, &rustix::net::SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let requests = slow_listener(UnixListener::from(socket));
    let output = Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .args([
            "load",
            "http://localhost/",
            "-c",
            "16",
            "-t",
            "2",
            "-n",
            "100",
        ])
        .args(["--no-keep-alive", "--json", "--unix-socket"])
        .arg(&path)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["succeeded"], 100, "{told}");
    assert_eq!(told["unix_socket"], path.display().to_string());
    assert_eq!(requests.load(Ordering::SeqCst), 101);
}

#[test]
fn a_server_that_runs_already_is_reached_by_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let requests = slow_listener(UnixListener::bind(&path).unwrap());
    let outcome = Suite::new()
        .setting("warmup", "'0s'")
        .toml(&format!("[servers.app]\nurl = 'unix:{}'\n", path.display()))
        .load("steady", "requests = 20\nkeep_alive = false")
        .run()
        .exits(0);
    assert_eq!(
        outcome.valid("app@steady").load.unwrap().counts.succeeded,
        20
    );
    // Asked whether it is ready, verified, and held against a second answer.
    assert_eq!(requests.load(Ordering::SeqCst), 23);
}

#[test]
fn what_cannot_be_is_said() {
    let long = "x".repeat(108);
    let mistake = |lines: &str, words: &str| {
        let outcome = Suite::new().server("app", &["false"], lines).run().exits(2);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    };
    mistake(
        &format!("socket = '{long}'"),
        "1 to 107 bytes, and this one has 108",
    );
    mistake("socket = 's'\nport = 80", "has no `port`");
    mistake("socket = 's'\naddress = '::1'", "has no `address`");
    let outcome = Suite::new()
        .server(
            "app",
            &["false"],
            &format!("socket = '{{{{ dir }}}}/{long}'"),
        )
        .run()
        .exits(1);
    let (_, reason, _) = outcome.failed("app@steady", Step::Start);
    assert!(reason.contains("107 at most"), "{reason}");
    let output = Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .args(["load", "http://localhost/", "--unix-socket", &long])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn another_generator_reaches_no_socket() {
    let there = Command::new("wrk").arg("-v").output();
    if there.is_err() && skipped("there is no wrk on the PATH") {
        return;
    }
    let outcome = Suite::new()
        .server("app", &["false"], "socket = '{{ dir }}/app.sock'")
        .load("steady", "duration = '100ms'\ngenerator = 'wrk'")
        .run();
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(
        said.contains("this one listens on a Unix-domain socket"),
        "{said}"
    );
}
