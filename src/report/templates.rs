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

/// The name of the markup of plots in error messages.
pub(super) const PLOT_NAME: &str = "templates/plot.svg.j2";

/// The markup of plots.
pub(super) const PLOT: &str = include_str!("../../templates/plot.svg.j2");

/// The name of the page of `report.html` in error messages.
pub(super) const HTML_NAME: &str = "templates/report.html.j2";

/// The page of `report.html`, around what `report.md` says.
pub(super) const HTML: &str = include_str!("../../templates/report.html.j2");

/// Its look.
pub(super) const HTML_STYLE: &str = include_str!("../../templates/report.css");

/// What sorts and filters its tables.
pub(super) const HTML_SCRIPT: &str = include_str!("../../templates/report.js");

/// The look of plots, in a file of their own and in `report.html`.
pub(super) const PLOT_STYLE: &str = include_str!("../../templates/plot.css");
