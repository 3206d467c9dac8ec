//! Since when a suite stands where it stands: the page tells since when the run before did, and the two runs are compared.

use super::reports::with_input;
use crate::publish::shown;
use crate::record::Baseline;
use crate::report::{self, Digest, Standing, standing};
use crate::store::{self, Stored};
use std::path::Path;

/// When the oldest run began since which no verdict says that anything has changed; none where the run before is not there to be
/// compared, or no verdict is possible.
pub(super) fn unchanged_since(stored: &Stored, digest: &Digest, out: &Path) -> Option<String> {
    let before = shown(out, digest)?;
    if before.run == digest.run {
        return before.unchanged_since;
    }
    if before.run > digest.run || !digest.whole {
        return None;
    }
    let old = old(stored, &before, out)?;
    let new = with_input(stored, None, report::baseline);
    match standing(&old, &new) {
        Standing::Changed => Some(digest.started.clone()),
        Standing::Unchanged => Some(before.unchanged_since.unwrap_or(before.started)),
        Standing::Unknown => None,
    }
}

/// What is known of the run that the page shows: its records, or what this run was compared with.
fn old(stored: &Stored, before: &Digest, out: &Path) -> Option<Baseline> {
    let kept = stored.baseline.as_ref();
    if let Some(kept) = kept.filter(|kept| kept.run == before.run) {
        return Some(kept.clone());
    }
    let folder = store::find(out, Some(&before.suite), &before.run.0).ok()?;
    let old = store::open(&folder).ok()?;
    Some(with_input(&old, None, report::baseline))
}
