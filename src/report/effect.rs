//! What a report says of toggles whose effect nobody has seen.

use crate::spec::{Cell, short_commit};
use crate::stats::{Effect, Hidden, Pair, effect};

/// What must be known of two cells that look the same from outside; none where they do not, or nothing is known.
pub(super) fn caution(pair: Pair<'_, '_>) -> Option<String> {
    let named = |cell: &Cell| {
        let choice = cell
            .toggles
            .iter()
            .find(|choice| choice.toggle == pair.toggle);
        choice.map(|choice| format!("{} {}", choice.toggle, choice.label))
    };
    let (of, to) = (named(pair.of.cell)?, named(pair.to.cell)?);
    if pair.of.cell.is_same_revision(pair.to.cell) == Some(true) {
        let commit = pair.of.cell.commit.as_deref().map(short_commit)?;
        return Some(format!(
            "{of} and {to} are the same revision ({commit}, no tracked file changed): whatever lies between their \
             figures is chance, unless files differ that git does not track."
        ));
    }
    match effect(pair.of, pair.to) {
        Effect::Unknown | Effect::Proved | Effect::Seen(_) | Effect::SameRevision => None,
        Effect::OnlyConfigured(hidden) => Some(format!(
            "{of} and {to} differ in {}, and in nothing that can be seen from outside: {}. An \"expect\" would \
             prove the effect.",
            listed(&hidden.reached),
            seen(&hidden),
        )),
        Effect::Nothing(hidden) => Some(format!(
            "No observable effect, so {of} and {to} are not compared, and whatever lies between their figures is \
             chance: {}.",
            seen(&hidden),
        )),
    }
}

/// What is the same, and what did not reach the server.
fn seen(hidden: &Hidden) -> String {
    let lost = hidden.lost.iter().map(String::as_str);
    let said: Vec<&str> = std::iter::once(same(hidden)).chain(lost).collect();
    said.join("; ")
}

fn same(hidden: &Hidden) -> &'static str {
    if hidden.bodies_vary {
        "status, headers, sizes and numbers of processes are the same, and bodies differ from answer to answer"
    } else {
        "answers, headers, sizes and numbers of processes are the same"
    }
}

/// `a, b and c`.
fn listed(words: &[String]) -> String {
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => words.concat(),
    }
}
