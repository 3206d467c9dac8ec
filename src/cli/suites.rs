//! From what was typed to suites: files and folders of files, the options that
//! narrow them, and the diagnostics of each.

use super::exit::Exit;
use super::revisions;
use super::terminal::{say, say_error, say_line, style};
use crate::diagnostic::{Diagnostic, Severity, SourceText, render};
use crate::generator;
use crate::plan::{self, Plan, PlanError};
use crate::server::files;
use crate::spec::{Cell, Spec};
use crate::suite::{self, Suite};
use crate::units::parse_duration;
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Which cells, and how often.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Selection {
    /// The profile of the suite to use
    #[arg(long, value_name = "NAME")]
    pub(super) profile: Option<String>,
    /// Only cells with this value: server=express, load=steady, workers=4; repeatable
    #[arg(long, value_name = "AXIS=VALUE", value_parser = pair)]
    pub(super) only: Vec<(String, String)>,
    /// No cells with this value; repeatable
    #[arg(long, value_name = "AXIS=VALUE", value_parser = pair)]
    pub(super) skip: Vec<(String, String)>,
    /// Trials of each cell, whatever the suite says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) repetitions: Option<u32>,
    /// Every load by this generator, whatever the suite says
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(generators()))]
    pub(super) generator: Option<String>,
    /// Fit the whole run into this time: every cell gives up the same share of its trials (30m, 8h)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
    /// The same suite at another revision too (a branch, a tag, a commit), with which the working tree is compared
    #[arg(long, value_name = "REV")]
    pub(super) compare_with: Option<String>,
    /// Where the shuffle of trials starts; a report names the one that it had
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
}

impl Selection {
    /// What makes a run another than that of the suite, as it was typed.
    pub(super) fn narrowing(&self) -> Vec<String> {
        let typed = |flag: &str, pairs: &[(String, String)]| -> Vec<String> {
            pairs
                .iter()
                .map(|(axis, value)| format!("{flag} {axis}={value}"))
                .collect()
        };
        let mut all = typed("--only", &self.only);
        all.extend(typed("--skip", &self.skip));
        all.extend(
            self.generator
                .iter()
                .map(|name| format!("--generator {name}")),
        );
        let compared = self.compare_with.iter();
        all.extend(compared.map(|typed| format!("--compare-with {}", shell_words::quote(typed))));
        all
    }

    pub(super) fn options(&self) -> plan::Options {
        plan::Options {
            profile: self.profile.clone(),
            only: self.only.clone(),
            skip: self.skip.clone(),
            repetitions: self.repetitions,
            generator: self.generator.clone(),
            budget: self.budget,
            seed: self.seed,
            commits: BTreeMap::new(),
            random_seed: fastrand::u64(1..1_000_000),
            // A variable that is not Unicode cannot be meant by a template.
            env: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
        }
    }
}

/// The load generators that there are.
fn generators() -> Vec<&'static str> {
    std::iter::once("built-in")
        .chain(generator::known())
        .collect()
}

/// A time of more than nothing.
fn duration(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    (!time.is_zero())
        .then_some(time)
        .ok_or_else(|| "it must be more than nothing".to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .filter(|(axis, value)| !axis.is_empty() && !value.is_empty())
        .map(|(axis, value)| (axis.to_owned(), value.to_owned()))
        .ok_or_else(|| "write an axis and its value: server=express".to_owned())
}

/// A suite that was read without an error.
pub(super) struct Read {
    /// The file as it was named.
    pub(super) path: PathBuf,
    /// Its text.
    pub(super) source: SourceText,
    /// What it means.
    pub(super) suite: Suite,
    /// Warnings that were shown.
    pub(super) warnings: usize,
    /// What was said of it.
    pub(super) said: Vec<String>,
}

/// A suite whose every cell is resolved.
pub(super) struct Planned {
    /// The suite.
    pub(super) read: Read,
    /// Its cells; what the machine lacks is not yet known.
    pub(super) spec: Spec,
}

/// The files that are meant: a folder is all of its suites.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Exit> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let mut found: Vec<PathBuf> = std::fs::read_dir(path)
            .map_err(|error| {
                say_error(&format!(
                    "cannot read the folder {}: {error}",
                    path.display()
                ));
                Exit::Usage
            })?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| {
                path.extension().is_some_and(|ending| ending == "toml") && path.is_file()
            })
            .collect();
        found.sort();
        if found.is_empty() {
            say_error(&format!(
                "there is no suite (*.toml) in the folder {}",
                path.display()
            ));
            return Err(Exit::Usage);
        }
        all.append(&mut found);
    }
    Ok(all)
}

/// Reads and resolves every suite. Each mistake of each file is shown; with one, nothing is returned.
pub(super) fn plan(paths: &[PathBuf], selection: &Selection) -> Result<Vec<Planned>, Exit> {
    let mut planned = Vec::new();
    let mut errors = Mistakes::default();
    for path in files(paths)? {
        let resolved =
            read_to_plan(&path, selection).and_then(|read| match resolve(&read, selection) {
                Ok(spec) => Ok(Planned { read, spec }),
                Err(wrong) => Err(wrong.show(&read.source)),
            });
        match resolved {
            Ok(suite) => planned.push(suite),
            Err(count) => errors += count,
        }
    }
    if !errors.any() {
        return Ok(planned);
    }
    errors.sum_up("; nothing was started");
    Err(Exit::Usage)
}

/// Reads one suite as it is to be planned: with the axis of `--compare-with`, where that was typed.
pub(super) fn read_to_plan(path: &Path, selection: &Selection) -> Result<Read, Mistakes> {
    let mut read = read(path)?;
    revisions::compare(&mut read, selection)?;
    Ok(read)
}

/// Reads one suite and shows what is wrong with it.
pub(super) fn read(path: &Path) -> Result<Read, Mistakes> {
    let (source, name, folder) = suite::read(path).map_err(|error| {
        say_error(&error.to_string());
        Mistakes::without_a_code(1)
    })?;
    let checked = suite::check(&source, &name, &folder);
    show(&source, &checked.diagnostics);
    let warnings = checked
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Warning)
        .count();
    match checked.suite {
        Some(suite) => Ok(Read {
            path: path.to_owned(),
            source,
            suite,
            warnings,
            said: checked
                .diagnostics
                .into_iter()
                .map(|diagnostic| diagnostic.message)
                .collect(),
        }),
        None => Err(Mistakes::of(&checked.diagnostics)),
    }
}

/// The mistakes that were shown: how many, and the kind of the first that has a code.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mistakes {
    count: usize,
    first: Option<&'static str>,
}

impl Mistakes {
    /// The errors among diagnostics of one file.
    fn of(diagnostics: &[Diagnostic]) -> Self {
        let errors = || {
            diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.severity == Severity::Error)
        };
        Self {
            count: errors().count(),
            first: errors()
                .min_by_key(|diagnostic| diagnostic.offset())
                .map(|diagnostic| diagnostic.code),
        }
    }

    /// Errors that are about no place in a suite.
    pub(super) fn without_a_code(count: usize) -> Self {
        Self { count, first: None }
    }

    /// Whether there is one.
    pub(super) fn any(self) -> bool {
        self.count > 0
    }

    /// Ends what is said of them: their number, with what follows from it, and where to read on.
    pub(super) fn sum_up(self, consequence: &str) {
        say_line(&format!("{}{consequence}", counted(self.count, "error")));
        if let Some(code) = self.first {
            say_line(&format!(
                "for more about an error, try `hotlap explain {code}`"
            ));
        }
    }
}

impl AddAssign for Mistakes {
    fn add_assign(&mut self, later: Self) {
        self.count += later.count;
        self.first = self.first.or(later.first);
    }
}

/// What is wrong with a suite beyond its single keys.
#[derive(Debug, Default)]
pub(super) struct Wrong {
    /// Mistakes with a place.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Others.
    pub(super) messages: Vec<String>,
}

impl Wrong {
    /// Shows it.
    pub(super) fn show(&self, source: &SourceText) -> Mistakes {
        show(source, &self.diagnostics);
        for message in &self.messages {
            say_error(message);
        }
        let mut mistakes = Mistakes::of(&self.diagnostics);
        mistakes += Mistakes::without_a_code(self.messages.len());
        mistakes
    }

    /// Adds what is not known yet.
    pub(super) fn merge(&mut self, other: Self) {
        for one in other.diagnostics {
            let same = |known: &Diagnostic| known.code == one.code && known.labels == one.labels;
            if !self.diagnostics.iter().any(same) {
                self.diagnostics.push(one);
            }
        }
        for message in other.messages {
            if !self.messages.contains(&message) {
                self.messages.push(message);
            }
        }
    }
}

/// Resolves every cell of a suite.
pub(super) fn resolve(read: &Read, selection: &Selection) -> Result<Spec, Wrong> {
    let mut cells = Vec::new();
    let mut options = selection.options();
    revisions::pin(read, &mut options);
    let mut looked = look(read, &options, |cell| cells.push(cell))?;
    looked.head.cells = cells;
    Ok(looked.head)
}

/// What is known of a suite whose cells have been looked at.
pub(super) struct Looked {
    /// The spec without its cells.
    pub(super) head: Spec,
    /// How many cells there are.
    pub(super) cells: usize,
    /// What is said of folders that are not there.
    pub(super) warnings: Vec<String>,
}

/// Makes each cell of a suite once, and says what is wrong with any.
pub(super) fn look(
    read: &Read,
    options: &plan::Options,
    mut each: impl FnMut(Cell),
) -> Result<Looked, Wrong> {
    let mut plan = Plan::new(&read.suite, options).map_err(|error| match error {
        PlanError::Suite(diagnostics) => Wrong {
            diagnostics,
            messages: Vec::new(),
        },
        PlanError::Option(message) => Wrong {
            diagnostics: Vec::new(),
            messages: vec![message],
        },
    })?;
    let mut disk = Disk::default();
    for cell in plan.cells() {
        disk.add(&cell);
        each(cell);
    }
    let head = plan.head();
    let mut messages = disk.missing_files(&read.suite.folder);
    messages.extend(files::problems(
        &disk.rendering,
        &head.services,
        &read.suite.folder,
    ));
    if plan.is_empty() {
        messages.push(format!(
            "--only and --skip leave no cell of the suite {}",
            head.suite
        ));
    }
    let looked = Looked {
        cells: plan.len(),
        warnings: disk.missing_folders(read),
        head,
    };
    if plan.mistakes.is_empty() && messages.is_empty() {
        return Ok(looked);
    }
    Err(Wrong {
        diagnostics: plan.mistakes,
        messages,
    })
}

/// What cells expect to lie in the suite's folder, each once.
#[derive(Debug, Default)]
struct Disk {
    /// Servers with the folders that they run in, and the files there that are rendered for them.
    servers: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// A cell for each such file.
    rendering: Vec<Cell>,
}

impl Disk {
    /// Notes what a cell expects.
    fn add(&mut self, cell: &Cell) {
        // What a revision has need not lie here.
        if cell.revision.is_some() {
            return;
        }
        let mut is_new = false;
        for process in &cell.processes {
            let Some(cwd) = process.cwd.as_literal() else {
                continue;
            };
            // Most cells expect what the ones before expected: nothing is copied for them.
            let known = self.servers.get_mut(&cell.server);
            let files = match known.and_then(|folders| folders.get_mut(cwd)) {
                Some(files) => files,
                None => self
                    .servers
                    .entry(cell.server.clone())
                    .or_default()
                    .entry(cwd.to_owned())
                    .or_default(),
            };
            for (_, source) in &process.files {
                if let Some(source) = source.as_literal()
                    && !files.contains(source)
                {
                    files.insert(source.to_owned());
                    is_new = true;
                }
            }
        }
        if is_new {
            self.rendering.push(cell.clone());
        }
    }

    fn folders(&self) -> impl Iterator<Item = (&str, &str, &BTreeSet<String>)> {
        self.servers.iter().flat_map(|(server, folders)| {
            folders
                .iter()
                .map(move |(cwd, files)| (server.as_str(), cwd.as_str(), files))
        })
    }

    /// Folders that are not there, but for those that were said when the suite was read.
    fn missing_folders(&self, read: &Read) -> Vec<String> {
        let folder = &read.suite.folder;
        self.folders()
            .filter(|(_, cwd, _)| !folder.join(cwd).is_dir())
            .filter(|(_, cwd, _)| !read.said.contains(&suite::no_folder(cwd)))
            .map(|(server, cwd, _)| {
                format!("the server `{server}` cannot run in {cwd}: there is no such folder")
            })
            .collect()
    }

    /// Files that are not there, though the folder is that they should be in.
    fn missing_files(&self, folder: &Path) -> Vec<String> {
        let there = self
            .folders()
            .filter(|(_, cwd, _)| folder.join(cwd).is_dir());
        there
            .flat_map(|(server, cwd, files)| {
                files
                    .iter()
                    .filter(move |file| !folder.join(cwd).join(file).is_file())
                    .map(move |file| {
                        format!("`files` of the server `{server}` name {file}, and there is no such file in {cwd}")
                    })
            })
            .collect()
    }
}

fn show(source: &SourceText, diagnostics: &[Diagnostic]) {
    say(&render(source, diagnostics, style()));
}

/// `1 error`, `2 errors`.
pub(super) fn counted(number: usize, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}
