//! A run in a sentence, and what its suite asks: what an index, a badge or a README has room for.

use super::View;
use super::show;
use super::view::Finding;
use pulldown_cmark::{Event, Options, Parser, TagEnd};

/// The question of a description in Markdown: its first sentence with a question mark, else its first one, as plain text.
pub(super) fn question(description: &str) -> Option<String> {
    let mut sentences = Vec::new();
    for paragraph in paragraphs(description) {
        sentences.extend(split(&paragraph));
    }
    let asked = sentences.iter().position(|one| one.ends_with('?'));
    let first = asked.unwrap_or(0);
    (first < sentences.len()).then(|| sentences.swap_remove(first))
}

/// The texts of the paragraphs.
fn paragraphs(markdown: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut text = String::new();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::End(TagEnd::Paragraph) => all.push(std::mem::take(&mut text)),
            Event::Start(_) | Event::End(TagEnd::Heading(_) | TagEnd::CodeBlock) => {
                // What is no paragraph asks nothing.
                if matches!(event, Event::End(_)) {
                    text.clear();
                }
            }
            _ => {}
        }
    }
    all
}

/// The sentences of a text: each ends at a mark with a space or nothing behind it.
fn split(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, mark) in text.char_indices() {
        let behind = at + mark.len_utf8();
        let ends = text[behind..]
            .chars()
            .next()
            .is_none_or(char::is_whitespace);
        if matches!(mark, '.' | '?' | '!') && ends {
            sentences.push(text[start..behind].trim().to_owned());
            start = behind;
        }
    }
    sentences.push(text[start..].trim().to_owned());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// The run in a sentence: the gates that fell, else a change over the nights that this one is the first to tell, else what
/// became worse or better since an earlier run, else the largest difference that was shown, else the first figure.
pub(super) fn headline(view: &View) -> String {
    fallen(view)
        .or_else(|| told(view))
        .or_else(|| changed(view))
        .or_else(|| found(&view.findings))
        .or_else(|| first(view))
        .unwrap_or_else(|| "No cell has figures.".to_owned())
}

fn fallen(view: &View) -> Option<String> {
    let gates = view.gates.as_ref()?;
    let first = gates.fallen.first()?;
    // What stands behind the colon explains a rule, which a sentence has no room for.
    let said = gates.sentence.trim_end_matches('.');
    let said = said.split(':').next().unwrap_or(said);
    let more = match gates.fallen.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(format!(
        "{said} ({} of {}{more}).",
        first.metric, first.title
    ))
}

/// The largest change over the nights that is new, for the worse where there is one.
fn told(view: &View) -> Option<String> {
    let told = &view.nights.as_ref()?.told;
    let one = told.first()?;
    let part = one.largest()?;
    let all: usize = told.iter().map(|change| change.parts.len()).sum();
    let more = match all - 1 {
        0 => String::new(),
        more => format!(", and {}", show::plural(more, "more change")),
    };
    Some(format!(
        "{}: {} {} {} ({}) {}: {}{more}.",
        one.title, part.metric, part.verb, part.size, part.figures, one.between, one.word
    ))
}

/// What has become of the cells since an earlier run.
fn changed(view: &View) -> Option<String> {
    let since = view.since.as_ref()?;
    let when = if since.old.date.is_empty() {
        &since.old.run
    } else {
        &since.old.date
    };
    let lost = since
        .lost
        .iter()
        .map(|lost| format!("{} has no figures any more", lost.title));
    let of = |word: &'static str, all: &[super::since::SentenceView]| -> Vec<String> {
        let part = |one: &super::since::SentenceView| {
            let part = one.parts.first()?;
            Some(format!(
                "{}, {} {} ({word})",
                one.title, part.metric, part.change
            ))
        };
        all.iter().filter_map(part).collect()
    };
    let mut all: Vec<String> = lost.chain(of("worse", &since.worse)).collect();
    if all.is_empty() {
        all = of("better", &since.better);
    }
    let more = all.len().saturating_sub(1);
    let more = match more {
        0 => String::new(),
        more => format!(", and {} more", show::plural(more, "cell")),
    };
    all.first().map(|one| format!("Since {when}: {one}{more}."))
}

/// The finding with the largest difference that was shown.
fn found(findings: &[Finding]) -> Option<String> {
    let size = |finding: &Finding| finding.ratio_raw.ln().abs();
    let largest = |word: &str| {
        let of = findings.iter().filter(|finding| finding.verdict == word);
        // Of equal ones the first in the file.
        of.rev().max_by(|a, b| size(a).total_cmp(&size(b)))
    };
    if let Some(finding) = largest("differ") {
        return Some(format!("{}.", sentence(finding)));
    }
    if findings
        .iter()
        .any(|finding| finding.verdict != "not_shown")
    {
        let finding = largest("limited").or_else(|| largest("too_few"))?;
        return Some(format!("{} (no verdict).", sentence(finding)));
    }
    match findings {
        [] => None,
        [one] => Some(format!("{}.", sentence(one))),
        many => Some(format!(
            "No difference is shown in {} comparisons.",
            many.len()
        )),
    }
}

/// A finding as the report says it, without what comes behind the verdict.
pub(super) fn sentence(finding: &Finding) -> String {
    let Finding {
        subject,
        object,
        metric,
        ratio,
        ..
    } = finding;
    let context = finding
        .context
        .as_ref()
        .map_or_else(String::new, |context| format!("{context}: "));
    let said = match (finding.verdict, &finding.change, &finding.could_have_seen) {
        ("not_shown", _, Some(least)) => {
            format!(
                "{subject}: no difference from {object} shown in {metric} (could have seen {least})"
            )
        }
        ("differ", Some(change), _) if !finding.less_is_better => {
            let verb = if finding.less { "costs" } else { "gains" };
            format!("{subject} {verb} {change} of the {metric} of {object}")
        }
        _ => {
            let verb = if *metric == "requests per second" {
                "serves"
            } else {
                "has"
            };
            format!("{subject} {verb} {ratio} × the {metric} of {object}")
        }
    };
    format!("{context}{said}")
}

/// The best of the first board, or its only cell.
fn first(view: &View) -> Option<String> {
    let board = view.boards.first()?;
    let best = board.rows.first()?;
    let metric = if board.metric == "Requests/s" {
        "requests per second"
    } else {
        board.metric
    };
    let figure = format!("{}{}", best.bound, best.figure);
    Some(if best.shared {
        format!(
            "{} and others share the first place of {}; it has {figure} {metric}.",
            best.title,
            board.rows.len()
        )
    } else if board.rows.len() > 1 {
        format!(
            "{} is first of {} with {figure} {metric}.",
            best.title,
            board.rows.len()
        )
    } else {
        format!("{}: {figure} {metric}.", best.title)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_asks_with_its_first_question() {
        let asks = |text: &str| question(text);
        assert_eq!(
            asks("A body of 4.5 KiB. *Which `server` pays more?* Much more follows.").as_deref(),
            Some("Which server pays more?")
        );
        assert_eq!(
            asks("# Is this one?\n\nOne sentence.\nAnother.").as_deref(),
            Some("One sentence.")
        );
        assert_eq!(asks("no end").as_deref(), Some("no end"));
        assert_eq!(asks(""), None);
    }
}
