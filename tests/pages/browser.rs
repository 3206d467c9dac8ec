//! A real browser: headless Chromium by its driver, which speaks `WebDriver` (JSON over HTTP on a port of its own choice).

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// The Enter key, as `WebDriver` writes it.
pub(crate) const ENTER: &str = "\u{e007}";
/// The name under which `WebDriver` hands elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// Its profile, new and empty.
    _profile: TempDir,
    /// One browser at a time: each has several processes.
    _turn: MutexGuard<'static, ()>,
}

static TURN: Mutex<()> = Mutex::new(());

impl Browser {
    /// Starts one; none where there is none on this machine, which is said, and a failure where `HOTLAP_TEST_STRICT` is set.
    pub(crate) fn start() -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut driver) = driver else {
            missing("chromedriver is not on the PATH");
            return None;
        };
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let said = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        let port = said.unwrap();
        // It must never wait for somebody to read what it prints.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().unwrap();
        let folder = format!("--user-data-dir={}", profile.path().display());
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
            _turn: turn,
            _profile: profile,
        };
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            folder.as_str(),
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let answer = browser.ask("POST", "/session", &wanted);
        answer["sessionId"]
            .as_str()
            .unwrap()
            .clone_into(&mut browser.session);
        Some(browser)
    }

    /// Opens a file.
    pub(crate) fn open(&self, path: &std::path::Path) {
        self.post(
            "/url",
            &json!({"url": format!("file://{}", path.display())}),
        );
    }

    /// What a function body gives in the page.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    /// The same of a script that calls back.
    pub(crate) fn wait_for(&self, script: &str) -> Value {
        self.post("/execute/async", &json!({"script": script, "args": []}))
    }

    /// A click on the first such element.
    pub(crate) fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Keys, typed into the first such element.
    pub(crate) fn type_into(&self, selector: &str, keys: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/value"), &json!({"text": keys}));
    }

    /// A window of this size, as a phone's.
    pub(crate) fn resize(&self, width: u32) {
        let size = json!({"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": true});
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// A reader who wants dark pages, or light ones.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", &features);
    }

    /// What the page said on its console since it was last asked, and what the browser had to complain of.
    pub(crate) fn console(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({"type": "browser"}));
        let entries = entries.as_array().unwrap().iter();
        entries
            .map(|entry| entry["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Every address that was asked for since it was last asked, but for those of the browser's own first page.
    pub(crate) fn requests(&self) -> Vec<String> {
        let entries = self.post("/se/log", &json!({"type": "performance"}));
        let message = |entry: &Value| -> Option<String> {
            let text: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let message = &text["message"];
            (message["method"] == "Network.requestWillBeSent").then(|| {
                message["params"]["request"]["url"]
                    .as_str()
                    .map(str::to_owned)
            })?
        };
        let all = entries.as_array().unwrap().iter().filter_map(message);
        all.filter(|address| !address.starts_with("chrome:"))
            .collect()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.post(
            "/element",
            &json!({"using": "css selector", "value": selector}),
        );
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    fn devtools(&self, method: &str, parameters: &Value) {
        self.post(
            "/goog/cdp/execute",
            &json!({"cmd": method, "params": parameters}),
        );
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", &format!("/session/{}{path}", self.session), body)
    }

    /// One request to the driver; what is wrong with it fails the test.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .unwrap();
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).unwrap();
            let line = line.trim_end();
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut bytes = vec![0; length];
        answer.read_exact(&mut bytes).unwrap();
        let mut answer: Value = serde_json::from_slice(&bytes).unwrap();
        let value = answer["value"].take();
        assert!(value["error"].is_null(), "{method} {path}: {value}");
        value
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.ask("DELETE", &format!("/session/{}", self.session), &json!({}));
        }
        // A driver that is asked politely takes its browser with it.
        let pid = rustix::process::Pid::from_child(&self.driver);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.driver.wait();
    }
}

fn missing(why: &str) {
    let strict = std::env::var_os("HOTLAP_TEST_STRICT").is_some_and(|value| value == "1");
    assert!(
        !strict,
        "{why}, and HOTLAP_TEST_STRICT=1 lets no test be skipped for that"
    );
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Past the capture of a test's output.
    let _ = std::io::stderr().write_all(format!("skipped: {test}: {why}\n").as_bytes());
}
