//! Since when a suite stands where it stands, as its nights tell: what the index says.

use super::Digest;
use crate::stats::{Known, Series};

const CHANGE_FOUND: &str = "change found";
const FIRST_NIGHT: &str = "first night";

/// Since when a suite stands where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unchanged {
    /// When that night began, RFC 3339 in UTC.
    pub(super) since: String,
    /// What was then: `change found`, `another machine`, `first night`.
    pub(super) why: &'static str,
}

/// Since when no change was told of any metric of any cell: the night of the newest one, else the first night of the newest
/// series. None where the run is no night.
pub(super) fn unchanged(digest: &Digest, all: &[Series]) -> Option<Unchanged> {
    if !digest.whole {
        return None;
    }
    let first = all
        .iter()
        .filter_map(|one| Some(one.nights.first()?.time.as_str()))
        .min()
        .unwrap_or(&digest.started);
    let (since, _, why) = all
        .iter()
        .filter_map(|one| newest(one, first))
        .max()
        .unwrap_or((first, 0, FIRST_NIGHT));
    Some(Unchanged {
        since: since.to_owned(),
        why,
    })
}

/// When a series was last told to change, else when it began, with a rank and what was then. `first` is when the suite's first
/// night began.
fn newest<'a>(one: &'a Series, first: &str) -> Option<(&'a str, u8, &'static str)> {
    let begin = one.nights.first()?.time.as_str();
    let mut changes = one.changes.iter().rev();
    let told = changes.find(|change| change.known != Known::Unconfirmed);
    Some(match (told, one.begins.words()) {
        // What was found is said before what began in the same night.
        (Some(change), _) => (one.nights[change.after].time.as_str(), 2, CHANGE_FOUND),
        (None, Some(why)) => (begin, 1, why),
        (None, None) if begin == first => (begin, 0, FIRST_NIGHT),
        (None, None) => (begin, 1, "new cell"),
    })
}
