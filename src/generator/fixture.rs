//! What tests of adapters ask for: an order, and a load's spec.

use super::order::Order;
use crate::record::Told;
use crate::spec::{Amount, LoadSpec, Text};
use std::time::Duration;

/// A hundred GET requests on four connections.
pub(super) fn order() -> Order {
    Order {
        address: ([127, 0, 0, 1], 8080).into(),
        host: None,
        method: "GET".to_owned(),
        path: "/a".to_owned(),
        headers: Vec::new(),
        body: None,
        connections: 4,
        amount: Amount::Requests(100),
        warmup: Duration::ZERO,
        timeout: Duration::from_millis(1500),
        keep_alive: true,
        rounds: 1,
        threads: 3,
    }
}

/// The same with these headers.
pub(super) fn with_headers(headers: &[(&str, &str)]) -> Order {
    Order {
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        ..order()
    }
}

/// A load of a second on four connections.
pub(super) fn work(path: &str) -> LoadSpec {
    let mut work = LoadSpec {
        connections: 4,
        amount: Amount::Duration(Duration::from_secs(1)),
        keep_alive: true,
        ..LoadSpec::default()
    };
    work.request.method = "GET".to_owned();
    work.request.path = Text::literal(path);
    work
}

/// The words that stand behind each of these flags.
pub(super) fn after<'a>(arguments: &'a [String], flag: &str) -> Vec<&'a str> {
    let pairs = arguments.windows(2).filter(|pair| pair[0] == flag);
    pairs.map(|pair| pair[1].as_str()).collect()
}

/// The quantiles as percents and nanoseconds.
pub(super) fn quantiles(told: &Told) -> Vec<(f64, u64)> {
    let of = |one: &crate::record::Quantile| ((one.share * 1e6).round() / 1e4, one.ns);
    told.quantiles.iter().map(of).collect()
}
