//! Texts that are almost suites: whole ones, changed in ways that people,
//! editors and merges change them, and in ways that nobody would.

use fastrand::Rng;

/// Longer texts are cut: they find nothing that shorter ones do not.
const LONGEST: usize = 48 * 1024;

/// Pieces of the format, and what stands beside it.
const WORDS: &[&str] = &[
    "[run]",
    "[defaults.server]",
    "[defaults.load]",
    "[matrix]",
    "[tools.node]",
    "[runtimes.node]",
    "[servers.a]",
    "[servers.a.processes.p]",
    "[services.s]",
    "[toggles.t]",
    "[toggles.server]",
    "[toggles.t.values]",
    "[[overrides]]",
    "[loads.x]",
    "[[mixes.m]]",
    "[profiles.p]",
    "[profiles.p.run]",
    "[[gates]]",
    "[published.p]",
    "[[published.p.rows]]",
    "[hosts.h]",
    "command = \"a --port {{ port }}\"",
    "command = [\"a\", \"{{ value }}\"]",
    "command = \"a 'b\"",
    "values = [1, \"two\", true, 1.5]",
    "values.on = { env.A = \"{{ value }}\" }",
    "args = \"--{{ toggles.t }} {{ toggles['t'] }}\"",
    "env.HOME = \"{{ env.HOME }}{{ env.NOBODY }}\"",
    "env = { A = \"\", \"\" = \"b\", \"A=B\" = \"c\" }",
    "files.\"../../x\" = \"{{ dir }}\"",
    "files = { \"a.conf\" = \"{% for p in ports['p'] %}{{ p }}{% endfor %}\" }",
    "processes.p = { command = \"p\", count = 3 }",
    "processes.p.count = 4294967295",
    "front = \"p\"",
    "needs = [\"s\"]",
    "needs = [\"a\"]",
    "runtime = \"node-22\"",
    "runtime = \"{{ value }}\"",
    "versions = [\"18\", \"22\", 22]",
    "requires = [\"node >= 18\", \"env NAME\", \"./x\", \"\", \">=\"]",
    "ready = { path = \"/\", status = 200, timeout = \"1s\" }",
    "ready = { tcp = true }",
    "ready.log = \"listening\"",
    "stop = { signal = \"SIGINT\", grace = \"2s\" }",
    "stop = [\"SIGINT\"]",
    "duration = \"30s\"",
    "duration = \"18446744073709551615h\"",
    "duration = \"1e300s\"",
    "timeout = \"0ms\"",
    "requests = 9223372036854775807",
    "connections = 0",
    "connections = 100000",
    "repetitions = \"auto\"",
    "repetitions = 4294967295",
    "max_errors = \"100.1%\"",
    "rate = 1e308",
    "rate = nan",
    "rate = -inf",
    "arrivals = \"poisson\"",
    "stages = [{ rate = 10, duration = \"1s\" }, { rate = 20, duration = \"1s\" }]",
    "search = { latency_p99 = \"50ms\", errors = \"0.1%\" }",
    "json = { a = [1, 2.5, \"x\", 1979-05-27] }",
    "body = \"{{ value }}\"",
    "body_file = \"Cargo.toml\"",
    "path_file = \"README.md\"",
    "mix = \"m\"",
    "weight = 0",
    "path = \"/a b\"",
    "path = \"\"",
    "path = \"/{{ value }}?x=%zz\"",
    "headers = { Host = \"x\", \"a b\" = \"c\", x = \"\\r\\n\" }",
    "expect = { status = 99, body = \"\", min_size = \"1GiB\", no_headers = [\"a\", \"A\"] }",
    "tls = { insecure = true, ca = \"none.pem\" }",
    "http = \"2\"",
    "streams = 0",
    "pipelining = 4294967295",
    "url = \"http://127.0.0.1:1/\"",
    "url = \"http://[::1/\"",
    "address = \"::1\"",
    "port = 65536",
    "cpus = { server = 0, generator = 99999 }",
    "baseline = { server = \"a\", t = 1 }",
    "baseline = { server = [\"a\", \"b\"] }",
    "combine = \"listed\"",
    "combine = \"one-at-a-time\"",
    "include = [{ server = \"a\" }, {}]",
    "exclude = [{ server = [\"a\", \"b\"] }, { t = true }]",
    "when = { server = \"a\", load = \"x\", t = [1, 2] }",
    "set = { env = { A = \"b\" }, connections = 1 }",
    "cells = { load = \"x\" }",
    "latency_p99 = { max = \"5ms\", max_regression = \"10%\" }",
    "rows = [{ cell = { server = \"a\" }, requests_per_second = 1e9 }]",
    "revision = \"HEAD~1\"",
    "scratch = \"copy\"",
    "title = \"\\u0007\\u001b[31m\"",
    "\"\\u001b[2J\" = 1",
    "\"\\n\" = \"\\n\"",
    "description = '''\n# a\n'''",
    "{{ port }}",
    "{{",
    "{% if",
    "{{ range(100000000) | list }}",
    "{{ 'x' * 1000000000 }}",
    "{{ [[[[[[[[1]]]]]]]] }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{{ 9223372036854775807 + 1 }}",
    "{{ 1 // 0 }}",
    "{{ \"\\u0000\" }}",
    "\u{feff}",
    "\u{202e}abc",
    "a\u{301}\u{323}",
    "🦀👩‍👩‍👧",
    "\u{2028}",
    "\u{85}",
    "\t",
    "\r\n",
    "\0",
    "\u{7f}",
    "#",
    "\"\"\"",
    "'''",
    "= =",
    "]]",
    "}",
];

/// Values of every type, and units near and far.
const VALUES: &[&str] = &[
    "true",
    "0",
    "1",
    "-1",
    "16",
    "65536",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "99999999999999999999999",
    "0xff",
    "1_000",
    "1.5",
    "-0.0",
    "1e400",
    "nan",
    "-inf",
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "\"\"",
    "\" \"",
    "\"1\"",
    "\"1s\"",
    "\"-1s\"",
    "\"1.5e3ms\"",
    "\"0.0000000001s\"",
    "\"99999999999999999999d\"",
    "\"584542046091y\"",
    "\"5µs\"",
    "\"1KiB\"",
    "\"18446744073709551616B\"",
    "\"2%\"",
    "\"-0%\"",
    "\"1e999%\"",
    "\"NaN%\"",
    "\"é\"",
    "\"{{ value }}\"",
    "\"{{ nothing }}\"",
    "\"{% raw %}\"",
    "\"'\"",
    "\"a\\u0000b\"",
    "\"server\"",
    "\"a\"",
    "\"x\"",
    "\"all\"",
    "\"auto\"",
    "[]",
    "[[]]",
    "[1, \"1\", true]",
    "[\"a\", \"a\"]",
    "[{}]",
    "{}",
    "{ a = 1 }",
    "{ server = \"a\" }",
    "{ path = \"/\" }",
    "{ \"\" = \"\" }",
];

/// One text: a whole suite after some changes.
pub(crate) fn text(dice: &mut Rng, corpus: &[String]) -> String {
    let mut text = one(dice, corpus).clone();
    // Mostly few changes: a text that is broken all over stops at its first line.
    let most = [2, 4, 12][dice.usize(0..3)];
    for _ in 0..=dice.u32(0..most) {
        text = change(dice, text, corpus);
        cut_to(&mut text, LONGEST);
    }
    text
}

fn one<'a, T>(dice: &mut Rng, all: &'a [T]) -> &'a T {
    &all[dice.usize(0..all.len())]
}

/// A boundary between two characters.
fn place(dice: &mut Rng, text: &str) -> usize {
    text.floor_char_boundary(dice.usize(0..=text.len()))
}

fn cut_to(text: &mut String, length: usize) {
    text.truncate(text.floor_char_boundary(length));
}

fn change(dice: &mut Rng, mut text: String, corpus: &[String]) -> String {
    match dice.u32(0..100) {
        0..35 => lines(dice, &text, corpus),
        35..60 => value(dice, &text),
        60..70 => key(dice, &text),
        70..78 => {
            let word = *one(dice, WORDS);
            text.insert_str(place(dice, &text), word);
            text
        }
        78..83 => {
            let at = place(dice, &text);
            let other = one(dice, corpus);
            format!("{}{}", &text[..at], &other[place(dice, other)..])
        }
        83..86 => {
            text.truncate(place(dice, &text));
            text
        }
        86..95 => character(dice, text),
        _ => excess(dice, &text),
    }
}

/// Deletes, doubles, swaps, moves or adds a line.
fn lines(dice: &mut Rng, text: &str, corpus: &[String]) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let at = dice.usize(0..=lines.len());
    let length = lines.len();
    match dice.u32(0..6) {
        0 if at < length => {
            lines.remove(at);
        }
        1 if at < length => lines.insert(at, lines[at]),
        2 if at < length => lines.swap(at, dice.usize(0..length)),
        3 if at < length => {
            let end = (at + dice.usize(1..6)).min(length);
            let moved: Vec<&str> = lines.drain(at..end).collect();
            let to = dice.usize(0..=lines.len());
            lines.splice(to..to, moved);
        }
        4 => {
            let other: Vec<&str> = one(dice, corpus).lines().collect();
            let from = dice.usize(0..=other.len());
            let end = (from + dice.usize(1..12)).min(other.len());
            lines.splice(at..at, other[from..end].iter().copied());
        }
        _ => lines.insert(at, *one(dice, WORDS)),
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// Gives a key another value, or a part of its value.
fn value(dice: &mut Rng, text: &str) -> String {
    let Some((start, end)) = some_line(dice, text) else {
        return text.to_owned();
    };
    let line = &text[start..end];
    let from = line.find('=').map_or(line.len(), |at| at + 1);
    let value = &line[from..];
    let new = match dice.u32(0..6) {
        0 => format!(" [{}]", value.trim()),
        1 => format!(" {{ a = {} }}", value.trim()),
        2 => value.replacen('"', "\"{{ value }}", 1),
        3 => value.replace('"', ""),
        _ => format!(" {}", one(dice, VALUES)),
    };
    format!("{}{}{new}{}", &text[..start], &line[..from], &text[end..])
}

/// Spells a key or a header otherwise, or nests it.
fn key(dice: &mut Rng, text: &str) -> String {
    let Some((start, end)) = some_line(dice, text) else {
        return text.to_owned();
    };
    let line = &text[start..end];
    let new = match dice.u32(0..6) {
        0 => format!("a.{line}"),
        1 => line.replacen('.', ".x.", 1),
        2 => line.replacen('[', "[[", 1).replacen(']', "]]", 1),
        3 => line.to_uppercase(),
        4 => format!("\"ä\u{1f980}\".{line}"),
        _ => {
            let mut letters: Vec<char> = line.chars().collect();
            if letters.len() > 2 {
                let at = dice.usize(0..letters.len() - 1);
                letters.swap(at, at + 1);
            }
            letters.into_iter().collect()
        }
    };
    format!("{}{new}{}", &text[..start], &text[end..])
}

/// Where a line that is not empty begins and ends.
fn some_line(dice: &mut Rng, text: &str) -> Option<(usize, usize)> {
    let near = place(dice, text);
    let start = text[..near].rfind('\n').map_or(0, |at| at + 1);
    let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    (start < end).then_some((start, end))
}

fn character(dice: &mut Rng, mut text: String) -> String {
    let at = place(dice, &text);
    let Some(old) = text[at..].chars().next() else {
        return text;
    };
    let end = at + old.len_utf8();
    let odd = [
        '"',
        '\'',
        '[',
        ']',
        '{',
        '}',
        '=',
        '.',
        '#',
        '\\',
        '\n',
        '\r',
        ' ',
        '0',
        '-',
        'é',
        '\0',
        '\u{1b}',
        '\u{7f}',
        '\u{9b}',
        '\u{202e}',
        '\u{10ffff}',
        ',',
        '%',
        '/',
        '@',
        '~',
    ];
    let new = *one(dice, &odd);
    match dice.u32(0..3) {
        0 => text.replace_range(at..end, ""),
        1 => text.insert(at, new),
        _ => text.replace_range(at..end, new.encode_utf8(&mut [0; 4])),
    }
    text
}

/// Too much of something.
fn excess(dice: &mut Rng, text: &str) -> String {
    let many = [3, 60, 130, 700][dice.usize(0..4)];
    let added = match dice.u32(0..9) {
        0 => format!("x = {}1{}\n", "[".repeat(many), "]".repeat(many)),
        1 => format!("x = {}1{}\n", "{ a = ".repeat(many), " }".repeat(many)),
        2 => format!("[{}a]\n", "a.".repeat(many)),
        3 => format!("title = \"{}\"\n", "\u{1f980}long ".repeat(many)),
        4 => (0..many).fold(String::new(), |keys, n| keys + &format!("key{n} = {n}\n")),
        5 => (0..many).fold(String::new(), |all, n| {
            all + &format!("[servers.s{n}]\ncommand = \"s{n}\"\n")
        }),
        6 => (0..many.min(12)).fold(String::new(), |all, n| {
            all + &format!("[toggles.g{n}]\nvalues = [1, 2]\nenv.G{n} = \"{{{{ value }}}}\"\n")
        }),
        7 => format!("command = \"{}\"\n", "{{ ".repeat(many)),
        _ => format!(
            "path = \"/{{{{ {}1{} }}}}\"\n",
            "(".repeat(many),
            ")".repeat(many)
        ),
    };
    let at = some_line(dice, text).map_or(text.len(), |(start, _)| start);
    format!("{}{added}{}", &text[..at], &text[at..])
}
