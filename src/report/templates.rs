//! The templates that are compiled in. `hotlap report --template FILE` uses another for
//! `report.md`; it sees the same [`View`](super::View).

/// The name of the report's template in error messages.
pub(super) const REPORT_NAME: &str = "templates/report.md.j2";

/// The template of `report.md`.
pub(super) const REPORT: &str = include_str!("../../templates/report.md.j2");
