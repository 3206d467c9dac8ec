//! The matrix: which combinations of servers, values of toggles and loads are
//! cells, as coordinates. What is excluded is taken out, what is included is added,
//! and each cell finds the one that it is compared with.

use super::axes::{Names, Positions, applies, ends, positions, upto};
use super::{Options, figure};
use crate::diagnostic::Diagnostic;
use crate::suite::{self, At, Combine, Profile, Run, Selector, Suite};
use std::collections::BTreeSet;

/// Where a cell lies: the position of its server, of each toggle's value, of its load. A toggle
/// that does not apply is at 0. Their order is the order of the file.
type Coordinates = Box<[u32]>;

/// The cells of a suite, none of them resolved.
pub(super) struct Matrix<'a> {
    suite: &'a Suite,
    /// For each server and load, which toggles apply.
    applies: Vec<Vec<bool>>,
    cells: Vec<Coordinates>,
}

/// More cells than this are a mistake: at a second each they would run for a day.
const MOST_CELLS: usize = 100_000;

impl<'a> Matrix<'a> {
    /// Every cell that is neither excluded nor deselected, in file order.
    pub(super) fn new(
        suite: &'a Suite,
        profile: Option<&'a Profile>,
        run: &Run,
        options: &Options,
        figures: &figure::Figures<'a>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let mut matrix = Self {
            suite,
            applies: applies(suite),
            cells: Vec::new(),
        };
        let mut useless = Vec::new();
        matrix.combine(profile, run)?;
        matrix.exclude(profile, &mut useless);
        matrix.include(profile, run, &mut useless)?;
        if matrix.cells.is_empty() {
            return Err(vec![nothing_left(suite, profile)]);
        }
        matrix.useless(profile, run, figures, &mut useless);
        if !useless.is_empty() {
            return Err(useless);
        }
        matrix.compare()?;
        matrix.select(options);
        Ok(matrix)
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    /// The parts of one cell.
    pub(super) fn names(&self, cell: usize) -> Names<'a> {
        self.at(&self.cells[cell])
    }

    fn at(&self, cell: &[u32]) -> Names<'a> {
        let (server, load) = ends(cell);
        let applies = self.applies(server, load);
        let toggles = self
            .suite
            .toggles
            .iter()
            .zip(&cell[1..])
            .zip(applies)
            .filter(|(_, applies)| **applies)
            .map(|((toggle, value), _)| (toggle, &toggle.values[*value as usize]))
            .collect();
        Names {
            server: &self.suite.servers[server],
            toggles,
            load: &self.suite.loads[load],
        }
    }

    fn applies(&self, server: usize, load: usize) -> &[bool] {
        &self.applies[server * self.suite.loads.len() + load]
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let loads = self.suite.loads.len();
        (0..self.suite.servers.len())
            .flat_map(move |server| (0..loads).map(move |load| (server, load)))
    }

    /// The cells that `combine` gives.
    fn combine(&mut self, profile: Option<&Profile>, run: &Run) -> Result<(), Vec<Diagnostic>> {
        let suite = self.suite;
        let own = profile.and_then(|profile| profile.matrix.combine.as_ref());
        let combine = own
            .or(suite.matrix.combine.as_ref())
            .map_or(Combine::All, |combine| combine.value);
        let baseline = Positions::of(suite, run);
        for (server, load) in self.pairs().collect::<Vec<_>>() {
            let applies = self.applies(server, load).to_vec();
            let all = suite.toggles.iter().zip(&applies);
            match combine {
                Combine::Listed => {}
                Combine::All => {
                    let values: Vec<Vec<u32>> = all
                        .map(|(toggle, applies)| {
                            if *applies && !toggle.is_comparison {
                                upto(toggle.values.len())
                            } else {
                                vec![0]
                            }
                        })
                        .collect();
                    self.product(server, load, &values)?;
                }
                Combine::OneAtATime => {
                    let base: Vec<u32> = baseline
                        .toggles
                        .iter()
                        .zip(&applies)
                        .map(|(at, applies)| if *applies { *at } else { 0 })
                        .collect();
                    self.push(server, load, &base)?;
                    let own = all
                        .enumerate()
                        .filter(|(_, (toggle, _))| !toggle.is_comparison);
                    for (at, (toggle, applies)) in own {
                        for value in upto(if *applies { toggle.values.len() } else { 0 }) {
                            if value != base[at] {
                                let mut departure = base.clone();
                                departure[at] = value;
                                self.push(server, load, &departure)?;
                            }
                        }
                    }
                }
            }
        }
        self.cells.sort();
        Ok(())
    }

    /// Makes each cell with each value of the axis that is there for a comparison.
    fn compare(&mut self) -> Result<(), Vec<Diagnostic>> {
        let suite = self.suite;
        for (at, toggle) in suite.toggles.iter().enumerate() {
            if !toggle.is_comparison {
                continue;
            }
            for cell in std::mem::take(&mut self.cells) {
                let (server, load) = ends(&cell);
                let applies = self.applies(server, load)[at];
                let mut toggles = cell[1..=suite.toggles.len()].to_vec();
                for value in upto(if applies { toggle.values.len() } else { 1 }) {
                    toggles[at] = value;
                    self.push(server, load, &toggles)?;
                }
            }
        }
        self.cells.sort();
        Ok(())
    }

    /// Adds each combination of these values of toggles.
    fn product(
        &mut self,
        server: usize,
        load: usize,
        values: &[Vec<u32>],
    ) -> Result<(), Vec<Diagnostic>> {
        let count = values
            .iter()
            .fold(1usize, |count, values| count.saturating_mul(values.len()));
        if self.cells.len().saturating_add(count) > MOST_CELLS {
            return Err(vec![self.too_many()]);
        }
        let mut at = vec![0; values.len()];
        for _ in 0..count {
            let toggles: Vec<u32> = values
                .iter()
                .zip(&at)
                .map(|(values, at)| values[*at])
                .collect();
            self.push(server, load, &toggles)?;
            // The last toggle turns fastest.
            for (position, values) in at.iter_mut().zip(values).rev() {
                *position += 1;
                if *position < values.len() {
                    break;
                }
                *position = 0;
            }
        }
        Ok(())
    }

    fn push(&mut self, server: usize, load: usize, toggles: &[u32]) -> Result<(), Vec<Diagnostic>> {
        if self.cells.len() == MOST_CELLS {
            return Err(vec![self.too_many()]);
        }
        let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let ends = (position(server), position(load));
        let cell = std::iter::once(ends.0)
            .chain(toggles.iter().copied())
            .chain(std::iter::once(ends.1));
        self.cells.push(cell.collect());
        Ok(())
    }

    fn too_many(&self) -> Diagnostic {
        let span = self
            .suite
            .toggles
            .last()
            .map_or(0..0, |toggle| toggle.name.span.clone());
        Diagnostic::error(
            suite::BAD_VALUE,
            format!("servers, toggles and loads multiply to more than {MOST_CELLS} cells"),
            span,
        )
        .help("give toggles fewer values, or only to some servers or loads, or combine = \"one-at-a-time\"")
    }

    /// Takes out what is excluded. Excludes may overlap; each must exclude something of the whole.
    fn exclude(&mut self, profile: Option<&Profile>, useless: &mut Vec<Diagnostic>) {
        let of_suite = &self.suite.matrix.exclude;
        let of_profile = profile.map_or(&[][..], |profile| &profile.matrix.exclude);
        // Where a profile combines in its own way, the suite's need not fit that.
        let recombined = profile.is_some_and(|profile| profile.matrix.combine.is_some());
        let judged = if recombined { &[][..] } else { of_suite };
        let nothing = |exclude: &&At<Selector>| {
            let wanted = self.compiled(&exclude.value);
            !self.cells.iter().any(|cell| self.has(cell, &wanted))
        };
        useless.extend(
            judged
                .iter()
                .chain(of_profile)
                .filter(nothing)
                .map(|exclude| matches_nothing("this excludes nothing", exclude)),
        );
        let excludes: Vec<Wanted> = of_suite
            .iter()
            .chain(of_profile)
            .map(|exclude| self.compiled(&exclude.value))
            .collect();
        let mut cells = std::mem::take(&mut self.cells);
        cells.retain(|cell| !excludes.iter().any(|wanted| self.has(cell, wanted)));
        self.cells = cells;
    }

    /// Adds the cells of `include`. What a selector does not name is as in the baseline, else the first;
    /// but every load.
    fn include(
        &mut self,
        profile: Option<&Profile>,
        run: &Run,
        useless: &mut Vec<Diagnostic>,
    ) -> Result<(), Vec<Diagnostic>> {
        let suite = self.suite;
        let includes = profile
            .map(|profile| &profile.matrix)
            .filter(|matrix| matrix.combine.is_some() || !matrix.include.is_empty())
            .map_or(&suite.matrix.include, |matrix| &matrix.include);
        let baseline = Positions::of(suite, run);
        let mut known: BTreeSet<Coordinates> = BTreeSet::new();
        if !includes.is_empty() {
            known.extend(self.cells.iter().cloned());
        }
        for include in includes {
            let selector = &include.value;
            let first = self.cells.len();
            let loads = self
                .values("load", selector)
                .unwrap_or_else(|| upto(suite.loads.len()));
            let servers = self
                .values("server", selector)
                .unwrap_or_else(|| vec![baseline.server]);
            for server in &servers {
                for load in &loads {
                    let (server, load) = (*server as usize, *load as usize);
                    if let Some(values) = self.included(server, load, selector, &baseline) {
                        self.product(server, load, &values)?;
                    }
                }
            }
            let found = self.cells.len() > first;
            let mut added = self.cells.split_off(first);
            added.retain(|cell| known.insert(cell.clone()));
            if !found {
                useless.push(matches_nothing("this includes nothing", include));
            } else if added.is_empty() {
                useless.push(
                    Diagnostic::error(
                        suite::NO_EFFECT,
                        "this includes nothing that is not there already",
                        include.span.clone(),
                    )
                    .help("take it out; `combine` gives these cells already"),
                );
            }
            self.cells.append(&mut added);
        }
        self.cells.sort();
        Ok(())
    }

    /// The values of toggles that an include means for a server and a load; none where it names a toggle
    /// that does not apply there.
    fn included(
        &self,
        server: usize,
        load: usize,
        selector: &Selector,
        baseline: &Positions,
    ) -> Option<Vec<Vec<u32>>> {
        let applies = self.applies(server, load);
        self.suite
            .toggles
            .iter()
            .zip(applies)
            .zip(&baseline.toggles)
            .map(|((toggle, applies), base)| {
                match (self.values(&toggle.name.value, selector), applies) {
                    (Some(values), true) => Some(values),
                    (Some(_), false) => None,
                    (None, true) => Some(vec![*base]),
                    (None, false) => Some(vec![0]),
                }
            })
            .collect()
    }

    /// The positions of an axis's values that a selector names.
    fn values(&self, axis: &str, selector: &Selector) -> Option<Vec<u32>> {
        let names = selector.axis(axis)?;
        Some(positions(self.suite, axis, names))
    }

    /// Selectors and rows that no cell answers to.
    fn useless(
        &self,
        profile: Option<&Profile>,
        run: &Run,
        figures: &figure::Figures<'a>,
        useless: &mut Vec<Diagnostic>,
    ) {
        let none = |selector: &At<Selector>| {
            let wanted = self.compiled(&selector.value);
            !self.cells.iter().any(|cell| self.has(cell, &wanted))
        };
        let overrides = self
            .suite
            .overrides
            .iter()
            .filter_map(|one| one.when.as_ref());
        // A profile may well leave out what overrides, gates and published rows are about.
        if profile.is_none() {
            useless.extend(
                overrides
                    .filter(|when| none(when))
                    .map(|when| matches_nothing("this override changes nothing", when)),
            );
            let gates = self
                .suite
                .gates
                .iter()
                .filter_map(|gate| gate.cells.as_ref());
            useless.extend(
                gates
                    .filter(|cells| none(cells))
                    .map(|cells| matches_nothing("this gate holds no cell", cells)),
            );
            useless.extend(
                figures
                    .without_cell(self)
                    .map(|row| matches_nothing("these figures stand beside no cell", &row.cell)),
            );
        }
        useless.extend(self.missing_baseline(run));
    }

    /// A baseline that no cell of the whole matrix is.
    fn missing_baseline(&self, run: &Run) -> Option<Diagnostic> {
        let baseline = run.baseline.as_ref()?;
        let positions = Positions::of(self.suite, run);
        let exists = (0..self.len()).any(|cell| self.baseline(&positions, cell).is_some());
        (!exists).then(|| {
            Diagnostic::error(
                suite::NO_CELLS,
                "no cell is this baseline",
                baseline.span.clone(),
            )
            .help("it is excluded, or a toggle does not apply to this server")
        })
    }

    /// `--only` and `--skip`: several values of one axis are alternatives.
    fn select(&mut self, options: &Options) {
        if options.only.is_empty() && options.skip.is_empty() {
            return;
        }
        let mut only = Selector::default();
        for (axis, value) in &options.only {
            match only.axes.iter_mut().find(|(known, _)| known == axis) {
                Some((_, values)) => values.push(value.clone()),
                None => only.axes.push((axis.clone(), vec![value.clone()])),
            }
        }
        let only = self.compiled(&only);
        let skip: Vec<Wanted> = options
            .skip
            .iter()
            .map(|(axis, value)| {
                self.compiled(&Selector {
                    axes: vec![(axis.clone(), vec![value.clone()])],
                })
            })
            .collect();
        let mut cells = std::mem::take(&mut self.cells);
        cells.retain(|cell| self.has(cell, &only) && !skip.iter().any(|skip| self.has(cell, skip)));
        self.cells = cells;
    }

    /// The cell that another is compared with: the one that differs from it only in the axes that
    /// `baseline` names (by default, the first server with the first values, under the same load).
    pub(super) fn baseline(&self, baseline: &Positions, cell: usize) -> Option<usize> {
        let cell = &self.cells[cell];
        let (server, load) = ends(cell);
        let own = self.applies(server, load);
        let server = if baseline.names_server {
            baseline.server as usize
        } else {
            server
        };
        let load = baseline.load.map_or(load, |load| load as usize);
        let mut wanted: Coordinates = cell.clone();
        wanted[0] = u32::try_from(server).ok()?;
        *wanted.last_mut()? = u32::try_from(load).ok()?;
        for (at, applies) in self.applies(server, load).iter().enumerate() {
            wanted[at + 1] = match (applies, baseline.named[at], own[at]) {
                (false, ..) => 0,
                (true, false, true) => cell[at + 1],
                (true, ..) => baseline.toggles[at],
            };
        }
        self.cells.binary_search(&wanted).ok()
    }

    /// A selector by positions.
    fn compiled(&self, selector: &Selector) -> Wanted {
        let axes = selector.axes.iter().filter_map(|(axis, names)| {
            let at = match axis.as_str() {
                "server" => 0,
                "load" => self.suite.toggles.len() + 1,
                _ => {
                    let mut toggles = self.suite.toggles.iter();
                    toggles.position(|toggle| toggle.name.value == *axis)? + 1
                }
            };
            Some((at, positions(self.suite, axis, names)))
        });
        axes.collect()
    }

    fn has(&self, cell: &[u32], wanted: &Wanted) -> bool {
        let (server, load) = ends(cell);
        let applies = self.applies(server, load);
        wanted.iter().all(|(at, values)| {
            let there = *at == 0 || *at > applies.len() || applies[at - 1];
            there && values.contains(&cell[*at])
        })
    }

    /// Whether a cell has exactly these values, where their toggles apply.
    pub(super) fn any_is(&self, is: impl Fn(&Names<'a>) -> bool) -> bool {
        (0..self.len()).any(|cell| is(&self.names(cell)))
    }
}

/// Axes by position, each with the positions of values that match.
type Wanted = Vec<(usize, Vec<u32>)>;

fn nothing_left(suite: &Suite, profile: Option<&Profile>) -> Diagnostic {
    let place = |matrix: &suite::Matrix| {
        let exclude = matrix.exclude.last().map(|exclude| exclude.span.clone());
        exclude.or(matrix.combine.as_ref().map(|combine| combine.span.clone()))
    };
    let span = profile
        .and_then(|profile| place(&profile.matrix))
        .or(place(&suite.matrix))
        .unwrap_or_default();
    Diagnostic::error(suite::NO_CELLS, "no cell is left to measure", span)
        .help("[matrix] takes out all that there is, or lists nothing in `include`")
}

fn matches_nothing(message: &str, selector: &At<Selector>) -> Diagnostic {
    Diagnostic::error(suite::NO_CELLS, message, selector.span.clone())
        .help("no cell has all of these values; a toggle may not apply to this server or load")
}
