//! What the trials of a cell say together: the median over repetitions with every value kept,
//! ratios to the baseline, how many digits a figure carries, whether one trial's figures may
//! count at all, what they look like, whether memory grows with the requests served, and which gates held. All of it is
//! arithmetic on records, without any I/O.

mod between;
mod capacity;
mod ceiling;
mod changed;
mod comparison;
mod configured;
mod divisive;
mod effect;
mod enough;
mod exact;
mod figures;
mod gate;
mod grounds;
mod growth;
mod hints;
mod limits;
mod nights;
mod power;
mod regression;
mod seen;
mod served;
mod steady;
mod student;
mod summary;
mod surroundings;
mod theil_sen;
mod validity;
mod warmup;

pub use between::{Across, Between, Change, Field, HEADLINE, Open, Ruling, between};
pub use capacity::{Seek, Turn, broken};
pub use ceiling::{OfCeiling, has_ceiling, of_ceiling};
pub use comparison::{Comparison, Verdict, comparisons, own_headline};
pub use divisive::{Found, Known, Rules, changes, correlation, known_changes};
pub use effect::{Effect, Hidden, Pair, effect, pairs};
pub use enough::{half_of, still_wide, wanting};
pub use exact::{
    Interval, LEAST_UNPAIRED, LEVEL, around_median, holm, paired, paired_p, unpaired, unpaired_p,
};
pub use figures::{digits, median};
pub use gate::{Judgement, Kind, Why, judge, judge_nights};
pub use growth::{Basis, Growth, MemoryRatio, growth, memory_ratio};
pub use hints::{Hint, hints};
pub use limits::{Limit, Shortfall, Unsustained, is_made_under_load, limit, unsustained};
pub use nights::{Begins, CORRELATED, Night, NightChange, Seen, Series, history_rows, series};
pub use power::{findable_spread, least_trials, needed_trials};
pub use regression::Old;
pub use steady::{Beginning, Steadiness, least_steady, steadiness, steadiness_of};
pub use summary::{
    CellSummary, ENOUGH_TRIALS, Ratio, Spread, State, Value, complete, ratio, summarise,
};
pub use surroundings::{Disturbance, PAUSED, TAKEN, disturbances};
pub use validity::{busy_share, cut_short, validity};
pub use warmup::{settled, still_apart};
