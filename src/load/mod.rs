//! The built-in load generator, a closed loop over HTTP/1.1: a number of connections, each with one
//! request in flight, or `pipelining` of them; an open one; or over HTTP/2, with a number of them. [`verify`] checks the first response to each request whole; [`run`] opens the connections,
//! warms up, measures and drains, and gives a [`crate::record::Load`] in which every request that was begun
//! is counted exactly once. Latency is service time: first byte written to last byte read.

mod cause;
mod connection;
mod control;
mod deadlines;
mod dial;
mod engine;
mod files;
mod h2;
mod job;
mod known;
mod lane;
mod open;
mod paced;
mod poller;
mod probe;
mod reach;
mod recorder;
mod request;
mod schedule;
mod share;
mod stream;
mod term;
mod tickets;
mod tls;
mod urn;
mod verify;
mod worker;

pub use control::{Cancel, Control, LoadPhase, Progress};
pub use engine::{LoadError, run};
pub use files::{Files, FilesError};
pub use job::{Job, Secure, Target, TargetError, allowed};
#[doc(hidden)]
pub use probe::{Probe, schedule as probed_schedule};
pub use reach::speaks_tls;
pub use request::JobError;
pub use tls::{TlsError, certificates, client_config, host_of, server_name, untrusting};
pub use verify::{Verified, VerifyError, answer, ask, unasked, verify};
