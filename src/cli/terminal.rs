//! What the terminal can show: colours, and whether there is one. Everything
//! that hotlap prints goes through here.

use crate::diagnostic::Style;
use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum When {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl When {
    /// Makes it hold for this process.
    pub(super) fn apply(self) {
        match self {
            Self::Auto => {}
            Self::Always => ColorChoice::Always.write_global(),
            Self::Never => ColorChoice::Never.write_global(),
        }
    }
}

/// How diagnostics on standard error are rendered.
pub(super) fn style() -> Style {
    match AutoStream::choice(&std::io::stderr()) {
        ColorChoice::Never => Style::Plain,
        _ => Style::Colored,
    }
}

/// Whether results on standard output may have colours.
pub(super) fn paints_output() -> bool {
    !matches!(AutoStream::choice(&std::io::stdout()), ColorChoice::Never)
}

/// Whether standard error is a terminal that can show a line that changes.
pub(super) fn is_interactive() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Text for people. That nobody reads it is no reason to stop measuring.
pub(super) fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A text as a terminal may have it: what suites, servers and files say is shown, never obeyed.
pub(super) fn shown(text: &str) -> String {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    text.replace(obeyed, "\u{fffd}")
}

/// A line for people.
pub(super) fn say_line(text: &str) {
    say(&format!("{}\n", shown(text)));
}

/// An error for people, in the form of every other.
pub(super) fn say_error(message: &str) {
    let (on, off) = match style() {
        Style::Colored => ("\u{1b}[1m\u{1b}[91m", "\u{1b}[0m"),
        Style::Plain => ("", ""),
    };
    say(&format!("{on}error{off}: {}\n", shown(message)));
}

/// A warning for people.
pub(super) fn say_warning(message: &str) {
    let (on, off) = match style() {
        Style::Colored => ("\u{1b}[1m\u{1b}[33m", "\u{1b}[0m"),
        Style::Plain => ("", ""),
    };
    say(&format!("{on}warning{off}: {}\n", shown(message)));
}

/// Whether a result that was asked for could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// A result that was asked for. A reader that went away (`| head`) has seen enough.
pub(super) fn print(text: &str) {
    print_by(|out| out.write_all(text.as_bytes()));
}

/// The same of what `write` puts out.
pub(super) fn print_by(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != std::io::ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::Relaxed)
    {
        say_error(&format!("standard output cannot be written: {error}"));
    }
}

/// Whether standard output has lost something.
pub(super) fn has_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}
