//! What is found in a run's records before anything is said of it: done once for all reports, since comparing ten thousand cells takes
//! its time.

use super::Input;
use super::gate;
use super::growth::Growths;
use crate::ids::CellId;
use crate::stats::{CellSummary, Comparison, Judgement, comparisons};
use std::collections::{HashMap, HashSet};

/// A run's cells with what is known of them together.
pub(super) struct Found<'r, 'a> {
    /// The cells, in file order.
    pub(super) cells: &'r [CellSummary<'a>],
    /// Each measured cell beside its baseline.
    pub(super) compared: Vec<Comparison<'r, 'a>>,
    /// How the memory of each changes.
    pub(super) growths: Growths<'a>,
    /// Every gate, judged.
    pub(super) judged: Vec<Judgement<'r, 'a>>,
    places: HashMap<&'r CellId, usize>,
    gated: HashSet<&'r CellId>,
    fallen: HashSet<&'r CellId>,
}

impl<'r, 'a> Found<'r, 'a> {
    pub(super) fn of(input: &Input<'a>, cells: &'r [CellSummary<'a>]) -> Self {
        let compared = comparisons(input.run, cells);
        let judged = gate::judged(input, cells);
        let all = compared.iter().enumerate();
        let places = all.map(|(at, one)| (&one.of.cell.id, at)).collect();
        let gated = judged.iter().map(|gate| &gate.cell.cell.id).collect();
        let fallen = judged.iter().filter(|gate| gate.fell());
        let fallen = fallen.map(|gate| &gate.cell.cell.id).collect();
        Self {
            cells,
            growths: Growths::of(cells, input.readings),
            compared,
            judged,
            places,
            gated,
            fallen,
        }
    }

    /// What a cell is beside its baseline.
    pub(super) fn comparison(&self, cell: &CellSummary<'_>) -> Option<&Comparison<'r, 'a>> {
        let place = self.places.get(&cell.cell.id)?;
        self.compared.get(*place)
    }

    /// What became of the gates of a cell: `held`, `fell`, or nothing where it has none.
    pub(super) fn gates_word(&self, cell: &CellSummary<'_>) -> &'static str {
        let id = &cell.cell.id;
        match (self.gated.contains(id), self.fallen.contains(id)) {
            (false, _) => "",
            (true, true) => "fell",
            (true, false) => "held",
        }
    }
}
