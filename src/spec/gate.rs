//! Figures that a suite writes down: limits that cells are held to, and what others published.

use serde::{Deserialize, Serialize};

/// The limits of one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The metric's name.
    pub metric: String,
    /// The largest value that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Bound>,
    /// The smallest value that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Bound>,
    /// How much worse it may be than it was: at another revision of the same run, or in an earlier run, a share of 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_regression: Option<f64>,
    /// Whether it falls on a change for the worse that is new in this night.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history: bool,
}

/// A value that a metric is held against.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// In the metric's own unit.
    Value(f64),
    /// A share of 1 of all requests.
    Share(f64),
}

/// A report whose figures stand beside the suite's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Its name in the suite.
    pub name: String,
    /// Where it stands.
    pub source: Option<String>,
    /// What must be known about it.
    pub note: Option<String>,
}

/// One published figure of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of the report.
    pub report: String,
    /// The metric's name.
    pub metric: String,
    /// The figure, in the metric's unit.
    pub value: f64,
}
