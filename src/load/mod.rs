//! The built-in load generator, a closed loop over HTTP/1.1: a number of connections, each with one
//! request in flight. [`verify`] checks the first response whole; [`run`] opens the connections,
//! warms up, measures and drains, and gives a [`crate::record::Load`] in which every request that was begun
//! is counted exactly once. Latency is service time: first byte written to last byte read.

mod cause;
mod connection;
mod control;
mod deadlines;
mod dial;
mod engine;
mod job;
mod known;
mod poller;
mod reach;
mod recorder;
mod stream;
mod tickets;
mod tls;
mod verify;
mod worker;

pub use control::{Cancel, Control, LoadPhase, Progress};
pub use engine::{LoadError, run};
pub use job::{Job, Secure, Target, TargetError, allowed};
pub use tls::{TlsError, certificates, client_config, host_of, server_name, untrusting};
pub use verify::{Verified, VerifyError, answer, ask, unasked, verify};
