//! A mistake that a person made, shown so that they can mend it: a code, what
//! is wrong, where it stands (file, line, column, underlined), and what to do.
//! One renderer for all of them.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;

/// A text with a name: what spans point into.
#[derive(Debug, Clone)]
pub struct SourceText {
    /// How the file is called in messages: as the user named it.
    pub name: String,
    /// Its whole content.
    pub text: String,
}

impl SourceText {
    /// The line and the column, both from 1, of a byte offset. Columns count characters.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }
}

/// How much a diagnostic weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing starts until it is mended.
    Error,
    /// It can run; `--strict` makes it an error.
    Warning,
}

/// A place in the source with a few words about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Bytes of the source text.
    pub span: Range<usize>,
    /// What is to be said of this place; may be empty.
    pub text: String,
}

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// A short stable name for this kind of mistake, such as `unknown-key`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// Where, the place to look at first in front.
    pub labels: Vec<Label>,
    /// What to do.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(code: &'static str, message: impl Into<String>, span: Range<usize>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: visible_text(message.into()),
            labels: vec![Label {
                span,
                text: String::new(),
            }],
            help: Vec::new(),
        }
    }

    /// The same with other words for what is wrong.
    #[must_use]
    pub fn saying(mut self, message: impl Into<String>) -> Self {
        self.message = visible_text(message.into());
        self
    }

    /// The same as a warning.
    #[must_use]
    pub fn as_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Words beside the underlined place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        if let Some(label) = self.labels.first_mut() {
            label.text = visible_text(text.into());
        }
        self
    }

    /// A second place that belongs to the mistake.
    #[must_use]
    pub fn and(mut self, span: Range<usize>, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            text: visible_text(text.into()),
        });
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(visible_text(text.into()));
        self
    }

    /// Where the mistake begins, for sorting.
    pub fn offset(&self) -> usize {
        self.labels.first().map_or(0, |label| label.span.start)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.code, self.message)
    }
}

/// Whether the rendered text carries colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// With ANSI colours.
    Colored,
    /// Plain text.
    Plain,
}

/// All diagnostics of one file as people read them, in the order of the file.
pub fn render(source: &SourceText, diagnostics: &[Diagnostic], style: Style) -> String {
    let renderer = match style {
        Style::Colored => Renderer::styled(),
        Style::Plain => Renderer::plain(),
    };
    let mut ordered: Vec<&Diagnostic> = diagnostics.iter().collect();
    ordered.sort_by_key(|diagnostic| diagnostic.offset());
    let mut out = String::new();
    for diagnostic in ordered {
        out.push_str(&renderer.render(&[group(source, diagnostic)]));
        out.push_str("\n\n");
    }
    // The renderer shows most control characters as pictures, but not those of the second block, of which
    // a terminal takes one for the beginning of an escape sequence.
    out.replace(|c: char| ('\u{80}'..'\u{a0}').contains(&c), "\u{fffd}")
}

/// A text without characters that a terminal would obey: what a suite says goes into messages.
fn visible_text(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

fn group<'a>(source: &'a SourceText, diagnostic: &'a Diagnostic) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut snippet = Snippet::source(source.text.as_str())
        .line_start(1)
        .path(source.name.as_str());
    for (index, label) in diagnostic.labels.iter().enumerate() {
        let kind = if index == 0 {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        let span = visible(&source.text, &label.span);
        let annotation = kind.span(span);
        snippet = snippet.annotation(if label.text.is_empty() {
            annotation
        } else {
            annotation.label(label.text.as_str())
        });
    }
    let mut group = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code)
        .element(snippet);
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

/// A span that the renderer can underline: inside the text, on character
/// boundaries, and of the first line alone when it covers several.
fn visible(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start.min(text.len()));
    let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
    match text[start..end].find('\n') {
        Some(newline) if newline > 0 => start..start + newline,
        _ => start..end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = SourceText {
            name: "s.toml".to_owned(),
            text: "a\nwörd x\n".to_owned(),
        };
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(source.text.find('x').unwrap()), (2, 6));
        assert_eq!(source.position(1000), (3, 1));
    }

    #[test]
    fn rendering_survives_spans_that_point_nowhere() {
        let source = SourceText {
            name: "s.toml".to_owned(),
            text: "ä".to_owned(),
        };
        let out = render(
            &source,
            &[Diagnostic::error("x", "message", 1..99).help("do this")],
            Style::Plain,
        );
        assert!(
            out.contains("error[x]: message") && out.contains("do this"),
            "{out}"
        );
    }
}
