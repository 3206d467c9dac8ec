//! hotlap: a declarative benchmark-suite runner for HTTP servers.
//!
//! Data flows one way, top to bottom, and the modules stand in that order:
//! suite text → typed suite → spec (every cell resolved) → trials executed →
//! records on disk → statistics → report. `tests/layering.rs` holds which
//! module may import which; `ARCHITECTURE.md` is the map.

pub mod units;

pub mod ids;

pub mod diagnostic;

pub mod metric;

pub mod spec;

pub mod tls;

pub mod suite;

pub mod plan;

pub mod record;

pub mod http;

pub mod process;

pub mod server;

pub mod load;

pub mod generator;

pub mod sample;

pub mod host;

pub mod stats;

pub mod store;

pub mod run;

pub mod report;

pub mod publish;

pub mod serve;

pub mod init;

pub mod cli;
