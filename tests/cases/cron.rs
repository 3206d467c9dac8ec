//! Nights: a suite that cron runs, without a terminal, a home or more than a bare PATH; what `--if-changed` and
//! `--or-resume` make of the last run; and how old runs are thinned.

use crate::kit::{PATIENCE, until};
use hotlap::record::{End, Run};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// What cron gives to a command.
const BARE_PATH: &str = "/usr/bin:/bin";

/// A suite of one server, in a repository.
pub(crate) struct Repo {
    folder: tempfile::TempDir,
}

impl Repo {
    /// Everything is committed; each trial takes as long as `duration`.
    pub(crate) fn new(duration: &str, trials: u32) -> Self {
        let repo = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        for name in ["suites", "apps", "locks", "cache", "tmp"] {
            fs::create_dir(repo.path().join(name)).unwrap();
        }
        repo.file(
            ".gitignore",
            "/locks/\n/cache/\n/tmp/\n/log\nnode_modules/\n",
        );
        repo.file("apps/index.js", "the server\n");
        repo.file("suites/night.toml", &night(duration, trials));
        repo.git(&["init", "--quiet"]);
        repo.commit();
        repo
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    fn git(&self, words: &[&str]) {
        let done = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e@localhost"])
            .args(words)
            .current_dir(self.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "a change"]);
    }

    /// hotlap as cron starts it: from another folder, with nothing in its environment that it needs not.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hotlap"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", BARE_PATH)
            .env("SHELL", "/bin/sh")
            .env("LOGNAME", "nobody")
            .env("HOTLAP_LOCK_DIR", self.path().join("locks"))
            .env("HOTLAP_CACHE_DIR", self.path().join("cache"))
            .env("TMPDIR", self.path().join("tmp"))
            .current_dir("/")
            .stdin(Stdio::null());
        command
    }

    fn suite(&self) -> String {
        self.path().join("suites/night.toml").display().to_string()
    }

    /// Runs the suite.
    fn run(&self, arguments: &[&str]) -> Night {
        // Runs of different revisions are in the order of their ids only from second to second.
        until("it is another second", || {
            let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M%SZ");
            let newest = self.runs().pop();
            newest.is_none_or(|run| !named(&run).starts_with(&now.to_string()))
        });
        let suite = self.suite();
        let words: Vec<&str> = ["run", &suite].iter().chain(arguments).copied().collect();
        Night::of(self.command(&words).output().unwrap())
    }

    /// Starts the suite and waits until so many trials are on disk.
    fn start(&self, arguments: &[&str], trials: usize) -> Child {
        let suite = self.suite();
        let words: Vec<&str> = ["run", &suite].iter().chain(arguments).copied().collect();
        let log = fs::File::create(self.path().join("log")).unwrap();
        let before = self.runs().len();
        let child = self.command(&words).stderr(log).spawn().unwrap();
        until("a trial is on disk", || {
            let runs = self.runs();
            let text = runs.last().map(|run| run.join("trials.jsonl"));
            let text = text.and_then(|path| fs::read_to_string(path).ok());
            runs.len() > before && text.map_or(0, |text| text.lines().count()) >= trials
        });
        child
    }

    fn hotlap(&self, arguments: &[&str]) -> Output {
        self.command(arguments)
            .current_dir(self.path())
            .output()
            .unwrap()
    }

    fn reports(&self) -> PathBuf {
        self.path().join("reports/night")
    }

    /// The folders of its runs, the newest last.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.reports().join("runs")) else {
            return Vec::new();
        };
        let mut all: Vec<PathBuf> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.ends_with(".unborn"))
            .collect();
        all.sort();
        all
    }

    /// Makes the record of the newest run say something else.
    fn pretend(&self, change: impl FnOnce(&mut Run)) {
        let newest = self.runs().pop().unwrap();
        let mut run = record(&newest);
        change(&mut run);
        fs::write(newest.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
    }

    /// Copies the newest run under another name.
    fn another(&self, name: &str) {
        let newest = self.runs().pop().unwrap();
        let copy = newest.with_file_name(name);
        let copied = Command::new("cp")
            .arg("-r")
            .arg(&newest)
            .arg(&copy)
            .status();
        assert!(copied.unwrap().success());
        let mut run = record(&newest);
        run.id = hotlap::ids::RunId(name.to_owned());
        fs::write(copy.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
    }
}

/// What a run's folder says of it.
fn record(run: &Path) -> Run {
    serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap()
}

/// The name of a run's folder.
fn named(run: &Path) -> String {
    run.file_name().unwrap().to_str().unwrap().to_owned()
}

fn night(duration: &str, trials: u32) -> String {
    format!(
        "[run]\nrepetitions = {trials}\nwarmup = '50ms'\nrest = '0s'\ncooldown = '0s'\n\
         [profiles.quick]\nrun.repetitions = 1\n\
         [servers.demo]\ncommand = 'hotlap serve'\ncwd = '../apps'\n\
         [loads.steady]\npath = '/'\nconnections = 2\nduration = '{duration}'\n"
    )
}

/// What is done to a record.
type Change<'c> = &'c dyn Fn(&mut Run);

/// What a night's run said.
struct Night {
    exit: Option<i32>,
    stderr: String,
}

impl Night {
    fn of(output: Output) -> Self {
        Self {
            exit: output.status.code(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.exit, Some(code), "{}", self.stderr);
        self
    }

    fn last_line(&self) -> &str {
        self.stderr.lines().last().unwrap_or_default()
    }

    #[track_caller]
    fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{text:?}\n{}", self.stderr);
        self
    }

    /// That it found nothing to do.
    #[track_caller]
    fn did_nothing(self) -> Self {
        let night = self.exits(0);
        assert!(
            night
                .last_line()
                .contains("nothing has changed since the run")
                && !night.stderr.contains("[1/"),
            "{}",
            night.stderr
        );
        night
    }
}

#[test]
fn a_log_has_a_line_a_trial_with_its_time_and_ends_in_a_sentence() {
    let repo = Repo::new("100ms", 2);
    let night = repo.run(&[]).exits(0);
    for foreign in ['\r', '\u{1b}'] {
        assert!(!night.stderr.contains(foreign), "{:?}", night.stderr);
    }
    let trials: Vec<&str> = night
        .stderr
        .lines()
        .filter(|line| line.contains("/2] demo@steady #"))
        .collect();
    assert_eq!(trials.len(), 2, "{}", night.stderr);
    for line in trials {
        let (time, _) = line.split_once("  [").unwrap();
        assert!(time.ends_with('Z'), "{line}");
        let time: jiff::Timestamp = time.parse().unwrap();
        let age = jiff::Timestamp::now().duration_since(time);
        assert!(age.unsigned_abs() < PATIENCE, "{line}");
    }
    let report = repo.runs().pop().unwrap().join("report.md");
    assert_eq!(
        night.last_line(),
        format!(
            "night: all 2 trials are valid; report: {}",
            report.display()
        )
    );
}

#[test]
fn a_mail_names_what_failed() {
    let repo = Repo::new("100ms", 1);
    let text = fs::read_to_string(repo.path().join("suites/night.toml")).unwrap();
    let bad = "\n[servers.broken]\ncommand = 'node-of-no-path index.js'\ncwd = '../apps'\n";
    repo.file("suites/night.toml", &(text + bad));
    let night = repo.run(&[]).exits(1);
    let last = night.last_line();
    assert!(
        last.starts_with("night: 1 of 2 trials failed or is invalid (broken@steady); report: /"),
        "{last}"
    );
    night.says("there is no program `node-of-no-path` on its PATH");
    // A run with a trial that did not count is not one that nothing need follow.
    repo.run(&["--if-changed"])
        .exits(1)
        .says("1 trial failed or is invalid, so it is run");
}

#[test]
fn files_are_as_open_as_the_umask_has_them() {
    let repo = Repo::new("100ms", 1);
    let modes = |umask: &str, file: u32, folder: u32| {
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        let command = repo.command(&[]);
        let mut under = Command::new("/bin/sh");
        under
            .args(["-c", &script, env!("CARGO_BIN_EXE_hotlap"), "run"])
            .arg(repo.suite())
            .env_clear()
            .envs(command.get_envs().filter_map(|(k, v)| Some((k, v?))))
            .stdin(Stdio::null());
        Night::of(under.output().unwrap()).exits(0);
        let newest = repo.runs().pop().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&newest), folder);
        for name in [
            "run.json",
            "trials.jsonl",
            "samples.csv",
            "report.md",
            "summary.csv",
            "trials.csv",
        ] {
            assert_eq!(mode(&newest.join(name)), file, "{name}");
        }
        let logs = fs::read_dir(newest.join("logs")).unwrap().flatten();
        for log in logs.flat_map(|trial| fs::read_dir(trial.path()).unwrap().flatten()) {
            assert_eq!(mode(&log.path()), file, "{log:?}");
        }
    };
    modes("027", 0o640, 0o750);
    modes("002", 0o664, 0o775);
    // The page was there before, and a file that is there keeps what its owner gave it.
    let page = fs::metadata(repo.reports().join("README.md")).unwrap();
    assert_eq!(page.permissions().mode() & 0o777, 0o640);
}

#[test]
fn without_a_home_the_cache_is_a_folder_of_ones_own() {
    let repo = Repo::new("100ms", 1);
    let cache = |home: Option<&str>| {
        let mut command = repo.command(&["clean", "--caches", "--dry-run"]);
        command.env_remove("HOTLAP_CACHE_DIR");
        if let Some(home) = home {
            command.env("HOME", home);
        }
        Night::of(command.output().unwrap()).exits(0).stderr
    };
    for home in [None, Some(""), Some("/nonexistent")] {
        let said = cache(home);
        assert!(said.contains("the cache is /var/tmp/hotlap-"), "{said}");
    }
    let home = repo.path().display().to_string();
    let said = cache(Some(&home));
    assert!(
        said.contains(&format!("the cache is {home}/.cache/hotlap")),
        "{said}"
    );
}

#[test]
fn a_night_that_still_runs_keeps_the_next_one_out() {
    let repo = Repo::new("20s", 1);
    let mut first = repo.start(&[], 0);
    for arguments in [&[][..], &["--if-changed", "--or-resume"]] {
        let night = repo.run(arguments).exits(4);
        let holder = format!("pid {} (suite night, since 2", first.id());
        assert!(night.last_line().contains(&holder), "{}", night.stderr);
    }
    assert_eq!(repo.runs().len(), 1);
    crate::kit::signal(first.id(), "INT");
    assert_eq!(first.wait().unwrap().code(), Some(130));
    let log = fs::read_to_string(repo.path().join("log")).unwrap();
    let last = log.lines().last().unwrap();
    assert!(last.starts_with("night: interrupted after "), "{log}");
    assert!(last.contains("; report: /"), "{log}");
}

#[test]
fn what_was_measured_and_has_not_changed_is_not_measured_again() {
    let repo = Repo::new("100ms", 1);
    let again = || repo.run(&["--if-changed"]);
    again()
        .exits(0)
        .says("night: it has not been run yet, so it is run");
    again().did_nothing();
    // Reports are what a run writes: neither they nor their commit are a change, and neither is what git ignores.
    repo.commit();
    fs::create_dir(repo.path().join("apps/node_modules")).unwrap();
    repo.file("apps/node_modules/x.js", "x");
    again().did_nothing();
    assert_eq!(repo.runs().len(), 1);

    let files = "files of the repository have changed";
    repo.file("apps/new.js", "a new file, in no commit");
    again().exits(0).says(files);
    repo.file("apps/new.js", "that changed again");
    again().exits(0).says(files);
    again().did_nothing();
    repo.file("apps/index.js", "another server\n");
    again().exits(0).says(files);
    again().did_nothing();
    repo.commit();
    again().exits(0).says(files);
    again().did_nothing();

    let text = fs::read_to_string(repo.path().join("suites/night.toml")).unwrap();
    repo.file("suites/night.toml", &format!("{text}# a word\n"));
    again().exits(0).says("the suite file has changed");
    again().did_nothing();
    // Each profile has nights of its own.
    repo.run(&["--if-changed", "--profile", "quick"])
        .exits(0)
        .says("it has not been run yet");
    repo.run(&["--if-changed", "--profile", "quick"])
        .did_nothing();
    again().did_nothing();
    assert_eq!(repo.runs().len(), 7);
}

#[test]
fn reports_of_the_nights_before_are_no_changes_of_the_revision() {
    let repo = Repo::new("100ms", 1);
    let page = "# Ours\n<!-- hotlap:begin -->\n<!-- hotlap:end -->\n";
    repo.file("README.md", page);
    repo.commit();
    let readme = repo.path().join("README.md");
    let splice = readme.display().to_string();
    let night = || {
        repo.run(&["--splice", &splice]).exits(0);
        named(&repo.runs().pop().unwrap())
    };
    night();
    repo.commit();
    // Pages, history and the spliced file are tracked now, and written again.
    night();
    assert_ne!(fs::read_to_string(&readme).unwrap(), page);
    let third = night();
    assert!(!third.contains("dirty"), "{third}");
    let own = fs::read_to_string(&readme).unwrap().replace("Ours", "Mine");
    fs::write(&readme, own).unwrap();
    let fourth = night();
    assert!(fourth.ends_with("-dirty"), "{fourth}");
    repo.commit();
    repo.file("apps/index.js", "another server\n");
    let fifth = night();
    assert!(fifth.ends_with("-dirty"), "{fifth}");
}

#[test]
fn another_machine_or_version_is_a_change() {
    let repo = Repo::new("100ms", 1);
    repo.run(&[]).exits(0);
    let machine = |run: &mut Run| {
        run.host.cpus += 1;
        run.sessions[0].host = Some(run.host.clone());
    };
    let cells = |run: &mut Run| run.spec.cells[0].id = hotlap::ids::CellId("x@y#0".into());
    let changes: [(&str, Change<'_>); 6] = [
        ("the machine has changed", &machine),
        ("hotlap has changed", &|run| {
            run.sessions[0].hotlap = "0.0.1".into();
        }),
        ("the cells have changed", &cells),
        ("did not come to its end (1 of 1 trials)", &|run| {
            run.end = None;
        }),
        ("did not come to its end", &|run| {
            run.end = Some(End::Aborted);
        }),
        ("files of the repository have changed", &|run| {
            run.sessions[0].sources = None;
        }),
    ];
    for (said, change) in changes {
        repo.run(&["--if-changed"]).did_nothing();
        repo.pretend(change);
        repo.run(&["--if-changed"]).exits(0).says(said);
    }
}

#[test]
fn a_report_in_a_page_is_no_change_of_the_repository() {
    let repo = Repo::new("100ms", 1);
    repo.file(
        "README.md",
        "# Ours\n<!-- hotlap:begin -->\n<!-- hotlap:end -->\n",
    );
    repo.commit();
    repo.run(&["--if-changed"]).exits(0);
    let readme = repo.path().join("README.md");
    let splice = || {
        let done = repo.hotlap(&["report", "latest", "--splice", "README.md"]);
        assert!(done.status.success(), "{done:?}");
        fs::read_to_string(&readme).unwrap()
    };
    let page = splice();
    assert!(page.contains("demo"), "{page}");
    repo.run(&["--if-changed"]).did_nothing();
    repo.commit();
    repo.run(&["--if-changed"]).did_nothing();
    fs::write(&readme, page.replace("# Ours", "# Theirs")).unwrap();
    repo.run(&["--if-changed"])
        .exits(0)
        .says("files of the repository");
}

#[test]
fn what_cannot_be_told_is_measured() {
    let repo = Repo::new("100ms", 1);
    fs::remove_dir_all(repo.path().join(".git")).unwrap();
    repo.run(&[]).exits(0);
    repo.run(&["--if-changed"])
        .exits(0)
        .says("it cannot be told what has changed (")
        .says("is in no git repository");
}

#[test]
fn after_a_power_cut_a_night_goes_on_or_starts_anew() {
    let repo = Repo::new("300ms", 4);
    let cut = |trials: usize| {
        let mut runner = repo.start(&[], trials);
        runner.kill().unwrap();
        runner.wait().unwrap();
        // Its guards see its end and kill; then nothing of it is left to take part in what follows.
        until("the guards are done", || {
            let guards = repo.runs().pop().unwrap().join("guards");
            fs::read_dir(guards).map_or(0, Iterator::count) == 0
        });
    };
    cut(2);
    let first = repo.runs().pop().unwrap();
    let kept = fs::read_to_string(first.join("trials.jsonl")).unwrap();
    // The power may go while a line is written.
    let torn = format!("{kept}{{\"trial\":{{\"ce");
    fs::write(first.join("trials.jsonl"), torn).unwrap();
    // Goes on: the same run, the same trials, and those that were missing.
    let night = repo
        .run(&["--if-changed", "--or-resume", "--budget", "1h"])
        .exits(0);
    assert!(
        night.last_line().contains("all 4 trials are valid"),
        "{}",
        night.stderr
    );
    assert_eq!(repo.runs(), std::slice::from_ref(&first));
    let all = fs::read_to_string(first.join("trials.jsonl")).unwrap();
    let whole = &kept[..=kept.rfind('\n').unwrap()];
    assert!(all.starts_with(whole), "nothing that was measured is lost");
    assert_eq!(record(&first).sessions.len(), 2);
    repo.run(&["--if-changed", "--or-resume"]).did_nothing();

    // Starts anew, and leaves what the cut one has.
    repo.file("apps/index.js", "changed\n");
    repo.run(&["--or-resume"]).exits(0);
    assert_eq!(repo.runs().len(), 2);
    // `--or-resume` alone measures again what has not changed.
    repo.run(&["--or-resume"]).exits(0);
    assert_eq!(repo.runs().len(), 3);
}

#[test]
fn a_run_that_was_cut_off_is_not_one_of_what_is_there_now() {
    let repo = Repo::new("300ms", 3);
    let mut runner = repo.start(&[], 1);
    runner.kill().unwrap();
    runner.wait().unwrap();
    repo.run(&["--if-changed"])
        .exits(0)
        .says("did not come to its end (");
    assert_eq!(repo.runs().len(), 2);

    let mut runner = repo.start(&["--profile", "quick"], 0);
    runner.kill().unwrap();
    runner.wait().unwrap();
    repo.file("apps/index.js", "changed since\n");
    repo.run(&["--or-resume", "--profile", "quick"])
        .exits(0)
        .says("files of the repository have changed");
    assert_eq!(repo.runs().len(), 4);
}

#[test]
fn a_gate_that_fell_falls_as_long_as_nothing_has_changed() {
    let repo = Repo::new("100ms", 1);
    let text = fs::read_to_string(repo.path().join("suites/night.toml")).unwrap();
    let gate = "\n[[gates]]\nrequests_per_second = { min = 1000000000 }\n";
    repo.file("suites/night.toml", &(text + gate));
    repo.commit();
    let night = repo.run(&["--gate", "--if-changed"]).exits(3);
    assert!(
        night.last_line().contains("the only gate fell (demo"),
        "{}",
        night.stderr
    );
    let night = repo.run(&["--gate", "--if-changed"]).exits(3);
    assert!(
        night.last_line().contains("nothing has changed"),
        "{}",
        night.stderr
    );
    repo.run(&["--if-changed"]).did_nothing();
}

#[test]
fn old_runs_go_and_what_is_referred_to_stays() {
    let repo = Repo::new("100ms", 1);
    repo.run(&[]).exits(0);
    let newest = named(&repo.runs().pop().unwrap());
    for day in 1..=6 {
        repo.another(&format!("2020-01-0{day}T000000Z"));
    }
    let id = |day: u32| format!("2020-01-0{day}T000000Z");
    repo.file("reports/night/history.csv", "run\n");
    repo.file(
        "reports/README.other.md",
        &format!("see [that](night/runs/{}/report.md)", id(2)),
    );
    let of = |day: u32| repo.reports().join("runs").join(id(day));
    // Day 6 was compared with day 4, and day 4 with day 3; day 1 has a committed report.
    for (later, earlier) in [(6, 4), (4, 3)] {
        let baseline = serde_json::json!({
            "format": 1, "run": id(earlier), "suite": "night", "profile": null, "started": "", "sessions": 0,
            "hotlap": [], "revision": null, "suite_sha256": null, "complete": null, "selection": [], "host": null,
            "versions": {}, "settings": null, "cells": [],
        });
        fs::write(of(later).join("baseline.json"), baseline.to_string()).unwrap();
    }
    let report = of(1).join("report.md");
    repo.git(&["add", "--force", report.to_str().unwrap()]);
    let names = || -> Vec<String> { repo.runs().iter().map(|run| named(run)).collect() };
    let before = names();

    let said = |arguments: &[&str]| {
        let done = repo.hotlap(arguments);
        assert!(done.status.success(), "{done:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    let dry = said(&["clean", "--keep", "2", "--dry-run"]);
    for day in [1, 3, 5] {
        assert!(dry.contains(&id(day)), "{dry}");
    }
    assert!(
        dry.contains("3 old runs (") && dry.contains("but for 1 committed file"),
        "{dry}"
    );
    assert_eq!(names(), before);

    // Nobody is at a terminal, so nobody is asked.
    let said_now = said(&["clean", "--keep", "2"]);
    assert!(said_now.contains("taken away: 3 old runs ("), "{said_now}");
    assert_eq!(names(), [id(1), id(2), id(4), id(6), newest.clone()]);
    let left: Vec<_> = fs::read_dir(of(1))
        .unwrap()
        .flatten()
        .map(|file| file.file_name())
        .collect();
    assert_eq!(left, ["report.md"]);
    assert!(repo.reports().join("history.csv").is_file());
    assert!(repo.reports().join("README.md").is_file());
    assert!(said(&["clean", "--keep", "2", "--yes"]).contains("no run is too old"));

    // The newest complete one stays, whatever came after it.
    repo.another("2099-01-01T000000Z");
    let path = repo.runs().pop().unwrap();
    repo.pretend(|run| run.end = Some(End::Interrupted));
    fs::remove_file(path.join("baseline.json")).unwrap_or_default();
    said(&["clean", "--keep", "1"]);
    assert!(names().contains(&newest), "{:?}", names());
}

#[test]
fn a_night_that_was_cut_off_stays_a_gap_when_its_records_go() {
    let repo = Repo::new("100ms", 1);
    repo.run(&[]).exits(0);
    let newest = named(&repo.runs().pop().unwrap());
    repo.another("2099-01-01T000000Z");
    repo.pretend(|run| {
        run.end = Some(End::Interrupted);
        run.sessions[0].started = "2099-01-01T00:00:00Z".to_owned();
    });
    repo.another("2099-01-02T000000Z");
    let before = fs::read_to_string(repo.reports().join("history.csv")).unwrap();
    let done = repo.hotlap(&["clean", "--keep", "1"]);
    assert!(done.status.success(), "{done:?}");
    let left: Vec<String> = repo.runs().iter().map(|run| named(run)).collect();
    assert_eq!(left, [newest, "2099-01-02T000000Z".to_owned()]);
    let after = fs::read_to_string(repo.reports().join("history.csv")).unwrap();
    let gap = after.strip_prefix(&before).unwrap();
    assert_eq!(gap.lines().count(), 1, "{gap}");
    assert!(
        gap.contains("2099-01-01T000000Z") && gap.contains(",incomplete,it was interrupted"),
        "{gap}"
    );
}

#[test]
fn a_run_that_was_cut_off_from_its_report_gets_it_when_nothing_has_changed() {
    let repo = Repo::new("100ms", 1);
    repo.run(&[]).exits(0);
    let report = repo.runs().pop().unwrap().join("report.md");
    let page = repo.reports().join("README.md");
    let history = repo.reports().join("history.csv");
    let all = [report, page, history];
    let texts = || all.each_ref().map(|path| fs::read_to_string(path).unwrap());
    let before = texts();
    for path in &all {
        fs::remove_file(path).unwrap();
        repo.run(&["--if-changed"]).did_nothing();
        assert_eq!(texts(), before, "{}", path.display());
    }
    assert_eq!(repo.runs().len(), 1);
}

#[test]
fn two_suites_of_one_name_do_not_share_a_page() {
    let repo = Repo::new("100ms", 1);
    fs::create_dir(repo.path().join("other")).unwrap();
    repo.file("other/night.toml", &night("100ms", 1));
    let (one, out) = (repo.suite(), repo.path().join("reports"));
    let refused = repo.hotlap(&[
        "run",
        &one,
        "other/night.toml",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("two suites are called night"), "{told}");
    assert!(repo.runs().is_empty());
}

#[test]
fn nothing_is_thinned_while_a_run_is_under_way() {
    let repo = Repo::new("20s", 1);
    let mut runner = repo.start(&[], 0);
    for day in 1..=3 {
        repo.another(&format!("2020-01-0{day}T000000Z"));
    }
    let before = repo.runs();
    let done = repo.hotlap(&["clean", "--keep", "1", "--yes"]);
    let said = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(4), "{said}");
    assert!(
        said.contains(&format!("pid {} (suite night", runner.id())),
        "{said}"
    );
    assert_eq!(repo.runs(), before);
    crate::kit::signal(runner.id(), "INT");
    runner.wait().unwrap();
}

#[test]
fn at_a_terminal_it_is_asked_before_runs_go() {
    let repo = Repo::new("100ms", 1);
    repo.run(&[]).exits(0);
    for day in 1..=2 {
        repo.another(&format!("2020-01-0{day}T000000Z"));
    }
    let answer = |answer: &str| {
        let line = format!("{} clean --keep 1", env!("CARGO_BIN_EXE_hotlap"));
        let mut terminal = Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(repo.path())
            .env("HOTLAP_LOCK_DIR", repo.path().join("locks"))
            .env("TERM", "dumb")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut typed = terminal.stdin.take().unwrap();
        typed.write_all(answer.as_bytes()).unwrap();
        let output = terminal.wait_with_output().unwrap();
        drop(typed);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(
            said.contains("take 2 old runs (") && said.contains("2020-01-01T000000Z"),
            "{said}"
        );
        repo.runs().len()
    };
    assert_eq!(answer("\n"), 3);
    assert_eq!(answer("n\n"), 3);
    assert_eq!(answer("y\n"), 1);
}

#[test]
fn a_night_of_several_suites_is_summed_up() {
    let repo = Repo::new("100ms", 1);
    repo.file(
        "suites/other.toml",
        &night("100ms", 1).replace("hotlap serve", "no-such-program"),
    );
    let suites = repo.path().join("suites").display().to_string();
    let night = Night::of(repo.command(&["run", &suites]).output().unwrap()).exits(1);
    assert_eq!(
        night.last_line(),
        "2 suites; not well: other (a trial failed or is invalid)",
        "{}",
        night.stderr
    );
    // Only what did not go well is measured again.
    let night = Night::of(
        repo.command(&["run", &suites, "--if-changed"])
            .output()
            .unwrap(),
    );
    night
        .exits(1)
        .says("night: nothing has changed since the run")
        .says("other: of the last run");
}
