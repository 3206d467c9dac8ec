//! What two runs that are compared do not have in common beside their figures, in sentences.

use crate::record::Baseline;
use crate::spec::{Order, RunSettings};
use crate::stats::Between;
use crate::units::write_duration;
use std::collections::BTreeSet;

/// What must be known before a figure is read, as (what, why).
pub(super) fn banners(
    old: &Baseline,
    new: &Baseline,
    between: &Between<'_>,
) -> Vec<(String, String)> {
    let mut said = Vec::new();
    let mut add = |what: &str, why: String| said.push((what.to_owned(), why));
    if old.run == new.run {
        add("The same run", "it is compared with itself".to_owned());
    }
    match &between.machine {
        Some(fields) if fields.is_empty() => {}
        Some(fields) => {
            let differ = fields
                .iter()
                .map(|field| format!("{} ({} → {})", field.name, field.old, field.new));
            let differ: Vec<String> = differ.collect();
            add(
                "Another machine",
                format!("{}; so there are ratios and no verdicts", differ.join(", ")),
            );
        }
        None => {
            let unknown = [old, new].into_iter().filter(|run| run.host.is_none());
            let unknown: Vec<&str> = unknown.map(|run| run.run.0.as_str()).collect();
            add(
                "Machine not known",
                format!(
                    "of {} only the table of trials is left, which tells neither the machine, nor the profile, nor whether the \
                     generator was the limit; so there are ratios and no verdicts",
                    unknown.join(" and ")
                ),
            );
        }
    }
    // A table of trials tells no profile.
    if old.profile != new.profile && old.host.is_some() && new.host.is_some() {
        let name = |run: &Baseline| run.profile.clone().unwrap_or_else(|| "default".to_owned());
        add("Another profile", format!("{} → {}", name(old), name(new)));
    }
    for run in [old, new] {
        if run.complete == Some(false) {
            add(
                "Not complete",
                format!("{} has not a record of every planned trial", run.run),
            );
        }
        if !run.selection.is_empty() {
            add(
                "A part of the suite",
                format!("{} was narrowed by {}", run.run, run.selection.join(" ")),
            );
        }
    }
    said
}

/// What the comparison cannot say.
pub(super) fn cautions(old: &Baseline, new: &Baseline) -> Vec<String> {
    let mut said = vec![times(old, new)];
    if !old.started.is_empty() && !new.started.is_empty() && new.started < old.started {
        said.push(format!("{} began before {}.", new.run, old.run));
    }
    let known = !old.hotlap.is_empty() && !new.hotlap.is_empty();
    if known && old.hotlap != new.hotlap {
        said.push(format!(
            "Another hotlap ({} → {}): what it measures, and how its generator does, may have changed.",
            old.hotlap.join(", "),
            new.hotlap.join(", ")
        ));
    }
    let (before, after) = (generators(old), generators(new));
    if before != after && !before.is_empty() && !after.is_empty() {
        said.push(format!(
            "Another load generator ({} → {}).",
            list(&before),
            list(&after)
        ));
    }
    said.extend(versions(old, new));
    let settings = old.settings.as_ref().zip(new.settings.as_ref());
    let differ = settings.map_or_else(Vec::new, |(old, new)| settings_apart(old, new));
    if !differ.is_empty() {
        said.push(format!(
            "The runs were done differently: {}.",
            differ.join(", ")
        ));
    }
    if old.suite_sha256.is_some()
        && new.suite_sha256.is_some()
        && old.suite_sha256 != new.suite_sha256
    {
        said.push(
            "The suite file has changed; cells whose configuration is another are marked."
                .to_owned(),
        );
    }
    for run in [old, new] {
        if run
            .revision
            .as_ref()
            .is_some_and(|it| it.ends_with("-dirty"))
        {
            said.push(format!(
                "The repository of {} had changes that no revision holds.",
                run.run
            ));
        }
        if run.sessions > 1 {
            said.push(format!(
                "{} was made in {} sessions: the machine may have changed between them.",
                run.run, run.sessions
            ));
        }
    }
    said
}

fn times(old: &Baseline, new: &Baseline) -> String {
    let when = if old.started.is_empty() || new.started.is_empty() {
        String::new()
    } else {
        format!(" ({} and {})", date(&old.started), date(&new.started))
    };
    format!(
        "The two runs were made at different times{when}, and whatever drifted on the machine between them is in every ratio. For a \
         pull request measure both revisions in one run, in turns: hotlap run SUITE --compare-with REV."
    )
}

/// `2026-11-30T19:05:00Z` as `2026-11-30 19:05 UTC`.
pub(super) fn date(started: &str) -> String {
    match started.get(..16).and_then(|start| start.split_once('T')) {
        Some((day, time)) => format!("{day} {time} UTC"),
        None => started.to_owned(),
    }
}

fn generators(run: &Baseline) -> BTreeSet<&str> {
    let all = run.cells.iter().flat_map(|cell| &cell.generators);
    all.map(String::as_str).collect()
}

fn list(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}

/// The versions that differ, of what both have.
fn versions(old: &Baseline, new: &Baseline) -> Option<String> {
    let differ: Vec<String> = new
        .versions
        .iter()
        .filter_map(|(name, version)| {
            let before = old.versions.get(name)?;
            (before != version).then(|| format!("{name} ({before} → {version})"))
        })
        .collect();
    (!differ.is_empty()).then(|| format!("Other versions: {}.", differ.join(", ")))
}

/// In what two runs were done differently.
fn settings_apart(old: &RunSettings, new: &RunSettings) -> Vec<String> {
    let (order_old, order_new) = (word(old), word(new));
    let cpus = |run: &RunSettings| {
        let of = |number: Option<u32>| number.map_or_else(|| "rest".to_owned(), |n| n.to_string());
        run.cpus.map_or_else(
            || "found".to_owned(),
            |cpus| format!("{} and {}", of(cpus.server), of(cpus.generator)),
        )
    };
    let parts = [
        (
            "repetitions",
            old.repetitions.to_string(),
            new.repetitions.to_string(),
        ),
        ("order", order_old.to_owned(), order_new.to_owned()),
        (
            "cooldown",
            write_duration(old.cooldown),
            write_duration(new.cooldown),
        ),
        ("rest", write_duration(old.rest), write_duration(new.rest)),
        (
            "sample interval",
            write_duration(old.sample_interval),
            write_duration(new.sample_interval),
        ),
        (
            "share of errors allowed",
            old.max_errors.to_string(),
            new.max_errors.to_string(),
        ),
        ("CPUs of server and generator", cpus(old), cpus(new)),
    ];
    parts
        .into_iter()
        .filter(|(_, old, new)| old != new)
        .map(|(name, old, new)| format!("{name} {old} → {new}"))
        .collect()
}

fn word(run: &RunSettings) -> &'static str {
    match run.order {
        Order::Shuffled => "shuffled",
        Order::Sequential => "sequential",
        Order::Random => "random",
    }
}
