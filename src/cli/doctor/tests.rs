//! What is said of machines that are not this one.

use super::activity::{self, Watched};
use super::finding::{Finding, Level};
use super::limits::{self, Wanted};
use super::processors;
use crate::host::{Machine, Nofile, Noise, Quota};
use crate::record::{Busy, Host, Surroundings};

/// A machine that nothing is wrong with.
fn quiet() -> Machine {
    Machine {
        host: Host {
            cpu: Some("x".to_owned()),
            cpus: 8,
            cpus_online: 8,
            memory_bytes: Some(16 << 30),
            kernel: Some("Linux 6.1.0 x86_64".to_owned()),
            system: Some("Debian".to_owned()),
            governor: Some("performance".to_owned()),
            virtualized: Some(false),
        },
        affinity_cpus: Some(8),
        cores: Some((0..8).map(|cpu| vec![cpu]).collect()),
        quota: None,
        turbo: Some(false),
        frequency_driver: Some("intel_pstate".to_owned()),
        available_bytes: Some(8 << 30),
        swap_bytes: Some(0),
        swap_used_bytes: Some(0),
        load_average: Some(0.2),
        open_files: Nofile {
            soft: Some(1024),
            hard: Some(524_288),
        },
        ports: Some((32_768, 60_999)),
        time_wait_count: Some(3),
        somaxconn: Some(4096),
        clock: Some("tsc".to_owned()),
        clock_read_ns: 21.0,
        hypervisor: None,
        overheated_count: Some(0),
        huge_pages: Some("madvise".to_owned()),
        address_randomisation: Some(2),
    }
}

/// A second on eight processors in which nothing happened, and a loop that was even.
fn calm() -> Watched {
    let idle = Surroundings {
        took_ns: 1_000_000_000,
        cpus: 8,
        stolen_ns: Some(0),
        others_ns: Some(10_000_000),
        overheated_count: Some(0),
        swapped_in_pages: Some(0),
        ..Surroundings::default()
    };
    Watched {
        noise: Some((
            Noise {
                threads: 8,
                took_ns: 5_000_000_000,
                piece_ns: 1_000_000,
                piece_variation: 0.01,
                speed_variation: 0.002,
                longest_pause_ns: 2_000_000,
            },
            Surroundings {
                took_ns: 5_000_000_000,
                ..idle.clone()
            },
        )),
        idle,
        idle_busy: Some(0.003),
    }
}

fn all(machine: &Machine, wanted: Wanted, watched: &Watched) -> Vec<Finding> {
    let mut all = processors::findings(machine);
    all.extend(limits::findings(machine, wanted));
    all.extend(activity::findings(machine, watched));
    all
}

/// The findings of a machine that are not as they should be.
fn of(machine: &Machine) -> Vec<(String, Level)> {
    wrong(&all(machine, Wanted::default(), &calm()))
}

fn wrong(findings: &[Finding]) -> Vec<(String, Level)> {
    let wrong = findings.iter().filter(|one| one.level != Level::Ok);
    wrong.map(|one| (one.name.clone(), one.level)).collect()
}

fn one(name: &str, level: Level) -> Vec<(String, Level)> {
    vec![(name.to_owned(), level)]
}

#[test]
fn a_quiet_machine_has_nothing_to_say() {
    assert_eq!(of(&quiet()), []);
}

#[test]
fn processors_are_few_shared_bounded_or_of_changing_speed() {
    let machine = Machine {
        host: Host {
            cpus: 1,
            ..quiet().host
        },
        ..quiet()
    };
    assert_eq!(of(&machine), one("processors", Level::Warning));
    let machine = Machine {
        host: Host {
            cpus: 2,
            ..quiet().host
        },
        ..quiet()
    };
    assert_eq!(of(&machine), one("processors", Level::Note));
    let cores = Some(vec![vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]]);
    let findings = processors::findings(&Machine { cores, ..quiet() });
    assert_eq!(wrong(&findings), one("hyper-threads", Level::Note));
    assert!(
        findings[1].seen.contains("8 processors on 4 cores"),
        "{}",
        findings[1].seen
    );
    let quota = |cpus| {
        Some(Quota {
            cpus,
            period_ns: 100_000_000,
        })
    };
    let findings = processors::findings(&Machine {
        quota: quota(1.5),
        ..quiet()
    });
    assert_eq!(wrong(&findings), one("CPU quota", Level::Warning));
    assert!(
        findings[2]
            .seen
            .contains("1.50 processors, in periods of 100 ms"),
        "{}",
        findings[2].seen
    );
    assert_eq!(
        of(&Machine {
            quota: quota(8.0),
            ..quiet()
        }),
        []
    );
    let machine = Machine {
        turbo: Some(true),
        ..quiet()
    };
    assert_eq!(of(&machine), one("turbo", Level::Note));
    assert!(
        processors::findings(&machine)[4]
            .command
            .as_ref()
            .unwrap()
            .contains("no_turbo")
    );
    let machine = Machine {
        turbo: None,
        ..quiet()
    };
    assert_eq!(of(&machine), one("turbo", Level::Unknown));
}

#[test]
fn powersave_is_slow_only_where_it_does_not_follow_the_load() {
    let governed = |governor: &str, driver: &str| {
        of(&Machine {
            host: Host {
                governor: Some(governor.to_owned()),
                ..quiet().host
            },
            frequency_driver: Some(driver.to_owned()),
            ..quiet()
        })
    };
    assert_eq!(
        governed("powersave", "intel_pstate"),
        one("governor", Level::Note)
    );
    assert_eq!(
        governed("powersave", "acpi-cpufreq"),
        one("governor", Level::Warning)
    );
    assert_eq!(
        governed("schedutil", "acpi-cpufreq"),
        one("governor", Level::Note)
    );
    assert_eq!(governed("performance", "acpi-cpufreq"), []);
}

#[test]
fn limits_are_held_against_what_suites_ask_for() {
    let with = |machine: &Machine, connections| {
        wrong(&limits::findings(
            machine,
            Wanted {
                connections: Some(connections),
            },
        ))
    };
    assert_eq!(with(&quiet(), 64), []);
    assert_eq!(with(&quiet(), 1000), one("open files", Level::Warning));
    let hard = Nofile {
        soft: Some(512),
        hard: Some(1024),
    };
    let tight = Machine {
        open_files: hard,
        ..quiet()
    };
    assert_eq!(with(&tight, 1000), one("open files", Level::CannotMeasure));
    assert_eq!(of(&tight), one("open files", Level::Note));
    let unlimited = Nofile {
        soft: None,
        hard: None,
    };
    assert_eq!(
        with(
            &Machine {
                open_files: unlimited,
                ..quiet()
            },
            4000
        ),
        []
    );
    let short = Machine {
        somaxconn: Some(128),
        ..quiet()
    };
    assert_eq!(of(&short), one("accept queue", Level::Note));
    assert_eq!(with(&short, 64), []);
    assert_eq!(with(&short, 256), one("accept queue", Level::Warning));
}

#[test]
fn ports_run_out_by_a_narrow_range_or_by_many_that_wait() {
    let machine = Machine {
        ports: Some((50_000, 50_999)),
        ..quiet()
    };
    assert_eq!(of(&machine), one("ports", Level::Note));
    let machine = Machine {
        time_wait_count: Some(20_000),
        ..quiet()
    };
    assert_eq!(of(&machine), one("ports", Level::Warning));
}

#[test]
fn memory_and_clock() {
    let swapped = Machine {
        swap_bytes: Some(2 << 30),
        swap_used_bytes: Some(5 << 20),
        ..quiet()
    };
    assert_eq!(of(&swapped), one("swap", Level::Note));
    let unused = Machine {
        swap_used_bytes: Some(0),
        ..swapped.clone()
    };
    assert_eq!(of(&unused), []);
    let mut watched = calm();
    watched.idle.swapped_in_pages = Some(400);
    assert_eq!(
        wrong(&all(&swapped, Wanted::default(), &watched)),
        one("swap", Level::Warning)
    );
    let machine = Machine {
        huge_pages: Some("always".to_owned()),
        ..quiet()
    };
    assert_eq!(of(&machine), one("huge pages", Level::Note));
    let machine = Machine {
        address_randomisation: Some(0),
        ..quiet()
    };
    assert_eq!(of(&machine), one("addresses", Level::Note));
    let machine = Machine {
        clock: Some("hpet".to_owned()),
        clock_read_ns: 1300.0,
        ..quiet()
    };
    assert_eq!(of(&machine), one("clock", Level::Warning));
}

#[test]
fn others_are_named_and_those_that_cannot_be_seen_count_too() {
    let mut watched = calm();
    watched.idle.others_ns = Some(900_000_000);
    watched.idle.busiest = vec![Busy {
        name: "rustc".to_owned(),
        cpu_ns: 880_000_000,
    }];
    let findings = activity::findings(&quiet(), &watched);
    assert_eq!(wrong(&findings), one("other processes", Level::Warning));
    assert!(
        findings[1]
            .seen
            .contains("11.2 % of the processors' time in a second: rustc 11.0 %"),
        "{}",
        findings[1].seen
    );
    let hidden = Watched {
        idle_busy: Some(0.4),
        ..calm()
    };
    let findings = activity::findings(&quiet(), &hidden);
    assert_eq!(wrong(&findings), one("other processes", Level::Warning));
    assert!(findings[1].remedy.as_ref().unwrap().contains("container"));
    let loaded = Machine {
        load_average: Some(4.0),
        ..quiet()
    };
    assert_eq!(of(&loaded), one("load average", Level::Note));
}

#[test]
fn heat_counts_most_when_it_is_now() {
    let warm = Machine {
        overheated_count: Some(7),
        ..quiet()
    };
    assert_eq!(of(&warm), one("heat", Level::Note));
    let mut watched = calm();
    watched.noise.as_mut().unwrap().1.overheated_count = Some(2);
    assert_eq!(
        wrong(&all(&warm, Wanted::default(), &watched)),
        one("heat", Level::Warning)
    );
}

#[test]
fn a_virtual_machine_is_a_note_until_its_time_is_stolen() {
    let machine = Machine {
        host: Host {
            virtualized: Some(true),
            ..quiet().host
        },
        hypervisor: Some("QEMU Standard PC".to_owned()),
        ..quiet()
    };
    assert_eq!(of(&machine), one("virtual machine", Level::Note));
    let mut watched = calm();
    watched.noise.as_mut().unwrap().1.stolen_ns = Some(2_000_000_000);
    let findings = activity::findings(&machine, &watched);
    assert_eq!(wrong(&findings), one("virtual machine", Level::Warning));
    assert!(
        findings[4].seen.contains("5.0 % stolen"),
        "{}",
        findings[4].seen
    );
}

#[test]
fn an_uneven_machine_needs_more_trials_or_is_hopeless() {
    let uneven = |variation, pause_ms: u64| {
        let mut watched = calm();
        let (noise, _) = watched.noise.as_mut().unwrap();
        noise.speed_variation = variation;
        noise.longest_pause_ns = pause_ms * 1_000_000;
        activity::findings(&quiet(), &watched)
    };
    assert_eq!(wrong(&uneven(0.019, 9)), []);
    assert_eq!(wrong(&uneven(0.019, 10)), one("evenness", Level::Note));
    let warned = uneven(0.05, 10);
    assert_eq!(wrong(&warned), one("evenness", Level::Warning));
    // 15.7 × (5 % ÷ 5 %)² + 2, upwards.
    assert!(
        warned[5]
            .effect
            .as_ref()
            .unwrap()
            .contains("18 repetitions"),
        "{warned:?}"
    );
    assert_eq!(
        wrong(&uneven(0.7, 10)),
        one("evenness", Level::CannotMeasure)
    );
}
