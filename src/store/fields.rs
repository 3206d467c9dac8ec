//! The fields of single lines of CSV, where each line is a record of its own: whatever quotes stand in one, the next begins anew.

use csv_core::Reader;

/// A splitter, to be made once: what it goes by takes longer to make than to use.
pub(super) struct Fields {
    reader: Reader,
    /// The fields of a line, one after the other, and where each ends.
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Fields {
    pub(super) fn new() -> Self {
        Self {
            reader: Reader::new(),
            text: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// The fields of a line without its end; none of an empty one.
    pub(super) fn of(&mut self, line: &str) -> Vec<&str> {
        // Fields have no more bytes than their line, and a line of commas alone has one field more than those.
        self.text.resize(line.len(), 0);
        self.ends.resize(line.len() + 1, 0);
        self.reader.reset();
        let (_, _, written, fields) =
            self.reader
                .read_record(line.as_bytes(), &mut self.text, &mut self.ends);
        // Nothing to read is the end of the line, which ends its last field.
        let (_, _, _, last) =
            self.reader
                .read_record(&[], &mut self.text[written..], &mut self.ends[fields..]);
        let mut from = 0;
        let mut field = |end: &usize| {
            let bytes = &self.text[from..*end];
            from = *end;
            // Quotes are all that a line loses, so what is left of a text is one.
            std::str::from_utf8(bytes).unwrap_or_default()
        };
        self.ends[..fields + last].iter().map(&mut field).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Fields;

    #[test]
    fn lines_are_split_each_for_itself() {
        let mut fields = Fields::new();
        for (line, wanted) in [
            ("a,b", vec!["a", "b"]),
            ("\"never ends,b", vec!["never ends,b"]),
            ("a,\"b,\"\"c\"\"\",", vec!["a", "b,\"c\"", ""]),
            (",,", vec!["", "", ""]),
            ("", vec![]),
            ("ä,\"\u{2009},\"", vec!["ä", "\u{2009},"]),
        ] {
            assert_eq!(fields.of(line), wanted, "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn fields_are_those_that_the_csv_crate_reads(line in "[a-z\",; ä\u{2009}]{0,40}") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
            let record = reader.records().next().and_then(Result::ok).unwrap_or_default();
            let wanted: Vec<&str> = record.iter().collect();
            let mut fields = Fields::new();
            proptest::prop_assert_eq!(fields.of(&line), wanted);
        }
    }
}
