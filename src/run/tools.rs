//! The load generators of a run, looked for once before its first trial.

use super::runner::{Job, RunError, remaining};
use crate::generator::{Missing, Tool, find};
use crate::server::caller;
use crate::spec::{Cell, Planned, Spec};
use crate::store::RunFolder;
use std::collections::{BTreeMap, BTreeSet};

/// The generators that cells ask for beside the built-in one.
#[derive(Debug, Default)]
pub(super) struct Tools(BTreeMap<String, Result<Tool, Missing>>);

impl Tools {
    /// The generator of a cell; none is the built-in one. An error says why there is none.
    pub(super) fn of(&self, cell: &Cell) -> Result<Option<Tool>, String> {
        let Some(name) = &cell.work.generator else {
            return Ok(None);
        };
        match self.0.get(name) {
            Some(Ok(tool)) => Ok(Some(tool.clone())),
            Some(Err(missing)) => Err(missing.reason.clone()),
            None => Err(format!("{name} was not looked for")),
        }
    }
}

/// The version of a tool, where an earlier session may have had another: both, since trials of both are taken together.
fn together(earlier: Option<&String>, now: &str) -> String {
    match earlier {
        Some(earlier) if earlier.split(", then ").last() != Some(now) => {
            format!("{earlier}, then {now}")
        }
        Some(earlier) => earlier.clone(),
        None => now.to_owned(),
    }
}

/// Looks for the generators of the trials that are left. Their versions go into the record.
pub(super) async fn tools(
    records: &mut RunFolder,
    job: &Job,
    spec: &Spec,
    plan: &[Planned],
) -> Result<Tools, RunError> {
    let left = remaining(records, spec, plan);
    let names: BTreeSet<String> = left
        .iter()
        .filter_map(|(_, cell)| cell.work.generator.clone())
        .collect();
    let scratch = records.path().join("logs");
    super::making::make(&scratch)?;
    let env: Vec<(String, String)> = caller().into_iter().collect();
    let mut tools = Tools::default();
    let mut versions = BTreeMap::new();
    for name in names {
        let found = find(&name, &env, &scratch, &job.program).await;
        if let Ok(tool) = &found {
            let key = format!("{name} (load generator)");
            let version = together(records.run().versions.get(&key), &tool.version);
            versions.insert(key, version);
        }
        tools.0.insert(name, found);
    }
    if !versions.is_empty() {
        records.update(|run| run.versions.extend(versions))?;
    }
    Ok(tools)
}
