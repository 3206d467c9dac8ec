//! One role: the trees that are summed under its name, and what is remembered of
//! them at the checkpoints.

use super::tree::{Seen, Watched};
use super::work::workers;
use super::{Checkpoint, Root};
use crate::process::Walker;
use crate::record::Usage;
use std::collections::BTreeMap;

/// Memory at a checkpoint, in bytes; none where a process did not let us look.
#[derive(Debug, Clone, Copy)]
struct Marks {
    rss: u64,
    pss: Option<u64>,
    high_water: Option<u64>,
}

/// The trees of one role.
#[derive(Debug)]
pub(super) struct Role {
    pub(super) name: String,
    /// Whether it is a part of the total.
    pub(super) counted: bool,
    trees: Vec<Watched>,
    marks: BTreeMap<Checkpoint, Marks>,
}

impl Role {
    /// Adds a tree to its role, or the role to the others.
    pub(super) fn add(roles: &mut Vec<Self>, root: Root) {
        let tree = Watched::new(root.tree);
        match roles.iter_mut().find(|role| role.name == root.role) {
            Some(role) => role.trees.push(tree),
            None => roles.push(Self {
                name: root.role,
                counted: root.counted,
                trees: vec![tree],
                marks: BTreeMap::new(),
            }),
        }
    }

    /// Reads its trees, one after the other.
    pub(super) fn read(&mut self, walker: &mut Walker, counts: bool) -> Seen {
        let mut sum = Seen::default();
        for tree in &mut self.trees {
            let seen = tree.read(walker, counts);
            sum.rss_bytes += seen.rss_bytes;
            sum.cpu_seconds += seen.cpu_seconds;
            sum.processes += seen.processes;
            sum.threads += seen.threads;
        }
        sum
    }

    /// Reads PSS and the high-water marks of its trees as the last reading found
    /// them; gives back the sum of PSS.
    pub(super) fn mark(
        &mut self,
        walker: &mut Walker,
        checkpoint: Checkpoint,
        rss: u64,
    ) -> Option<u64> {
        let mut marks = Marks {
            rss,
            pss: Some(0),
            high_water: Some(0),
        };
        for tree in &self.trees {
            let (pss, high) = tree.mark(walker);
            marks.pss = marks.pss.zip(pss).map(|(sum, pss)| sum + pss);
            marks.high_water = marks.high_water.zip(high).map(|(sum, high)| sum + high);
        }
        self.marks.insert(checkpoint, marks);
        marks.pss
    }

    /// What only the trees know: their memory at the checkpoints, how many processes they ever
    /// had, and who of them stood beside each other.
    pub(super) fn usage(&self) -> Usage {
        let at = |checkpoint| self.marks.get(&checkpoint);
        let pss = |checkpoint| at(checkpoint).and_then(|marks| marks.pss);
        let rss = |checkpoint| at(checkpoint).map(|marks| marks.rss);
        let last = self.marks.values().next_back();
        Usage {
            rss_idle: rss(Checkpoint::Idle),
            rss_after: rss(Checkpoint::After),
            pss_idle: pss(Checkpoint::Idle),
            pss_loaded: pss(Checkpoint::Loaded),
            pss_after: pss(Checkpoint::After),
            rss_high_water: last.and_then(|marks| marks.high_water),
            pids_seen: self.trees.iter().map(|tree| tree.work.pids_seen).sum(),
            workers: workers(self.trees.iter().map(|tree| &tree.work)),
            apart: !self.counted,
            ..Usage::default()
        }
    }

    /// Ticks in the measured phase of each of its processes that matters.
    pub(super) fn used(&self) -> impl Iterator<Item = u64> {
        self.trees.iter().flat_map(|tree| tree.work.used())
    }
}
