//! Series over nights: what belongs together, what is a gap, and what a morning is told.

use super::*;
use crate::record::Host;
use crate::stats::gate::tests as gate;
use crate::stats::{Why, judge_nights, summarise};

fn run(day: usize) -> RunId {
    RunId(format!("2026-11-{day:02}T190500Z-r{day}"))
}

fn row(day: usize, cell: &str, machine: &str, column: &str, median: f64) -> HistoryRow {
    HistoryRow {
        run: run(day),
        time: format!("2026-11-{day:02}T19:05:00Z"),
        revision: Some(format!("r{day}")),
        machine: Some(machine.to_owned()),
        hotlap: "1".to_owned(),
        cell: CellId(cell.to_owned()),
        state: "measured".to_owned(),
        reason: String::new(),
        figure: Some(HistoryFigure {
            column: column.to_owned(),
            median,
            interval: None,
            bounded: false,
        }),
    }
}

fn failed(day: usize, cell: &str) -> HistoryRow {
    HistoryRow {
        state: "failed".to_owned(),
        reason: "it did not start".to_owned(),
        figure: None,
        ..row(day, cell, "m", "", 0.0)
    }
}

/// A figure that goes up and down by less than half a percent.
fn still(day: usize, about: f64) -> f64 {
    about * (1.0 + 0.002 * [1.0, -1.0, 2.0, -2.0, 0.0][day % 5])
}

fn peak(day: usize, about: f64) -> HistoryRow {
    row(day, "s@l#1", "m", "rss_peak_bytes", still(day, about))
}

#[test]
fn memory_that_grew_is_told_once_by_the_night_that_made_sure() {
    let level = |day: usize| if day < 15 { 100.0 } else { 109.0 };
    let told_by = |night: usize| {
        let rows: Vec<HistoryRow> = (1..=night).map(|day| peak(day, level(day))).collect();
        let all = series(&rows, &[]);
        let told: Vec<NightChange> = all[0].told_by(&run(night)).copied().collect();
        (told, all)
    };
    // Three nights are needed, and one that makes sure.
    let telling: Vec<usize> = (1..=28)
        .filter(|night| !told_by(*night).0.is_empty())
        .collect();
    assert_eq!(telling, [18]);
    let (told, all) = told_by(18);
    let change = told[0];
    assert!(change.worse && !change.bounded && change.p < 0.001);
    assert!((change.to / change.from - 1.09).abs() < 0.005);
    let nights = &all[0].nights;
    assert_eq!((change.before, change.after), (13, 14));
    assert_eq!(nights[14].revision.as_deref(), Some("r15"));
    assert_eq!(nights[13].date(), "2026-11-14");
    let (none, all) = told_by(28);
    assert!(none.is_empty());
    assert_eq!(all[0].changes[0].known, Known::Earlier);
    // A night without a figure tells nothing, though its series has a new change.
    let mut rows: Vec<HistoryRow> = (1..=18).map(|day| peak(day, level(day))).collect();
    rows.push(failed(19, "s@l#1"));
    let all = series(&rows, &[]);
    assert_eq!(all[0].changes[0].known, Known::New);
    assert_eq!(all[0].told_by(&run(19)).count(), 0);
    assert_eq!(all[0].told_by(&run(18)).count(), 0);
}

#[test]
fn another_machine_and_another_configuration_begin_anew_and_are_no_change() {
    let mut rows: Vec<HistoryRow> = (1..=12).map(|day| peak(day, 100.0)).collect();
    let other =
        |day: usize, cell, machine| row(day, cell, machine, "rss_peak_bytes", still(day, 300.0));
    rows.extend((13..=16).map(|day| other(day, "s@l#1", "n")));
    rows.extend((17..=20).map(|day| other(day, "s@l#2", "n")));
    rows.extend((21..=22).map(|day| other(day, "s@l#1", "m")));
    let all = series(&rows, &[]);
    let told: Vec<(Begins, usize, usize)> = all
        .iter()
        .map(|one| (one.begins, one.nights.len(), one.changes.len()))
        .collect();
    assert_eq!(
        told,
        [
            // What was there before goes on.
            (Begins::First, 14, 0),
            (Begins::Machine, 4, 0),
            (Begins::Configuration, 4, 0),
        ]
    );
    rows.push(other(23, "s@l#3", "o"));
    assert_eq!(series(&rows, &[])[3].begins, Begins::Both);
}

#[test]
fn a_night_without_a_figure_is_a_gap_with_its_reason() {
    let mut rows = vec![peak(1, 100.0), failed(2, "s@l#1"), peak(3, 100.0)];
    rows.push(row(4, "s@l#1", "m", "requests_per_second", 5.0));
    let sessions = HistoryRow {
        machine: None,
        ..peak(5, 100.0)
    };
    rows.push(sessions);
    let lost = LostNight {
        run: run(6),
        time: "2026-11-06T19:05:00Z".to_owned(),
        reason: "it was interrupted".to_owned(),
    };
    // A lost night that was gone on with has rows.
    let resumed = LostNight {
        run: run(3),
        ..lost.clone()
    };
    let all = series(&rows, &[lost, resumed]);
    assert_eq!(all.len(), 2);
    let memory = &all[1];
    assert_eq!(memory.metric.name, "rss_peak");
    let states: Vec<&str> = memory
        .nights
        .iter()
        .map(|night| match &night.seen {
            Seen::Figure { .. } => "figure",
            Seen::Gap { state, .. } => state,
        })
        .collect();
    let wanted = [
        "figure",
        "failed",
        "figure",
        "no figure",
        "incomplete",
        "incomplete",
    ];
    assert_eq!(states, wanted);
    assert_eq!(memory.nights[1].seen, gap("failed", "it did not start"));
    assert_eq!(
        memory.nights[5].seen,
        gap("incomplete", "it was interrupted")
    );
    assert_eq!(memory.figures(), 2);
}

#[test]
fn a_cell_that_never_had_a_figure_is_there_with_its_reasons() {
    let all = series(&[failed(1, "t@l#1"), failed(2, "t@l#1")], &[]);
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].nights.len(), all[0].figures()), (2, 0));
}

#[test]
fn order_and_repetition_of_rows_change_nothing() {
    let rows: Vec<HistoryRow> = (1..=20)
        .flat_map(|day| [peak(day, 100.0), row(day, "a@l#1", "m", "cpu_s", 3.0)])
        .collect();
    let wanted = series(&rows, &[]);
    let mut mixed = rows.clone();
    mixed.reverse();
    mixed.extend(rows);
    // The order of cells is that of the newest run, which is turned too.
    let mut got = series(&mixed, &[]);
    got.sort_by(|a, b| b.cell.cmp(&a.cell));
    assert_eq!(got, wanted);
}

#[test]
fn a_run_adds_a_row_a_metric_and_one_for_a_cell_that_failed() {
    let cell = |id: &str, state: &str| crate::record::BaselineCell {
        id: CellId(id.to_owned()),
        title: String::new(),
        state: state.to_owned(),
        reasons: vec!["it did not start (2 trials)".to_owned()],
        planned: Some(6),
        valid: 6,
        limited: Some(true),
        generators: Vec::new(),
        spec: None,
        metrics: BTreeMap::from([
            (
                "requests_per_second".to_owned(),
                vec![5.0, 1.0, 2.0, 3.0, 4.0, 6.0],
            ),
            ("startup_ns".to_owned(), vec![7.0]),
            ("errors_count".to_owned(), vec![0.0]),
        ]),
    };
    let baseline = Baseline {
        format: 1,
        run: run(1),
        suite: "s".to_owned(),
        profile: None,
        started: "2026-11-01T19:05:00Z".to_owned(),
        sessions: 1,
        hotlap: vec!["0.1.0".to_owned()],
        revision: None,
        suite_sha256: None,
        complete: Some(true),
        selection: Vec::new(),
        host: Some(Host::default()),
        versions: BTreeMap::new(),
        settings: None,
        cells: vec![cell("a@l#1", "measured"), cell("b@l#1", "failed")],
    };
    let rows = history_rows(&baseline);
    let figures: Vec<Option<&HistoryFigure>> = rows.iter().map(|row| row.figure.as_ref()).collect();
    assert_eq!(
        figures[0],
        Some(&HistoryFigure {
            column: "requests_per_second".to_owned(),
            median: 3.5,
            interval: Some((1.0, 6.0)),
            bounded: true,
        })
    );
    let startup = figures[1].unwrap();
    assert!(
        startup.interval.is_none() && !startup.bounded,
        "{startup:?}"
    );
    assert_eq!(figures[2], None);
    assert_eq!(
        (rows.len(), rows[2].reason.as_str()),
        (3, "it did not start (2 trials)")
    );
    assert_eq!(
        (rows[0].reason.as_str(), rows[0].hotlap.as_str()),
        ("", "0.1.0")
    );
}

/// What becomes of a gate on peak RSS in the 30th night, with these rows before it.
fn judged(before: Vec<HistoryRow>, tonight: Option<HistoryRow>, fails: bool) -> Why {
    let limit = crate::spec::Limit {
        history: true,
        ..gate::limit("rss_peak")
    };
    let cell = gate::cell("s", Some("x"), vec![limit]);
    let own = |mut row: HistoryRow| {
        row.cell = cell.id.clone();
        row
    };
    let rows: Vec<HistoryRow> = before.into_iter().chain(tonight).map(own).collect();
    let mut trials = gate::trials(&cell, &[100, 100]);
    if fails {
        trials.pop();
    }
    let planned = gate::trials(&cell, &[100, 100]);
    let mut records = gate::run(vec![cell], &planned);
    records.id = run(30);
    let cells = summarise(&records, &trials);
    let mut all = series(&rows, &[]);
    all.retain(|one| one.nights.last().is_some_and(|night| night.run == run(30)));
    let mut found = judge_nights(&records, &cells, &all, |_, change| {
        format!("{:.2}", change.to / change.from)
    });
    assert_eq!(found.len(), 1);
    found.remove(0).why
}

#[test]
fn a_gate_on_the_history_falls_in_the_night_that_tells_of_a_change_for_the_worse() {
    let nights = |from: usize, level: &dyn Fn(usize) -> f64| -> Vec<HistoryRow> {
        (from..30).map(|day| peak(day, level(day))).collect()
    };
    let grown = |day: usize| if day < 27 { 100.0 } else { 120.0 };
    let shrunk = |day: usize| if day < 27 { 100.0 } else { 80.0 };
    let tonight = |level| Some(peak(30, level));
    let changed = Why::Changed("1.20".to_owned());
    assert_eq!(judged(nights(1, &grown), tonight(120.0), false), changed);
    // What is shown is said, whatever else is wrong.
    assert_eq!(judged(nights(1, &grown), tonight(120.0), true), changed);
    assert_eq!(
        judged(nights(1, &shrunk), tonight(80.0), false),
        Why::NoChange
    );
    // A night earlier nobody is sure yet, and a night later everybody knows.
    let late = |day: usize| if day < 28 { 100.0 } else { 120.0 };
    assert_eq!(
        judged(nights(1, &late), tonight(120.0), false),
        Why::NoChange
    );
    let early = |day: usize| if day < 26 { 100.0 } else { 120.0 };
    assert_eq!(
        judged(nights(1, &early), tonight(120.0), false),
        Why::NoChange
    );
}

#[test]
fn a_gate_on_the_history_holds_until_there_is_one_and_falls_without_a_figure() {
    let flat =
        |from: usize| -> Vec<HistoryRow> { (from..30).map(|day| peak(day, 100.0)).collect() };
    let tonight = || Some(peak(30, 100.0));
    let few = Why::TooFewNights {
        nights: 9,
        needed: 10,
    };
    assert_eq!(judged(flat(22), tonight(), false), few);
    assert_eq!(judged(flat(21), tonight(), false), Why::NoChange);
    assert_eq!(judged(flat(1), None, false), Why::NoNight);
    assert_eq!(judged(flat(1), tonight(), true), Why::Trials);
    let other = Some(row(30, "s@l#1", "m", "cpu_s", 1.0));
    assert_eq!(judged(flat(1), other, false), Why::NoValue { trials: 2 });
    assert!(!few.fell() && !Why::NoNight.fell() && !Why::NoChange.fell());
    let changed = Why::Changed(String::new());
    assert!(changed.fell() && !changed.is_unjudged());
}
