//! Links of a text that moves to another folder: each relative one is written anew, so that it leads where it led. Links to
//! other sites, to a place in the same page, and what stands in code stay as they are.

use crate::report::{PLOTS, encode};
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// Attributes of HTML that hold a link.
const ATTRIBUTES: [&str; 3] = ["href", "src", "srcset"];

/// The folders that links of a report are relative to, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// That of the report.
    pub report: PathBuf,
    /// That in which its folder of plots lies.
    pub plots: PathBuf,
}

/// Markdown whose links are relative to these places, for a file in the folder `to`, which is absolute.
pub fn relink(markdown: &str, places: &Places, to: &Path) -> String {
    let folders = Folders {
        from: parts(&places.report),
        plots: parts(&places.plots),
        to: parts(to),
    };
    if folders.from == folders.to && folders.plots == folders.to {
        return markdown.to_owned();
    }
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let parser = Parser::new_ext(markdown, options);
    for (_, definition) in parser.reference_definitions().iter() {
        let span = definition.span.clone();
        if let Some(at) = markdown[span.clone()].find("]:") {
            changes.extend(folders.destination(markdown, span.start + at + 2, span.end));
        }
    }
    for (event, span) in parser.into_offset_iter() {
        match event {
            Event::Start(
                Tag::Link {
                    link_type: LinkType::Inline,
                    ..
                }
                | Tag::Image {
                    link_type: LinkType::Inline,
                    ..
                },
            ) => {
                if let Some(at) = markdown[span.clone()].rfind("](") {
                    changes.extend(folders.destination(markdown, span.start + at + 2, span.end));
                }
            }
            Event::Html(_) | Event::InlineHtml(_) => {
                folders.attributes(markdown, span, &mut changes);
            }
            _ => {}
        }
    }
    changed(markdown, changes)
}

/// The text with these ranges exchanged.
fn changed(text: &str, mut changes: Vec<(Range<usize>, String)>) -> String {
    changes.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in changes {
        if range.start >= done {
            out.push_str(&text[done..range.start]);
            out.push_str(&new);
            done = range.end;
        }
    }
    out.push_str(&text[done..]);
    out
}

/// The names of the folders of a path, as links hold them.
fn parts(path: &Path) -> Vec<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => parts.push(encode(&name.to_string_lossy())),
            Component::ParentDir => {
                parts.pop();
            }
            _ => {}
        }
    }
    parts
}

struct Folders {
    from: Vec<String>,
    plots: Vec<String>,
    to: Vec<String>,
}

impl Folders {
    /// The destination of a link that begins at `start`, where it changes.
    fn destination(&self, text: &str, start: usize, end: usize) -> Option<(Range<usize>, String)> {
        let rest = &text[start..end];
        let start = start + rest.len() - rest.trim_start().len();
        let rest = &text[start..end];
        let (start, length) = if let Some(inner) = rest.strip_prefix('<') {
            (start + 1, inner.find('>')?)
        } else {
            (start, bare_length(rest))
        };
        let range = start..start + length;
        let moved = self.moved(&text[range.clone()])?;
        Some((range, moved))
    }

    /// The links in attributes of a piece of HTML.
    fn attributes(
        &self,
        text: &str,
        span: Range<usize>,
        changes: &mut Vec<(Range<usize>, String)>,
    ) {
        let html = &text[span.clone()];
        // Letters of ASCII only are changed, so places stay.
        let lower = html.to_ascii_lowercase();
        for name in ATTRIBUTES {
            for (at, _) in lower.match_indices(name) {
                let before = html[..at].chars().next_back();
                let value = &html[at + name.len()..];
                let quoted = value.trim_start().strip_prefix('=').map(str::trim_start);
                let (Some(true), Some(quoted)) = (before.map(char::is_whitespace), quoted) else {
                    continue;
                };
                let Some(mark) = quoted.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
                    continue;
                };
                let start = html.len() - quoted.len() + 1;
                let Some(length) = html[start..].find(mark) else {
                    continue;
                };
                let value = &html[start..start + length];
                let moved = if name == "srcset" {
                    self.set(value)
                } else {
                    self.moved(value)
                };
                let range = span.start + start..span.start + start + length;
                changes.extend(moved.map(|moved| (range, moved)));
            }
        }
    }

    /// `a.svg 1x, b.svg 2x`.
    fn set(&self, value: &str) -> Option<String> {
        let one = |candidate: &str| {
            let candidate = candidate.trim();
            let (link, rest) = candidate.split_at(candidate.find(' ').unwrap_or(candidate.len()));
            format!(
                "{}{rest}",
                self.moved(link).unwrap_or_else(|| link.to_owned())
            )
        };
        let moved = value.split(',').map(one).collect::<Vec<_>>().join(", ");
        (moved != value).then_some(moved)
    }

    /// A link as it is from the other folder; none where it stays as it is.
    fn moved(&self, link: &str) -> Option<String> {
        let (path, tail) = link.split_at(link.find(['#', '?']).unwrap_or(link.len()));
        if path.is_empty() || path.starts_with('/') || has_scheme(path) || path.contains('\\') {
            return None;
        }
        let is_plot = path.split('/').next() == Some(PLOTS);
        let base = if is_plot { &self.plots } else { &self.from };
        let mut target: Vec<&str> = base.iter().map(String::as_str).collect();
        let is_folder = path.ends_with('/');
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    target.pop();
                }
                name => target.push(name),
            }
        }
        let common = target
            .iter()
            .zip(&self.to)
            .take_while(|(a, b)| *a == b)
            .count();
        let mut out = vec![".."; self.to.len() - common];
        out.extend(&target[common..]);
        let mut out = out.join("/");
        if out.is_empty() {
            out.push('.');
        }
        if is_folder {
            out.push('/');
        }
        Some(format!("{out}{tail}"))
    }
}

/// `https:`, `mailto:`.
fn has_scheme(link: &str) -> bool {
    let Some((scheme, _)) = link.split_once(':') else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// How long a destination without angle brackets is: until a space, or a bracket that it did not open.
fn bare_length(text: &str) -> usize {
    let mut open = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {}
            '(' => open += 1,
            ')' if open == 0 => return at,
            ')' => open -= 1,
            c if c.is_whitespace() => return at,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(text: &str) -> String {
        let places = Places {
            report: PathBuf::from("/repo/reports/a b/runs/1"),
            plots: PathBuf::from("/repo/reports/a b"),
        };
        relink(text, &places, Path::new("/repo"))
    }

    #[test]
    fn relative_links_lead_where_they_led() {
        for (text, wanted) in [
            (
                "[x](../../README.md#a-b)",
                "[x](reports/a%20b/README.md#a-b)",
            ),
            (
                "![x](plots/t.svg \"T\")",
                "![x](reports/a%20b/plots/t.svg \"T\")",
            ),
            ("[x](<plots/a b.svg>)", "[x](<reports/a%20b/plots/a b.svg>)"),
            (
                "[![i](p.svg)](../../)",
                "[![i](reports/a%20b/runs/1/p.svg)](reports/a%20b/)",
            ),
            ("[x](a(1).md)", "[x](reports/a%20b/runs/1/a(1).md)"),
            (
                "[x][r]\n\n[r]: y.md \"T\"\n",
                "[x][r]\n\n[r]: reports/a%20b/runs/1/y.md \"T\"\n",
            ),
            ("[x](../../../..)", "[x](.)"),
            (
                "<picture>\n<source srcset=\"d.svg 1x, e.svg 2x\">\n<img alt=\"src=\" src='l.svg'>\n</picture>",
                "<picture>\n<source srcset=\"reports/a%20b/runs/1/d.svg 1x, reports/a%20b/runs/1/e.svg 2x\">\n\
                 <img alt=\"src=\" src='reports/a%20b/runs/1/l.svg'>\n</picture>",
            ),
        ] {
            assert_eq!(moved(text), wanted);
        }
    }

    #[test]
    fn other_links_and_code_stay() {
        for text in [
            "[x](https://e.org/a) [y](#z) [w](/root) [m](mailto:a@b.c) <http://a.b>",
            "`[x](y)`",
            "```\n[x](y.md)\n<a href=\"z\">\n```\n",
            "\\[x](y)",
        ] {
            assert_eq!(moved(text), text);
        }
    }

    #[test]
    fn there_and_back_is_the_same() {
        let text = "[x](plots/t.svg) <a href=\"../q.html\">q</a>\n";
        let (a, b) = (Path::new("/r/s/runs/1"), Path::new("/r/s"));
        let all_in = |folder: &Path| Places {
            report: folder.to_owned(),
            plots: folder.to_owned(),
        };
        let there = relink(text, &all_in(a), b);
        assert_eq!(relink(&there, &all_in(b), a), text);
    }
}
