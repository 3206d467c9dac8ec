//! A run: `trial` is one lifecycle, from the start of a server to the proof that
//! it is gone, `pilot` one before all trials that finds the warm-up; `making` is what is built and asked before the first, `tools` the
//! load generators that are looked for then; `rounds` says which trial is next;
//! `runner` takes the trials and keeps each on disk before the next; `observe` is what can be seen of
//! a server before its load, `loading` a load at work; `beyond` is what this
//! version cannot carry out, `repository` is what git tells of revisions, `checkout` those that cells are made from, `sources` the hash of what is measured;
//! `ceiling` is what the generator itself can do here, `surroundings` what the machine did beside a load, `event` what happened, for whoever listens.

mod beyond;
mod ceiling;
mod checkout;
mod event;
mod loading;
mod making;
mod observe;
mod pilot;
mod repository;
mod rounds;
mod runner;
mod search;
mod sources;
mod surroundings;
mod tools;
mod trial;

pub use crate::load::Cancel;
pub use beyond::{beyond, not_applied};
pub use ceiling::{CeilingBench, CeilingError, most_threads, own_ceiling};
pub use checkout::{abandoned, sweep};
pub use event::{Event, Live};
pub use repository::{Kind, Repository, asked};
pub use runner::{Job, RunError, run};
pub use sources::{revision, sources};
