//! How a run was measured: the machine, the versions, the order, and what exactly was started and
//! sent for each cell, so that someone else can do it again.

use super::naming::Naming;
use super::{Input, generator, repetitions, show, warmup};
use crate::record::{Host, Run, Trial};
use crate::spec::{
    Amount, Arrivals, Cell, Http, LoadSpec, Order, Pace, ProcessSpec, Request, Tls, WORKTREE,
    short_commit,
};
use crate::stats::CellSummary;
use crate::units::{show_bytes, show_duration, show_number, show_seconds, write_duration};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

/// One line of how it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fact {
    /// What it is about.
    pub name: &'static str,
    /// The fact.
    pub text: String,
}

/// What was started and sent for a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recipe {
    /// The cell's names in a phrase.
    pub title: String,
    /// Builds, environment and commands, as a shell would take them.
    pub commands: String,
    /// The request, the load and what must come back.
    pub load: String,
}

/// The facts of a run.
pub(super) fn facts(run: &Run, input: &Input<'_>) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |name, text: Option<String>| {
        facts.extend(text.map(|text| Fact { name, text }));
    };
    add("Machine", machine(&run.host));
    add("System", system(&run.host));
    add("Versions", versions(run));
    add(
        "hotlap",
        Some(distinct(run.sessions.iter().map(|s| s.hotlap.as_str()))),
    );
    let revisions = run.sessions.iter().filter_map(|s| s.revision.as_deref());
    add(
        "Revision",
        Some(distinct(revisions)).filter(|text| !text.is_empty()),
    );
    add("Revisions", told_revisions(run));
    add("Order", Some(order(run)));
    add("Warm-up", Some(warmup::fact(run)));
    add("Timing", Some(timing(run)));
    add("Generator", generator::fact(run));
    add("Trials", Some(trials(run, input)));
    add("Repetitions", repetitions::fact(run));
    add("Sampler", sampler(input));
    add("Sessions", sessions(run));
    facts
}

fn machine(host: &Host) -> Option<String> {
    let mut parts: Vec<String> = host.cpu.iter().cloned().collect();
    if host.cpus > 0 {
        parts.push(if host.cpus == host.cpus_online {
            show::plural(host.cpus, "CPU")
        } else {
            format!("{} of {}", host.cpus, show::plural(host.cpus_online, "CPU"))
        });
    }
    parts.extend(host.memory_bytes.map(|bytes| show_bytes(bytes as f64)));
    parts.extend(
        host.governor
            .as_ref()
            .map(|governor| format!("governor {governor}")),
    );
    if host.virtualized == Some(true) {
        parts.push("virtual".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The processor and the number of CPUs.
pub(super) fn machine_in_short(host: &Host) -> Option<String> {
    let mut parts: Vec<String> = host.cpu.iter().cloned().collect();
    if host.cpus > 0 {
        parts.push(show::plural(host.cpus, "CPU"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn system(host: &Host) -> Option<String> {
    let parts: Vec<&str> = [host.system.as_deref(), host.kernel.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn versions(run: &Run) -> Option<String> {
    let parts: Vec<String> = run
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut seen = BTreeSet::new();
    let kept: Vec<&str> = values.filter(|value| seen.insert(*value)).collect();
    kept.join(", ")
}

/// Which commit each revision was that cells are made from, in file order; none where no cell is of one.
fn told_revisions(run: &Run) -> Option<String> {
    let all = compared_revisions(run);
    let told = |(name, commit): &(String, Option<String>)| match commit {
        Some(commit) => format!("{name} {}", short_commit(commit)),
        None => name.clone(),
    };
    (!all.is_empty()).then(|| all.iter().map(told).collect::<Vec<_>>().join(", "))
}

/// The revisions that cells are made from, as the suite names them, each once and with its full commit; what lies
/// there is `worktree`. Empty where no cell is of a revision.
pub(super) fn compared_revisions(run: &Run) -> Vec<(String, Option<String>)> {
    let cells = &run.spec.cells;
    let mut all: Vec<(String, Option<String>)> = Vec::new();
    if cells.iter().all(|cell| cell.revision.is_none()) {
        return all;
    }
    for cell in cells.iter().filter(|cell| cell.url.is_none()) {
        let name = cell.revision.as_ref();
        let name = name.map_or_else(|| WORKTREE.to_owned(), ToString::to_string);
        let one = (name, cell.commit.clone());
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

fn order(run: &Run) -> String {
    let seed = run.spec.run.seed;
    match run.spec.run.order {
        Order::Shuffled => {
            format!("rounds, each with every cell once in a fresh random order, seed {seed}")
        }
        Order::Sequential => {
            "rounds, each with every cell once in the order of the file".to_owned()
        }
        Order::Random => format!("all trials in one random order, seed {seed}"),
    }
}

fn timing(run: &Run) -> String {
    let settings = &run.spec.run;
    format!(
        "{} between trials, {} rest before the last memory reading, memory read every {}",
        show_duration(settings.cooldown),
        show_duration(settings.rest),
        show_duration(settings.sample_interval),
    )
}

fn trials(run: &Run, input: &Input<'_>) -> String {
    let took: u64 = input.trials.iter().map(|trial| trial.took_ns).sum();
    format!(
        "{} planned, {} recorded in {}, each in fresh processes{}",
        run.plan.len(),
        input.trials.len(),
        show_duration(Duration::from_nanos(took)),
        if run.spec.cells.iter().any(|cell| cell.url.is_some()) {
            ", but for servers that ran already"
        } else {
            ""
        }
    )
}

/// The most that reading memory and CPU itself took.
fn sampler(input: &Input<'_>) -> Option<String> {
    let used = |trial: &Trial| {
        let window = trial.load.as_ref()?.window_ns as f64 / 1e9;
        let used = trial.usage.get("total")?.sampler_cpu_seconds?;
        (window > 0.0).then_some((used, used / window))
    };
    let (used, share) = input
        .trials
        .iter()
        .filter_map(used)
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "its own CPU time was at most {} in a measured phase, {} % of one CPU",
        show_seconds(used),
        show_number(share * 100.0, 2)
    ))
}

fn sessions(run: &Run) -> Option<String> {
    let parts: Vec<String> = run
        .sessions
        .iter()
        .map(|session| match session.load_average {
            Some(average) => format!("{} (load average {average:.2})", session.started),
            None => session.started.clone(),
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What each cell started and sent.
pub(super) fn recipes(cells: &[CellSummary<'_>], naming: &Naming<'_>) -> Vec<Recipe> {
    cells
        .iter()
        .map(|cell| cell.cell)
        .map(|cell| Recipe {
            title: naming.title(cell),
            commands: commands(cell),
            load: load(&cell.work),
        })
        .collect()
}

fn commands(cell: &Cell) -> String {
    let mut out = String::new();
    if let Some(revision) = &cell.revision {
        let commit = cell.commit.as_deref().map_or_else(String::new, |commit| {
            format!(", commit {}", short_commit(commit))
        });
        let _ = writeln!(out, "# in a checkout of {revision}{commit}");
    }
    for build in &cell.builds {
        for command in &build.commands {
            let words: Vec<String> = command.iter().map(ToString::to_string).collect();
            let line = shell_line(words.iter().map(String::as_str));
            let _ = writeln!(out, "(cd {} && {line})  # built once", quote(&build.cwd));
        }
    }
    if let Some(url) = &cell.url {
        let _ = writeln!(out, "# runs already at {url}");
    }
    if !cell.services.is_empty() {
        let _ = writeln!(out, "# services: {}", cell.services.join(", "));
    }
    for process in &cell.processes {
        out.push_str(&process_lines(cell, process));
    }
    for words in &cell.prepare {
        let _ = writeln!(out, "{}  # before each load", crate::spec::line(words));
    }
    out
}

fn process_lines(cell: &Cell, process: &ProcessSpec) -> String {
    let mut out = String::new();
    if cell.processes.len() > 1 {
        let loaded = if process.role == cell.front {
            ", which is loaded"
        } else {
            ""
        };
        let _ = writeln!(out, "# {}{loaded}", process.role);
    }
    let _ = writeln!(out, "cd {}", quote(&process.cwd.to_string()));
    let mut words: Vec<String> = process
        .unset_env
        .iter()
        .map(|name| format!("-u {name}"))
        .collect();
    if !words.is_empty() {
        words.insert(0, "env".to_owned());
    }
    if !process.env.iter().any(|(name, _)| name == "PORT") {
        words.push("PORT={{ port }}".to_owned());
    }
    words.extend(
        process
            .env
            .iter()
            .map(|(name, value)| format!("{name}={}", quote(&value.to_string()))),
    );
    if let Some(socket) = &process.socket {
        let _ = writeln!(out, "# listens on the Unix-domain socket {socket}");
    }
    let command: Vec<String> = process.command.iter().map(ToString::to_string).collect();
    words.push(shell_line(command.iter().map(String::as_str)));
    let _ = writeln!(out, "{}", words.join(" "));
    out
}

/// A command as a shell takes it. A first word with `=` would set a variable.
fn shell_line<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words
        .enumerate()
        .map(|(at, word)| match at {
            0 if word.contains('=') => shell_words::quote(word).into_owned(),
            _ => quote(word),
        })
        .collect();
    quoted.join(" ")
}

/// A word as a shell takes it: quoted only where the shell would change it. One with a symbol such as
/// `{{ port }}` stays readable.
fn quote(text: &str) -> String {
    let bare = text.replace("{{ ", "").replace(" }}", "");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    if !bare.is_empty() && bare.chars().all(plain) && !bare.starts_with('=') {
        return text.to_owned();
    }
    shell_words::quote(text).into_owned()
}

fn request(out: &mut String, request: &Request) {
    let _ = writeln!(out, "{} {}", request.method, request.path);
    for (name, value) in &request.headers {
        let _ = writeln!(out, "{name}: {value}");
    }
    if let Some(body) = &request.body {
        let _ = writeln!(out, "\n{body}\n");
    }
    if let Some(file) = &request.body_file {
        let _ = writeln!(out, "# its body is {}", file.path);
    }
}

/// When requests are sent, in words.
fn kind_of_loop(work: &LoadSpec) -> String {
    let spread = match work.arrivals {
        Arrivals::Uniform => "",
        Arrivals::Poisson => ", Poisson arrivals",
    };
    let ahead = match work.pipelining {
        1 => String::new(),
        ahead => format!(", {ahead} requests ahead on each connection"),
    };
    match &work.pace {
        None => format!("closed loop{ahead}"),
        Some(Pace::Rate(rate)) => format!("open loop at {rate} requests/s{spread}"),
        Some(Pace::Stages(stages)) => {
            let each = stages.iter().map(|stage| {
                let how = if stage.ramp { "to " } else { "" };
                format!(
                    "{how}{}/s for {}",
                    stage.rate,
                    write_duration(stage.duration)
                )
            });
            let each: Vec<String> = each.collect();
            format!("open loop in stages ({}){spread}", each.join(", "))
        }
        Some(Pace::Search(_)) => format!("open loop at the highest rate that holds{spread}"),
    }
}

fn load(work: &LoadSpec) -> String {
    let mut out = String::new();
    if work.mix.is_empty() {
        request(&mut out, &work.request);
    }
    for one in &work.mix {
        let _ = writeln!(out, "# weight {}", one.weight);
        request(&mut out, &one.request);
        if let Some(file) = &one.path_file {
            let _ = writeln!(out, "# its paths are the lines of {}", file.path);
        }
    }
    let amount = match work.amount {
        _ if matches!(work.pace, Some(Pace::Stages(_))) => {
            format!("for {}", write_duration(work.length()))
        }
        Amount::Duration(duration) => format!("for {}", write_duration(duration)),
        Amount::Requests(requests) => show::plural(requests as usize, "request"),
    };
    let kept = if work.keep_alive {
        "kept alive"
    } else {
        "a new one for each request"
    };
    let by = work
        .generator
        .as_ref()
        .map_or_else(String::new, |name| format!(" by {name}"));
    let rounds = if work.rounds > 1 {
        format!(", {} times in the same process", work.rounds)
    } else {
        String::new()
    };
    let connections = show::plural(work.connections as usize, "connection");
    let on = match work.http {
        Http::One => connections,
        Http::Two => {
            let streams = show::plural(work.streams as usize, "stream");
            let each = if work.connections == 1 {
                ""
            } else {
                " each of"
            };
            format!("HTTP/2, {streams} on{each} {connections}")
        }
    };
    let _ = writeln!(
        out,
        "# {}{by}, {on} ({kept}), {amount}{rounds} after {} of warm-up, time-out {}",
        kind_of_loop(work),
        write_duration(work.warmup),
        write_duration(work.timeout),
    );
    if let Some(tls) = &work.tls {
        let _ = writeln!(out, "# TLS, {}", trust(tls));
    }
    let _ = writeln!(out, "# counted as success: {}", expectation(work));
    out
}

/// Whose certificates a load took, and what a connection of it paid for.
fn trust(tls: &Tls) -> String {
    let mut said = match (&tls.ca, tls.insecure) {
        (_, true) => "certificates were not checked".to_owned(),
        (Some(ca), false) => format!("certificates checked against {}", ca.path),
        (None, false) => "certificates checked against those of the machine".to_owned(),
    };
    if let Some(name) = &tls.server_name {
        let _ = write!(said, ", server name {name}");
    }
    said.push_str("; a whole handshake for each connection, no session is resumed");
    said
}

fn expectation(work: &LoadSpec) -> String {
    let expect = &work.expect;
    let mut parts = vec![format!("status {}", expect.status)];
    parts.extend(
        expect
            .body
            .as_ref()
            .map(|body| format!("this body: {body:?}")),
    );
    parts.extend(
        expect
            .contains
            .as_ref()
            .map(|words| format!("a body with {words:?}")),
    );
    parts.extend(expect.min_size.map(|size| format!("at least {size} bytes")));
    parts.extend(
        expect
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    parts.extend(expect.no_headers.iter().map(|name| format!("no {name}")));
    if let Some(name) = &work.generator {
        return format!(
            "{} (of one answer before and one after the load)\n# under load {name} looked only at the class of its \
             status",
            parts.join(", ")
        );
    }
    let bodies = if expect.body.is_some() {
        "every body was compared whole"
    } else if expect.contains.is_some() || expect.min_size.is_some() {
        "every body that differs from the first was checked, of encoded ones a sample"
    } else {
        "bodies were not compared"
    };
    format!(
        "{}\n# under load status and headers were checked of every response; {bodies}",
        parts.join(", ")
    )
}

/// The command that does the run again, in the same order.
pub(super) fn repeat(run: &Run) -> String {
    let mut words = vec![
        "hotlap".to_owned(),
        "run".to_owned(),
        quote(&run.suite.path),
    ];
    words.extend(["--seed".to_owned(), run.spec.run.seed.to_string()]);
    if let Some(profile) = &run.spec.profile {
        words.extend(["--profile".to_owned(), quote(profile)]);
    }
    words.extend(run.selection.iter().cloned());
    words.join(" ")
}
