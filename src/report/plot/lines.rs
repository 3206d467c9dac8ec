//! Curves in panels: which cells share one, and how it is drawn, with marks and dashes that tell
//! its series apart without colour, and a legend.

use super::label::{self, shortened};
use super::scale::Scale;
use super::scene::{Area, MARGIN, Mark, SERIES, Scene, WIDTH};
use crate::stats::CellSummary;

/// Panels that are drawn; further ones are counted in a note.
pub(super) const MOST_PANELS: usize = 12;
/// The height of the area in which curves are, where a plot has few panels and where it has many.
const HEIGHTS: (f64, f64) = (210.0, 140.0);
/// Panels that are few.
const FEW: usize = 3;
/// The space for the ticks of the vertical axis.
const TICKS: f64 = 74.0;
/// From one line of a legend to the next.
const LEGEND: f64 = 20.0;

/// One curve, in the values of its axes.
pub(super) struct Series {
    /// Its name.
    pub(super) label: String,
    /// Its points, from the left.
    pub(super) points: Vec<(f64, f64)>,
    /// Which of them are marked, with what is shown when a pointer rests on them.
    pub(super) marked: Vec<((f64, f64), String)>,
}

/// Curves that share their axes.
pub(super) struct Panel {
    /// What they have in common; empty where there is one panel.
    pub(super) title: String,
    /// The curves, no more than there are marks.
    pub(super) series: Vec<Series>,
}

/// The axes of all panels of a plot.
pub(super) struct Axes {
    /// Ticks of the horizontal axis: the value, and how it is written.
    pub(super) across: (Scale, Vec<(f64, String)>),
    /// Ticks of the vertical axis.
    pub(super) up: (Scale, Vec<(f64, String)>),
    /// What lies on the horizontal axis.
    pub(super) name: String,
}

/// The area of curves below `top`.
fn area(top: f64, height: f64) -> Area {
    let x = MARGIN + TICKS;
    Area {
        x,
        y: top,
        width: WIDTH - MARGIN - 26.0 - x,
        height,
    }
}

/// Draws panels below each other from `top` on. Gives where they end.
pub(super) fn draw(scene: &mut Scene, top: f64, panels: &[Panel], axes: &Axes) -> f64 {
    let height = if panels.len() > FEW {
        HEIGHTS.1
    } else {
        HEIGHTS.0
    };
    let mut y = top;
    for panel in panels {
        y = one(scene, (y, height), panel, axes) + 14.0;
    }
    let middle = f64::midpoint(MARGIN + TICKS, WIDTH - MARGIN);
    scene.text("soft middle", (middle, y + 4.0), &axes.name);
    y + 18.0
}

fn one(scene: &mut Scene, (top, height): (f64, f64), panel: &Panel, axes: &Axes) -> f64 {
    let mut y = top;
    if !panel.title.is_empty() {
        y += 16.0;
        let title = shortened(&panel.title, WIDTH - 2.0 * MARGIN);
        scene.lines("head", (MARGIN, y), &[title], &panel.title);
    }
    y = legend(scene, y + 4.0, &panel.series) + 18.0;
    let area = area(y, height);
    let across = axes.across.0.clone().between(area.x, area.right());
    let up = axes.up.0.clone().between(area.bottom(), area.y);
    for (value, text) in &axes.up.1 {
        let y = up.at(*value);
        scene.line("grid", (area.x, y), (area.right(), y));
        scene.text("soft end", (area.x - 8.0, y + 4.0), text);
    }
    for (value, text) in &axes.across.1 {
        let x = across.at(*value);
        scene.line("grid", (x, area.y), (x, area.bottom()));
        scene.text("soft middle", (x, area.bottom() + 17.0), text);
    }
    scene.line(
        "frame",
        (area.x, area.bottom()),
        (area.right(), area.bottom()),
    );
    for (at, series) in panel.series.iter().enumerate() {
        let place = |(x, y): &(f64, f64)| (across.at(*x), up.at(*y));
        let points: Vec<(f64, f64)> = series.points.iter().map(place).collect();
        scene.path(&format!("curve s{at}"), &points, Some(series.label.clone()));
        for (point, tip) in &series.marked {
            scene.mark(&format!("s{at}"), Mark::of(at), place(point), tip);
        }
    }
    area.bottom() + 20.0
}

/// The legend, as many names a line as fit. Gives where it ends.
fn legend(scene: &mut Scene, top: f64, series: &[Series]) -> f64 {
    let (left, most) = (MARGIN, WIDTH - 2.0 * MARGIN);
    let (mut x, mut y) = (left, top + LEGEND - 4.0);
    for (at, series) in series.iter().enumerate() {
        let name = shortened(&series.label, most - 50.0);
        let wide = 44.0 + label::width(&name) + 18.0;
        if x > left && x + wide > left + most {
            (x, y) = (left, y + LEGEND);
        }
        scene.line(&format!("curve s{at}"), (x, y - 4.0), (x + 34.0, y - 4.0));
        scene.mark(&format!("s{at}"), Mark::of(at), (x + 17.0, y - 4.0), "");
        scene.lines("name", (x + 42.0, y), &[name], &series.label);
        x += wide;
    }
    y
}

/// Cells that share a panel: those of one load, and of one server where a load has more than a panel holds; in parts where
/// that are still too many. Each part with what its cells have in common.
pub(super) fn grouped<'c, 'a>(
    cells: &[&'c CellSummary<'a>],
) -> Vec<(String, Vec<&'c CellSummary<'a>>)> {
    let several_loads = super::loads(cells).len() > 1;
    let mut groups = Vec::new();
    for load in super::loads(cells) {
        let own: Vec<&CellSummary<'a>> = cells
            .iter()
            .copied()
            .filter(|cell| cell.cell.load == load)
            .collect();
        let by_server = own.len() > SERIES;
        for part in parts(own) {
            let Some(first) = part.first() else { continue };
            let mut title = Vec::new();
            if several_loads {
                title.push(first.cell.load_label.as_str());
            }
            let one_server = part
                .iter()
                .all(|cell| cell.cell.server == first.cell.server);
            if by_server && one_server {
                title.push(first.cell.server_label.as_str());
            }
            groups.push((title.join(" · "), part));
        }
    }
    groups
}

fn parts<'c, 'a>(cells: Vec<&'c CellSummary<'a>>) -> Vec<Vec<&'c CellSummary<'a>>> {
    if cells.len() <= SERIES {
        return vec![cells];
    }
    let mut by_server: Vec<Vec<&CellSummary<'a>>> = Vec::new();
    for cell in cells {
        let known = by_server.iter_mut().find(|group| {
            group
                .first()
                .is_some_and(|first| first.cell.server == cell.cell.server)
        });
        match known {
            Some(group) => group.push(cell),
            None => by_server.push(vec![cell]),
        }
    }
    // Servers with one cell each would be panels with one curve each.
    if by_server.iter().all(|group| group.len() == 1) {
        by_server = vec![by_server.concat()];
    }
    by_server
        .iter()
        .flat_map(|group| group.chunks(SERIES).map(<[_]>::to_vec))
        .collect()
}
