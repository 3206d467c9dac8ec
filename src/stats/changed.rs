//! In what the configuration of a cell has changed from one run to another, in words.

use super::configured;
use crate::spec::{Cell, LoadSpec, ProcessSpec, line};
use std::collections::BTreeSet;

/// What differs. Empty where it is nothing that a cell tells of itself, such as the making of a runtime.
pub(super) fn changed(old: &Cell, new: &Cell) -> Vec<String> {
    let mut said = around(old, new);
    for process in &new.processes {
        let same = |other: &&ProcessSpec| other.role == process.role;
        match old.processes.iter().find(same) {
            Some(before) => said.extend(of_process(before, process)),
            None => said.push(format!("the process {} is new", process.role)),
        }
    }
    let is_new = |role: &str| new.processes.iter().any(|process| process.role == role);
    let gone = old
        .processes
        .iter()
        .filter(|process| !is_new(&process.role));
    said.extend(gone.map(|process| format!("the process {} is gone", process.role)));
    said.extend(of_load(&old.work, &new.work));
    said
}

fn around(old: &Cell, new: &Cell) -> Vec<String> {
    let differ = [
        (old.url != new.url, "its URL"),
        (old.revision != new.revision, "its revision"),
        (old.builds != new.builds, "how it is built"),
        (old.services != new.services, "the services that it needs"),
        (old.front != new.front, "the process that is loaded"),
        (old.ready != new.ready, "when it counts as ready"),
        (old.prepare != new.prepare, "what prepares it"),
    ];
    named(&differ)
}

fn of_process(old: &ProcessSpec, new: &ProcessSpec) -> Vec<String> {
    let of = |what: &str| format!("{what} of {}", new.role);
    let mut said = Vec::new();
    if old.command != new.command {
        said.push(format!(
            "the command of {} ({} → {})",
            new.role,
            line(&old.command),
            line(&new.command)
        ));
    }
    let names = variables(old, new);
    if !names.is_empty() {
        said.push(format!("{} ({})", of("the environment"), names.join(", ")));
    }
    let differ = [
        (old.cwd != new.cwd || old.copy != new.copy, "the folder"),
        (
            old.address != new.address || old.socket != new.socket,
            "the address",
        ),
        (old.runtime != new.runtime, "the runtime"),
        (old.files != new.files, "the files"),
        (old.count != new.count, "the number"),
        (old.needs != new.needs, "the needs"),
        (old.ready != new.ready, "the readiness"),
        (old.prepare != new.prepare, "the preparation"),
        (old.stop != new.stop, "the stop"),
    ];
    said.extend(named(&differ).iter().map(|what| of(what)));
    said
}

/// The variables that have another value, or are in one environment only.
fn variables(old: &ProcessSpec, new: &ProcessSpec) -> Vec<String> {
    let all = |process: &ProcessSpec| -> BTreeSet<(String, String)> {
        let set = process.env.iter();
        let set = set.map(|(name, value)| (name.clone(), format!("={value}")));
        let how = |names: &[String], how: &str| -> Vec<(String, String)> {
            let of = |name: &String| (name.clone(), how.to_owned());
            names.iter().map(of).collect()
        };
        let passed = how(&process.pass_env, "passed");
        let unset = how(&process.unset_env, "unset");
        set.chain(passed).chain(unset).collect()
    };
    let (old, new) = (all(old), all(new));
    let names: BTreeSet<String> = old
        .symmetric_difference(&new)
        .map(|(name, _)| name.clone())
        .collect();
    names.into_iter().collect()
}

fn of_load(old: &LoadSpec, new: &LoadSpec) -> Vec<String> {
    let mut said = configured::load(old, new);
    let differ = [
        (
            old.request != new.request || old.mix != new.mix,
            "the requests of the load",
        ),
        (old.expect != new.expect, "what is expected of answers"),
        (old.timeout != new.timeout, "the time-out of the load"),
    ];
    said.extend(named(&differ));
    said
}

fn named(differ: &[(bool, &str)]) -> Vec<String> {
    let found = differ.iter().filter(|(differs, _)| *differs);
    found.map(|(_, what)| (*what).to_owned()).collect()
}
