//! `hotlap history`: the nights of a suite so far, with the changes found.

mod shown;

use super::exit::Exit;
use super::reports::{add_to_history, open};
use super::run::default_out;
use super::suites;
use super::terminal::{self, print, say_error, say_line, say_warning};
use crate::metric;
use crate::record::{HistoryRow, LostNight};
use crate::report::history_json;
use crate::stats::{self, Series};
use crate::store::{self, RunState, RunSummary, StoreError};
use clap::Args;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Show the nights of a suite so far, and what changed in them
#[derive(Debug, Args)]
#[command(after_help = "\
Each whole run adds its figures to reports/SUITE/history.csv, which is only ever appended. Nights
of one machine and one configuration make a series; where one of these changes, a new series begins.
A change is found from 10 nights on, with 3 on both sides, and is told by the report of the run that
makes sure of it.
Two branches that both measured merge with this line in .gitattributes:
  history*.csv merge=union

Examples:
  hotlap history suites/quickstart.toml
  hotlap history quickstart --metric rss_peak --only server=node
  hotlap history quickstart --json")]
pub(super) struct HistoryArgs {
    /// A suite file, a folder of them, a suite's folder of reports, or a suite's name
    #[arg(required = true, value_name = "SUITE")]
    suites: Vec<PathBuf>,
    /// The folder of reports [default: reports/ beside the folder `suites`; of a name, reports/]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The history of this profile and not of the default one
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Only cells with this value of an axis: server=express, load=steady, workers=4
    #[arg(long, value_name = "K=V")]
    only: Vec<String>,
    /// Show this metric too, or only it with --json and --csv
    #[arg(long, value_name = "NAME")]
    metric: Vec<String>,
    /// How many nights a line has at the most
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..))]
    nights: u16,
    /// Print every series with its nights and changes as JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print the rows of the history, in order of time and each once
    #[arg(long)]
    csv: bool,
    /// Add whole runs on disk that the history does not have, since their runner was killed at the wrong moment
    #[arg(long)]
    add: bool,
}

pub(super) fn main(arguments: &HistoryArgs) -> Exit {
    match history(arguments) {
        Ok(()) => Exit::Fine,
        Err(exit) => exit,
    }
}

/// A suite by its name, and where its reports are.
struct Place {
    suite: String,
    out: PathBuf,
}

/// What is known of the nights of a suite.
struct Known {
    rows: Vec<HistoryRow>,
    lost: Vec<LostNight>,
    notes: Vec<String>,
}

fn history(arguments: &HistoryArgs) -> Result<(), Exit> {
    refuse_metrics(&arguments.metric)?;
    let axes = axes(&arguments.only)?;
    let mut places: Vec<Place> = Vec::new();
    for suite in &arguments.suites {
        places.extend(find(suite, arguments.out.as_deref())?);
    }
    if places.len() > 1 && (arguments.json || arguments.csv) {
        say_error("--json and --csv print the history of one suite; name one");
        return Err(Exit::Usage);
    }
    let mut shown = Vec::new();
    for place in &places {
        let known = read(arguments, place)?;
        if known.rows.is_empty() && known.lost.is_empty() {
            continue;
        }
        shown.push((place, known));
    }
    if shown.is_empty() {
        return Err(without(&places, arguments.profile.as_deref()));
    }
    for (nth, (place, known)) in shown.into_iter().enumerate() {
        if nth > 0 {
            print("\n");
        }
        show(arguments, &axes, place, known)?;
    }
    Ok(())
}

fn show(
    arguments: &HistoryArgs,
    axes: &[(String, String)],
    place: &Place,
    mut known: Known,
) -> Result<(), Exit> {
    let profile = arguments.profile.as_deref();
    for note in &known.notes {
        say_warning(note);
    }
    known.rows.retain(|row| {
        let has = |(axis, value): &(String, String)| has(row.cell.names(), axis, value);
        axes.iter().all(has)
    });
    if known.rows.is_empty() && !axes.is_empty() {
        say_error(&format!(
            "no cell of the history of {} has {}; without --only all are shown",
            place.suite,
            arguments.only.join(" and ")
        ));
        return Err(Exit::Usage);
    }
    let wanted = |column: &str| {
        let columns = || {
            let found = arguments
                .metric
                .iter()
                .filter_map(|name| metric::find(name));
            found.map(metric::Metric::column)
        };
        arguments.metric.is_empty() || columns().any(|one| one == column)
    };
    if arguments.csv {
        let kept = known.rows.into_iter().filter(|row| {
            let figure = row.figure.as_ref();
            figure.is_none_or(|figure| wanted(&figure.column))
        });
        let rows: Vec<HistoryRow> = kept.collect();
        let bytes = store::history_csv(&rows).map_err(|error| cannot(&error))?;
        print(&String::from_utf8_lossy(&bytes));
        return Ok(());
    }
    let mut all = stats::series(&known.rows, &known.lost);
    if arguments.json {
        all.retain(|one| wanted(&one.metric.column()));
        let bytes = history_json(&place.suite, profile, &all, &known.notes)
            .map_err(|error| cannot(&error))?;
        print(&String::from_utf8_lossy(&bytes));
        return Ok(());
    }
    let also: Vec<&str> = arguments.metric.iter().map(String::as_str).collect();
    let most = usize::from(arguments.nights);
    let head = shown::head(&place.suite, profile, &all);
    let cells = shown::cells(&chosen(&all, &also), most);
    print(&terminal::shown(&format!("{head}{cells}")));
    Ok(())
}

/// The series that are shown to people: those of the first metrics, those with changes, and what is asked for.
fn chosen<'a>(all: &'a [Series], also: &[&str]) -> Vec<&'a Series> {
    const FIRST: [&str; 3] = ["requests_per_second", "latency_p99", "rss_peak"];
    let is_shown = |one: &&Series| {
        let name = one.metric.name;
        FIRST.contains(&name) || also.contains(&name) || !one.changes.is_empty()
    };
    all.iter().filter(is_shown).collect()
}

fn cannot(error: &dyn std::fmt::Display) -> Exit {
    say_error(&error.to_string());
    Exit::Machine
}

fn refused(error: &StoreError) -> Exit {
    say_error(&error.to_string());
    Exit::Usage
}

fn refuse_metrics(names: &[String]) -> Result<(), Exit> {
    let unknown = names
        .iter()
        .find(|name| !metric::NIGHTLY.contains(&name.as_str()));
    let Some(unknown) = unknown else {
        return Ok(());
    };
    say_error(&format!(
        "the history has no metric {unknown:?}; it has {}",
        metric::NIGHTLY.join(", ")
    ));
    Err(Exit::Usage)
}

/// `workers=4` as (axis, value).
fn axes(only: &[String]) -> Result<Vec<(String, String)>, Exit> {
    let split = |text: &String| {
        let (axis, value) = text.split_once('=').ok_or_else(|| {
            say_error(&format!(
                "--only {text}: write the axis and its value: server=express, load=steady, workers=4"
            ));
            Exit::Usage
        })?;
        Ok((axis.to_owned(), value.to_owned()))
    };
    only.iter().map(split).collect()
}

/// Whether a cell, `node/workers=4@steady`, has this value of an axis.
fn has(names: &str, axis: &str, value: &str) -> bool {
    let (variant, load) = names.rsplit_once('@').unwrap_or((names, ""));
    let mut parts = variant.split('/');
    let server = parts.next().unwrap_or_default();
    match axis {
        "server" => server == value,
        "load" => load == value,
        toggle => parts.any(|part| part.split_once('=') == Some((toggle, value))),
    }
}

/// The suites that a word means.
fn find(word: &Path, out: Option<&Path>) -> Result<Vec<Place>, Exit> {
    let name = word.to_str().filter(|name| !name.contains('/'));
    if !word.exists()
        && let Some(name) = name
    {
        return Ok(vec![Place {
            suite: name.to_owned(),
            out: out.unwrap_or(Path::new("reports")).to_owned(),
        }]);
    }
    if let Some(place) = folder_of_reports(word) {
        return Ok(vec![place]);
    }
    let mut places = Vec::new();
    for file in suites::files(&[word.to_owned()])? {
        let (_, suite, folder) = crate::suite::read(&file).map_err(|error| {
            say_error(&error.to_string());
            Exit::Usage
        })?;
        places.push(Place {
            suite,
            out: out.map_or_else(|| default_out(&folder), Path::to_owned),
        });
    }
    Ok(places)
}

/// `reports/quickstart`: a folder that has a history or runs.
fn folder_of_reports(folder: &Path) -> Option<Place> {
    if !folder.join("history.csv").is_file() && !folder.join("runs").is_dir() {
        return None;
    }
    let absolute = std::path::absolute(folder).ok()?;
    Some(Place {
        suite: absolute.file_name()?.to_str()?.to_owned(),
        out: absolute.parent()?.to_owned(),
    })
}

/// The history of a suite, and the runs on disk that are not in it.
fn read(arguments: &HistoryArgs, place: &Place) -> Result<Known, Exit> {
    let profile = arguments.profile.as_deref();
    let path =
        store::history_path(&place.out, &place.suite, profile).map_err(|error| refused(&error))?;
    // Whoever runs suites into this folder adds to its histories too.
    let lock = (arguments.add && place.out.is_dir())
        .then(|| store::lock_output(&place.out, "of `hotlap history --add`"));
    let _lock = lock.transpose().map_err(|error| cannot(&error))?;
    let mut history = store::read_history(&path).map_err(|error| refused(&error))?;
    let has: BTreeSet<String> = history.rows.iter().map(|row| row.run.0.clone()).collect();
    let runs = store::list(&place.out).map_err(|error| refused(&error))?;
    // A run of which some rows are there may have been cut off within them.
    let own = runs.into_iter().filter(|run| {
        run.suite == place.suite
            && run.profile.as_deref() == profile
            && run.selection.is_empty()
            && (arguments.add || !has.contains(&run.id.0))
    });
    let (complete, others): (Vec<RunSummary>, Vec<RunSummary>) =
        own.partition(|run| run.state == RunState::Complete);
    let mut notes = Vec::new();
    if arguments.add {
        for run in &complete {
            add(run, &place.out)?;
        }
        history = store::read_history(&path).map_err(|error| refused(&error))?;
    } else if !complete.is_empty() {
        let ids: Vec<&str> = complete.iter().map(|run| run.id.0.as_str()).collect();
        notes.push(format!(
            "the history does not have {}, which came to an end; --add adds what is whole",
            ids.join(", ")
        ));
    }
    notes.splice(0..0, history.notes);
    Ok(Known {
        rows: history.rows,
        lost: others.iter().filter_map(lost).collect(),
        notes,
    })
}

fn add(run: &RunSummary, out: &Path) -> Result<(), Exit> {
    let stored = open(&run.path)?;
    if add_to_history(&stored, out).map_err(|error| cannot(&error))? {
        say_line(&format!("added: {}", run.id));
    }
    Ok(())
}

/// A run that did not come to its end.
pub(super) fn lost(run: &RunSummary) -> Option<LostNight> {
    let what = match run.state {
        RunState::Complete | RunState::Unreadable(_) => return None,
        RunState::Interrupted => "it was interrupted",
        RunState::Aborted => "it was given up",
        RunState::Unfinished => "it still runs, or its runner was killed",
    };
    Some(LostNight {
        run: run.id.clone(),
        time: time_of(&run.id.0)?,
        reason: format!("{what}: {} of {} trials", run.done, run.planned),
    })
}

/// The time in a run's id, `2026-11-30T190500Z-ab12cd3`, as RFC 3339.
fn time_of(id: &str) -> Option<String> {
    let (date, time) = (id.get(..11)?, id.get(11..18)?);
    let digits = time.strip_suffix('Z')?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || !date.ends_with('T') {
        return None;
    }
    Some(format!(
        "{date}{}:{}:{}Z",
        &digits[..2],
        &digits[2..4],
        &digits[4..]
    ))
}

fn without(places: &[Place], profile: Option<&str>) -> Exit {
    for place in places {
        let profile = profile.map_or("the default profile".to_owned(), |profile| {
            format!("the profile {profile}")
        });
        say_error(&format!(
            "the suite {} has no night of {profile} in {}; each whole run adds one (`hotlap run`), and what has \
             --only, --skip or --repetitions is none",
            place.suite,
            place.out.display()
        ));
    }
    Exit::Usage
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_chosen_by_its_axes() {
        let names = "node/workers=4/gzip=on@steady";
        for (axis, value, wanted) in [
            ("server", "node", true),
            ("server", "nod", false),
            ("load", "steady", true),
            ("workers", "4", true),
            ("workers", "on", false),
            ("gzip", "on", true),
        ] {
            assert_eq!(has(names, axis, value), wanted, "{axis}={value}");
        }
    }

    #[test]
    fn an_id_tells_its_time() {
        let wanted = Some("2026-11-30T19:05:00Z".to_owned());
        assert_eq!(time_of("2026-11-30T190500Z-ab12cd3"), wanted);
        assert_eq!(time_of("2026-11-30T190500Z.002"), wanted);
        assert_eq!(time_of("2026-11-30"), None);
        assert_eq!(time_of("2026-11-30T1905xxZ-ab12cd3"), None);
    }
}
