//! What the trials of a cell say together: the median over repetitions with every value kept,
//! ratios to the baseline, how many digits a figure carries, whether one trial's figures may
//! count at all, what they look like, and whether memory grows with the requests served. All of it is arithmetic on records, without any I/O.

mod comparison;
mod configured;
mod effect;
mod exact;
mod figures;
mod growth;
mod hints;
mod limits;
mod power;
mod seen;
mod served;
mod summary;
mod theil_sen;
mod validity;

pub use comparison::{Comparison, Verdict, comparisons};
pub use effect::{Effect, Hidden, Pair, effect, pairs};
pub use exact::{Interval, LEVEL, around_median, holm, paired, paired_p, unpaired, unpaired_p};
pub use figures::{digits, median};
pub use growth::{Basis, Growth, MemoryRatio, Readings, growth, memory_ratio};
pub use hints::{Hint, hints};
pub use limits::{generator_limited, unsteady};
pub use power::{findable_spread, least_trials, needed_trials};
pub use summary::{
    CellSummary, ENOUGH_TRIALS, Ratio, Spread, State, Value, complete, ratio, summarise,
};
pub use validity::{cut_short, validity};
