//! Markdown as repository pages read it (GFM). Everything that a template prints is escaped: a
//! label shows literally and in its own table cell, whatever characters it holds.

use super::anchor::{anchor, encode, encode_path};
use super::template::Kind;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{
    AutoEscape, Environment, Error, Output, State, UndefinedBehavior, escape_formatter,
};
use std::fmt::Write as _;

/// What a value that is not there looks like.
const NOTHING: &str = "–";

/// What templates of a kind are rendered in. Filters beside minijinja's own: `html` for text in HTML
/// tags, `fence` for a code block, `code` for a code span, `cut` for a text that may be too long, `anchor` and `link` for links.
pub(super) fn environment(kind: Kind) -> Environment<'static> {
    let mut env = Environment::new();
    env.set_syntax(syntax());
    // The formatter escapes; this makes minijinja tell safe strings from others. What is included is escaped as what
    // includes it, whatever its name is.
    env.set_auto_escape_callback(move |_| match kind {
        Kind::Markdown => AutoEscape::Custom("markdown".into()),
        Kind::Html => AutoEscape::Html,
        Kind::Text => AutoEscape::None,
    });
    env.set_formatter(formatter);
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.add_filter("html", |text: &str| {
        Value::from_safe_string(escape_html(text))
    });
    env.add_filter("code", |text: &str| Value::from_safe_string(code(text)));
    env.add_filter("fence", |text: &str, language: &str| {
        Value::from_safe_string(fence(text, language))
    });
    env.add_filter("cut", cut);
    env.add_filter("anchor", |heading: &str| {
        Value::from_safe_string(encode(&anchor(heading)))
    });
    env.add_filter("link", |path: &str| {
        Value::from_safe_string(encode_path(path))
    });
    env
}

/// The first characters of a text, with a mark where there were more.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Jinja's usual marks; a line that holds nothing but a tag leaves nothing behind.
pub(super) fn syntax() -> SyntaxConfig {
    let mut syntax = SyntaxConfig::builder();
    syntax
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true);
    // Only marks of one's own choice can be wrong.
    syntax.build().unwrap_or_default()
}

fn formatter(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let is_markdown = matches!(state.auto_escape(), AutoEscape::Custom(_));
    let text = match value.kind() {
        ValueKind::None => NOTHING.to_owned(),
        // An `if` expression without `else`; other undefined names are errors.
        ValueKind::Undefined => String::new(),
        ValueKind::String if value.is_safe() => value.to_string(),
        _ if !is_markdown => {
            let turning = value.as_str().filter(|text| text.contains(turns));
            let plain = turning.map(|text| Value::from(text.replace(turns, "")));
            return escape_formatter(out, state, plain.as_ref().unwrap_or(value));
        }
        _ => escape(&value.to_string()),
    };
    out.write_str(&text).map_err(Error::from)
}

/// Text that shows literally in a paragraph, a heading, a list or a table cell of GFM: what would
/// be formatting is escaped, HTML is taken apart, and every control character is a space.
pub fn escape(text: &str) -> String {
    let flat = flatten(text);
    let mut out = String::with_capacity(flat.len());
    if starts_a_block(&flat) {
        out.push('\\');
    }
    let mut after_space = true;
    for c in flat.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '|' | '[' | ']' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '#' if after_space => out.push_str("\\#"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            other => out.push(other),
        }
        after_space = c == ' ';
    }
    out
}

/// Text inside HTML tags, where backslashes are no escapes: `<summary>`.
pub fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in flatten(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '|' => out.push_str("&#124;"),
            // Markdown inside an inline tag is still Markdown.
            '`' | '*' | '_' | '[' | ']' | '~' | '\\' | '$' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            other => out.push(other),
        }
    }
    out
}

/// A code block whose fence is longer than any run of backticks in the text, so that the text
/// cannot end it.
pub fn fence(text: &str, language: &str) -> String {
    let ticks = "`".repeat(longest_ticks(text).max(2) + 1);
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    // A lone carriage return would end a line for some readers only.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    format!("{ticks}{language}\n{text}{end}{ticks}")
}

/// A code span. Readers of tables differ on a pipe inside one, so a text with a pipe becomes an
/// HTML one.
fn code(text: &str) -> String {
    let text = flatten(text);
    if text.contains('|') {
        return format!("<code>{}</code>", escape_html(&text));
    }
    let ticks = "`".repeat(longest_ticks(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() {
        " "
    } else {
        ""
    };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Whether a character only turns the text around it: in a label it would turn figures beside it too (Unicode's
/// bidirectional formatting characters).
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn flatten(text: &str) -> String {
    let spaced: String = text
        .replace("\r\n", "\n")
        .chars()
        .filter(|c| !turns(*c))
        .map(|c| {
            if c.is_control() || c == '\u{2028}' || c == '\u{2029}' {
                ' '
            } else {
                c
            }
        })
        .collect();
    spaced.trim().to_owned()
}

/// Whether the first character would begin a list inside a list item. (`#` and `>` are escaped anyway.)
fn starts_a_block(text: &str) -> bool {
    let mut chars = text.chars();
    matches!(
        (chars.next(), chars.next()),
        (Some('-' | '+'), Some(' ' | '-') | None)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_format_shows_literally() {
        assert_eq!(escape("a|b`c*d_e\\f"), "a\\|b\\`c\\*d\\_e\\\\f");
        assert_eq!(escape("<b>&\r\nx\ty"), "&lt;b&gt;&amp; x y");
        assert_eq!(escape("# C#"), "\\# C#");
        assert_eq!(escape("- a"), "\\- a");
        assert_eq!(escape("-3.46"), "-3.46");
        assert_eq!(escape("12\u{a0}300"), "12\u{a0}300");
        // What turns a text around would turn the figures beside it.
        assert_eq!(escape("a\u{202e}b\u{2066}c\u{200f}"), "abc");
        assert_eq!(escape_html("\u{202e}<"), "&lt;");
    }

    #[test]
    fn a_fence_outlasts_its_text() {
        assert_eq!(fence("a\n````\nb", "toml"), "`````toml\na\n````\nb\n`````");
        assert_eq!(fence("", "sh"), "```sh\n```");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("a`\\|"), "<code>a&#96;&#92;&#124;</code>");
    }

    #[test]
    fn tags_hold_no_markup() {
        assert_eq!(escape_html("<i>*\"&"), "&lt;i&gt;&#42;&quot;&amp;");
    }
}
