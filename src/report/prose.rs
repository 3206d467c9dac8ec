//! Markdown that the suite's author wrote, which may format as it likes but must not swallow the
//! report behind it: a code fence that it leaves open is closed.

/// An open code fence.
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    /// Whether it began behind the mark of a list item or a quotation, with which it ends.
    inside: bool,
}

/// The text with its last fence closed.
pub(super) fn closed(text: &str) -> String {
    let mut open: Option<Fence> = None;
    for line in text.lines() {
        let ends_block = !line.is_empty() && !line.starts_with([' ', '\t', '>']);
        open = match open.take() {
            Some(fence) if fence.inside && ends_block => opens(line),
            Some(fence) if closes(line, &fence) => None,
            Some(fence) => Some(fence),
            None => opens(line),
        };
    }
    match open {
        Some(fence) if !fence.inside => {
            let mark = String::from(fence.mark).repeat(fence.length);
            format!("{text}\n{}{mark}", " ".repeat(fence.indent))
        }
        _ => text.to_owned(),
    }
}

fn opens(line: &str) -> Option<Fence> {
    let bare = line.trim_start_matches(' ');
    let indent = line.len() - bare.len();
    let start = bare.trim_start_matches(|c: char| c.is_ascii_digit() || "-*+>.) ".contains(c));
    let inside = start.len() < bare.len();
    let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = start.trim_start_matches(mark);
    let length = start.len() - info.len();
    let is_span = mark == '`' && info.contains('`');
    (length >= 3 && !is_span).then_some(Fence {
        mark,
        length,
        indent,
        inside,
    })
}

fn closes(line: &str, fence: &Fence) -> bool {
    let line = line.trim_matches([' ', '\t', '>']);
    line.len() >= fence.length && line.chars().all(|c| c == fence.mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_fence_is_closed_as_it_was_opened() {
        assert_eq!(closed("a\n```sh\nb"), "a\n```sh\nb\n```");
        assert_eq!(closed("~~~~\n```\n~~~"), "~~~~\n```\n~~~\n~~~~");
        assert_eq!(closed("- a\n  ```\n  b"), "- a\n  ```\n  b\n  ```");
    }

    #[test]
    fn what_is_closed_stays() {
        for text in [
            "a `b` c",
            "```a``` b",
            "```\na\n```",
            "- ```\n  a\n  ```\nb",
            "> ```\n> a\n\nb",
            "> ```\na\n```\nb\n```",
        ] {
            assert_eq!(closed(text), text);
        }
    }
}
