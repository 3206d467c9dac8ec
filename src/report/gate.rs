//! Gates as a report shows them: which held and which fell, each with its limit, its value and why. How they are
//! judged is `stats`' part.

use super::json::{NOT_TOLD, TOO_FEW};
use super::naming::Naming;
use super::rows::{reasons, why_absent};
use super::{Input, baseline, nights, show};
use crate::ids::CellId;
use crate::record::{Baseline, BaselineCell, Unit, metric, unit};
use crate::spec::Bound;
use crate::stats::{
    CellSummary, Field, Interval, Judgement, Kind, Spread, Value as StatValue, Why, between,
    is_made_under_load, judge, judge_nights, summarise,
};
use crate::units::{show_number, significant, write_duration};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

/// With more gates that held they are folded away.
const ROWS_TO_FOLD: usize = 8;

/// The gates of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GatesView {
    /// How many fell, in a sentence.
    pub sentence: String,
    /// Those that fell.
    pub fallen: Vec<GateView>,
    /// Those that held.
    pub held: Vec<GateView>,
    /// How many held; a page of very many cells does not list all.
    pub held_count: usize,
    /// Whether those that held are too many for the page.
    pub fold: bool,
}

/// One gate.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GateView {
    /// The names of the cell in a phrase.
    pub title: String,
    /// The metric's name, as suites write it.
    pub metric: String,
    /// The limit: `at most 20ms`, `at most 5 % worse`.
    pub limit: String,
    /// The value with its interval; a dash where there is none.
    pub value: String,
    /// `held` or `fell`.
    pub word: &'static str,
    /// Why, where the value does not say it all.
    pub why: String,
}

/// What a log needs to know of the gates of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateLines {
    /// All gates.
    pub total: usize,
    /// A line for each that fell.
    pub fallen: Vec<String>,
}

impl GateLines {
    /// The gates of these records.
    pub fn of(input: &Input<'_>) -> Self {
        let cells = summarise(input.run, input.trials);
        Self::of_judged(input, &judged(input, &cells))
    }

    /// The same of gates that are judged.
    pub(super) fn of_judged(input: &Input<'_>, all: &[Judgement<'_, '_>]) -> Self {
        let naming = Naming::of(&input.run.spec);
        let line = |judgement: &Judgement<'_, '_>| {
            let row = row(input, &naming, judgement);
            let why = if row.why.is_empty() {
                String::new()
            } else {
                format!(" ({})", row.why)
            };
            let line = format!(
                "{}: {} {}: {}{why}",
                row.title, row.metric, row.limit, row.value
            );
            // A log and a mail have no use for spaces that do not break.
            line.replace('\u{a0}', " ")
        };
        Self {
            total: all.len(),
            fallen: all.iter().filter(|one| one.fell()).map(line).collect(),
        }
    }

    /// `2 of 7 gates fell`, `all 7 gates held`; none where there is no gate.
    pub fn sentence(&self) -> Option<String> {
        sentence(self.total, self.fallen.len())
    }
}

fn sentence(total: usize, fallen: usize) -> Option<String> {
    match (total, fallen) {
        (0, _) => None,
        (1, 0) => Some("the only gate held".to_owned()),
        (1, _) => Some("the only gate fell".to_owned()),
        (_, 0) => Some(format!("all {total} gates held")),
        _ => Some(format!("{fallen} of {total} gates fell")),
    }
}

/// Every gate of a run, judged.
pub(super) fn judged<'c, 'a>(
    input: &Input<'a>,
    cells: &'c [CellSummary<'a>],
) -> Vec<Judgement<'c, 'a>> {
    let mut all = match input.baseline {
        None => judge(input.run, cells, None),
        Some(old) => {
            let machine = between(old, &baseline::of(input)).machine;
            let known: HashMap<&CellId, &BaselineCell> =
                old.cells.iter().map(|cell| (&cell.id, cell)).collect();
            let earlier = |cell: &CellId, metric: &str| {
                let known = known.get(cell).copied();
                earlier(old, machine.as_deref(), known, metric)
            };
            judge(input.run, cells, Some(&earlier))
        }
    };
    let asks = |cell: &&CellSummary<'_>| cell.cell.gates.iter().any(|limit| limit.history);
    let asking: BTreeSet<&CellId> = cells
        .iter()
        .filter(asks)
        .map(|cell| &cell.cell.id)
        .collect();
    if !asking.is_empty() {
        let nights = nights::of(input, |id| asking.contains(id));
        all.extend(judge_nights(
            input.run,
            cells,
            &nights,
            nights::change_words,
        ));
    }
    all
}

/// The values of a metric that a cell had in an earlier run, where they may be compared; else why not.
fn earlier(
    old: &Baseline,
    machine: Option<&[Field]>,
    known: Option<&BaselineCell>,
    metric: &str,
) -> Result<Spread, String> {
    let machine = machine.ok_or("the machine of the earlier run is not known")?;
    if !machine.is_empty() {
        let fields: Vec<&str> = machine.iter().map(|field| field.name).collect();
        return Err(format!(
            "the earlier run was made on another machine ({})",
            fields.join(", ")
        ));
    }
    let known = known.ok_or("the earlier run has no cell of this configuration")?;
    if !known.is_measured() {
        return Err(format!("in the earlier run it was {}", known.state));
    }
    if old.complete != Some(true) {
        return Err("the earlier run did not run to its end, or that is not known".to_owned());
    }
    let values = known.values(metric);
    if known.planned != Some(values.len()) {
        return Err("in the earlier run not every trial has a value that counts".to_owned());
    }
    if is_made_under_load(metric) && known.limited != Some(false) {
        return Err("in the earlier run the generator was the limit, or may have been".to_owned());
    }
    let values = (1u32..).zip(values).map(|(repetition, value)| StatValue {
        repetition,
        round: repetition,
        value: *value,
    });
    Spread::of(values).ok_or_else(|| "the earlier run has no value of it".to_owned())
}

/// The section of the report; none where no cell is held to anything.
pub(super) fn view(
    input: &Input<'_>,
    naming: &Naming<'_>,
    all: &[Judgement<'_, '_>],
) -> Option<GatesView> {
    let rows = |fell: bool| -> Vec<GateView> {
        let own = all.iter().filter(|one| one.fell() == fell);
        own.map(|one| row(input, naming, one)).collect()
    };
    let (fallen, held) = (rows(true), rows(false));
    let mut said = sentence(all.len(), fallen.len())?;
    if let Some(letter) = said.get_mut(..1) {
        letter.make_ascii_uppercase();
    }
    let unjudged = all.iter().filter(|one| one.why.is_unjudged()).count();
    if unjudged > 0 {
        let of_them = if unjudged == fallen.len() {
            "since there was nothing to judge".to_owned()
        } else {
            format!("{unjudged} of them since there was nothing to judge")
        };
        said = format!("{said}, {of_them}: what has no figure to judge does not pass");
    }
    Some(GatesView {
        sentence: format!("{said}."),
        fallen,
        fold: held.len() > ROWS_TO_FOLD,
        held_count: held.len(),
        held,
    })
}

/// The gates for programs.
pub(super) fn json(input: &Input<'_>, all: &[Judgement<'_, '_>]) -> Vec<Value> {
    let one = |gate: &Judgement<'_, '_>| {
        let (limit, is_share) = match gate.limit {
            Bound::Value(limit) => (limit, false),
            Bound::Share(limit) => (limit, true),
        };
        json!({
            "cell": gate.cell.cell.id,
            "metric": gate.metric,
            "kind": gate.kind.word(),
            "limit": limit,
            "limit_is_share": is_share,
            "value": gate.value,
            "interval": gate.interval.map(|interval| [interval.low, interval.high]),
            "word": gate.word(),
            "judged": !gate.why.is_unjudged(),
            "why": why(input, gate),
        })
    };
    all.iter().map(one).collect()
}

fn row(input: &Input<'_>, naming: &Naming<'_>, gate: &Judgement<'_, '_>) -> GateView {
    GateView {
        title: naming.title(gate.cell.cell),
        metric: gate.metric.to_owned(),
        limit: limit(gate),
        value: value(gate),
        word: gate.word(),
        why: why(input, gate),
    }
}

fn limit(gate: &Judgement<'_, '_>) -> String {
    let shown = match gate.limit {
        Bound::Share(share) => percent(share),
        Bound::Value(value) => written(gate.metric, value),
    };
    match gate.kind {
        Kind::Max => format!("at most {shown}"),
        Kind::Min => format!("at least {shown}"),
        Kind::Regression => format!("at most {shown} worse"),
        Kind::History => "no new change for the worse".to_owned(),
    }
}

/// A limit as a suite writes it: exact, where a figure would be rounded.
fn written(name: &str, value: f64) -> String {
    let plain = || {
        if value.fract() == 0.0 {
            show::count(value)
        } else {
            value.to_string()
        }
    };
    match unit(name) {
        Some(Unit::Nanoseconds) => write_duration(Duration::from_nanos(value as u64)),
        Some(Unit::CpuSeconds) => {
            Duration::try_from_secs_f64(value).map_or_else(|_| plain(), write_duration)
        }
        Some(unit @ (Unit::Bytes | Unit::BytesPerSecond)) => show::in_unit(unit, value, 3),
        Some(Unit::PerSecond | Unit::PerCpuSecond | Unit::Count) | None => plain(),
    }
}

/// A share as a percentage with the digits that it has.
fn percent(share: f64) -> String {
    // A share of 5 % is 5.000000000000001 % of floating point.
    let text = format!("{:.6}", share * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}\u{a0}%")
}

fn value(gate: &Judgement<'_, '_>) -> String {
    let Some(value) = gate.value else {
        return show::NONE.to_owned();
    };
    match (gate.kind, gate.interval, gate.limit) {
        (Kind::Regression, Some(interval), _) => {
            let (shown, range) = show::with_interval(&interval);
            format!("×{shown} ({range})")
        }
        (Kind::Regression | Kind::History, None, _) => format!("×{}", show_number(value, 3)),
        (_, _, Bound::Share(_)) => format!("{}\u{a0}%", significant(value * 100.0, 3)),
        (_, interval, Bound::Value(_)) => {
            let shown = |value: f64| match metric(gate.metric) {
                Some(metric) => show::value(metric, value, 4),
                None => show_number(value, 4),
            };
            let range = interval.map(|interval| (shown(interval.low), shown(interval.high)));
            match range {
                Some((low, high)) if low != high => format!("{} ({low}–{high})", shown(value)),
                _ => shown(value),
            }
        }
    }
}

/// Why a gate held or fell; empty where it holds and that is clear.
fn why(input: &Input<'_>, gate: &Judgement<'_, '_>) -> String {
    let of_errors = gate.metric == "errors";
    match &gate.why {
        Why::Within | Why::NoChange => String::new(),
        Why::Noise => "within noise: the limit lies inside the interval".to_owned(),
        Why::Enough => "a lower bound, since the generator was the limit, and enough".to_owned(),
        Why::NotShown { could_have_seen } => not_shown(input, gate, *could_have_seen),
        Why::Smaller => smaller(input, gate),
        Why::TooFewNights { nights, needed } => {
            format!("too few nights yet: {nights} of the {needed} that it takes")
        }
        Why::NoNight => {
            "this run is no night of the history, since it is not the whole suite".to_owned()
        }
        Why::Changed(words) => words.clone(),
        Why::Beyond if of_errors => "in the worst trial".to_owned(),
        Why::Beyond if gate.interval.is_some() => {
            "beyond the limit, and so is the whole interval".to_owned()
        }
        Why::Beyond => "beyond the limit".to_owned(),
        Why::Regressed => "worse, and by more than chance makes it".to_owned(),
        Why::TooFewForAll { needed } => format!(
            "it looks worse, and so few trials cannot tell that from chance among all regression gates of this run: \
             {needed} a cell are needed"
        ),
        Why::TooFew { needed } => {
            format!("too few trials to compare: each side needs {needed} valid ones")
        }
        Why::Ended => "the run did not come to its end".to_owned(),
        Why::Trials => of_trials(gate.cell),
        Why::NoValue { trials } => no_value(gate, *trials),
        Why::Limited if gate.kind == Kind::Regression => {
            "the generator was the limit of one of the two, so they cannot be compared".to_owned()
        }
        Why::Limited => {
            "the generator was the limit: this is a lower bound of what the server can do"
                .to_owned()
        }
        Why::NothingToCompare => {
            "there is nothing to compare with: give --baseline RUN or --compare-with REV".to_owned()
        }
        Why::NoOldValue(why) => format!("no figure of the baseline run: {why}"),
        Why::NoBaseValue => "the cell at the other revision has no figure".to_owned(),
        Why::NoRatio => "a figure of 0 has no ratio; `max` gives it a limit".to_owned(),
    }
}

fn not_shown(input: &Input<'_>, gate: &Judgement<'_, '_>, could_have_seen: f64) -> String {
    let let_pass = let_pass(input, gate);
    let same = Interval {
        estimate: 1.0,
        low: 1.0,
        high: 1.0,
    };
    if gate.interval == Some(same) {
        "as before".to_owned()
    } else if could_have_seen > 2.0 * let_pass {
        format!(
            "held, but a regression of up to {} could have gone unseen: more repetitions show more",
            show::share(could_have_seen)
        )
    } else {
        format!(
            "no regression shown (could have seen {})",
            show::share(could_have_seen)
        )
    }
}

fn smaller(input: &Input<'_>, gate: &Judgement<'_, '_>) -> String {
    format!("worse, by less than {}", percent(let_pass(input, gate)))
}

/// A regression is at least this share.
fn let_pass(input: &Input<'_>, gate: &Judgement<'_, '_>) -> f64 {
    match gate.limit {
        Bound::Share(share) | Bound::Value(share) => share.max(input.run.spec.run.min_effect),
    }
}

/// What is wrong with a cell of which not every trial is valid.
fn of_trials(cell: &CellSummary<'_>) -> String {
    let missing = match cell.missing() {
        0 => None,
        missing => Some(format!(
            "{missing} of {} did not run",
            show::plural(cell.planned, "trial")
        )),
    };
    let state = cell.state.word();
    let mut said: Vec<String> = reasons(cell).into_iter().chain(missing).collect();
    if matches!(state, "skipped" | "not run") {
        said.truncate(1);
    }
    match state {
        "measured" => format!("not every trial is valid: {}", said.join("; ")),
        _ => format!("{state}: {}", said.join("; ")),
    }
}

fn no_value(gate: &Judgement<'_, '_>, trials: usize) -> String {
    let Some(metric) = metric(gate.metric) else {
        return if gate.metric.starts_with("response_") {
            "a closed loop has no response times; service_… and latency_… are its times".to_owned()
        } else {
            "nothing here measures it".to_owned()
        };
    };
    let name = gate.metric.replacen("service_", "latency_", 1);
    let lacking = || gate.cell.valid().filter(|trial| metric.of(trial).is_none());
    let reason = match crate::record::metric(&name).and_then(|metric| why_absent(metric, lacking()))
    {
        Some(TOO_FEW) => "too few requests for this percentile",
        Some(NOT_TOLD) => NOT_TOLD,
        _ => "no figure",
    };
    format!(
        "{reason} in {trials} of {}",
        show::plural(gate.cell.valid().count(), "valid trial")
    )
}
