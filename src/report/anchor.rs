//! Links as repository pages and HTML know them: the anchor of a heading, and a path that is a part of a link.

use std::fmt::Write as _;

/// The anchor that GitHub gives to a heading, without `#`: letters in lower case, digits, `_` and `-` stay, a space is a `-`, and
/// nothing else is left. A second heading of the same name has `-1` behind it, which only the page knows.
pub fn anchor(heading: &str) -> String {
    let mut out = String::new();
    for c in heading.trim().chars() {
        match c {
            ' ' => out.push('-'),
            '-' | '_' => out.push(c),
            c if is_word(c) => out.extend(c.to_lowercase()),
            _ => {}
        }
    }
    out
}

/// Letters, marks and decimal digits.
fn is_word(c: char) -> bool {
    // Superscripts, fractions and numbers in circles are numeric, and no digits.
    let other_number = matches!(
        c,
        '²' | '³' | '¹' | '¼' | '½' | '¾'
            | '\u{2070}'..='\u{209f}'
            | '\u{2150}'..='\u{215f}'
            | '\u{2460}'..='\u{249b}'
            | '\u{24ea}'..='\u{24ff}'
            | '\u{2776}'..='\u{2793}'
    );
    let mark =
        matches!(c, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}');
    mark || (c.is_alphanumeric() && !other_number)
}

/// A part of a path or an anchor as a link holds it: everything but letters and digits of ASCII and `-._~` is encoded.
pub fn encode(part: &str) -> String {
    let mut out = String::new();
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A path with `/` between its parts, as a link holds it.
pub fn encode_path(path: &str) -> String {
    path.split('/').map(encode).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What github-slugger 2 makes of them too.
    #[test]
    fn anchors_are_those_of_github() {
        for (heading, wanted) in [
            ("How it was measured", "how-it-was-measured"),
            ("CPU and start-up", "cpu-and-start-up"),
            ("Größe, in <MiB> & more", "größe-in-mib--more"),
            ("C++ · node_http 20.1", "c--node_http-201"),
            ("日本語 — 速い?", "日本語--速い"),
            ("x² and ½", "x-and-"),
            ("  a  b ", "a--b"),
        ] {
            assert_eq!(anchor(heading), wanted);
        }
    }

    #[test]
    fn links_hold_no_letter_that_ends_them() {
        assert_eq!(
            encode_path("a b/<c>)/größe"),
            "a%20b/%3Cc%3E%29/gr%C3%B6%C3%9Fe"
        );
    }
}
