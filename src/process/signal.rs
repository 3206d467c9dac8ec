//! Signals by name and number.

use rustix::process::Signal;
use signal_hook::low_level::signal_name as known_name;

/// Every signal that a suite may name, as Linux numbers them on all common machines.
const SIGNALS: [(&str, Signal); 14] = [
    ("SIGHUP", Signal::HUP),
    ("SIGINT", Signal::INT),
    ("SIGQUIT", Signal::QUIT),
    ("SIGKILL", Signal::KILL),
    ("SIGUSR1", Signal::USR1),
    ("SIGUSR2", Signal::USR2),
    ("SIGPIPE", Signal::PIPE),
    ("SIGALRM", Signal::ALARM),
    ("SIGTERM", Signal::TERM),
    ("SIGCONT", Signal::CONT),
    ("SIGWINCH", Signal::WINCH),
    ("SIGABRT", Signal::ABORT),
    ("SIGIO", Signal::IO),
    ("SIGPWR", Signal::POWER),
];

/// The number of a signal by its name, `SIGTERM` or `TERM`; none if it is not
/// one that asks a process to end.
pub fn signal_number(name: &str) -> Option<i32> {
    parse(name).map(Signal::as_raw)
}

/// The signal by its name.
pub(super) fn parse(name: &str) -> Option<Signal> {
    SIGNALS
        .iter()
        .find(|(known, _)| *known == name || known.strip_prefix("SIG") == Some(name))
        .map(|&(_, signal)| signal)
}

/// The name of a signal, `signal 34` for those without one.
pub(super) fn signal_name(number: i32) -> String {
    known_name(number).map_or_else(|| format!("signal {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_long_and_short_names() {
        assert_eq!(signal_number("SIGTERM"), Some(15));
        assert_eq!(signal_number("TERM"), Some(15));
        assert_eq!(signal_number("SIGTERMINATE"), None);
        assert_eq!(signal_number(""), None);
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(34), "signal 34");
    }
}
