//! What the guard's and the sampler's tests share: launches of small programs
//! with hotlap itself as guard, and a look at who is alive.

use hotlap::process::{Guard, GuardProgram, Launch};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// hotlap as the guard.
pub(crate) fn program() -> GuardProgram {
    GuardProgram(PathBuf::from(env!("CARGO_BIN_EXE_hotlap")))
}

/// A folder of a test, with the launches in it.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// A path in it as text: unique on this machine, so that a process which
    /// has it among its arguments is a process of this test.
    pub(crate) fn mark(&self) -> String {
        self.path().join("mark").to_str().unwrap().to_owned()
    }

    pub(crate) fn launch(&self, command: &[&str]) -> Launch {
        Launch {
            role: "server".into(),
            command: command.iter().map(ToString::to_string).collect(),
            env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
            cwd: self.path().to_owned(),
            log: self.path().join("server.log"),
            log_cap: Launch::LOG_CAP,
            stdout: None,
            stop_signal: "SIGTERM".into(),
            grace: Duration::from_secs(20),
            nofile: None,
            affinity: None,
            ledger: Some(self.path().join("ledgers/server.json")),
            shown: None,
            secrets: Vec::new(),
        }
    }

    /// A shell script, with the mark as its first argument.
    pub(crate) fn sh(&self, script: &str) -> Launch {
        self.launch(&["sh", "-c", script, "sh", &self.mark()])
    }

    /// A Python program, with the mark as its argument.
    pub(crate) fn python(&self, script: &str) -> Launch {
        let python = python().unwrap();
        self.launch(&[python, "-c", script, &self.mark()])
    }

    /// Living processes that carry the mark, guards apart.
    pub(crate) fn marked(&self) -> Vec<u32> {
        let mark = self.mark();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
            else {
                continue;
            };
            let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if arguments
                .split(|&byte| byte == 0)
                .any(|argument| argument == mark.as_bytes())
            {
                found.push(pid);
            }
        }
        found
    }

    /// Waits for a file that a program of the test writes when it has come so far.
    pub(crate) fn wait_for(&self, name: &str) -> String {
        let path = self.path().join(name);
        until(&format!("{name} is written"), || {
            fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))
        });
        fs::read_to_string(path).unwrap().trim().to_owned()
    }
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

/// Whether Python is missing: said aloud and noted in a file, or a failure where `HOTLAP_TEST_STRICT` is set.
#[expect(
    clippy::print_stderr,
    reason = "a test that is skipped must not look as if it passed"
)]
pub(crate) fn without_python() -> bool {
    const WHY: &str = "there is no python3 on the PATH";
    if python().is_some() {
        return false;
    }
    let strict = std::env::var_os("HOTLAP_TEST_STRICT").is_some_and(|value| value == "1");
    assert!(
        !strict,
        "{WHY}, and HOTLAP_TEST_STRICT=1 lets no test be skipped"
    );
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("skipped: {test}: {WHY}");
    let notes = Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped");
    let mut notes = fs::File::options()
        .append(true)
        .create(true)
        .open(notes)
        .unwrap();
    // One write, so that lines of tests that run at once stay whole.
    notes
        .write_all(format!("{test}: {WHY}\n").as_bytes())
        .unwrap();
    true
}

/// Waits until something is so, and fails the test if it is not in half a minute.
pub(crate) fn until(what: &str, so: impl FnMut() -> bool) {
    within(Duration::from_secs(30), what, so);
}

/// Waits until something is so, and fails the test if it is not by then.
pub(crate) fn within(time: Duration, what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + time;
    while !so() {
        assert!(Instant::now() < deadline, "not within {time:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process is there and not a zombie.
pub(crate) fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|text| Some(text.rsplit_once(')')?.1.trim().starts_with('Z')))
        .is_some_and(|zombie| !zombie)
}

/// Sends a signal to a process that the test started.
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .status();
    assert!(status.unwrap().success());
}

pub(crate) async fn start(launch: &Launch) -> Guard {
    Guard::start(&program(), launch).await.unwrap()
}
