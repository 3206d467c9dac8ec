//! The command as scripts and people use it: exit codes, suites that are wrong, locks, signals,
//! resuming, and what it says where.

use crate::fixture::Behaviour;
use crate::kit::{Suite, until, without_python};
use hotlap::record::{End, Step};
use std::collections::BTreeSet;

#[test]
fn a_suite_that_is_wrong_starts_nothing() {
    let cases: [(&str, &str, &[&str]); 9] = [
        ("conections = 50", "", &["conections", "`connections`"]),
        ("latency_correction = true", "", &["latency_correction"]),
        (
            "method = 'POST'\nbody_file = 'missing.json'",
            "",
            &["missing.json", "body_file"],
        ),
        ("connections = 0", "", &["connections"]),
        ("duration = 5", "", &["duration"]),
        ("", "[toggles.a]\nvalues = ['on', 'on']", &["on"]),
        ("", "[servers.two]\ncommand = 'x {{ prot }}'", &["prot"]),
        (
            "",
            "[servers.two]\ncommand = 'x'\ncwd = 'nowhere'",
            &["nowhere"],
        ),
        ("", "[servers.two\n", &["case.toml"]),
    ];
    for (load, more, words) in cases {
        let outcome = Suite::new()
            .server("touch", &["touch", "started"], "")
            .load("one", load)
            .toml(more)
            .run()
            .exits(2);
        for word in words {
            assert!(outcome.stderr.contains(word), "{word}: {}", outcome.stderr);
        }
        assert!(
            outcome.stderr.contains("nothing was started"),
            "{}",
            outcome.stderr
        );
        assert!(!outcome.suite.path().join("started").exists());
        assert!(!outcome.suite.path().join("reports").exists());
    }
    let outcome = Suite::new()
        .fixture("good", &Behaviour::good())
        .argument("--only=server=goof")
        .run()
        .exits(2);
    assert!(outcome.stderr.contains("goof"), "{}", outcome.stderr);
    let outcome = Suite::new()
        .fixture("good", &Behaviour::good())
        .argument("--no-such-flag")
        .run()
        .exits(2);
    assert!(
        outcome.stderr.contains("--no-such-flag"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn cells_are_told_apart_by_all_that_they_are() {
    let name = |letter: char| letter.to_string().repeat(35);
    let mut suite = Suite::new()
        .fixture("good", &Behaviour::good())
        .setting("order", "'sequential'");
    for letter in 'a'..='h' {
        suite = suite.toml(&format!(
            "[toggles.{}]\nvalues.on = {{ env.{letter} = '1', label = 'v:?1' }}",
            name(letter)
        ));
    }
    let outcome = suite
        .toml("[toggles.x]\nvalues = ['on', 'off']\nenv.X = '{{ value }}'")
        .toml("[toggles.y]\nvalues = ['on', 'off']\nenv.Y = '{{ value }}'")
        .load("few", "requests = 5\nwarmup = '0s'")
        .run()
        .exits(0);
    let ids: BTreeSet<String> = outcome
        .trials()
        .iter()
        .map(|trial| trial.trial.cell.0.clone())
        .collect();
    assert_eq!(ids.len(), 4, "{ids:?}");
    let hashes: BTreeSet<&str> = ids
        .iter()
        .map(|id| id.rsplit('#').next().unwrap())
        .collect();
    assert_eq!(hashes.len(), 4);
    assert!(ids.iter().all(|id| id.len() > 300));
    let logs = outcome.suite.run_folder().unwrap().join("logs");
    let names: Vec<String> = std::fs::read_dir(logs)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 4);
    for name in names {
        assert!(name.len() <= 150, "{name}");
        assert!(
            name.chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)),
            "{name}"
        );
    }
}

#[test]
fn what_the_machine_lacks_is_a_skip_or_with_strict_an_error() {
    let suite = || {
        Suite::new()
            .fixture_with("needs", &Behaviour::good(), "requires = ['no-such-tool']")
            .toml("[tools.no-such-tool]\ninstall = 'get it from its shop'")
            .fixture("good", &Behaviour::good())
            .load("few", "requests = 5")
    };
    let outcome = suite().run().exits(0);
    assert_eq!(outcome.cell("needs")["state"], "skipped");
    for text in [&outcome.stderr, &outcome.markdown()] {
        assert!(
            text.contains("no-such-tool") && text.contains("get it from its shop"),
            "{text}"
        );
    }
    let outcome = suite().argument("--strict").run().exits(4);
    assert!(
        outcome.stderr.contains("no-such-tool"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.suite.run_folder().is_none());
}

#[test]
fn a_second_run_is_refused_and_told_who_runs() {
    let mut first = Suite::new()
        .fixture("good", &Behaviour::good())
        .load("long", "duration = '60s'")
        .spawn();
    first.wait_for_server();
    let pid = format!("pid {} ", first.child.id());
    let locks = first.suite.path().join("locks").display().to_string();
    let second = Suite::new()
        .env("HOTLAP_LOCK_DIR", &locks)
        .server("touch", &["touch", "started"], "")
        .run()
        .exits(4);
    assert!(
        second.stderr.contains(&pid) && second.stderr.contains("suite case"),
        "{}",
        second.stderr
    );
    assert!(!second.suite.path().join("started").exists());
    // Another machine lock, the same output folder.
    let third = Suite::new()
        .fixture("good", &Behaviour::good())
        .out(&first.suite.path().join("reports"))
        .run()
        .exits(4);
    assert!(
        third.stderr.contains(&pid) && third.stderr.contains("output folder"),
        "{}",
        third.stderr
    );
    first.signal("INT");
    let first = first.wait().exits(130);
    first.nothing_is_left();
    // The lock of who is gone falls by itself.
    Suite::new()
        .env("HOTLAP_LOCK_DIR", &locks)
        .fixture("good", &Behaviour::good())
        .load("few", "requests = 5")
        .run()
        .exits(0);
}

#[test]
fn an_interrupted_run_keeps_what_it_measured_and_goes_on() {
    for signal in ["INT", "TERM"] {
        let mut running = Suite::new()
            .setting("repetitions", "3")
            .fixture("a", &Behaviour::good())
            .fixture("b", &Behaviour::good())
            .load("few", "duration = '250ms'")
            .argument("--seed=7")
            .spawn();
        running.wait_for_trials(2);
        // As `timeout` does it: to the process, and again to its group.
        running.signal_twice(signal);
        let outcome = running.wait().exits(130);
        assert!(outcome.suite.processes().is_empty(), "{}", outcome.stderr);
        outcome.nothing_is_left();
        let kept = outcome.trials();
        assert!((2..6).contains(&kept.len()));
        assert_eq!(outcome.run().end, Some(End::Interrupted));
        assert!(
            outcome.markdown().to_lowercase().contains("interrupted"),
            "{}",
            outcome.markdown()
        );
        assert!(outcome.stderr.contains("--resume"), "{}", outcome.stderr);
        let outcome = outcome.again(&["--resume"]).exits(0);
        let all = outcome.trials();
        assert_eq!(all[..kept.len()], kept[..]);
        let ids: BTreeSet<_> = all.iter().map(|trial| trial.trial.clone()).collect();
        let planned: BTreeSet<_> = outcome
            .run()
            .plan
            .into_iter()
            .map(|planned| planned.trial)
            .collect();
        assert_eq!((all.len(), ids), (6, planned));
        assert_eq!(outcome.run().sessions.len(), 2);
        assert_eq!(outcome.run().end, Some(End::Complete));
        let outcome = outcome.again(&["--resume"]).exits(2);
        assert!(
            outcome.stderr.contains("no unfinished run"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    if without_python() {
        return;
    }
    let deaf = "\
import os, signal, socket
signal.signal(signal.SIGTERM, lambda *_: open('asked', 'w'))
s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', int(os.environ['PORT']))); s.listen(64)
n = 0
while 1:
  k, _ = s.accept(); k.recv(4096); k.send(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok'); k.close()
  n += 1
  if n == 9: open('loaded', 'w')
";
    let mut running = Suite::new()
        // Nobody waits for an hour here.
        .python("deaf", deaf, "stop = { grace = '1h' }")
        .load("long", "duration = '10m'\nkeep_alive = false")
        .spawn();
    let file = |name: &str| running.suite.path().join(name);
    let (loaded, asked) = (file("loaded"), file("asked"));
    until("the server is under load", || loaded.exists());
    running.signal("INT");
    until("the server is asked to stop, and stays", || asked.exists());
    assert!(running.child.try_wait().unwrap().is_none());
    // One that follows at once is the same wish as the first.
    until("it is over", || {
        running.signal("INT");
        running.child.try_wait().unwrap().is_some()
    });
    let outcome = running.wait().exits(130);
    outcome.nothing_is_left();
}

#[test]
fn a_torn_line_is_left_out_with_a_note_and_measured_again() {
    let outcome = Suite::new()
        .setting("repetitions", "4")
        .fixture("a", &Behaviour::good())
        .load("few", "requests = 20\nwarmup = '0s'")
        .run()
        .exits(0);
    let folder = outcome.suite.run_folder().unwrap();
    let file = folder.join("trials.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 17]).unwrap();
    let record = folder.join("run.json");
    let mut run = outcome.run();
    run.end = None;
    std::fs::write(&record, serde_json::to_vec(&run).unwrap()).unwrap();
    let before = outcome.trials();
    assert_eq!(before.len(), 3);
    let outcome = outcome.again(&["--resume"]).exits(0);
    let after = outcome.trials();
    assert_eq!(after.len(), 4);
    assert_eq!(after[..3], before[..]);
    assert_eq!(after[3].session, 1);
    assert!(
        outcome.stderr.contains("trials.jsonl"),
        "{}",
        outcome.stderr
    );
    let repetitions: BTreeSet<u32> = after.iter().map(|trial| trial.trial.repetition).collect();
    assert_eq!(repetitions, [1, 2, 3, 4].into());
}

#[test]
fn programs_hear_what_happens_as_json() {
    let outcome = Suite::new()
        .fixture("good", &Behaviour::good())
        .server("fails", &["false"], "")
        .load("few", "requests = 20")
        .argument("--events=json")
        .run()
        .exits(1);
    let events: Vec<serde_json::Value> = outcome
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "run_started",
            "trial_started",
            "trial_finished",
            "trial_started",
            "trial_finished",
            "run_finished"
        ]
    );
    assert_eq!(events[5]["end"], "complete");
    let states: BTreeSet<&str> = [2, 4]
        .map(|at: usize| events[at]["outcome"]["state"].as_str().unwrap())
        .into();
    assert_eq!(states, ["failed", "valid"].into());
}

#[test]
fn quiet_says_where_the_report_is_and_plain_says_a_line_a_trial() {
    let suite = || {
        Suite::new()
            .setting("repetitions", "2")
            .fixture("good", &Behaviour::good())
            .load("few", "requests = 20\nwarmup = '0s'")
    };
    let outcome = suite().argument("--quiet").run().exits(0);
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    assert!(
        lines.len() == 1 && lines[0].starts_with("case: all 2 trials are valid; report: "),
        "{lines:?}"
    );
    assert_eq!(outcome.stdout, "");
    let outcome = suite()
        .env("NO_COLOR", "1")
        .env("TERM", "xterm-256color")
        .run()
        .exits(0);
    let trials = outcome
        .stderr
        .lines()
        .filter(|line| line.contains("  ["))
        .count();
    assert_eq!(trials, 2, "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");
}

#[test]
fn the_first_failure_ends_a_run_that_wants_it_so() {
    let outcome = Suite::new()
        .setting("order", "'sequential'")
        .server("fails", &["false"], "")
        .fixture("good", &Behaviour::good())
        .argument("--fail-fast")
        .run()
        .exits(1);
    assert_eq!(outcome.trials().len(), 1);
    outcome.failed("fails", Step::Ready);
    assert_eq!(outcome.run().end, Some(End::Aborted));
}
