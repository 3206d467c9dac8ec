//! hotlap's generator beside other load generators, on a machine that does other things as well.
//!
//! `cargo bench --bench duel -- --against wrk` (or `all`: those that are installed). Both generators are pinned to one core and take
//! turns of 50 ms (SIGSTOP, SIGCONT), so that whatever else the machine does hits both alike. A server that never sleeps, on another
//! core, counts the requests of each itself: no generator's own figures are taken. CPU time is the kernel's, of all threads. System
//! calls are counted by strace, or else by perf, each generator alone; a dash stands where neither is there or may count.
//! Generators that are not installed are named below the table. `--against hotlap` shows how far the method is to be
//! trusted: a ratio of 0.99 to 1.01. What was found is in `README.md` beside this file.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark tells its figures, and one that cannot start its programs has failed"
)]

#[path = "duel/server.rs"]
mod server;

use rustix::process::{Pid, Signal, kill_process};
use server::Server;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How other generators are asked for the same: `{c}` connections, `{s}` seconds, `{url}`.
const OTHERS: &[(&str, &str)] = &[
    ("wrk", "wrk -t1 -c{c} -d{s}s {url}"),
    ("ab", "ab -q -k -c {c} -t {s} -n 100000000 {url}"),
    ("oha", "oha --no-tui -c {c} -z {s}s {url}"),
    ("hey", "hey -c {c} -z {s}s {url}"),
    ("bombardier", "bombardier -c {c} -d {s}s {url}"),
    ("autocannon", "autocannon -c {c} -d {s} {url}"),
    ("h2load", "h2load --h1 -t1 -c{c} -D {s} {url}"),
    ("hotlap", OURS),
];
const OURS: &str = concat!(
    env!("CARGO_BIN_EXE_hotlap"),
    " load {url} -c {c} -d {s}s -t 1 --same-body"
);
/// How long one of them runs before the other's turn.
const TURN: Duration = Duration::from_millis(50);

/// What is measured.
struct Setting {
    path: String,
    connections: usize,
    rounds: usize,
    seconds: u64,
    core: usize,
    server_core: usize,
    against: Vec<String>,
}

impl Setting {
    fn from_arguments() -> Option<Self> {
        let mut setting = Self {
            path: "p".to_owned(),
            connections: 64,
            rounds: 5,
            seconds: 4,
            core: 1,
            server_core: 0,
            against: Vec::new(),
        };
        // Cargo itself adds `--bench`.
        let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
        while let Some(word) = words.next() {
            let value = words.next()?;
            match word.as_str() {
                "--path" => setting.path = value,
                "--connections" => setting.connections = value.parse().ok()?,
                "--rounds" => setting.rounds = value.parse().ok()?,
                "--seconds" => setting.seconds = value.parse().ok()?,
                "--core" => setting.core = value.parse().ok()?,
                "--server-core" => setting.server_core = value.parse().ok()?,
                "--against" => setting.against = value.split(',').map(str::to_owned).collect(),
                _ => return None,
            }
        }
        (!setting.against.is_empty() && setting.rounds > 0).then_some(setting)
    }

    /// The command line of a generator, as `who` of the two.
    fn command(&self, template: &str, server: &Server, who: usize, seconds: u64) -> Vec<String> {
        let url = format!("http://127.0.0.1:{}/{}{who}", server.port(), self.path);
        let pinned = format!("taskset -c {} {template}", self.core);
        let filled = pinned
            .replace("{c}", &self.connections.to_string())
            .replace("{s}", &seconds.to_string())
            .replace("{url}", &url);
        filled.split_whitespace().map(str::to_owned).collect()
    }
}

fn main() {
    let Some(setting) = Setting::from_arguments() else {
        println!(
            "duel: nothing to do without --against wrk,ab,… (or all) [--path p|k|c|L] [--connections 64] [--rounds 5] [--seconds 4] [--core 1] [--server-core 0]"
        );
        return;
    };
    println!(
        "body {}, {} connections, {} rounds of {} s; ours ÷ theirs, median (range)\n",
        server::describe(&setting.path),
        setting.connections,
        setting.rounds,
        setting.seconds
    );
    println!(
        "| against | requests/s | CPU per request | µs, ours and theirs | system calls per request | peak MiB |\n|---|---|---|---|---|---|"
    );
    let mut missing = Vec::new();
    for (name, template) in OTHERS {
        let all = *name != "hotlap" && setting.against.iter().any(|wanted| wanted == "all");
        if !all && !setting.against.iter().any(|wanted| wanted == name) {
            continue;
        }
        if *name != "hotlap" && !is_installed(name) {
            missing.push(*name);
            continue;
        }
        let mut rounds = Vec::new();
        for _ in 0..setting.rounds {
            rounds.push(round(&setting, [OURS, template]));
        }
        let calls = [OURS, template].map(|template| system_calls(&setting, template));
        println!("{}", row(name, &rounds, calls));
    }
    if !missing.is_empty() {
        println!("\nNot installed: {}.", missing.join(", "));
    }
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// A generator that is ended when it is no longer needed.
struct Generator(Child);

impl Generator {
    fn start(command: &[String]) -> Self {
        let child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Lets it run for a while; gives how long that was.
    fn turn(&self, time: Duration) -> Duration {
        let begun = Instant::now();
        self.signal(Signal::CONT);
        sleep(time);
        self.signal(Signal::STOP);
        begun.elapsed()
    }

    /// CPU time of all its threads so far.
    fn cpu(&self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let used = |thread: fs::DirEntry| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        };
        let nanos: u64 = threads.filter_map(|thread| used(thread.ok()?)).sum();
        Duration::from_nanos(nanos)
    }

    fn peak_mib(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .unwrap();
        let kib: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib / 1024.0
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What one round found, ours first.
struct Round {
    rate: [f64; 2],
    cpu: [f64; 2],
    peak: [f64; 2],
}

fn round(setting: &Setting, templates: [&str; 2]) -> Round {
    let server = Server::start(&setting.path, setting.server_core);
    let seconds = setting.seconds + 10;
    let both = [1, 2]
        .map(|who| Generator::start(&setting.command(templates[who - 1], &server, who, seconds)));
    sleep(Duration::from_millis(500));
    for one in &both {
        one.signal(Signal::STOP);
    }
    // Each finishes its beginning alone.
    for one in &both {
        one.turn(Duration::from_millis(200));
    }
    let before = (server.counts(), both.each_ref().map(Generator::cpu));
    let mut active = [Duration::ZERO; 2];
    let turns = Duration::from_secs(setting.seconds).as_millis() / (2 * TURN.as_millis());
    for turn in 0..turns {
        let order = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
        for one in order {
            active[one] += both[one].turn(TURN);
        }
    }
    sleep(Duration::from_millis(20));
    let after = (server.counts(), both.each_ref().map(Generator::cpu));
    let done = [0, 1].map(|one| (after.0[one] - before.0[one]) as f64);
    assert!(done[0] > 0.0 && done[1] > 0.0, "no requests came: {done:?}");
    Round {
        rate: [0, 1].map(|one| done[one] / active[one].as_secs_f64()),
        cpu: [0, 1]
            .map(|one| after.1[one].saturating_sub(before.1[one]).as_secs_f64() * 1e6 / done[one]),
        peak: both.each_ref().map(Generator::peak_mib),
    }
}

/// System calls per request of a generator that runs alone.
fn system_calls(setting: &Setting, template: &str) -> Option<f64> {
    ["strace", "perf"]
        .iter()
        .filter(|tool| is_installed(tool))
        .find_map(|tool| calls_by(tool, setting, template))
}

/// The same as one tool counts them; none where it may not.
fn calls_by(tool: &str, setting: &Setting, template: &str) -> Option<f64> {
    let server = Server::start(&setting.path, setting.server_core);
    let out = std::env::temp_dir().join(format!("duel-{}", std::process::id()));
    let out_of = out.display();
    let traced = match tool {
        "strace" => format!("strace -f -c -o {out_of} {template}"),
        _ => format!("perf stat -x , -e raw_syscalls:sys_enter -o {out_of} {template}"),
    };
    let mut generator = Generator::start(&setting.command(&traced, &server, 1, 3));
    let ended = generator.0.wait();
    let text = fs::read_to_string(&out).ok()?;
    let _ = fs::remove_file(&out);
    ended.ok()?;
    let calls = if tool == "strace" {
        // The last line is the sum; its fourth word is the number of calls.
        let total = text.lines().rev().find(|line| line.ends_with("total"))?;
        total.split_whitespace().nth(3)?
    } else {
        let counted = text.lines().find(|line| line.contains("raw_syscalls"))?;
        counted.split(',').next()?
    };
    let (calls, requests): (f64, _) = (calls.parse().ok()?, server.counts()[0]);
    (requests > 0).then(|| calls / requests as f64)
}

fn row(name: &str, rounds: &[Round], calls: [Option<f64>; 2]) -> String {
    let ratio = |of: fn(&Round) -> [f64; 2]| {
        let mut all: Vec<f64> = rounds
            .iter()
            .map(|round| of(round)[0] / of(round)[1])
            .collect();
        all.sort_by(f64::total_cmp);
        let (least, most) = (all[0], all[all.len() - 1]);
        format!("{:.3} ({least:.3}–{most:.3})", all[all.len() / 2])
    };
    let median = |of: fn(&Round) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        format!("{:.1}", all[all.len() / 2])
    };
    let calls = calls.map(|calls| calls.map_or("–".to_owned(), |calls| format!("{calls:.2}")));
    format!(
        "| {name} | {} | {} | {} and {} | {} and {} | {} and {} |",
        ratio(|round| round.rate),
        ratio(|round| round.cpu),
        median(|round| round.cpu[0]),
        median(|round| round.cpu[1]),
        calls[0],
        calls[1],
        median(|round| round.peak[0]),
        median(|round| round.peak[1]),
    )
}
