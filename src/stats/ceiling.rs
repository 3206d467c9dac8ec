//! How near a cell comes to what the generator can send on its machine at all.

use super::summary::CellSummary;
use crate::record::Ceiling;
use crate::spec::{Http, LoadSpec};

/// From this share of the ceiling on a cell is marked: the generator has a part in its figure.
const NEAR: f64 = 0.70;

/// A cell held against a ceiling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfCeiling<'a> {
    /// The median of the cell's requests per second as a share of the ceiling.
    pub share: f64,
    /// The ceiling.
    pub ceiling: &'a Ceiling,
}

impl OfCeiling<'_> {
    /// Whether it is more than 70 %.
    pub fn is_near(&self) -> bool {
        self.share > NEAR
    }
}

/// Whether the ceiling says something of a load: a closed loop by the built-in generator, over connections that are kept, with
/// one plain request of HTTP/1.1 in flight on each.
pub fn has_ceiling(work: &LoadSpec) -> bool {
    work.generator.is_none()
        && work.keep_alive
        && work.pace.is_none()
        && work.http == Http::One
        && work.pipelining == 1
        && work.tls.is_none()
}

/// A cell held against the ceiling of as many threads as its trials had; none where there is no such ceiling.
pub fn of_ceiling<'a>(cell: &CellSummary<'_>, ceilings: &'a [Ceiling]) -> Option<OfCeiling<'a>> {
    if !has_ceiling(&cell.cell.work) {
        return None;
    }
    let rate = cell.metric("requests_per_second")?.median;
    let threads = cell.valid().next()?.load.as_ref()?.generator_threads;
    let mut same = ceilings.iter().filter(|one| one.threads == threads);
    let ceiling = same.find(|one| one.requests_per_second > 0.0)?;
    Some(OfCeiling {
        share: rate / ceiling.requests_per_second,
        ceiling,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_closed_loop_has_a_ceiling_and_no_other_load() {
        let plain = LoadSpec::default();
        assert!(has_ceiling(&plain));
        let others = [
            LoadSpec {
                generator: Some("wrk".to_owned()),
                ..plain.clone()
            },
            LoadSpec {
                keep_alive: false,
                ..plain.clone()
            },
            LoadSpec {
                pipelining: 2,
                ..plain
            },
        ];
        assert!(!others.iter().any(has_ceiling));
    }
}
