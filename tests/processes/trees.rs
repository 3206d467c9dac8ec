//! Trees as servers have them: workers that are replaced, daemons, zombies, several
//! trees of one role, services beside, and a server that somebody else started.

use crate::kit::{Place, python, start, until, without_python};
use hotlap::process::{Guard, Launch, Walker};
use hotlap::record::{Phase, Reading, Usage};
use hotlap::sample::{Checkpoint, Root, Sampler, Series, Tree};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// What Python programs of these tests share.
const PRELUDE: &str = "\
import os, resource, signal, sys, time
def wait(name):
  while not os.path.exists(name):
    if not os.path.exists('.'): os._exit(1)
    time.sleep(0.002)
def tell(name, text='x'):
  open(name + '.new', 'w').write(f'{text}\\n'); os.rename(name + '.new', name)
def burn(seconds):
  end = time.process_time() + seconds
  while time.process_time() < end: pass
def used(who):
  u = resource.getrusage(who); return u.ru_utime + u.ru_stime
";

fn program(rest: &str) -> String {
    format!("{PRELUDE}{rest}")
}

fn root(role: &str, guard: &Guard) -> Root {
    Root {
        role: role.into(),
        tree: Tree::UnderGuard(guard.guard_pid()),
        counted: true,
    }
}

fn watch(roots: Vec<Root>, milliseconds: u64) -> Sampler {
    Sampler::start(roots, Duration::from_millis(milliseconds), Instant::now()).unwrap()
}

/// Begins a phase, and waits for its first reading.
fn begin(sampler: &Sampler, phase: Phase) {
    sampler.phase(phase);
    sampler.checkpoint(Checkpoint::Loaded);
}

/// A launch that may run beside another one of the same place.
fn beside(mut launch: Launch, name: &str, place: &Place) -> Launch {
    launch.ledger = None;
    launch.log = place.path().join(name);
    launch
}

fn go(place: &Place, name: &str) {
    fs::write(place.path().join(name), "").unwrap();
}

#[tokio::test]
async fn fifty_children_a_second_are_counted_to_a_tenth() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = program(
        "wait('go')
before = used(resource.RUSAGE_SELF)
for n in range(50):
  due = time.monotonic() + 0.02
  if os.fork() == 0: burn(0.02); os._exit(0)
  os.wait()
  time.sleep(max(0, due - time.monotonic()))
tell('used', used(resource.RUSAGE_SELF) - before + used(resource.RUSAGE_CHILDREN))
signal.pause()",
    );
    let guard = start(&place.python(&script)).await;
    let sampler = watch(vec![root("server", &guard)], 100);
    begin(&sampler, Phase::Measure);
    go(&place, "go");
    let used: f64 = place.wait_for("used").parse().unwrap();
    begin(&sampler, Phase::Rest);
    let usage = &sampler.finish().usage["server"];
    guard.stop().await.unwrap();
    let seen = usage.cpu_seconds.unwrap();
    assert!(used > 0.99, "each child used 20 ms: {used}");
    assert!((seen / used - 1.0).abs() < 0.1, "{seen} of {used}");
    // Nobody worked for long: the parent only waits, and each child is a fiftieth.
    assert!(usage.busiest_cpu_share.unwrap() < 0.5, "{usage:?}");
}

#[tokio::test]
async fn workers_that_are_replaced_leave_no_gap() {
    const REPLACED: usize = 3;
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = program(&format!(
        "def worker():
  ready, told = os.pipe()
  pid = os.fork()
  if pid == 0:
    block = bytearray(b'x') * (64 << 20)
    os.write(told, b'x')
    signal.pause()
  os.read(ready, 1)
  return pid
old = worker()
tell('up')
for n in range({REPLACED}):
  wait(f'replace{{n}}')
  new = worker()
  tell(f'both{{n}}')
  wait(f'end{{n}}')
  os.kill(old, signal.SIGKILL); os.waitpid(old, 0)
  old = new
  tell(f'replaced{{n}}')
signal.pause()"
    ));
    let guard = start(&place.python(&script)).await;
    place.wait_for("up");
    let sampler = watch(vec![root("server", &guard)], 5);
    begin(&sampler, Phase::Measure);
    for n in 0..REPLACED {
        go(&place, &format!("replace{n}"));
        place.wait_for(&format!("both{n}"));
        until("both are seen", || sampler.latest().processes == 3);
        go(&place, &format!("end{n}"));
        place.wait_for(&format!("replaced{n}"));
        until("one is seen", || sampler.latest().processes == 2);
    }
    begin(&sampler, Phase::Rest);
    let Series { readings, usage } = sampler.finish();
    guard.stop().await.unwrap();
    assert_eq!(usage["server"].pids_seen as usize, 2 + REPLACED);
    assert_eq!(usage["server"].processes, 3);
    let measured = readings.iter().filter(|r| r.phase == Phase::Measure);
    for reading in measured {
        assert!(reading.rss_bytes > 64 * MIB, "{reading:?}");
    }
    assert!(usage["server"].rss_peak.unwrap() > 128 * MIB);
}

#[tokio::test]
async fn a_daemon_that_leaves_its_session_is_in_the_tree() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = program(
        "if os.fork() == 0:
  os.setsid()
  if os.fork() == 0:
    block = bytearray(b'x') * (64 << 20)
    tell('up')
    signal.pause()
  os._exit(0)
os.wait()
signal.pause()",
    );
    let guard = start(&place.python(&script)).await;
    place.wait_for("up");
    let sampler = watch(vec![root("server", &guard)], 10);
    sampler.checkpoint(Checkpoint::Idle);
    let usage = &sampler.finish().usage["server"];
    guard.stop().await.unwrap();
    assert_eq!((usage.processes, usage.pids_seen), (2, 2));
    assert!(usage.rss_idle.unwrap() > 64 * MIB, "{usage:?}");
    assert!(usage.pss_idle.unwrap() > 64 * MIB, "{usage:?}");
}

#[tokio::test]
async fn zombies_are_no_processes_and_hold_no_memory() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = program(
        "pids = []
for n in range(5):
  pid = os.fork()
  if pid == 0:
    block = bytearray(b'x') * (16 << 20); burn(0.02); os._exit(0)
  pids.append(pid)
def state(pid): return open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[0]
while any(state(pid) != 'Z' for pid in pids): time.sleep(0.002)
tell('up')
signal.pause()",
    );
    let guard = start(&place.python(&script)).await;
    place.wait_for("up");
    let sampler = watch(vec![root("server", &guard)], 10);
    sampler.checkpoint(Checkpoint::Idle);
    let pid = guard.leader_pid();
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    let Series { usage, readings } = sampler.finish();
    guard.stop().await.unwrap();
    let usage = &usage["server"];
    assert_eq!((usage.processes, usage.threads, usage.pids_seen), (1, 1, 6));
    let own: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    let own = own * rustix::param::page_size() as u64;
    assert_eq!(usage.rss_idle, Some(own), "only the parent has memory");
    // Their time is not lost, although nobody has waited for them.
    let cpu = readings.last().unwrap().cpu_seconds;
    assert!(cpu >= 0.05, "{cpu}");
}

#[tokio::test]
async fn trees_of_one_role_are_one_role() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let works = program("tell('up0'); wait('go'); burn(0.6); tell('done'); signal.pause()");
    let rests = program("tell('up1'); signal.pause()");
    let first = start(&beside(place.python(&works), "0.log", &place)).await;
    let second = start(&beside(place.python(&rests), "1.log", &place)).await;
    place.wait_for("up0");
    place.wait_for("up1");
    let sampler = watch(vec![root("app", &first), root("app", &second)], 10);
    sampler.checkpoint(Checkpoint::Idle);
    begin(&sampler, Phase::Measure);
    go(&place, "go");
    place.wait_for("done");
    begin(&sampler, Phase::Rest);
    let Series { usage, readings } = sampler.finish();
    let (first, second) = (first.stop().await, second.stop().await);
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(usage.keys().collect::<Vec<_>>(), ["app", "total"]);
    for pair in readings.windows(2) {
        assert!(pair[0].t_ns < pair[1].t_ns, "one row a reading: {pair:?}");
    }
    let app = &usage["app"];
    assert_eq!((app.processes, app.threads, app.pids_seen), (2, 2, 2));
    assert!(app.cpu_seconds.unwrap() > 0.5, "{app:?}");
    assert!(app.busiest_cpu_share.unwrap() > 0.9, "{app:?}");
    assert_eq!(app.working_processes, Some(1));
    let workers = app.workers.unwrap();
    assert_eq!(workers.processes, 2);
    assert!(workers.busiest_share > 0.9, "{workers:?}");
    let total = &usage["total"];
    assert_eq!(
        (total.rss_idle, total.pss_idle),
        (app.rss_idle, app.pss_idle)
    );
    assert_eq!(total.working_processes, Some(1));
}

#[tokio::test]
async fn what_does_not_count_is_seen_and_in_no_total() {
    let place = Place::new();
    let server = start(&beside(place.sh("exec sleep 1000"), "0.log", &place)).await;
    let database = start(&beside(
        place.sh("sleep 1000 & exec sleep 1000"),
        "1.log",
        &place,
    ))
    .await;
    let apart = Root {
        counted: false,
        ..root("database", &database)
    };
    let sampler = watch(vec![apart, root("server", &server)], 10);
    let whole = || database.tree().len() >= 2 && !server.tree().is_empty();
    until("all processes are there", whole);
    sampler.checkpoint(Checkpoint::Idle);
    begin(&sampler, Phase::Measure);
    assert!(sampler.latest().processes < 3);
    begin(&sampler, Phase::Rest);
    let Series { usage, readings } = sampler.finish();
    let (server_end, database_end) = (server.stop().await, database.stop().await);
    assert!(server_end.is_ok() && database_end.is_ok());
    let [server, database, total] = ["server", "database", "total"].map(|role| &usage[role]);
    assert!(database.apart && !server.apart && !total.apart);
    assert!(database.processes > server.processes);
    assert_eq!(total.processes, server.processes);
    assert_eq!(total.pids_seen, server.pids_seen);
    let figures: [fn(&Usage) -> Option<u64>; 4] = [
        |u| u.rss_idle,
        |u| u.rss_peak,
        |u| u.pss_idle,
        |u| u.rss_high_water,
    ];
    for read in figures {
        assert!(read(database).unwrap() > 0);
        assert_eq!(read(total), read(server));
    }
    let rows = |role: &str| readings.iter().filter(|r| r.role == role).count();
    assert_eq!(rows("database"), rows("server"));
}

/// A program that nobody guards. It ends when its input does.
struct Stranger(Child);

impl Stranger {
    fn start(place: &Place, script: &str) -> Self {
        let child = Command::new(python().unwrap())
            .args(["-c", script])
            .current_dir(place.path())
            .stdin(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn from(pid: u32) -> Root {
    Root {
        role: "server".into(),
        tree: Tree::From(Walker::new().stat(pid).unwrap().id),
        counted: true,
    }
}

fn last(series: &Series) -> &Reading {
    series.readings.last().unwrap()
}

#[test]
fn a_server_that_runs_already_is_itself_with_its_descendants() {
    if without_python() {
        return;
    }
    let place = Place::new();
    // A child that works, a grandchild whose parent has gone, and much work from before.
    let script = program(
        "burn(0.5)
if os.fork() == 0:
  block = bytearray(b'x') * (64 << 20)
  tell('held'); wait('go'); burn(0.5); tell('done')
  sys.stdin.read(); os._exit(0)
ready, told = os.pipe()
middle = os.fork()
if middle == 0:
  if os.fork() == 0:
    os.write(told, b'x')
    sys.stdin.read(); os._exit(0)
  wait('middle'); os._exit(0)
os.read(ready, 1)
tell('up')
os.waitpid(middle, 0)
tell('orphaned')
sys.stdin.read()",
    );
    let stranger = Stranger::start(&place, &script);
    place.wait_for("held");
    place.wait_for("up");
    let sampler = watch(vec![from(stranger.0.id())], 10);
    sampler.checkpoint(Checkpoint::Idle);
    assert_eq!(sampler.latest().processes, 4);
    begin(&sampler, Phase::Measure);
    go(&place, "go");
    place.wait_for("done");
    begin(&sampler, Phase::Rest);
    go(&place, "middle");
    place.wait_for("orphaned");
    sampler.checkpoint(Checkpoint::After);
    assert_eq!(sampler.latest().processes, 3, "who lost its parent is kept");
    let series = sampler.finish();
    let usage = &series.usage["server"];
    assert_eq!((usage.processes, usage.pids_seen), (4, 4));
    assert!(usage.rss_idle.unwrap() > 64 * MIB, "{usage:?}");
    let cpu = usage.cpu_seconds.unwrap();
    assert!(cpu > 0.45 && cpu < 0.9, "{cpu}");
    assert!(usage.busiest_cpu_share.unwrap() > 0.8, "{usage:?}");
    let first = &series.readings[0];
    assert!(first.cpu_seconds.abs() < f64::EPSILON, "{first:?}");
    assert!(
        last(&series).cpu_seconds < 0.95,
        "what was before is not counted"
    );
}

#[test]
fn a_server_that_is_gone_is_gone_with_its_tree() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = program(
        "if os.fork() == 0:
  sys.stdin.read(); os._exit(0)
tell('up')
wait('go'); burn(0.3); tell('done')
sys.stdin.read()",
    );
    let mut stranger = Stranger::start(&place, &script);
    place.wait_for("up");
    let sampler = watch(vec![from(stranger.0.id())], 10);
    sampler.checkpoint(Checkpoint::Idle);
    assert_eq!(sampler.latest().processes, 2);
    go(&place, "go");
    place.wait_for("done");
    sampler.checkpoint(Checkpoint::Loaded);
    stranger.0.kill().unwrap();
    stranger.0.wait().unwrap();
    // Its child lives, but of what is left nobody knows whose it is.
    sampler.checkpoint(Checkpoint::After);
    let series = sampler.finish();
    let end = last(&series);
    assert_eq!((end.processes, end.rss_bytes), (0, 0));
    assert!(end.cpu_seconds > 0.25, "{end:?}");
    for pair in series.readings.windows(2) {
        assert!(pair[1].cpu_seconds >= pair[0].cpu_seconds, "{pair:?}");
    }
}
