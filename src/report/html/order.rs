//! The number by which a table's cell is sorted, read from what people see: `1.24 ms` is less than `12 s`, though
//! its figure is not.

/// The number that a shown figure stands for, in seconds, bytes or plain; none where there is none. Marks in front
/// of it and what follows it (an interval, a remark) do not count; `baseline` is the ratio 1.
pub(super) fn number(shown: &str) -> Option<f64> {
    let text = shown.trim();
    if text == "baseline" {
        return Some(1.0);
    }
    let text = text.trim_start_matches(['≥', '≈', '×', '~', '±', '+', '\u{a0}', ' ']);
    let (negative, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (value, rest) = digits(text)?;
    let (unit, rest) = unit(rest);
    let mut value = value * unit.unwrap_or(1.0);
    // `2 m 03 s`, `1 h 02 m`.
    if matches!(unit, Some(60.0 | 3600.0)) {
        let more = digits(rest.trim_start_matches([' ', '\u{a0}']));
        value += more.map_or(0.0, |(more, rest)| more * self::unit(rest).0.unwrap_or(0.0));
    }
    Some(if negative { -value } else { value })
}

/// A number with its thousands set apart, and what follows it.
fn digits(text: &str) -> Option<(f64, &str)> {
    let mut figure = String::new();
    let mut rest = text;
    loop {
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        figure.push_str(&rest[..end]);
        rest = &rest[end..];
        // A group of thousands: a space that does not break, and three digits.
        let group = rest.strip_prefix('\u{a0}').filter(|group| {
            let digits = group.chars().take_while(char::is_ascii_digit).count();
            digits == 3
        });
        match group {
            Some(group) if end > 0 => rest = group,
            _ => break,
        }
    }
    Some((figure.parse().ok()?, rest))
}

/// The factor of the unit that a text begins with, and what follows it.
fn unit(text: &str) -> (Option<f64>, &str) {
    let bare = text.trim_start_matches([' ', '\u{a0}']);
    let end = bare
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(bare.len());
    let factor = match &bare[..end] {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "s" | "B" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "TiB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return (None, text),
    };
    (Some(factor), &bare[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(shown: &str, value: f64) {
        let found = number(shown).unwrap_or_else(|| panic!("no number in {shown}"));
        assert!(
            (found - value).abs() <= value.abs() * 1e-9,
            "{shown}: {found}"
        );
    }

    #[test]
    fn figures_are_read_as_they_are_shown() {
        near("17\u{a0}300", 17_300.0);
        near("≥\u{a0}1\u{a0}017\u{a0}300", 1_017_300.0);
        near("20\u{a0}900–21\u{a0}800", 20_900.0);
        near("×0.62 (0.6–0.64)", 0.62);
        near("≈ ×0.99 (0.9–1.1)", 0.99);
        near("1.24\u{a0}ms°", 0.00124);
        near("820\u{a0}µs", 820e-6);
        near("64.0\u{a0}MiB (12\u{a0}000 requests)", 64.0 * 1_048_576.0);
        near("1.5\u{a0}KiB/s", 1536.0);
        near("2\u{a0}m\u{a0}03\u{a0}s", 123.0);
        near("1 h 02 m", 3720.0);
        near("12.6\u{a0}%", 12.6);
        near("−5.2 %", -5.2);
        near("2 of 3", 2.0);
        near("baseline", 1.0);
        near("0", 0.0);
    }

    #[test]
    fn what_is_no_figure_has_no_number() {
        for shown in ["–", "", "none", "Express 5", "µs"] {
            assert_eq!(number(shown), None, "{shown}");
        }
    }
}
