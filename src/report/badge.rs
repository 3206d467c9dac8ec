//! A badge: the suite's name and one value of its run, in an SVG that stands alone. The value is the gates that fell, else what
//! has newly changed over the nights, else what became worse since an earlier run, else the figure of the first cell.

use super::template::Template;
use super::templates::{BADGE, BADGE_NAME};
use super::{ReportError, View};
use serde::Serialize;

/// The size of the letters, in pixels.
const SIZE: usize = 11;
/// Room before and behind a text, in pixels.
const PAD: usize = 6;
/// Longer texts are cut, in characters.
const LONGEST: usize = 48;

/// White on these colours has a contrast of at least 4.5.
const LABEL: &str = "#3d444d";
const FINE: &str = "#1a6f3c";
const WORSE: &str = "#b3261e";
const UNKNOWN: &str = "#656d76";

/// What the template of the badge sees.
#[derive(Debug, Serialize)]
struct Badge {
    label: Part,
    value: Part,
    width: usize,
    /// All of it in words.
    title: String,
}

/// One of the two fields.
#[derive(Debug, Serialize)]
struct Part {
    text: String,
    colour: &'static str,
    x: usize,
    width: usize,
    /// Where the text begins, and how long it is drawn, whatever letters there are.
    text_x: usize,
    text_width: usize,
}

/// The badge of a run.
pub(super) fn svg(view: &View) -> Result<Vec<u8>, ReportError> {
    let label = Part::new(&view.suite, LABEL, 0);
    let value = Part::new(&view.badge.text, view.badge.colour, label.width);
    let date = view.started.get(..10).unwrap_or_default();
    let badge = Badge {
        width: label.width + value.width,
        title: [&format!("{}: {}", label.text, value.text), date]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
        label,
        value,
    };
    let text = Template::new(BADGE_NAME, BADGE).render(&badge)?;
    Ok(text.into_bytes())
}

/// What a badge says, with its colour.
#[derive(Debug, Clone, Default)]
pub(super) struct Value {
    text: String,
    colour: &'static str,
}

/// The value of a run of which nothing is cut off yet, since it counts.
pub(super) fn value(view: &View) -> Value {
    let (text, colour) = told_by(view);
    Value { text, colour }
}

fn told_by(view: &View) -> (String, &'static str) {
    let count = |number: usize, one: &str| super::show::plural(number, one);
    if let Some(gates) = &view.gates
        && !gates.fallen.is_empty()
    {
        let said = format!("{} fell", count(gates.fallen.len(), "gate"));
        return (said, WORSE);
    }
    if let Some(told) = told(view) {
        return told;
    }
    if let Some(since) = &view.since {
        let worse = since.worse.len() + since.lost.len();
        if worse > 0 {
            return (format!("{} worse", count(worse, "cell")), WORSE);
        }
    }
    let Some(cell) = view.cells.first() else {
        return ("no figures".to_owned(), UNKNOWN);
    };
    // The board that has the first cell tells what it is judged by.
    let row = view.boards.iter().find_map(|board| {
        let own =
            |title: &str| cell.title == title || cell.title.starts_with(&format!("{title} ·"));
        let row = board.rows.iter().find(|row| own(&row.title))?;
        Some((board, row))
    });
    let Some((board, row)) = row else {
        return (count(view.cells.len(), "cell"), UNKNOWN);
    };
    let unit = match board.metric {
        "Requests/s" => "req/s",
        other => other,
    };
    let margin = row.margin.as_ref().map(|margin| format!(" {margin}"));
    let name = if view.cells.len() > 1 {
        format!("{} ", row.title)
    } else {
        String::new()
    };
    let said = format!(
        "{name}{}{} {unit}{}",
        row.bound,
        row.figure,
        margin.unwrap_or_default()
    );
    (said, FINE)
}

/// What this night is the first to tell: one change with its size, several with how many are for the worse, or else for the better.
fn told(view: &View) -> Option<(String, &'static str)> {
    let told = &view.nights.as_ref()?.told;
    let first = told.first()?;
    let colour = match first.word {
        "worse" => WORSE,
        _ => FINE,
    };
    let alike = told.iter().filter(|change| change.word == first.word);
    let figures: usize = alike.map(|change| change.parts.len()).sum();
    if figures > 1 {
        let figures = super::show::plural(figures, "figure");
        return Some((format!("{figures} {}", first.word), colour));
    }
    let part = first.parts.first()?;
    let name = if view.cells.len() > 1 {
        format!(" ({})", first.title)
    } else {
        String::new()
    };
    let said = format!(
        "{} {} {}, {}{name}",
        part.metric, part.verb, part.size, first.word
    );
    Some((said, colour))
}

impl Part {
    fn new(text: &str, colour: &'static str, x: usize) -> Self {
        let text = cut(text);
        let text_width = width(&text);
        Self {
            colour,
            x,
            width: text_width + 2 * PAD,
            text_x: x + PAD,
            text_width,
            text,
        }
    }
}

/// The text in one line, without what XML cannot hold, and not too long.
fn cut(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| {
            let odd =
                c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}');
            if odd { ' ' } else { c }
        })
        .collect();
    let plain = plain.trim();
    if plain.chars().count() <= LONGEST {
        return plain.to_owned();
    }
    let kept: String = plain.chars().take(LONGEST - 1).collect();
    format!("{}…", kept.trim_end())
}

/// About how many pixels a text takes; it is then drawn to be so long, whatever font there is.
fn width(text: &str) -> usize {
    let tenths: usize = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 34,
            'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '/' | ' ' | '\u{a0}' | '-' => 42,
            'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 100,
            'A'..='Z' | '≥' | '±' | '×' => 76,
            // Letters of Chinese, Japanese and Korean, and pictures, are as wide as high.
            '\u{1100}'..='\u{115f}'
            | '\u{2e80}'..='\u{a4cf}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{fe30}'..='\u{fe6f}'
            | '\u{ff00}'..='\u{ff60}'
            | '\u{1f300}'..='\u{1faff}'
            | '\u{20000}'..='\u{3fffd}' => SIZE * 10,
            _ => 67,
        })
        .sum();
    tenths.div_ceil(10).max(1)
}
