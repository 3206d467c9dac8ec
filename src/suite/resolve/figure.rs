//! Figures that a suite writes down: gates, published rows, what a search holds on to.

use super::Resolver;
use crate::diagnostic::Diagnostic;
use crate::metric::{self, Metric, REGISTRY, Unit};
use crate::suite::code;
use crate::suite::model::{At, Bound, Gate, Limit, Pace, Published, PublishedRow, Selector};
use crate::suite::recover::nearest;
use crate::suite::schema::{self, List};
use crate::suite::written::{Entries, Quantity, Spanned};
use crate::units;

impl Resolver {
    pub(super) fn gates(&mut self, gates: List<schema::Gate>) -> Vec<Gate> {
        gates
            .unwrap_or_default()
            .into_iter()
            .map(|gate| self.gate(gate))
            .collect()
    }

    fn gate(&mut self, gate: Spanned<schema::Gate>) -> Gate {
        let span = gate.span();
        let gate = gate.into_inner();
        if gate.metrics.is_empty() {
            self.say(
                Diagnostic::error(code::MISSING, "this gate holds nothing to a limit", span)
                    .help("name a metric: errors = { max = 0 }"),
            );
        }
        let limits = gate
            .metrics
            .into_iter()
            .filter_map(|(name, limit)| self.limit(&name, limit))
            .collect();
        Gate {
            cells: gate.selector.map(|cells| self.selector_at(cells, "cells")),
            limits,
        }
    }

    fn limit(&mut self, name: &Spanned<String>, limit: Spanned<schema::Limit>) -> Option<Limit> {
        let metric = self.metric(name)?;
        let span = limit.span();
        let limit = limit.into_inner();
        let places = (
            limit.max.as_ref().map(Spanned::span),
            limit.min.as_ref().map(Spanned::span),
        );
        let history = limit.history.is_some_and(|asked| {
            let place = asked.span();
            let asked = asked.into_inner();
            if asked && !metric::NIGHTLY.contains(&metric.name) {
                self.no_history(metric, place);
            }
            asked
        });
        if limit.max.is_none() && limit.min.is_none() && limit.max_regression.is_none() && !history
        {
            self.say(
                Diagnostic::error(code::MISSING, "this limit holds nothing", span).help(
                    "write { max = … }, { min = … }, { max_regression = \"5%\" } or { history = true }",
                ),
            );
        }
        let max = limit.max.and_then(|max| self.bound(metric, max));
        if let (Some(bound), Some(place)) = (max, &places.0) {
            self.refuse_no_time(metric, bound, place);
        }
        let min = limit.min.and_then(|min| self.bound(metric, min));
        if let (Some(Bound::Value(most)), Some(Bound::Value(least)), (Some(max), Some(min))) =
            (max, min, places)
            && least > most
        {
            self.say(
                Diagnostic::error(
                    code::CONFLICT,
                    "nothing is at least this and at most that",
                    min,
                )
                .label("at least this")
                .and(max, "and at most this"),
            );
        }
        Some(Limit {
            metric,
            max,
            min,
            max_regression: self.positive_share(limit.max_regression),
            history,
        })
    }

    /// No request is answered in no time, so nothing holds such a limit.
    fn refuse_no_time(&mut self, metric: &Metric, most: Bound, place: &std::ops::Range<usize>) {
        if metric.unit == Unit::Nanoseconds && matches!(most, Bound::Value(time) if time <= 0.0) {
            let diagnostic = Diagnostic::error(
                code::BAD_VALUE,
                format!(
                    "no `{}` is as short as this, so nothing holds this limit",
                    metric.name
                ),
                place.clone(),
            );
            self.say(diagnostic.help("write the longest time that is still good: \"50ms\""));
        }
    }

    fn no_history(&mut self, metric: &Metric, place: std::ops::Range<usize>) {
        let diagnostic = Diagnostic::error(
            code::BAD_VALUE,
            format!("no history is kept of `{}`", metric.name),
            place,
        );
        self.say(diagnostic.help(format!("it is kept of {}", metric::NIGHTLY.join(", "))));
    }

    pub(super) fn published(&mut self, published: Entries<schema::Published>) -> Vec<Published> {
        published
            .0
            .into_iter()
            .map(|(name, published)| {
                self.name(&name, "report");
                let rows = published.rows.unwrap_or_default();
                if rows.is_empty() {
                    self.say(
                        Diagnostic::error(
                            code::MISSING,
                            format!("`{}` has no rows", name.get_ref()),
                            name.span(),
                        )
                        .help("add rows = [{ cell = { server = \"…\" }, requests_per_second = 7023.75 }]"),
                    );
                }
                Published {
                    source: published.source.map(Spanned::into_inner),
                    note: published.note.map(Spanned::into_inner),
                    rows: rows
                        .into_iter()
                        .map(|row| self.published_row(row))
                        .collect(),
                    name: name.into_inner(),
                }
            })
            .collect()
    }

    fn published_row(&mut self, row: Spanned<schema::PublishedRow>) -> PublishedRow {
        let span = row.span();
        let row = row.into_inner();
        if row.metrics.is_empty() {
            self.say(
                Diagnostic::error(code::MISSING, "this row has no figure", span.clone())
                    .help("name a metric: requests_per_second = 7023.75"),
            );
        }
        let cell = if let Some(cell) = row.selector {
            self.selector_at(cell, "cell")
        } else {
            self.say(
                Diagnostic::error(
                    code::MISSING,
                    "this row does not say which cell it stands beside",
                    span.clone(),
                )
                .help("add cell = { server = \"…\", load = \"…\" }"),
            );
            At::new(Selector::default(), span)
        };
        let figures = row
            .metrics
            .into_iter()
            .filter_map(|(name, value)| {
                let metric = self.metric(&name)?;
                match self.bound(metric, value)? {
                    Bound::Value(value) => Some((metric, value)),
                    // Only errors have shares, and a published share is of requests that nobody knows.
                    Bound::Share(share) => Some((metric, share)),
                }
            })
            .collect();
        PublishedRow { cell, figures }
    }

    /// What a search for the highest rate holds on to.
    pub(super) fn search(&mut self, search: Spanned<Entries<Spanned<Quantity>>>) -> At<Pace> {
        let span = search.span();
        let entries = search.into_inner().0;
        if entries.is_empty() {
            self.say(
                Diagnostic::error(
                    code::MISSING,
                    "this search holds on to nothing",
                    span.clone(),
                )
                .help("write { latency_p99 = \"50ms\", errors = \"0.1%\" }"),
            );
        }
        let mut limits = Vec::new();
        for (name, value) in entries {
            let Some(metric) = self.metric(&name) else {
                continue;
            };
            let of_a_step = metric.name == "errors"
                || ["latency_", "service_", "response_"]
                    .iter()
                    .any(|family| metric.name.starts_with(family));
            if !of_a_step {
                self.say(
                    Diagnostic::error(
                        code::BAD_VALUE,
                        format!("a search cannot hold on to `{}`", metric.name),
                        name.span(),
                    )
                    .help("it holds on to latencies and to `errors`"),
                );
                continue;
            }
            let place = value.span();
            if let Some(bound) = self.bound(metric, value) {
                self.refuse_no_time(metric, bound, &place);
                limits.push((metric, bound));
            }
        }
        At::new(Pace::Search(limits), span)
    }

    fn metric(&mut self, name: &Spanned<String>) -> Option<&'static Metric> {
        let found = metric::find(name.get_ref());
        if found.is_none() {
            let known: Vec<&str> = REGISTRY.iter().map(|metric| metric.name).collect();
            let diagnostic = Diagnostic::error(
                code::UNKNOWN_METRIC,
                format!("there is no metric `{}`", name.get_ref()),
                name.span(),
            );
            self.say(match nearest(name.get_ref(), &known) {
                Some(right) => diagnostic.label(format!("did you mean `{right}`?")),
                None => diagnostic.help(
                    "`hotlap explain unknown-metric` lists them: requests_per_second, latency_p99, rss_peak, errors, …",
                ),
            });
        }
        found
    }

    /// A value in the unit of its metric.
    fn bound(&mut self, metric: &'static Metric, value: Spanned<Quantity>) -> Option<Bound> {
        let span = value.span();
        let plain = matches!(
            metric.unit,
            Unit::PerSecond | Unit::PerCpuSecond | Unit::Count
        );
        match value.into_inner() {
            Quantity::Number(number) if plain && number >= 0.0 => Some(Bound::Value(number)),
            Quantity::Number(_) if plain => {
                self.say(Diagnostic::error(
                    code::BAD_VALUE,
                    "this cannot be negative",
                    span,
                ));
                None
            }
            Quantity::Text(text) if metric.unit == Unit::Count => {
                let share = self.unit(&text, span, units::parse_share)?;
                Some(Bound::Share(share.value))
            }
            Quantity::Text(text) if !plain => {
                let parse = match metric.unit {
                    Unit::Bytes => units::parse_measured_bytes,
                    Unit::BytesPerSecond => units::parse_bytes_per_second,
                    Unit::CpuSeconds => {
                        |text: &str| units::parse_duration(text).map(|time| time.as_secs_f64())
                    }
                    _ => {
                        |text: &str| units::parse_duration(text).map(|time| time.as_nanos() as f64)
                    }
                };
                Some(Bound::Value(self.unit(&text, span, parse)?.value))
            }
            Quantity::Number(_) | Quantity::Text(_) => {
                self.say(
                    Diagnostic::error(
                        code::BAD_UNIT,
                        format!("this is not a value of `{}`", metric.name),
                        span,
                    )
                    .help(format!("write it like {}", metric.unit.example())),
                );
                None
            }
        }
    }
}
