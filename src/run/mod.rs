//! A run: `trial` is one lifecycle, from the start of a server to the proof that
//! it is gone; `making` is what is built and asked before the first; `repository` is what git tells of
//! revisions, `checkout` those that cells are made from; `runner`
//! takes the trials in their order and keeps each on disk before the next;
//! `observe` is what can be seen of a server before its load; `event` is what
//! happened, for whoever listens.

mod beyond;
mod checkout;
mod event;
mod loading;
mod making;
mod observe;
mod repository;
mod runner;
mod tools;
mod trial;

pub use crate::load::Cancel;
pub use beyond::{beyond, not_applied};
pub use checkout::sweep;
pub use event::{Event, Live};
pub use repository::{Kind, Repository, asked, revision};
pub use runner::{Job, RunError, run};
