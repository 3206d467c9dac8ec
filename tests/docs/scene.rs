//! What a page shows is done, in a folder of its own and with a demo server of its own.

use crate::commands::lines;
use crate::page::{Item, Page, pages, root};
use crate::shape::missing;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Blocks that are not run, each by its page, its first line and why.
const NOT_RUN: &[(&str, &str, &str)] = &[
    (
        "README.md",
        "cargo run --release -- run suites/quickstart.toml",
        ".ci/run does this, with a release build",
    ),
    ("README.md", "cargo test", "it is this"),
    (
        "README.md",
        "reports/",
        "a folder's shape; tests/cases and tests/store_runs.rs look for these files",
    ),
    (
        "docs/guide.md",
        "hotlap run suite.toml --baseline latest     # the report says what has become of it",
        "needs an earlier run of minutes; tests/cases/compare.rs",
    ),
    (
        "docs/guide.md",
        "git fetch origin main",
        "needs a remote; tests/cases/revisions.rs",
    ),
    (
        "docs/first-suite.md",
        "reports/**/run.json",
        "what git ignores; this repository ignores the same",
    ),
    (
        "docs/from-crank.md",
        "imports:",
        "crank's own format, and crank needs agents",
    ),
    (
        "docs/nights.md",
        "30 2 * * *  cd /srv/shop && git pull --quiet && /usr/local/bin/hotlap run suites --if-changed --or-resume --quiet",
        "a night; tests/cases/cron.rs has a real cron run such a line",
    ),
    (
        "docs/nights.md",
        "hotlap run suites/shop.toml --resume",
        "needs a run that was cut off; tests/cases/kill.rs",
    ),
    (
        "docs/guide.md",
        "hotlap history suite.toml",
        "needs nights; tests/cases/history.rs",
    ),
    (
        "docs/guide.md",
        "history*.csv merge=union",
        "what git merges; tests/cases/history.rs",
    ),
    (
        "docs/publishing.md",
        "<!-- hotlap:begin -->",
        "tests/cases/pages.rs",
    ),
    (
        "docs/publishing.md",
        "hotlap run suites/api.toml --template short --splice README.md",
        "tests/cases/pages.rs",
    ),
    (
        "docs/publishing.md",
        "[![api](reports/api/badge.svg)](reports/api/README.md)",
        "what a README has; tests/cases/pages.rs",
    ),
    (
        "docs/publishing.md",
        "hotlap report latest --template pull-request --baseline previous --stdout > comment.md",
        "needs two runs; tests/templates.rs",
    ),
    (
        "docs/templates.md",
        "hotlap report latest --template short --splice README.md",
        "tests/cases/pages.rs",
    ),
    (
        "docs/templates.md",
        "error[template-name]: CellView has no `titel`",
        "src/report/template/template_tests.rs",
    ),
    ("README.md", "hotlap init --cron", "tests/cases/init.rs"),
    (
        "README.md",
        "hotlap clean --keep 30",
        "a night; tests/cases/cron.rs",
    ),
    (
        "docs/nights.md",
        "reports/**/history*.csv merge=union",
        "what git merges; tests/cases/history.rs",
    ),
];

/// A folder for a page, beside which locks and caches lie.
struct Scene {
    page: String,
    folder: tempfile::TempDir,
    served: Option<Served>,
}

/// A demo server that ends with this value.
struct Served {
    child: Child,
    port: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a program is missing: said aloud, and a failure where nothing may be skipped.
fn lacks(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", "command -v \"$1\" >/dev/null", "sh", program])
        .status();
    if found.unwrap().success() {
        return false;
    }
    let strict = std::env::var_os("HOTLAP_TEST_STRICT").is_some_and(|value| value == "1");
    assert!(
        !strict,
        "{program} is missing, and HOTLAP_TEST_STRICT=1 lets no test be skipped"
    );
    let line = format!("skipped: a page needs {program}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    true
}

impl Scene {
    fn new(page: &Page) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["page", "locks", "tmp", "cache"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self {
            page: page.name.clone(),
            folder,
            served: None,
        }
    }

    fn within(&self) -> PathBuf {
        self.folder.path().join("page")
    }

    /// The port of the page's demo server.
    fn port(&mut self) -> String {
        if self.served.is_none() {
            let mut child = Command::new(env!("CARGO_BIN_EXE_hotlap"))
                .args(["serve", "--port", "0"])
                .stdin(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut line = String::new();
            BufReader::new(child.stderr.take().unwrap())
                .read_line(&mut line)
                .unwrap();
            let port = line.trim().rsplit(':').next().unwrap().to_owned();
            self.served = Some(Served { child, port });
        }
        self.served.as_ref().unwrap().port.clone()
    }

    /// What a command prints on both ways, and its exit code.
    fn shell(&self, line: &str) -> (String, Option<i32>) {
        let binary = Path::new(env!("CARGO_BIN_EXE_hotlap")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let at = |name: &str| self.folder.path().join(name);
        let output = Command::new("timeout")
            .args([
                "120",
                "bash",
                "-c",
                &format!("exec 2>&1; set -o pipefail\n{line}"),
            ])
            .current_dir(self.within())
            .env("PATH", format!("{}:{path}", binary.display()))
            .env("HOTLAP_LOCK_DIR", at("locks"))
            .env("HOTLAP_CACHE_DIR", at("cache"))
            .env("TMPDIR", at("tmp"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            output.status.code(),
        )
    }

    /// The lines without their times, and with paths as they were typed: there is no terminal here.
    fn as_on_a_terminal(&self, printed: &str) -> String {
        let here = fs::canonicalize(self.within()).unwrap();
        let timeless = printed.lines().map(|line| match line.split_once("Z  ") {
            Some((time, rest)) if time.len() == "2026-12-03T06:50:00".len() => rest,
            _ => line,
        });
        let lines: Vec<&str> = timeless.collect();
        let typed = lines.join("\n");
        typed.replace(&format!("{}/", here.display()), "")
    }

    fn run(&self, item: &Item, edit: impl Fn(&str) -> String) {
        let exit = item.way.split_once("exit ");
        let exit: i32 = exit.map_or(0, |(_, code)| code.parse().unwrap());
        let all = commands(item);
        let last = all.len() - 1;
        for (index, (line, shown)) in all.into_iter().enumerate() {
            let (printed, code) = self.shell(&edit(&line));
            let exit = if index == last { exit } else { 0 };
            let place = format!("{}:{}: {line}", self.page, item.line);
            assert_eq!(code, Some(exit), "{place}\n{printed}");
            let missing = missing(&shown, &self.as_on_a_terminal(&printed));
            assert!(
                missing.is_empty(),
                "{place}\nnot printed: {missing:#?}\nprinted:\n{printed}"
            );
        }
    }

    fn piece(&self, item: &Item) {
        let place = format!("{}:{}: {}", self.page, item.line, item.way);
        if let Some(file) = item.way.strip_prefix("a piece of ") {
            let whole = fs::read_to_string(root().join(file)).unwrap();
            for line in item.text.lines().filter(|line| !line.is_empty()) {
                assert!(whole.lines().any(|known| known == line), "{place}: {line}");
            }
            return;
        }
        let file = item.way.strip_prefix("a piece like ").unwrap();
        let whole = fs::read_to_string(self.within().join(file)).unwrap();
        let missing = missing(&item.text, &whole);
        assert!(missing.is_empty(), "{place}: {missing:#?}\n{whole}");
    }

    /// Does what a comment asks for.
    fn act(&mut self, item: &Item) {
        if let Some(name) = item.way.strip_prefix("file ") {
            let path = self.within().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &item.text).unwrap();
        } else if item.way.starts_with("a piece ") {
            self.piece(item);
        } else if item.way.starts_with("run") {
            self.run(item, str::to_owned);
        } else if item.way.starts_with("served") {
            let port = self.port();
            self.run(item, |line| short(line).replace("8080", &port));
        } else {
            // tests/docs/suites.rs does these.
            let known = item.way == "steps" && self.page == "docs/guide.md";
            assert!(known, "{}:{}: {}?", self.page, item.line, item.way);
        }
    }
}

/// The commands of a block, each with the lines that are shown below it.
fn commands(item: &Item) -> Vec<(String, String)> {
    if item.language == "sh" {
        let typed = lines("sh", &item.text);
        return typed
            .into_iter()
            .map(|line| (line, String::new()))
            .collect();
    }
    assert_eq!(item.language, "console", "line {}", item.line);
    let mut all: Vec<(String, String)> = Vec::new();
    for line in item.text.lines() {
        if let Some(typed) = line.strip_prefix("$ ") {
            all.push((typed.to_owned(), String::new()));
        } else {
            let (_, shown) = all.last_mut().expect("a console block begins with `$ `");
            shown.push_str(line);
            shown.push('\n');
        }
    }
    all
}

/// A load of a second, or of two thousand requests.
fn short(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let time = |word: &str| if word.ends_with('s') { "1s" } else { "1" }.to_owned();
    let is_ab = words[0] == "ab";
    for index in 0..words.len() {
        let before = index.checked_sub(1).map(|before| words[before].clone());
        let word = words[index].clone();
        match before.as_deref() {
            Some("-d") => words[index] = time(&word),
            Some("-t") if is_ab => words[index] = time(&word),
            Some("-n") => "2000".clone_into(&mut words[index]),
            _ => {
                let glued = word.strip_prefix("-d").unwrap_or_default();
                if glued.starts_with(|c: char| c.is_ascii_digit()) {
                    words[index] = format!("-d{}", time(&word));
                }
            }
        }
    }
    words.join(" ")
}

/// Programs that the commands of a page begin with, beside hotlap.
fn programs(items: &[Item]) -> Vec<String> {
    let mut all: Vec<String> = items
        .iter()
        .filter(|item| item.way.starts_with("run") || item.way.starts_with("served"))
        .flat_map(commands)
        .filter_map(|(line, _)| line.split(' ').next().map(str::to_owned))
        .filter(|word| word != "hotlap" && !word.contains('='))
        .collect();
    if items.iter().any(|item| item.language == "js") {
        all.push("node".to_owned());
    }
    all.sort();
    all.dedup();
    all
}

#[test]
fn what_is_shown_can_be_done() {
    for page in pages() {
        let items = page.items();
        if programs(&items).iter().any(|program| lacks(program)) {
            continue;
        }
        let mut scene = Scene::new(&page);
        for item in items.iter().filter(|item| !item.way.is_empty()) {
            scene.act(item);
        }
    }
}

#[test]
fn every_block_is_tested_or_has_a_reason() {
    let mut used = vec![false; NOT_RUN.len()];
    for page in pages() {
        // tests/command_pages.rs makes these, and tests/docs/commands.rs reads their commands.
        let is_made = page.name.starts_with("docs/commands/");
        for item in page.items() {
            let is_suite = item.language.starts_with("toml");
            if is_made || is_suite || !item.way.is_empty() {
                continue;
            }
            let found = NOT_RUN
                .iter()
                .position(|(name, head, _)| *name == page.name && *head == item.head());
            let index = found.unwrap_or_else(|| {
                panic!(
                    "{}:{}: a block that is not tested: {}",
                    page.name,
                    item.line,
                    item.head()
                )
            });
            used[index] = true;
        }
    }
    for ((page, head, _), used) in NOT_RUN.iter().zip(used) {
        assert!(
            used,
            "{page} has no block that begins with {head:?} any more"
        );
    }
}

#[test]
fn loads_are_made_short() {
    for (shown, run) in [
        (
            "wrk -t2 -c64 -d30s --latency URL",
            "wrk -t2 -c64 -d1s --latency URL",
        ),
        ("hotlap load -t 2 -d 30s URL", "hotlap load -t 2 -d 1s URL"),
        ("autocannon -c 64 -d 30 URL", "autocannon -c 64 -d 1 URL"),
        ("ab -t 30 -n 100000 URL", "ab -t 1 -n 2000 URL"),
    ] {
        assert_eq!(short(shown), run);
    }
}
