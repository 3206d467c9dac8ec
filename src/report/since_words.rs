//! What has become of a run since an earlier one, in words: what is worse and better, and why nothing may be said.

use super::nights::in_sentence;
use super::show;
use super::since::{PartView, SentenceView, changes};
use crate::record::Unit;
use crate::stats::{Across, Change, HEADLINE, LEAST_UNPAIRED, Open, Ruling};

/// A sentence for each cell of which anything has become so.
pub(super) fn sentences(cells: &[&Across<'_>], ruling: Ruling) -> Vec<SentenceView> {
    let of = |cell: &Across<'_>| {
        let parts: Vec<PartView> = cell
            .changes
            .iter()
            .filter(|change| HEADLINE.contains(&change.metric.name) && change.ruling == ruling)
            .filter_map(part)
            .collect();
        (!parts.is_empty()).then(|| SentenceView {
            title: cell.new.title.clone(),
            parts,
        })
    };
    cells.iter().filter_map(|cell| of(cell)).collect()
}

fn part(change: &Change) -> Option<PartView> {
    let interval = change.interval?;
    let (change_shown, interval) = if interval.estimate < 2.0 {
        let (size, range) = show::change(&interval);
        let word = word(change.metric.unit, interval.estimate > 1.0);
        (format!("{size} {word}"), range)
    } else {
        let (ratio, range) = show::with_interval(&interval);
        (format!("{ratio}\u{a0}×"), range)
    };
    Some(PartView {
        metric: in_sentence(change.metric),
        change: change_shown,
        interval,
    })
}

fn word(unit: Unit, more: bool) -> &'static str {
    match (unit, more) {
        (Unit::PerSecond | Unit::PerCpuSecond | Unit::Count, true) => "more",
        (Unit::PerSecond | Unit::PerCpuSecond | Unit::Count, false) => "fewer",
        (Unit::Nanoseconds | Unit::CpuSeconds, true) => "longer",
        (Unit::Nanoseconds | Unit::CpuSeconds, false) => "shorter",
        (Unit::Bytes | Unit::BytesPerSecond, true) => "larger",
        (Unit::Bytes | Unit::BytesPerSecond, false) => "smaller",
    }
}

/// How many comparisons there are, and what is said of how many.
pub(super) fn summary(cells: &[&Across<'_>]) -> Vec<String> {
    let rulings: Vec<Ruling> = changes(cells).map(|(_, change)| change.ruling).collect();
    let all = rulings.len();
    if all == 0 {
        return vec!["No cell has figures in both runs, so nothing is compared.".to_owned()];
    }
    let count = |of: &dyn Fn(&Ruling) -> bool| rulings.iter().filter(|ruling| of(ruling)).count();
    let worse = count(&|ruling| *ruling == Ruling::Worse);
    let better = count(&|ruling| *ruling == Ruling::Better);
    let mut said = Vec::new();
    if worse + better > 0 {
        let none = |number: usize| match number {
            0 => "none".to_owned(),
            some => some.to_string(),
        };
        said.push(format!(
            "Of {}, {} {} worse and {} better.",
            show::plural(all, "comparison"),
            none(worse),
            if worse == 1 { "is" } else { "are" },
            none(better)
        ));
    }
    said.extend(not_shown(&rulings));
    let mut opens: Vec<Open> = Vec::new();
    for ruling in &rulings {
        match ruling {
            Ruling::Open(open) if !opens.contains(open) => opens.push(*open),
            _ => {}
        }
    }
    opens.sort_unstable();
    for open in opens {
        let times = count(&|ruling| *ruling == Ruling::Open(open));
        said.push(format!(
            "No verdict in {times} of {all}: {}.",
            because(open)
        ));
    }
    said
}

fn not_shown(rulings: &[Ruling]) -> Option<String> {
    let seen: Vec<f64> = rulings
        .iter()
        .filter_map(|ruling| match ruling {
            Ruling::NotShown { could_have_seen } => Some(*could_have_seen),
            _ => None,
        })
        .collect();
    let least = seen.iter().copied().reduce(f64::min)?;
    let most = seen.iter().copied().reduce(f64::max)?;
    let (least, most) = (show::share(least), show::share(most));
    let range = if least == most {
        least
    } else {
        format!("{least} to {most}")
    };
    Some(format!(
        "No difference shown in {} of {} (could have seen {range}).",
        seen.len(),
        show::plural(rulings.len(), "comparison")
    ))
}

/// Why there is no verdict.
pub(super) fn because(open: Open) -> String {
    match open {
        Open::Machine => "the machines differ, or one of them is not known".to_owned(),
        Open::Changed => "the configuration of the cell has changed".to_owned(),
        Open::Limited => {
            "the generator was the limit in one of the runs, or that is not known".to_owned()
        }
        Open::TooFew => format!("fewer than {LEAST_UNPAIRED} valid trials on a side"),
        Open::TooFewForSoMany { needed } => format!(
            "so few trials can name no difference among so many comparisons; {needed} a side are the least"
        ),
        Open::Zero => "a figure is 0".to_owned(),
    }
}

pub(super) fn verdict(ruling: Ruling) -> String {
    match ruling {
        Ruling::Worse | Ruling::Better => ruling.word().to_owned(),
        Ruling::NotShown { could_have_seen } => format!(
            "no difference shown (could have seen {})",
            show::share(could_have_seen)
        ),
        Ruling::Open(Open::Machine) => "none: machine".to_owned(),
        Ruling::Open(Open::Changed) => "none: configuration changed".to_owned(),
        Ruling::Open(Open::Limited) => "none: generator was the limit".to_owned(),
        Ruling::Open(Open::TooFew | Open::TooFewForSoMany { .. }) => {
            "none: too few trials".to_owned()
        }
        Ruling::Open(Open::Zero) => "none: a figure is 0".to_owned(),
    }
}
