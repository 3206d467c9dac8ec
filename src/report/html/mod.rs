//! `report.html`: one file with nothing outside it. Its text is that of `report.md`, so that both say the same; around
//! it are tables that sort and filter, the plots themselves, and the detail of every trial. Its policy lets a browser run the
//! one script and use the one style that are in it, and fetch nothing.

mod body;
mod order;
mod trials;

use super::{Input, ReportError, Template, View, templates};
use crate::stats::CellSummary;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use body::Section;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use trials::CellTrials;

/// What the template of the page sees.
#[derive(Serialize)]
struct Page<'a> {
    policy: String,
    style: &'a str,
    script: &'a str,
    title: &'a str,
    /// HTML, as is `body`.
    description: String,
    body: String,
    sections: Vec<Section>,
    trials: Vec<CellTrials>,
    /// How many trials there are, where they are too many for a page.
    left_out: Option<usize>,
    run: &'a str,
}

/// The page.
pub(super) fn render(
    input: &Input<'_>,
    cells: &[CellSummary<'_>],
    mut view: View,
) -> Result<Vec<u8>, ReportError> {
    // The author's own Markdown is made HTML apart, since it must not fold or close anything of the report.
    let description = view.description.take().unwrap_or_default();
    let template = Template::new(templates::REPORT_NAME, templates::REPORT);
    let text = template.report(&view)?;
    let images = view
        .plots
        .iter()
        .map(|plot| Ok((plot.path.clone(), plot.inline()?)))
        .collect::<Result<_, ReportError>>()?;
    let (body, sections) = body::of_report(&text, images);
    let style = format!("{}{}", templates::PLOT_STYLE, templates::HTML_STYLE);
    let script = templates::HTML_SCRIPT;
    let (trials, left_out) = trials::all(input, cells);
    let page = Page {
        policy: policy(&style, script),
        style: &style,
        script,
        title: &view.title,
        description: body::of_author(&description),
        body,
        sections,
        trials,
        left_out,
        run: &view.run,
    };
    let template = Template::new(templates::HTML_NAME, templates::HTML);
    template.render(&page).map(String::into_bytes)
}

/// Nothing from anywhere, but this style and this script.
fn policy(style: &str, script: &str) -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(style),
        hash(script)
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_end_only_where_the_page_ends_them() {
        for text in [
            templates::PLOT_STYLE,
            templates::HTML_STYLE,
            templates::HTML_SCRIPT,
        ] {
            assert!(!text.contains("</"), "it would end its element");
            assert!(!text.contains("http"), "nothing is fetched");
        }
    }

    #[test]
    fn a_policy_names_the_hash_of_what_stands_in_the_page() {
        // Of the empty string, as FIPS 180-4 has it, in base64.
        let empty = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(hash(""), empty);
        assert!(policy("", "x").contains(&format!("style-src '{empty}'")));
    }
}
