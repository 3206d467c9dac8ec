//! A drawing as plain shapes in pixels, and its SVG: the Template and the colours are those of
//! `templates/plot.svg.j2`, where all text is escaped. Numbers are rounded to a tenth of a pixel, so
//! that the same drawing has the same bytes everywhere.

use super::super::{ReportError, Template, templates};
use serde::Serialize;

/// The width of every drawing, in pixels: what a repository page has for an image, nearly.
pub(super) const WIDTH: f64 = 760.0;
/// Free space at the left and the right edge.
pub(super) const MARGIN: f64 = 16.0;
/// How many series a panel has at the most: so many colours, dashes and marks can be told apart.
pub(super) const SERIES: usize = 6;

/// A drawing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Scene {
    /// Its name, of which file names and the ids in its markup are made: `throughput`.
    pub(super) name: String,
    /// What it shows.
    pub(super) title: String,
    words: String,
    width: String,
    height: String,
    shapes: Vec<Shape>,
}

/// A shape. Its look follows from its classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shape {
    /// A line or an outline.
    Path {
        class: String,
        d: String,
        /// What is shown when a pointer rests on it.
        tip: Option<String>,
    },
    /// A rectangle; `strength` is how far its colour covers what is below, from 0 to 1.
    Rect {
        class: String,
        x: String,
        y: String,
        width: String,
        height: String,
        strength: Option<String>,
        tip: Option<String>,
    },
    /// A line of text.
    Text {
        class: String,
        x: String,
        y: String,
        text: String,
        /// The whole of it, where it was shortened.
        tip: Option<String>,
    },
}

/// A part of the drawing, by its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    /// The left edge.
    pub(super) x: f64,
    /// The upper edge.
    pub(super) y: f64,
    /// How wide it is.
    pub(super) width: f64,
    /// How high it is.
    pub(super) height: f64,
}

impl Area {
    /// The right edge.
    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The lower edge.
    pub(super) fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

impl Scene {
    /// An empty drawing.
    pub(super) fn new(name: &str, title: &str) -> Self {
        Self {
            name: name.to_owned(),
            title: clean(title),
            words: String::new(),
            width: number(WIDTH),
            height: String::new(),
            shapes: Vec::new(),
        }
    }

    /// Says the figures in words, for those who do not see the drawing.
    pub(super) fn say(&mut self, words: &str) {
        self.words = clean(words);
    }

    /// Sets the height, which is known when all is drawn.
    pub(super) fn end_at(&mut self, height: f64) {
        self.height = number(height);
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        self.path(class, &[from, to], None);
    }

    /// A line through these points; fewer than two draw nothing.
    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)], tip: Option<String>) {
        if points.len() < 2 {
            return;
        }
        let at = |(x, y): &(f64, f64)| format!("{} {}", number(*x), number(*y));
        let all: Vec<String> = points.iter().map(at).collect();
        self.shapes.push(Shape::Path {
            class: class.to_owned(),
            d: format!("M{}", all.join("L")),
            tip: tip.map(|tip| clean(&tip)),
        });
    }

    /// The mark of a series at a point, with what is shown when a pointer rests on it.
    pub(super) fn mark(&mut self, class: &str, mark: Mark, (x, y): (f64, f64), tip: &str) {
        self.shapes.push(Shape::Path {
            class: format!("mark {class}"),
            d: mark.outline(x, y),
            tip: Some(clean(tip)).filter(|tip| !tip.is_empty()),
        });
    }

    /// A rectangle.
    pub(super) fn rect(&mut self, class: &str, area: Area, strength: Option<f64>, tip: &str) {
        self.shapes.push(Shape::Rect {
            class: class.to_owned(),
            x: number(area.x),
            y: number(area.y),
            width: number(area.width),
            height: number(area.height),
            strength: strength.map(|share| format!("{share:.2}")),
            tip: Some(clean(tip)).filter(|tip| !tip.is_empty()),
        });
    }

    /// A line of text.
    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        self.shapes.push(Shape::Text {
            class: class.to_owned(),
            x: number(x),
            y: number(y),
            text: clean(text),
            tip: None,
        });
    }

    /// Text as it fits into `width`, its lines below each other from `y` on; the whole of it is shown when a pointer rests on it.
    pub(super) fn lines(&mut self, class: &str, (x, y): (f64, f64), lines: &[String], full: &str) {
        let shortened = lines.iter().any(|line| line.contains('…'));
        for (at, line) in lines.iter().enumerate() {
            self.shapes.push(Shape::Text {
                class: class.to_owned(),
                x: number(x),
                y: number(y + at as f64 * super::label::LINE),
                text: clean(line),
                tip: shortened.then(|| clean(full)),
            });
        }
    }

    /// The head of the drawing: what it shows, and in smaller letters how it is to be read. Gives where it ends.
    pub(super) fn head(&mut self, notes: &[&str]) -> f64 {
        let title = self.title.clone();
        self.text("title", (MARGIN, 28.0), &title);
        let mut y = 28.0;
        for note in notes {
            for line in super::label::wrapped(note, WIDTH - 2.0 * MARGIN, 4) {
                y += 18.0;
                self.text("soft", (MARGIN, y), &line);
            }
        }
        y + 16.0
    }

    /// The drawing as a file of its own.
    pub(super) fn file(&self) -> Result<String, ReportError> {
        self.render(false)
    }

    /// The drawing as a part of a page that has its style already.
    pub(super) fn inline(&self) -> Result<String, ReportError> {
        self.render(true)
    }

    fn render(&self, inline: bool) -> Result<String, ReportError> {
        let (name, text) = (templates::PLOT_NAME, templates::PLOT);
        let view = View {
            plot: self,
            inline,
            style: templates::PLOT_STYLE,
        };
        Template::new(name, text).render(&view)
    }
}

/// What the template sees.
#[derive(Serialize)]
struct View<'a> {
    plot: &'a Scene,
    inline: bool,
    style: &'static str,
}

/// A coordinate, to a tenth of a pixel.
fn number(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0" } else { text }.to_owned()
}

/// Text as XML may hold it: control characters, and those that are none, are spaces.
pub(super) fn clean(text: &str) -> String {
    let allowed = |c: char| {
        !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{2028}' | '\u{2029}')
    };
    text.chars()
        .map(|c| if allowed(c) { c } else { ' ' })
        .collect()
}

/// The form of a mark, so that series can be told apart without their colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A disc.
    Circle,
    /// A square on its side.
    Square,
    /// A triangle with its top above.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// A triangle with its top below.
    Wedge,
    /// Two bars that cross.
    Cross,
    /// A triangle with its top at the right: at least so much.
    More,
}

impl Mark {
    /// The mark of a series.
    pub(super) fn of(series: usize) -> Self {
        const ALL: [Mark; SERIES] = [
            Mark::Circle,
            Mark::Square,
            Mark::Triangle,
            Mark::Diamond,
            Mark::Wedge,
            Mark::Cross,
        ];
        ALL[series % SERIES]
    }

    fn outline(self, x: f64, y: f64) -> String {
        let points: &[(f64, f64)] = match self {
            Self::Circle => {
                let (left, top) = (number(x - 4.5), number(y));
                return format!("M{left} {top}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z");
            }
            Self::Square => &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
            Self::Triangle => &[(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)],
            Self::Diamond => &[(0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0)],
            Self::Wedge => &[(-5.0, -4.0), (5.0, -4.0), (0.0, 5.0)],
            Self::Cross => &[
                (-5.0, -3.0),
                (-3.0, -5.0),
                (0.0, -2.0),
                (3.0, -5.0),
                (5.0, -3.0),
                (2.0, 0.0),
                (5.0, 3.0),
                (3.0, 5.0),
                (0.0, 2.0),
                (-3.0, 5.0),
                (-5.0, 3.0),
                (-2.0, 0.0),
            ],
            Self::More => &[(-4.0, -5.0), (6.0, 0.0), (-4.0, 5.0)],
        };
        let at = |(dx, dy): &(f64, f64)| format!("{} {}", number(x + dx), number(y + dy));
        let all: Vec<String> = points.iter().map(at).collect();
        format!("M{}z", all.join("L"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_rounded() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(-0.04), "0");
        assert_eq!(number(0.26), "0.3");
    }

    #[test]
    fn text_is_shown_and_never_markup() {
        let mut scene = Scene::new("x", "<script>&\"'\u{0}");
        scene.say("]]></desc>{{ x }}\u{7}");
        scene.text("soft", (1.0, 2.0), "<b>{% raw %}\u{1b}");
        scene.end_at(10.0);
        let svg = scene.file().unwrap();
        for hostile in ["<script", "<b>", "]]></desc>", "\u{0}", "\u{1b}", "\u{7}"] {
            assert!(!svg.contains(hostile), "{hostile:?} in {svg}");
        }
        assert!(svg.contains("{{ x }}") && svg.contains("{% raw %}"));
    }

    #[test]
    fn every_series_has_a_mark_of_its_own() {
        let all: Vec<String> = (0..SERIES)
            .map(|at| Mark::of(at).outline(0.0, 0.0))
            .collect();
        for (at, mark) in all.iter().enumerate() {
            assert!(!all[..at].contains(mark), "{at}");
        }
    }
}
