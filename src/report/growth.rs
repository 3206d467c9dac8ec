//! Memory that grows with the requests that are served, as the reports tell it.

use super::show;
use crate::ids::CellId;
use crate::record::Readings;
use crate::spec::Order;
use crate::stats::{CellSummary, Growth, MemoryRatio, State, growth, memory_ratio};
use crate::units::show_bytes;
use serde_json::{Value, json};
use std::collections::HashMap;

/// How the memory of each measured cell changes.
#[derive(Debug)]
pub(super) struct Growths<'a> {
    by_cell: HashMap<CellId, Growth>,
    readings: &'a Readings,
}

impl<'a> Growths<'a> {
    /// Those of all measured cells.
    pub(super) fn of(cells: &[CellSummary<'_>], readings: &'a Readings) -> Self {
        let by_cell = cells
            .iter()
            .filter(|cell| cell.state == State::Measured)
            .filter_map(|cell| Some((cell.cell.id.clone(), growth(cell, readings)?)))
            .collect();
        Self { by_cell, readings }
    }

    /// That of a cell; none where it has too few readings.
    pub(super) fn get(&self, cell: &CellSummary<'_>) -> Option<&Growth> {
        self.by_cell.get(&cell.cell.id)
    }

    /// That of a cell that grows.
    pub(super) fn growing(&self, cell: &CellSummary<'_>) -> Option<&Growth> {
        self.get(cell).filter(|growth| growth.growing)
    }

    /// The ratio of the peak memory of two cells, until as many requests where one of them grows.
    pub(super) fn ratio(
        &self,
        of: &CellSummary<'_>,
        to: &CellSummary<'_>,
        order: Order,
    ) -> Option<MemoryRatio> {
        let grows = self.growing(of).is_some() || self.growing(to).is_some();
        memory_ratio(of, to, self.readings, order, grows)
    }

    /// What is to be known of a cell that grows.
    pub(super) fn sentence(&self, cell: &CellSummary<'_>) -> Option<String> {
        let growth = self.growing(cell)?;
        let counted = if growth.counted {
            ""
        } else {
            " Requests were not counted with the readings, and are taken as even over the measured phase."
        };
        Some(format!(
            "Memory grows by {} a request ({}): {} in the measured phase, {} of the RSS at its beginning. Its peak \
             depends on how many requests it served, {} here with the warm-up. A longer warm-up and load tell whether it settles.{counted}",
            size(growth.slope.estimate),
            sizes(growth.slope.low, growth.slope.high),
            size(growth.added),
            show::share(growth.share),
            requests(growth.requests),
        ))
    }

    /// For `report.json`; null where a cell has too few readings.
    pub(super) fn json(&self, cell: &CellSummary<'_>) -> Value {
        self.get(cell).map_or(Value::Null, |growth| {
            json!({
                "bytes_per_request": growth.slope.estimate,
                "interval": [growth.slope.low, growth.slope.high],
                "interval_over": growth.basis.word(),
                "added_bytes": growth.added,
                "added_share": growth.share,
                "growing": growth.growing,
                "requests_counted": growth.counted,
                "peak_requests": growth.requests,
            })
        })
    }
}

/// A size with its unit, which no line break parts from it.
fn size(bytes: f64) -> String {
    show_bytes(bytes).replace(' ', "\u{a0}")
}

/// `10.3–10.4 KiB`: the unit once, where it is that of both.
fn sizes(low: f64, high: f64) -> String {
    let (low, high) = (size(low), size(high));
    if low == high {
        return low;
    }
    match (low.split_once('\u{a0}'), high.split_once('\u{a0}')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// A number of requests, as shown: every digit up to ten thousand, then four.
pub(super) fn requests(number: f64) -> String {
    if number < 10_000.0 {
        show::count(number.round())
    } else {
        crate::units::show_number(number, 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sizes_name_their_common_unit_once() {
        assert_eq!(sizes(10_240.0, 10_752.0), "10.0–10.5\u{a0}KiB");
        assert_eq!(sizes(512.0, 2048.0), "512\u{a0}B–2.00\u{a0}KiB");
        assert_eq!(sizes(10_240.0, 10_240.0), "10.0\u{a0}KiB");
    }

    #[test]
    fn requests_keep_the_digits_that_matter() {
        assert_eq!(requests(4100.4), "4\u{a0}100");
        assert_eq!(requests(123_456.0), "123\u{a0}500");
    }
}
