//! The index of all suites, `reports/README.md`, made from what their pages say of themselves. Pages of earlier versions say less; where
//! something is not known a dash stands.

use crate::report::{Digest, anchor, encode, escape};
use std::fmt::Write as _;

/// The first line of an index, by which it is known as hotlap's own.
pub(super) const INDEX: &str =
    "<!-- hotlap: index; `hotlap` writes this file anew after each run -->";

/// Where nothing is known.
const NONE: &str = "–";
/// The heading of a report under which its run, machine and versions are.
const METHOD: &str = "How it was measured";

/// The index: a row a suite and profile, with links to their pages.
pub fn index(digests: &[Digest]) -> String {
    let mut out = format!("{INDEX}\n# Benchmarks\n\n");
    // A folder of suites without any gate has no column of them.
    let gated = digests.iter().any(|digest| digest.gates > 0);
    let (head, rule) = if gated {
        (" Gates |", ":--|")
    } else {
        ("", "")
    };
    let _ = writeln!(
        out,
        "| Suite | In a sentence | Newest run | Machine | Unchanged since | Cells |{head}\n|:--|:--|:--|:--|:--|:--|{rule}",
    );
    for digest in digests {
        let link = format!("{}/{}", encode(&digest.suite), encode(&digest.page_name()));
        let gates = if gated {
            format!(" {} |", gates(digest))
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "| {} | {} | [{}]({link}#{}) | {} | {} | {} |{gates}",
            suite(digest, &link),
            told(digest.headline.as_deref()),
            unbroken(&escape(&when(&digest.started))),
            encode(&anchor(METHOD)),
            told(digest.machine.as_deref()),
            unchanged(digest),
            cells(digest),
        );
    }
    let _ = write!(
        out,
        "\nTimes are in UTC. *Unchanged since* is the night of the newest change that was found in any figure of any cell, else the first night on this machine and in this configuration.\n"
    );
    out
}

/// Its title, which leads to the page; the profile where it is not the default; what it asks.
fn suite(digest: &Digest, link: &str) -> String {
    let mut cell = format!("[{}]({link})", escape(&digest.title));
    if let Some(profile) = &digest.profile {
        let _ = write!(cell, " (profile {})", escape(profile));
    }
    if let Some(question) = &digest.question {
        let _ = write!(cell, "<br>{}", escape(question));
    }
    cell
}

fn told(text: Option<&str>) -> String {
    text.map_or_else(|| NONE.to_owned(), escape)
}

/// `2026-11-30 19:05`, in UTC.
fn when(started: &str) -> String {
    let minutes = started.get(..16).unwrap_or(started);
    minutes.replace('T', " ")
}

/// Since when nothing has changed, and what was then.
fn unchanged(digest: &Digest) -> String {
    let Some(since) = &digest.unchanged_since else {
        return NONE.to_owned();
    };
    let day = unbroken(&escape(day(since)));
    match &digest.unchanged_why {
        Some(why) => format!("{day} ({})", escape(why)),
        None => day,
    }
}

fn day(started: &str) -> &str {
    started.get(..10).unwrap_or(started)
}

/// A date in one line, however narrow its column.
fn unbroken(date: &str) -> String {
    date.replace('-', "\u{2011}").replace(' ', "\u{a0}")
}

/// How many there are, and what became of those without figures.
fn cells(digest: &Digest) -> String {
    let counts = [
        (digest.failed, "failed"),
        (digest.invalid, "invalid"),
        (digest.skipped, "skipped"),
    ];
    let mut parts = vec![digest.cells.to_string()];
    let gone = counts.iter().filter(|(count, _)| *count > 0);
    parts.extend(gone.map(|(count, word)| format!("{count} {word}")));
    parts.join(", ")
}

/// What became of the gates of a suite.
fn gates(digest: &Digest) -> String {
    match (digest.gates, digest.gates_fell) {
        (0, _) => NONE.to_owned(),
        (all, 0) => format!("{all} held"),
        (all, fell) => format!("**{fell} of {all} fell**"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(suite: &str) -> Digest {
        let digest = serde_json::json!({
            "run": "2026-1", "suite": suite, "title": "a|b --> <x>", "profile": null, "started": "2026-11-30T19:05:00Z",
            "cells": 5, "measured": 3, "failed": 1, "invalid": 0, "skipped": 1, "whole": true,
        });
        serde_json::from_value(digest).unwrap()
    }

    fn rows(index: &str) -> Vec<&str> {
        index
            .lines()
            .filter(|line| line.starts_with("| ["))
            .collect()
    }

    #[test]
    fn a_row_tells_what_a_page_knows() {
        let full = Digest {
            question: Some("What | costs what?".to_owned()),
            headline: Some("gzip costs 22 % of <it>.".to_owned()),
            machine: Some("A CPU, 2 CPUs".to_owned()),
            unchanged_since: Some("2026-11-28T01:00:00Z".to_owned()),
            unchanged_why: Some("another machine".to_owned()),
            profile: Some("quick".to_owned()),
            ..digest("a b")
        };
        let index = index(&[full]);
        let row = rows(&index)[0]
            .replace('\u{2011}', "-")
            .replace('\u{a0}', " ");
        assert_eq!(
            row,
            "| [a\\|b --&gt; &lt;x&gt;](a%20b/README.quick.md) (profile quick)<br>What \\| costs what? | \
             gzip costs 22 % of &lt;it&gt;. | [2026-11-30 19:05](a%20b/README.quick.md#how-it-was-measured) | \
             A CPU, 2 CPUs | 2026-11-28 (another machine) | 5, 1 failed, 1 skipped |"
        );
    }

    #[test]
    fn the_index_has_gates_where_a_suite_has_some() {
        let plain = digest("json");
        assert!(!index(std::slice::from_ref(&plain)).contains("Gates"));
        let gated = |fell| Digest {
            gates: 7,
            gates_fell: fell,
            ..digest("gzip")
        };
        let index = index(&[gated(0), gated(2), plain]);
        let rows = rows(&index);
        let ends: Vec<&str> = rows
            .iter()
            .filter_map(|line| line.rsplit(" | ").next())
            .collect();
        assert_eq!(ends, ["7 held |", "**2 of 7 fell** |", "– |"]);
        assert!(index.contains("| Cells | Gates |\n|:--|:--|:--|:--|:--|:--|:--|\n"));
    }
}
