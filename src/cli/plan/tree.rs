//! The plan as a tree: servers, their variants, the loads on each; then what each load takes, what so many
//! trials can show, and the order of trials.

use super::Survey;
use crate::cli::requirements::Needs;
use crate::cli::suites::counted;
use crate::cli::terminal::{print as print_text, shown};
use crate::plan::{estimate, order};
use crate::run::beyond;
use crate::spec::{Amount, Cell, LoadSpec, Order, Pace, RunSettings, Skip, line};
use crate::stats::{findable_spread, least_trials, needed_trials};
use crate::units::{show_duration, show_number, write_duration};
use std::fmt::Write as _;

/// More trials than this are shown by their first round.
const MOST_SHOWN: usize = 200;

pub(super) fn print(survey: &mut Survey<'_>) {
    let mut out = Out::default();
    out.add(&head(survey));
    let Survey {
        plan,
        machine,
        head,
        repetitions,
        ..
    } = survey;
    let is_baseline = plan.compared_with();
    let mut notes: Vec<String> = Vec::new();
    let mut server = String::new();
    let mut variant: Vec<Row> = Vec::new();
    let known = is_baseline.into_iter().zip(repetitions.iter());
    let mut cells = plan.cells().zip(known).peekable();
    while let Some((cell, (is_baseline, trials))) = cells.next() {
        if cell.server != server {
            cell.server.clone_into(&mut server);
            out.add(&server_lines(&cell));
        }
        let skip = machine.missing(&Needs::of(&cell));
        let beyond = if skip.is_some() { None } else { beyond(&cell) };
        let beyond = beyond.map(|beyond| {
            let known = notes.iter().position(|note| *note == beyond.reason);
            known.unwrap_or_else(|| {
                notes.push(beyond.reason);
                notes.len() - 1
            }) + 1
        });
        let next = cells.peek().map(|(next, _)| next);
        let ends_variant = next.is_none_or(|next| next.variant != cell.variant);
        let ends_server = next.is_none_or(|next| next.server != cell.server);
        variant.push(Row {
            cell,
            skip,
            beyond,
            is_baseline,
            trials: *trials,
        });
        if ends_variant {
            out.add(&variant_lines(&variant, &head.run, ends_server));
            variant.clear();
        }
    }
    drop(cells);
    if !notes.is_empty() {
        out.add("\n");
    }
    for (at, note) in notes.iter().enumerate() {
        out.add(&format!("[{}] {note}\n", at + 1));
    }
    out.add(&foot(survey));
    add_order(&mut out, survey);
    out.hand_over();
}

fn head(survey: &Survey<'_>) -> String {
    let head = &survey.head;
    let profile = head
        .profile
        .as_ref()
        .map_or_else(String::new, |name| format!(", profile {name}"));
    let trials: u64 = survey.loads.iter().map(|share| share.trials).sum();
    let runs = survey
        .repetitions
        .iter()
        .filter(|trials| **trials > 0)
        .count();
    let skipped = match survey.repetitions.len() - runs {
        0 => String::new(),
        number => format!(" ({number} more skipped)"),
    };
    let beyond = match survey.beyond {
        0 => String::new(),
        number => format!(
            "{number} of these will be skipped: this version of hotlap does not carry out all that they ask for\n"
        ),
    };
    let (first, most) = match survey.pilots.cells {
        0 => (String::new(), String::new()),
        pilots => (
            format!(" after {}", counted(pilots, "pilot")),
            format!(", up to {}", show_duration(survey.most())),
        ),
    };
    format!(
        "{}\n{}{profile}: {}{skipped}, {}{first}, about {}{most}\n{beyond}",
        head.title,
        head.suite,
        counted(runs, "cell"),
        counted(usize::try_from(trials).unwrap_or(usize::MAX), "trial"),
        show_duration(survey.total()),
    )
}

fn server_lines(cell: &Cell) -> String {
    let mut out = format!("\n{}\n", cell.server_label.replace('\n', " "));
    if let Some(url) = &cell.url {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(out, "│  at {url}");
    }
    if let Some(process) = cell.front_process() {
        let _ = writeln!(out, "│  $ {}", line(&process.command));
    }
    out
}

/// Text on its way to standard output, handed over in pieces.
#[derive(Default)]
struct Out(String);

impl Out {
    fn add(&mut self, text: &str) {
        self.0.push_str(text);
        if self.0.len() > 64 * 1024 {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        print_text(&shown(&self.0));
        self.0.clear();
    }
}

/// A cell with what is said of it.
struct Row {
    cell: Cell,
    skip: Option<Skip>,
    /// The number of the note that says why a run would skip it though this machine lacks nothing.
    beyond: Option<usize>,
    /// Whether another cell is compared with it.
    is_baseline: bool,
    /// With how many trials it begins.
    trials: u32,
}

/// One variant with its loads; in one line where it has no toggles or one load.
fn variant_lines(rows: &[Row], run: &RunSettings, last: bool) -> String {
    let Some(Row {
        cell: first, skip, ..
    }) = rows.first()
    else {
        return String::new();
    };
    let (branch, trunk) = if last {
        ("└─", "   ")
    } else {
        ("├─", "│  ")
    };
    let toggles: Vec<String> = first
        .toggles
        .iter()
        .map(|choice| format!("{}={}", choice.toggle, choice.value))
        .collect();
    let toggles = toggles.join(" ");
    if let Some(skip) = skip
        && rows.iter().all(|row| row.skip.as_ref() == Some(skip))
    {
        let loads: Vec<String> = rows
            .iter()
            .map(|row| format!("@{}", row.cell.load))
            .collect();
        let names = if toggles.is_empty() {
            String::new()
        } else {
            format!("{toggles} ")
        };
        return format!("{branch} {names}{} {}\n", loads.join(" "), skipped(skip));
    }
    let mut out = String::new();
    let mut branches = (branch, trunk);
    if let [row] = rows
        && !toggles.is_empty()
    {
        // One load needs no branch of its own.
        let line = load_line(row, run);
        return format!("{branch} {toggles} @{} {line}\n", row.cell.load);
    }
    if !toggles.is_empty() {
        let _ = writeln!(out, "{branch} {toggles}");
    }
    for (at, row) in rows.iter().enumerate() {
        let at_end = at + 1 == rows.len();
        let stem = if toggles.is_empty() {
            branches.0 = if at_end { branch } else { "├─" };
            branches.0.to_owned()
        } else {
            format!("{trunk}{}", if at_end { "└─" } else { "├─" })
        };
        let rest = match &row.skip {
            Some(skip) => skipped(skip),
            None => load_line(row, run),
        };
        let _ = writeln!(out, "{stem} @{} {rest}", row.cell.load);
    }
    out
}

fn skipped(skip: &Skip) -> String {
    let install = skip
        .install
        .as_ref()
        .map_or_else(String::new, |line| format!("; {line}"));
    format!("skipped: {}{install}", skip.reason)
}

fn load_line(row: &Row, run: &RunSettings) -> String {
    let cell = &row.cell;
    let time = estimate(cell, run).saturating_mul(row.trials);
    let trials = if cell.auto && row.trials < cell.repetitions {
        format!("{} to {}", row.trials, cell.repetitions)
    } else {
        row.trials.to_string()
    };
    let baseline = if row.is_baseline { "  (baseline)" } else { "" };
    let beyond = row
        .beyond
        .map_or_else(String::new, |note| format!("  [{note}]"));
    format!(
        "{trials} × {}, about {}{baseline}{beyond}",
        amount(&cell.work),
        show_duration(time)
    )
}

/// What one trial sends, in words.
pub(super) fn amount(work: &LoadSpec) -> String {
    let connections = counted(work.connections as usize, "connection");
    let amount = match work.amount {
        Amount::Duration(duration) => write_duration(duration),
        Amount::Requests(requests) => {
            counted(usize::try_from(requests).unwrap_or(usize::MAX), "request")
        }
    };
    let by = work
        .generator
        .as_ref()
        .map_or_else(String::new, |name| format!(" by {name}"));
    let rounds = if work.rounds > 1 {
        format!("{} rounds of ", work.rounds)
    } else {
        String::new()
    };
    match &work.pace {
        None => format!("{rounds}{amount} on {connections}{by}"),
        Some(Pace::Rate(per_second)) => {
            format!("{rounds}{amount} at {per_second}/s on up to {connections}{by}")
        }
        Some(Pace::Stages(stages)) => format!(
            "{rounds}{} in {} on up to {connections}{by}",
            write_duration(work.length()),
            counted(stages.len(), "stage")
        ),
        Some(Pace::Search(limits)) => {
            let limits: Vec<&str> = limits.iter().map(|limit| limit.metric.as_str()).collect();
            format!(
                "the highest rate that holds {} on up to {connections}{by}",
                limits.join(", ")
            )
        }
    }
}

/// What each load takes, and what so many trials can show.
fn foot(survey: &Survey<'_>) -> String {
    let mut out = String::from("\n");
    if survey.loads.len() > 1 {
        for share in &survey.loads {
            let trials = usize::try_from(share.trials).unwrap_or(usize::MAX);
            let _ = writeln!(
                out,
                "{}: {}, {}, about {}",
                share.load,
                counted(share.cells, "cell"),
                counted(trials, "trial"),
                show_duration(share.time)
            );
        }
    }
    for sentence in how_many(survey) {
        let _ = writeln!(out, "{sentence}");
    }
    out.push_str(&pilots(survey));
    for sentence in power(survey) {
        let _ = writeln!(out, "{sentence}");
    }
    for note in crate::run::not_applied(&survey.head.run) {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// What finding the warm-up takes, and how long it may become.
fn pilots(survey: &Survey<'_>) -> String {
    let pilots = &survey.pilots;
    if pilots.cells == 0 {
        return String::new();
    }
    let run = &survey.head.run;
    format!(
        "{}, about {}, up to {}: how long to warm up is not written, and is found to be {} to {}\n",
        counted(pilots.cells, "pilot"),
        show_duration(pilots.least),
        show_duration(pilots.most),
        write_duration(run.warmup_window()),
        write_duration(run.max_warmup),
    )
}

/// How the number of trials is found, and what a budget leaves of it.
fn how_many(survey: &Survey<'_>) -> Vec<String> {
    let run = &survey.head.run;
    let mut sentences = Vec::new();
    if survey.auto {
        sentences.push(format!(
            "rounds are added until intervals are within ±{} %, up to {} trials a cell; times are those of the first rounds",
            show_number(run.target * 100.0, 2),
            survey.most
        ));
    }
    let begun = survey.repetitions.iter().copied().max().unwrap_or(0);
    let Some(budget) = run.budget else {
        return sentences;
    };
    let budget = write_duration(budget);
    sentences.push(if survey.total() > run.budget.unwrap_or_default() {
        format!("the budget of {budget} is too small for one trial of each cell")
    } else if begun < survey.first {
        format!(
            "the budget of {budget}: it begins with {begun} of up to {} trials a cell; a round is run whole or not at all, and \
             as long as there is time, another one",
            survey.first
        )
    } else {
        format!("the budget of {budget} is enough for all; where it turns out not to be, whole rounds are left out")
    });
    sentences
}

/// What the number of trials can show, before anything is known of their spread.
fn power(survey: &Survey<'_>) -> Vec<String> {
    let runs = || {
        survey
            .repetitions
            .iter()
            .copied()
            .filter(|trials| *trials > 0)
    };
    let Some(least) = runs().min() else {
        return Vec::new();
    };
    if survey.comparisons == 0 {
        return Vec::new();
    }
    // A change of just what is cared for looks like one of less in every other run.
    let change = 2.0 * survey.head.run.min_effect;
    let percent = |share: f64| format!("{} %", show_number(share * 100.0, 2));
    let needed = least_trials(survey.comparisons);
    let mut sentences = Vec::new();
    if least < needed {
        let need = if survey.comparisons == 1 {
            "needs"
        } else {
            "need"
        };
        sentences.push(format!(
            "{} {need} at least {needed} trials a cell to name one difference; there are cells with {least}",
            counted(survey.comparisons, "comparison")
        ));
    }
    if change <= 0.0 {
        return sentences;
    }
    let enough = least.max(needed);
    let find = if least < needed { "would find" } else { "find" };
    // Where the spread may be as large as the figure, nothing is left to say.
    if let Some(spread) = findable_spread(enough, change).filter(|spread| *spread < 1.0) {
        sentences.push(format!(
            "{enough} trials a cell {find} a change of {} where single trials spread by up to {}; at a spread of {} it takes {}",
            percent(change),
            percent(spread),
            percent(0.03),
            needed_trials(0.03, change)
        ));
    }
    sentences
}

fn add_order(out: &mut Out, survey: &Survey<'_>) {
    let run = &survey.head.run;
    let cells: Vec<usize> = (0..survey.repetitions.len())
        .filter(|cell| survey.repetitions[*cell] > 0)
        .collect();
    if cells.is_empty() {
        return;
    }
    let repetitions: Vec<u32> = cells.iter().map(|cell| survey.repetitions[*cell]).collect();
    let rounds = repetitions.iter().copied().max().unwrap_or(0);
    let total: usize = repetitions.iter().map(|number| *number as usize).sum();
    let title = match run.order {
        Order::Shuffled => format!("Order (rounds, each shuffled; seed {}):", run.seed),
        Order::Sequential => "Order (rounds, each in file order):".to_owned(),
        Order::Random => format!("Order (random; seed {}):", run.seed),
    };
    out.add(&format!("\n{title}\n"));
    let shown = if total <= MOST_SHOWN {
        total
    } else {
        cells.len().min(MOST_SHOWN)
    };
    for turn in order(&repetitions, run).take(shown) {
        let name = survey.plan.name(cells[turn.cell]);
        out.add(&format!("  {:>3}  {name}\n", turn.round));
    }
    if shown < total {
        let more = counted(total - shown, "more trial");
        out.add(&format!(
            "  …    {more} in {}; --json has them all\n",
            counted(rounds as usize, "round")
        ));
    }
}
