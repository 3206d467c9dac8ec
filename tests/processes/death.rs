//! Sudden deaths: of the runner, whose guards then end everything at once, and
//! of a guard, whose ledger and runner then find what is left.

use crate::kit::{Place, alive, program, signal, start, until, within, without_python};
use hotlap::process::{Exit, Guard, Launch, StopError, end_leftover, leftovers};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Names the launches of a test process that is to act as a runner.
const LAUNCHES: &str = "HOTLAP_TEST_LAUNCHES";

/// Starts what it is given and waits to be killed.
#[tokio::test]
#[ignore = "is run by other tests as the runner that they kill"]
async fn a_runner() {
    let path = PathBuf::from(std::env::var_os(LAUNCHES).expect("is run by other tests"));
    let launches: Vec<Launch> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let mut guards = Vec::new();
    for launch in &launches {
        guards.push(start(launch).await);
    }
    let pids: Vec<u32> = guards.iter().map(Guard::guard_pid).collect();
    fs::write(path.with_extension("started"), format!("{pids:?}\n")).unwrap();
    std::future::pending::<()>().await;
}

fn run_a_runner(place: &Place, launches: &[Launch]) -> std::process::Child {
    let path = place.path().join("launches.json");
    fs::write(&path, serde_json::to_vec(launches).unwrap()).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "death::a_runner"])
        .env(LAUNCHES, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Daemons that fork without end, one that is stopped, and one that is deaf.
const UNRULY: &str = "import os,signal,time
for sig in (signal.SIGTERM,signal.SIGINT,signal.SIGHUP): signal.signal(sig,signal.SIG_IGN)
for _ in range(2):
  if os.fork()==0:
    while True:
      os.setsid()
      if os.fork(): os._exit(0)
if os.fork()==0: os.setsid(); os.kill(os.getpid(),signal.SIGSTOP)
time.sleep(1000)";

#[test]
fn a_killed_runner_leaves_nothing() {
    if without_python() {
        return;
    }
    for moment in 0..4u64 {
        let place = Place::new();
        let mut launches = vec![place.python(UNRULY), place.sh("trap '' TERM; sleep 1000")];
        launches[1].ledger = Some(place.path().join("ledgers/other.json"));
        let mut runner = run_a_runner(&place, &launches);
        if moment == 0 {
            place.wait_for("launches.started");
        } else {
            // In the middle of a start: guards that have and that have not read their launch.
            until("something runs", || !place.marked().is_empty());
            std::thread::sleep(Duration::from_millis(moment * 3));
        }
        runner.kill().unwrap();
        runner.wait().unwrap();
        let folder = place.path().join("ledgers");
        // Guards need milliseconds; a busy machine may keep them waiting.
        within(Duration::from_secs(2), "all are gone", || {
            place.marked().is_empty() && leftovers(&folder).unwrap().is_empty()
        });
    }
}

#[tokio::test]
async fn a_killed_guard_is_noticed_and_its_tree_is_ended() {
    let place = Place::new();
    let launch = place
        .sh("trap '' TERM; (setsid sh -c 'sleep 1000' sh \"$1\" &) ; echo $$ > up; sleep 1000");
    let guard = start(&launch).await;
    place.wait_for("up");
    until("the one that left", || place.marked().len() == 2);
    signal(guard.guard_pid(), "KILL");
    assert_eq!(guard.exited().await, Exit::Unseen);
    let error = guard.stop().await.unwrap_err();
    let expected = StopError::GuardLost {
        role: "server".into(),
        processes: Vec::new(),
    };
    assert_eq!(error, expected);
    assert_eq!(place.marked(), Vec::<u32>::new());
    assert!(!launch.ledger.unwrap().exists());
}

#[tokio::test]
async fn a_ledger_tells_what_a_killed_guard_left() {
    let place = Place::new();
    let launch = place
        .sh("trap '' TERM; (setsid sh -c 'sleep 1000' sh \"$1\" &) ; echo $$ > up; sleep 1000");
    let mut runner = run_a_runner(&place, std::slice::from_ref(&launch));
    let guards = place.wait_for("launches.started");
    let guard: u32 = guards.trim_matches(['[', ']']).parse().unwrap();
    place.wait_for("up");
    until("the one that left", || place.marked().len() == 2);
    let folder = place.path().join("ledgers");
    let before = leftovers(&folder).unwrap();
    assert_eq!(
        (
            before.len(),
            before[0].guarded,
            before[0].ledger.role.as_str()
        ),
        (1, true, "server")
    );
    assert!(before[0].processes.len() >= 2);
    // The runner first, but stopped so that its guard sees no end of it.
    signal(runner.id(), "STOP");
    signal(guard, "KILL");
    runner.kill().unwrap();
    runner.wait().unwrap();
    until("the guard is dead", || !alive(guard));

    fs::write(folder.join("notes.txt"), "not a ledger").unwrap();
    let left = leftovers(&folder).unwrap();
    assert_eq!((left.len(), left[0].guarded), (1, false));
    for pid in place.marked() {
        assert!(
            left[0].processes.iter().any(|process| process.pid == pid),
            "{pid} is not found"
        );
    }
    assert_eq!(end_leftover(&left[0]).unwrap(), []);
    assert_eq!(place.marked(), Vec::<u32>::new());
    assert_eq!(leftovers(&folder).unwrap(), []);
    assert_eq!(leftovers(&folder.join("none")).unwrap(), []);
}

#[tokio::test]
async fn a_living_guard_is_no_leftover() {
    let place = Place::new();
    let guard = start(&place.sh("echo $$ > up; sleep 1000")).await;
    place.wait_for("up");
    let found = leftovers(&place.path().join("ledgers")).unwrap();
    assert!(
        !end_leftover(&found[0]).unwrap().is_empty(),
        "they are named, not ended"
    );
    assert!(alive(guard.leader_pid()));
    guard.stop().await.unwrap();
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let place = Place::new();
    let launch = place.sh("echo $$ > up; sleep 1000");
    let folder = place.path().join("ledgers");
    let mut wait = 200;
    // Each time a little later, until the program ran before its start was given up.
    loop {
        let program = program();
        let mut start = Box::pin(Guard::start(&program, &launch));
        let given_up = tokio::time::timeout(Duration::from_micros(wait), &mut start).await;
        let ran = place.path().join("up").exists();
        drop(given_up);
        drop(start);
        until("all are gone", || {
            place.marked().is_empty() && leftovers(&folder).unwrap().is_empty()
        });
        if ran {
            return;
        }
        assert!(wait < 60_000_000, "the program never ran");
        wait = wait * 3 / 2;
    }
}
