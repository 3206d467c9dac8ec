//! Mixes, paths and bodies from files, templates in requests, and several requests in flight, against real servers that
//! tell what they got.

use super::kit::{Suite, skipped};
use std::fmt::Write as _;
use std::fs;

/// Answers with what it got, and writes it down: a line a request, with the SHA-256 of its body.
const NOTING: &str = r"
const fs = require('fs'), crypto = require('crypto');
const log = fs.openSync('seen.txt', 'a');
require('http').createServer((req, res) => {
  const hash = crypto.createHash('sha256');
  let size = 0;
  req.on('data', d => { hash.update(d); size += d.length; });
  req.on('end', () => {
    fs.writeSync(log, `${req.method} ${req.url} ${size} ${hash.digest('hex')} ${JSON.stringify(req.rawHeaders)}\n`);
    res.statusCode = req.method === 'POST' ? 201 : 200;
    res.end(req.method === 'POST' ? 'made' : 'here ' + req.url);
  });
}).listen(process.env.PORT, '127.0.0.1');
";

/// The lines that the server wrote down, in its words.
fn seen(suite: &Suite) -> Vec<Vec<String>> {
    let text = fs::read_to_string(suite.path().join("seen.txt")).unwrap();
    text.lines()
        .map(|line| line.splitn(5, ' ').map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line[1] != "/ready")
        .collect()
}

#[test]
fn a_mix_of_files_and_requests_is_sent_judged_and_told() {
    let outcome = Suite::new()
        .node("one", NOTING, "ready = { path = '/ready' }")
        .file("paths.txt", "/a%2Fb\r\n\r\n/c//d;e?x=1\r\n/f\n")
        .toml(
            "[[mixes.shop]]\npath_file = 'paths.txt'\nweight = 6\nexpect = { contains = 'here' }\n\
             [[mixes.shop]]\nmethod = 'POST'\npath = '/made/{{ counter }}'\njson = { n = 1 }\nweight = 2\n\
             headers = { 'X-Odd' = 'r{{ random(1, 3) }}' }\nexpect = { status = 201, body = 'made' }",
        )
        .load("shop", "mix = 'shop'\nrequests = 400\nwarmup = '0s'")
        .run();
    let outcome = outcome.exits(0);
    let load = outcome.valid("one").load.unwrap();
    assert_eq!(load.counts.succeeded, 400);
    let names: Vec<&str> = load.shares.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["GET paths.txt", "POST /made/{{ counter }}"]);
    let sent: Vec<u64> = load.shares.iter().map(|one| one.counts.sent).collect();
    assert!(
        sent[0].abs_diff(300) <= 8 && sent[0] + sent[1] == 400,
        "{sent:?}"
    );

    let seen = seen(&outcome.suite);
    let count = |path: &str| seen.iter().filter(|line| line[1] == path).count() as u64;
    let turns = ["/a%2Fb", "/c//d;e?x=1", "/f"].map(count);
    // Three were verified, the first is asked for once more, and the load takes them in turn.
    assert_eq!(turns.iter().sum::<u64>(), sent[0] + 4);
    assert!(
        turns.iter().max().unwrap() - turns.iter().min().unwrap() <= 2,
        "{turns:?}"
    );
    let posts: Vec<&Vec<String>> = seen.iter().filter(|line| line[0] == "POST").collect();
    let paths: std::collections::BTreeSet<&str> =
        posts.iter().map(|line| line[1].as_str()).collect();
    assert_eq!(paths.len(), posts.len(), "each has its own number");
    assert!(
        posts
            .iter()
            .all(|line| line[2] == "7" && line[4].contains("\"X-Odd\",\"r"))
    );

    let report = outcome.markdown();
    assert!(report.contains("## Requests of a mix"), "{report}");
    assert!(report.contains("| `GET paths.txt` | 6 |"), "{report}");
}

#[test]
fn a_body_from_a_file_arrives_byte_for_byte() {
    let mut body = String::new();
    for n in 0..1_u64 << 20 {
        write!(body, "{:08x}", n * 2_654_435_761 % 4_294_967_291).unwrap();
    }
    assert_eq!(body.len(), 8 << 20);
    let outcome = Suite::new()
        .node("one", NOTING, "ready = { path = '/ready' }")
        .file("body.bin", &body)
        .load(
            "upload",
            "method = 'POST'\nbody_file = 'body.bin'\nrequests = 6\nwarmup = '0s'\nexpect.status = 201",
        )
        .run()
        .exits(0);
    assert_eq!(outcome.valid("one").load.unwrap().counts.succeeded, 6);
    let seen = seen(&outcome.suite);
    let hash = sha256(body.as_bytes());
    assert!(seen.len() >= 8, "{}", seen.len());
    assert!(
        seen.iter()
            .all(|line| line[2] == "8388608" && line[3] == hash)
    );
}

fn sha256(bytes: &[u8]) -> String {
    use std::io::Write as _;
    let mut child = std::process::Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

#[test]
fn a_file_that_changes_behind_the_plan_fails_the_trial() {
    // The server itself changes it, as soon as it is started.
    let program = NOTING.replace(
        "const log",
        "fs.writeFileSync('paths.txt', '/other\\n');\nconst log",
    );
    let outcome = Suite::new()
        .node("one", &program, "ready = { path = '/ready' }")
        .file("paths.txt", "/a\n")
        .toml("[[mixes.shop]]\npath_file = 'paths.txt'")
        .load("shop", "mix = 'shop'\nrequests = 10")
        .run()
        .exits(1);
    assert!(
        outcome
            .stderr
            .contains("paths.txt has changed since the suite was read"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_cannot_be_sent_is_found_before_anything_starts() {
    for (paths, load, words) in [
        ("/a\n\n/b c\n", "", "line 3 of paths.txt"),
        ("\n\r\n", "", "there is no path in paths.txt"),
        ("/a\n/\u{e9}\n", "", "line 2 of paths.txt"),
        (
            "/a\n",
            "headers = { x = '{{ conter }}' }",
            "did you mean `counter`?",
        ),
        (
            "/a\n",
            "headers = { x = '{{ random }}' }",
            "random(1, 1000)",
        ),
        (
            "/a\n",
            "headers = { x = '{{ random(9, 1) }}' }",
            "the lower one stands first",
        ),
        (
            "/a\n",
            "headers = { x = '{% if counter == 1 %}a{% endif %}' }",
            "can be inserted, not compared",
        ),
        (
            "/a\n",
            "headers = { x = '{{ counter + 1 }}' }",
            "not computed with",
        ),
        (
            "/a\n",
            "body_file = 'none.bin'",
            "there is no file none.bin",
        ),
    ] {
        let outcome = Suite::new()
            .node("one", NOTING, "")
            .file("paths.txt", paths)
            .toml("[[mixes.shop]]\npath_file = 'paths.txt'")
            .load("shop", &format!("mix = 'shop'\n{load}"))
            .run()
            .exits(2);
        assert!(
            outcome.stderr.contains(words),
            "{words}: {}",
            outcome.stderr
        );
        assert!(!outcome.suite.path().join("seen.txt").exists());
    }
    let outcome = Suite::new()
        .server("one", &["true"], "env.N = '{{ counter }}'")
        .run()
        .exits(2);
    assert!(
        outcome.stderr.contains("only in what is sent"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn node_answers_what_is_sent_ahead() {
    let outcome = Suite::new()
        .node("one", NOTING, "ready = { path = '/ready' }")
        .load("ahead", "path = '/n/{{ counter }}'\npipelining = 8\nconnections = 3\nrequests = 600\nwarmup = '0s'\nexpect.contains = 'here /n/'")
        .run()
        .exits(0);
    let load = outcome.valid("one").load.unwrap();
    assert_eq!((load.counts.succeeded, load.connections.surplus), (600, 0));
    let seen = seen(&outcome.suite);
    let paths: std::collections::BTreeSet<&str> =
        seen.iter().map(|line| line[1].as_str()).collect();
    // One was verified and one looked at; the others are those of the load.
    assert_eq!((seen.len(), paths.len()), (602, 602));
}

#[test]
fn nginx_that_closes_now_and_then_loses_nothing_that_was_sent_ahead() {
    if std::process::Command::new("nginx")
        .arg("-v")
        .output()
        .is_err()
    {
        skipped("nginx is not on the PATH");
        return;
    }
    let conf = "daemon off; worker_processes 1; pid nginx.pid; error_log stderr; events {}\n\
        http { access_log off; keepalive_requests 50; client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;\n\
        server { listen 127.0.0.1:{{ port }}; location / { return 200 ok; } } }";
    let outcome = Suite::new()
        .file("nginx.conf.j2", conf)
        .server(
            "one",
            &[
                "nginx",
                "-e",
                "stderr",
                "-p",
                "{{ dir }}",
                "-c",
                "nginx.conf",
            ],
            "files = { 'nginx.conf' = 'nginx.conf.j2' }",
        )
        .load(
            "ahead",
            "pipelining = 8\nconnections = 2\nrequests = 2000\nwarmup = '0s'\nexpect.body = 'ok'",
        )
        .run()
        .exits(0);
    let load = outcome.valid("one").load.unwrap();
    assert_eq!(load.counts.succeeded, 2000);
    assert!(load.connections.closed_by_server >= 30, "{load:?}");
    assert!(load.connections.retried > 0, "{load:?}");
}
