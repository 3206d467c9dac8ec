//! What the machine does beside a load: a look right before it and one right after it.

use crate::host::Look;
use crate::record::Surroundings;
use crate::server::{Root, Rooted};
use crate::spec::Cell;

/// The look before a load.
pub(super) struct Watch {
    before: Look,
    /// Processes that are no others, with everything below them.
    ours: Vec<u32>,
    /// Whether every process of the server is known.
    knows_all: bool,
}

impl Watch {
    /// Processes of a trial that ran already. All others of it are below this process, through their guards.
    pub(super) fn running(rooted: &[Rooted]) -> Vec<u32> {
        let running = rooted.iter().filter_map(|one| match one.root {
            Root::Process(process) => Some(process.pid),
            Root::Guard(_) => None,
        });
        running.collect()
    }

    /// Looks before the load of a cell.
    pub(super) fn begin(cell: &Cell, running: Vec<u32>) -> Self {
        let knows_all = cell.url.is_none() || !running.is_empty();
        let mut ours = running;
        ours.push(std::process::id());
        Self {
            knows_all,
            ours,
            before: Look::now(),
        }
    }

    /// Looks after it.
    pub(super) fn end(self) -> Surroundings {
        let mut seen = self.before.until(&Look::now(), &self.ours);
        if !self.knows_all {
            seen.others_ns = None;
            seen.busiest.clear();
        }
        seen
    }
}
