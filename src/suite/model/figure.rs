//! Figures that a suite writes down: limits, and what others published.

use super::{At, Selector};
use crate::metric::Metric;

/// A value that a metric is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// In the metric's own unit.
    Value(f64),
    /// A share of 1 of all requests.
    Share(f64),
}

/// `[[gates]]`.
#[derive(Debug, Clone)]
pub struct Gate {
    /// The cells; none is all.
    pub cells: Option<At<Selector>>,
    /// What must hold there.
    pub limits: Vec<Limit>,
}

/// The limits of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    /// The metric.
    pub metric: &'static Metric,
    /// The largest value that holds.
    pub max: Option<Bound>,
    /// The smallest value that holds.
    pub min: Option<Bound>,
    /// How much worse it may be than it was: at another revision of the same run, or in an earlier run, a share of 1.
    pub max_regression: Option<f64>,
    /// Whether it falls on a change for the worse that is new in this night.
    pub history: bool,
}

/// `[published.NAME]`.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its name.
    pub name: String,
    /// Where the figures stand.
    pub source: Option<String>,
    /// What must be known about them.
    pub note: Option<String>,
    /// The figures.
    pub rows: Vec<PublishedRow>,
}

/// The published figures of one cell.
#[derive(Debug, Clone)]
pub struct PublishedRow {
    /// The cell.
    pub cell: At<Selector>,
    /// The figures, each in its metric's unit.
    pub figures: Vec<(&'static Metric, f64)>,
}
