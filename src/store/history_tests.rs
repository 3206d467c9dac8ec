//! What is appended is read again, whatever happened to the file in between.

use super::*;

fn row(run: &str, cell: &str, column: &str, median: f64) -> HistoryRow {
    HistoryRow {
        run: RunId(run.to_owned()),
        time: format!("2026-11-0{run}T03:17:00Z"),
        revision: Some("ab12cd3-dirty".to_owned()),
        machine: Some("00ff00ff".to_owned()),
        hotlap: "0.1.0".to_owned(),
        cell: CellId(cell.to_owned()),
        state: "measured".to_owned(),
        reason: String::new(),
        figure: Some(HistoryFigure {
            column: column.to_owned(),
            median,
            interval: Some((median * 0.75, median * 1.1)),
            bounded: column == "cpu_s",
        }),
    }
}

fn failed(run: &str, reason: &str) -> HistoryRow {
    HistoryRow {
        revision: None,
        machine: None,
        state: "failed".to_owned(),
        reason: reason.to_owned(),
        figure: None,
        ..row(run, "-b@l#2", "", 0.0)
    }
}

struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("suite/history.csv")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn write(&self, text: &str) {
        fs::write(self.path(), text).unwrap();
    }

    fn append(&self, rows: &[HistoryRow]) -> bool {
        append_history(&self.path(), rows).unwrap()
    }

    fn read(&self) -> History {
        read_history(&self.path()).unwrap()
    }
}

fn night(run: &str) -> Vec<HistoryRow> {
    vec![
        row(run, "a/x=\"1,2\"@l#1", "rss_peak_bytes", 1.0 / 3.0),
        row(run, "a/x=\"1,2\"@l#1", "cpu_s", 2e-9),
        failed(run, "=it, said \"no\""),
    ]
}

#[test]
fn what_is_appended_is_read_again_and_never_added_twice() {
    let file = File::new();
    assert_eq!(file.read(), History::default());
    assert!(file.append(&night("1")));
    let first = file.text();
    assert!(file.append(&night("2")));
    assert!(file.text().starts_with(&first), "nothing is rewritten");
    assert!(!file.append(&night("1")));
    assert_eq!(file.read().rows, [night("1"), night("2")].concat());
    assert!(file.read().notes.is_empty());
    assert_eq!(file.text().matches("run,time").count(), 1);
    // A spreadsheet runs nothing of it.
    assert!(first.contains(",'-b@l#2,failed,\"'=it, said"), "{first}");
}

#[test]
fn a_reason_is_one_short_line() {
    let file = File::new();
    file.append(&[failed("1", &format!("two\nlines\r{}", "x".repeat(999)))]);
    assert_eq!(file.text().lines().count(), 2);
    let kept = file.read().rows.remove(0).reason;
    assert!(
        kept.starts_with("two lines xxx") && kept.ends_with("x…"),
        "{kept}"
    );
    assert_eq!(kept.chars().count(), LONGEST_REASON + 1);
}

#[test]
fn a_torn_line_is_left_out_and_what_follows_it_is_whole() {
    let file = File::new();
    file.append(&night("1"));
    let whole = file.text();
    // Wherever the power failed.
    for cut in 1..whole.len() - 1 {
        file.write(&whole[..cut]);
        let torn = file.read();
        let unended = !whole[..cut].ends_with('\n');
        assert_eq!(torn.notes.len(), usize::from(unended), "{cut}");
        assert!(
            torn.rows.iter().all(|row| night("1").contains(row)),
            "{cut}"
        );
        // The run that was cut off is made whole, and the next one added.
        file.append(&night("1"));
        file.append(&night("2"));
        let mended = file.read();
        let mut rows = mended.rows;
        rows.sort_by_key(key);
        let mut wanted = [night("1"), night("2")].concat();
        wanted.sort_by_key(key);
        assert_eq!(rows, wanted, "{cut}");
        assert!(mended.notes.len() <= 1, "{:?}", mended.notes);
    }
}

#[test]
fn what_a_union_of_two_branches_makes_is_read() {
    let (ours, theirs) = (File::new(), File::new());
    ours.append(&night("1"));
    theirs.append(&night("1"));
    ours.append(&night("3"));
    theirs.append(&night("2"));
    let both = format!("{}{}", ours.text(), theirs.text());
    ours.write(&both);
    let read = ours.read();
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    assert_eq!(read.rows, [night("1"), night("3"), night("2")].concat());
    ours.write(&both.replace('\n', "\r\n"));
    assert_eq!(ours.read().rows, read.rows);
    // A conflict that nobody solved: both sides are there.
    ours.write(&format!(
        "<<<<<<< HEAD\n{}=======\n{}>>>>>>> b\n",
        ours.text(),
        theirs.text()
    ));
    let read = ours.read();
    assert_eq!(read.rows.len(), 9);
    assert_eq!(read.notes.len(), 3);
    assert!(
        read.notes[0].contains("line 1 of history.csv"),
        "{:?}",
        read.notes
    );
}

#[test]
fn lines_that_are_no_rows_are_counted() {
    let file = File::new();
    file.append(&night("1"));
    file.write(&format!("{}{}", file.text(), "x,y\n".repeat(7)));
    let read = file.read();
    assert_eq!((read.rows.len(), read.notes.len()), (3, 1));
    assert!(read.notes[0].starts_with("7 lines of history.csv"));
    assert!(read.notes[0].ends_with("its fields are 2 and not 13"));
    for to in ["fast", "-1", "NaN", ""] {
        file.append(&night("1"));
        let broken = file.text().replace(",0.000000002,", &format!(",{to},"));
        file.write(&broken);
        assert_eq!(file.read().rows.len(), 2, "{to:?}");
    }
}

#[test]
fn a_profile_has_a_file_of_its_own_and_names_lead_nowhere_else() {
    let path = |suite, profile| history_path(Path::new("out"), suite, profile);
    assert_eq!(path("s", None).unwrap(), Path::new("out/s/history.csv"));
    let quick = Path::new("out/s/history.quick.csv");
    assert_eq!(path("s", Some("quick")).unwrap(), quick);
    assert!(path("../s", None).is_err() && path("s", Some("../x")).is_err());
}

#[test]
fn nothing_is_added_to_a_file_of_other_columns() {
    let file = File::new();
    file.append(&night("1"));
    let rows = file.text();
    let rows = rows.split_once('\n').unwrap().1;
    let newer = rows.replace('\n', ",x\n");
    for text in [
        "date,figure\n2026-11-01,7\n".to_owned(),
        format!("{},more\n{newer}", head()),
        // A merge of what two versions wrote: the newer one's head stands first.
        format!("{},more\n{newer}{rows}", head()),
        "PK\u{3}\u{4}".to_owned(),
    ] {
        file.write(&text);
        let error = append_history(&file.path(), &night("2")).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("history.csv, line 1,") && said.contains("move it away"),
            "{said}"
        );
        assert_eq!(file.text(), text, "it is as it was");
    }
    // Rows of ours without a head, and a broken line in front of one, are a history all the same.
    for text in [rows.to_owned(), format!("<<<<<<< HEAD\n{}\n{rows}", head())] {
        file.write(&text);
        assert!(file.append(&night("2")), "{text}");
    }
}

#[test]
fn a_row_without_a_time_is_none() {
    let file = File::new();
    file.append(&night("1"));
    for time in ["yesterday", "2026-11-31T03:17:00Z", "03:17"] {
        file.write(&file.text().replace("2026-11-01T03:17:00Z", time));
        let read = file.read();
        assert!(read.rows.is_empty(), "{time}");
        assert!(
            read.notes[0].contains("line 2 of history.csv is no row"),
            "{:?}",
            read.notes
        );
        assert!(read.notes[0].contains(time), "{:?}", read.notes);
        file.write(&file.text().replace(time, "2026-11-01T03:17:00Z"));
    }
}

#[test]
fn a_row_that_is_there_twice_with_other_figures_is_told() {
    let file = File::new();
    file.append(&night("1"));
    let twice = file.text().replace(",0.000000002,", ",0.000000003,");
    file.write(&format!("{}{twice}", file.text()));
    let read = file.read();
    assert_eq!(read.rows, night("1"), "the first counts");
    assert_eq!(read.notes.len(), 1);
    assert!(
        read.notes[0].starts_with("1 line of history.csv")
            && read.notes[0].contains("line 7: cpu_s of a/x"),
        "{:?}",
        read.notes
    );
}

#[test]
fn a_row_is_one_line_whatever_its_texts_are() {
    let file = File::new();
    let mut rows = night("1");
    rows[0].revision = Some("v1\nv2".to_owned());
    assert!(file.append(&rows));
    assert_eq!(file.read().notes, Vec::<String>::new());
    assert_eq!(file.read().rows.len(), rows.len());
    assert_eq!(file.read().rows[0].revision.as_deref(), Some("v1 v2"));
    assert!(!file.append(&rows), "it is there");
}

#[test]
fn nights_are_in_the_order_of_their_times_wherever_they_were_written() {
    let file = File::new();
    file.append(&night("1"));
    file.write(
        &file
            .text()
            .replace("2026-11-01T03:17:00Z", "2026-11-01T05:17:00+02:00"),
    );
    assert_eq!(file.read().rows, night("1"));
}
