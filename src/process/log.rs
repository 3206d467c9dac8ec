//! What processes print: kept in a file of limited size, head and tail, so that
//! a flood fills no disk and still shows how it began and how it ended.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The longest line that [`tail`] gives back, in characters.
const LONGEST_LINE: usize = 500;
/// How much of the end of a file [`tail`] looks at, in bytes.
const TAIL_WINDOW: u64 = 256 << 10;

/// A log file that keeps the first and the last half of its cap.
#[derive(Debug)]
pub(super) struct CappedLog {
    file: File,
    /// Bytes of the file that are final.
    head: u64,
    /// Where the head ends and the tail begins.
    half: u64,
    /// The last bytes, once the head is full.
    ring: VecDeque<u8>,
    /// Bytes that fell out of the ring.
    left_out: u64,
    /// All bytes that were printed.
    printed: u64,
    /// Whether the ring holds what the file does not.
    stale: bool,
}

impl CappedLog {
    /// A new, empty log, in a folder that is made where it is missing.
    pub(super) fn create(path: &Path, cap: u64) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(Self {
            file: File::create(path)?,
            head: 0,
            half: (cap / 2).max(1),
            ring: VecDeque::new(),
            left_out: 0,
            printed: 0,
            stale: false,
        })
    }

    /// Takes what was printed. The head is on disk at once, the tail after
    /// [`CappedLog::flush`].
    ///
    /// A disk that is full loses output, never the process: it goes on being read.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.printed += bytes.len() as u64;
        let room = (self.half - self.head).min(bytes.len() as u64) as usize;
        let (first, rest) = bytes.split_at(room);
        if !first.is_empty() && self.file.write_all_at(first, self.head).is_ok() {
            self.head += first.len() as u64;
        }
        if rest.is_empty() {
            return;
        }
        self.stale = true;
        let keep = self.half as usize;
        let skipped = rest.len().saturating_sub(keep);
        self.ring.extend(&rest[skipped..]);
        let surplus = self.ring.len().saturating_sub(keep);
        self.ring.drain(..surplus);
        self.left_out += (skipped + surplus) as u64;
    }

    /// All bytes that were printed so far, kept or not.
    pub(super) fn printed(&self) -> u64 {
        self.printed
    }

    /// Whether the file lacks something that was printed.
    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    /// Brings the tail to disk. Errors are left alone for the reason given at `write`.
    pub(super) fn flush(&mut self) {
        if !self.stale {
            return;
        }
        let mut end = Vec::with_capacity(self.ring.len() + 64);
        if self.left_out > 0 {
            end.extend_from_slice(format!("\n… {} bytes left out …\n", self.left_out).as_bytes());
        }
        let (a, b) = self.ring.as_slices();
        end.extend_from_slice(a);
        end.extend_from_slice(b);
        // Longer than any earlier end but for the digits of the note, which only grow.
        self.stale = self.file.write_all_at(&end, self.head).is_err();
    }
}

/// The last lines of a log, at most `lines`, for messages: what is not text and
/// what would move a terminal's cursor or change its colours is taken out. A log
/// that cannot be read has none.
pub fn tail(log: &Path, lines: usize) -> Vec<String> {
    let Ok(text) = read_end(log) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&text);
    let mut last: Vec<String> = text
        .lines()
        .rev()
        .map(plain)
        .skip_while(|line| line.trim().is_empty())
        .take(lines)
        .collect();
    last.reverse();
    last
}

/// The last part of a file, from the beginning of a line.
fn read_end(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let from = size.saturating_sub(TAIL_WINDOW);
    file.seek(SeekFrom::Start(from))?;
    let mut text = Vec::new();
    file.take(TAIL_WINDOW).read_to_end(&mut text)?;
    if from > 0
        && let Some(end) = text.iter().position(|&byte| byte == b'\n')
    {
        text.drain(..=end);
    }
    Ok(text)
}

/// A line without control characters and escape sequences, shortened: what a process prints
/// must not move somebody's cursor or set the title of their window.
pub fn plain(line: &str) -> String {
    let mut shown = String::new();
    let mut count = 0;
    let mut rest = line.trim_end().chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest),
            '\t' => shown.push(' '),
            _ if character.is_control() => continue,
            _ => shown.push(character),
        }
        count += 1;
        if count == LONGEST_LINE {
            shown.push('…');
            break;
        }
    }
    shown
}

/// Skips what follows ESC: `[` … a letter, `]` … BEL or ESC, or one character.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    match rest.next() {
        Some('[') => {
            rest.find(|c| ('\u{40}'..='\u{7e}').contains(c));
        }
        Some(']') => {
            rest.find(|c| matches!(c, '\u{7}' | '\u{1b}'));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cap: u64, pieces: &[&[u8]]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/server.log");
        let mut log = CappedLog::create(&path, cap).unwrap();
        for piece in pieces {
            log.write(piece);
        }
        log.flush();
        assert!(!log.is_stale());
        let printed: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert_eq!(log.printed(), printed as u64);
        fs::read(path).unwrap()
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        assert_eq!(written(100, &[]), b"");
        assert_eq!(
            written(20, &[b"hello ", b"world, both halves"[..14].as_ref()]),
            b"hello world, both ha"
        );
    }

    #[test]
    fn a_flood_keeps_its_head_and_its_tail() {
        let text = written(10, &[b"abcdefgh", b"ijklmnop", b"qrstuvwxyz"]);
        assert_eq!(text, "abcde\n… 16 bytes left out …\nvwxyz".as_bytes());
        let text = written(10, &[&[b'x'; 1000], b"0123456789"]);
        assert_eq!(text, "xxxxx\n… 1000 bytes left out …\n56789".as_bytes());
    }

    #[test]
    fn a_tail_flushed_twice_is_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = CappedLog::create(&path, 8).unwrap();
        log.write(b"aaaabbbb");
        log.flush();
        log.write(b"cccccccc");
        log.flush();
        assert_eq!(
            fs::read(path).unwrap(),
            "aaaa\n… 8 bytes left out …\ncccc".as_bytes()
        );
    }

    #[test]
    fn the_tail_is_fit_for_a_terminal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(
            &path,
            b"one\ntwo\n\x1b[31mred\x1b[0m \x1b]0;title\x07t\x08\rwo\xff\n\n",
        )
        .unwrap();
        assert_eq!(tail(&path, 2), ["two", "red two\u{fffd}"]);
        assert_eq!(tail(&path, 9).len(), 3);
        fs::write(&path, "y".repeat(1 << 20)).unwrap();
        assert_eq!(tail(&path, 3)[0].chars().count(), LONGEST_LINE + 1);
        assert!(tail(Path::new("/nonexistent/log"), 3).is_empty());
    }
}
