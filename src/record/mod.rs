//! What was seen. These are the types of the files in a run's folder (format
//! 1): `run.json` is a [`Run`], each line of `trials.jsonl` a [`Trial`], each
//! row of `samples.csv` a [`Reading`], and `baseline.json` a [`Baseline`]; beside them all, a row of `history.csv` is a
//! [`HistoryRow`]. Reports are made from these alone. Units
//! are canonical (nanoseconds, bytes) and a value that could not be had is null.

mod baseline;
mod by_role;
mod histogram;
mod history;
mod load;
mod metric;
mod observed;
mod open;
mod readings;
mod recorded;
mod round;
mod run;
mod search;
mod share;
mod surroundings;
mod told;
mod trial;
mod usage;

pub use crate::metric::{Direction, NIGHTLY, Unit};
pub use baseline::{Baseline, BaselineCell, check_column, other_unit};
pub use by_role::ByRole;
pub use histogram::{Histogram, HistogramError};
pub use history::{AT_LEAST, HISTORY_COLUMNS, HistoryFigure, HistoryRow, LostNight, fingerprint};
pub use load::{ByteCounts, Connections, Counts, ErrorKind, Http2, Load};
pub use metric::{EVERY_METRIC, METRICS, Metric, metric, unit};
pub use observed::{Answer, Arrival, Observed, Serving};
pub use open::{OpenLoop, StageLoad};
pub use readings::Readings;
pub use round::Round;
pub use run::{Ceiling, End, Host, Pilot, Run, Session, SuiteFile};
pub use search::{Search, SearchStep};
pub use share::Share;
pub use surroundings::{Busy, Surroundings};
pub use told::{Quantile, Timing, Told};
pub use trial::{Outcome, Proof, Step, Stop, Trial};
pub use usage::{Phase, Reading, Usage, Workers};

/// The version of the files that this hotlap writes.
pub const FORMAT: u32 = 1;
