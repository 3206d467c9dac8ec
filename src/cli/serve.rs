//! `hotlap serve`: the demo and null server on the command line.

use super::exit::Exit;
use super::terminal::{say_error, say_line};
use crate::host;
use crate::serve::{self, Options, ServeError};
use crate::units::{parse_bytes, parse_duration};
use clap::Args;
use std::net::IpAddr;
use std::time::Duration;

/// The demo and null server that hotlap brings along
#[derive(Debug, Args)]
#[command(after_help = "\
Paths:
  /        a JSON body of --body-bytes
  /health  ok
  /count   how many requests this process has answered, /count itself left out

Examples:
  hotlap serve --port 8080 --gzip --workers 2
  hotlap serve --port 8080 --null      # what the fastest server gives a load generator")]
pub(super) struct ServeArgs {
    /// The port; 0 takes a free one, which is printed [default: $PORT, else 0]
    #[arg(long)]
    port: Option<u16>,
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    address: IpAddr,
    /// Compress the body for each request whose client accepts gzip
    #[arg(long)]
    gzip: bool,
    /// Worker processes, of one thread each
    #[arg(long, default_value_t = 1, value_name = "N")]
    workers: u32,
    /// Size of the body before compression: bytes, or a size such as 64KiB
    #[arg(long, default_value = "20480", value_parser = size, value_name = "BYTES")]
    body_bytes: u64,
    /// Wait before each answer, such as 5ms
    #[arg(long, default_value = "0s", value_parser = parse_duration, value_name = "TIME")]
    delay: Duration,
    /// Memory that each request takes and never gives back: bytes, or a size such as 10KB
    #[arg(long, default_value = "0", value_parser = size, value_name = "BYTES")]
    leak_bytes_per_request: u64,
    /// Hash the body (SHA-256) so many times before each answer: work of a known size
    #[arg(long, default_value_t = 0, value_name = "N")]
    hashes: u32,
    /// Give every request the same short answer, as fast as can be
    #[arg(long)]
    null: bool,
    /// How the master starts its workers
    #[arg(long, hide = true)]
    worker: bool,
}

/// The flags name the unit, so that a bare number is bytes.
fn size(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(bytes) => Ok(bytes),
        Err(_) => parse_bytes(text).map_err(|error| error.to_string()),
    }
}

impl ServeArgs {
    fn options(&self) -> Result<Options, String> {
        Ok(Options {
            address: self.address,
            port: match self.port {
                Some(port) => port,
                None => port_from_environment()?,
            },
            gzip: self.gzip,
            workers: self.workers,
            body_bytes: self.body_bytes,
            delay: self.delay,
            leak_bytes_per_request: self.leak_bytes_per_request,
            hashes: self.hashes,
            null: self.null,
        })
    }
}

fn port_from_environment() -> Result<u16, String> {
    match std::env::var("PORT") {
        Ok(text) if !text.is_empty() => text
            .parse()
            .map_err(|_| format!("PORT is \"{text}\" in the environment, which is not a port")),
        _ => Ok(0),
    }
}

/// Serves until it is told to stop.
pub(super) fn main(arguments: &ServeArgs) -> Exit {
    let options = match arguments.options() {
        Ok(options) => options,
        Err(message) => {
            say_error(&message);
            return Exit::Usage;
        }
    };
    // A server of many connections needs as many descriptors as it may have; with fewer it serves as well.
    if let Some(most) = host::nofile().hard {
        let _ = host::raise_nofile(most);
    }
    let served = if arguments.worker {
        serve::run_worker(&options)
    } else {
        serve::run(&options, |address| {
            say_line(&format!("listening on http://{address}"));
        })
    };
    match served {
        Ok(()) => Exit::Fine,
        Err(error) => {
            say_error(&error.to_string());
            if matches!(error, ServeError::Options(_)) {
                Exit::Usage
            } else {
                Exit::Machine
            }
        }
    }
}
