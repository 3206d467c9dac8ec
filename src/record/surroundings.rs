//! What happened on the machine while a load lasted, beside the load: CPU time that went to others, pauses that a quota
//! made, heat, and memory that had to be read back from a disk.

use serde::{Deserialize, Serialize};

/// What the machine did beside a load. What the kernel does not tell is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Between the two looks at the machine, right before the load and right after it.
    pub took_ns: u64,
    /// Processors of the machine.
    pub cpus: usize,
    /// CPU time that the hypervisor gave to others while a processor of this machine wanted to run, of all
    /// processors together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_ns: Option<u64>,
    /// CPU time of processes that are no part of the trial, kernel threads aside; none where a server was loaded of which it
    /// is not known which processes it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_ns: Option<u64>,
    /// The busiest of them, where they took enough to matter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busiest: Vec<Busy>,
    /// How long the CPU quota of the cgroup that hotlap runs in kept threads from running, of all processors together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// How often a processor was slowed down since it was too hot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overheated_count: Option<u64>,
    /// Pages that were read back from swap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapped_in_pages: Option<u64>,
}

/// A process and what it used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busy {
    /// The kernel's name for it, at most 15 characters.
    pub name: String,
    /// CPU time, that of its ended children included.
    pub cpu_ns: u64,
}
