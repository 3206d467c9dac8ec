//! Load generators that other people wrote, and that published figures were made with: found and
//! identified by what they say of themselves, run with the arguments that make them tell the truth,
//! and read by the labels of what they print. What one cannot give is empty, and what it gives is
//! tagged with what it is.
//!
//! A file for each generator is an `Adapter`; `find` looks for its program, `order` is what it is
//! asked for in hotlap's words, `heard` what it told in hotlap's units, and `run` makes a [`Load`] of it.
//!
//! [`Load`]: crate::record::Load

mod ab;
mod adapter;
mod autocannon;
mod bombardier;
mod find;
#[cfg(test)]
mod fixture;
mod heard;
mod order;
mod run;
mod wrk;

pub use find::{Missing, Tool, find};
pub use order::{Order, Place};
pub use run::{GeneratorError, Made, Phase, run};

use crate::spec::{Http, LoadSpec};
use adapter::Adapter;

/// Every generator that can be run.
const ADAPTERS: [&dyn Adapter; 4] = [
    &ab::Ab,
    &bombardier::Bombardier,
    &autocannon::Autocannon,
    &wrk::Wrk,
];

/// The generators that can be run, by their names in suites.
pub fn known() -> impl Iterator<Item = &'static str> {
    ADAPTERS.iter().map(|adapter| adapter.name())
}

fn adapter(name: &str) -> Option<&'static dyn Adapter> {
    ADAPTERS.into_iter().find(|adapter| adapter.name() == name)
}

/// What the generator of this name cannot do of a load, each in a phrase; none where it is unknown.
pub fn cannot(name: &str, work: &LoadSpec) -> Option<Vec<String>> {
    let adapter = adapter(name)?;
    let mut what = Vec::new();
    if !(200..300).contains(&work.expect.status) {
        what.push(format!(
            "it takes every answer that is not 2xx for a failure, and {} is expected",
            work.expect.status
        ));
    }
    let path = order::literal_path(work);
    if !path.starts_with('/') {
        what.push("it asks for paths alone, which begin with a slash".to_owned());
    }
    let asked = [
        (
            !work.mix.is_empty(),
            "it sends one request, and a mix is asked for",
        ),
        (
            work.request.body_file.is_some(),
            "it is given no body from a file",
        ),
        (work.varies(), "it sends the same request each time"),
        (work.pipelining > 1, "it is given no requests to send ahead"),
    ];
    let asked = asked.into_iter().filter(|(asked, _)| *asked);
    what.extend(asked.map(|(_, what)| what.to_owned()));
    if work.http == Http::Two {
        what.push("it is asked for HTTP/1.1 alone, and the load is HTTP/2".to_owned());
    }
    if work.tls.is_some() {
        what.push(
            "hotlap runs it without TLS, since what it checks of a certificate is its own"
                .to_owned(),
        );
    }
    what.extend(adapter.cannot(work).into_iter().map(str::to_owned));
    Some(what)
}

#[cfg(test)]
mod tests {
    use super::fixture::work;
    use super::*;

    #[test]
    fn a_load_that_each_can_make_is_made_by_each() {
        for name in known() {
            assert_eq!(cannot(name, &work("/")), Some(Vec::new()), "{name}");
        }
        assert_eq!(cannot("oha", &work("/")), None);
        let two = LoadSpec {
            http: Http::Two,
            ..work("/")
        };
        for name in known() {
            assert_eq!(cannot(name, &two).unwrap().len(), 1, "{name}");
        }
        assert_eq!(
            known().collect::<Vec<_>>(),
            ["ab", "bombardier", "autocannon", "wrk"]
        );
    }

    #[test]
    fn another_status_and_a_whole_address_are_beyond_them_all() {
        let mut missing = work("/");
        missing.expect.status = 404;
        for name in known() {
            let what = cannot(name, &missing).unwrap();
            assert!(what[0].contains("404 is expected"), "{what:?}");
            for path in ["*", "http://127.0.0.1/"] {
                let what = cannot(name, &work(path)).unwrap();
                assert!(what[0].contains("begin with a slash"), "{what:?}");
            }
        }
    }
}
