//! The plan as JSON, written as it is made.

use super::Survey;
use crate::cli::requirements::{Machine, Needs};
use crate::cli::terminal::print as print_text;
use crate::plan::{Plan, order};
use crate::run::beyond;
use crate::spec::{Cell, Spec};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{self, Write};

/// Prints an array with one document a suite.
pub(super) fn print(all: &mut [Survey<'_>]) {
    let mut out = Pieces::default();
    let documents: Vec<Document<'_, '_>> = all
        .iter_mut()
        .map(|survey| Document(RefCell::new(survey)))
        .collect();
    let written = serde_json::to_writer_pretty(&mut out, &documents);
    // Writing to memory and to `print` cannot fail.
    debug_assert!(written.is_ok());
    out.text.push(b'\n');
    out.hand_over();
}

/// Hands text to standard output in pieces.
#[derive(Default)]
struct Pieces {
    text: Vec<u8>,
}

impl Pieces {
    fn hand_over(&mut self) {
        print_text(&String::from_utf8_lossy(&self.text));
        self.text.clear();
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        // What is handed over ends where a character does.
        if self.text.len() > 64 * 1024 && bytes.is_ascii() {
            self.hand_over();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One suite. The iterators inside are used up by writing it.
struct Document<'s, 'a>(RefCell<&'s mut Survey<'a>>);

impl Serialize for Document<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut survey = self.0.borrow_mut();
        let nanos = u64::try_from(survey.total().as_nanos()).unwrap_or(u64::MAX);
        let loads: Vec<Value> = survey
            .loads
            .iter()
            .map(|share| {
                json!({
                    "load": share.load,
                    "cells": share.cells,
                    "trials": share.trials,
                    "estimated_ns": u64::try_from(share.time.as_nanos()).unwrap_or(u64::MAX),
                })
            })
            .collect();
        let pilots = &survey.pilots;
        let pilots = json!({
            "cells": pilots.cells,
            "estimated_ns": u64::try_from(pilots.least.as_nanos()).unwrap_or(u64::MAX),
            "most_ns": u64::try_from(pilots.most.as_nanos()).unwrap_or(u64::MAX),
        });
        let most = u64::try_from(survey.most().as_nanos()).unwrap_or(u64::MAX);
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("format", &1)?;
        map.serialize_entry("suite", &survey.read.path.display().to_string())?;
        map.serialize_entry("estimated_ns", &nanos)?;
        map.serialize_entry("most_ns", &most)?;
        map.serialize_entry("pilots", &pilots)?;
        map.serialize_entry("loads", &loads)?;
        map.serialize_entry("comparisons", &survey.comparisons)?;
        let mut ids = Vec::new();
        map.serialize_entry("spec", &SpecOf(RefCell::new((&mut **survey, &mut ids))))?;
        map.serialize_entry("trials", &Trials(&survey, &ids))?;
        map.end()
    }
}

/// The spec, its cells written one at a time. The ids of those that run are kept for their trials.
struct SpecOf<'s, 'a>(RefCell<(&'s mut Survey<'a>, &'s mut Vec<String>)>);

impl Serialize for SpecOf<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut both = self.0.borrow_mut();
        let (survey, ids) = &mut *both;
        let head = serde_json::to_value::<&Spec>(survey.head).map_err(S::Error::custom)?;
        let mut map = to.serialize_map(None)?;
        for (key, value) in head.as_object().into_iter().flatten() {
            if key != "cells" {
                map.serialize_entry(key, value)?;
            }
        }
        let Survey { plan, machine, .. } = &mut **survey;
        map.serialize_entry("cells", &Cells(RefCell::new((plan, machine, ids))))?;
        map.end()
    }
}

/// The cells, and where the ids of those that run are kept.
struct Cells<'s, 'a>(RefCell<(&'s mut Plan<'a>, &'s mut Machine, &'s mut Vec<String>)>);

impl Serialize for Cells<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut all = self.0.borrow_mut();
        let (plan, machine, ids) = &mut *all;
        let mut seq = to.serialize_seq(None)?;
        for cell in plan.cells() {
            let skip = machine.missing(&Needs::of(&cell));
            if skip.is_none() {
                ids.push(cell.id.0.clone());
            }
            let beyond = match &skip {
                Some(_) => None,
                None => beyond(&cell).map(|beyond| beyond.reason),
            };
            seq.serialize_element(&Shown {
                cell: &Cell { skip, ..cell },
                beyond,
            })?;
        }
        seq.end()
    }
}

/// A cell, and why a run would skip it though this machine lacks nothing.
#[derive(serde::Serialize)]
struct Shown<'c> {
    #[serde(flatten)]
    cell: &'c Cell,
    beyond: Option<String>,
}

/// The trials in the order of the run.
struct Trials<'s, 'a>(&'s Survey<'a>, &'s [String]);

impl Serialize for Trials<'_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(survey, ids) = self;
        let repetitions: Vec<u32> = survey
            .repetitions
            .iter()
            .copied()
            .filter(|repetitions| *repetitions > 0)
            .collect();
        to.collect_seq(order(&repetitions, &survey.head.run).map(|turn| {
            json!({
                "trial": { "cell": ids[turn.cell], "repetition": turn.round },
                "round": turn.round,
            })
        }))
    }
}
