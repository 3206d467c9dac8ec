//! What a response costs the generator beside the system calls: decoding, checking, and a record in the histogram.
//!
//! `cargo bench --bench codec`.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark whose response can't be read has failed"
)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hotlap::http::{Checker, Coding, Decoder, Expectation, Reference, Step};
use hotlap::load::{Probe, probed_schedule};
use hotlap::record::Histogram;
use hotlap::spec::Arrivals;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// Bytes that the generator reads at once.
const READ: usize = 64 * 1024;

/// Responses by name, each with its body.
fn responses() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let head = "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/plain\r\n";
    let plain = |size: usize| {
        let body = "x".repeat(size);
        let wire = format!("{head}Content-Length: {size}\r\n\r\n{body}");
        (wire.into_bytes(), body.into_bytes())
    };
    let half = "x".repeat(512);
    let chunked = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n200\r\n{half}\r\n200\r\n{half}\r\n0\r\n\r\n"
    );
    let mut all = Vec::new();
    for (name, size) in [("4 bytes", 4), ("1 KiB", 1024), ("100 KB", 100_000)] {
        let (wire, body) = plain(size);
        all.push((name, wire, body));
    }
    let body = half.repeat(2).into_bytes();
    all.push(("1 KiB chunked", chunked.into_bytes(), body));
    all
}

fn codec(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode and check");
    for (name, wire, body) in responses() {
        let expect = Expectation {
            status: 200,
            body: Some(body.clone()),
            ..Expectation::default()
        };
        let mut checker = Checker::new(Arc::new(Reference {
            expect,
            wire: body,
            coding: Coding::Identity,
        }));
        let mut decoder = Decoder::new(false);
        group.throughput(Throughput::Bytes(wire.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                decoder.reset();
                checker.reset();
                let mut last = Step::More;
                for piece in black_box(&wire).chunks(READ) {
                    last = decoder.feed(piece, &mut checker).unwrap();
                }
                assert!(matches!(last, Step::Done(_)));
                checker.verdict().unwrap();
            });
        });
    }
    group.finish();
}

fn recorder(c: &mut Criterion) {
    let mut histogram = Histogram::empty(Duration::from_secs(21));
    let mut nanos = 1;
    c.bench_function("record a latency", |bencher| {
        bencher.iter(|| {
            // Values that wander through the buckets, as latencies do.
            nanos = (nanos * 5 + 7919) % 10_000_000;
            histogram.saturating_record(black_box(nanos));
        });
    });
}

/// All that is counted of a success: request, status, bytes, latency, second.
fn success(c: &mut Criterion) {
    let mut probe = Probe::new();
    let (mut nanos, mut at) = (1, 0);
    c.bench_function("count a success", |bencher| {
        bencher.iter(|| {
            nanos = (nanos * 5 + 7919) % 10_000_000;
            at = (at + 6_151) % 9_900_000_000;
            probe.success(
                Duration::from_nanos(black_box(at)),
                Duration::from_nanos(black_box(nanos)),
            );
        });
    });
    assert!(probe.succeeded() > 0);
}

/// When the next request of an open loop is due.
fn pacing(c: &mut Criterion) {
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        let mut due = probed_schedule(arrivals);
        c.bench_function(&format!("the next request, {arrivals:?}"), |bencher| {
            bencher.iter(|| black_box(due.next()));
        });
    }
}

criterion_group!(benches, codec, recorder, success, pacing);
criterion_main!(benches);
