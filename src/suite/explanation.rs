//! What is to be said of each kind of mistake at length: the texts of
//! `explain/`, taken apart into prose and examples. An example is fenced as
//! `toml wrong` or `toml right`; one that has no server or no load at all stands
//! for a suite that has them.

use super::code::{CODES, TEXTS};
use super::recover::nearest;

/// What is to be said of a kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// The code, such as `unknown-key`.
    pub code: &'static str,
    /// What it means, in one sentence.
    pub meaning: &'static str,
    text: &'static str,
}

/// A piece of an explanation. Each ends with a line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Lines for people, at most 80 columns wide.
    Prose(&'static str),
    /// TOML that has the mistake.
    Wrong(&'static str),
    /// TOML that has none.
    Right(&'static str),
}

impl Explanation {
    /// Its pieces, in order.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = self.text;
        while let Some((prose, fenced)) = rest.split_once("```toml ") {
            if !prose.trim().is_empty() {
                parts.push(Part::Prose(prose.trim_start_matches('\n')));
            }
            // The text is part of the program: `tests/explain.rs` holds that its fences are in order.
            let (kind, body) = fenced.split_once('\n').unwrap_or((fenced, ""));
            let (example, after) = body.split_once("```\n").unwrap_or((body, ""));
            parts.push(if kind == "wrong" {
                Part::Wrong(example)
            } else {
                Part::Right(example)
            });
            rest = after;
        }
        if !rest.trim().is_empty() {
            parts.push(Part::Prose(rest.trim_start_matches('\n')));
        }
        parts
    }
}

/// What is to be said of a code.
pub fn explain(code: &str) -> Option<Explanation> {
    CODES
        .iter()
        .zip(TEXTS)
        .find(|((known, _), _)| *known == code)
        .map(|((code, meaning), text)| Explanation {
            code,
            meaning: meaning.trim(),
            text,
        })
}

/// The code that a mistyped one is closest to, where one is close.
pub fn nearest_code(word: &str) -> Option<&'static str> {
    let known: Vec<&str> = CODES.iter().map(|(code, _)| *code).collect();
    nearest(word, &known)
}
