//! How JSON is laid out: names of cells and of figures on lines of their own, where people look for them, and what a figure has in its
//! line. A run of ten thousand cells would be mostly spaces else.

use serde_json::ser::Formatter;
use std::io;

/// So many levels are indented.
const INDENTED: usize = 4;

/// The layout.
#[derive(Debug, Default)]
pub(super) struct Lines {
    depth: usize,
    /// Whether the list or object that ends next has anything in it.
    is_filled: bool,
}

impl Lines {
    fn open<W: ?Sized + io::Write>(&mut self, to: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.is_filled = false;
        to.write_all(sign)
    }

    fn close<W: ?Sized + io::Write>(&mut self, to: &mut W, sign: &[u8]) -> io::Result<()> {
        let own_line = self.is_filled && self.depth <= INDENTED;
        self.depth -= 1;
        if own_line {
            self.new_line(to)?;
        }
        to.write_all(sign)
    }

    fn next<W: ?Sized + io::Write>(&mut self, to: &mut W, is_first: bool) -> io::Result<()> {
        if !is_first {
            to.write_all(b",")?;
        }
        if self.depth <= INDENTED {
            return self.new_line(to);
        }
        if is_first { Ok(()) } else { to.write_all(b" ") }
    }

    fn new_line<W: ?Sized + io::Write>(&self, to: &mut W) -> io::Result<()> {
        const BLANK: [u8; 2 * INDENTED] = [b' '; 2 * INDENTED];
        to.write_all(b"\n")?;
        to.write_all(&BLANK[..2 * self.depth])
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(to, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, _to: &mut W) -> io::Result<()> {
        self.is_filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _to: &mut W) -> io::Result<()> {
        self.is_filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize as _;
    use serde_json::json;

    #[test]
    fn what_is_deep_stands_in_its_line() {
        let mut value = json!({
            "cells": [{ "id": "a", "metrics": { "p50": { "values": [1, { "n": 2 }], "none": [] } }, "empty": {} }],
            "text": "a\nb",
        });
        value.sort_all_objects();
        let mut bytes = Vec::new();
        let mut writer = serde_json::Serializer::with_formatter(&mut bytes, Lines::default());
        value.serialize(&mut writer).unwrap();
        let lines = [
            "{",
            "  \"cells\": [",
            "    {",
            "      \"empty\": {},",
            "      \"id\": \"a\",",
            "      \"metrics\": {",
            "        \"p50\": {\"none\": [], \"values\": [1, {\"n\": 2}]}",
            "      }",
            "    }",
            "  ],",
            "  \"text\": \"a\\nb\"",
            "}",
        ];
        assert_eq!(String::from_utf8(bytes).unwrap(), lines.join("\n"));
    }
}
