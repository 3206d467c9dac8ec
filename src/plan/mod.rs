//! From a suite to what is to be done. `matrix` multiplies servers, toggles and
//! loads into coordinates, `draft` finds which layer's keys hold in a cell,
//! `expand` renders them into the spec, `schedule` puts the trials in order. Pure: the same suite, options and
//! environment give the same plan.

mod allot;
mod axes;
mod base;
mod draft;
mod expand;
mod figure;
mod identity;
mod lay;
mod matrix;
mod parts;
mod process;
mod render;
mod schedule;
mod tools;
mod work;

pub use allot::{Demand, allot};
pub use schedule::{Turn, estimate, estimate_pilot, further, one_round, order, schedule};

use crate::diagnostic::Diagnostic;
use crate::ids::CellId;
use crate::spec::{Axis, Cell, CpuShares, Order, RunSettings, Spec};
use crate::suite::{self, Profile, Repetitions, Run, Suite};
use axes::Positions;
use base::Base;
use expand::Common;
use figure::Figures;
use matrix::Matrix;
use render::Renderer;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::time::Duration;

/// What the caller adds to a suite.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The profile; none is the default.
    pub profile: Option<String>,
    /// Axes and values that a cell must have (`--only`).
    pub only: Vec<(String, String)>,
    /// Axes and values that a cell must not have (`--skip`).
    pub skip: Vec<(String, String)>,
    /// Trials of every cell, whatever the suite says.
    pub repetitions: Option<u32>,
    /// The load generator of every cell, whatever the suite says.
    pub generator: Option<String>,
    /// The time that the whole run may take, whatever the suite says.
    pub budget: Option<Duration>,
    /// The seed, whatever the suite says.
    pub seed: Option<u64>,
    /// The seed where nobody gives one.
    pub random_seed: u64,
    /// The caller's environment, for `{{ env.NAME }}`.
    pub env: BTreeMap<String, String>,
    /// The full commits of revisions, by what a cell's [`Cell::revision`] shows as text; that of the working tree, by
    /// `worktree`. A revision that is not among them has no commit yet.
    pub commits: BTreeMap<String, String>,
}

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanError {
    /// The suite is wrong; each mistake has its place.
    Suite(Vec<Diagnostic>),
    /// An option names something that the suite does not have.
    Option(String),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suite(diagnostics) => write!(f, "the suite has {} errors", diagnostics.len()),
            Self::Option(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for PlanError {}

/// Resolves every cell of a suite.
pub fn spec(suite: &Suite, options: &Options) -> Result<Spec, PlanError> {
    let mut plan = Plan::new(suite, options)?;
    let cells: Vec<Cell> = plan.cells().collect();
    let mut spec = plan.head();
    if plan.mistakes.is_empty() {
        spec.cells = cells;
        Ok(spec)
    } else {
        Err(PlanError::Suite(plan.mistakes))
    }
}

/// A suite's cells, resolved one at a time: a plan of many cells takes no more memory than
/// their coordinates.
pub struct Plan<'a> {
    suite: &'a Suite,
    profile: Option<&'a Profile>,
    run: Run,
    options: &'a Options,
    figures: Figures<'a>,
    matrix: Matrix<'a>,
    renderer: Renderer<'a>,
    base: Base,
    /// The cell that each is compared with, by positions.
    baselines: Vec<Option<u32>>,
    /// The ids of cells that others are compared with, once they are known.
    ids: HashMap<usize, CellId>,
    /// What was found wrong so far, each once.
    pub mistakes: Vec<Diagnostic>,
    /// The same, to find it again.
    told: HashSet<String>,
}

impl<'a> Plan<'a> {
    /// Finds the cells of a suite. What is wrong with single cells is found as they are made.
    pub fn new(suite: &'a Suite, options: &'a Options) -> Result<Self, PlanError> {
        let profile = profile(suite, options)?;
        axes::check_options(suite, options).map_err(PlanError::Option)?;
        let run = profile.map_or_else(
            || suite.run.clone(),
            |profile| suite.run.overlaid(&profile.run),
        );
        let figures = Figures::new(suite, &run);
        let matrix =
            Matrix::new(suite, profile, &run, options, &figures).map_err(PlanError::Suite)?;
        let positions = Positions::compared(suite, &run);
        let baselines = (0..matrix.len())
            .map(|cell| {
                let baseline = matrix.baseline(&positions, cell)?;
                u32::try_from(baseline).ok().filter(|_| baseline != cell)
            })
            .collect();
        let mut renderer = Renderer::new(&options.env, suite);
        let mut mistakes = Vec::new();
        let base = base::of(suite, &mut renderer, &mut mistakes);
        Ok(Self {
            suite,
            profile,
            run,
            options,
            figures,
            matrix,
            renderer,
            base,
            baselines,
            ids: HashMap::new(),
            mistakes,
            told: HashSet::new(),
        })
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.matrix.len()
    }

    /// Whether `--only` and `--skip` left none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a cell is called, without its hash: `node/compression=on@steady`.
    pub fn name(&self, cell: usize) -> String {
        identity::name(&self.matrix.names(cell))
    }

    /// For each cell, whether another is compared with it.
    pub fn compared_with(&self) -> Vec<bool> {
        let mut is_baseline = vec![false; self.len()];
        for baseline in self.baselines.iter().flatten() {
            is_baseline[*baseline as usize] = true;
        }
        is_baseline
    }

    /// The cells, in the order of the file. What is wrong with one is added to `mistakes`.
    pub fn cells(&mut self) -> impl Iterator<Item = Cell> {
        let is_baseline = self.compared_with();
        (0..self.len()).map(move |at| {
            let mut cell = self.cell(at);
            if is_baseline[at] {
                self.ids.entry(at).or_insert_with(|| cell.id.clone());
            }
            cell.baseline = self.baselines[at].map(|baseline| self.id(baseline as usize));
            cell
        })
    }

    fn id(&mut self, at: usize) -> CellId {
        if let Some(id) = self.ids.get(&at) {
            return id.clone();
        }
        let id = self.cell(at).id;
        self.ids.insert(at, id.clone());
        id
    }

    fn cell(&mut self, at: usize) -> Cell {
        let common = Common {
            suite: self.suite,
            profile: self.profile,
            run: &self.run,
            options: self.options,
            figures: &self.figures,
            base: &self.base,
        };
        let (cell, mistakes) = expand::cell(common, &self.matrix.names(at), &mut self.renderer);
        // The same mistake shows in many cells; it is said of the first. What cannot be rendered names its cell.
        for mistake in mistakes {
            let message = if mistake.code == suite::BAD_TEMPLATE {
                ""
            } else {
                &mistake.message
            };
            if self
                .told
                .insert(format!("{}{message}{:?}", mistake.code, mistake.labels))
            {
                self.mistakes.push(mistake);
            }
        }
        cell
    }

    /// Everything of the spec but its cells.
    pub fn head(&self) -> Spec {
        let suite = self.suite;
        Spec {
            suite: suite.name.clone(),
            title: suite.title.clone(),
            description: suite.description.clone(),
            profile: self.profile.map(|profile| profile.name.clone()),
            run: settings(&self.run, self.options),
            axes: axes(suite),
            runtimes: self.base.runtimes.clone(),
            services: self.base.services.clone(),
            published: self.base.published.clone(),
            cells: Vec::new(),
        }
    }
}

fn profile<'a>(suite: &'a Suite, options: &Options) -> Result<Option<&'a Profile>, PlanError> {
    let Some(name) = &options.profile else {
        return Ok(None);
    };
    let found = suite.profiles.iter().find(|profile| profile.name == *name);
    found.map(Some).ok_or_else(|| {
        let known: Vec<&str> = suite
            .profiles
            .iter()
            .map(|profile| profile.name.as_str())
            .collect();
        PlanError::Option(format!(
            "the suite {} has no profile `{name}`; {}",
            suite.name,
            one_of(&known)
        ))
    })
}

/// "there is …", for messages.
fn one_of(known: &[&str]) -> String {
    if known.is_empty() {
        "it has none".to_owned()
    } else {
        format!("it has {}", known.join(", "))
    }
}

fn settings(run: &Run, options: &Options) -> RunSettings {
    let default = RunSettings::default();
    RunSettings {
        repetitions: options.repetitions.unwrap_or_else(|| work::trials(run)),
        order: match run.order {
            None => default.order,
            Some(suite::Order::Shuffled) => Order::Shuffled,
            Some(suite::Order::Sequential) => Order::Sequential,
            Some(suite::Order::Random) => Order::Random,
        },
        seed: options.seed.or(run.seed).unwrap_or(options.random_seed),
        cooldown: run.cooldown.unwrap_or(default.cooldown),
        rest: run.rest.unwrap_or(default.rest),
        sample_interval: run.sample_interval.unwrap_or(default.sample_interval),
        max_errors: run.max_errors.unwrap_or(default.max_errors),
        allow_public: run.allow_public.unwrap_or(default.allow_public),
        auto: options.repetitions.is_none() && run.repetitions == Some(Repetitions::Auto),
        target: run.target.unwrap_or(default.target),
        min_effect: run.min_effect.unwrap_or(default.min_effect),
        max_warmup: run.max_warmup.unwrap_or(default.max_warmup),
        budget: options.budget.or(run.budget),
        cpus: cpus(run),
    }
}

fn cpus(run: &Run) -> Option<CpuShares> {
    run.cpus.map(|cpus| CpuShares {
        server: cpus.server,
        generator: cpus.generator,
    })
}

fn axes(suite: &Suite) -> Vec<Axis> {
    let servers = suite
        .servers
        .iter()
        .map(|server| (server.name.value.clone(), server.label.clone()))
        .collect();
    let toggles = suite.toggles.iter().map(|toggle| Axis {
        name: toggle.name.value.clone(),
        values: toggle
            .values
            .iter()
            .map(|value| (value.name.value.clone(), value.label.clone()))
            .collect(),
    });
    let loads = suite
        .loads
        .iter()
        .map(|load| (load.name.value.clone(), load.label.clone()))
        .collect();
    let axis = |name: &str, values| Axis {
        name: name.to_owned(),
        values,
    };
    std::iter::once(axis("server", servers))
        .chain(toggles)
        .chain(std::iter::once(axis("load", loads)))
        .collect()
}
