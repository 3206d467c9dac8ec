//! What must be on the machine before a cell can run: programs in a version at
//! least so new, environment variables, files. Each distinct requirement is
//! looked at once; what is not met becomes the reason of a skip.

use crate::process::{GuardProgram, Launch, command, plain};
use crate::spec::{Requirement, Skip};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program that does not tell its version within this time is taken to be broken.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// What was found of each requirement.
pub type Findings = BTreeMap<Requirement, Result<Option<String>, Skip>>;

/// Looks at requirements. `Ok` holds the line in which a program told its version.
/// `folder` is the suite's; `scratch` is where probes may print.
pub async fn examine(
    requirements: impl IntoIterator<Item = &Requirement>,
    folder: &Path,
    scratch: &Path,
    program: &GuardProgram,
) -> Findings {
    let mut findings = Findings::new();
    for requirement in requirements {
        if findings.contains_key(requirement) {
            continue;
        }
        let finding = match requirement {
            Requirement::Env { name } => match std::env::var_os(name) {
                Some(value) if !value.is_empty() => Ok(None),
                _ => Err(skip(
                    format!("the environment variable {name} is not set"),
                    None,
                )),
            },
            Requirement::File { path } => {
                if folder.join(path).exists() {
                    Ok(None)
                } else {
                    Err(skip(format!("there is no {path}"), None))
                }
            }
            Requirement::Tool {
                name,
                at_least,
                probe,
                install,
            } => {
                let found = find(name)
                    .ok_or_else(|| skip(format!("{name} is not on the PATH"), install.clone()));
                match found {
                    Ok(_) => version(name, at_least.as_deref(), probe, scratch, program)
                        .await
                        .map_err(|reason| skip(reason, install.clone())),
                    Err(skip) => Err(skip),
                }
            }
        };
        findings.insert(requirement.clone(), finding);
    }
    findings
}

/// Runs a probe; its first line is the version of what it asks.
pub async fn probe(
    words: &[String],
    cwd: &Path,
    scratch: &Path,
    program: &GuardProgram,
) -> Result<String, String> {
    let launch = Launch {
        role: "probe".to_owned(),
        command: words.to_vec(),
        env: super::caller().into_iter().collect(),
        cwd: cwd.to_owned(),
        log: scratch.join("probe.log"),
        log_cap: Launch::LOG_CAP,
        stdout: None,
        stop_signal: "SIGTERM".to_owned(),
        grace: Duration::from_secs(1),
        nofile: None,
        affinity: None,
        ledger: None,
        shown: None,
        secrets: Vec::new(),
    };
    let line = launch.command_line();
    let output = command(program, launch, PROBE_TIMEOUT)
        .await
        .map_err(|error| error.to_string())?;
    if !output.exit.success() {
        return Err(format!("`{line}` {}", output.exit));
    }
    let first = output
        .text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty());
    first
        .map(plain)
        .ok_or_else(|| format!("`{line}` prints nothing"))
}

async fn version(
    name: &str,
    at_least: Option<&str>,
    words: &[String],
    scratch: &Path,
    program: &GuardProgram,
) -> Result<Option<String>, String> {
    let told = probe(words, scratch, scratch, program).await;
    let Some(least) = at_least else {
        // It is there, and that is all that was asked for.
        return Ok(told.ok());
    };
    let told = told?;
    let found =
        numbers(&told).ok_or_else(|| format!("no version could be read from \"{told}\""))?;
    let wanted = numbers(least).unwrap_or_default();
    if older(&found, &wanted) {
        return Err(format!("{name} is {told}, and {least} is needed"));
    }
    Ok(Some(told))
}

/// The first dotted number of a text: `go version go1.22.3 linux` is 1.22.3.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let rest = &text[start..];
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    rest[..end]
        .trim_end_matches('.')
        .split('.')
        .map(|part| part.parse().ok())
        .collect()
}

/// Whether a version is below another; what is not said counts as 0.
fn older(found: &[u64], wanted: &[u64]) -> bool {
    let part = |version: &[u64], at: usize| version.get(at).copied().unwrap_or(0);
    (0..found.len().max(wanted.len()))
        .map(|at| part(found, at).cmp(&part(wanted, at)))
        .find(|order| order.is_ne())
        .is_some_and(std::cmp::Ordering::is_lt)
}

/// The file that a program's name means, by the PATH.
fn find(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| {
            file.metadata()
                .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        })
}

fn skip(reason: String, install: Option<String>) -> Skip {
    Skip { reason, install }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_print() {
        let read = |text| numbers(text).unwrap();
        assert_eq!(read("v20.20.2"), [20, 20, 2]);
        assert_eq!(read("go version go1.26.8 linux/amd64"), [1, 26, 8]);
        assert_eq!(read("nginx version: nginx/1.22.1"), [1, 22, 1]);
        assert_eq!(numbers("none"), None);
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!(older(&[9, 10], &[10]));
        assert!(!older(&[18], &[18, 0, 0]));
        assert!(!older(&[18, 1], &[18]));
        assert!(older(&[18, 9], &[18, 10]));
    }
}
