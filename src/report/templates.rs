//! The templates that are compiled in. `--template` takes another for a run's report, one of these by its name or
//! a file of one's own; all see the same [`View`](super::View).

/// The name of the report's template in error messages.
pub(super) const REPORT_NAME: &str = "templates/report.md.j2";

/// The template of `report.md`.
pub(super) const REPORT: &str = include_str!("../../templates/report.md.j2");

/// The name by which templates include the comparison of two runs, and its name in error messages.
pub(super) const COMPARE_NAME: &str = "templates/compare.md.j2";

/// The template of the comparison of two runs, alone and as a section of `report.md`.
pub(super) const COMPARE: &str = include_str!("../../templates/compare.md.j2");

/// The name by which templates import how a change over the nights is told.
const CHANGE_NAME: &str = "templates/change.md.j2";

/// The macro of it.
const CHANGE: &str = include_str!("../../templates/change.md.j2");

/// The name of the badge's template.
pub(super) const BADGE_NAME: &str = "templates/badge.svg.j2";

/// The template of `badge.svg`.
pub(super) const BADGE: &str = include_str!("../../templates/badge.svg.j2");

/// Those that can be chosen by name: the name, the file by which others include it, its text.
pub(super) const BUILT_IN: &[(&str, &str, &str)] = &[
    ("default", REPORT_NAME, REPORT),
    (
        "short",
        "templates/short.md.j2",
        include_str!("../../templates/short.md.j2"),
    ),
    (
        "leaderboard",
        "templates/leaderboard.md.j2",
        include_str!("../../templates/leaderboard.md.j2"),
    ),
    (
        "pull-request",
        "templates/pull-request.md.j2",
        include_str!("../../templates/pull-request.md.j2"),
    ),
];

/// What any template may include, by the name of its file.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let chosen = BUILT_IN.iter().map(|(_, file, text)| (*file, *text));
    chosen.chain([(COMPARE_NAME, COMPARE), (CHANGE_NAME, CHANGE)])
}

/// The text of one of them.
pub(super) fn text(file: &str) -> Option<&'static str> {
    all().find(|(own, _)| *own == file).map(|(_, text)| text)
}

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
