//! How a command is ended from outside: the first signal ends it with care, one that is not
//! the same wish as the first at once.

use super::exit::Exit;
use crate::load::Cancel;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Signals that come within this time of the first are the same wish: `timeout` sends its signal to the command and then to
/// its group, and a terminal that closes sends more than one.
const SAME_WISH: Duration = Duration::from_millis(500);

/// Listens for these signals, on the runtime of the caller.
pub(super) fn listen(kinds: &[SignalKind], cancel: &Cancel) -> io::Result<()> {
    let first = Arc::new(OnceLock::new());
    for kind in kinds {
        let mut signals = signal(*kind)?;
        let (cancel, first) = (cancel.clone(), Arc::clone(&first));
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                let began: Instant = *first.get_or_init(Instant::now);
                if began.elapsed() > SAME_WISH {
                    std::process::exit(Exit::Interrupted as i32);
                }
                cancel.cancel();
            }
        });
    }
    Ok(())
}
