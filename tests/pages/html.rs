//! `report.html` as its readers use it.

use super::browser::{Browser, ENTER};
use super::fixture::{Records, records};
use super::matrix::Matrix;
use super::{reports, text};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// The reports of a run in a folder.
struct Folder {
    folder: TempDir,
}

impl Folder {
    fn of(records: &Records) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for output in reports(records) {
            let path = folder.path().join(&output.file_name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &output.bytes).unwrap();
        }
        Self { folder }
    }

    fn page(&self) -> PathBuf {
        self.folder.path().join("report.html")
    }

    fn plots(&self) -> Vec<PathBuf> {
        let listing = fs::read_dir(self.folder.path().join("plots")).unwrap();
        listing.map(|entry| entry.unwrap().path()).collect()
    }
}

fn twelve() -> Records {
    let matrix = Matrix {
        servers: &["Node.js", "Go net/http"],
        workers: &["1", "2", "4"],
        cache: &["off", "on"],
        loads: &["steady"],
        trials: 6,
        roles: true,
    };
    matrix.records()
}

const HOSTILE: &str = "<script>window.pwned = 1</script><img src=x onerror=\"window.pwned = 2\"> {{ 7*7 }} {% raw %} \"a\" 'b' & `c` | </title></summary>";

/// The values by which the column of requests per second is sorted, in the order of the rows.
const RATES: &str = "return [...document.querySelectorAll('table.rows')[0].tBodies[0].rows]
    .map((row) => Number([...row.cells].find((cell) => cell.querySelector('strong') && cell.dataset.v).dataset.v));";
/// The button of that column.
const HEAD: &str = "table.rows thead th.r button";
const STATE: &str =
    "return document.querySelector('table.rows thead th.r').getAttribute('aria-sort');";

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_f64().unwrap())
        .collect()
}

#[test]
fn a_table_sorts_by_clicks_and_by_keys() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = Folder::of(&twelve());
    browser.open(&folder.page());
    let original = numbers(&browser.run(RATES));
    assert_eq!(original.len(), 12);
    let mut up = original.clone();
    up.sort_by(f64::total_cmp);
    assert_eq!(browser.run(STATE), "none");
    // Fastest last: the records have them in that order, so it is turned first.
    browser.click(HEAD);
    assert_eq!(browser.run(STATE), "ascending");
    assert_eq!(numbers(&browser.run(RATES)), up);
    browser.type_into(HEAD, ENTER);
    assert_eq!(browser.run(STATE), "descending");
    let down: Vec<f64> = up.iter().rev().copied().collect();
    assert_eq!(numbers(&browser.run(RATES)), down);
    browser.type_into(HEAD, " ");
    assert_eq!(browser.run(STATE), "none");
    assert_eq!(numbers(&browser.run(RATES)), original);
    // One column at a time says that it is sorted.
    browser.click(HEAD);
    browser.click("table.rows thead th:first-child button");
    let sorted = "return [...document.querySelectorAll('table.rows')[0].tHead.rows[0].cells]
        .map((cell) => cell.getAttribute('aria-sort')).filter((state) => state !== 'none');";
    assert_eq!(browser.run(sorted), json!(["ascending"]));
    assert_eq!(browser.console(), Vec::<String>::new());
}

#[test]
fn values_are_sorted_by_what_they_mean_and_none_are_last() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut records = twelve();
    // Latencies of microseconds, milliseconds and seconds have figures that would sort otherwise.
    for (at, trial) in records.trials.iter_mut().enumerate() {
        trial.startup_ns = match at / 6 {
            0 => None,
            at => Some(7u64.pow(at as u32) * 1_000),
        };
    }
    let path = folder.path().join("report.html");
    fs::write(&path, text(&reports(&records), "report.html")).unwrap();
    browser.open(&path);
    let column = "const table = document.querySelector('#cpu-and-start-up ~ .scroll table');
        const head = [...table.tHead.rows[0].cells].find((cell) => cell.textContent === 'Start-up');
        head.querySelector('button').click();
        return [...table.tBodies[0].rows].map((row) => row.cells[head.cellIndex].textContent);";
    let expected = [
        "7.00 µs",
        "49.0 µs",
        "343 µs",
        "2.40 ms",
        "16.8 ms",
        "118 ms",
        "824 ms",
        "5.76 s",
        "40.4 s",
        "4 m 42 s",
        "32 m 57 s",
        "–",
    ];
    let shown = browser.run(column);
    let shown: Vec<String> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap().replace('\u{a0}', " "))
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn rows_are_found_by_words_of_their_names() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = Folder::of(&twelve());
    browser.open(&folder.page());
    let shown = "return [...document.querySelectorAll('table.rows')[0].tBodies[0].rows].filter((row) => !row.hidden).length;";
    let folds = "return [...document.querySelectorAll('details[data-cell]')].filter((fold) => !fold.hidden).length;";
    let said = "return document.querySelector('.filter output').textContent;";
    assert_eq!(
        (browser.run(shown), browser.run(folds)),
        (json!(12), json!(12))
    );
    browser.type_into("#filter", "go ON");
    // The baseline of the merged names says all of its values.
    assert_eq!(browser.run(shown), json!(3));
    assert_eq!(browser.run(folds), json!(3));
    assert_eq!(browser.run(said), "3 of 12 rows of the first table");
    browser.type_into("#filter", " nothing-like-this");
    assert_eq!(browser.run(shown), json!(0));
    browser.run("const input = document.querySelector('#filter'); input.value = ''; input.dispatchEvent(new Event('input'));");
    assert_eq!(
        (browser.run(shown), browser.run(said)),
        (json!(12), json!(""))
    );
}

#[test]
fn hostile_text_is_text() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let mut records = records();
    HOSTILE.clone_into(&mut records.run.spec.title);
    records.run.spec.description = Some(format!(
        "{HOSTILE}\n\n<details>\n\n![x](http://127.0.0.1:9/x.png)"
    ));
    for cell in &mut records.run.spec.cells {
        HOSTILE.clone_into(&mut cell.server_label);
        for choice in &mut cell.toggles {
            choice.label = format!("{HOSTILE}{}", choice.value);
        }
        if let Some(skip) = &mut cell.skip {
            HOSTILE.clone_into(&mut skip.reason);
        }
    }
    for trial in &mut records.trials {
        trial.warnings.push(HOSTILE.to_owned());
    }
    records.run.suite.text = format!("# {HOSTILE}\n</script>\n```\n");
    let folder = Folder::of(&records);
    browser.open(&folder.page());
    assert_eq!(browser.run("return document.title;"), HOSTILE);
    assert_eq!(
        browser.run("return document.querySelector('h1').textContent;"),
        HOSTILE
    );
    assert_eq!(
        browser.run("return window.pwned === undefined;"),
        json!(true)
    );
    let elements = "return [document.scripts.length, document.images.length, document.querySelectorAll('[onerror], iframe, object, embed, link, base').length];";
    assert_eq!(browser.run(elements), json!([1, 0, 0]));
    let names = "return document.querySelector('table.rows tbody td').textContent;";
    assert_eq!(browser.run(names), HOSTILE);
    assert_eq!(browser.console(), Vec::<String>::new());
    let outside: Vec<String> = browser
        .requests()
        .into_iter()
        .filter(|address| !address.starts_with("file:") && !address.starts_with("data:"))
        .collect();
    assert_eq!(outside, Vec::<String>::new());
    // Each plot alone is well formed, which a browser is strict about.
    for plot in folder.plots() {
        browser.open(&plot);
        let root = "return [document.documentElement.nodeName, document.querySelectorAll('parsererror').length];";
        assert_eq!(browser.run(root), json!(["svg", 0]), "{}", plot.display());
    }
}

#[test]
fn the_page_lets_nothing_in() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = Folder::of(&records());
    browser.open(&folder.page());
    let stopped = browser.wait_for(
        "const done = arguments[arguments.length - 1];
         const seen = [];
         document.addEventListener('securitypolicyviolation', (event) => {
           seen.push(event.effectiveDirective);
           if (seen.length === 2) done(seen.sort());
         });
         const image = document.createElement('img');
         image.src = 'http://127.0.0.1:9/x.png';
         document.body.append(image);
         const script = document.createElement('script');
         script.textContent = 'window.pwned = 1';
         document.body.append(script);",
    );
    assert_eq!(stopped, json!(["img-src", "script-src-elem"]));
    assert_eq!(
        browser.run("return window.pwned === undefined;"),
        json!(true)
    );
}

#[test]
fn a_narrow_page_does_not_scroll_sideways() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let mut records = twelve();
    let long = format!("{} {}", "x".repeat(120), HOSTILE);
    records.run.spec.title.clone_from(&long);
    records.run.spec.cells[1].server_label = long;
    let folder = Folder::of(&records);
    browser.resize(390);
    browser.open(&folder.page());
    browser.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; });");
    let wide = browser.run("return [document.documentElement.scrollWidth, document.body.scrollWidth, window.innerWidth];");
    assert_eq!(wide, json!([390, 390, 390]));
    // What is wider scrolls in its own box, and a keyboard reaches it.
    let boxes = "return [...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth && box.tabIndex === 0).length;";
    assert!(browser.run(boxes).as_u64().unwrap() > 3);
}

#[test]
fn plots_follow_the_readers_colours() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = Folder::of(&records());
    let colours =
        "const of = (selector) => getComputedStyle(document.querySelector(selector)).fill;
        return [of('.paper'), of('text.title')];";
    let path = folder
        .plots()
        .into_iter()
        .find(|path| path.ends_with("throughput.svg"));
    for page in [folder.page(), path.unwrap()] {
        browser.open(&page);
        browser.prefer("light");
        assert_eq!(
            browser.run(colours),
            json!(["rgb(255, 255, 255)", "rgb(31, 35, 40)"])
        );
        browser.prefer("dark");
        assert_eq!(
            browser.run(colours),
            json!(["rgb(13, 17, 23)", "rgb(230, 237, 243)"])
        );
    }
}

#[test]
fn the_page_says_what_the_report_says() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let folder = Folder::of(&records());
    browser.open(&folder.page());
    let sections =
        browser.run("return [...document.querySelectorAll('h2')].map((head) => head.textContent);");
    let sections: Vec<String> = serde_json::from_value(sections).unwrap();
    let report = fs::read_to_string(folder.folder.path().join("report.md")).unwrap();
    let said: Vec<&str> = report
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .collect();
    assert_eq!(sections[..said.len()], said[..]);
    assert_eq!(sections[said.len()..], ["Every trial"]);
    let plots = browser.run("return [...document.querySelectorAll('main svg')].map((svg) => svg.querySelector('title').textContent);");
    assert_eq!(plots.as_array().unwrap().len(), folder.plots().len());
    // Each link of the contents leads somewhere.
    let links = "return [...document.querySelectorAll('nav a')].every((link) => document.getElementById(link.hash.slice(1)));";
    assert_eq!(browser.run(links), json!(true));
    // Every trial of every cell, folded.
    let folds = "return [document.querySelectorAll('details[data-cell] > details').length, document.querySelectorAll('details[open]').length];";
    assert_eq!(browser.run(folds), json!([12, 0]));
}
