//! A report as a part of another file, between two markers. Everything outside stays as it is, byte for byte.

use crate::store::{SPLICE_BEGIN as BEGIN, SPLICE_END as END};
use std::fmt;
use std::ops::Range;

/// How a marker of either kind ends; the name of a suite may stand before it.
const CLOSE: &str = "-->";

/// Why a file cannot take a report. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpliceError {
    /// A marker is missing.
    Missing {
        /// The marker.
        marker: String,
        /// Both that are needed.
        pair: [String; 2],
    },
    /// A marker is there more than once.
    Twice {
        /// The marker.
        marker: String,
        /// The lines of the first two.
        lines: [usize; 2],
    },
    /// The end stands before the beginning.
    Order {
        /// The line of the beginning.
        begin: usize,
        /// The line of the end.
        end: usize,
    },
    /// Another marker stands between the two.
    Within {
        /// Its line.
        line: usize,
    },
    /// The report holds a marker itself (a suite file or a description that speaks of them), so its end could not be found again.
    Nested,
}

impl fmt::Display for SpliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { marker, pair } => write!(
                f,
                "there is no line \"{marker}\"; write \"{}\" and below it \"{}\", each in a line of its own, where the report \
                 shall stand",
                pair[0], pair[1]
            ),
            Self::Twice { marker, lines } => write!(
                f,
                "the line \"{marker}\" is there twice, in lines {} and {}; leave one of them, or name the suite in it: \
                 \"{BEGIN} SUITE {CLOSE}\"",
                lines[0], lines[1]
            ),
            Self::Order { begin, end } => write!(
                f,
                "the end of the report in line {end} stands before its beginning in line {begin}; exchange the two markers"
            ),
            Self::Within { line } => write!(
                f,
                "another marker stands between the two, in line {line}; a report would overwrite it"
            ),
            Self::Nested => f.write_str(
                "the report itself holds a marker of hotlap (in its description or suite file), so its end could not be \
                 found again",
            ),
        }
    }
}

impl std::error::Error for SpliceError {}

/// A line that is a marker.
struct Marker<'t> {
    is_begin: bool,
    /// The suite that it is for; empty where it names none.
    suite: &'t str,
    /// From 1.
    line: usize,
    /// The bytes of the line, with its end.
    span: Range<usize>,
}

/// The markers of a text, in their order. Those in a block of code are an example, and none.
fn markers(text: &str) -> Vec<Marker<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let span = start..start + line.len();
        start = span.end;
        let bare = line.trim();
        match (fence, fence_of(line)) {
            (Some((open, least)), Some((mark, length, ""))) if mark == open && length >= least => {
                fence = None;
            }
            (None, Some((mark, length, info))) if mark == '~' || !info.contains('`') => {
                fence = Some((mark, length));
            }
            _ => {}
        }
        if fence.is_some() {
            continue;
        }
        let inner = |start: &str| bare.strip_prefix(start)?.strip_suffix(CLOSE);
        let (is_begin, rest) = match (inner(BEGIN), inner(END)) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => continue,
        };
        if rest.starts_with(char::is_whitespace) {
            found.push(Marker {
                is_begin,
                suite: rest.trim(),
                line: number + 1,
                span,
            });
        }
    }
    found
}

/// What a line has that may begin or end a block of code: its mark, how often that stands there, and what follows
/// (`CommonMark` 0.31.2, section 4.5: at most three spaces in front, three marks or more).
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    // A mark of the order of bytes is no part of the text.
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    let inner = line.trim_start_matches(' ');
    let mark = inner.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = inner.trim_start_matches(mark);
    let length = inner.len() - rest.len();
    (line.len() - inner.len() <= 3 && length >= 3).then(|| (mark, length, rest.trim()))
}

/// The suite that the markers for it name: it, or none where only the common pair is there.
pub fn marked_as<'s>(text: &str, suite: &'s str) -> &'s str {
    if markers(text).iter().any(|marker| marker.suite == suite) {
        suite
    } else {
        ""
    }
}

/// A marker as it is written.
fn written(start: &str, suite: &str) -> String {
    if suite.is_empty() {
        format!("{start} {CLOSE}")
    } else {
        format!("{start} {suite} {CLOSE}")
    }
}

/// Where the report of a suite stands: the ends of the two markers that look at each other.
fn place(text: &str, suite: &str) -> Result<Range<usize>, SpliceError> {
    let suite = marked_as(text, suite);
    let all = markers(text);
    let one = |is_begin: bool| {
        let start = if is_begin { BEGIN } else { END };
        let mut of = all
            .iter()
            .filter(|marker| marker.suite == suite && marker.is_begin == is_begin);
        match (of.next(), of.next()) {
            (Some(first), None) => Ok(first),
            (Some(first), Some(second)) => Err(SpliceError::Twice {
                marker: written(start, suite),
                lines: [first.line, second.line],
            }),
            (None, _) => Err(SpliceError::Missing {
                marker: written(start, suite),
                pair: [written(BEGIN, suite), written(END, suite)],
            }),
        }
    };
    let (begin, end) = (one(true)?, one(false)?);
    if end.line < begin.line {
        return Err(SpliceError::Order {
            begin: begin.line,
            end: end.line,
        });
    }
    if let Some(other) = all
        .iter()
        .find(|other| other.line > begin.line && other.line < end.line)
    {
        return Err(SpliceError::Within { line: other.line });
    }
    Ok(begin.span.end..end.span.start)
}

/// That a file can take the report of a suite.
pub fn check(target: &str, suite: &str) -> Result<(), SpliceError> {
    place(target, suite).map(drop)
}

/// `target` with `report` between the markers of the suite, or those that name none, in the place of what stood there. The
/// markers stay, so it can be done again. Lines end as that of the first marker does.
pub fn splice(target: &str, suite: &str, report: &str) -> Result<String, SpliceError> {
    let place = place(target, suite)?;
    let (before, after) = (&target[..place.start], &target[place.end..]);
    let end = if before.ends_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    // A mark in the report's own text looks as it did, and ends nothing.
    let report = ["begin", "end"]
        .into_iter()
        .fold(report.to_owned(), |text, word| {
            let mark = format!("<!-- hotlap:{word}");
            text.replace(&mark, &mark.replace("- h", "-\u{a0}h"))
        });
    let report = report.trim().replace("\r\n", "\n").replace('\n', end);
    let spliced = format!("{before}{end}{report}{end}{end}{after}");
    let again = spliced.len() - after.len();
    match self::place(&spliced, suite) {
        Ok(found) if found == (before.len()..again) => Ok(spliced),
        _ => Err(SpliceError::Nested),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const B: &str = "<!-- hotlap:begin -->";
    const E: &str = "<!-- hotlap:end -->";

    #[test]
    fn a_report_is_spliced_between_markers_again_and_again() {
        let target = format!("# Mine\n\n{B}\nold\n{E}\n\nThe end.");
        let once = splice(&target, "x", "# New\n").unwrap();
        assert_eq!(once, format!("# Mine\n\n{B}\n\n# New\n\n{E}\n\nThe end."));
        assert_eq!(splice(&once, "x", "# New\n").unwrap(), once);
    }

    #[test]
    fn what_stands_outside_keeps_every_byte() {
        let target = format!("\u{feff}a \t\r\n\n{B}\r\nx\r\n  {E}  \r\nb\n\r\n");
        let done = splice(&target, "x", "1\n2\n").unwrap();
        let wanted = format!("\u{feff}a \t\r\n\n{B}\r\n\r\n1\r\n2\r\n\r\n  {E}  \r\nb\n\r\n");
        assert_eq!(done, wanted);
        assert_eq!(splice(&done, "x", "1\n2").unwrap(), done);
    }

    #[test]
    fn each_suite_may_have_a_pair_of_its_own() {
        let target = "<!-- hotlap:begin a -->\n<!-- hotlap:end a -->\n<!-- hotlap:begin -->\n<!-- hotlap:end -->\n";
        let a = splice(target, "a", "A").unwrap();
        let both = splice(&a, "b", "B").unwrap();
        assert_eq!(
            both,
            "<!-- hotlap:begin a -->\n\nA\n\n<!-- hotlap:end a -->\n<!-- hotlap:begin -->\n\nB\n\n<!-- hotlap:end -->\n"
        );
    }

    #[test]
    fn markers_in_code_are_an_example() {
        let example = format!("~~~\n```\n{B}\n{E}\n~~~\n");
        let target = format!("{example}{B}\n{E}\n");
        assert_eq!(
            splice(&target, "x", "N").unwrap(),
            format!("{example}{B}\n\nN\n\n{E}\n")
        );
        // Within the report too, where its suite file is shown.
        let shown = format!("```toml\n{B}\n```");
        assert!(splice(&target, "x", &shown).is_ok());
    }

    #[test]
    fn only_what_markdown_takes_for_a_fence_is_one() {
        let takes = |text: &str| check(&format!("{text}\n{B}\n{E}\n"), "x").is_ok();
        for text in [
            "```x```",
            "``` a`b",
            "    ```",
            "\t~~~",
            "``",
            "~~~ a`b\n~~~",
            "```\n    ```\n```",
            "````\n```\n`````",
            "```\n~~~\n``` x\n   ```  ",
        ] {
            assert!(takes(text), "{text:?}");
        }
        for text in [
            "```x",
            "   ~~~ a`b",
            "````\n```",
            "```\n``` x",
            "```\n    ```",
            "~~~\n```",
        ] {
            assert!(!takes(text), "{text:?}");
        }
    }

    #[test]
    fn a_file_without_a_good_pair_is_an_error() {
        let of = |text: &str| check(text, "x").unwrap_err();
        assert!(
            matches!(of(&format!("{E}\n")), SpliceError::Missing { marker, .. } if marker == B)
        );
        assert!(
            matches!(of(&format!("{B}\n")), SpliceError::Missing { marker, .. } if marker == E)
        );
        assert_eq!(
            of(&format!("\n{E}\n{B}\n")),
            SpliceError::Order { begin: 3, end: 2 }
        );
        assert!(matches!(
            of(&format!("{B}\n{B}\n{E}\n")),
            SpliceError::Twice { lines: [1, 2], .. }
        ));
        let other = format!("{B}\n<!-- hotlap:begin y -->\n{E}\n");
        assert_eq!(of(&other), SpliceError::Within { line: 2 });
        // In a line with other text there is none.
        assert!(matches!(
            of(&format!("{B}{E}\n")),
            SpliceError::Missing { .. }
        ));
        let target = format!("{B}\n{E}\n");
        // A mark in the report's text is text.
        let quoted = splice(&target, "x", &format!("{E}\n{B}")).unwrap();
        assert_eq!(
            splice(&quoted, "x", "new").unwrap(),
            format!("{B}\n\nnew\n\n{E}\n")
        );
        // A fence that is left open would hide the end.
        assert_eq!(
            splice(&target, "x", "```\n").unwrap_err(),
            SpliceError::Nested
        );
        for error in [
            of(""),
            of(&format!("{E}\n{B}\n")),
            of(&format!("{B}\n{B}\n")),
        ] {
            assert!(error.to_string().contains("line"), "{error}");
        }
    }
}
