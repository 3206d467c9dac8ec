//! Markdown as a page's HTML. Of raw HTML only what hotlap's own template writes is markup (folds, code); everything else is
//! shown as text. No image is fetched: those that are plots become the plot itself, others their description.

use super::order;
use pulldown_cmark::{
    Alignment, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream, html,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A section that the page's list of contents links to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
}

/// The report's text without its title, which is the page's, and its sections. `images` are SVGs by the paths that the text
/// gives them.
pub(super) fn of_report(text: &str, images: BTreeMap<String, String>) -> (String, Vec<Section>) {
    let mut writer = Writer {
        images,
        folds: true,
        ..Writer::default()
    };
    writer.all(text);
    (writer.out, writer.sections)
}

/// What the suite's author wrote, in which no HTML is markup.
pub(super) fn of_author(text: &str) -> String {
    let mut writer = Writer::default();
    writer.all(text);
    writer.out
}

#[derive(Default)]
struct Writer {
    out: String,
    images: BTreeMap<String, String>,
    /// Whether the folds of the template are markup.
    folds: bool,
    sections: Vec<Section>,
    /// The ids of all headings so far, of whatever level.
    ids: BTreeSet<String>,
    /// What the next table is called for those who hear it: the last heading or summary.
    caption: String,
    /// Events that are not written yet.
    waiting: Vec<Event<'static>>,
    table: Option<Table>,
}

/// A table that is being written.
#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    column: usize,
    is_head: bool,
}

impl Writer {
    fn all(&mut self, text: &str) {
        let mut options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
        options |= Options::ENABLE_TASKLISTS;
        let mut events =
            TextMergeStream::new(Parser::new_ext(text, options)).map(Event::into_static);
        while let Some(event) = events.next() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    let inner = until(&mut events, |event| {
                        matches!(event, Event::End(TagEnd::Heading(_)))
                    });
                    self.heading(level as usize, inner);
                }
                Event::Start(Tag::Image { dest_url, .. }) => {
                    let inner = until(&mut events, |event| {
                        matches!(event, Event::End(TagEnd::Image))
                    });
                    self.image(&dest_url, &inner);
                }
                Event::Start(Tag::HtmlBlock) => {
                    let inner = until(&mut events, |event| {
                        matches!(event, Event::End(TagEnd::HtmlBlock))
                    });
                    self.block(&words(&inner));
                }
                Event::InlineHtml(tag) => self.tag(&tag),
                Event::Start(Tag::Link {
                    dest_url, title, ..
                }) => self.link(&dest_url, title),
                Event::Text(text) => self.text(&text),
                Event::Start(Tag::CodeBlock(kind)) => {
                    // Its text has no links.
                    self.waiting.push(Event::Start(Tag::CodeBlock(kind)));
                    let inner = until(&mut events, |event| {
                        matches!(event, Event::End(TagEnd::CodeBlock))
                    });
                    self.waiting.extend(inner);
                    self.waiting.push(Event::End(TagEnd::CodeBlock));
                }
                event if self.table_event(&event) => {}
                event => self.waiting.push(event),
            }
        }
        self.flush();
    }

    fn flush(&mut self) {
        html::push_html(&mut self.out, self.waiting.drain(..));
    }

    /// Markup, behind all that came before it.
    fn raw(&mut self, markup: &str) {
        self.waiting
            .push(Event::Html(CowStr::from(markup.to_owned())));
    }

    fn heading(&mut self, level: usize, inner: Vec<Event<'static>>) {
        let title = words(&inner);
        if level == 1 && self.folds {
            return;
        }
        self.caption.clone_from(&title);
        if !self.folds {
            // An author's heading is below the page's own.
            let level = (level + 1).min(6);
            self.raw(&format!("<h{level}>"));
            self.inline(inner);
            self.raw(&format!("</h{level}>\n"));
            return;
        }
        let id = self.id(&title);
        self.raw(&format!("<h{level} id=\"{id}\">"));
        self.inline(inner);
        self.raw(&format!("</h{level}>\n"));
        if level == 2 {
            self.sections.push(Section { id, title });
        }
    }

    /// Events inside a heading: text, emphasis, code.
    fn inline(&mut self, events: Vec<Event<'static>>) {
        for event in events {
            match event {
                Event::InlineHtml(tag) => self.tag(&tag),
                Event::Start(Tag::Link { .. } | Tag::Image { .. })
                | Event::End(TagEnd::Link | TagEnd::Image) => {}
                event => self.waiting.push(event),
            }
        }
    }

    /// `throughput-and-latency`, and a number where that was there before.
    fn id(&mut self, title: &str) -> String {
        let mut slug = String::new();
        for c in title.to_lowercase().chars() {
            match c {
                'a'..='z' | '0'..='9' => slug.push(c),
                _ if slug.is_empty() || slug.ends_with('-') => {}
                _ => slug.push('-'),
            }
        }
        let slug = slug.trim_end_matches('-');
        let slug = if slug.is_empty() { "section" } else { slug };
        let mut id = slug.to_owned();
        let mut number = 2;
        while !self.ids.insert(id.clone()) {
            id = format!("{slug}-{number}");
            number += 1;
        }
        id
    }

    fn image(&mut self, path: &str, inner: &[Event<'static>]) {
        let label = words(inner);
        match self.images.get(path) {
            Some(svg) => {
                let markup = format!(
                    "<span class=\"scroll plot\" role=\"group\" tabindex=\"0\" aria-label=\"{}\">{svg}</span>",
                    escape(&label)
                );
                self.raw(&markup);
            }
            None => self
                .waiting
                .push(Event::Text(format!("[image: {label}]").into())),
        }
    }

    /// A block of raw HTML: the folds of the template, or text.
    fn block(&mut self, block: &str) {
        for line in block.lines() {
            let summary = line
                .strip_prefix("<summary>")
                .and_then(|rest| rest.strip_suffix("</summary>"))
                .filter(|text| !text.contains(['<', '>']));
            if !self.folds {
                self.raw(&format!("<p>{}</p>\n", escape(line)));
            } else if let Some(summary) = summary {
                self.caption = unescape(summary);
                self.raw(&format!("{line}\n"));
            } else if matches!(line.trim(), "<details>" | "</details>") {
                self.raw(&format!("{}\n", line.trim()));
            } else if !line.trim().is_empty() {
                self.raw(&format!("<p>{}</p>\n", escape(line)));
            }
        }
    }

    fn tag(&mut self, tag: &str) {
        if self.folds && matches!(tag, "<code>" | "</code>") {
            self.raw(tag);
        } else {
            self.waiting.push(Event::Text(tag.to_owned().into()));
        }
    }

    /// A link, if it goes to a page, to a place in this one or to a file beside it; its text alone otherwise.
    fn link(&mut self, target: &str, title: CowStr<'static>) {
        let scheme = target.split(['/', '?', '#']).next().unwrap_or("");
        let known = ["http:", "https:", "mailto:"];
        let lower = scheme.to_ascii_lowercase();
        let fine = !lower.contains(':') || known.iter().any(|one| lower.starts_with(one));
        let target = if fine { target } else { "#" };
        self.waiting.push(Event::Start(Tag::Link {
            link_type: LinkType::Inline,
            dest_url: target.to_owned().into(),
            title,
            id: CowStr::Borrowed(""),
        }));
    }

    /// Text, with the addresses in it as links, as repository pages make them.
    fn text(&mut self, text: &str) {
        let inside_link = self.waiting.iter().rev().find_map(|event| match event {
            Event::Start(Tag::Link { .. }) => Some(true),
            Event::End(TagEnd::Link) => Some(false),
            _ => None,
        });
        let address = |word: &str| {
            let rest = word
                .strip_prefix("https://")
                .or_else(|| word.strip_prefix("http://"));
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        };
        if inside_link == Some(true) || !text.split(' ').any(address) {
            self.waiting.push(Event::Text(text.to_owned().into()));
            return;
        }
        for (at, word) in text.split(' ').enumerate() {
            if at > 0 {
                self.waiting.push(Event::Text(" ".into()));
            }
            let bare = word.trim_end_matches(['.', ',', ';', ':', ')', '!', '?']);
            let rest = &word[bare.len()..];
            if address(bare) {
                self.link(bare, CowStr::Borrowed(""));
                self.waiting.push(Event::Text(bare.to_owned().into()));
                self.waiting.push(Event::End(TagEnd::Link));
                self.waiting.push(Event::Text(rest.to_owned().into()));
            } else {
                self.waiting.push(Event::Text(word.to_owned().into()));
            }
        }
    }

    /// Writes what belongs to a table; whether the event does.
    fn table_event(&mut self, event: &Event<'static>) -> bool {
        match event {
            Event::Start(Tag::Table(alignments)) => {
                self.table = Some(Table {
                    alignments: alignments.clone(),
                    ..Table::default()
                });
                let label = escape(&self.caption);
                self.raw(&format!(
                    "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{label}\"><table class=\"rows\">\n"
                ));
            }
            Event::End(TagEnd::Table) => {
                self.table = None;
                self.raw("</tbody></table></div>\n");
            }
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                let head = matches!(event, Event::Start(Tag::TableHead));
                if let Some(table) = &mut self.table {
                    (table.column, table.is_head) = (0, head);
                }
                self.raw(if head { "<thead><tr>" } else { "<tr>" });
            }
            Event::End(TagEnd::TableHead) => self.raw("</tr></thead><tbody>\n"),
            Event::End(TagEnd::TableRow) => self.raw("</tr>\n"),
            Event::Start(Tag::TableCell) => self.flush(),
            Event::End(TagEnd::TableCell) => self.cell(),
            _ => return false,
        }
        true
    }

    /// Writes a cell, of which the content waits.
    fn cell(&mut self) {
        let Some(table) = &mut self.table else { return };
        let right = matches!(table.alignments.get(table.column), Some(Alignment::Right));
        let head = table.is_head;
        table.column += 1;
        let shown = words(&self.waiting);
        let class = if right { " class=\"r\"" } else { "" };
        let sorted = order::number(&shown).filter(|_| right && !head);
        let sorted = sorted.map_or_else(String::new, |value| format!(" data-v=\"{value}\""));
        let (open, close) = if head {
            (format!("<th scope=\"col\"{class}>"), "</th>")
        } else {
            (format!("<td{class}{sorted}>"), "</td>")
        };
        self.out.push_str(&open);
        self.flush();
        self.out.push_str(close);
    }
}

/// The events in front of the first that `ends`, which is taken too.
fn until(
    events: &mut impl Iterator<Item = Event<'static>>,
    ends: impl Fn(&Event<'static>) -> bool,
) -> Vec<Event<'static>> {
    events.take_while(|event| !ends(event)).collect()
}

/// What events say, without their markup.
fn words(events: &[Event<'_>]) -> String {
    let mut said = String::new();
    for event in events {
        match event {
            Event::Text(text) | Event::Code(text) | Event::Html(text) => said.push_str(text),
            Event::SoftBreak | Event::HardBreak => said.push(' '),
            _ => {}
        }
    }
    said
}

/// Text as it stands in HTML, also in an attribute.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// The text of a summary, of which [`super::super::markdown::escape_html`] made HTML.
fn unescape(html: &str) -> String {
    let mut text = html
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"");
    for c in ['|', '`', '*', '_', '[', ']', '~', '\\', '$'] {
        text = text.replace(&format!("&#{};", c as u32), &c.to_string());
    }
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::super::super::markdown::{escape as markdown, escape_html};
    use super::*;

    fn report(text: &str) -> String {
        of_report(text, BTreeMap::new()).0
    }

    const NASTY: &str = "</details></summary><script>alert(1)</script>\"'{{ x }}&lt;|`*";

    #[test]
    fn only_the_folds_of_the_template_are_markup() {
        let text = format!(
            "<details>\n<summary>{}</summary>\n\na {}\n\n</details>\n",
            escape_html(NASTY),
            markdown(NASTY)
        );
        let html = report(&text);
        assert!(
            html.starts_with("<details>\n<summary>&lt;/details&gt;"),
            "{html}"
        );
        assert!(!html.contains("<script"), "{html}");
        assert_eq!(html.matches("<details>").count(), 1);
        assert_eq!(html.matches("</details>").count(), 1);
        let foreign =
            report("<details open>\n<script>x</script>\n</details>\n\nand <b onclick=x>this</b>");
        assert!(
            !foreign.contains("<script") && !foreign.contains("<b"),
            "{foreign}"
        );
    }

    #[test]
    fn no_two_headings_have_one_id_whatever_their_level() {
        let html = report("## A\n\n### Old\n\n## A 2\n\n### Old\n\n#### Old\n\n## A\n");
        let ids: Vec<&str> = html
            .split(" id=\"")
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert_eq!(ids, ["a", "old", "a-2", "old-2", "old-3", "a-3"]);
    }

    #[test]
    fn what_the_author_wrote_folds_and_fetches_nothing() {
        let text = "# A\n\n<details>\n\n<summary>x</summary>\n\n![i](http://x/y.png) [j](javascript:alert(1)) \
                    [k](JaVaScRiPt:x) [l](data:text/html,x) [m](https://a.b/) *n*\n\n```\n<i>";
        let html = of_author(text);
        for bad in [
            "<details", "<summary", "<img", "cript:", "data:", "<i>", "<h1",
        ] {
            assert!(!html.contains(bad), "{bad} in {html}");
        }
        assert!(
            html.contains("<a href=\"https://a.b/\">m</a>") && html.contains("<em>n</em>"),
            "{html}"
        );
    }

    #[test]
    fn a_table_scrolls_in_its_own_box_and_tells_its_numbers() {
        let html = report(
            "## Memory\n\n| Server | RSS |\n|:--|--:|\n| a\\|b | **1.5\u{a0}KiB** |\n| c | – |\n",
        );
        assert!(html.contains("<h2 id=\"memory\">Memory</h2>"), "{html}");
        assert!(
            html.contains("aria-label=\"Memory\"><table class=\"rows\">"),
            "{html}"
        );
        assert!(
            html.contains("<th scope=\"col\" class=\"r\">RSS</th>"),
            "{html}"
        );
        assert!(
            html.contains(
                "<td>a|b</td><td class=\"r\" data-v=\"1536\"><strong>1.5\u{a0}KiB</strong></td>"
            ),
            "{html}"
        );
        assert!(html.contains("<td class=\"r\">–</td>"), "{html}");
        assert!(html.contains("</tbody></table></div>"), "{html}");
    }

    #[test]
    fn a_plot_takes_the_place_of_its_image() {
        let images = [("plots/a_b.svg".to_owned(), "<svg></svg>".to_owned())];
        let (html, _) = of_report("![of \"x\"](plots/a\\_b.svg)", images.into());
        assert!(
            html.contains("aria-label=\"of &quot;x&quot;\"><svg></svg></span>"),
            "{html}"
        );
    }

    #[test]
    fn addresses_become_links_but_not_in_code() {
        let html =
            report("Source: https://a.b/c_d. And `https://e.f/`\n\n```\nhttps://g.h/\n```\n");
        assert!(
            html.contains("<a href=\"https://a.b/c_d\">https://a.b/c_d</a>."),
            "{html}"
        );
        assert_eq!(html.matches("<a ").count(), 1, "{html}");
    }

    #[test]
    fn sections_of_one_name_have_places_of_their_own() {
        let (_, sections) = of_report("# T\n\n## A b\n\n## A *b*\n\n## —\n", BTreeMap::new());
        let ids: Vec<&str> = sections.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(ids, ["a-b", "a-b-2", "section"]);
    }
}
