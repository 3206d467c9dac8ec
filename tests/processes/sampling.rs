//! What the sampler sees of real trees: memory that is known, memory that is
//! shared, CPU time of children that have ended, and processes that come and go.

use crate::kit::{Place, start, until, without_python};
use hotlap::process::Guard;
use hotlap::record::{Phase, Reading};
use hotlap::sample::{Checkpoint, Root, Sampler, Series, Tree};
use std::fs;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

fn sample(guard: &Guard, milliseconds: u64) -> Sampler {
    let root = Root {
        role: "server".into(),
        tree: Tree::UnderGuard(guard.guard_pid()),
        counted: true,
    };
    Sampler::start(
        vec![root],
        Duration::from_millis(milliseconds),
        Instant::now(),
    )
    .unwrap()
}

/// Every reading's CPU time is at least the one before it.
fn never_falls(readings: &[Reading]) {
    for pair in readings.windows(2) {
        assert!(pair[1].cpu_seconds >= pair[0].cpu_seconds, "{pair:?}");
        assert!(pair[1].t_ns > pair[0].t_ns, "{pair:?}");
    }
}

/// A value in kB from a file of /proc, in bytes.
fn kilobytes(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1024
}

#[tokio::test]
async fn resident_memory_is_what_the_kernel_says_to_a_hundredth() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = "import time
block=bytearray(b'x')*(96<<20)
open('up','w').write('up\\n')
time.sleep(1000)";
    let guard = start(&place.python(script)).await;
    place.wait_for("up");
    let sampler = sample(&guard, 10);
    sampler.phase(Phase::Idle);
    sampler.checkpoint(Checkpoint::Idle);
    assert!(sampler.latest().rss_bytes > 96 * MIB);
    assert_eq!(sampler.latest().processes, 1);
    sampler.phase(Phase::Measure);
    until("some readings", || sampler.latest().processes == 1);
    sampler.phase(Phase::Rest);
    sampler.checkpoint(Checkpoint::Loaded);
    sampler.checkpoint(Checkpoint::After);
    let pid = guard.leader_pid();
    let exact = kilobytes(&format!("/proc/{pid}/smaps_rollup"), "Rss:") as f64;
    let high = kilobytes(&format!("/proc/{pid}/status"), "VmHWM:") as f64;
    let Series { usage, readings } = sampler.finish();
    guard.stop().await.unwrap();
    for role in ["server", "total"] {
        let usage = &usage[role];
        for rss in [
            usage.rss_idle,
            usage.rss_mean,
            usage.rss_peak,
            usage.rss_after,
        ] {
            let rss = rss.unwrap() as f64;
            assert!((rss / exact - 1.0).abs() < 0.01, "{rss} is not {exact}");
        }
        assert!((usage.rss_high_water.unwrap() as f64 / high - 1.0).abs() < 0.01);
        assert!(usage.pss_idle.unwrap() > 96 * MIB);
        assert!(usage.pss_loaded.is_some() && usage.pss_after.is_some());
        assert_eq!((usage.processes, usage.pids_seen), (1, 1));
    }
    assert!(usage["total"].sampler_cpu_seconds.unwrap() > 0.0);
    assert_eq!(readings.iter().filter(|r| r.pss_bytes.is_some()).count(), 3);
    never_falls(&readings);
}

#[tokio::test]
async fn shared_memory_is_in_every_rss_and_once_in_pss() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = "import os,time
block=bytearray(b'x')*(64<<20)
for _ in range(4):
  if os.fork()==0: time.sleep(1000)
open('up','w').write('up\\n')
time.sleep(1000)";
    let guard = start(&place.python(script)).await;
    place.wait_for("up");
    let sampler = sample(&guard, 100);
    sampler.checkpoint(Checkpoint::Idle);
    let usage = &sampler.finish().usage["server"];
    guard.stop().await.unwrap();
    assert_eq!((usage.processes, usage.threads, usage.pids_seen), (5, 5, 5));
    assert!(usage.rss_idle.unwrap() > 5 * 64 * MIB);
    let pss = usage.pss_idle.unwrap();
    assert!(pss > 64 * MIB && pss < 2 * 64 * MIB, "{pss}");
    assert_eq!(usage.cpu_seconds, None, "nothing was measured");
}

/// Waits for `go`, lets each of some children use CPU time and end, and writes
/// what the kernel says that all have used. `{ignore}` is run first.
fn burners(ignore: &str) -> String {
    format!(
        "import os,resource,signal,time
{ignore}
def used(who):
  u=resource.getrusage(who); return u.ru_utime+u.ru_stime
while not os.path.exists('go'): time.sleep(0.001)
before=used(resource.RUSAGE_SELF)
children=0.0
for n in range(8):
  read,write=os.pipe()
  if os.fork()==0:
    start=time.process_time()
    while time.process_time()-start<0.1: pass
    os.write(write,str(time.process_time()).encode())
    os._exit(0)
  os.close(write)
  children+=float(os.read(read,64)); os.read(read,1); os.close(read)
  try: os.wait()
  except ChildProcessError: pass
open('used','w').write(f'{{children+used(resource.RUSAGE_SELF)-before}}\\n')
signal.pause()"
    )
}

async fn burn(place: &Place, script: &str) -> (Series, f64) {
    let guard = start(&place.python(script)).await;
    let sampler = sample(&guard, 10);
    sampler.phase(Phase::Measure);
    fs::write(place.path().join("go"), "").unwrap();
    let used = place.wait_for("used").parse().unwrap();
    sampler.phase(Phase::Rest);
    let series = sampler.finish();
    guard.stop().await.unwrap();
    (series, used)
}

#[tokio::test]
async fn cpu_of_ended_children_is_counted() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let (series, used) = burn(&place, &burners("")).await;
    let usage = &series.usage["server"];
    let seen = usage.cpu_seconds.unwrap();
    // User and system time are cut to ticks of 10 ms; starting Python is not in `used`.
    assert!(seen > used - 0.05, "{seen} of {used}");
    assert!(seen < used + 0.3, "{seen} of {used}");
    assert!(usage.pids_seen >= 2);
    never_falls(&series.readings);
}

#[tokio::test]
async fn cpu_of_children_that_nobody_waits_for_is_not_lost() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = burners("signal.signal(signal.SIGCHLD,signal.SIG_IGN)");
    let (series, used) = burn(&place, &script).await;
    let seen = series.usage["server"].cpu_seconds.unwrap();
    // Of each child the part after its last reading is unknown.
    assert!(seen > used * 0.6, "{seen} of {used}");
    assert!(seen < used + 0.3, "{seen} of {used}");
    never_falls(&series.readings);
}

#[tokio::test]
async fn a_crowd_of_short_lived_processes_breaks_nothing() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = "import os
for n in range(300):
  if os.fork()==0:
    if os.fork()==0: os.setsid(); sum(range(10000)); os._exit(0)
    sum(range(20000)); os._exit(0)
  os.wait()
u=os.times()
open('used','w').write(f'{u[2]+u[3]}\\n')
import time; time.sleep(1000)";
    let guard = start(&place.python(script)).await;
    let sampler = sample(&guard, 1);
    let used: f64 = place.wait_for("used").parse().unwrap();
    until("all but one are gone", || sampler.latest().processes == 1);
    let pid = guard.leader_pid();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let stopped = guard.stop().await.unwrap();
    let series = sampler.finish();
    assert!(stopped.polite);
    never_falls(&series.readings);
    let usage = &series.usage["server"];
    assert!(usage.pids_seen > 1, "{usage:?}");
    let last = series.readings.last().unwrap();
    assert_eq!((last.processes, last.rss_bytes), (0, 0));
    // All that the tree used is at least what the leader and its own children did.
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    let own: f64 = fields[11..13]
        .iter()
        .map(|n| n.parse::<f64>().unwrap())
        .sum();
    let least = used + own / 100.0 - 0.03;
    assert!(last.cpu_seconds >= least, "{} of {least}", last.cpu_seconds);
}

#[tokio::test]
async fn several_roles_are_kept_apart_and_added_up() {
    let place = Place::new();
    let first = start(&place.sh("sleep 1000 & sleep 1000")).await;
    let mut launch = place.sh("sleep 1000");
    launch.ledger = None;
    launch.log = place.path().join("other.log");
    let second = start(&launch).await;
    let sampler = sample(&first, 10);
    sampler.watch(Root {
        role: "database".into(),
        tree: Tree::UnderGuard(second.guard_pid()),
        counted: true,
    });
    until("all processes", || sampler.latest().processes >= 4);
    sampler.checkpoint(Checkpoint::Idle);
    let usage = sampler.finish().usage;
    let (first, second) = (first.stop().await, second.stop().await);
    assert!(first.is_ok() && second.is_ok());
    let [server, database, total] = ["server", "database", "total"].map(|role| &usage[role]);
    let sum = server.rss_idle.unwrap() + database.rss_idle.unwrap();
    assert_eq!(total.rss_idle.unwrap(), sum);
    assert_eq!(total.processes, server.processes + database.processes);
    assert!(server.processes > database.processes);
    assert_eq!(server.sampler_cpu_seconds, None);
}

#[tokio::test]
async fn a_process_whose_first_thread_has_ended_is_alive() {
    if without_python() {
        return;
    }
    let place = Place::new();
    let script = "import ctypes,threading,time
block=bytearray(b'x')*(64<<20)
def stay():
  while open('/proc/self/stat').read().rsplit(')',1)[1].split()[0]!='Z': time.sleep(0.001)
  open('up','w').write('up\\n')
  time.sleep(1000)
threading.Thread(target=stay).start()
ctypes.CDLL(None).pthread_exit(None)";
    let mut launch = place.python(script);
    launch.grace = Duration::from_millis(300);
    let guard = start(&launch).await;
    place.wait_for("up");
    let sampler = sample(&guard, 10);
    sampler.checkpoint(Checkpoint::Idle);
    let usage = &sampler.finish().usage["server"];
    assert_eq!(usage.processes, 1);
    assert!(usage.rss_idle.unwrap() > 64 * MIB, "{usage:?}");
    assert_eq!(usage.pss_idle, None, "the kernel does not tell");
    assert_eq!(guard.tree().len(), 1);
    guard.stop().await.unwrap();
    assert_eq!(place.marked(), Vec::<u32>::new());
}
