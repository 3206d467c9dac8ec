//! What the limits of a machine, its memory and its clock mean for figures. Pure: facts in, findings out. docs/doctor.md
//! has the reason of each level.

use super::finding::Finding;
use crate::host::Machine;
use crate::units::show_bytes;

/// Descriptors that a run needs beside those of its connections.
pub(crate) const OTHER_DESCRIPTORS: u64 = 256;
/// The kernel's own hard limit on open files (`INR_OPEN_MAX` of include/uapi/linux/fs.h).
const USUAL_HARD: u64 = 4096;
/// The kernel's usual range of ports has so many (ip-sysctl.rst: 32768 to 60999).
const USUAL_PORTS: u64 = 28_232;
/// The kernel's usual `somaxconn` before 5.4.
const SHORT_QUEUE: u64 = 128;
/// Two readings of the clock a request, at 100 000 requests a second, take 2 % of a thread from this time on.
const SLOW_CLOCK_NS: f64 = 100.0;

/// What the suites ask for that limits bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The most connections of a load; none without suites.
    pub(super) connections: Option<u64>,
}

pub(super) fn findings(machine: &Machine, wanted: Wanted) -> Vec<Finding> {
    vec![
        open_files(machine, wanted),
        ports(machine),
        accept_queue(machine, wanted),
        huge_pages(machine),
        addresses(machine),
        clock(machine),
    ]
}

fn number(limit: Option<u64>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string())
}

fn open_files(machine: &Machine, wanted: Wanted) -> Finding {
    let name = "open files";
    let (soft, hard) = (machine.open_files.soft, machine.open_files.hard);
    let seen = format!("{} (hard limit {})", number(soft), number(hard));
    let below = |limit: Option<u64>, needed: u64| limit.is_some_and(|limit| limit < needed);
    if let Some(connections) = wanted.connections {
        let needed = connections + OTHER_DESCRIPTORS;
        if below(hard, needed) {
            return Finding::cannot(name, seen)
                .so(format!("a load of {connections} connections needs {needed} descriptors, and cannot start"))
                .then("raise the hard limit as root, or LimitNOFILE= in a systemd unit; or use fewer connections")
                .by(format!("sudo prlimit --pid $$ --nofile={needed}:{needed}"));
        }
        if below(soft, needed) {
            return Finding::warning(name, seen)
                .so(format!(
                    "servers get the soft limit: one that has a descriptor for each of {connections} connections may refuse some"
                ))
                .then("raise it in the shell that starts hotlap")
                .by(format!("ulimit -Sn {needed}"));
        }
    } else if below(hard, USUAL_HARD) {
        return Finding::note(name, seen)
            .so("loads of more connections than the hard limit cannot start")
            .then("raise it as root, or LimitNOFILE= in a systemd unit")
            .by("sudo prlimit --pid $$ --nofile=65536:65536");
    }
    Finding::ok(name, seen)
}

fn ports(machine: &Machine) -> Finding {
    let name = "ports";
    let Some((first, last)) = machine.ports else {
        return Finding::unknown(
            name,
            "the kernel does not tell the range of outgoing connections",
        );
    };
    let all = (last + 1).saturating_sub(first);
    let waiting = machine.time_wait_count.unwrap_or(0);
    let seen = format!("{all} for outgoing connections ({first}–{last}), {waiting} in TIME_WAIT");
    if waiting * 2 >= all {
        return Finding::warning(name, seen)
            .so("each keeps its port for a minute: loads that open a connection for each request may find none")
            .then("wait a minute before measuring");
    }
    if all < USUAL_PORTS {
        return Finding::note(name, seen)
            .so(format!(
                "each connection keeps its port for a minute after its end: about {} new ones a second can go on for longer",
                all / 60
            ))
            .then("widen the range until the next boot")
            .by("sudo sysctl -w net.ipv4.ip_local_port_range='32768 60999'");
    }
    Finding::ok(name, seen)
}

fn accept_queue(machine: &Machine, wanted: Wanted) -> Finding {
    let name = "accept queue";
    let Some(longest) = machine.somaxconn else {
        return Finding::unknown(name, "the kernel does not tell its longest");
    };
    let seen = format!("{longest} at the most (somaxconn)");
    let enough = wanted
        .connections
        .map_or(longest > SHORT_QUEUE, |wanted| wanted <= longest);
    if enough {
        return Finding::ok(name, seen);
    }
    let finding = if wanted.connections.is_some() {
        Finding::warning
    } else {
        Finding::note
    };
    finding(name, seen)
        .so("connections beyond it, opened at once, are dropped and tried again after 1 s, which shows in latencies")
        .then("raise it until the next boot; the server must ask for as long a queue too")
        .by("sudo sysctl -w net.core.somaxconn=4096")
}

/// What swap is used, where nothing is read back from it.
pub(super) fn swap(machine: &Machine, reads_back: bool) -> Finding {
    let name = "swap";
    let (Some(all), Some(used)) = (machine.swap_bytes, machine.swap_used_bytes) else {
        return Finding::unknown(name, "the kernel does not tell");
    };
    if all == 0 {
        return Finding::ok(name, "none");
    }
    let seen = format!(
        "{} of {} used",
        show_bytes(used as f64),
        show_bytes(all as f64)
    );
    let command = "sudo swapoff -a && sudo swapon -a";
    let does = "what lies there is in no RSS, and who needs it waits for a disk";
    if reads_back {
        return Finding::warning(name, format!("{seen}, and read back just now"))
            .so(does)
            .then("end what needs the memory, then bring all of it back")
            .by(command);
    }
    if used == 0 {
        return Finding::ok(name, seen);
    }
    Finding::note(name, seen)
        .so(does)
        .then("bring all of it back before measuring, where memory has the room")
        .by(command)
}

fn huge_pages(machine: &Machine) -> Finding {
    let name = "huge pages";
    match machine.huge_pages.as_deref() {
        None => Finding::unknown(name, "the kernel does not tell"),
        Some("always") => Finding::note(name, "always")
            .so("memory is given in pieces of 2 MiB to whoever asks for less: RSS is larger, and jumps")
            .then("give them only to those that ask, until the next boot, where memory is what you compare")
            .by("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(other) => Finding::ok(name, other),
    }
}

fn addresses(machine: &Machine) -> Finding {
    let name = "addresses";
    match machine.address_randomisation {
        None => Finding::unknown(name, "the kernel does not tell whether they are randomised"),
        Some(2) => Finding::ok(name, "randomised for each process"),
        Some(_) => Finding::note(name, "not, or not all, randomised")
            .so("every trial has the same luck with its layout of memory, which then looks like a difference of the servers")
            .then("turn it on until the next boot")
            .by("sudo sysctl -w kernel.randomize_va_space=2"),
    }
}

fn clock(machine: &Machine) -> Finding {
    let name = "clock";
    let source = machine.clock.as_deref().unwrap_or("unknown source");
    let seen = format!("{source}, {:.0} ns a reading", machine.clock_read_ns);
    if machine.clock_read_ns < SLOW_CLOCK_NS {
        return Finding::ok(name, seen);
    }
    Finding::warning(name, seen)
        .so("the generator reads it about twice for each request, so that it is slower, and latencies longer")
        .then("use the processor's own counter until the next boot, where `available_clocksource` names it")
        .by("echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource")
}
