//! The templates that are compiled in. `hotlap report --template FILE` uses another for
//! `report.md`; it sees the same [`View`](super::View).

/// The name of the report's template in error messages.
pub(super) const REPORT_NAME: &str = "templates/report.md.j2";

/// The template of `report.md`.
pub(super) const REPORT: &str = include_str!("../../templates/report.md.j2");

/// The name by which templates include the comparison of two runs, and its name in error messages.
pub(super) const COMPARE_NAME: &str = "templates/compare.md.j2";

/// The template of the comparison of two runs, alone and as a section of `report.md`.
pub(super) const COMPARE: &str = include_str!("../../templates/compare.md.j2");
