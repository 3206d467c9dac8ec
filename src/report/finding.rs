//! What a report says before its tables: the state of the run, and what each departure from the
//! baseline costs or gains.

use super::caution::CPUS_TO_SEPARATE;
use super::found::Found;
use super::growth::{Growths, requests};
use super::naming::Naming;
use super::rows::bodies;
use super::show;
use super::view::Finding;
use crate::record::{End, Run};
use crate::stats::{CellSummary, Comparison, ENOUGH_TRIALS, Effect, Judgement, Verdict, effect};

/// What must be known before a figure is read.
pub(super) fn banners(
    run: &Run,
    cells: &[CellSummary<'_>],
    gates: &[Judgement<'_, '_>],
) -> Vec<(String, String)> {
    let mut banners = Vec::new();
    let planned: usize = cells.iter().map(|cell| cell.planned).sum();
    let done: usize = cells.iter().map(|cell| cell.trials.len()).sum();
    let end = match run.end {
        Some(End::Complete) => None,
        Some(End::Interrupted) => Some("Interrupted"),
        Some(End::Aborted) => Some("Given up"),
        None => Some("Unfinished"),
    };
    let mut add = |what: &str, why: String| banners.push((what.to_owned(), why));
    if let Some(end) = end {
        add(
            end,
            format!(
                "{done} of {} have a record; \"hotlap run --resume={}\" goes on",
                show::plural(planned, "planned trial"),
                run.id
            ),
        );
    }
    let fallen = gates.iter().filter(|gate| gate.fell()).count();
    if fallen > 0 {
        let all = show::plural(gates.len(), "gate");
        add("Gates fell", format!("{fallen} of {all} (below)"));
    }
    if let Some(profile) = &run.spec.profile {
        let why = "not the suite's default, so not its usual figures";
        add("Profile", format!("{profile}, {why}"));
    }
    if !run.selection.is_empty() {
        add(
            "A part of the suite",
            format!("narrowed by {}", run.selection.join(" ")),
        );
    }
    let count = |word: &str| {
        cells
            .iter()
            .filter(|cell| cell.state.word() == word)
            .count()
    };
    let gone: Vec<String> = ["failed", "invalid", "skipped", "not run"]
        .into_iter()
        .filter(|word| count(word) > 0)
        .map(|word| format!("{} {word}", count(word)))
        .collect();
    if !gone.is_empty() {
        add(
            "Not every cell has figures",
            format!(
                "of {}, {} (reasons below)",
                show::plural(cells.len(), "cell"),
                gone.join(", ")
            ),
        );
    }
    let shares = if run.host.cpus < CPUS_TO_SEPARATE {
        format!(
            "generator and servers share {}, so figures are lower than either could reach alone",
            show::plural(run.host.cpus, "CPU")
        )
    } else {
        "generator and servers are not pinned to cores of their own".to_owned()
    };
    add("Generator shares cores", shares);
    banners
}

/// A sentence for each measured cell that departs by one axis from a measured one, and what all of
/// them rest on.
pub(super) fn findings(
    run: &Run,
    naming: &Naming<'_>,
    found: &Found<'_, '_>,
) -> (Vec<Finding>, Option<String>) {
    let (mut found, few): (Vec<Finding>, Vec<bool>) = found
        .compared
        .iter()
        .filter_map(|comparison| finding(run, naming, comparison, &found.growths))
        .unzip();
    let mut common = Vec::new();
    let first = found.first().and_then(|finding| finding.basis.clone());
    if found.iter().all(|finding| finding.basis == first) {
        common.extend(first.map(|basis| format!("each ratio is {basis}")));
        for finding in &mut found {
            finding.basis = None;
        }
    }
    let no_verdict = format!("no verdict from fewer than {ENOUGH_TRIALS} trials");
    if few.iter().all(|few| *few) && !few.is_empty() {
        common.push(no_verdict);
    } else {
        for (finding, _) in found.iter_mut().zip(&few).filter(|(_, few)| **few) {
            let own = finding.basis.take().map(|basis| format!("{basis}; "));
            finding.basis = Some(format!("{}{no_verdict}", own.unwrap_or_default()));
        }
    }
    let mut said = common.join("; ");
    if let Some(letter) = said.get_mut(..1) {
        letter.make_ascii_uppercase();
    }
    (found, (!said.is_empty()).then(|| format!("{said}.")))
}

/// The finding of a cell, and whether it has too few trials for a verdict.
fn finding(
    run: &Run,
    naming: &Naming<'_>,
    comparison: &Comparison<'_, '_>,
    growths: &Growths<'_>,
) -> Option<(Finding, bool)> {
    let (cell, base) = (comparison.of, comparison.to);
    let (against, departure) = naming.departure(cell.cell, base.cell)?;
    if against.id != base.cell.id {
        return None;
    }
    let rate = &comparison.ratio;
    let n = cell.valid().count().min(base.valid().count());
    let few = comparison.verdict == Verdict::TooFew;
    let basis = match rate.by_round.len() {
        _ if let Verdict::TooFewForSoMany { needed } = comparison.verdict => Some(format!(
            "no verdict: so many comparisons need {needed} trials of each cell"
        )),
        _ if !few => None,
        0 => Some(format!(
            "that of the medians of {}",
            show::plural(n, "trial")
        )),
        1 => Some("that of 1 round".to_owned()),
        rounds => Some(format!("the median of {rounds} rounds")),
    };
    let (shown, interval) = match &rate.interval {
        Some(interval) if !few => {
            let (shown, range) = show::with_interval(interval);
            (shown, Some(range))
        }
        _ => (show::multiple(rate.value, &rate.by_round), None),
    };
    let change = rate
        .interval
        .filter(|_| rate.value < 2.0)
        .as_ref()
        .map(show::change);
    let (change, change_interval) = change.unzip();
    let rss = growths.ratio(cell, base, run.spec.run.order);
    let finding = Finding {
        context: departure.context,
        subject: departure.to,
        object: departure.from,
        hidden: matches!(effect(cell, base), Effect::OnlyConfigured(_)),
        verdict: comparison.verdict.word(),
        metric: in_words(comparison.metric),
        less_is_better: comparison.metric.starts_with("response_"),
        ratio: shown,
        ratio_raw: rate.value,
        interval,
        less: rate.value < 1.0,
        change,
        change_interval,
        could_have_seen: match comparison.verdict {
            Verdict::NotShown { could_have_seen } => Some(show::share(could_have_seen)),
            _ => None,
        },
        bytes: bytes(cell, base),
        rss_requests: rss
            .as_ref()
            .and_then(|rss| rss.at_requests)
            .map(|at| requests(at as f64)),
        rss: rss.map(|rss| show::multiple(rss.ratio.value, &rss.ratio.by_round)),
        basis,
    };
    Some((finding, few))
}

/// A metric that cells are compared in.
fn in_words(metric: &str) -> &'static str {
    match metric {
        "capacity" => "highest rate that holds",
        "response_p99" => "p99 response time",
        "response_p50" => "median response time",
        _ => "requests per second",
    }
}

/// What the cell does to the bytes of a body on the wire, where that is a hundredth of them.
fn bytes(cell: &CellSummary<'_>, base: &CellSummary<'_>) -> Option<String> {
    let share = bodies(cell)?.mean_wire / bodies(base)?.mean_wire;
    let change = (share - 1.0).abs();
    let word = if share < 1.0 { "fewer" } else { "more" };
    (change.is_finite() && change >= 0.01).then(|| format!("{} {word}", show::share(change)))
}
