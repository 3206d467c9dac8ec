//! What a process really has: its environment and its command line as the kernel keeps them, held against what it
//! was to get. A wrapper script may swallow a variable or an argument on the way. No value leaves this
//! file, since it may be a secret.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::ffi::OsStringExt as _;
use std::sync::OnceLock;

/// What the lines of /proc/PID/status that a launcher such as `taskset` or `setpriv` changes begin with.
const STATUS_LINES: [&[u8]; 8] = [
    b"Uid:",
    b"Gid:",
    b"NoNewPrivs:",
    b"CapEff:",
    b"CapBnd:",
    b"Seccomp:",
    b"Cpus_allowed_list:",
    b"Mems_allowed_list:",
];

/// What became of what one process, or any of several, was to get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effective {
    /// Each wanted variable by its name; none where no environment can be read.
    pub variables: Option<Vec<(String, Arrived)>>,
    /// The words, by their place from 0, that are on no command line; none where none can be read.
    pub words_missing: Option<Vec<usize>>,
    /// A fingerprint of all that the processes were started with: programs, arguments, environments, folders, limits. It
    /// can be compared within this run of hotlap only, and nothing can be told from it, since its key is
    /// random and forgotten. None where not all of it could be read.
    pub mark: Option<u64>,
}

/// What a process is to have.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Variables with their values; none is not to be there.
    pub variables: &'a [(String, Option<String>)],
    /// Arguments.
    pub words: &'a [String],
    /// Texts that are others in each trial, such as its port, with what they are: only that is a part of the mark.
    pub passing: &'a [(String, String)],
}

/// What became of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrived {
    /// It is not as it should be: not there, or still there where it was to be taken away.
    Missing,
    /// It is there with another value.
    Changed,
    /// It is as it should be.
    Yes,
}

/// Looks at living processes. What one of them has has arrived.
pub fn effective(pids: &[u32], wanted: Wanted<'_>) -> Effective {
    let Wanted {
        variables,
        words,
        passing,
    } = wanted;
    let environments: Vec<Vec<Vec<u8>>> = pids
        .iter()
        .filter_map(|pid| environment(&fs::read(format!("/proc/{pid}/environ")).ok()?))
        .collect();
    let lines: Vec<Vec<Vec<u8>>> = pids
        .iter()
        .filter_map(|pid| command_line(&fs::read(format!("/proc/{pid}/cmdline")).ok()?))
        .collect();
    let best = |name: &str, value: Option<&str>| {
        let each = environments.iter().map(|all| arrived(all, name, value));
        each.max().unwrap_or(Arrived::Missing)
    };
    Effective {
        variables: (!environments.is_empty()).then(|| {
            variables
                .iter()
                .map(|(name, value)| (name.clone(), best(name, value.as_deref())))
                .collect()
        }),
        words_missing: (!lines.is_empty()).then(|| {
            // An empty last word cannot be told from the padding behind a command line.
            let is_there = |word: &String| {
                word.is_empty()
                    || lines
                        .iter()
                        .any(|line| line.iter().any(|own| own == word.as_bytes()))
            };
            let places = words.iter().enumerate();
            places
                .filter(|(_, word)| !is_there(word))
                .map(|(place, _)| place)
                .collect()
        }),
        mark: mark(pids, passing),
    }
}

fn mark(pids: &[u32], passing: &[(String, String)]) -> Option<u64> {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    // Workers that were started alike count once, whatever their number.
    let states: Option<BTreeSet<Vec<Vec<u8>>>> =
        pids.iter().map(|pid| state(*pid, passing)).collect();
    let states = states.filter(|states| !states.is_empty())?;
    Some(KEY.get_or_init(RandomState::new).hash_one(states))
}

/// All that a process was started with, without the texts that pass.
fn state(pid: u32, passing: &[(String, String)]) -> Option<Vec<Vec<u8>>> {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).ok();
    let link = |file: &str| {
        let target = fs::read_link(format!("/proc/{pid}/{file}")).ok()?;
        Some(target.into_os_string().into_vec())
    };
    let mut variables = environment(&read("environ")?)?;
    variables.sort();
    let mut parts = vec![link("exe")?, link("cwd")?, read("limits")?, read("cgroup")?];
    let status = read("status")?;
    let lines = status.split(|byte| *byte == b'\n');
    let told = |line: &&[u8]| STATUS_LINES.iter().any(|begin| line.starts_with(begin));
    parts.extend(lines.filter(told).map(<[u8]>::to_vec));
    parts.extend(schedule(&read("stat")?)?);
    // Not every kernel tells it.
    parts.extend(read("personality"));
    parts.extend(command_line(&read("cmdline")?)?);
    parts.extend(variables);
    for part in &mut parts {
        for (text, name) in passing.iter().filter(|(text, _)| !text.is_empty()) {
            *part = without(part, text.as_bytes(), name.as_bytes());
        }
    }
    Some(parts)
}

/// How a process is scheduled: its nice value, real-time priority and policy, fields 19, 40 and 41 of `proc_pid_stat(5)`,
/// counted behind the name in its parentheses.
fn schedule(stat: &[u8]) -> Option<[Vec<u8>; 3]> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = stat[close + 1..].split(|byte| *byte == b' ');
    let fields: Vec<&[u8]> = fields.skip(1).collect();
    let field = |number: usize| fields.get(number - 3).map(|field| field.to_vec());
    Some([field(19)?, field(40)?, field(41)?])
}

/// A text with what stands for another one in its place.
fn without(text: &[u8], passing: &[u8], name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        if let Some(behind) = rest.strip_prefix(passing) {
            // Between zeros, which no text of a process has, so that nothing runs together.
            out.push(0);
            out.extend_from_slice(name);
            out.push(0);
            rest = behind;
        } else {
            out.push(byte);
            rest = after;
        }
    }
    out
}

fn arrived(environment: &[Vec<u8>], name: &str, value: Option<&str>) -> Arrived {
    let is = |entry: &&Vec<u8>| {
        entry
            .strip_prefix(name.as_bytes())
            .is_some_and(|rest| rest.starts_with(b"="))
    };
    let own = environment.iter().find(is);
    match (own, value) {
        (None, None) => Arrived::Yes,
        (Some(own), Some(value)) if own[name.len() + 1..] == *value.as_bytes() => Arrived::Yes,
        (Some(_), Some(_)) => Arrived::Changed,
        _ => Arrived::Missing,
    }
}

/// The variables that a process was started with. A program that writes its title over them leaves something
/// else there, which says nothing; one that was started without any has none.
fn environment(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    if text.first() == Some(&0) {
        return None;
    }
    let entries = entries(text);
    entries
        .iter()
        .all(|entry| entry.iter().skip(1).any(|byte| *byte == b'='))
        .then_some(entries)
}

/// The command line. One that is a single word with spaces is a title that the program gave itself.
fn command_line(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let entries = entries(text);
    match entries.as_slice() {
        [] => None,
        [title] if title.contains(&b' ') => None,
        _ => Some(entries),
    }
}

fn entries(text: &[u8]) -> Vec<Vec<u8>> {
    let mut end = text.len();
    while end > 0 && text[end - 1] == 0 {
        end -= 1;
    }
    if end == 0 {
        return Vec::new();
    }
    text[..end]
        .split(|byte| *byte == 0)
        .map(<[u8]>::to_vec)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A child that waits for the end of its input.
    fn waiting(words: &[&str], variables: &[(&str, &str)]) -> Child {
        let child = Command::new(words[0])
            .args(&words[1..])
            .env_clear()
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // The kernel says that a program is executed a moment before it shows its environment.
        let shown = || fs::read(format!("/proc/{}/environ", child.id())).unwrap();
        while shown().is_empty() && !variables.is_empty() {
            std::thread::yield_now();
        }
        child
    }

    fn end(mut child: Child) {
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    fn look(child: &Child, variables: &[(&str, Option<&str>)], words: &[&str]) -> Effective {
        let variables: Vec<(String, Option<String>)> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
            .collect();
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let wanted = Wanted {
            variables: &variables,
            words: &words,
            passing: &[
                ("8080".to_owned(), "port".to_owned()),
                ("9090".to_owned(), "port".to_owned()),
            ],
        };
        effective(&[child.id()], wanted)
    }

    #[test]
    fn a_living_process_is_held_against_what_it_was_to_get() {
        let child = waiting(
            &["cat", "-u", "-"],
            &[("MODE", "production"), ("LEVEL", "3"), ("KEPT", "")],
        );
        let variables = [
            ("MODE", Some("production")),
            ("LEVEL", Some("4")),
            ("MOD", Some("production")),
            ("KEPT", None),
            ("GONE", None),
        ];
        let seen = look(&child, &variables, &["cat", "-u", "-v"]);
        end(child);
        let of: Vec<Arrived> = seen.variables.unwrap().iter().map(|(_, of)| *of).collect();
        assert_eq!(
            of,
            [
                Arrived::Yes,
                Arrived::Changed,
                Arrived::Missing,
                Arrived::Missing,
                Arrived::Yes
            ]
        );
        assert_eq!(seen.words_missing.unwrap(), [2]);
    }

    #[test]
    fn the_mark_is_the_same_for_what_was_started_alike() {
        let mark = |words: &[&str], variables: &[(&str, &str)]| {
            let child = waiting(words, variables);
            let seen = look(&child, &[], &[]);
            end(child);
            seen.mark.unwrap()
        };
        let usual = mark(&["cat", "-"], &[("PORT", "8080"), ("A", "1")]);
        assert_eq!(usual, mark(&["cat", "-"], &[("A", "1"), ("PORT", "9090")]));
        assert_ne!(usual, mark(&["cat", "-"], &[("PORT", "8080"), ("A", "2")]));
        assert_ne!(
            usual,
            mark(&["cat", "-u", "-"], &[("PORT", "8080"), ("A", "1")])
        );
        let niced = ["nice", "-n", "5", "cat", "-"];
        assert_ne!(usual, mark(&niced, &[("PORT", "8080"), ("A", "1")]));
    }

    #[test]
    fn a_title_says_nothing_of_arguments_or_variables() {
        assert_eq!(command_line(b"server: master process\0\0\0"), None);
        let line = command_line(b"node\0a b\0\0").unwrap();
        assert_eq!(line, [b"node".to_vec(), b"a b".to_vec()]);
        assert_eq!(environment(b"\0\0\0"), None);
        assert_eq!(environment(b"daemon off;\0\0"), None);
        assert_eq!(environment(b"").unwrap(), Vec::<Vec<u8>>::new());
        assert_eq!(environment(b"A=1\0B=\0").unwrap().len(), 2);
    }

    #[test]
    fn the_nice_value_is_found_behind_any_name() {
        let stat = b"42 (a) b) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 -1 40 20 5 3 0 999 1000 55 1 0 0 0 0 0 0 0 0 0 0 0 0 17 1 9 2";
        let [nice, priority, policy] = schedule(stat).unwrap();
        assert_eq!(
            (&*nice, &*priority, &*policy),
            (&b"5"[..], &b"9"[..], &b"2"[..])
        );
    }

    #[test]
    fn nobody_to_look_at_is_nothing_known() {
        let nobody = Wanted {
            variables: &[],
            words: &[],
            passing: &[],
        };
        assert_eq!(effective(&[], nobody), Effective::default());
    }
}
