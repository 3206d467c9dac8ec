//! How long it takes to read suites and to resolve cells by the thousand.
//!
//! `cargo bench --bench plan`. The last lines tell the peak of memory after 1 000 and after 100 000 cells: a
//! plan keeps coordinates, not cells.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a benchmark tells its figures, and one that cannot read its suite has failed"
)]

use criterion::{BatchSize, Criterion, criterion_group};
use hotlap::diagnostic::SourceText;
use hotlap::plan::{Options, Plan};
use hotlap::suite::{Suite, check};
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

/// A suite of five servers and five toggles whose cells are this many, or nearly.
fn text(cells: usize) -> String {
    let mut out = String::from(
        "[run]\nbaseline = { compression = \"off\" }\n\
         [defaults.server]\nrequires = [\"node >= 18\"]\nbuild = [\"npm ci\"]\nready = { path = \"/health\" }\n\
         env = { MODE = \"{{ server }}\", LOAD = \"{{ load }}\" }\n",
    );
    for server in ["node", "express", "koa", "fastify", "hono"] {
        writeln!(
            out,
            "[servers.{server}]\ncommand = \"node {server}.js --port {{{{ port }}}} --mode {{{{ toggles.mode }}}}\"\n\
             env = {{ NAME = \"{server}\", CACHE = \"{{{{ dir }}}}/cache\" }}"
        )
        .unwrap();
    }
    out.push_str(
        "[toggles.compression]\nvalues.off = {}\nvalues.gzip = { headers.accept-encoding = \"gzip\" }\n\
         [toggles.mode]\nvalues = [\"development\", \"production\"]\nenv.NODE_ENV = \"{{ value }}\"\n\
         [toggles.workers]\nvalues = [1, 2, 4, 8, 16]\nenv.WORKERS = \"{{ value }}\"\n\
         [toggles.body]\nvalues = [\"small\", \"large\"]\npath = \"/{{ value }}\"\n",
    );
    // 5 servers × 2 × 2 × 5 × 2 are 200 cells; the rest are values of the last toggle.
    let values: Vec<String> = (0..(cells / 200).max(1))
        .map(|value| value.to_string())
        .collect();
    writeln!(
        out,
        "[toggles.cache]\nvalues = [{}]\nargs = \"--cache {{{{ value }}}}\"",
        values.join(", ")
    )
    .unwrap();
    out.push_str(
        "[[overrides]]\nwhen = { server = \"koa\" }\nset.env.EXTRA = \"1\"\n\
         [loads.steady]\nexpect = { status = 200, contains = \"x\" }\n[[gates]]\nerrors = { max = 0 }\n",
    );
    out
}

fn read(text: &str) -> Suite {
    let source = SourceText {
        name: "bench.toml".to_owned(),
        text: text.to_owned(),
    };
    check(&source, "bench", Path::new(".")).suite.unwrap()
}

fn resolve(suite: &Suite) -> usize {
    let options = Options::default();
    let mut plan = Plan::new(suite, &options).unwrap();
    let cells = plan.cells().map(black_box).count();
    assert!(plan.mistakes.is_empty());
    cells
}

fn cells(criterion: &mut Criterion) {
    for number in [1_000, 10_000, 100_000] {
        let suite = read(&text(number));
        criterion.bench_function(&format!("resolve {number} cells"), |bencher| {
            bencher.iter(|| assert_eq!(resolve(&suite), number));
        });
    }
}

fn reading(criterion: &mut Criterion) {
    let small = text(200);
    let mut long = text(200);
    for load in 0..650 {
        writeln!(
            long,
            "[loads.l{load}]\npath = \"/{load}\"\nconnections = {}",
            load + 1
        )
        .unwrap();
    }
    for (name, text) in [("40 lines", small), ("2000 lines", long)] {
        criterion.bench_function(&format!("read a suite of {name}"), |bencher| {
            bencher.iter_batched(|| text.clone(), |text| read(&text), BatchSize::SmallInput);
        });
    }
}

/// The most memory that this process ever had, in KiB.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.unwrap_or("VmHWM: unknown").to_owned()
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(5));
    targets = cells, reading
}

fn main() {
    for number in [1_000, 100_000] {
        let suite = read(&text(number));
        resolve(&suite);
        eprintln!("after {number} cells, {}", peak());
    }
    benches();
}
