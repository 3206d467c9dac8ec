//! The CPU quota around this process, by cgroups of either version. Pure: text in, value out.

use serde::Serialize;

/// How much CPU time a group of processes may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quota {
    /// Processors' worth of time: 1.5 is one and a half.
    pub cpus: f64,
    /// The period in which it is given; what is used up before its end waits for the next.
    pub period_ns: u64,
}

/// `cpu.max` of version 2: quota and period in microseconds, `max` for none.
pub(super) fn of_second(cpu_max: &str) -> Option<Quota> {
    let mut words = cpu_max.split_whitespace();
    let quota = words.next()?.parse().ok()?;
    quota_of(quota, words.next()?.parse().ok()?)
}

/// `cpu.cfs_quota_us`, -1 for none, and `cpu.cfs_period_us` of version 1.
pub(super) fn of_first(quota: &str, period: &str) -> Option<Quota> {
    quota_of(quota.trim().parse().ok()?, period.trim().parse().ok()?)
}

fn quota_of(quota_us: f64, period_us: u64) -> Option<Quota> {
    (quota_us > 0.0 && period_us > 0).then(|| Quota {
        cpus: quota_us / period_us as f64,
        period_ns: period_us.saturating_mul(1000),
    })
}

/// The folders that may hold the quota of this process, its own group first, then those around it: by `/proc/self/cgroup`
/// and `/proc/self/mountinfo`. Empty where no CPU controller is mounted.
pub(super) fn folders(cgroup: &str, mountinfo: &str) -> Vec<String> {
    let Some((mount, root, version)) = mount(mountinfo) else {
        return Vec::new();
    };
    let Some(group) = group(cgroup, version) else {
        return Vec::new();
    };
    // In a container the mount shows the container's group as its root.
    let inside = group.strip_prefix(root.as_str()).unwrap_or(group);
    let inside = inside.trim_matches('/');
    let mut all = vec![mount.clone()];
    let mut path = mount;
    for part in inside.split('/').filter(|part| !part.is_empty()) {
        path = format!("{path}/{part}");
        all.push(path.clone());
    }
    all.reverse();
    all
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    First,
    Second,
}

/// Where the CPU controller is mounted, and which group that is. Version 1 goes first: where both are mounted, it has
/// the controller.
fn mount(mountinfo: &str) -> Option<(String, String, Version)> {
    let of = |version: Version| {
        mountinfo.lines().find_map(|line| {
            // proc_pid_mountinfo(5): id parent major:minor root mount options … - type source superoptions
            let (head, tail) = line.split_once(" - ")?;
            let mut head = head.split(' ').skip(3);
            let (root, mount) = (head.next()?, head.next()?);
            let mut tail = tail.split(' ');
            let (kind, options) = (tail.next()?, tail.nth(1)?);
            let fits = match version {
                Version::First => kind == "cgroup" && options.split(',').any(|word| word == "cpu"),
                Version::Second => kind == "cgroup2",
            };
            let root = if root == "/" { "" } else { root };
            fits.then(|| (mount.to_owned(), root.to_owned(), version))
        })
    };
    of(Version::First).or_else(|| of(Version::Second))
}

/// The path of this process's group: `hierarchy:controllers:path`.
fn group(cgroup: &str, version: Version) -> Option<&str> {
    cgroup.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let fits = match version {
            Version::First => controllers.split(',').any(|one| one == "cpu"),
            Version::Second => controllers.is_empty(),
        };
        fits.then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_so_many_processors() {
        let quota = of_second("150000 100000\n").unwrap();
        assert!((quota.cpus - 1.5).abs() < 1e-9);
        assert_eq!(quota.period_ns, 100_000_000);
        assert_eq!(of_second("max 100000\n"), None);
        assert!((of_first("50000\n", "100000\n").unwrap().cpus - 0.5).abs() < 1e-9);
        assert_eq!(of_first("-1\n", "100000\n"), None);
    }

    #[test]
    fn the_second_version_has_one_tree() {
        let mounts =
            "25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        assert_eq!(
            folders("0::/user.slice/user-1000.slice/session-2.scope\n", mounts),
            [
                "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope",
                "/sys/fs/cgroup/user.slice/user-1000.slice",
                "/sys/fs/cgroup/user.slice",
                "/sys/fs/cgroup",
            ]
        );
    }

    #[test]
    fn in_a_container_the_mount_is_the_group() {
        let mounts = "701 690 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct\n";
        let group = "4:cpu,cpuacct:/docker/abc\n0::/docker/abc\n";
        assert_eq!(folders(group, mounts), ["/sys/fs/cgroup/cpu,cpuacct"]);
    }

    #[test]
    fn where_both_are_mounted_the_first_has_the_controller() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        assert_eq!(folders("1:cpu:/\n0::/\n", mounts), ["/sys/fs/cgroup/cpu"]);
        assert_eq!(folders("1:cpu:/\n", ""), Vec::<String>::new());
    }
}
