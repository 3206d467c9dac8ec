//! The readings of all trials of a run, of which there may be millions: each is kept in some twenty bytes, and unpacked where it
//! is asked for.

use super::{Phase, Reading};
use crate::ids::TrialId;
use std::collections::BTreeMap;

/// The readings of each trial, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readings {
    by_trial: BTreeMap<TrialId, Packed>,
    /// The names of roles, by the numbers that stand for them.
    roles: Vec<String>,
}

/// The readings of a trial, one behind the other. Whole numbers are in LEB128, those that may be missing behind a byte
/// that says whether they are there; the time is the distance from the reading before, and CPU time the eight bytes of its number.
#[derive(Debug, Clone, Default, PartialEq)]
struct Packed {
    bytes: Vec<u8>,
    /// The time of the last one.
    last: u64,
}

impl Readings {
    /// Those of no trial.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds readings behind those that the trial has.
    pub fn extend(&mut self, trial: &TrialId, readings: &[Reading]) {
        if readings.is_empty() {
            return;
        }
        let known = self.by_trial.remove(trial);
        let is_new = known.is_none();
        let mut packed = known.unwrap_or_default();
        for reading in readings {
            packed.push(self.role(&reading.role), reading);
        }
        // As a rule all come at once; where more come, there may be many more.
        if is_new {
            packed.bytes.shrink_to_fit();
        }
        self.by_trial.insert(trial.clone(), packed);
    }

    /// The readings of a trial; none where it has none.
    pub fn of(&self, trial: &TrialId) -> Option<Vec<Reading>> {
        let packed = self.by_trial.get(trial)?;
        let mut bytes = packed.bytes.as_slice();
        let mut t_ns: u64 = 0;
        let mut all = Vec::new();
        while let Some(reading) = self.next(&mut bytes, t_ns) {
            t_ns = reading.t_ns;
            all.push(reading);
        }
        Some(all)
    }

    /// The trials that have readings.
    pub fn trials(&self) -> impl Iterator<Item = &TrialId> {
        self.by_trial.keys()
    }

    /// Leaves those of the trials that `keep`. Whether others had any.
    pub fn retain(&mut self, keep: impl Fn(&TrialId) -> bool) -> bool {
        let all = self.by_trial.len();
        self.by_trial.retain(|trial, _| keep(trial));
        self.by_trial.len() < all
    }

    /// Whether a trial has any.
    pub fn has(&self, trial: &TrialId) -> bool {
        self.by_trial.contains_key(trial)
    }

    /// Whether no trial has any.
    pub fn is_empty(&self) -> bool {
        self.by_trial.is_empty()
    }

    fn role(&mut self, name: &str) -> u64 {
        let known = self.roles.iter().position(|role| role == name);
        let place = known.unwrap_or_else(|| {
            self.roles.push(name.to_owned());
            self.roles.len() - 1
        });
        place as u64
    }

    fn next(&self, bytes: &mut &[u8], before: u64) -> Option<Reading> {
        let t_ns = before.wrapping_add(number(bytes)?);
        let role = self.roles.get(usize::try_from(number(bytes)?).ok()?)?;
        let (phase, rest) = bytes.split_first()?;
        let (cpu, rest) = rest.split_first_chunk()?;
        *bytes = rest;
        Some(Reading {
            t_ns,
            phase: *PHASES.get(usize::from(*phase))?,
            role: role.clone(),
            cpu_seconds: f64::from_le_bytes(*cpu),
            rss_bytes: number(bytes)?,
            pss_bytes: perhaps(bytes),
            processes: u32::try_from(number(bytes)?).ok()?,
            threads: u32::try_from(number(bytes)?).ok()?,
            completed: perhaps(bytes),
        })
    }
}

impl FromIterator<(TrialId, Vec<Reading>)> for Readings {
    fn from_iter<I: IntoIterator<Item = (TrialId, Vec<Reading>)>>(all: I) -> Self {
        let mut made = Self::new();
        for (trial, readings) in all {
            made.extend(&trial, &readings);
        }
        made
    }
}

const PHASES: [Phase; 5] = [
    Phase::Start,
    Phase::Idle,
    Phase::Warmup,
    Phase::Measure,
    Phase::Rest,
];

impl Packed {
    fn push(&mut self, role: u64, reading: &Reading) {
        let bytes = &mut self.bytes;
        put(bytes, reading.t_ns.wrapping_sub(self.last));
        self.last = reading.t_ns;
        put(bytes, role);
        let phase = PHASES.iter().position(|phase| *phase == reading.phase);
        bytes.push(phase.unwrap_or_default() as u8);
        bytes.extend(reading.cpu_seconds.to_le_bytes());
        put(bytes, reading.rss_bytes);
        put_perhaps(bytes, reading.pss_bytes);
        put(bytes, reading.processes.into());
        put(bytes, reading.threads.into());
        put_perhaps(bytes, reading.completed);
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_perhaps(bytes: &mut Vec<u8>, number: Option<u64>) {
    bytes.push(number.is_some().into());
    if let Some(number) = number {
        put(bytes, number);
    }
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..10 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// A number that may be missing.
fn perhaps(bytes: &mut &[u8]) -> Option<u64> {
    let (is_there, rest) = bytes.split_first()?;
    *bytes = rest;
    (*is_there != 0).then(|| number(bytes))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::CellId;
    use proptest::prelude::*;

    fn any_reading() -> impl Strategy<Value = Reading> {
        (
            (any::<u64>(), 0..PHASES.len(), "[a-c]{1,2}", any::<u64>()),
            (
                any::<Option<u64>>(),
                any::<f64>(),
                any::<u32>(),
                any::<u32>(),
            ),
            prop::option::of(prop_oneof![any::<u64>(), Just(u64::MAX)]),
        )
            .prop_map(
                |(
                    (t_ns, phase, role, rss_bytes),
                    (pss_bytes, cpu, processes, threads),
                    completed,
                )| Reading {
                    t_ns,
                    phase: PHASES[phase],
                    role,
                    rss_bytes,
                    pss_bytes,
                    cpu_seconds: cpu,
                    processes,
                    threads,
                    completed,
                },
            )
    }

    proptest! {
        #[test]
        fn what_was_put_in_comes_out(readings in prop::collection::vec(any_reading(), 0..20)) {
            let id = |repetition| TrialId { cell: CellId("a@l#0".to_owned()), repetition };
            let mut all = Readings::new();
            let (before, after) = readings.split_at(readings.len() / 2);
            all.extend(&id(1), before);
            all.extend(&id(2), &readings);
            all.extend(&id(1), after);
            let wanted = (!readings.is_empty()).then_some(readings);
            prop_assert_eq!(all.of(&id(1)), wanted.clone());
            prop_assert_eq!(all.is_empty(), wanted.is_none());
            prop_assert_eq!(all.of(&id(2)), wanted);
            prop_assert_eq!(all.of(&id(3)), None);
        }
    }
}
