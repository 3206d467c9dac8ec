//! What plots show, by their markup.

use super::fixture::{Records, records};
use super::matrix::Matrix;
use super::{reports, text};
use hotlap::record::{Outcome, Readings};
use hotlap::report::Output;

const PLAIN: Matrix<'_> = Matrix {
    servers: &["Node.js", "Go"],
    workers: &["1", "2", "4"],
    cache: &["off", "on"],
    loads: &["steady"],
    trials: 6,
    roles: false,
};

fn plot(records: &Records, name: &str) -> String {
    text(&reports(records), &format!("plots/{name}.svg"))
}

fn names(records: &Records) -> Vec<String> {
    let all = reports(records).into_iter().filter(Output::is_plot);
    all.map(|output| output.file_name).collect()
}

/// What the drawing says for those who do not see it.
fn words(svg: &str) -> String {
    let (_, rest) = svg.split_once("-words\">").unwrap();
    rest.split_once("</desc>").unwrap().0.replace("&#x2f;", "/")
}

#[test]
fn a_run_has_the_plots_that_it_has_figures_for() {
    assert_eq!(
        names(&records()),
        [
            "plots/throughput.svg",
            "plots/latency.svg",
            "plots/memory.svg"
        ]
    );
    assert_eq!(
        names(&PLAIN.records()).last().unwrap(),
        "plots/heat-workers-cache.svg"
    );
    let mut none = records();
    none.trials.clear();
    none.readings = Readings::new();
    assert_eq!(names(&none), Vec::<String>::new());
    assert!(!text(&reports(&none), "report.md").contains("## Plots"));
}

#[test]
fn the_report_shows_them_with_their_words_behind_its_tables() {
    let report = text(&reports(&PLAIN.records()), "report.md");
    let plots = report.find("## Plots").unwrap();
    assert!(report.find("## CPU and start-up").unwrap() < plots);
    assert!(plots < report.find("## How it was measured").unwrap());
    assert!(
        report.contains("![Plot of requests per second: from 32"),
        "{}",
        &report[plots..plots + 600]
    );
    for name in ["throughput", "latency", "memory", "heat-workers-cache"] {
        assert!(report.contains(&format!("](plots/{name}.svg)")), "{name}");
    }
}

#[test]
fn plots_of_a_profile_have_names_of_their_own() {
    let mut records = records();
    records.run.spec.profile = Some("quick".to_owned());
    assert_eq!(names(&records)[0], "plots/quick.throughput.svg");
    assert!(text(&reports(&records), "report.md").contains("](plots/quick.throughput.svg)"));
}

#[test]
fn a_cell_without_figures_keeps_its_row_and_says_why() {
    let svg = plot(&records(), "throughput");
    assert!(svg.contains("class=\"gone\""), "{svg}");
    let words = words(&svg);
    assert!(
        words.contains("Go net/http · compression gzip: failed to become ready: no answer"),
        "{words}"
    );
    assert!(
        words.contains("bun: skipped: bun is not on the PATH"),
        "{words}"
    );
    assert!(words.contains("Node.js · compression off: 9"), "{words}");
}

#[test]
fn every_cell_of_a_large_run_has_its_row() {
    let large = Matrix {
        servers: &["A", "B", "C", "D", "E"],
        loads: &["64 connections", "512 connections"],
        ..PLAIN
    };
    let large = large.records();
    assert_eq!(large.run.spec.cells.len(), 60);
    let svg = plot(&large, "throughput");
    let marks = svg.matches("class=\"mark s0\"").count();
    assert_eq!(marks, 60);
    assert!(svg.contains(">512 connections</text>"));
    // Six curves a panel at the most, each with its mark and dash.
    let latency = plot(&large, "latency");
    assert_eq!(latency.matches("class=\"head\"").count(), 10);
    assert!(latency.contains("curve s5") && !latency.contains("curve s6"));
}

#[test]
fn more_cells_than_a_plot_holds_are_counted() {
    let huge = Matrix {
        servers: &["A", "B", "C", "D", "E", "F", "G", "H", "I"],
        loads: &["x", "y"],
        trials: 1,
        ..PLAIN
    };
    let svg = plot(&huge.records(), "throughput");
    assert!(svg.contains("8 more cells are in the table only."), "{svg}");
}

#[test]
fn percentiles_end_where_the_samples_end() {
    let svg = plot(&records(), "latency");
    let words = words(&svg);
    // 93 000 requests carry p99.9, and not p99.99; 318 000 carry that.
    let of = |name: &str| {
        let (_, rest) = words.split_once(&format!("{name}: ")).unwrap();
        rest.split_once(". ")
            .map_or(rest, |(own, _)| own)
            .to_owned()
    };
    let (slow, fast) = (
        of("Node.js · compression off"),
        of("Go net/http · compression off"),
    );
    assert!(
        slow.contains("p99.9: ") && !slow.contains("p99.99: "),
        "{slow}"
    );
    assert!(
        fast.contains("p99.99: ") && !fast.contains("p99.999: "),
        "{fast}"
    );
}

#[test]
fn memory_is_drawn_by_role_where_there_are_several() {
    let with_roles = Matrix {
        roles: true,
        ..PLAIN
    };
    let svg = plot(&with_roles.records(), "memory");
    assert!(svg.contains("RSS over time, by role"));
    let words = words(&svg);
    for role in ["app: ", "proxy: ", "total: "] {
        assert_eq!(words.matches(role).count(), 12, "{role} in {words}");
    }
    let plain = plot(&PLAIN.records(), "memory");
    assert!(!plain.contains("by role") && plain.contains("Node.js · workers 1 · cache off: "));
}

#[test]
fn a_field_of_the_heat_map_without_a_figure_is_a_hole_with_its_reason() {
    let mut holey = PLAIN.records();
    let dead = holey.run.spec.cells[3].id.clone();
    for trial in &mut holey.trials {
        if trial.trial.cell == dead {
            trial.outcome = Outcome::Invalid {
                reasons: vec!["too many errors".to_owned()],
            };
        }
    }
    let gone = holey.run.spec.cells.remove(4).id;
    holey.trials.retain(|trial| trial.trial.cell != gone);
    holey.run.plan.retain(|planned| planned.trial.cell != gone);
    let svg = plot(&holey, "heat-workers-cache");
    assert_eq!(svg.matches("class=\"heat\"").count(), 10);
    assert_eq!(svg.matches("class=\"hole\"").count(), 2);
    assert_eq!(svg.matches("class=\"best\"").count(), 2);
    let words = words(&svg);
    assert!(
        words.contains("Node.js, workers 2, cache on: invalid: too many errors"),
        "{words}"
    );
    assert!(
        words.contains("Node.js, workers 4, cache off: not in the matrix"),
        "{words}"
    );
}

#[test]
fn toggles_that_do_not_cross_have_no_heat_map() {
    let mut line = PLAIN.records();
    // Of the one toggle only with the first value of the other.
    line.run
        .spec
        .cells
        .retain(|cell| cell.toggles[0].value == "1" || cell.toggles[1].value == "off");
    let left: Vec<_> = line
        .run
        .spec
        .cells
        .iter()
        .map(|cell| cell.id.clone())
        .collect();
    line.trials.retain(|trial| left.contains(&trial.trial.cell));
    line.run
        .plan
        .retain(|planned| left.contains(&planned.trial.cell));
    assert!(names(&line).iter().all(|name| !name.contains("heat")));
}

#[test]
fn a_plot_refers_to_nothing_and_runs_nothing() {
    let hostile = Matrix {
        servers: &[
            "<script>alert(1)</script>",
            "</desc></title>\"' {{ x }} {% y %} \u{1b}[31m\u{0}",
        ],
        ..PLAIN
    };
    for output in reports(&hostile.records())
        .iter()
        .filter(|output| output.is_plot())
    {
        let svg = String::from_utf8(output.bytes.clone()).unwrap();
        let bare = svg.replacen("http://www.w3.org/2000/svg", "", 1);
        for word in [
            "http", "href", "<script", "url(", "@import", "\u{1b}", "\u{0}",
        ] {
            assert!(!bare.contains(word), "{word:?} in {}", output.file_name);
        }
        assert_eq!(svg.matches("</desc>").count(), 1);
        assert!(svg.contains("role=\"img\" aria-labelledby="));
        assert!(svg.contains("prefers-color-scheme: dark") && svg.contains("@media print"));
        assert!(svg.contains("&lt;script&gt;"), "{}", output.file_name);
    }
}
