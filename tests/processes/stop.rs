//! How trees are ended: politely where they let it, by force where they do not,
//! with all that left the group; and that strangers are never touched.

use crate::kit::{Place, alive, signal, start, until, without_python};
use hotlap::process::{Exit, Stopped};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A server whose parent exits and whose grandchild, in a session of its own, stays.
const DAEMON: &str = "import os,time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
open('daemon','w').write(f'{os.getpid()}\\n')
time.sleep(1000)";

/// A process that ends only when it is killed.
const DEAF: &str = "trap '' TERM INT HUP; echo $$ > deaf; while :; do sleep 1; done";

#[tokio::test]
async fn a_tree_that_listens_ends_politely() {
    let place = Place::new();
    let launch =
        place.sh("trap 'echo bye; exit 7' TERM; sh -c 'sleep 1000' sh \"$1\" & echo $$ > up; wait");
    let guard = start(&launch).await;
    place.wait_for("up");
    assert!(
        guard
            .tree()
            .iter()
            .any(|process| process.pid == guard.leader_pid())
    );
    let stopped = guard.stop().await.unwrap();
    let polite = Stopped {
        exit: Exit::Code(7),
        polite: true,
        killed: 0,
        survivors: Vec::new(),
        printed: stopped.printed,
    };
    assert_eq!(stopped, polite);
    assert!(stopped.printed >= 4, "`bye` and a line end: {stopped:?}");
    // The shell in the background may add that it was terminated.
    assert!(hotlap::process::tail(&launch.log, 5).contains(&"bye".to_owned()));
    assert!(!launch.ledger.unwrap().exists());
    assert_eq!(place.marked(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_tree_that_does_not_listen_is_killed_after_its_grace() {
    let place = Place::new();
    let mut launch = place.sh(DEAF);
    launch.grace = Duration::from_millis(200);
    let guard = start(&launch).await;
    place.wait_for("deaf");
    let stopped = guard.stop().await.unwrap();
    assert_eq!((stopped.exit, stopped.polite), (Exit::Signal(9), false));
    assert!(stopped.killed >= 1);
    assert_eq!(place.marked(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_stopped_process_is_woken_to_end() {
    let place = Place::new();
    let guard =
        start(&place.sh("trap 'exit 0' TERM; echo $$ > up; while :; do sleep 0.01; done")).await;
    place.wait_for("up");
    signal(guard.leader_pid(), "STOP");
    assert_eq!(guard.stop().await.unwrap().exit, Exit::Code(0));
}

#[tokio::test]
async fn a_daemon_is_seen_and_ended_after_its_parent_has_gone() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let guard = start(&place.python(DAEMON)).await;
    assert_eq!(guard.exited().await, Exit::Code(0));
    let daemon: u32 = place.wait_for("daemon").parse().unwrap();
    assert!(alive(daemon), "the guard goes on guarding");
    assert!(guard.tree().iter().any(|process| process.pid == daemon));
    let stopped = guard.stop().await.unwrap();
    assert_eq!(
        (stopped.exit, stopped.polite),
        (Exit::Code(0), true),
        "it heard SIGTERM"
    );
    assert!(!alive(daemon));
}

#[tokio::test]
async fn what_leaves_the_group_does_not_leave_the_guard() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let mut launch = place.python(
        "import os,signal,time
if os.fork()==0:
  os.setsid(); signal.signal(signal.SIGTERM,signal.SIG_IGN)
  open('worker','w').write(f'{os.getpid()}\\n')
time.sleep(1000)",
    );
    launch.grace = Duration::from_millis(200);
    let guard = start(&launch).await;
    let worker: u32 = place.wait_for("worker").parse().unwrap();
    let stopped = guard.stop().await.unwrap();
    assert_eq!(
        (stopped.exit, stopped.killed, stopped.polite),
        (Exit::Signal(15), 1, false)
    );
    assert!(!alive(worker));
}

#[tokio::test]
async fn a_second_signal_is_never_sent() {
    if without_python() {
        return;
    }
    let place = Place::new();
    // The worker outlives its parent by a moment, and would write of a second signal.
    let launch = place.python(
        "import os,signal,time
worker=os.fork()==0
count=0
def term(*_):
  global count
  count+=1
  open('signals','a').write('term\\n' if worker else '')
  if not worker: os._exit(0)
signal.signal(signal.SIGTERM,term)
open('up' if worker else 'parent','w').write('up\\n')
while not count: time.sleep(0.01)
time.sleep(0.3)",
    );
    let guard = start(&launch).await;
    place.wait_for("up");
    place.wait_for("parent");
    assert!(guard.stop().await.unwrap().polite);
    assert_eq!(place.wait_for("signals"), "term");
}

#[tokio::test]
async fn a_stranger_is_never_signalled() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let mut stranger = Command::new("sh")
        .args([
            "-c",
            "trap 'echo signalled' TERM INT HUP CONT; echo up; while read line; do :; done",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut launch = place.python(
        "import os,signal,time
signal.signal(signal.SIGTERM,signal.SIG_IGN)
for _ in range(5):
  if os.fork()==0: os.setsid(); break
open('up%d'%os.getpid(),'w')
time.sleep(1000)",
    );
    launch.grace = Duration::from_millis(100);
    let guard = start(&launch).await;
    until("six processes", || guard.tree().len() == 6);
    guard.stop().await.unwrap();
    assert_eq!(place.marked(), Vec::<u32>::new());
    assert!(stranger.try_wait().unwrap().is_none());
    drop(stranger.stdin.take());
    let output = stranger.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "up\n");
}

#[tokio::test]
async fn a_storm_of_forks_is_ended() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let mut launch = place.python(STORM);
    launch.grace = Duration::ZERO;
    for _ in 0..3 {
        let guard = start(&launch).await;
        place.wait_for("storm");
        guard.stop().await.unwrap();
        assert_eq!(place.marked(), Vec::<u32>::new());
        std::fs::remove_file(place.path().join("storm")).unwrap();
    }
}

/// Daemons in sessions of their own that fork without end, each link exiting at once.
const STORM: &str = "import os,time
for _ in range(3):
  if os.fork()==0:
    while True:
      os.setsid()
      if os.fork(): os._exit(0)
open('storm','w').write('up\\n')
time.sleep(1000)";

#[tokio::test]
async fn a_guard_that_gets_a_signal_ends_its_tree_first() {
    let place = Place::new();
    let guard =
        start(&place.sh("trap 'exit 5' TERM; echo $$ > up; while :; do sleep 0.01; done")).await;
    place.wait_for("up");
    signal(guard.guard_pid(), "HUP");
    assert_eq!(guard.exited().await, Exit::Code(5));
    assert_eq!(guard.stop().await.unwrap().exit, Exit::Code(5));
}

#[tokio::test]
async fn a_dropped_guard_leaves_nothing() {
    let place = Place::new();
    let guard = start(&place.sh(DEAF)).await;
    place.wait_for("deaf");
    let (guard_pid, leader) = (guard.guard_pid(), guard.leader_pid());
    drop(guard);
    assert!(!alive(leader) && !alive(guard_pid));
    assert_eq!(place.marked(), Vec::<u32>::new());
}
