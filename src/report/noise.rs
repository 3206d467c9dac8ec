//! What the machine did beside the loads of trials, in words: what was stolen, what others used, pauses, heat.

use super::naming::Naming;
use super::show;
use crate::record::{Busy, Trial};
use crate::stats::{CellSummary, Disturbance, State, disturbances};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The names of others that a sentence has.
const NAMES: usize = 3;

/// A kind of disturbance over all valid trials of a run.
struct Kind<'a> {
    /// As report.json calls it.
    word: &'static str,
    /// Valid trials in which it was seen.
    trials: usize,
    /// The largest; a share or a number, as the kind has it.
    worst: f64,
    /// Whose they are, in file order.
    cells: Vec<&'a CellSummary<'a>>,
    /// Processes by the CPU time that they took in these trials.
    by: BTreeMap<&'a str, u64>,
}

/// What there was of each kind, in their order.
fn kinds<'a>(cells: &'a [CellSummary<'a>]) -> Vec<Kind<'a>> {
    let mut all: Vec<Kind<'a>> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.state == State::Measured) {
        for trial in cell.valid() {
            for one in trial
                .surroundings
                .iter()
                .flat_map(|seen| disturbances(seen))
            {
                let (word, size) = sized(one);
                let place = all.iter().position(|kind| kind.word == word);
                let place = place.unwrap_or_else(|| {
                    all.push(Kind {
                        word,
                        trials: 0,
                        worst: 0.0,
                        cells: Vec::new(),
                        by: BTreeMap::new(),
                    });
                    all.len() - 1
                });
                all[place].add(cell, trial, size);
            }
        }
    }
    all.sort_by_key(|kind| WORDS.iter().position(|word| *word == kind.word));
    all
}

const WORDS: [&str; 5] = ["stolen", "others", "quota", "heat", "swap"];

fn sized(one: Disturbance) -> (&'static str, f64) {
    match one {
        Disturbance::Stolen(share) => (WORDS[0], share),
        Disturbance::Others(share) => (WORDS[1], share),
        // Each processor counts the threads that it stopped.
        Disturbance::Quota(share) => (WORDS[2], share.min(1.0)),
        Disturbance::Heat(times) => (WORDS[3], times as f64),
        Disturbance::Swap(pages) => (WORDS[4], pages as f64),
    }
}

impl<'a> Kind<'a> {
    fn add(&mut self, cell: &'a CellSummary<'a>, trial: &'a Trial, size: f64) {
        self.trials += 1;
        self.worst = self.worst.max(size);
        if self
            .cells
            .last()
            .is_none_or(|last| last.cell.id != cell.cell.id)
        {
            self.cells.push(cell);
        }
        if self.word == WORDS[1] {
            for Busy { name, cpu_ns } in trial.surroundings.iter().flat_map(|seen| &seen.busiest) {
                *self.by.entry(name).or_default() += cpu_ns;
            }
        }
    }

    /// The busiest processes by name.
    fn names(&self) -> Vec<&'a str> {
        let mut by: Vec<(&str, u64)> = self.by.iter().map(|(name, ns)| (*name, *ns)).collect();
        by.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        by.into_iter().take(NAMES).map(|(name, _)| name).collect()
    }

    fn sentence(&self, valid: usize) -> String {
        let among = format!(
            "in {} of {}",
            self.trials,
            show::plural(valid, "valid trial")
        );
        let worst = || show::share(self.worst);
        match self.word {
            "stolen" => format!(
                "Noisy machine: the hypervisor gave up to {} of the processors' time to others under load ({among}); those figures are too low.",
                worst()
            ),
            "others" => {
                let names = self.names();
                let by = if names.is_empty() {
                    String::new()
                } else {
                    format!(": {}", names.join(", "))
                };
                format!(
                    "Noisy machine: processes that are no part of the run used up to {} of the processors' time under load ({among}){by}.",
                    worst()
                )
            }
            "quota" => format!(
                "The CPU quota of the cgroup stopped threads under load, for up to {} of its time ({among}); high percentiles show its pauses.",
                worst()
            ),
            "heat" => format!(
                "Too hot: processors were slowed down under load, up to {} in a trial ({among}).",
                show::plural(self.worst as usize, "time")
            ),
            _ => format!(
                "Memory was short: up to {} were read back from swap under load ({among}); what waited for them took longer.",
                show::plural(self.worst as usize, "page")
            ),
        }
    }
}

/// The sentences, each with the titles of the cells that it concerns.
pub(super) fn cautions(
    naming: &Naming<'_>,
    cells: &[CellSummary<'_>],
) -> Vec<(Vec<String>, String)> {
    let valid = cells.iter().map(|cell| cell.valid().count()).sum();
    kinds(cells)
        .iter()
        .map(|kind| {
            let titles = kind.cells.iter().map(|cell| naming.title(cell.cell));
            (titles.collect(), kind.sentence(valid))
        })
        .collect()
}

/// The same for programs; none where nothing was noisy.
pub(super) fn json(cells: &[CellSummary<'_>]) -> Option<Value> {
    let all: Vec<Value> = kinds(cells)
        .iter()
        .map(|kind| {
            json!({
                "kind": kind.word,
                "trials": kind.trials,
                "worst": kind.worst,
                "processes": kind.names(),
                "cells": kind.cells.iter().map(|cell| &cell.cell.id).collect::<Vec<_>>(),
            })
        })
        .collect();
    (!all.is_empty()).then_some(Value::Array(all))
}
