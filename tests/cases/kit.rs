//! What all of these tests share: a suite that is written into a folder of its own, run with the
//! real binary, and looked at through what it left: exit code, records, reports, and processes.

use crate::fixture;
use hotlap::record::{Outcome as Verdict, Run, Step, Trial};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// What every server of a test has in its environment, with the test's folder as its value.
const MARK: &str = "HOTLAP_CASE";

/// Long enough for the slowest machine; nothing waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A suite file in the making, and how it will be run.
pub(crate) struct Suite {
    folder: tempfile::TempDir,
    run: Vec<String>,
    head: String,
    text: String,
    has_load: bool,
    arguments: Vec<String>,
    env: Vec<(String, String)>,
    under: Vec<String>,
    out: PathBuf,
}

impl Suite {
    /// One trial a cell, and no time spent on waiting.
    pub(crate) fn new() -> Self {
        Self::within(".tmp")
    }

    /// The same in a folder whose name begins so.
    pub(crate) fn within(beginning: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix(beginning)
            .tempdir()
            .unwrap();
        for name in ["locks", "tmp", "cache"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        // What the generator can do here is the same for all tests, and takes a second to measure.
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ceilings");
        fs::create_dir_all(&shared).unwrap();
        std::os::unix::fs::symlink(shared, folder.path().join("cache/ceilings")).unwrap();
        Self {
            folder,
            run: [
                "repetitions = 1",
                "warmup = '50ms'",
                "rest = '0s'",
                "cooldown = '0s'",
            ]
            .map(str::to_owned)
            .to_vec(),
            head: String::new(),
            text: String::new(),
            has_load: false,
            arguments: Vec::new(),
            env: Vec::new(),
            under: Vec::new(),
            out: PathBuf::from("reports"),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A key of `[run]`, in the place of what is there.
    pub(crate) fn setting(mut self, name: &str, value: &str) -> Self {
        put(&mut self.run, name, value);
        self
    }

    /// Without a key of `[run]`, so that its default holds.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.run
            .retain(|line| !line.starts_with(&format!("{name} ")));
        self
    }

    /// Keys of the suite itself, such as its title.
    pub(crate) fn head(mut self, lines: &str) -> Self {
        self.head.push_str(lines);
        self
    }

    /// Any TOML, at the end.
    pub(crate) fn toml(mut self, text: &str) -> Self {
        self.text.push_str(text);
        self.text.push('\n');
        self
    }

    /// A server with these lines.
    pub(crate) fn server(self, name: &str, command: &[&str], lines: &str) -> Self {
        let words: Vec<String> = command.iter().map(|word| quote(word)).collect();
        let header = format!(
            "[servers.{name}]\ncommand = [{}]\n{lines}",
            words.join(", ")
        );
        self.toml(&header)
    }

    /// The server that misbehaves as it is told.
    pub(crate) fn fixture(self, name: &str, behaviour: &fixture::Behaviour) -> Self {
        self.fixture_with(name, behaviour, "")
    }

    pub(crate) fn fixture_with(
        self,
        name: &str,
        behaviour: &fixture::Behaviour,
        lines: &str,
    ) -> Self {
        let env: Vec<String> = behaviour
            .env()
            .iter()
            .map(|(name, value)| format!("env.{name} = {}", quote(value)))
            .collect();
        let command = fixture::command();
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        self.server(name, &words, &format!("{}\n{lines}", env.join("\n")))
    }

    /// A server as a program for Node.
    pub(crate) fn node(self, name: &str, program: &str, lines: &str) -> Self {
        self.file(&format!("{name}.js"), program).server(
            name,
            &["node", &format!("{name}.js")],
            lines,
        )
    }

    /// A server as a program for Python.
    pub(crate) fn python(self, name: &str, program: &str, lines: &str) -> Self {
        let python = python().unwrap();
        self.file(&format!("{name}.py"), program).server(
            name,
            &[python, &format!("{name}.py")],
            lines,
        )
    }

    /// A file beside the suite.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.path().join(name), text).unwrap();
        self
    }

    /// A load with these lines.
    pub(crate) fn load(mut self, name: &str, lines: &str) -> Self {
        self.has_load = true;
        self.toml(&format!("[loads.{name}]\n{lines}"))
    }

    /// A word of the command line, after `hotlap run SUITE`.
    pub(crate) fn argument(mut self, word: &str) -> Self {
        self.arguments.push(word.to_owned());
        self
    }

    /// A variable of the caller's environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Where reports go; a folder of this suite unless it is said.
    pub(crate) fn out(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.out);
        self
    }

    /// Words in front of the command line, such as `taskset -c 0`.
    pub(crate) fn under(mut self, words: &[&str]) -> Self {
        self.under = words.iter().map(ToString::to_string).collect();
        self
    }

    /// Writes the suite file.
    fn write(&mut self) {
        if !self.has_load {
            self.text.push_str("[loads.steady]\nduration = '150ms'\n");
            self.has_load = true;
        }
        let mut text = format!("{}[run]\n{}\n", self.head, self.run.join("\n"));
        text.push_str("[defaults.load]\npath = '/'\nconnections = 2\n");
        let mark = quote(&self.path().display().to_string());
        let _ = writeln!(text, "[defaults.server]\nenv.{MARK} = {mark}");
        text.push_str(&self.text);
        fs::write(self.path().join("case.toml"), text).unwrap();
    }

    /// Runs it to its end and looks for what must never be: processes and scratch
    /// folders left, colours where there is no terminal, counts that contradict each other.
    pub(crate) fn run(mut self) -> Outcome {
        self.write();
        let arguments = self.arguments.clone();
        self.finish(&arguments)
    }

    fn finish(self, arguments: &[String]) -> Outcome {
        let output = self.command(arguments).output().unwrap();
        let outcome = Outcome {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            suite: self,
        };
        outcome.check();
        outcome
    }

    /// Starts it, for tests that do something to it while it runs.
    pub(crate) fn spawn(mut self) -> Running {
        self.write();
        let arguments = self.arguments.clone();
        self.start(&arguments)
    }

    fn start(self, arguments: &[String]) -> Running {
        let log = fs::File::create(self.path().join("stderr")).unwrap();
        let child = self
            .command(arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        Running { suite: self, child }
    }

    fn command(&self, arguments: &[String]) -> Command {
        let binary = env!("CARGO_BIN_EXE_hotlap");
        let mut words = self.under.iter().map(String::as_str).chain([binary]);
        let mut command = Command::new(words.next().unwrap());
        command
            .args(words)
            .args(["run", "case.toml", "--out"])
            .arg(&self.out)
            .args(arguments)
            .current_dir(self.path())
            .env("HOTLAP_LOCK_DIR", self.path().join("locks"))
            .env("TMPDIR", self.path().join("tmp"))
            .env("HOTLAP_CACHE_DIR", self.path().join("cache"))
            .env_remove("NODE_ENV")
            .stdin(Stdio::null());
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command
    }

    /// Any hotlap command in the suite's folder.
    pub(crate) fn hotlap(&self, arguments: &[&str]) -> std::process::Output {
        Command::new(env!("CARGO_BIN_EXE_hotlap"))
            .args(arguments)
            .current_dir(self.path())
            .env("HOTLAP_LOCK_DIR", self.path().join("locks"))
            .env("TMPDIR", self.path().join("tmp"))
            .env("HOTLAP_CACHE_DIR", self.path().join("cache"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// The folder of the only run; none where there is no run.
    pub(crate) fn run_folder(&self) -> Option<PathBuf> {
        let runs = fs::read_dir(self.path().join("reports/case/runs")).ok()?;
        let mut all: Vec<PathBuf> = runs
            .map(|entry| entry.unwrap().path())
            // Who is killed while making a folder leaves one that has no name yet.
            .filter(|folder| !folder.ends_with(".unborn"))
            .collect();
        assert!(all.len() <= 1, "one run makes one folder: {all:?}");
        all.pop()
    }

    /// The trials on disk so far; a torn last line is not one.
    pub(crate) fn trials(&self) -> Vec<Trial> {
        let Some(folder) = self.run_folder() else {
            return Vec::new();
        };
        let text = fs::read_to_string(folder.join("trials.jsonl")).unwrap_or_default();
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Pids of living processes of this suite, by the mark in their environment or
    /// by the suite's folder among their arguments.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let path = self.path().display().to_string();
        let mark = format!("{MARK}={path}");
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<u32>().ok())
            else {
                continue;
            };
            let has = |file: &str, text: &str| {
                fs::read(entry.path().join(file)).is_ok_and(|bytes| {
                    bytes
                        .split(|byte| *byte == 0)
                        .any(|part| part.starts_with(text.as_bytes()))
                })
            };
            if pid != std::process::id() && (has("environ", &mark) || has("cmdline", &path)) {
                found.push(pid);
            }
        }
        found
    }

    /// What lies in the temporary folder that the runner was given.
    pub(crate) fn scratch(&self) -> Vec<String> {
        fs::read_dir(self.path().join("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    }
}

/// Whether a cell's names begin so, up to the end of a name.
fn is_of(names: &str, beginning: &str) -> bool {
    names
        .strip_prefix(beginning)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '@']))
}

fn put(lines: &mut Vec<String>, name: &str, value: &str) {
    lines.retain(|line| !line.starts_with(&format!("{name} ")));
    lines.push(format!("{name} = {value}"));
}

/// A TOML basic string; JSON's escapes are TOML's too.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A run that goes on.
pub(crate) struct Running {
    pub(crate) suite: Suite,
    pub(crate) child: Child,
}

impl Running {
    /// Waits until so many trials are on disk.
    pub(crate) fn wait_for_trials(&mut self, number: usize) {
        until(&format!("{number} trials are on disk"), || {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "it ended: {}",
                self.stderr()
            );
            self.suite.trials().len() >= number
        });
    }

    /// Waits until a server of the suite lives.
    pub(crate) fn wait_for_server(&mut self) {
        until("a server lives", || {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "it ended: {}",
                self.stderr()
            );
            !self.suite.processes().is_empty()
        });
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// The same signal, and at once again.
    pub(crate) fn signal_twice(&self, name: &str) {
        let pid = self.child.id();
        signal(pid, &format!("{name} {pid}; kill -{name}"));
    }

    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.suite.path().join("stderr")).unwrap()
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Outcome {
        let mut status = None;
        until("the runner ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let stderr = self.stderr();
        Outcome {
            exit: status.unwrap().code(),
            stdout: String::new(),
            stderr,
            suite: self.suite,
        }
    }
}

/// What a run left.
pub(crate) struct Outcome {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) suite: Suite,
}

impl Outcome {
    fn check(&self) {
        assert_eq!(
            self.suite.processes(),
            Vec::<u32>::new(),
            "processes are left\n{}",
            self.stderr
        );
        assert_eq!(
            self.suite.scratch(),
            Vec::<String>::new(),
            "scratch is left\n{}",
            self.stderr
        );
        assert!(!self.stderr.contains('\u{1b}'), "{:?}", self.stderr);
        for trial in self.trials() {
            if let Some(load) = &trial.load {
                load.counts.check().unwrap();
                let by_kind: u64 = load.errors.values().sum();
                assert_eq!(by_kind, load.counts.errors(), "{load:?}");
            }
        }
    }

    /// Nothing of the suite is left, waiting for what the guards are still ending.
    pub(crate) fn nothing_is_left(&self) {
        until(&format!("no process is left\n{}", self.stderr), || {
            self.suite.processes().is_empty()
        });
        until(&format!("no scratch is left\n{}", self.stderr), || {
            self.suite.scratch().is_empty()
        });
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.exit,
            Some(code),
            "{}\n{:#?}",
            self.stderr,
            self.verdicts()
        );
        self
    }

    pub(crate) fn trials(&self) -> Vec<Trial> {
        self.suite.trials()
    }

    fn verdicts(&self) -> Vec<(String, Verdict)> {
        self.trials()
            .into_iter()
            .map(|trial| (trial.trial.to_string(), trial.outcome))
            .collect()
    }

    /// The only trial of the cell whose names begin so.
    #[track_caller]
    pub(crate) fn trial(&self, cell: &str) -> Trial {
        let mut found: Vec<Trial> = self
            .trials()
            .into_iter()
            .filter(|trial| is_of(trial.trial.cell.names(), cell))
            .collect();
        assert_eq!(found.len(), 1, "one trial of {cell}\n{}", self.stderr);
        found.remove(0)
    }

    /// The only trial of the cell, which must be valid.
    #[track_caller]
    pub(crate) fn valid(&self, cell: &str) -> Trial {
        let trial = self.trial(cell);
        assert_eq!(trial.outcome, Verdict::Valid, "{}", self.stderr);
        trial
    }

    /// The only trial of the cell with the reasons for which it is invalid.
    #[track_caller]
    pub(crate) fn invalid(&self, cell: &str) -> (Trial, String) {
        let trial = self.trial(cell);
        let Verdict::Invalid { reasons } = &trial.outcome else {
            panic!("{cell} is {:?}", trial.outcome)
        };
        let reasons = reasons.join("\n");
        assert!(self.markdown().contains("nvalid"), "{}", self.markdown());
        (trial, reasons)
    }

    /// The only trial of the cell, which failed at a step: why, and the end of its log.
    #[track_caller]
    pub(crate) fn failed(&self, cell: &str, at: Step) -> (Trial, String, String) {
        let trial = self.trial(cell);
        let Verdict::Failed {
            step,
            reason,
            log_tail,
        } = trial.outcome.clone()
        else {
            panic!("{cell} is {:?}", trial.outcome)
        };
        assert_eq!(step, at, "{reason}");
        (trial, reason, log_tail.join("\n"))
    }

    pub(crate) fn run(&self) -> Run {
        serde_json::from_str(&self.read("run.json")).unwrap()
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.suite.run_folder().unwrap().join(file)).unwrap()
    }

    pub(crate) fn markdown(&self) -> String {
        self.read("report.md")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.read("report.json")).unwrap()
    }

    /// The cell of `report.json` whose names begin so.
    #[track_caller]
    pub(crate) fn cell(&self, names: &str) -> serde_json::Value {
        let json = self.json();
        let cells = json["cells"].as_array().unwrap();
        let found = cells
            .iter()
            .find(|cell| is_of(cell["id"].as_str().unwrap(), names));
        found.unwrap().clone()
    }

    /// The rows of a CSV by column.
    pub(crate) fn csv(&self, file: &str) -> Vec<std::collections::BTreeMap<String, String>> {
        let text = self.read(file);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        reader.deserialize().map(Result::unwrap).collect()
    }

    /// Runs the same suite again with other arguments.
    pub(crate) fn again(self, arguments: &[&str]) -> Self {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        self.suite.finish(&arguments)
    }
}

/// Waits until something is so, and fails the test if it never is.
#[track_caller]
pub(crate) fn until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Sends a signal to a process that the test started.
pub(crate) fn signal(pid: u32, name: &str) {
    // It may have ended by itself a moment ago.
    let _ = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid} 2>/dev/null")])
        .status()
        .unwrap();
}

/// The interpreter itself, not a wrapper of it; none where there is no Python.
pub(crate) fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let output = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output();
        let path = String::from_utf8(output.ok()?.stdout).ok()?;
        (!path.trim().is_empty()).then(|| path.trim().to_owned())
    };
    PYTHON.get_or_init(find).as_deref()
}

/// Whether Python is missing, said aloud.
pub(crate) fn without_python() -> bool {
    python().is_none() && missing("there is no python3 on the PATH")
}

/// Whether Node is missing, said aloud.
pub(crate) fn without_node() -> bool {
    static NODE: OnceLock<bool> = OnceLock::new();
    let there = *NODE.get_or_init(|| {
        Command::new("node")
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success())
    });
    !there && missing("there is no node on the PATH")
}

/// A tool that could be installed is not there: said aloud, or a failure where
/// `HOTLAP_TEST_STRICT` is set. Always true.
pub(crate) fn missing(why: &str) -> bool {
    let strict = std::env::var_os("HOTLAP_TEST_STRICT").is_some_and(|value| value == "1");
    assert!(
        !strict,
        "{why}, and HOTLAP_TEST_STRICT=1 lets no test be skipped for that"
    );
    skipped(why)
}

/// Says, past the capture of a test's output, that a test did not test anything. Always true.
pub(crate) fn skipped(why: &str) -> bool {
    static SKIPPED: AtomicU32 = AtomicU32::new(0);
    let number = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("skipped: {test}: {why} (skipped so far: {number})\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    true
}

/// A server, as a program for Python, of the files of its folder.
pub(crate) const FILES: &str = r"
import os
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
class Handler(SimpleHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *_):
        pass
ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
";

/// A server, as a program for Python, of one text: the value of an expression when it starts.
pub(crate) fn serving(text: &str) -> String {
    format!(
        r"
import os, subprocess, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
body = ({text}).encode()
class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Handler).serve_forever()
"
    )
}
