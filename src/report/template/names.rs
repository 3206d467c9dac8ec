//! Names that are near a mistyped one.

/// So many names are listed where none is near.
const MOST_LISTED: usize = 12;

/// The name that is nearest to a mistyped one, where one is near: a letter in three may be wrong.
pub(super) fn nearest<'a>(word: &str, names: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), *name))
        .filter(|(distance, name)| *distance <= limit && *distance < name.chars().count())
        .min()
        .map(|(_, name)| name)
}

/// The names, or the first of them.
pub(super) fn some_of(names: &[&str]) -> String {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let shown: Vec<String> = sorted
        .iter()
        .take(MOST_LISTED)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = if sorted.len() > MOST_LISTED {
        ", … (docs/templates.md has all)"
    } else {
        ""
    };
    format!("{}{more}", shown.join(", "))
}
