//! What a command says after its options, in its sections: prose, and lines that keep their shape.

/// A part under a title.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The title, without its colon.
    pub(super) title: String,
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A paragraph, on one line.
    Prose(String),
    /// Lines that were set in, without the two columns.
    Lines(String),
}

/// The title of what stands before the first.
const UNTITLED: &str = "Notes";

/// Reads such a text. A line that begins with a capital and ends with a colon is the title of the lines that are set in
/// below it; `Exit codes: …` on one line is one with its prose.
pub(super) fn read(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut is_open = false;
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            is_open = false;
            continue;
        }
        let below = lines.get(index + 1);
        if let Some(title) = title(line, below.copied()) {
            sections.push(Section {
                title: title.to_owned(),
                parts: Vec::new(),
            });
            is_open = false;
        } else if let Some(codes) = line.strip_prefix("Exit codes: ") {
            let list = codes.split("; ").collect::<Vec<_>>().join("\n");
            sections.push(Section {
                title: "Exit codes".to_owned(),
                parts: vec![Part::Lines(list)],
            });
            is_open = false;
        } else {
            add(&mut sections, line, is_open);
            is_open = true;
        }
    }
    sections
}

/// A title is followed by lines that are set in.
fn title<'a>(line: &'a str, below: Option<&str>) -> Option<&'a str> {
    let title = line.strip_suffix(':')?;
    let capital = title.starts_with(char::is_uppercase);
    (capital && below.is_some_and(|below| below.starts_with(' '))).then_some(title)
}

/// A line goes to the part before it where it is of the same kind and stands right below it.
fn add(sections: &mut Vec<Section>, line: &str, is_open: bool) {
    let inside = line.strip_prefix("  ");
    // Prose after a blank line that follows examples is no part of them.
    let is_apart = !is_open && inside.is_none();
    if sections.is_empty()
        || (is_apart && sections.last().is_some_and(|last| last.title != UNTITLED))
    {
        sections.push(Section {
            title: UNTITLED.to_owned(),
            parts: Vec::new(),
        });
    }
    let Some(section) = sections.last_mut() else {
        return;
    };
    match (section.parts.last_mut(), inside) {
        (Some(Part::Lines(lines)), Some(inside)) if is_open => {
            lines.push('\n');
            lines.push_str(inside);
        }
        (Some(Part::Prose(prose)), None) if is_open => {
            prose.push(' ');
            prose.push_str(line);
        }
        (_, Some(inside)) => section.parts.push(Part::Lines(inside.to_owned())),
        (_, None) => section.parts.push(Part::Prose(line.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Part {
        Part::Lines(text.to_owned())
    }

    fn prose(text: &str) -> Part {
        Part::Prose(text.to_owned())
    }

    #[test]
    fn a_text_falls_into_its_sections() {
        let text = "A run is\nits folder.\n\nKeys (times in ns):\n  url     what\n          more\n\nExit codes: 1 failed; 2 bad\n\nExamples:\n  hotlap a\nand here:\n  hotlap b\n\nThe folder must be there.";
        let read: Vec<(String, Vec<Part>)> = read(text)
            .into_iter()
            .map(|section| (section.title, section.parts))
            .collect();
        let expected = [
            ("Notes", vec![prose("A run is its folder.")]),
            (
                "Keys (times in ns)",
                vec![lines("url     what\n        more")],
            ),
            ("Exit codes", vec![lines("1 failed\n2 bad")]),
            (
                "Examples",
                vec![lines("hotlap a"), prose("and here:"), lines("hotlap b")],
            ),
            ("Notes", vec![prose("The folder must be there.")]),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(title, parts)| (title.to_owned(), parts))
            .collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn nothing_has_no_sections() {
        assert_eq!(read(""), []);
    }
}
