//! Text that must fit: how wide it is, roughly, and its lines. A drawing cannot ask for the font that
//! its reader will have, so widths are those of a wide sans serif.

/// From one line of a label to the next.
pub(super) const LINE: f64 = 16.0;

/// How wide a text is at 13 pixels, at the most that usual fonts need.
pub(super) fn width(text: &str) -> f64 {
    text.chars().map(of_char).sum()
}

fn of_char(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' '
        | '\u{a0}' | '·' => 5.0,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 13.0,
        'A'..='Z' | '&' => 10.0,
        c if (c as u32) < 0x1100 => 8.2,
        // Letters of East Asian scripts and pictures are as wide as they are high.
        _ => 13.5,
    }
}

/// The text in at most `most` lines of `width` pixels, parted at spaces where that can be; what does not fit is an ellipsis in
/// the middle of the last line, since names often differ at their end.
pub(super) fn wrapped(text: &str, most_wide: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
    while !rest.is_empty() {
        if lines.len() + 1 == most {
            lines.push(shortened(&rest.join(" "), most_wide));
            break;
        }
        let mut taken = 1;
        while taken < rest.len() && width(&rest[..=taken].join(" ")) <= most_wide {
            taken += 1;
        }
        lines.push(shortened(&rest[..taken].join(" "), most_wide));
        rest.drain(..taken);
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

/// The text, with an ellipsis in its middle where it is too wide.
pub(super) fn shortened(text: &str, most_wide: f64) -> String {
    if width(text) <= most_wide {
        return text.to_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let room = most_wide - 13.5;
    let (mut head, mut tail, mut used) = (0, 0, 0.0);
    while head + tail < chars.len() {
        let from_head = head <= tail;
        let next = if from_head {
            chars[head]
        } else {
            chars[chars.len() - 1 - tail]
        };
        used += of_char(next);
        if used > room {
            break;
        }
        if from_head {
            head += 1;
        } else {
            tail += 1;
        }
    }
    let start: String = chars[..head].iter().collect();
    let end: String = chars[chars.len() - tail..].iter().collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays() {
        assert_eq!(wrapped("Node.js · gzip", 200.0, 2), ["Node.js · gzip"]);
        assert_eq!(wrapped("", 200.0, 2), [""]);
    }

    #[test]
    fn what_does_not_is_parted_and_then_shortened() {
        let long = "a very long name of a server that somebody wrote, and its version 12.3";
        let lines = wrapped(long, 160.0, 2);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| width(line) <= 160.0), "{lines:?}");
        assert!(
            lines[1].contains('…') && lines[1].ends_with("12.3"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_word_without_spaces_is_shortened() {
        let line = shortened(&"x".repeat(100), 100.0);
        assert!(width(&line) <= 100.0 && line.contains('…'));
        assert!(width(&shortened(&"字".repeat(40), 100.0)) <= 100.0);
    }
}
