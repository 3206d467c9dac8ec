//! Lines of which only the figures may differ.

/// Words that stand behind a figure and change with its size.
const UNITS: [&str; 20] = [
    "ns", "µs", "us", "ms", "s", "m", "h", "B", "KB", "MB", "GB", "KiB", "MiB", "GiB", "B/s",
    "KiB/s", "MiB/s", "GiB/s", "k", "d",
];

/// Digits in groups of three, without the spaces between them.
fn ungrouped(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let digit = |index: usize| chars.get(index).is_some_and(char::is_ascii_digit);
    let joins = |index: usize| {
        index > 0
            && " \u{a0}\u{202f}\u{2009}".contains(chars[index])
            && digit(index - 1)
            && (1..=3).all(|step| digit(index + step))
            && !digit(index + 4)
    };
    let kept = chars.iter().enumerate().filter(|(index, _)| !joins(*index));
    kept.map(|(_, c)| *c).collect()
}

/// A line without its figures, units, bars and widths.
pub(crate) fn shape(line: &str) -> String {
    let line = ungrouped(line)
        .replace("too few samples", "0")
        .replace(['≥', '≈'], "");
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let word = figureless(word);
        if word.is_empty() {
            continue;
        }
        let follows_figure = words.last().is_some_and(|last| last.ends_with('#'));
        let is_figure = word == "#";
        if follows_figure && (is_figure || UNITS.contains(&word.trim_end_matches([',', ')', '*'])))
        {
            // Another group of digits, or a unit with what closes behind it.
            let closing: String = word.chars().filter(|c| ",)*".contains(*c)).collect();
            words.last_mut().unwrap().push_str(&closing);
            continue;
        }
        words.push(word);
    }
    words.join(" ")
}

/// A word with each figure as `#`, a unit that touches it included, and without what bars are drawn with.
fn figureless(word: &str) -> String {
    let mut out = String::new();
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        if "█▉▊▋▌▍▎▏".contains(c) {
            continue;
        }
        let repeats = "─-".contains(c) && out.ends_with(c);
        if repeats {
            continue;
        }
        if !c.is_ascii_digit() {
            out.push(c);
            continue;
        }
        while chars
            .next_if(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
            .is_some()
        {}
        out.push('#');
        let rest: String = chars.clone().collect();
        if UNITS.contains(&rest.as_str()) {
            break;
        }
    }
    out
}

/// The lines that are shown and were not printed, each as often as it is missing.
pub(crate) fn missing<'a>(shown: &'a str, printed: &str) -> Vec<&'a str> {
    let mut left: Vec<String> = printed.lines().map(shape).collect();
    shown
        .lines()
        .filter(|line| !line.trim().is_empty() && line.trim() != "…")
        .filter(|line| {
            let wanted = shape(line);
            let found = left.iter().position(|shape| *shape == wanted);
            found.map(|index| left.swap_remove(index)).is_none()
        })
        .collect()
}

#[test]
fn only_figures_may_differ() {
    for (one, other) in [
        (
            "| **off** | **4 450** | 12.9 ms |",
            "| **off** | **980** | 800 µs |",
        ),
        ("about 2 m 03 s, up to 5 s", "about 22.2 s,  up to 1 m 01 s"),
        ("  ≤  12.7 ms  16.81 % ████▉", "  ≤  1 ms  3 % █"),
        ("run 2026-12-03T065000Z in x", "run 2027-01-03T165000Z in x"),
        ("p99 too few samples", "p99 3.1 ms"),
    ] {
        assert_eq!(shape(one), shape(other));
    }
    for (one, other) in [
        ("| **off** | 1 |", "| off | 1 |"),
        ("3 errors", "3 error"),
        ("costs 7 %", "gains 7 %"),
    ] {
        assert_ne!(shape(one), shape(other));
    }
    assert_eq!(missing("a 1\n…\na 2\nb\n", "c\na 7\n"), ["a 2", "b"]);
}
