//! A run: `trial` is one lifecycle, from the start of a server to the proof that
//! it is gone; `pilot` is one before all trials that finds how long a server has to be warmed up; `making` is what is built and asked before the first; `runner`
//! takes the trials in their order and keeps each on disk before the next;
//! `observe` is what can be seen of a server before its load; `event` is what
//! happened, for whoever listens.

mod beyond;
mod event;
mod loading;
mod making;
mod observe;
mod pilot;
mod revision;
mod runner;
mod tools;
mod trial;

pub use crate::load::Cancel;
pub use beyond::{beyond, not_applied};
pub use event::{Event, Live};
pub use revision::revision;
pub use runner::{Job, RunError, run};
