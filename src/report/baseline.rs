//! A run as later ones are compared with it.

use super::Input;
use super::naming::Naming;
use super::rows::reasons;
use crate::record::{Baseline, BaselineCell, End, FORMAT, Host, METRICS, Run};
use crate::stats::{CellSummary, State, complete, summarise};
use std::collections::BTreeSet;

/// What is known of the run of these records for comparing another with it.
pub(super) fn of(input: &Input<'_>) -> Baseline {
    let run = input.run;
    let cells = summarise(run, input.trials);
    let naming = Naming::of(&run.spec);
    let first = run.sessions.first();
    Baseline {
        format: FORMAT,
        run: run.id.clone(),
        suite: run.spec.suite.clone(),
        profile: run.spec.profile.clone(),
        started: first.map_or_else(String::new, |session| session.started.clone()),
        sessions: run.sessions.len(),
        hotlap: distinct(run.sessions.iter().map(|session| session.hotlap.clone())),
        revision: revision(run),
        suite_sha256: Some(run.suite.sha256.clone()),
        complete: Some(run.end == Some(End::Complete) && complete(&cells)),
        selection: run.selection.clone(),
        host: one_host(run),
        versions: run.versions.clone(),
        settings: Some(run.spec.run.clone()),
        cells: cells.iter().map(|one| cell(&naming, one)).collect(),
    }
}

/// The machine; none where a later session found another one.
fn one_host(run: &Run) -> Option<Host> {
    let others = run
        .sessions
        .iter()
        .filter_map(|session| session.host.as_ref());
    let same = others.into_iter().all(|host| *host == run.host);
    same.then(|| run.host.clone())
}

/// The revision of all sessions; of several the dirty one or the last.
fn revision(run: &Run) -> Option<String> {
    let all = || {
        run.sessions
            .iter()
            .filter_map(|session| session.revision.clone())
    };
    all()
        .find(|revision| revision.ends_with("-dirty"))
        .or_else(|| all().next_back())
}

fn cell(naming: &Naming<'_>, cell: &CellSummary<'_>) -> BaselineCell {
    let loads = || cell.valid().filter_map(|trial| trial.load.as_ref());
    let metrics = METRICS.iter().filter_map(|metric| {
        let spread = cell.metric(metric.name)?;
        Some((metric.column(), spread.plain()))
    });
    BaselineCell {
        id: cell.cell.id.clone(),
        title: naming.title(cell.cell),
        state: cell.state.word().to_owned(),
        reasons: reasons(cell),
        planned: Some(cell.planned),
        valid: cell.valid().count(),
        limited: (cell.state == State::Measured).then(|| cell.is_limited()),
        generators: distinct(loads().map(|load| load.generator.clone())),
        spec: Some(cell.cell.clone()),
        metrics: metrics.collect(),
    }
}

/// Each text once, in their order as texts.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.collect::<BTreeSet<_>>().into_iter().collect()
}
