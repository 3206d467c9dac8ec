//! Whether a run stands where the one before it stood: what the index says as "unchanged since".

use crate::record::Baseline;
use crate::stats::{HEADLINE, Ruling, between};

/// What two runs, one after the other, say of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A verdict says that a figure is better or worse, or the cells are others: one has no figures any more, is new, is gone, or has
    /// another configuration.
    Changed,
    /// Both have the same cells, and no verdict says so.
    Unchanged,
    /// No verdict is possible: another machine, or too few trials.
    Unknown,
}

/// What a new run says of the one before.
pub fn standing(old: &Baseline, new: &Baseline) -> Standing {
    let between = between(old, new);
    let rulings = || {
        let changes = between.cells.iter().flat_map(|cell| &cell.changes);
        changes
            .filter(|change| HEADLINE.contains(&change.metric.name))
            .map(|change| &change.ruling)
    };
    let other_cells = !between.gone.is_empty()
        || !between.added.is_empty()
        || between.cells.iter().any(|cell| {
            let changed = cell.changed.as_ref();
            changed.is_some_and(|changed| !changed.is_empty())
                || cell.old.is_measured() != cell.new.is_measured()
        });
    if other_cells || rulings().any(|ruling| matches!(ruling, Ruling::Better | Ruling::Worse)) {
        return Standing::Changed;
    }
    if rulings().any(|ruling| matches!(ruling, Ruling::NotShown { .. })) {
        Standing::Unchanged
    } else {
        Standing::Unknown
    }
}
