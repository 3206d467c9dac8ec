//! Servers of several processes, what they lean on, what they are given, and those that run already.

use crate::fixture::Behaviour;
use crate::kit::{FILES, Suite, missing, python, quote, serving, without_python};
use hotlap::record::{Proof, Step};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server that writes `+name` into a file when it listens and `-name` when it is asked to end.
const DIARIST: &str = r"
import os, signal, socket, sys, threading
name, diary = sys.argv[1], sys.argv[2]
def write(what):
    with open(diary, 'a') as file:
        file.write(what + name + '\n')
listener = socket.create_server(('127.0.0.1', int(os.environ['PORT'])))
def end(*_):
    write('-')
    os._exit(0)
signal.signal(signal.SIGTERM, end)
write('+')
def serve(client):
    while client.recv(65536):
        client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
while True:
    client, _ = listener.accept()
    threading.Thread(target=serve, args=(client,), daemon=True).start()
";

fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            } else {
                all.push(entry.path());
            }
        }
    }
    all
}

#[test]
fn nginx_in_front_of_two_workers_is_one_server() {
    if !is_there("nginx") && missing("there is no nginx on the PATH") {
        return;
    }
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
  upstream app {
    {% for port in ports["app"] %}server 127.0.0.1:{{ port }};
    {% endfor %}keepalive 16;
  }
  server {
    listen 127.0.0.1:{{ port }};
    location / { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
"#;
    let outcome = Suite::new()
        .file("nginx.conf.j2", config)
        .toml(
            "[servers.balanced]\nfront = 'proxy'\n\
             [servers.balanced.processes.app]\ncommand = 'hotlap serve --port {{ port }} --body-bytes 100'\ncount = 2\n\
             [servers.balanced.processes.proxy]\nneeds = ['app']\nfiles = { 'nginx.conf' = 'nginx.conf.j2' }\n\
             command = 'nginx -p {{ dir }} -c nginx.conf'\n",
        )
        .run()
        .exits(0);
    let trial = outcome.valid("balanced");
    assert_eq!(trial.listener, Proof::Proved);
    let stopped: Vec<&String> = trial.stops.keys().collect();
    assert_eq!(stopped, ["app@1", "app@2", "proxy"]);
    assert!(trial.stops.values().all(|stop| stop.polite), "{trial:?}");
    let roles: Vec<&String> = trial.usage.keys().collect();
    assert_eq!(roles, ["app", "proxy", "total"]);
    let rss = |role: &str| trial.usage[role].rss_peak.unwrap();
    assert!(rss("total") > rss("app") && rss("app") > 0 && rss("proxy") > 0);
    // Two workers, and nginx with one of its own.
    assert!(trial.usage["app"].processes >= 2);
    assert_eq!(trial.usage["proxy"].processes, 2);
    let logs = outcome.suite.run_folder().unwrap().join("logs");
    for name in ["app@1.log", "app@2.log", "proxy.log"] {
        assert!(
            files(&logs).iter().any(|file| file.ends_with(name)),
            "{name}"
        );
    }
}

#[test]
fn all_start_in_the_order_of_their_needs_and_end_in_the_reverse() {
    if without_python() {
        return;
    }
    let suite = Suite::new();
    let diary = quote(&suite.path().join("diary").display().to_string());
    let command = |name: &str| {
        let python = quote(python().unwrap());
        format!("command = [{python}, 'diarist.py', '{name}', {diary}]\n")
    };
    let outcome = suite
        .setting("repetitions", "2")
        .file("diarist.py", DIARIST)
        .toml(&format!("[services.db]\n{}", command("db")))
        .toml(&format!("[services.cache]\nscope = 'trial'\nneeds = ['db']\n{}", command("cache")))
        .toml("[servers.many]\nfront = 'front'\n[servers.many.processes.front]\nneeds = ['app', 'cache']")
        .toml(&command("front"))
        .toml(&format!(
            "[servers.many.processes.app]\ncount = 2\n{}",
            command("app.{{ index }}")
        ))
        .run()
        .exits(0);
    let trial = "+cache +app.1 +app.2 +front -front -app.2 -app.1 -cache";
    let written = fs::read_to_string(outcome.suite.path().join("diary")).unwrap();
    let written: Vec<&str> = written.lines().collect();
    assert_eq!(written.join(" "), format!("+db {trial} {trial} -db"));
    let trials = outcome.trials();
    let usage = &trials[1].usage;
    let roles: Vec<&String> = usage.keys().collect();
    assert_eq!(roles, ["app", "cache", "db", "front", "total"]);
}

#[test]
fn a_worker_that_dies_takes_the_trial_down_by_its_name() {
    let suite = Suite::new();
    let count = suite.path().join("count").display().to_string();
    // The helper dies when the front has answered a hundred requests.
    let helper = format!(
        "echo up; until grep -qs '[1-9][0-9][0-9]' {count}; do sleep 0.01; done; echo 'the queue is lost' >&2; exit 7"
    );
    let front = Behaviour::good().counting_in(&count);
    let env: Vec<String> = front
        .env()
        .iter()
        .map(|(name, value)| format!("env.{name} = {}", quote(value)))
        .collect();
    let words: Vec<String> = crate::fixture::command()
        .iter()
        .map(|word| quote(word))
        .collect();
    let outcome = suite
        .toml(&format!(
            "[servers.many]\nfront = 'front'\n\
             [servers.many.processes.front]\nneeds = ['helper']\ncommand = [{}]\n{}\n\
             [servers.many.processes.helper]\ncommand = ['sh', '-c', {}]\nready = {{ log = 'up' }}",
            words.join(", "),
            env.join("\n"),
            quote(&helper),
        ))
        .fixture("alone", &Behaviour::good())
        .load("long", "duration = '20s'")
        .argument("--only")
        .argument("server=many")
        .run()
        .exits(1);
    let (trial, reason, tail) = outcome.failed("many", Step::Load);
    assert!(
        reason.starts_with("the process `helper` exited with 7 "),
        "{reason}"
    );
    assert!(tail.contains("the queue is lost"), "{tail}");
    let load = trial.load.unwrap();
    assert!(
        load.warmup_requests + load.counts.succeeded >= 90,
        "{load:?}"
    );
    assert_eq!(trial.stops.len(), 2);
    assert!(outcome.markdown().contains("exited with 7"));
}

#[test]
fn a_service_that_cannot_be_had_is_named_with_its_command() {
    let outcome = Suite::new()
        .toml(
            "[services.unmade]\nsetup = ['true', \"sh -c 'echo no room left; exit 4'\"]\ncommand = 'sleep 60'\n\
             [services.late]\ncommand = 'sleep 60'\nready = { command = \"sh -c 'echo not yet; exit 1'\", timeout = '300ms' }\n\
             [services.mute]\ncommand = 'sleep 60'\nready = { log = 'ready for work', timeout = '200ms' }\n\
             [services.deaf]\ncommand = 'sleep 60'\nready = { timeout = '200ms' }\n\
             [services.brief]\ncommand = \"sh -c 'echo broken pipe; exit 9'\"\n",
        )
        .fixture_with("a", &Behaviour::good(), "needs = ['unmade']")
        .fixture_with("b", &Behaviour::good(), "needs = ['late']")
        .fixture_with("c", &Behaviour::good(), "needs = ['mute']")
        .fixture_with("d", &Behaviour::good(), "needs = ['deaf']")
        .fixture_with("e", &Behaviour::good(), "needs = ['brief']")
        .fixture("good", &Behaviour::good())
        .run()
        .exits(1);
    let (_, reason, tail) = outcome.failed("a", Step::Start);
    assert!(
        reason.contains("`setup` of the service `unmade` failed: `sh -c"),
        "{reason}"
    );
    assert!(
        reason.contains("exited with 4") && tail.contains("no room left"),
        "{reason} {tail}"
    );
    let (_, reason, _) = outcome.failed("b", Step::Ready);
    assert!(
        reason.contains("the service `late`, `sleep 60`, was not ready"),
        "{reason}"
    );
    assert!(reason.contains("not yet"), "{reason}");
    let (_, reason, _) = outcome.failed("c", Step::Ready);
    assert!(
        reason.contains("did not print \"ready for work\" within"),
        "{reason}"
    );
    let (_, reason, _) = outcome.failed("d", Step::Ready);
    assert!(
        reason.contains("the service `deaf`, `sleep 60`, did not listen on 127.0.0.1:"),
        "{reason}"
    );
    let (_, reason, tail) = outcome.failed("e", Step::Ready);
    assert!(
        reason.contains("the service `brief` exited with 9 before it was ready"),
        "{reason}"
    );
    assert!(tail.contains("broken pipe"), "{tail}");
    outcome.valid("good");
}

#[test]
fn services_that_ended_between_two_trials_are_started_again_with_those_that_lean_on_them() {
    if without_python() {
        return;
    }
    let suite = Suite::new();
    let diary = quote(&suite.path().join("diary").display().to_string());
    let python_name = quote(python().unwrap());
    let pid = suite.path().join("pid").display().to_string();
    // The server ends the database, sees it gone, and ends itself: always between two trials.
    let server = format!(
        "$0 diarist.py app {diary} & echo $! > own; \
         trap 'kill -9 $(cat {pid}); while kill -0 $(cat {pid}) 2>/dev/null; do :; done; kill $(cat own); wait' TERM; wait"
    );
    let service =
        |name: &str| format!("command = [{python_name}, 'diarist.py', '{name}', {diary}]");
    let outcome = suite
        .setting("repetitions", "2")
        .file("diarist.py", DIARIST)
        .toml(&format!(
            "[services.db]\ncommand = ['sh', '-c', 'echo $$ > {pid}; exec $0 diarist.py db $1', {python_name}, {diary}]"
        ))
        .toml(&format!("[services.cache]\nneeds = ['db']\n{}", service("cache")))
        .toml(&format!(
            "[servers.app]\nneeds = ['cache']\ncommand = ['sh', '-c', {}, {python_name}]",
            quote(&server)
        ))
        .run()
        .exits(0);
    let trials = outcome.trials();
    assert_eq!(trials.len(), 2);
    let said = &trials[1].warnings;
    assert!(
        said.iter().any(|warning| warning
            == "the service `db` was killed by SIGKILL between two trials, and was started again"),
        "{said:?}"
    );
    let written = fs::read_to_string(outcome.suite.path().join("diary")).unwrap();
    let written: Vec<&str> = written.lines().collect();
    assert_eq!(
        written.join(" "),
        "+db +cache +app -app -cache +db +cache +app -app -cache"
    );
}

#[test]
fn a_process_has_the_environment_that_the_suite_says_and_its_secrets_are_nowhere() {
    if without_python() {
        return;
    }
    // What it answers is no secret, what it prints is.
    let program = serving(
        "print('opening with', os.environ['SESAME'], sys.argv[1], flush=True) or \
         ' '.join(name + '=' + os.environ.get(name, '-').replace(os.environ['SESAME'], 'hidden') \
         for name in ['GIVEN', 'PASSED', 'TAKEN', 'STRAY', 'LANG', 'SESAME'])",
    );
    let secret = "open-5e5ame-now";
    let python_name = quote(python().unwrap());
    let outcome = Suite::new()
        .env("PASSED", "from outside")
        .env("STRAY", "from outside")
        .env("SESAME", secret)
        .file("env.py", &program)
        .toml(&format!(
            "[servers.app]\ncommand = [{python_name}, 'env.py', '{{{{ env.SESAME }}}}']\n\
             env = {{ GIVEN = 'by the suite', TAKEN = 'away' }}\nunset_env = ['TAKEN', 'LANG']\n\
             pass_env = ['PASSED', 'SESAME']\nsecret = ['SESAME']\n\
             [servers.broken]\ncommand = ['no-such-program', '{{{{ env.SESAME }}}}']\n\
             pass_env = ['SESAME']\nsecret = ['SESAME']"
        ))
        .load(
            "a",
            "duration = '150ms'\nexpect.body = 'GIVEN=by the suite PASSED=from outside TAKEN=- STRAY=- LANG=- SESAME=hidden'",
        )
        .run()
        .exits(1);
    outcome.valid("app");
    let (_, reason, _) = outcome.failed("broken", Step::Start);
    assert!(reason.contains("{{ env.SESAME }}"), "{reason}");
    let reports = outcome.suite.path().join("reports");
    let mut opened = false;
    for file in files(&reports) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert!(
            !text.contains(secret),
            "{} holds the secret",
            file.display()
        );
        opened |= text.contains("opening with *** ***");
    }
    assert!(opened, "the log is kept without the secret");
    assert!(!outcome.stderr.contains(secret), "{}", outcome.stderr);
}

#[test]
fn a_copy_is_run_in_the_copy_and_prepared_there() {
    if without_python() {
        return;
    }
    let suite = Suite::new();
    fs::create_dir_all(suite.path().join("app/conf")).unwrap();
    let python_name = quote(python().unwrap());
    let outcome = suite
        .file("app/serve.py", FILES)
        .file("app/port.j2", "{{ server }} {{ toggles.mode }} {{ load }}")
        .toml(&format!(
            "[servers.app]\ncwd = 'app'\nscratch = 'copy'\ncommand = [{python_name}, 'serve.py']\n\
             files = {{ 'conf/port' = 'port.j2' }}\nready = {{ path = '/conf/port' }}\n\
             prepare = [\"sh -c 'cat {{{{ dir }}}}/conf/port > made; echo ! >> made'\"]\n\
             [toggles.mode]\nvalues = ['fast']"
        ))
        .load(
            "a",
            "path = '/made'\nduration = '150ms'\nexpect.body = \"app fast a!\\n\"",
        )
        .run()
        .exits(0);
    outcome.valid("app");
    let left: Vec<String> = files(&outcome.suite.path().join("app"))
        .iter()
        .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_template_with_a_mistake_is_told_before_anything_starts() {
    let outcome = Suite::new()
        .file(
            "a.conf.j2",
            "listen {{ port }};\nupstream {{ ports[\"ap\"][0] }};\n",
        )
        .fixture_with(
            "app",
            &Behaviour::good(),
            "files = { 'a.conf' = 'a.conf.j2' }",
        )
        .run()
        .exits(2);
    assert!(
        outcome.stderr.contains("a.conf.j2, line 2"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.suite.run_folder().is_none());
}

/// `hotlap serve` as somebody else's server.
struct Demo {
    child: Child,
    port: u16,
}

impl Demo {
    fn start() -> Self {
        use std::io::{BufRead as _, BufReader};
        let child = Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .args(["serve", "--port", "0", "--workers", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // From here on it ends with this, whatever fails.
        let mut demo = Self { child, port: 0 };
        let mut line = String::new();
        BufReader::new(demo.child.stderr.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line
            .trim()
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok());
        demo.port = port.unwrap_or_else(|| panic!("no port in {line:?}"));
        demo
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It is ours, and not reaped before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_server_that_runs_already_is_measured_and_left_alone() {
    let mut demo = Demo::start();
    let outcome = Suite::new()
        .toml(&format!(
            "[servers.there]\nurl = 'http://127.0.0.1:{}'",
            demo.port
        ))
        .toml("[servers.gone]\nurl = 'http://127.0.0.1:1'\nready = { timeout = '200ms' }")
        .run()
        .exits(1);
    let trial = outcome.valid("there");
    assert_eq!(trial.listener, Proof::Untested);
    assert_eq!(trial.startup_ns, None);
    let usage = &trial.usage["total"];
    assert!(usage.rss_peak.unwrap() > 1 << 20, "{usage:?}");
    assert!(usage.processes >= 2, "{usage:?}");
    assert!(trial.stops.is_empty());
    let (_, reason, _) = outcome.failed("gone", Step::Ready);
    assert!(
        reason.contains("the server, which should run already, did not answer on 127.0.0.1:1"),
        "{reason}"
    );
    assert!(demo.child.try_wait().unwrap().is_none(), "it still runs");
}

#[test]
fn a_worker_that_takes_the_fronts_port_is_no_front() {
    if without_python() {
        return;
    }
    // Both listen on the front's port, so that the kernel spreads connections over the two.
    let program = r"
import os, socket, sys, threading
def listen(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(('127.0.0.1', port))
    listener.listen()
    return listener
def serve(listener):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=answer, args=(client,), daemon=True).start()
def answer(client):
    while client.recv(65536):
        client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
for port in sys.argv[2:]:
    threading.Thread(target=serve, args=(listen(int(port)),)).start()
serve(listen(int(sys.argv[1])))
";
    let python_name = quote(python().unwrap());
    let outcome = Suite::new()
        .file("port.py", program)
        .toml(&format!(
            "[servers.many]\nfront = 'front'\n\
             [servers.many.processes.front]\nneeds = ['greedy']\ncommand = [{python_name}, 'port.py', '{{{{ port }}}}']\n\
             [servers.many.processes.greedy]\ncommand = [{python_name}, 'port.py', '{{{{ port }}}}', '{{{{ ports[\"front\"][0] }}}}']"
        ))
        .run()
        .exits(1);
    let (_, reason, _) = outcome.failed("many", Step::Ready);
    assert!(
        reason.contains("which is no process of this server"),
        "{reason}"
    );
}

#[test]
fn postgresql_is_made_prepared_and_ended() {
    let bin = fs::read_dir("/usr/lib/postgresql")
        .ok()
        .and_then(|versions| {
            let mut all: Vec<_> = versions.flatten().map(|entry| entry.path()).collect();
            all.sort();
            Some(all.pop()?.join("bin").display().to_string())
        });
    let Some(bin) = bin else {
        missing("there is no PostgreSQL in /usr/lib/postgresql");
        return;
    };
    if without_python() {
        return;
    }
    // It refuses to be run by root.
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let (own, user) = if is_root {
        (
            "'chown postgres {{ dir }}', ",
            "setpriv --reuid=postgres --clear-groups ",
        )
    } else {
        ("", "")
    };
    let outcome = Suite::new()
        .setting("repetitions", "2")
        .toml(&format!(
            "[services.db]\n\
             setup = [{own}'{user}{bin}/initdb -A trust -U postgres -D {{{{ dir }}}}/data', \"sh -c 'echo made >> made'\"]\n\
             command = '{user}{bin}/postgres -D {{{{ dir }}}}/data -p {{{{ port }}}} -k {{{{ dir }}}} -c listen_addresses=127.0.0.1'\n\
             ready = {{ command = '{bin}/pg_isready -h 127.0.0.1 -p {{{{ port }}}}' }}\n\
             prepare = ['{bin}/psql -v ON_ERROR_STOP=1 -h 127.0.0.1 -p {{{{ port }}}} -U postgres -c \"create table laps (lap int); insert into laps values (7)\"']\n\
             stop = {{ signal = 'SIGINT' }}\nprobe = '{bin}/postgres --version'"
        ))
        .file(
            "app.py",
            &serving(&format!(
                "subprocess.run(['{bin}/psql', '-tA', '-h', '127.0.0.1', '-p', os.environ['DB'], '-U', 'postgres', \
                 '-c', 'select sum(lap) from laps'], capture_output=True, check=True, text=True).stdout"
            )),
        )
        .server(
            "app",
            &[python().unwrap(), "app.py"],
            "needs = ['db']\nenv.DB = '{{ services[\"db\"].port }}'",
        )
        .load("a", "duration = '150ms'\nexpect.body = \"7\\n\"")
        .run()
        .exits(0);
    let trials = outcome.trials();
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        assert!(trial.usage["db"].processes >= 3, "{trial:?}");
    }
    let made = fs::read_to_string(outcome.suite.path().join("made")).unwrap();
    assert_eq!(made, "made\n", "it is made once for both trials");
    let versions = outcome.run().versions;
    assert!(
        versions["db (service)"].contains("PostgreSQL"),
        "{versions:?}"
    );
}

#[test]
fn variants_that_are_asked_differently_for_their_version_are_told_apart() {
    let outcome = Suite::new()
        .fixture_with(
            "app",
            &Behaviour::good(),
            "probe = 'echo app {{ toggles.major }}'",
        )
        .fixture_with("other", &Behaviour::good(), "probe = 'echo other'")
        .toml("[toggles.major]\nvalues = [4, 5]\n[toggles.mode]\nservers = ['app']\nvalues = ['x', 'y']\nenv.MODE = '{{ value }}'")
        .run()
        .exits(0);
    let versions = outcome.run().versions;
    let told: Vec<String> = versions
        .iter()
        .map(|(whose, version)| format!("{whose}: {version}"))
        .collect();
    assert_eq!(
        told,
        [
            "app/major=4 (server): app 4",
            "app/major=5 (server): app 5",
            "other (server): other"
        ]
    );
}
