//! The registry of metrics: every figure has one name, one unit and one
//! direction. Gates, published rows, tables, CSV columns and JSON follow from
//! it; how a figure is read from a trial is `record`'s.

/// What a metric is measured in. On disk and in columns it is this unit, always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number each second.
    PerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Bytes each second.
    BytesPerSecond,
    /// A plain number.
    Count,
    /// Seconds of CPU time.
    CpuSeconds,
    /// A number for each second of CPU time.
    PerCpuSecond,
}

impl Unit {
    /// How the unit ends a column's name: `latency_p50_ns`.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::PerSecond => "per_s",
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes_per_s",
            Self::Count => "count",
            Self::CpuSeconds => "cpu_s",
            Self::PerCpuSecond => "per_cpu_s",
        }
    }

    /// How a suite writes a value in this unit.
    pub fn example(self) -> &'static str {
        match self {
            Self::PerSecond | Self::PerCpuSecond => "7023.75",
            Self::Nanoseconds => "\"17.8ms\"",
            Self::Bytes => "\"64MiB\"",
            Self::BytesPerSecond => "\"1.83MB/s\"",
            Self::Count => "0",
            Self::CpuSeconds => "\"2.5s\"",
        }
    }
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// One entry of the registry.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in suites, columns and JSON.
    pub name: &'static str,
    /// How people see it.
    pub label: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub direction: Direction,
}

impl Metric {
    /// The name of its column, with the unit: `rss_peak_bytes`.
    pub fn column(&self) -> String {
        // The names of rates tell the unit already.
        match self.name {
            "cpu" => "cpu_s".to_owned(),
            "requests_per_second" | "requests_per_cpu_second" => self.name.to_owned(),
            _ => format!("{}_{}", self.name, self.unit.suffix()),
        }
    }
}

/// The metrics that are kept of every night and in which changes are looked for.
pub const NIGHTLY: [&str; 12] = [
    "requests_per_second",
    "latency_p50",
    "latency_p90",
    "latency_p99",
    "rss_idle",
    "rss_peak",
    "rss_after",
    "pss_loaded",
    "cpu",
    "requests_per_cpu_second",
    "startup",
    "capacity",
];

/// The metric with this name.
pub fn find(name: &str) -> Option<&'static Metric> {
    REGISTRY.iter().find(|metric| metric.name == name)
}

/// Every metric, in the order of columns. `latency_…` is service time in a closed loop and
/// response time in an open one; `service_…` and `response_…` name one of them.
pub const REGISTRY: &[Metric] = &[
    higher("requests_per_second", "Requests/s", Unit::PerSecond),
    time("latency_mean", "Mean"),
    time("latency_p50", "p50"),
    time("latency_p90", "p90"),
    time("latency_p95", "p95"),
    time("latency_p99", "p99"),
    time("latency_p99_9", "p99.9"),
    time("latency_max", "Max"),
    time("connect_mean", "Connect"),
    higher("transfer", "Transfer", Unit::BytesPerSecond),
    lower("errors", "Errors", Unit::Count),
    lower("rss_idle", "RSS idle", Unit::Bytes),
    lower("rss_mean", "RSS mean", Unit::Bytes),
    lower("rss_peak", "RSS peak", Unit::Bytes),
    lower("rss_after", "RSS after", Unit::Bytes),
    lower("rss_high_water", "RSS high water", Unit::Bytes),
    lower("pss_idle", "PSS idle", Unit::Bytes),
    lower("pss_loaded", "PSS loaded", Unit::Bytes),
    lower("pss_after", "PSS after", Unit::Bytes),
    lower("cpu", "CPU", Unit::CpuSeconds),
    higher(
        "requests_per_cpu_second",
        "Requests/CPU-s",
        Unit::PerCpuSecond,
    ),
    time("startup", "Start-up"),
    higher("capacity", "Capacity", Unit::PerSecond),
    time("service_mean", "Service mean"),
    time("service_p50", "Service p50"),
    time("service_p90", "Service p90"),
    time("service_p95", "Service p95"),
    time("service_p99", "Service p99"),
    time("service_p99_9", "Service p99.9"),
    time("service_max", "Service max"),
    time("response_mean", "Response mean"),
    time("response_p50", "Response p50"),
    time("response_p90", "Response p90"),
    time("response_p95", "Response p95"),
    time("response_p99", "Response p99"),
    time("response_p99_9", "Response p99.9"),
    time("response_max", "Response max"),
];

const fn entry(
    name: &'static str,
    label: &'static str,
    unit: Unit,
    direction: Direction,
) -> Metric {
    Metric {
        name,
        label,
        unit,
        direction,
    }
}

const fn time(name: &'static str, label: &'static str) -> Metric {
    entry(name, label, Unit::Nanoseconds, Direction::Lower)
}

const fn higher(name: &'static str, label: &'static str, unit: Unit) -> Metric {
    entry(name, label, unit, Direction::Higher)
}

const fn lower(name: &'static str, label: &'static str, unit: Unit) -> Metric {
    entry(name, label, unit, Direction::Lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_metric() {
        for metric in REGISTRY {
            assert_eq!(find(metric.name), Some(metric));
        }
        assert!(NIGHTLY.iter().all(|name| find(name).is_some()));
    }
}
