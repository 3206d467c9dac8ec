//! One metric of one cell over the nights: a dot a night with its interval, a gap with its reason where there is no figure, a
//! line where a change was found, and another where a series begins anew since the machine or the configuration is another.

use super::super::show;
use super::label::{shortened, width};
use super::scale::{Scale, tick, unit_of_bytes};
use super::scene::{Area, MARGIN, Mark as Shape, Scene, WIDTH};
use super::{Drawing, Plot};
use crate::record::Unit;
use std::fmt::Write as _;

/// A panel: one metric of one cell, the earliest night first.
#[derive(Debug, Clone, PartialEq)]
pub struct HistorySeries {
    /// What it is of: `Express · steady`.
    pub title: String,
    /// The metric as people see it: `Requests/s`.
    pub metric: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Every night, also those without a figure.
    pub nights: Vec<Night>,
    /// The changes that were found.
    pub marks: Vec<Mark>,
}

/// One night.
#[derive(Debug, Clone, PartialEq)]
pub struct Night {
    /// Its date, as it is shown: `2026-11-30`.
    pub date: String,
    /// The median over its trials, in the unit of the series; or why there is none.
    pub value: Result<f64, String>,
    /// The interval of that median, where there were trials enough.
    pub interval: Option<[f64; 2]>,
    /// Why a new series begins with this night: another machine, another configuration. Values on both sides are not compared.
    pub anew: Option<String>,
}

/// A change that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// The first night after it, an index of `nights`.
    pub night: usize,
    /// What it is, in a few words: `−5.2 %, a1b2c3d..c3d4e5f`.
    pub text: String,
    /// Whether it is for the worse.
    pub worse: bool,
}

/// The height of the area in which nights are.
const HEIGHT: f64 = 150.0;
/// The space for the ticks of the vertical axis.
const TICKS: f64 = 78.0;
/// Dates that are written below a panel.
const DATES: usize = 6;
/// Nights that are drawn; earlier ones are left out.
const MOST_NIGHTS: usize = 120;
/// Reasons and changes that are written below a panel, of each.
const MOST_LINES: usize = 6;

/// The history as a plot, `plots/history.svg`; none where no night has a figure. `profile` is that of the runs.
pub fn history(series: &[HistorySeries], profile: Option<&str>) -> Option<Plot> {
    let known: Vec<HistorySeries> = series
        .iter()
        .filter(|one| one.nights.iter().any(|night| night.value.is_ok()))
        .map(newest)
        .collect();
    if known.is_empty() {
        return None;
    }
    let mut scene = Scene::new("history", "History, night by night");
    let mut y =
        scene.head(&["Dots are medians of a night, bars their intervals. Axes do not begin at 0."]);
    for one in &known {
        y = panel(&mut scene, y, one) + 22.0;
    }
    scene.end_at(y);
    let said: Vec<String> = known.iter().map(words).collect();
    scene.say(&said.join(" "));
    let changes = known.iter().map(|one| one.marks.len()).sum::<usize>();
    let nights = known.iter().map(|one| one.nights.len()).max().unwrap_or(0);
    let alt = format!(
        "Plot of {} over {}: {}.",
        known
            .iter()
            .map(|one| format!("{} of {}", one.metric, one.title))
            .collect::<Vec<_>>()
            .join(", "),
        show::plural(nights, "night"),
        if changes == 0 {
            "no change found".to_owned()
        } else {
            format!("{} found", show::plural(changes, "change"))
        }
    );
    Some(Plot::new(Drawing { scene, alt }, profile))
}

/// The last nights, with the marks that belong to them.
fn newest(series: &HistorySeries) -> HistorySeries {
    let skipped = series.nights.len().saturating_sub(MOST_NIGHTS);
    let marks = series
        .marks
        .iter()
        .filter(|mark| mark.night >= skipped && mark.night < series.nights.len());
    HistorySeries {
        nights: series.nights[skipped..].to_vec(),
        marks: marks
            .map(|mark| Mark {
                night: mark.night - skipped,
                ..mark.clone()
            })
            .collect(),
        ..series.clone()
    }
}

fn panel(scene: &mut Scene, top: f64, series: &HistorySeries) -> f64 {
    let title = format!("{}: {}", series.title, series.metric);
    let room = WIDTH - 2.0 * MARGIN;
    scene.lines(
        "head",
        (MARGIN, top + 14.0),
        &[shortened(&title, room)],
        &title,
    );
    let area = Area {
        x: MARGIN + TICKS,
        y: top + 40.0,
        width: WIDTH - MARGIN - 14.0 - MARGIN - TICKS,
        height: HEIGHT,
    };
    let up = up(series).between(area.bottom(), area.y);
    for value in &up.ticks {
        let y = up.at(*value);
        scene.line("grid", (area.x, y), (area.right(), y));
        scene.text(
            "soft end",
            (area.x - 8.0, y + 4.0),
            &tick(series.unit, *value),
        );
    }
    scene.line(
        "frame",
        (area.x, area.bottom()),
        (area.right(), area.bottom()),
    );
    let step = area.width / series.nights.len() as f64;
    let x = |night: usize| area.x + step * (night as f64 + 0.5);
    lines(scene, area, series, &|night| x(night) - step / 2.0);
    curve(scene, series, &up, &x);
    for (at, night) in series.nights.iter().enumerate() {
        let place = x(at);
        match &night.value {
            Ok(value) => {
                if let Some([low, high]) = night.interval {
                    scene.line("bar s0", (place, up.at(low)), (place, up.at(high)));
                }
                let tip = format!("{}: {}", night.date, show::in_unit(series.unit, *value, 4));
                scene.mark("s0", Shape::Circle, (place, up.at(*value)), &tip);
            }
            Err(why) => {
                let tip = format!("{}: {why}", night.date);
                scene.mark("s4", Shape::Cross, (place, area.bottom() - 10.0), &tip);
            }
        }
    }
    dates(scene, area, series, &x);
    legend(scene, area.bottom() + 24.0, series)
}

fn up(series: &HistorySeries) -> Scale {
    let values = series
        .nights
        .iter()
        .filter_map(|night| Some((*night.value.as_ref().ok()?, night.interval)));
    let ends = values.flat_map(|(value, interval)| {
        let [low, high] = interval.unwrap_or([value, value]);
        [value, low, high]
    });
    let (least, most) = ends.filter(|value| value.is_finite()).fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), value| (least.min(value), most.max(value)),
    );
    let unit = match series.unit {
        Unit::Bytes | Unit::BytesPerSecond => unit_of_bytes(most),
        _ => 1.0,
    };
    Scale::span(least, most, unit, 4)
}

/// A line through the nights, with a gap where one has no figure or a series begins anew.
fn curve(scene: &mut Scene, series: &HistorySeries, up: &Scale, x: &dyn Fn(usize) -> f64) {
    let mut points = Vec::new();
    for (at, night) in series.nights.iter().enumerate() {
        if night.value.is_err() || night.anew.is_some() {
            scene.path("trace", &points, None);
            points.clear();
        }
        if let Ok(value) = night.value {
            points.push((x(at), up.at(value)));
        }
    }
    scene.path("trace", &points, None);
}

/// Vertical lines where something changed, each with its number or letter.
fn lines(scene: &mut Scene, area: Area, series: &HistorySeries, edge: &dyn Fn(usize) -> f64) {
    for (night, name, class, _) in notes(series) {
        let x = edge(night);
        scene.line(class, (x, area.y - 4.0), (x, area.bottom()));
        scene.text("middle strong", (x, area.y - 8.0), &name);
    }
}

/// What is to be said of nights, in their order: the night, its number (a change) or letter (a new series), the class of its line, and the text.
fn notes(series: &HistorySeries) -> Vec<(usize, String, &'static str, String)> {
    let date = |night: usize| {
        series
            .nights
            .get(night)
            .map_or("", |night| night.date.as_str())
    };
    let mut notes = Vec::new();
    for (at, mark) in series.marks.iter().enumerate() {
        let way = if mark.worse { "worse" } else { "better" };
        let text = format!("{}, {way}: {}", date(mark.night), mark.text);
        notes.push((mark.night, (at + 1).to_string(), "change", text));
    }
    let anew = series
        .nights
        .iter()
        .enumerate()
        .filter_map(|(at, night)| Some((at, night.anew.as_ref()?)));
    for (letter, (at, why)) in ('A'..='Z').zip(anew) {
        let text = format!("{}, a new series: {why}", date(at));
        notes.push((at, letter.to_string(), "break", text));
    }
    notes.sort_by_key(|note| note.0);
    notes
}

fn dates(scene: &mut Scene, area: Area, series: &HistorySeries, x: &dyn Fn(usize) -> f64) {
    let nights = series.nights.len();
    let widest = series
        .nights
        .iter()
        .map(|night| width(&night.date))
        .fold(1.0, f64::max);
    let fit = ((area.width / (widest + 14.0)) as usize).clamp(1, DATES);
    let every = nights.div_ceil(fit).max(1);
    for at in (0..nights).step_by(every) {
        scene.text(
            "soft middle",
            (x(at), area.bottom() + 17.0),
            &series.nights[at].date,
        );
    }
}

/// The changes, the new series and the gaps in words.
fn legend(scene: &mut Scene, top: f64, series: &HistorySeries) -> f64 {
    let room = WIDTH - 2.0 * MARGIN - 24.0;
    let mut y = top;
    let mut line = |scene: &mut Scene, name: &str, text: &str| {
        y += 18.0;
        scene.text("strong", (MARGIN, y), name);
        scene.lines("soft", (MARGIN + 24.0, y), &[shortened(text, room)], text);
    };
    let notes = notes(series);
    for (_, name, _, text) in notes.iter().rev().take(MOST_LINES).rev() {
        line(scene, name, text);
    }
    let gaps: Vec<(&str, &str)> = gaps(series).collect();
    for (date, why) in gaps.iter().rev().take(MOST_LINES).rev() {
        line(scene, "×", &format!("{date}: {why}"));
    }
    let hidden = notes.len().saturating_sub(MOST_LINES) + gaps.len().saturating_sub(MOST_LINES);
    if hidden > 0 {
        line(
            scene,
            "",
            &format!("{} not listed.", show::plural(hidden, "earlier note")),
        );
    }
    y
}

fn gaps(series: &HistorySeries) -> impl Iterator<Item = (&str, &str)> {
    series
        .nights
        .iter()
        .filter_map(|night| Some((night.date.as_str(), night.value.as_ref().err()?.as_str())))
}

fn words(series: &HistorySeries) -> String {
    let known = || {
        series
            .nights
            .iter()
            .filter_map(|night| Some((night, *night.value.as_ref().ok()?)))
    };
    let one = |(night, value): (&Night, f64)| {
        format!("{} on {}", show::in_unit(series.unit, value, 4), night.date)
    };
    let mut said = format!("{}, {}: ", series.title, series.metric);
    let first = known().next().map(one).unwrap_or_default();
    said.push_str(&first);
    if known().count() > 1 {
        let _ = write!(
            said,
            ", {}",
            known().next_back().map(one).unwrap_or_default()
        );
    }
    said.push('.');
    for (_, name, _, text) in notes(series) {
        let _ = write!(said, " {name}: {text}.");
    }
    for (date, why) in gaps(series) {
        let _ = write!(said, " No figure on {date}: {why}.");
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn night(date: &str, value: Result<f64, &str>) -> Night {
        Night {
            date: date.to_owned(),
            interval: value.ok().map(|value| [value * 0.99, value * 1.01]),
            value: value.map_err(str::to_owned),
            anew: None,
        }
    }

    fn series(nights: Vec<Night>, marks: Vec<Mark>) -> HistorySeries {
        HistorySeries {
            title: "Express <i>".to_owned(),
            metric: "Requests/s".to_owned(),
            unit: Unit::PerSecond,
            nights,
            marks,
        }
    }

    #[test]
    fn changes_gaps_and_new_series_are_drawn_and_said() {
        let mut nights: Vec<Night> = (1..=12)
            .map(|day| night(&format!("2026-11-{day:02}"), Ok(9000.0)))
            .collect();
        nights[4] = night("2026-11-05", Err("failed: no answer & no port"));
        nights[9].anew = Some("another machine".to_owned());
        let mark = Mark {
            night: 7,
            text: "−5.2 %, a1b2..c3d4".to_owned(),
            worse: true,
        };
        let plot = history(&[series(nights, vec![mark])], Some("quick")).unwrap();
        assert_eq!(plot.path, "plots/quick.history.svg");
        assert!(plot.alt.contains("1 change found"), "{}", plot.alt);
        let svg = plot.svg().unwrap();
        for said in [
            "No figure on 2026-11-05: failed: no answer &amp; no port.",
            "2026-11-08, worse: −5.2 %, a1b2..c3d4",
            "2026-11-10, a new series: another machine",
            "Express &lt;i&gt;",
        ] {
            assert!(svg.contains(said), "{said}");
        }
        // The line has a gap where a night failed, and another where a series begins anew.
        assert_eq!(svg.matches("\"trace\"").count(), 3);
        assert_eq!(svg.matches("class=\"change\"").count(), 1);
        assert_eq!(svg.matches("class=\"break\"").count(), 1);
    }

    #[test]
    fn only_the_newest_nights_are_drawn_with_their_marks() {
        let nights: Vec<Night> = (0..MOST_NIGHTS + 30)
            .map(|day| night(&format!("d{day}"), Ok(day as f64 + 1.0)))
            .collect();
        let mark = |night| Mark {
            night,
            text: "x".to_owned(),
            worse: false,
        };
        let kept = newest(&series(nights, vec![mark(3), mark(40), mark(9999)]));
        assert_eq!(kept.nights.len(), MOST_NIGHTS);
        assert_eq!(
            kept.marks.iter().map(|mark| mark.night).collect::<Vec<_>>(),
            [10]
        );
    }

    #[test]
    fn without_any_figure_there_is_no_plot() {
        let failed = series(vec![night("a", Err("failed"))], Vec::new());
        assert!(history(&[failed], None).is_none());
        assert!(history(&[], None).is_none());
    }
}
