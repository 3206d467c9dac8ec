//! From a suite to what is to be done. `matrix` multiplies servers, toggles and
//! loads into the names of cells, `expand` renders each cell into the spec,
//! `schedule` puts the trials in order. Pure: the same suite, options and
//! environment give the same plan.

mod expand;
mod finish;
mod matrix;
mod render;
mod schedule;
mod tools;

pub use schedule::{estimate, schedule};

use crate::diagnostic::Diagnostic;
use crate::spec::{Axis, Order, RunSettings, Spec};
use crate::suite::{self, Profile, Run, Suite};
use std::collections::BTreeMap;
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
    /// The seed, whatever the suite says.
    pub seed: Option<u64>,
    /// The seed where nobody gives one.
    pub random_seed: u64,
    /// The caller's environment, for `{{ env.NAME }}`.
    pub env: BTreeMap<String, String>,
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
    let profile = profile(suite, options)?;
    matrix::check_options(suite, options).map_err(PlanError::Option)?;
    let run = profile.map_or_else(
        || suite.run.clone(),
        |profile| suite.run.overlaid(&profile.run),
    );
    let names = matrix::cells(suite, profile, &run, options).map_err(PlanError::Suite)?;
    let mut cells =
        expand::cells(suite, profile, &run, options, &names).map_err(PlanError::Suite)?;
    matrix::baselines(suite, &run, &names, &mut cells);
    Ok(Spec {
        suite: suite.name.clone(),
        title: suite.title.clone(),
        description: suite.description.clone(),
        profile: profile.map(|profile| profile.name.clone()),
        run: settings(&run, options),
        axes: axes(suite),
        cells,
    })
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
    RunSettings {
        repetitions: options.repetitions.unwrap_or_else(|| finish::trials(run)),
        order: match run.order {
            None | Some(suite::Order::Shuffled) => Order::Shuffled,
            Some(suite::Order::Sequential) => Order::Sequential,
            Some(suite::Order::Random) => Order::Random,
        },
        seed: options.seed.or(run.seed).unwrap_or(options.random_seed),
        cooldown: run.cooldown.unwrap_or(Duration::from_secs(1)),
        rest: run.rest.unwrap_or(Duration::from_secs(5)),
        sample_interval: run.sample_interval.unwrap_or(Duration::from_millis(100)),
        max_errors: run.max_errors.unwrap_or(0.001),
        allow_public: run.allow_public.unwrap_or(false),
    }
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
