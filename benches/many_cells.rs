//! What `hotlap report` takes for a run of many cells: wall time and peak memory of the command itself.
//!
//! `cargo bench --bench many_cells -- [CELLS [TRIALS]]`, usually 10 000 and 3. The run's folder is made first, from the records of
//! `tests/report_fixture`: five servers, four toggles, each cell compared with that of its server without toggles.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a benchmark tells its figures, and one that cannot write its run has failed"
)]

#[path = "../tests/report_fixture/mod.rs"]
mod report_fixture;

use hotlap::ids::{CellId, TrialId, VariantId};
use hotlap::record::{Reading, Trial};
use hotlap::spec::{Axis, Cell, Choice, Planned};
use report_fixture::{Records, records};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SERVERS: usize = 5;
/// Values of each toggle but the last, which has as many as it takes.
const VALUES: [usize; 3] = [5, 5, 4];
/// The header of `samples.csv`.
const SAMPLES: &str =
    "trial,role,phase,t_ns,rss_bytes,pss_bytes,cpu_seconds,processes,threads,completed_count\n";

fn main() {
    let mut numbers = std::env::args().filter_map(|word| word.parse::<usize>().ok());
    let cells = numbers.next().unwrap_or(10_000);
    let trials = numbers.next().unwrap_or(3);
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), cells, trials);
    for formats in ["md,csv,json,html", "md", "csv", "json", "html"] {
        let (took, peak) = report(folder.path(), formats);
        eprintln!(
            "{cells} cells × {trials} trials, {formats}: {:.2} s, peak {} MiB",
            took.as_secs_f64(),
            peak / 1024
        );
    }
    for name in [
        "run.json",
        "trials.jsonl",
        "samples.csv",
        "report.md",
        "summary.csv",
        "trials.csv",
        "report.json",
    ] {
        let size = fs::metadata(folder.path().join(name)).unwrap().len();
        eprintln!("{name}: {} KiB", size / 1024);
    }
    // To look at, where a folder is named.
    if let Some(copy) = std::env::var_os("HOTLAP_KEEP") {
        fs::create_dir_all(&copy).unwrap();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_file() {
                fs::copy(entry.path(), Path::new(&copy).join(entry.file_name())).unwrap();
            }
        }
    }
}

/// Runs the command on the folder. Its time, and the most memory that it had, in KiB.
fn report(folder: &Path, formats: &str) -> (Duration, u64) {
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_hotlap"))
        .args(["report", "--format", formats])
        .arg(folder)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let read = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(read.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
    (began.elapsed(), peak)
}

/// Writes the run's folder.
fn write(folder: &Path, cells: usize, trials: usize) {
    let Records {
        mut run,
        trials: known,
        readings,
    } = records();
    let of_node: Vec<&Trial> = known
        .iter()
        .filter(|trial| trial.trial.cell.names() == "node/compression=off@steady")
        .collect();
    let rows: Vec<Vec<Reading>> = of_node
        .iter()
        .map(|trial| readings.of(&trial.trial).unwrap())
        .collect();
    let one = run.spec.cells[0].clone();
    run.spec.cells = (0..cells).map(|at| cell(&one, at)).collect();
    run.spec.axes = axes(cells);
    run.plan = (1..=trials as u32)
        .flat_map(|round| run.spec.cells.iter().map(move |cell| planned(cell, round)))
        .collect();
    fs::write(folder.join("run.json"), serde_json::to_vec(&run).unwrap()).unwrap();
    let open = |name| std::io::BufWriter::new(fs::File::create(folder.join(name)).unwrap());
    let (mut lines, mut samples) = (open("trials.jsonl"), open("samples.csv"));
    samples.write_all(SAMPLES.as_bytes()).unwrap();
    for (at, planned) in run.plan.iter().enumerate() {
        let mut trial = of_node[at % of_node.len()].clone();
        trial.trial = planned.trial.clone();
        trial.round = planned.round;
        // Another rate in each cell, within a tenth.
        let load = trial.load.as_mut().unwrap();
        load.window_ns += (at as u64 * 7_919) % 1_000_000_000;
        serde_json::to_writer(&mut lines, &trial).unwrap();
        lines.write_all(b"\n").unwrap();
        let mut text = String::new();
        for row in &rows[at % rows.len()] {
            let phase = serde_json::to_value(row.phase).unwrap();
            let pss = row
                .pss_bytes
                .map_or_else(String::new, |bytes| bytes.to_string());
            writeln!(
                text,
                "\"{}\",{},{},{},{},{pss},{},{},{},",
                trial.trial,
                row.role,
                phase.as_str().unwrap(),
                row.t_ns,
                row.rss_bytes,
                row.cpu_seconds,
                row.processes,
                row.threads
            )
            .unwrap();
        }
        samples.write_all(text.as_bytes()).unwrap();
    }
}

fn planned(cell: &Cell, round: u32) -> Planned {
    Planned {
        trial: TrialId {
            cell: cell.id.clone(),
            repetition: round,
        },
        round,
    }
}

/// The place of a cell on each axis.
fn places(at: usize) -> (usize, [usize; 4]) {
    let (server, mut rest) = (at % SERVERS, at / SERVERS);
    let mut values = [0; 4];
    for (value, all) in values.iter_mut().zip(VALUES) {
        *value = rest % all;
        rest /= all;
    }
    values[3] = rest;
    (server, values)
}

fn name_of(at: usize) -> String {
    let (server, values) = places(at);
    let mut names: Vec<String> = ["a", "b", "c", "d"]
        .iter()
        .zip(values)
        .map(|(toggle, value)| format!("{toggle}=v{value}"))
        .collect();
    names.sort();
    format!("server{server}/{}", names.join(","))
}

fn id_of(at: usize) -> CellId {
    CellId(format!("{}@steady#{at:012x}", name_of(at)))
}

fn cell(one: &Cell, at: usize) -> Cell {
    let (server, values) = places(at);
    Cell {
        id: id_of(at),
        variant: VariantId(name_of(at)),
        server: format!("server{server}"),
        server_label: format!("Server {server}"),
        toggles: ["a", "b", "c", "d"]
            .iter()
            .zip(values)
            .map(|(toggle, value)| Choice {
                toggle: (*toggle).to_owned(),
                value: format!("v{value}"),
                label: format!("v{value}"),
            })
            .collect(),
        baseline: (at >= SERVERS).then(|| id_of(server)),
        ..one.clone()
    }
}

fn axes(cells: usize) -> Vec<Axis> {
    let axis = |name: &str, beginning: &str, label: &str, values: usize| Axis {
        name: name.to_owned(),
        values: (0..values)
            .map(|value| (format!("{beginning}{value}"), format!("{label}{value}")))
            .collect(),
    };
    let last = places(cells.saturating_sub(1)).1[3] + 1;
    let mut all = vec![axis("server", "server", "Server ", SERVERS)];
    for (name, values) in ["a", "b", "c", "d"]
        .iter()
        .zip(VALUES.into_iter().chain([last]))
    {
        all.push(axis(name, "v", "v", values));
    }
    all.push(Axis {
        name: "load".to_owned(),
        values: vec![("steady".to_owned(), "steady".to_owned())],
    });
    all
}
