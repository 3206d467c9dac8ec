//! The runner is killed, at moments that nobody chose. Nothing of it may stay: no process, no
//! scratch folder, no lock; and nothing may be lost that was on disk.

use crate::fixture::{self, Behaviour};
use crate::kit::{Outcome, Suite, python};
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

const DAEMON: &str = "\
import os, socket
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
s = socket.socket(); s.setsockopt(1, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', int(os.environ['PORT']))); s.listen(64)
while 1:
  k, _ = s.accept(); k.recv(4096); k.send(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok'); k.close()
";

/// Trials of the suite below.
const TRIALS: usize = 6;

/// A plain server with a scratch folder, one with helpers in sessions of their own, and a daemon.
fn suite() -> Suite {
    let fixture = fixture::command();
    let family = "setsid sleep 600 & sleep 600 & exec \"$@\"";
    let mut words = vec!["sh", "-c", family, "sh"];
    words.extend(fixture.iter().map(String::as_str));
    let mut suite = Suite::new()
        .setting("repetitions", "2")
        .fixture_with("plain", &Behaviour::good(), "env.SCRATCH = '{{ dir }}'")
        .server(
            "family",
            &words,
            "env.FX = '1'\nstop = { grace = '1s' }\nenv.SCRATCH = '{{ dir }}'",
        );
    suite = match python() {
        Some(_) => suite.python("daemon", DAEMON, "stop = { grace = '1s' }"),
        None => suite.fixture("daemon", &Behaviour::good()),
    };
    suite
        .load("few", "requests = 60\nwarmup = '20ms'")
        .argument("--seed=1")
}

/// Runs the suite, kills the runner at a random moment, and looks at what is left.
fn kill_once(random: &mut fastrand::Rng, signals: &[&str]) -> Outcome {
    let trials = random.usize(0..TRIALS);
    let delay = Duration::from_micros(random.u64(0..150_000));
    let mut running = suite().spawn();
    let started = Instant::now();
    // The moment is between two facts: so many trials are on disk, and a while has passed.
    while running.suite.trials().len() < trials && running.child.try_wait().unwrap().is_none() {
        assert!(started.elapsed() < crate::kit::PATIENCE);
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(delay);
    for signal in signals {
        running.signal(signal);
    }
    let outcome = running.wait();
    let what = format!(
        "{signals:?} after {trials} trials and {delay:?}\n{}",
        outcome.stderr
    );
    outcome.nothing_is_left();
    // Whoever was killed in the middle of a line leaves a torn one; every other reads.
    let kept = outcome.trials();
    assert!(
        kept.len() >= trials,
        "lost: {} of {trials}; {what}",
        kept.len()
    );
    for trial in &kept {
        if let Some(port) = trial.port {
            assert!(
                TcpListener::bind(("127.0.0.1", port)).is_ok(),
                "{port} is still taken; {what}"
            );
        }
    }
    outcome
}

/// Goes on with it and compares with a run that nobody killed.
fn resume(outcome: Outcome) {
    let kept = outcome.trials();
    // A run that was killed before it had a folder is begun anew.
    let fresh = outcome
        .suite
        .run_folder()
        .is_none_or(|folder| !folder.join("run.json").exists());
    let ended = !fresh && outcome.run().end == Some(hotlap::record::End::Complete);
    let outcome = if ended {
        outcome
    } else if fresh {
        outcome.again(&["--seed=1"]).exits(0)
    } else {
        outcome.again(&["--resume"]).exits(0)
    };
    let all = outcome.trials();
    assert_eq!(all[..kept.len()], kept[..]);
    let ids: BTreeSet<_> = all.iter().map(|trial| trial.trial.clone()).collect();
    let planned: BTreeSet<_> = outcome
        .run()
        .plan
        .into_iter()
        .map(|planned| planned.trial)
        .collect();
    assert_eq!((all.len(), ids.len()), (TRIALS, TRIALS));
    assert_eq!(ids, planned);
    let text = outcome.read("trials.jsonl");
    assert_eq!(text.lines().count(), TRIALS);
    let guards = outcome.suite.run_folder().unwrap().join("guards");
    assert_eq!(fs::read_dir(guards).map_or(0, Iterator::count), 0);
}

fn seed() -> u64 {
    // HOTLAP_KILL_SEED=n tries other moments, or the same again.
    std::env::var("HOTLAP_KILL_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20_261)
}

#[expect(clippy::print_stdout, reason = "who reads of a failure needs the seed")]
fn kills(name: &str, offset: u64, times: u32, signals: &[&str], codes: &[Option<i32>]) {
    let seed = seed() + offset;
    println!("{name}: seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..times {
        let outcome = kill_once(&mut random, signals);
        // It may have come to its end just before.
        assert!(
            outcome.exit == Some(0) || codes.contains(&outcome.exit),
            "{:?} {}",
            outcome.exit,
            outcome.stderr
        );
        resume(outcome);
    }
}

#[test]
fn nothing_survives_kill_nine() {
    kills("kill -9", 1, 6, &["KILL"], &[None]);
}

#[test]
fn nothing_survives_kill_nine_again() {
    kills("kill -9", 2, 5, &["KILL"], &[None]);
}

#[test]
fn nothing_survives_an_interrupt_or_several() {
    // Before the runner listens for signals they end it as the system does.
    kills("INT", 3, 3, &["INT"], &[Some(130), None]);
    kills(
        "INT INT INT",
        4,
        2,
        &["INT", "INT", "INT"],
        &[Some(130), None],
    );
}

#[test]
fn nothing_survives_a_termination() {
    kills("TERM", 5, 2, &["TERM"], &[Some(130), None]);
    kills("TERM KILL", 6, 2, &["TERM", "KILL"], &[Some(130), None]);
}
