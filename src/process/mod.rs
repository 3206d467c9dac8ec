//! How hotlap owns the processes that it starts. Each of them has a small
//! parent of its own, `hotlap guard`, which gathers every descendant
//! (child-subreaper), drains what they print, and ends the whole tree when it
//! is told to or when its runner dies. The runner holds a [`Guard`] for each.
//!
//! `launch` says what is started and how it ended. In the guard, `guard` is the
//! loop over its `inputs`, `spawn` the start of the child, `end` the way to end
//! a tree. In the runner, `handle` is what callers hold, `attendant` the thread
//! behind it, `command` a process that is run to its end. `tree` reads /proc,
//! `effective` what a process really got of its environment and arguments,
//! `log` keeps the head and the tail of the output, from which `mask` has taken
//! secrets, `scratch` keeps a folder as long as its runner wants it, and `ledger`
//! is what a killed guard leaves on disk so that its processes can be found.

mod attendant;
mod command;
mod effective;
mod end;
mod guard;
mod handle;
mod inputs;
mod launch;
mod ledger;
mod log;
mod mask;
mod scratch;
mod signal;
mod spawn;
mod tree;

pub use command::{CommandError, Output, command};
pub use effective::{Arrived, Effective, Wanted, effective};
pub use guard::guard_main;
pub use handle::{Guard, GuardProgram, StartError, StopError};
pub use launch::{Exit, Launch, Stopped};
pub use ledger::{Ledger, Leftover, end_leftover, leftovers};
pub use log::{plain, tail};
pub use mask::hide;
pub use scratch::{Scratch, ScratchError, copy_folder};
pub use signal::signal_number;
pub use tree::{ProcessId, Stat, Walker};
