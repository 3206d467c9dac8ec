//! Plots of a run, each an SVG: what a page shows below its tables. Which cells, panels and values
//! a plot has is decided here, with its words for those who cannot see it; its shapes are a
//! `scene`, whose markup is a template.

mod heat;
mod history;
mod label;
mod latency;
mod lines;
mod memory;
mod nights;
mod scale;
mod scene;
mod throughput;

pub use history::{HistorySeries, Mark, Night, history};

use super::naming::Naming;
use super::{Input, ReportError};
use crate::stats::{CellSummary, Series};
use scene::Scene;
use schemars::JsonSchema;
use serde::Serialize;

/// The folder of plots beside a report.
pub const FOLDER: &str = "plots";

/// A plot as templates see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Plot {
    /// Where it is, from the report on: `plots/throughput.svg`, with the profile's name in front of the file's where
    /// there is one, since the reports of several profiles share a folder.
    pub path: String,
    /// Its file's name in the folder of the run.
    #[serde(skip)]
    pub file_name: String,
    /// What it shows.
    pub title: String,
    /// The same with its extremes, in a sentence, for those who do not see it.
    pub alt: String,
    #[serde(skip)]
    scene: Scene,
}

impl Plot {
    fn new(drawing: Drawing, profile: Option<&str>) -> Self {
        let Drawing { scene, alt } = drawing;
        let prefix = profile.map_or_else(String::new, |profile| format!("{profile}."));
        let path = format!("{FOLDER}/{prefix}{}.svg", scene.name);
        Self {
            file_name: path.clone(),
            path,
            title: scene.title.clone(),
            alt,
            scene,
        }
    }

    /// The SVG as a file of its own.
    pub fn svg(&self) -> Result<String, ReportError> {
        self.scene.file()
    }

    /// The SVG as a part of an HTML page, which has the plots' style once for all.
    pub(super) fn inline(&self) -> Result<String, ReportError> {
        self.scene.inline()
    }
}

/// What a file of this room gives: a drawing, and its sentence.
struct Drawing {
    scene: Scene,
    alt: String,
}

/// Every plot that these records have figures for, in the order of the report.
pub(super) fn all(
    input: &Input<'_>,
    naming: &Naming<'_>,
    cells: &[CellSummary<'_>],
    nights: &[Series],
) -> Vec<Plot> {
    let spec = &input.run.spec;
    let mut drawings = Vec::new();
    drawings.extend(throughput::draw(spec, naming, cells));
    drawings.extend(latency::draw(naming, cells));
    drawings.extend(memory::draw(naming, cells, input.readings));
    drawings.extend(heat::draw(spec, cells));
    let profile = spec.profile.as_deref();
    let plots = drawings.into_iter();
    let plots = plots.map(|drawing| Plot::new(drawing, profile));
    plots
        .chain(history(&nights::panels(input, naming, nights), profile))
        .collect()
}

/// `name` and `name`, each load once, in the order of the cells.
fn loads<'a>(cells: &[&CellSummary<'a>]) -> Vec<&'a str> {
    let mut loads = Vec::new();
    for cell in cells {
        if !loads.contains(&cell.cell.load.as_str()) {
            loads.push(cell.cell.load.as_str());
        }
    }
    loads
}
