//! What a search for the highest rate found in one trial.

use super::Load;
use serde::{Deserialize, Serialize};

/// The highest rate at which a server held what the suite asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// Requests per second that held, also in the measured phase at the end.
    pub held: f64,
    /// The lowest rate that did not; none where the generator could not offer more.
    pub failed: Option<f64>,
    /// Whether it was the generator that did not keep up: the server could do more.
    pub limited: bool,
    /// Every rate that was tried, in order; the last one is the measured phase.
    pub steps: Vec<SearchStep>,
}

/// A rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchStep {
    /// Requests per second that were to be sent.
    pub rate: f64,
    /// Successes per second.
    pub achieved: f64,
    /// What did not hold, in words; none where all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broke: Option<String>,
}

impl Load {
    /// The highest rate that held, in requests per second, where the load looked for it.
    pub fn capacity(&self) -> Option<f64> {
        Some(self.search.as_ref()?.held)
    }
}
