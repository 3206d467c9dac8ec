//! `hotlap explain`: what a kind of mistake means, with an example of it and what
//! to write instead.

use super::exit::Exit;
use super::terminal::{print, say_error};
use crate::suite::{self, CODES, Explanation, Part};
use clap::Args;
use std::fmt::Write as _;

/// Lines of a list end here, as those of the explanations do.
const COLUMNS: usize = 80;

/// Explain a kind of mistake, with an example and what to write instead
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  hotlap explain conflict\n  hotlap explain")]
pub(super) struct ExplainArgs {
    /// The code in brackets behind `error`; all of them are listed unless given
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

pub(super) fn main(arguments: &ExplainArgs) -> Exit {
    let Some(typed) = &arguments.code else {
        print(&list());
        return Exit::Fine;
    };
    let code = bare(typed);
    if let Some(explanation) = suite::explain(&code) {
        print(&as_text(&explanation));
        return Exit::Fine;
    }
    let hint = suite::nearest_code(&code).map_or_else(
        || "`hotlap explain` lists them".to_owned(),
        |right| format!("did you mean `{right}`?"),
    );
    say_error(&format!(
        "there is no code `{}`; {hint}",
        code.escape_debug()
    ));
    Exit::Usage
}

/// A code as it was copied from what hotlap said: `error[conflict]: …`.
fn bare(typed: &str) -> String {
    let inside = typed
        .split_once('[')
        .map_or(typed, |(_, rest)| rest.split(']').next().unwrap_or(rest));
    inside.trim().to_lowercase()
}

fn as_text(explanation: &Explanation) -> String {
    let mut out = format!("{}: {}\n", explanation.code, explanation.meaning);
    for part in explanation.parts() {
        match part {
            Part::Prose(text) => {
                out.push('\n');
                out.push_str(text.trim_end());
                out.push('\n');
            }
            Part::Wrong(toml) => example(&mut out, "wrong", toml),
            Part::Right(toml) => example(&mut out, "right", toml),
        }
    }
    out
}

/// An example, set in, under a word that keeps two in a row apart.
fn example(out: &mut String, word: &str, toml: &str) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\n  # {word}\n");
    for line in toml.lines() {
        out.push_str(format!("  {line}").trim_end());
        out.push('\n');
    }
}

/// Every code with what it means.
fn list() -> String {
    let width = CODES.iter().map(|(code, _)| code.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (code, meaning) in CODES {
        let mut line = format!("{code:width$} ");
        for word in meaning.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > COLUMNS {
                out.push_str(&line);
                out.push('\n');
                line = " ".repeat(width + 1);
            }
            line.push(' ');
            line.push_str(word);
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}
