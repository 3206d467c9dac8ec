//! `history.csv`: the figures of every night, kept for good beside the runs of a suite. Rows are only ever appended. What git makes of
//! two branches that both appended (`merge=union`) is read too: rows in any order and more than once, heads in the middle. A line
//! that is no row is left out with a note.

use super::append::append;
use super::fields::Fields;
use super::{StoreError, plain_name};
use crate::ids::{CellId, RunId};
use crate::record::{AT_LEAST, HISTORY_COLUMNS, HistoryFigure, HistoryRow};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// With more lines than this that are no rows, only their number is told.
const MOST_NOTES: usize = 3;
/// The longest reason that is kept, in characters.
const LONGEST_REASON: usize = 300;
/// What git puts around what two branches have in one place.
const CONFLICT: [&str; 4] = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"];
/// What a line gets at its end that was cut off, so that nobody takes it for a row.
const CUT_OFF: &str = " (cut off)\n";

/// What a history file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Its rows, as they stand.
    pub rows: Vec<HistoryRow>,
    /// What was left out, in a sentence each.
    pub notes: Vec<String>,
}

/// The history of a suite: `<out>/<suite>/history.csv`, or `history.<profile>.csv` beside it.
pub fn history_path(out: &Path, suite: &str, profile: Option<&str>) -> Result<PathBuf, StoreError> {
    let name = match profile {
        None => "history.csv".to_owned(),
        Some(profile) => format!("history.{}.csv", plain_name(profile)?),
    };
    Ok(out.join(plain_name(suite)?).join(name))
}

/// Reads a history; one that is not there is empty.
pub fn read_history(path: &Path) -> Result<History, StoreError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(History::default()),
        other => other.map_err(StoreError::io("read", path))?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let head = head();
    let mut history = History::default();
    let mut wrong: Vec<String> = Vec::new();
    let mut seen: HashMap<Key, usize> = HashMap::new();
    let mut differing: Vec<String> = Vec::new();
    let mut fields = Fields::new();
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let Some(whole) = line.strip_suffix('\n') else {
            history.notes.push(format!(
                "the last line of {name} was cut off while it was written; it is left out"
            ));
            continue;
        };
        let whole = whole.trim_end_matches('\r');
        if whole.trim().is_empty() || whole == head {
            continue;
        }
        match parse(&fields.of(whole)) {
            // Two branches that both have a row make two of it.
            Ok(row) => match seen.entry(key(&row)) {
                Entry::Vacant(place) => {
                    place.insert(history.rows.len());
                    history.rows.push(row);
                }
                Entry::Occupied(place) => {
                    if history.rows.get(*place.get()) != Some(&row) {
                        differing.push(said_twice(number, &row));
                    }
                }
            },
            Err(reason) => wrong.push(format!(
                "line {number} of {name} is no row, and is left out: {reason}"
            )),
        }
    }
    if wrong.len() > MOST_NOTES {
        wrong = vec![format!(
            "{} lines of {name} are no rows, and are left out; the first: {}",
            wrong.len(),
            wrong.first().cloned().unwrap_or_default()
        )];
    }
    history.notes.extend(wrong);
    if let Some(first) = differing.first() {
        history.notes.push(format!(
            "{} of {name} say again, and otherwise, what an earlier line says, which counts; the first is {first}. Take \
             out the wrong one of each two",
            match differing.len() {
                1 => "1 line".to_owned(),
                several => format!("{several} lines"),
            }
        ));
    }
    Ok(history)
}

fn said_twice(number: usize, row: &HistoryRow) -> String {
    let what = row.figure.as_ref();
    format!(
        "line {number}: {} of {} in {}",
        what.map_or(row.state.as_str(), |figure| &figure.column),
        row.cell.0,
        row.run.0
    )
}

/// That rows which are appended to this text can be read later: its columns are ours. A file that has rows of ours may
/// have anything else in it, which is told when it is read; so may one whose head was cut off while it was written.
fn refuse_other_columns(path: &Path, text: &str) -> Result<(), StoreError> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let Some(first) = lines.next() else {
        return Ok(());
    };
    let ours = head();
    let cut = first.strip_suffix(CUT_OFF.trim_end()).unwrap_or(first);
    let mut fields = Fields::new();
    let mut is_head = |line: &str| line == ours || parse(&fields.of(line)).is_ok();
    let is_other_head = first.starts_with("run,time") && first != ours;
    if ours.starts_with(cut) || (!is_other_head && (is_head(first) || lines.any(is_head))) {
        return Ok(());
    }
    Err(StoreError::Broken {
        path: path.to_owned(),
        line: Some(1),
        reason: format!(
            "its columns are not those of a history ({ours}), so nothing is added to it; use the hotlap that wrote it, or \
             move it away, and a new one is begun"
        ),
    })
}

/// Whether all of these rows are there.
pub fn has_history(path: &Path, rows: &[HistoryRow]) -> Result<bool, StoreError> {
    let known: HashSet<Key> = read_history(path)?.rows.iter().map(key).collect();
    Ok(rows.iter().all(|row| known.contains(&key(row))))
}

/// Appends those of the rows that are not there yet. Says whether there were any.
pub fn append_history(path: &Path, rows: &[HistoryRow]) -> Result<bool, StoreError> {
    let known: HashSet<Key> = read_history(path)?.rows.iter().map(key).collect();
    let new: Vec<&HistoryRow> = rows
        .iter()
        .filter(|row| !known.contains(&key(row)))
        .collect();
    if new.is_empty() {
        return Ok(false);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(StoreError::io("create the folder", folder))?;
    }
    let mut bytes = beginning(path)?.into_bytes();
    bytes.extend(lines(new).map_err(StoreError::io("write", path))?);
    append(path, &bytes)?;
    Ok(true)
}

/// A history as a file holds it, with its head, in order of time.
pub fn history_csv(rows: &[HistoryRow]) -> io::Result<Vec<u8>> {
    let mut sorted: Vec<&HistoryRow> = rows.iter().collect();
    // Rows of one run stay as they were written.
    sorted.sort_by_key(|row| (&row.time, &row.run));
    let mut bytes = format!("{}\n", head()).into_bytes();
    bytes.extend(lines(sorted)?);
    Ok(bytes)
}

fn lines<'a>(rows: impl IntoIterator<Item = &'a HistoryRow>) -> io::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::Any(b'\n'))
        .from_writer(Vec::new());
    for row in rows {
        writer.write_record(record(row))?;
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

/// What stands before the first row that is appended: the head of a new file, or the end of a line that was cut off.
fn beginning(path: &Path) -> Result<String, StoreError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other.map_err(StoreError::io("read", path))?,
    };
    refuse_other_columns(path, &String::from_utf8_lossy(&bytes))?;
    let head = format!("{}\n", head());
    Ok(match bytes.last() {
        None => head,
        Some(b'\n') => String::new(),
        Some(_) => CUT_OFF.to_owned(),
    })
}

fn head() -> String {
    HISTORY_COLUMNS.join(",")
}

/// What there is one row of.
type Key = (RunId, CellId, String);

fn key(row: &HistoryRow) -> Key {
    let column = row.figure.as_ref().map(|figure| figure.column.clone());
    (
        row.run.clone(),
        row.cell.clone(),
        column.unwrap_or_default(),
    )
}

fn record(row: &HistoryRow) -> [String; 13] {
    let figure = row.figure.as_ref();
    let of = |value: &dyn Fn(&HistoryFigure) -> Option<f64>| {
        figure
            .and_then(value)
            .map_or_else(String::new, |value| value.to_string())
    };
    let bounded = figure.is_some_and(|figure| figure.bounded);
    [
        text(&row.run.0),
        text(&row.time),
        text(row.revision.as_deref().unwrap_or_default()),
        text(row.machine.as_deref().unwrap_or_default()),
        text(&row.hotlap),
        text(&row.cell.0),
        text(&row.state),
        text(&short(&row.reason)),
        figure.map_or_else(String::new, |figure| figure.column.clone()),
        of(&|figure| Some(figure.median)),
        of(&|figure| figure.interval.map(|(low, _)| low)),
        of(&|figure| figure.interval.map(|(_, high)| high)),
        if bounded {
            AT_LEAST.to_owned()
        } else {
            String::new()
        },
    ]
}

/// A reason of bounded length.
fn short(reason: &str) -> String {
    if reason.chars().count() <= LONGEST_REASON {
        return reason.to_owned();
    }
    let kept: String = reason.chars().take(LONGEST_REASON).collect();
    format!("{kept}…")
}

/// Text in one line, since git merges by lines and each is a row.
fn text(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    guarded(&line)
}

/// Text that a spreadsheet would take for a formula gets an apostrophe in front.
fn guarded(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn plain(text: &str) -> String {
    let guarded = text.strip_prefix('\'');
    guarded
        .filter(|rest| rest.starts_with(['=', '+', '-', '@', '\t', '\r']))
        .unwrap_or(text)
        .to_owned()
}

/// The row of these fields of a line. Each line is a row of its own: no field has a line end in it.
fn parse(fields: &[&str]) -> Result<HistoryRow, String> {
    let first = fields.first().copied().unwrap_or_default();
    if CONFLICT.iter().any(|mark| first.starts_with(mark)) {
        return Err("git left it at a conflict; take such lines out, all rows may stay".to_owned());
    }
    if fields.len() != HISTORY_COLUMNS.len() {
        return Err(format!(
            "its fields are {} and not {}",
            fields.len(),
            HISTORY_COLUMNS.len()
        ));
    }
    let text = |at: usize| plain(fields.get(at).copied().unwrap_or_default());
    let some = |at: usize| Some(text(at)).filter(|text| !text.is_empty());
    let (run, time, cell) = (text(0), text(1), text(5));
    if run.is_empty() || time.is_empty() || cell.is_empty() {
        return Err("it names no run, time or cell".to_owned());
    }
    // Nights are put in order by the text, so it is that of UTC whatever was written.
    let time = match time.parse::<jiff::Timestamp>() {
        Ok(time) => time.to_string(),
        Err(_) => {
            return Err(format!(
                "{time:?} is no time; write it as 2026-11-30T19:05:00Z"
            ));
        }
    };
    Ok(HistoryRow {
        run: RunId(run),
        time,
        revision: some(2),
        machine: some(3),
        hotlap: text(4),
        cell: CellId(cell),
        state: text(6),
        reason: text(7),
        figure: figure(text(8), [text(9), text(10), text(11)], &text(12))?,
    })
}

fn figure(
    column: String,
    numbers: [String; 3],
    bound: &str,
) -> Result<Option<HistoryFigure>, String> {
    if !matches!(bound, "" | AT_LEAST) {
        return Err(format!("{bound:?} is no bound"));
    }
    let number = |text: &str| match text {
        "" => Ok(None),
        text => match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(Some(value)),
            _ => Err(format!("{text:?} is no figure")),
        },
    };
    let [median, low, high] = numbers.map(|text| number(&text));
    let (median, low, high) = (median?, low?, high?);
    if column.is_empty() {
        return Ok(None);
    }
    Ok(Some(HistoryFigure {
        median: median.ok_or_else(|| format!("{column} has no median"))?,
        interval: low.zip(high),
        bounded: bound == AT_LEAST,
        column,
    }))
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
