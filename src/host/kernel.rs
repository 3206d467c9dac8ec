//! Counters of the kernel, read from its texts. Pure: text in, value out.

/// The first line of `/proc/stat`, in clock ticks: all processors together since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuTimes {
    /// Time in which a processor worked, for processes, the kernel or interrupts.
    pub(super) busy: u64,
    /// Time in which the hypervisor ran somebody else; none before Linux 2.6.11.
    pub(super) stolen: Option<u64>,
}

/// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`. Guests are in user and nice already (`proc_stat(5)`).
pub(super) fn cpu_times(stat: &str) -> Option<CpuTimes> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<u64> = line
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let at = |place: usize| times.get(place).copied();
    Some(CpuTimes {
        busy: at(0)? + at(1)? + at(2)? + at(5).unwrap_or(0) + at(6).unwrap_or(0),
        stolen: at(7),
    })
}

/// A counter of `/proc/vmstat`, of `cpu.stat` or of another file of `name value` lines.
pub(super) fn counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

/// How long a CPU quota kept threads from running, in nanoseconds, by `cpu.stat` of either version of cgroups.
pub(super) fn throttled_ns(cpu_stat: &str) -> Option<u64> {
    counter(cpu_stat, "throttled_usec")
        .and_then(|micros| micros.checked_mul(1000))
        .or_else(|| counter(cpu_stat, "throttled_time"))
}

/// A size of `/proc/meminfo`, in bytes.
pub(super) fn memory(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| {
        line.split_once(':')
            .is_some_and(|(key, _)| key.trim() == name)
    })?;
    let kibibytes = line.split_once(':')?.1.trim().strip_suffix("kB")?.trim();
    kibibytes.parse::<u64>().ok()?.checked_mul(1024)
}

/// Sockets in `TIME_WAIT`, of `/proc/net/sockstat`.
pub(super) fn time_wait(sockstat: &str) -> Option<u64> {
    let line = sockstat
        .lines()
        .find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

/// Two numbers, such as those of `ip_local_port_range`.
pub(super) fn pair(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_whitespace();
    let first = words.next()?.parse().ok()?;
    Some((first, words.next()?.parse().ok()?))
}

/// The marked word of a choice: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// `/proc/PID/stat`, as far as it tells who uses the processors. Times are in clock ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) pid: u32,
    pub(super) parent: u32,
    pub(super) name: String,
    /// Whether it is a thread of the kernel.
    pub(super) is_kernel: bool,
    /// Its own time and that of ended children that were waited for.
    pub(super) ticks: u64,
    /// When it started, in ticks since boot. With the pid it names the process: pids are used again.
    pub(super) start: u64,
}

/// `PF_KTHREAD` of the kernel's include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Reads `/proc/PID/stat`. The name may have blanks and brackets: it ends at the last one.
pub(super) fn task(stat: &str) -> Option<Task> {
    let (pid, rest) = stat.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    // proc_pid_stat(5) counts from 1, and the state is 3.
    let field = |number: usize| words.get(number - 3)?.parse::<u64>().ok();
    Some(Task {
        pid: pid.parse().ok()?,
        parent: u32::try_from(field(4)?).ok()?,
        name: name.to_owned(),
        is_kernel: field(9)? & KERNEL_THREAD != 0,
        ticks: field(14)? + field(15)? + field(16)? + field(17)?,
        start: field(22)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_and_stolen_time_of_all_processors() {
        let text = "cpu  4107386 143255 1258506 8059362 49387 10 164795 42091 7 3\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        let times = cpu_times(text).unwrap();
        assert_eq!(times.busy, 4_107_386 + 143_255 + 1_258_506 + 10 + 164_795);
        assert_eq!(times.stolen, Some(42_091));
        assert_eq!(cpu_times("cpu  1 2 3 4\n").unwrap().stolen, None);
        assert_eq!(cpu_times("intr 5\n"), None);
    }

    #[test]
    fn counters_have_a_whole_name() {
        let text = "pswpin 12\npswpout 7\npswpin_more 9\n";
        assert_eq!(counter(text, "pswpin"), Some(12));
        assert_eq!(counter(text, "pswp"), None);
    }

    #[test]
    fn both_versions_of_cgroups_tell_how_long_a_quota_held() {
        let second = "usage_usec 100\nnr_periods 9\nnr_throttled 3\nthrottled_usec 2500\n";
        assert_eq!(throttled_ns(second), Some(2_500_000));
        let first = "nr_periods 9\nnr_throttled 3\nthrottled_time 2500\n";
        assert_eq!(throttled_ns(first), Some(2_500));
        assert_eq!(throttled_ns("usage_usec 1\n"), None);
    }

    #[test]
    fn sizes_and_sockets() {
        let text =
            "MemTotal: 24683584 kB\nSwapTotal:       2097148 kB\nSwapFree:        2000000 kB\n";
        assert_eq!(memory(text, "SwapTotal"), Some(2_097_148 * 1024));
        assert_eq!(memory(text, "Swap"), None);
        let text =
            "sockets: used 35\nTCP: inuse 16 orphan 0 tw 672 alloc 17 mem 0\nUDP: inuse 0 mem 0\n";
        assert_eq!(time_wait(text), Some(672));
        assert_eq!(time_wait("sockets: used 3\n"), None);
        assert_eq!(pair("32768\t60999\n"), Some((32_768, 60_999)));
        assert_eq!(chosen("always [madvise] never\n").unwrap(), "madvise");
    }

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        let text =
            "42 (a) b (c) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 30 40 20 5 3 0 999 1000 55 1 0";
        let task = task(text).unwrap();
        assert_eq!(
            (task.pid, task.parent, task.name.as_str()),
            (42, 7, "a) b (c")
        );
        assert_eq!((task.ticks, task.start, task.is_kernel), (100, 999, false));
        let kernel = "9 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 1 2 0 0 20 0 1 0 12 0 0 1";
        assert!(super::task(kernel).unwrap().is_kernel);
        assert_eq!(super::task("9 (x) S"), None);
    }
}
