//! The memory of one process, from the files of /proc that tell it exactly.

use crate::process::{Stat, Walker};
use rustix::param::page_size;
use std::fmt;
use std::io;

/// Resident memory in bytes, from statm: newer kernels sum its counters up
/// exactly, those of stat only nearly. A process that is gone has none.
pub(super) fn rss(walker: &mut Walker, stat: &Stat) -> u64 {
    let pid = stat.id.pid;
    if !stat.is_headless() {
        return statm(walker, format_args!("/proc/{pid}/statm"));
    }
    let mut threads = Vec::new();
    walker.threads(pid, &mut threads);
    let each = threads.iter();
    // The threads share one memory; those that have ended show none.
    each.map(|thread| statm(walker, format_args!("/proc/{pid}/task/{thread}/statm")))
        .max()
        .unwrap_or(0)
}

/// The resident part of a statm file, in bytes.
fn statm(walker: &mut Walker, path: fmt::Arguments<'_>) -> u64 {
    let pages = walker.read(path).ok().and_then(|text| {
        std::str::from_utf8(text)
            .ok()?
            .split(' ')
            .nth(1)?
            .parse::<u64>()
            .ok()
    });
    pages.unwrap_or(0) * page_size() as u64
}

/// A line `Name:   123 kB` in bytes. A process that is gone has 0; none is a
/// file that may not be read.
pub(super) fn kilobytes(text: io::Result<&[u8]>, name: &str) -> Option<u64> {
    const GONE: i32 = rustix::io::Errno::SRCH.raw_os_error();
    match text {
        Ok(text) => {
            let line = std::str::from_utf8(text)
                .ok()?
                .lines()
                .find(|line| line.starts_with(name));
            // A process without memory of its own has no such line.
            let Some(line) = line else { return Some(0) };
            let number = line[name.len()..].trim().strip_suffix("kB")?.trim();
            number.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(0),
        Err(error) if error.raw_os_error() == Some(GONE) => Some(0),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kilobytes_are_bytes_and_the_unreadable_is_none() {
        assert_eq!(
            kilobytes(Ok(b"Rss:  9 kB\nPss:    12 kB\n"), "Pss:"),
            Some(12288)
        );
        assert_eq!(kilobytes(Ok(b""), "Pss:"), Some(0));
        assert_eq!(
            kilobytes(Err(io::ErrorKind::NotFound.into()), "Pss:"),
            Some(0)
        );
        assert_eq!(
            kilobytes(Err(io::ErrorKind::PermissionDenied.into()), "Pss:"),
            None
        );
    }
}
