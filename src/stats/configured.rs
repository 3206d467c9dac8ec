//! In what two cells are configured differently, and whether that reached the processes that serve.

use super::seen::{Seen, Variable, list};
use crate::spec::{Build, Cell, LoadSpec, ProcessSpec, Request, Text, line, short_commit};
use std::collections::BTreeSet;

/// Something that is configured differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Setting {
    /// Another program serves; which, in words.
    Runs(String),
    /// It reached what serves, as far as can be told; what, in words.
    Reached(String),
    /// It did not; why, in a sentence without its full stop.
    Lost(String),
}

/// The process that is loaded, with what was seen of it.
struct Side<'a> {
    process: &'a ProcessSpec,
    seen: &'a Seen<'a>,
    /// The values by which its cell differs, in words.
    label: String,
}

/// In what the loads themselves differ, apart from their requests and expectations.
pub(super) fn load(a: &LoadSpec, b: &LoadSpec) -> Vec<String> {
    let differs = [
        (a.connections != b.connections, "connections"),
        (a.pace != b.pace || a.arrivals != b.arrivals, "rate"),
        (a.keep_alive != b.keep_alive, "use of connections"),
        (a.http != b.http, "version of HTTP"),
        (a.streams != b.streams, "streams"),
        (a.pipelining != b.pipelining, "pipelining"),
        (a.tls != b.tls, "TLS"),
        (a.generator != b.generator, "generator"),
        (a.amount != b.amount || a.rounds != b.rounds, "length"),
        (a.warmup != b.warmup, "warm-up"),
    ];
    differs
        .into_iter()
        .filter(|(differs, _)| *differs)
        .map(|(_, what)| format!("the {what} of the load"))
        .collect()
}

/// In what two cells differ whose loads are the same.
pub(super) fn configured(of: (&Cell, &Seen<'_>), to: (&Cell, &Seen<'_>)) -> Vec<Setting> {
    let ((a, seen_a), (b, seen_b)) = (of, to);
    let mut settings = requests(&a.work, &b.work);
    settings.extend(revision(a, b));
    settings.extend(around(a, b).into_iter().map(Setting::Reached));
    if a.front == b.front
        && let Some((process_a, process_b)) = a.front_process().zip(b.front_process())
    {
        let of = Side {
            process: process_a,
            seen: seen_a,
            label: label(a, b),
        };
        let to = Side {
            process: process_b,
            seen: seen_b,
            label: label(b, a),
        };
        settings.extend(front(&[of, to]));
    }
    settings
}

/// The values that a cell does not have in common with another.
fn label(cell: &Cell, other: &Cell) -> String {
    let own = cell
        .toggles
        .iter()
        .filter(|choice| !other.toggles.contains(choice));
    list(own.map(|choice| format!("{} {}", choice.toggle, choice.label)))
}

/// What is sent reaches the server; whether it matters there shows in the answer.
fn requests(a: &LoadSpec, b: &LoadSpec) -> Vec<Setting> {
    let mut words = request(&a.request, &b.request);
    let of = |load: &LoadSpec| -> Vec<_> {
        let mix = load.mix.iter();
        mix.map(|one| (one.request.clone(), one.path_file.clone(), one.weight))
            .collect()
    };
    if of(a) != of(b) {
        words.push("the mix of requests".to_owned());
    }
    words.into_iter().map(Setting::Reached).collect()
}

fn request(a: &Request, b: &Request) -> Vec<String> {
    let mut words = Vec::new();
    if a.method != b.method {
        words.push(format!("the method ({} and {})", a.method, b.method));
    }
    if a.path != b.path {
        words.push(format!(
            "the path of the request ({} and {})",
            a.path, b.path
        ));
    }
    let names = other_names(&a.headers, &b.headers);
    if !names.is_empty() {
        words.push(format!(
            "the headers of the request ({})",
            list(names.into_iter())
        ));
    }
    if a.body != b.body || a.body_file != b.body_file {
        words.push("the body of the request".to_owned());
    }
    words
}

/// The names whose values differ, or that one side lacks.
fn other_names(a: &[(String, Text)], b: &[(String, Text)]) -> BTreeSet<String> {
    let lacks = |all: &[(String, Text)], pair: &(String, Text)| !all.contains(pair);
    let of_a = a.iter().filter(|pair| lacks(b, pair));
    let of_b = b.iter().filter(|pair| lacks(a, pair));
    of_a.chain(of_b).map(|(name, _)| name.clone()).collect()
}

/// What lies around the process that is loaded: nothing tells whether it matters.
fn around(a: &Cell, b: &Cell) -> Vec<String> {
    let roles = |cell: &Cell| list(cell.processes.iter().map(|process| process.role.clone()));
    let mut words = Vec::new();
    if roles(a) != roles(b) {
        words.push(format!("the processes ({}; {})", roles(a), roles(b)));
    } else if a.front != b.front {
        words.push(format!(
            "the process that is loaded ({} and {})",
            a.front, b.front
        ));
    }
    for process in a.processes.iter().filter(|process| process.role != a.front) {
        let other = b.processes.iter().find(|other| other.role == process.role);
        // What stands in a rendered file may depend on any toggle, and is not kept.
        if other.is_some_and(|other| other != process || !process.files.is_empty()) {
            words.push(format!("the process {}", process.role));
        }
    }
    let differs = [
        (
            !a.builds.iter().map(apart).eq(b.builds.iter().map(apart)),
            "the build",
        ),
        (a.services != b.services, "the services"),
        (a.prepare != b.prepare, "what is prepared before the load"),
        (a.url != b.url, "the address of the server"),
    ];
    let differs = differs.into_iter().filter(|(differs, _)| *differs);
    words.extend(differs.map(|(_, what)| what.to_owned()));
    words
}

/// A build without the revision that it is of.
fn apart(build: &Build) -> Build {
    Build {
        revision: None,
        ..build.clone()
    }
}

/// Another revision is another program, if it is another commit.
fn revision(a: &Cell, b: &Cell) -> Option<Setting> {
    if a.revision == b.revision || a.is_same_revision(b) == Some(true) {
        return None;
    }
    let both = a.commit.as_ref().zip(b.commit.as_ref());
    let which = both.map_or_else(String::new, |(own, other)| {
        format!(" ({} and {})", short_commit(own), short_commit(other))
    });
    Some(Setting::Runs(format!("the revision{which}")))
}

/// What the process that is loaded gets.
fn front(sides: &[Side<'_>; 2]) -> Vec<Setting> {
    let marks = sides[0].seen.mark.zip(sides[1].seen.mark);
    let same_start = marks.map(|(a, b)| a == b);
    let mut settings = environment(sides, same_start);
    settings.extend(command(sides, same_start));
    let [a, b] = sides.each_ref().map(|side| side.process);
    if a.runtime != b.runtime {
        settings.push(match same_start {
            Some(true) => {
                Setting::Lost("the runtime is the same for both where it serves".to_owned())
            }
            // What a process was started as is its program too.
            Some(false) => Setting::Runs("the runtime that serves".to_owned()),
            None => Setting::Reached("the runtime".to_owned()),
        });
    }
    let differs = [
        // Where a process is now need not be where it was started.
        (a.cwd != b.cwd, "the folder of the process"),
        // What stands in them may depend on any toggle, and is not kept.
        (
            a.files != b.files || !a.files.is_empty(),
            "the files that are rendered for it",
        ),
        (a.copy != b.copy, "whether it runs in a copy of its folder"),
        (a.count != b.count, "how many of it are started"),
        (
            a.address != b.address || a.port != b.port || a.socket != b.socket,
            "the address on which it listens",
        ),
        (a.prepare != b.prepare, "what is prepared for it"),
        (a.needs != b.needs, "what it needs"),
        (
            a.pass_env != b.pass_env,
            "the variables that come from the caller",
        ),
    ];
    let differs = differs.into_iter().filter(|(differs, _)| *differs);
    settings.extend(differs.map(|(_, what)| Setting::Reached(what.to_owned())));
    settings
}

/// What the suite says of a variable.
#[derive(PartialEq, Eq)]
enum Said<'a> {
    Nothing,
    TakenAway,
    Set(&'a Text),
}

fn said<'a>(process: &'a ProcessSpec, name: &str) -> Said<'a> {
    if process.unset_env.iter().any(|unset| unset == name) {
        return Said::TakenAway;
    }
    let found = process.env.iter().find(|(own, _)| own == name);
    found.map_or(Said::Nothing, |(_, value)| Said::Set(value))
}

fn environment(sides: &[Side<'_>; 2], same_start: Option<bool>) -> Vec<Setting> {
    let [a, b] = sides.each_ref().map(|side| side.process);
    let all = [a, b].into_iter().flat_map(|process| {
        let set = process.env.iter().map(|(name, _)| name);
        set.chain(&process.unset_env)
    });
    let names: BTreeSet<&str> = all
        .map(String::as_str)
        .filter(|name| said(a, name) != said(b, name))
        .collect();
    let (mut reached, mut lost) = (Vec::new(), Vec::new());
    for name in names {
        let whys: Vec<Option<String>> = sides
            .iter()
            .filter_map(|side| match said(side.process, name) {
                Said::Nothing => None,
                Said::TakenAway => Some(why_lost(name, false, side)),
                Said::Set(_) => Some(why_lost(name, true, side)),
            })
            .collect();
        match (whys.iter().any(Option::is_none), same_start) {
            (true, Some(true)) => lost.push(format!(
                "{name} is the same for both in the process that serves"
            )),
            (true, _) => reached.push(name.to_owned()),
            (false, _) => lost.extend(whys.into_iter().flatten()),
        }
    }
    let mut settings = Vec::new();
    if !reached.is_empty() {
        let names = list(reached.into_iter());
        settings.push(Setting::Reached(format!(
            "the environment of the process ({names})"
        )));
    } else if !lost.is_empty() && same_start == Some(false) {
        // A wrapper may have made something else of them.
        settings.push(Setting::Reached(
            "how the process that serves was started".to_owned(),
        ));
    }
    settings.extend(lost.into_iter().map(Setting::Lost));
    settings
}

/// Why what the suite says of a variable did not reach what serves; none where it did, or may have.
fn why_lost(name: &str, is_set: bool, side: &Side<'_>) -> Option<String> {
    let label = &side.label;
    match (side.seen.variable(name), is_set) {
        (Variable::Unknown | Variable::Arrived, _) => None,
        (Variable::Missing, true) => Some(format!(
            "{name} is set for {label}, but the process that serves has no such variable"
        )),
        (Variable::Changed, true) => Some(format!(
            "{name} is set for {label}, but the process that serves has another value of it"
        )),
        (_, false) => Some(format!(
            "{name} is taken away for {label}, but the process that serves still has it"
        )),
    }
}

/// In what the commands differ. What a wrapper was given need not stand on the command line of what it starts, so only
/// that the same was started in the same way tells that it made no difference.
fn command(sides: &[Side<'_>; 2], same_start: Option<bool>) -> Vec<Setting> {
    let [a, b] = sides.each_ref().map(|side| side.process.command.as_slice());
    if a == b {
        return Vec::new();
    }
    let ahead = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let behind = a[ahead..].iter().rev().zip(b[ahead..].iter().rev());
    let behind = behind.take_while(|(a, b)| a == b).count();
    let own = |words: &[Text]| line(&words[ahead..words.len() - behind]);
    let words = [own(a), own(b)]
        .into_iter()
        .filter(|words| !words.is_empty());
    let words = list(words);
    let what = if ahead == 0 {
        format!("the program ({words})")
    } else {
        format!("the arguments of the command ({words})")
    };
    // Not everything that a launcher can set shows in what it starts.
    if same_start != Some(true) || ahead == 0 {
        return vec![Setting::Reached(what)];
    }
    let is_lost = |side: &Side<'_>| {
        let places = ahead..side.process.command.len() - behind;
        let missing = side.seen.words_missing.as_ref();
        places
            .into_iter()
            .all(|place| missing.is_some_and(|all| all.contains(&place)))
    };
    vec![Setting::Lost(if sides.iter().all(is_lost) {
        format!("{what} did not come through to the process that serves")
    } else {
        format!("{what} make no difference to what serves, which is started in the same way")
    })]
}
