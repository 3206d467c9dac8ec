//! What a suite requires, looked at on this machine: cells that cannot run
//! become skips with a reason and the line that mends it.

use super::exit::Exit;
use super::terminal::{say_error, say_line};
use crate::process::GuardProgram;
use crate::server::requirement::examine;
use crate::spec::{Requirement, Spec};
use std::collections::BTreeMap;
use std::path::Path;

/// Marks the cells of `spec` that cannot run here. Returns what programs said of
/// their versions, by name. `folder` is the suite's; in `scratch` they may print.
pub(super) fn apply(
    spec: &mut Spec,
    folder: &Path,
    scratch: &Path,
) -> Result<BTreeMap<String, String>, Exit> {
    let cannot = |error: std::io::Error| {
        say_error(&format!(
            "this machine cannot look at what the suite requires: {error}"
        ));
        Exit::Machine
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(cannot)?;
    let folder = std::path::absolute(folder).map_err(cannot)?;
    Ok(runtime.block_on(look(spec, &folder, scratch, &GuardProgram::current())))
}

async fn look(
    spec: &mut Spec,
    folder: &Path,
    scratch: &Path,
    program: &GuardProgram,
) -> BTreeMap<String, String> {
    let wanted: Vec<Requirement> = spec
        .cells
        .iter()
        .flat_map(|cell| cell.requires.clone())
        .collect();
    let findings = examine(&wanted, folder, scratch, program).await;
    let mut versions = BTreeMap::new();
    for (requirement, finding) in &findings {
        if let (Requirement::Tool { name, .. }, Ok(Some(version))) = (requirement, finding) {
            versions.insert(name.clone(), version.clone());
        }
    }
    for cell in &mut spec.cells {
        cell.skip = cell
            .requires
            .iter()
            .find_map(|requirement| findings.get(requirement)?.as_ref().err().cloned());
    }
    versions
}

/// With `--strict` a skip is an error.
pub(super) fn refuse_skips(spec: &Spec) -> Result<(), Exit> {
    let mut reasons: Vec<String> = spec
        .cells
        .iter()
        .filter_map(|cell| {
            let skip = cell.skip.as_ref()?;
            let install = skip
                .install
                .as_ref()
                .map_or_else(String::new, |line| format!(" ({line})"));
            Some(format!("{}: {}{install}", cell.server, skip.reason))
        })
        .collect();
    if reasons.is_empty() {
        return Ok(());
    }
    reasons.sort();
    reasons.dedup();
    for reason in &reasons {
        say_error(reason);
    }
    say_line("with --strict every requirement must be met; nothing was started");
    Err(Exit::Machine)
}
