//! What an open loop has beside a closed one: a schedule that does not wait for responses.

use super::round::joined;
use super::{Histogram, Load};
use serde::{Deserialize, Serialize};

/// What the generator saw of an open loop's schedule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// How long requests were planned to be sent.
    pub schedule_ns: u64,
    /// Response time of successes: from the instant at which the schedule wants the request sent to the last byte read. The time
    /// that it waits for a connection, and that of the generator's own lateness, are in it.
    pub response: Option<Histogram>,
    /// How late the generator was with requests that did not have to wait for a connection: from that instant to the one at which
    /// it took the request up.
    pub lag: Option<Histogram>,
    /// How many of these were more than a millisecond late.
    pub late: u64,
    /// Requests that waited because every connection was at another one.
    pub queued: u64,
    /// The most connections that were at a request at the same time, added up over the threads.
    pub most_busy: u64,
    /// Requests that ended in the first half of the schedule, well or badly.
    pub first_half_ended: u64,
    /// Requests that were due in the second half,
    pub second_half_due: u64,
    /// and requests that ended in it.
    pub second_half_ended: u64,
    /// Each stage, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageLoad>,
}

/// The requests that were due in one stage, whenever they ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageLoad {
    /// How long it lasted.
    pub length_ns: u64,
    /// Requests that were to be sent.
    pub planned: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Complete responses that passed every check.
    pub succeeded: u64,
    /// Response time of successes.
    pub response: Option<Histogram>,
}

impl Load {
    /// Requests per second that the schedule of an open loop wanted sent.
    pub fn offered_per_second(&self) -> Option<f64> {
        let open = self.open.as_ref()?;
        per_second(self.counts.planned, open.schedule_ns)
    }
}

impl StageLoad {
    /// Requests per second that were to be sent.
    pub fn offered_per_second(&self) -> Option<f64> {
        per_second(self.planned, self.length_ns)
    }

    /// Successes per second of the stage, whenever they came.
    pub fn succeeded_per_second(&self) -> Option<f64> {
        per_second(self.succeeded, self.length_ns)
    }

    fn join(self, next: Self) -> Self {
        Self {
            length_ns: self.length_ns + next.length_ns,
            planned: self.planned + next.planned,
            sent: self.sent + next.sent,
            succeeded: self.succeeded + next.succeeded,
            response: joined(self.response, next.response),
        }
    }
}

impl OpenLoop {
    /// This one and the next in the same server process, together.
    #[must_use]
    pub fn join(self, next: Self) -> Self {
        let stages = self.stages.into_iter().zip(next.stages);
        Self {
            schedule_ns: self.schedule_ns + next.schedule_ns,
            response: joined(self.response, next.response),
            lag: joined(self.lag, next.lag),
            late: self.late + next.late,
            queued: self.queued + next.queued,
            most_busy: self.most_busy.max(next.most_busy),
            first_half_ended: self.first_half_ended + next.first_half_ended,
            second_half_due: self.second_half_due + next.second_half_due,
            second_half_ended: self.second_half_ended + next.second_half_ended,
            stages: stages.map(|(one, other)| one.join(other)).collect(),
        }
    }
}

fn per_second(requests: u64, nanos: u64) -> Option<f64> {
    (nanos > 0).then(|| requests as f64 / (nanos as f64 / 1e9))
}
