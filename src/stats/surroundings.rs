//! Whether what happened on a machine beside a load is enough to be seen in its figures. Every threshold has its reason
//! here; docs/doctor.md tells them too.

use crate::record::Surroundings;

/// From this share of the time of all processors on, what others took is told: as much as the least difference that a
/// report names unless its suite says otherwise (`min_effect`, 2 %). With less than that they cannot make one.
pub const TAKEN: f64 = 0.02;
/// From this share of the load's time on, pauses are told: as many requests as that wait in them, and are what p99 shows.
pub const PAUSED: f64 = 0.01;
/// What it takes to read a page back from swap on a solid-state disk, about; on others it is more.
const SWAP_IN_NS: f64 = 100_000.0;

/// Something that happened beside a load, in a size that shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Disturbance {
    /// The hypervisor gave this share of the time of all processors to others.
    Stolen(f64),
    /// Processes that are no part of the trial used this share of it.
    Others(f64),
    /// The CPU quota of the cgroup kept threads waiting for this share of the load's time, of all threads together.
    Quota(f64),
    /// Processors were slowed down so often since they were too hot.
    Heat(u64),
    /// So many pages were read back from swap.
    Swap(u64),
}

/// What disturbed a load.
pub fn disturbances(seen: &Surroundings) -> Vec<Disturbance> {
    let took = seen.took_ns.max(1) as f64;
    let all = took * seen.cpus.max(1) as f64;
    let from = |share: f64, least: f64| (share >= least).then_some(share);
    let of = |time: Option<u64>, whole: f64, least| from(time? as f64 / whole, least);
    let swapped = seen.swapped_in_pages.unwrap_or(0);
    [
        of(seen.stolen_ns, all, TAKEN).map(Disturbance::Stolen),
        of(seen.others_ns, all, TAKEN).map(Disturbance::Others),
        of(seen.throttled_ns, took, PAUSED).map(Disturbance::Quota),
        seen.overheated_count
            .filter(|count| *count > 0)
            .map(Disturbance::Heat),
        from(swapped as f64 * SWAP_IN_NS / took, PAUSED).map(|_| Disturbance::Swap(swapped)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen() -> Surroundings {
        Surroundings {
            took_ns: 10_000_000_000,
            cpus: 4,
            ..Surroundings::default()
        }
    }

    #[test]
    fn a_quiet_machine_and_one_that_tells_nothing_disturb_nothing() {
        assert_eq!(disturbances(&seen()), []);
        let quiet = Surroundings {
            stolen_ns: Some(790_000_000),
            others_ns: Some(790_000_000),
            throttled_ns: Some(99_000_000),
            overheated_count: Some(0),
            swapped_in_pages: Some(999),
            ..seen()
        };
        assert_eq!(disturbances(&quiet), []);
        assert_eq!(disturbances(&Surroundings::default()), []);
    }

    #[test]
    fn what_reaches_its_threshold_is_told_with_its_size() {
        let loud = Surroundings {
            stolen_ns: Some(800_000_000),
            others_ns: Some(4_000_000_000),
            throttled_ns: Some(100_000_000),
            overheated_count: Some(1),
            swapped_in_pages: Some(1000),
            ..seen()
        };
        assert_eq!(
            disturbances(&loud),
            [
                Disturbance::Stolen(0.02),
                Disturbance::Others(0.1),
                Disturbance::Quota(0.01),
                Disturbance::Heat(1),
                Disturbance::Swap(1000),
            ]
        );
    }
}
