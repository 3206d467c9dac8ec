//! A run's folder through everything that can happen to it: cut at every byte,
//! killed between two writes, a full disk, two runners.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use hotlap::ids::{CellId, RunId, TrialId};
use hotlap::record::{
    ByRole, End, FORMAT, Host, Outcome, Phase, Proof, Reading, Run, Session, Step, SuiteFile, Trial,
};
use hotlap::spec::{Order, Planned, RunSettings, Spec};
use hotlap::store::{RunFolder, RunState, StoreError, find, list, lock_output, open, unfinished};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn trial_id(repetition: u32) -> TrialId {
    TrialId {
        cell: CellId("node/gzip=on@steady#0123456789ab".to_owned()),
        repetition,
    }
}

fn run(profile: Option<&str>) -> Run {
    Run {
        format: FORMAT,
        id: RunId(String::new()),
        suite: SuiteFile {
            path: "suites/demo.toml".to_owned(),
            sha256: "00".to_owned(),
            text: "# \"quoted\"\n".to_owned(),
        },
        spec: Spec {
            suite: "demo".to_owned(),
            title: "Demo".to_owned(),
            description: None,
            profile: profile.map(str::to_owned),
            run: RunSettings {
                repetitions: 3,
                order: Order::Shuffled,
                seed: u64::MAX,
                cooldown: Duration::from_secs(1),
                rest: Duration::from_secs(5),
                sample_interval: Duration::from_millis(100),
                ..RunSettings::default()
            },
            axes: Vec::new(),
            runtimes: Vec::new(),
            services: Vec::new(),
            published: Vec::new(),
            cells: Vec::new(),
        },
        plan: (1..=3)
            .map(|repetition| Planned {
                trial: trial_id(repetition),
                round: repetition,
            })
            .collect(),
        selection: Vec::new(),
        host: Host::default(),
        versions: BTreeMap::new(),
        pilots: Vec::new(),
        ceilings: Vec::new(),
        warmup: None,
        sessions: vec![session()],
        end: None,
    }
}

fn session() -> Session {
    Session {
        started: "2026-11-30T19:05:00Z".to_owned(),
        hotlap: "0.1.0".to_owned(),
        revision: Some("ab12cd3".to_owned()),
        sources: None,
        load_average: Some(0.1),
        host: None,
        notes: Vec::new(),
    }
}

fn trial(repetition: u32) -> Trial {
    Trial {
        observed: None,
        format: FORMAT,
        trial: trial_id(repetition),
        round: repetition,
        session: 0,
        started: "2026-11-30T19:05:01Z".to_owned(),
        took_ns: 123_456_789,
        outcome: Outcome::Valid,
        port: Some(20_001),
        address: None,
        startup_ns: Some(42),
        listener: Proof::Proved,
        load: None,
        usage: ByRole::new(),
        stops: ByRole::new(),
        surroundings: None,
        warnings: vec!["naïve, \"quoted\"".to_owned()],
    }
}

fn readings(repetition: u32) -> Vec<Reading> {
    (0..3)
        .map(|n| Reading {
            t_ns: n * 100_000_000,
            phase: Phase::Measure,
            role: "server".to_owned(),
            rss_bytes: 1000 + u64::from(repetition),
            pss_bytes: (n == 0).then_some(900),
            cpu_seconds: 0.1 * n as f64,
            processes: 1,
            threads: 4,
            completed: Some(10 * n),
        })
        .collect()
}

/// A run with so many trials, its runner gone.
fn with_trials(out: &Path, trials: u32) -> RunFolder {
    let mut folder = RunFolder::create(out, "demo", Some("ab12cd3"), run(None), None).unwrap();
    for repetition in 1..=trials {
        folder
            .append_trial(&trial(repetition), &readings(repetition))
            .unwrap();
    }
    folder
}

#[test]
fn what_is_kept_reads_back() {
    let out = tempfile::tempdir().unwrap();
    let mut folder = with_trials(out.path(), 2);
    folder.finish(End::Interrupted).unwrap();
    let stored = open(folder.path()).unwrap();
    assert_eq!(stored.run, *folder.run());
    assert_eq!(stored.run.end, Some(End::Interrupted));
    assert_eq!(stored.trials, [trial(1), trial(2)]);
    assert_eq!(stored.readings.of(&trial_id(2)), Some(readings(2)));
    assert_eq!(stored.notes, Vec::<String>::new());
    let table = fs::read_to_string(folder.path().join("samples.csv")).unwrap();
    assert!(table.starts_with(
        "trial,role,phase,t_ns,rss_bytes,pss_bytes,cpu_seconds,processes,threads,completed_count\n\
         node/gzip=on@steady#0123456789ab.1,server,measure,0,1001,900,0.0,1,4,0\n"
    ));
}

#[test]
fn a_trial_line_that_is_cut_at_any_byte_is_run_again() {
    let out = tempfile::tempdir().unwrap();
    let folder = with_trials(out.path(), 2).path().to_owned();
    let path = folder.join("trials.jsonl");
    let lines = fs::read(&path).unwrap();
    let table = fs::read(folder.join("samples.csv")).unwrap();
    let first = lines.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in first..lines.len() {
        fs::write(&path, &lines[..cut]).unwrap();
        fs::write(folder.join("samples.csv"), &table).unwrap();
        // Only the line end is missing: the record is whole.
        let whole = cut == lines.len() - 1;
        let read = open(&folder).unwrap();
        assert_eq!(read.trials.len(), 1 + usize::from(whole), "cut at {cut}");
        assert_eq!(read.notes.is_empty(), whole, "cut at {cut}");
        assert_eq!(
            read.readings.trials().count(),
            read.trials.len(),
            "cut at {cut}"
        );

        let (mut resumed, _) = RunFolder::resume(&folder).unwrap();
        assert_eq!(resumed.finished().contains(&trial_id(2)), whole);
        if !whole {
            resumed.append_trial(&trial(2), &readings(2)).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), lines, "cut at {cut}");
        assert_eq!(fs::read(folder.join("samples.csv")).unwrap(), table);
    }
}

#[test]
fn readings_that_are_cut_at_any_byte_before_the_record_are_dropped() {
    let out = tempfile::tempdir().unwrap();
    let folder = with_trials(out.path(), 1).path().to_owned();
    let path = folder.join("samples.csv");
    let kept = fs::read(&path).unwrap().len();
    RunFolder::resume(&folder)
        .unwrap()
        .0
        .append_trial(&trial(2), &readings(2))
        .unwrap();
    let table = fs::read(&path).unwrap();
    let lines = fs::read(folder.join("trials.jsonl")).unwrap();
    let first = lines.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in kept..=table.len() {
        fs::write(&path, &table[..cut]).unwrap();
        fs::write(folder.join("trials.jsonl"), &lines[..first]).unwrap();
        let read = open(&folder).unwrap();
        assert_eq!(
            read.readings.of(&trial_id(1)),
            Some(readings(1)),
            "cut at {cut}"
        );
        assert_eq!(read.readings.trials().count(), 1, "cut at {cut}");
        assert_eq!(read.notes.is_empty(), cut == kept, "cut at {cut}");

        let (mut resumed, _) = RunFolder::resume(&folder).unwrap();
        resumed.append_trial(&trial(2), &readings(2)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), table, "cut at {cut}");
    }
}

#[test]
fn a_header_that_is_cut_is_written_anew() {
    let out = tempfile::tempdir().unwrap();
    let folder = with_trials(out.path(), 0).path().to_owned();
    let path = folder.join("samples.csv");
    for cut in 0..20 {
        fs::write(&path, &b"trial,role,phase,t_ns,"[..cut]).unwrap();
        fs::remove_file(folder.join("trials.jsonl")).ok();
        let (mut resumed, _) = RunFolder::resume(&folder).unwrap();
        resumed.append_trial(&trial(1), &readings(1)).unwrap();
        assert_eq!(
            open(&folder).unwrap().readings.of(&trial_id(1)),
            Some(readings(1)),
            "cut at {cut}"
        );
    }
}

#[test]
fn a_broken_line_in_the_middle_is_an_error_with_its_number() {
    let out = tempfile::tempdir().unwrap();
    let folder = with_trials(out.path(), 3).path().to_owned();
    let path = folder.join("trials.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1] = &lines[1][..20];
    fs::write(&path, lines.join("\n")).unwrap();
    let error = open(&folder).unwrap_err().to_string();
    assert!(error.contains("trials.jsonl, line 2,"), "{error}");
    let listed = list(out.path()).unwrap();
    assert!(matches!(&listed[0].state, RunState::Unreadable(why) if why.contains("line 2")));
}

#[test]
fn a_trial_has_one_record() {
    let out = tempfile::tempdir().unwrap();
    let mut folder = with_trials(out.path(), 1);
    let again = folder.append_trial(&trial(1), &[]);
    assert!(matches!(again, Err(StoreError::Duplicate { .. })));
    let path = folder.path().join("trials.jsonl");
    let line = fs::read_to_string(&path).unwrap();
    fs::write(&path, line.repeat(2)).unwrap();
    assert!(matches!(
        open(folder.path()),
        Err(StoreError::Duplicate { .. })
    ));
}

#[test]
fn a_newer_format_names_both_versions() {
    let out = tempfile::tempdir().unwrap();
    let folder = with_trials(out.path(), 1).path().to_owned();
    let path = folder.join("run.json");
    fs::write(&path, r#"{"format": 7, "anything": "else"}"#).unwrap();
    let error = open(&folder).unwrap_err().to_string();
    assert!(
        error.contains("format 7") && error.contains("format 1"),
        "{error}"
    );
}

#[test]
fn a_full_disk_is_told_apart_and_costs_only_this_trial() {
    let out = tempfile::tempdir().unwrap();
    for file in ["samples.csv", "trials.jsonl"] {
        let mut folder = with_trials(out.path(), 1);
        let path = folder.path().join(file);
        let aside = folder.path().join("aside");
        fs::rename(&path, &aside).unwrap();
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let error = folder.append_trial(&trial(2), &readings(2)).unwrap_err();
        assert!(error.is_full(), "{error}");
        assert!(error.to_string().contains(file), "{error}");
        assert!(!folder.finished().contains(&trial_id(2)));
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
        assert_eq!(open(folder.path()).unwrap().trials, [trial(1)]);
        let (mut resumed, _) = RunFolder::resume(folder.path()).unwrap();
        resumed.append_trial(&trial(2), &readings(2)).unwrap();
        assert_eq!(
            open(folder.path()).unwrap().readings.of(&trial_id(2)),
            Some(readings(2))
        );
    }
}

#[test]
fn runs_of_one_second_are_told_apart_and_stay_in_order() {
    let out = tempfile::tempdir().unwrap();
    let made: Vec<RunId> = (0..12)
        .map(|_| with_trials(out.path(), 0).run().id.clone())
        .collect();
    let listed: Vec<RunId> = list(out.path())
        .unwrap()
        .into_iter()
        .map(|run| run.id)
        .collect();
    assert_eq!(listed, made);
    let newest = find(out.path(), Some("demo"), "latest").unwrap();
    assert!(newest.ends_with(&made[11].0));
    assert!(
        find(out.path(), None, &made[3].0)
            .unwrap()
            .ends_with(&made[3].0)
    );
}

#[test]
fn a_run_is_found_only_by_what_can_be_its_name() {
    let out = tempfile::tempdir().unwrap();
    with_trials(out.path(), 0);
    for bad in ["../demo", "", "..", "a/b"] {
        assert!(matches!(
            find(out.path(), Some("demo"), bad),
            Err(StoreError::BadName(_))
        ));
        assert!(find(out.path(), Some(bad), "latest").is_err());
        assert!(RunFolder::create(out.path(), bad, None, run(None), None).is_err());
    }
    assert!(matches!(
        find(out.path(), None, "2026"),
        Err(StoreError::NoRun { .. })
    ));
}

#[test]
fn the_newest_unfinished_run_of_a_profile_is_resumed() {
    let out = tempfile::tempdir().unwrap();
    let mut complete = with_trials(out.path(), 3);
    complete.finish(End::Complete).unwrap();
    assert_eq!(unfinished(out.path(), "demo", None).unwrap(), None);
    let mut quick = RunFolder::create(
        out.path(),
        "demo",
        Some("ab12cd3"),
        run(Some("quick")),
        None,
    )
    .unwrap();
    let failed = Trial {
        outcome: Outcome::Failed {
            step: Step::Ready,
            reason: "no".to_owned(),
            log_tail: Vec::new(),
        },
        ..trial(1)
    };
    quick.append_trial(&failed, &[]).unwrap();
    assert_eq!(unfinished(out.path(), "demo", None).unwrap(), None);
    let found = unfinished(out.path(), "demo", Some("quick"))
        .unwrap()
        .unwrap();
    assert_eq!((found.done, found.failed, found.planned), (1, 1, 3));
    assert_eq!(found.state, RunState::Unfinished);

    let (mut resumed, _) = RunFolder::resume(&found.path).unwrap();
    resumed.finish(End::Interrupted).unwrap();
    resumed.add_session(session()).unwrap();
    let stored = open(&found.path).unwrap();
    assert_eq!((stored.run.sessions.len(), stored.run.end), (2, None));
}

#[test]
fn logs_of_a_trial_that_was_cut_off_make_room() {
    let out = tempfile::tempdir().unwrap();
    let folder = with_trials(out.path(), 0);
    let logs = folder.log_folder(&trial_id(1)).unwrap();
    fs::write(logs.join("server.log"), "old").unwrap();
    assert_eq!(folder.log_folder(&trial_id(1)).unwrap(), logs);
    assert_eq!(fs::read_dir(logs).unwrap().count(), 0);
}

/// Where the second process finds the folder that it locks.
const LOCK_HERE: &str = "HOTLAP_TEST_LOCK_HERE";

#[test]
#[ignore = "the second process of the test below"]
fn holds_a_lock_until_it_is_killed() {
    let out = std::env::var_os(LOCK_HERE).expect("the test below starts this one");
    let _lock = lock_output(Path::new(&out), "theirs").unwrap();
    println!("locked");
    loop {
        std::thread::park();
    }
}

#[test]
fn another_process_is_named_and_its_lock_falls_when_it_is_killed() {
    let out = tempfile::tempdir().unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "holds_a_lock_until_it_is_killed",
            "--nocapture",
        ])
        .env(LOCK_HERE, out.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("locked")));
    let refused = lock_output(out.path(), "ours").unwrap_err();
    let said = refused.to_string();
    assert!(matches!(refused, StoreError::Locked { .. }));
    assert!(
        said.contains(&format!("pid {} (suite theirs, since 2", other.id())),
        "{said}"
    );
    other.kill().unwrap();
    other.wait().unwrap();
    lock_output(out.path(), "ours").unwrap();
}
