//! Looking for a generator: not the first program of its name, but the first that says that it is the one.

use super::adapter::Adapter;
use crate::process::{GuardProgram, Launch, command, plain};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a program may take to tell its version.
const TELLS_WITHIN: Duration = Duration::from_secs(20);

/// A generator on this machine.
#[derive(Clone)]
pub struct Tool {
    pub(super) adapter: &'static dyn Adapter,
    /// Its program.
    pub path: PathBuf,
    /// Its name and version.
    pub version: String,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool")
            .field("path", &self.path)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// Why there is no such generator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// In a sentence without its full stop.
    pub reason: String,
    /// The line that installs it; none for a generator that nothing is known of.
    pub install: Option<String>,
}

/// The generator of this name, by the PATH of `env` and the folders where its installer puts it. In
/// `scratch` programs may print.
pub async fn find(
    name: &str,
    env: &[(String, String)],
    scratch: &Path,
    program: &GuardProgram,
) -> Result<Tool, Missing> {
    let Some(adapter) = super::adapter(name) else {
        return Err(Missing {
            reason: format!("this version of hotlap does not carry out loads by `{name}`"),
            install: None,
        });
    };
    let mut others = Vec::new();
    for path in candidates(adapter, env) {
        let launch = Launch {
            role: name.to_owned(),
            command: vec![path.display().to_string(), adapter.asks().to_owned()],
            env: env.to_vec(),
            cwd: scratch.to_owned(),
            log: scratch.join(format!("{name}.version.log")),
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
        // Some of them exit with an error when they are only asked who they are.
        let said = match command(program, launch, TELLS_WITHIN).await {
            Ok(output) => output.text,
            Err(error) => error.to_string(),
        };
        match adapter.recognise(&said, &path) {
            Some(version) => {
                return Ok(Tool {
                    adapter,
                    path,
                    version,
                });
            }
            None => others.push((path, said)),
        }
    }
    Err(Missing {
        reason: match others.first() {
            None => format!("{name} is not on the PATH"),
            Some((path, said)) => {
                let line = said.lines().map(str::trim).find(|line| !line.is_empty());
                let said = line.map_or_else(
                    || "says nothing".to_owned(),
                    |line| format!("says \"{}\"", plain(line)),
                );
                format!(
                    "{} is not the load generator {name}: asked for its version ({}), it {said}",
                    path.display(),
                    adapter.asks()
                )
            }
        },
        install: Some(adapter.install().to_owned()),
    })
}

/// Every program of the name, in the order in which they are looked at.
fn candidates(adapter: &dyn Adapter, env: &[(String, String)]) -> Vec<PathBuf> {
    let of = |wanted: &str| {
        env.iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, value)| value.as_str())
    };
    let path =
        std::env::split_paths(of("PATH").unwrap_or_default()).filter(|folder| folder.is_absolute());
    let home = of("HOME").map(PathBuf::from);
    let own = adapter
        .folders()
        .iter()
        .filter_map(|folder| Some(home.as_ref()?.join(folder)));
    let mut all: Vec<PathBuf> = Vec::new();
    for folder in path.chain(own) {
        let file = folder.join(adapter.name());
        let runs = file
            .metadata()
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        if runs && !all.contains(&file) {
            all.push(file);
        }
    }
    all
}
