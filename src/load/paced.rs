//! What one generator thread counts of an open loop beside what any load has.

use super::recorder::Series;
use super::schedule::{Due, Schedule};
use crate::record::{OpenLoop, StageLoad};
use std::time::Duration;

/// A send that is later than this is counted as late.
const LATE: Duration = Duration::from_millis(1);

/// The counts of one thread's open loop.
pub(super) struct Paced {
    length: Duration,
    response: Series,
    lag: Series,
    late: u64,
    queued: u64,
    busy: u64,
    most_busy: u64,
    pub(super) unsent: u64,
    /// When the second half of the schedule begins and ends, from the start of the load.
    half: (Duration, Duration),
    half_due: u64,
    half_ended: u64,
    first_ended: u64,
    stages: Vec<Stage>,
}

struct Stage {
    length: Duration,
    planned: u64,
    sent: u64,
    response: Series,
}

impl Paced {
    /// Counts for a schedule, whose requests time out after `timeout`.
    pub(super) fn new(schedule: &Schedule, timeout: Duration) -> Self {
        // A request may wait for a connection as long as the load lasts.
        let longest = schedule
            .length()
            .saturating_add(timeout * 2 + Duration::from_secs(1))
            .min(LONGEST);
        let stage = |length| Stage {
            length,
            planned: 0,
            sent: 0,
            response: Series::new(longest),
        };
        let stages: Vec<Stage> = schedule.lengths().map(stage).collect();
        Self {
            length: schedule.length(),
            response: Series::new(longest),
            lag: Series::new(longest),
            late: 0,
            queued: 0,
            busy: 0,
            most_busy: 0,
            unsent: 0,
            half: (schedule.length() / 2, schedule.length()),
            half_due: 0,
            half_ended: 0,
            first_ended: 0,
            // A single stage is the whole load.
            stages: if stages.len() > 1 { stages } else { Vec::new() },
        }
    }

    /// A request was sent as soon as the thread saw that it was due, `lag` after that.
    pub(super) fn sent_in_time(&mut self, due: Due, lag: Duration) {
        self.lag.record(lag);
        self.late += u64::from(lag > LATE);
        self.sent(due);
    }

    /// A request was sent that had waited for a connection.
    pub(super) fn sent_from_queue(&mut self, due: Due) {
        self.queued += 1;
        self.sent(due);
    }

    fn sent(&mut self, due: Due) {
        self.half_due += u64::from(due.after >= self.half.0);
        self.busy += 1;
        self.most_busy = self.most_busy.max(self.busy);
        if let Some(stage) = self.stages.get_mut(due.stage) {
            stage.planned += 1;
            stage.sent += 1;
        }
    }

    /// A request was due and is not sent any more.
    pub(super) fn gave_up(&mut self, due: Due) {
        self.unsent += 1;
        self.half_due += u64::from(due.after >= self.half.0);
        if let Some(stage) = self.stages.get_mut(due.stage) {
            stage.planned += 1;
        }
    }

    /// So many requests of a load that has one stage are not sent any more, the last ones of it.
    pub(super) fn gave_up_all(&mut self, requests: u64) {
        self.unsent += requests;
        self.half_due += requests;
    }

    /// A request has ended, well or badly, so long after the start of the load.
    pub(super) fn ended(&mut self, after: Duration) {
        self.busy -= 1;
        self.first_ended += u64::from(after < self.half.0);
        self.half_ended += u64::from(after >= self.half.0 && after < self.half.1);
    }

    /// A request succeeded, `took` after it was due.
    pub(super) fn succeeded(&mut self, due: Due, took: Duration) {
        self.response.record(took);
        if let Some(stage) = self.stages.get_mut(due.stage) {
            stage.response.record(took);
        }
    }

    /// Adds another thread's counts.
    pub(super) fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.lag.merge(&other.lag);
        self.late += other.late;
        self.queued += other.queued;
        self.most_busy += other.most_busy;
        self.unsent += other.unsent;
        self.half_due += other.half_due;
        self.half_ended += other.half_ended;
        self.first_ended += other.first_ended;
        for (stage, other) in self.stages.iter_mut().zip(&other.stages) {
            stage.planned += other.planned;
            stage.sent += other.sent;
            stage.response.merge(&other.response);
        }
    }

    /// The record of it.
    pub(super) fn finish(&self) -> OpenLoop {
        let stages = self.stages.iter().map(|stage| StageLoad {
            length_ns: super::recorder::nanos(stage.length),
            planned: stage.planned,
            sent: stage.sent,
            succeeded: stage.response.count(),
            response: stage.response.store(),
        });
        OpenLoop {
            schedule_ns: super::recorder::nanos(self.length),
            response: self.response.store(),
            lag: self.lag.store(),
            late: self.late,
            queued: self.queued,
            most_busy: self.most_busy,
            first_half_ended: self.first_ended,
            second_half_due: self.half_due,
            second_half_ended: self.half_ended,
            stages: stages.collect(),
        }
    }
}

/// No response time is told to be longer: an hour.
const LONGEST: Duration = Duration::from_hours(1);
