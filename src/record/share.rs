//! What became of one request of a mix.

use super::{Counts, ErrorKind, Histogram, Load};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One request of a mix in a measured phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// What it is called: its method with its path, or with its file of paths.
    pub name: String,
    /// How often it was to be sent, compared with the others.
    pub weight: u32,
    /// How many went which way; planned are those that were sent.
    pub counts: Counts,
    /// Failures by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Service time of successes, at two digits.
    pub service: Option<Histogram>,
}

impl Share {
    /// The same request in this phase and in the next one, together.
    #[must_use]
    pub(super) fn join(self, next: Self) -> Self {
        let mut errors = self.errors;
        for (kind, times) in next.errors {
            *errors.entry(kind).or_default() += times;
        }
        Self {
            counts: self.counts + next.counts,
            errors,
            service: super::round::joined(self.service, next.service),
            ..self
        }
    }
}

impl Load {
    /// The law that holds for the requests of a mix: what became of them adds up to what became of all.
    pub fn check_shares(&self) -> Result<(), String> {
        if self.shares.is_empty() {
            return Ok(());
        }
        let ends = |counts: Counts| {
            [
                counts.succeeded,
                counts.failed,
                counts.timed_out,
                counts.unfinished,
            ]
        };
        let sum = self
            .shares
            .iter()
            .fold(Counts::default(), |sum, share| sum + share.counts);
        if ends(sum) == ends(self.counts) {
            return Ok(());
        }
        Err(format!(
            "conservation: the requests of the mix add up to {} of {} sent",
            sum.sent, self.counts.sent
        ))
    }
}
