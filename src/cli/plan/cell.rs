//! One cell of the plan, whole: what is started, with what commands and environment, what is sent, what is expected.

use super::Survey;
use super::tree::amount;
use crate::cli::exit::Exit;
use crate::cli::requirements::Needs;
use crate::cli::terminal::{print, say_error, shown};
use crate::metric::{self, Unit};
use crate::plan::estimate;
use crate::run::beyond;
use crate::spec::{
    Bound, Cell, Expect, Http, ProcessSpec, Ready, ReadyBy, Request, Skip, line, short_commit,
};
use crate::units::{show_bytes, show_duration, show_seconds, write_duration};
use std::fmt::Write as _;

/// How many names an error lists.
const MOST_NAMES: usize = 12;

/// Shows the one cell that is meant.
pub(super) fn show(all: &mut [Survey<'_>], wanted: &str) -> Result<(), Exit> {
    let mut found: Vec<String> = Vec::new();
    let mut text = None;
    for survey in all.iter_mut() {
        let Survey {
            plan,
            machine,
            head,
            ..
        } = survey;
        for cell in plan.cells() {
            let missing = machine.missing(&Needs::of(&cell));
            let skip = missing.or_else(|| beyond(&cell));
            if !is_meant(&cell, wanted) {
                continue;
            }
            if found.len() <= MOST_NAMES {
                found.push(cell.id.names().to_owned());
            }
            text = text.or_else(|| {
                let time = estimate(&cell, &head.run);
                let trials = format!(
                    "{}, each about {}, given up after {}",
                    cell.repetitions,
                    show_duration(time),
                    show_duration(cell.trial_timeout)
                );
                Some(lines(&cell, skip.as_ref(), &trials))
            });
        }
    }
    match (found.len(), text) {
        (1, Some(text)) => {
            print(&shown(&text));
            Ok(())
        }
        (0, _) => {
            say_error(&format!(
                "no cell is `{wanted}`; `hotlap plan` without --cell shows them all"
            ));
            Err(Exit::Usage)
        }
        (number, _) => {
            let more = if number > MOST_NAMES { "\n  …" } else { "" };
            let names = found[..number.min(MOST_NAMES)].join("\n  ");
            say_error(&format!(
                "`{wanted}` is more than one cell; name more axes, or one of\n  {names}{more}"
            ));
            Err(Exit::Usage)
        }
    }
}

/// Whether a cell is what was typed: its id, its name, or values of some of its axes.
fn is_meant(cell: &Cell, wanted: &str) -> bool {
    if wanted == cell.id.0 || wanted == cell.id.names() {
        return true;
    }
    if wanted.contains(['@', '/']) {
        return false;
    }
    wanted.split([',', ' ']).all(|pair| {
        let Some((axis, value)) = pair.split_once('=') else {
            return pair == cell.server && cell.toggles.is_empty();
        };
        match axis {
            "server" => value == cell.server,
            "load" => value == cell.load,
            _ => cell
                .toggles
                .iter()
                .any(|choice| choice.toggle == axis && choice.value == value),
        }
    })
}

/// Lines of a name and what it is.
struct Lines(String);

impl Lines {
    fn add(&mut self, name: &str, text: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "  {name:<10} {text}");
    }

    fn add_all(&mut self, name: &str, texts: &[String]) {
        for (at, text) in texts.iter().enumerate() {
            self.add(if at == 0 { name } else { "" }, text);
        }
    }
}

fn lines(cell: &Cell, skip: Option<&Skip>, trials: &str) -> String {
    let mut out = Lines(format!("{}\n", cell.id.0));
    if let Some(skip) = skip {
        let install = skip
            .install
            .as_ref()
            .map_or_else(String::new, |line| format!("; {line}"));
        out.add("skipped", &format!("{}{install}", skip.reason));
    }
    out.add("server", &cell.server_label);
    let toggles: Vec<String> = cell
        .toggles
        .iter()
        .map(|choice| format!("{} = {}", choice.toggle, choice.label))
        .collect();
    out.add_all("toggles", &toggles);
    out.add("load", &cell.load_label);
    if let Some(baseline) = &cell.baseline {
        out.add("baseline", baseline.names());
    }
    let requires: Vec<String> = cell
        .requires
        .iter()
        .map(crate::spec::Requirement::text)
        .collect();
    out.add("requires", &or_nothing(&requires.join(", ")));
    if !cell.services.is_empty() {
        out.add("services", &cell.services.join(", "));
    }
    if let Some(revision) = &cell.revision {
        let commit = cell
            .commit
            .as_deref()
            .map_or_else(String::new, |commit| format!(" ({})", short_commit(commit)));
        out.add("revision", &format!("{revision}{commit}"));
    }
    for build in &cell.builds {
        let commands: Vec<String> = build
            .commands
            .iter()
            .map(|words| format!("{} (in {})", line(words), build.cwd))
            .collect();
        out.add_all("build", &commands);
    }
    for process in &cell.processes {
        process_lines(&mut out, process, process.role == cell.front);
    }
    if let Some(url) = &cell.url {
        out.add("url", url);
    }
    out.add("ready", &ready(&cell.ready));
    let prepare: Vec<String> = cell.prepare.iter().map(|words| line(words)).collect();
    out.add_all("prepare", &prepare);
    load_lines(&mut out, cell);
    out.add("trials", trials);
    figure_lines(&mut out, cell);
    out.0
}

fn or_nothing(text: &str) -> String {
    if text.is_empty() {
        "nothing".to_owned()
    } else {
        text.to_owned()
    }
}

fn process_lines(out: &mut Lines, process: &ProcessSpec, is_front: bool) {
    let what = match (is_front, process.count) {
        (true, _) => "loaded".to_owned(),
        (false, 1) => "beside it".to_owned(),
        (false, count) => format!("{count} of it, beside it"),
    };
    out.add("process", &format!("{}, {what}", process.role));
    let copy = if process.copy {
        ", a copy of it for each trial"
    } else {
        ""
    };
    out.add("  in", &format!("{}{copy}", process.cwd));
    out.add("  command", &line(&process.command));
    let mut env: Vec<String> = process
        .env
        .iter()
        .map(|(name, value)| {
            if process.secret.contains(name) {
                format!("{name}=(secret)")
            } else {
                format!("{name}={value}")
            }
        })
        .collect();
    if !process.env.iter().any(|(name, _)| name == "PORT") {
        env.insert(0, "PORT={{ port }}".to_owned());
    }
    env.extend(
        process
            .pass_env
            .iter()
            .map(|name| format!("{name} as the caller has it")),
    );
    env.extend(
        process
            .unset_env
            .iter()
            .map(|name| format!("{name} not set")),
    );
    out.add_all("  env", &env);
    if let Some(runtime) = &process.runtime {
        out.add("  runtime", runtime);
    }
    let files: Vec<String> = process
        .files
        .iter()
        .map(|(name, source)| format!("{name} from {source}"))
        .collect();
    out.add_all("  files", &files);
    if !process.needs.is_empty() {
        out.add("  needs", &process.needs.join(", "));
    }
    if let Some(socket) = &process.socket {
        out.add("  socket", &socket.to_string());
    } else {
        let port = process
            .port
            .map_or_else(|| "a free port".to_owned(), |port| format!("port {port}"));
        out.add("  address", &format!("{}, {port}", process.address));
    }
    if let Some(own) = &process.ready {
        out.add("  ready", &ready(own));
    }
    let prepare: Vec<String> = process.prepare.iter().map(|words| line(words)).collect();
    out.add_all("  prepare", &prepare);
    out.add(
        "  stop",
        &format!(
            "{}, killed after {}",
            process.stop.signal,
            write_duration(process.stop.grace)
        ),
    );
}

fn ready(ready: &Ready) -> String {
    let within = write_duration(ready.timeout);
    match &ready.by {
        Some(ReadyBy::Command(words)) => format!("`{}` succeeds within {within}", line(words)),
        Some(ReadyBy::Tcp) => format!("its port takes a connection within {within}"),
        Some(ReadyBy::Log(text)) => format!("it prints \"{text}\" within {within}"),
        None => {
            let answer = ready.status.map_or_else(
                || "any answer but 502, 503 and 504".to_owned(),
                |status| status.to_string(),
            );
            format!("GET {} gives {answer} within {within}", ready.path)
        }
    }
}

fn load_lines(out: &mut Lines, cell: &Cell) {
    let work = &cell.work;
    if work.mix.is_empty() {
        request_lines(out, "request", &work.request);
        out.add("expect", &expect(&work.expect));
    }
    for one in &work.mix {
        let path = one
            .path_file
            .as_ref()
            .map_or_else(String::new, |file| format!(", paths of {}", file.path));
        request_lines(out, &format!("{:>3} of mix", one.weight), &one.request);
        out.add("  expect", &format!("{}{path}", expect(&one.expect)));
    }
    let mut how = vec![amount(work)];
    how.push(if work.find_warmup {
        "a warm-up that pilots find".to_owned()
    } else {
        format!("warm-up {}", write_duration(work.warmup))
    });
    how.push(format!("time-out {}", write_duration(work.timeout)));
    if !work.keep_alive {
        how.push("a new connection for each request".to_owned());
    }
    if work.http == Http::Two {
        how.push(format!("HTTP/2 with {} streams", work.streams));
    }
    if work.pipelining > 1 {
        how.push(format!("{} requests ahead", work.pipelining));
    }
    if let Some(tls) = &work.tls {
        how.push(if tls.insecure {
            "TLS with any certificate".to_owned()
        } else {
            "TLS".to_owned()
        });
    }
    out.add("sends", &how.join(", "));
}

fn request_lines(out: &mut Lines, name: &str, request: &Request) {
    out.add(name, &format!("{} {}", request.method, request.path));
    let headers: Vec<String> = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    out.add_all("  headers", &headers);
    if let Some(body) = &request.body {
        out.add("  body", &body.to_string());
    }
    if let Some(file) = &request.body_file {
        out.add("  body", &format!("the file {}", file.path));
    }
}

fn expect(expect: &Expect) -> String {
    let mut all = vec![format!("status {}", expect.status)];
    if let Some(body) = &expect.body {
        all.push(format!("body {body:?}"));
    }
    if let Some(text) = &expect.contains {
        all.push(format!("a body that contains {text:?}"));
    }
    if let Some(size) = expect.min_size {
        all.push(format!("at least {size} bytes"));
    }
    all.extend(
        expect
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    all.extend(expect.no_headers.iter().map(|name| format!("no {name}")));
    all.join(", ")
}

fn figure_lines(out: &mut Lines, cell: &Cell) {
    let gates: Vec<String> = cell
        .gates
        .iter()
        .map(|limit| {
            let max = limit
                .max
                .map(|max| format!(" at most {}", bound(&limit.metric, max)));
            let min = limit
                .min
                .map(|min| format!(" at least {}", bound(&limit.metric, min)));
            let worse = limit
                .max_regression
                .map(|share| format!(" at most {} % worse than it was", share * 100.0));
            let history = limit
                .history
                .then(|| " without a new change for the worse over the nights".to_owned());
            let all: Vec<String> = [max, min, worse, history].into_iter().flatten().collect();
            format!("{}{}", limit.metric, all.join(","))
        })
        .collect();
    out.add_all("gates", &gates);
    let published: Vec<String> = cell
        .published
        .iter()
        .map(|one| {
            let value = figure(&one.metric, one.value);
            format!("{}: {} {value}", one.report, one.metric)
        })
        .collect();
    out.add_all("published", &published);
}

fn bound(metric: &str, bound: Bound) -> String {
    match bound {
        Bound::Value(value) => figure(metric, value),
        Bound::Share(share) => format!("{} %", share * 100.0),
    }
}

/// A figure in the unit of its metric, as people read it.
fn figure(metric: &str, value: f64) -> String {
    match metric::find(metric).map(|metric| metric.unit) {
        Some(Unit::Nanoseconds) => show_seconds(value / 1e9),
        Some(Unit::CpuSeconds) => show_seconds(value),
        Some(Unit::Bytes) => show_bytes(value),
        Some(Unit::BytesPerSecond) => format!("{}/s", show_bytes(value)),
        Some(Unit::PerSecond | Unit::PerCpuSecond | Unit::Count) | None => value.to_string(),
    }
}
