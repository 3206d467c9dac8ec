//! `hotlap doctor`: can this machine measure? It looks, works for some seconds, loads the null server, and changes nothing.
//! `finding` is what is said of one thing; `processors`, `limits` and `activity` judge what was seen, `suites` what suites need;
//! `show` is the answer.

mod activity;
mod finding;
mod limits;
mod processors;
mod show;
mod suites;
#[cfg(test)]
mod tests;

pub(super) use limits::OTHER_DESCRIPTORS;

use super::exit::Exit;
use super::signals;
use super::terminal::{is_interactive, print, say_error, say_line};
use crate::host::{self, Look, Machine};
use crate::process::GuardProgram;
use crate::record::{Ceiling, Surroundings};
use crate::run::{Cancel, CeilingBench, CeilingError, most_threads, own_ceiling};
use crate::store::{self, StoreError};
use activity::Watched;
use clap::Args;
use finding::Finding;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::signal::unix::SignalKind;

/// How long the machine is watched while nothing is asked of it.
const IDLE: Duration = Duration::from_secs(1);
/// How long it works.
const WORK: Duration = Duration::from_secs(5);

/// Tell whether this machine can measure, and what stands in the way; change nothing
///
/// Looks at processors, limits, memory, clock and other processes, works on all
/// processors for five seconds to see how evenly they do, and loads hotlap's own
/// null server, once for a machine. With suites, also at what they need.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code 0: this machine can measure, perhaps with warnings. 4: it cannot.

Examples:
  hotlap doctor
  hotlap doctor suites/quickstart.toml
  hotlap doctor --quick --json")]
pub(super) struct DoctorArgs {
    /// Suites whose needs are looked at too: files, or folders of them
    #[arg(value_name = "SUITE")]
    suites: Vec<PathBuf>,
    /// The profile of the suites to use
    #[arg(long, value_name = "NAME", requires = "suites")]
    profile: Option<String>,
    /// Only look: neither work nor load the null server
    #[arg(long)]
    quick: bool,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn main(arguments: &DoctorArgs) -> Exit {
    match doctor(arguments) {
        Ok(exit) | Err(exit) => exit,
    }
}

fn doctor(arguments: &DoctorArgs) -> Result<Exit, Exit> {
    let asked = suites::read(&arguments.suites, arguments.profile.as_ref())?;
    let scratch = tempfile::tempdir().map_err(|error| cannot(&error))?;
    let mut findings = Vec::new();
    // What measures while a run does would be measured with it.
    let lock = (!arguments.quick).then(|| store::lock_machine("of `hotlap doctor`"));
    let works = match &lock {
        Some(Ok(_)) => true,
        Some(Err(error)) => {
            findings.push(unlocked(error));
            false
        }
        None => false,
    };
    let machine = host::machine();
    if is_interactive() {
        let seconds = if works { "about 8 seconds" } else { "a second" };
        say_line(&format!("looking at this machine for {seconds}"));
    }
    let watched = watch(works);
    findings.extend(processors::findings(&machine));
    findings.extend(limits::findings(&machine, suites::wanted(&asked)));
    findings.extend(activity::findings(&machine, &watched));
    let ceiling = if works {
        let (finding, ceiling) = measured(&machine, scratch.path())?;
        findings.push(finding);
        ceiling
    } else {
        None
    };
    findings.extend(suites::findings(&asked, scratch.path())?);
    if arguments.json {
        let value = show::json(&findings, &machine, &watched, ceiling.as_ref());
        print(&format!("{value:#}\n"));
    } else {
        print(&show::text(&findings));
    }
    Ok(if show::can_measure(&findings) {
        Exit::Fine
    } else {
        Exit::Machine
    })
}

/// Why this machine could not be locked: somebody holds the lock, or its file cannot be used.
fn unlocked(error: &StoreError) -> Finding {
    match error {
        StoreError::Locked { .. } => Finding::cannot("another run", error.to_string())
            .so("two that measure at once measure each other")
            .then("wait for its end, or look without measuring")
            .by("hotlap doctor --quick"),
        _ => Finding::cannot("lock", error.to_string())
            .so("no run can be kept from measuring beside another")
            .then(
                "let everybody write the file or remove it, or name a folder of your own in HOTLAP_LOCK_DIR; to look \
                 without measuring:",
            )
            .by("hotlap doctor --quick"),
    }
}

/// Watches the machine while nothing is asked of it, and, where it `works`, while all of its processors work.
fn watch(works: bool) -> Watched {
    let seen = |before: &Look, after: &Look| -> Surroundings {
        before.until(after, &[std::process::id()])
    };
    let first = Look::now();
    std::thread::sleep(IDLE);
    let second = Look::now();
    let noise = works.then(|| {
        let before = Look::now();
        let noise = host::noise(WORK);
        (noise, seen(&before, &Look::now()))
    });
    Watched {
        idle: seen(&first, &second),
        idle_busy: first.busy_share(&second),
        noise,
    }
}

/// What the generator can send here, as it was kept or as it is measured now.
fn measured(machine: &Machine, scratch: &Path) -> Result<(Finding, Option<Ceiling>), Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| cannot(&error))?;
    let cancel = Cancel::default();
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    runtime
        .block_on(async { signals::listen(&kinds, &cancel) })
        .map_err(|error| cannot(&error))?;
    let hotlap = std::env::current_exe().map_err(|error| cannot(&error))?;
    let program = GuardProgram::current();
    let bench = CeilingBench {
        host: &machine.host,
        folder: scratch,
        hotlap: &hotlap,
        program: &program,
    };
    let threads = most_threads(machine.host.cpus);
    let found = runtime.block_on(own_ceiling(&bench, &cancel, threads, &mut |_| {}));
    if cancel.is_cancelled() {
        return Err(Exit::Interrupted);
    }
    match found {
        Ok(ceiling) => Ok((activity::ceiling(&ceiling), Some(ceiling))),
        Err(CeilingError::Left(what)) => {
            say_error(&what);
            Err(Exit::Machine)
        }
        Err(CeilingError::Unknown(why)) => Ok((activity::no_ceiling(&why), None)),
    }
}

fn cannot(error: &std::io::Error) -> Exit {
    say_error(&format!("this machine cannot be looked at: {error}"));
    Exit::Machine
}
