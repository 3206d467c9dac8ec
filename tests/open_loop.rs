//! The open loop: what is sent when, and what a server that cannot keep up looks like.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it must be"
)]

use hotlap::load::{Cancel, Control, Job, LoadPhase, Target, run, verify};
use hotlap::record::{Histogram, Load, OpenLoop};
use hotlap::spec::{Amount, Arrivals, Fill, LoadSpec, Pace, Stage};
use hotlap::stats::{unsustained, validity};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What a server does before it answers.
type Before = dyn Fn() + Send + Sync;

/// A server with a thread for each connection; gives its address and how many requests it got.
fn server(before: impl Fn() + Send + Sync + 'static) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&requests);
    let before: Arc<Before> = Arc::new(before);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (before, counted) = (Arc::clone(&before), Arc::clone(&counted));
            let Ok(stream) = stream else { return };
            thread::spawn(move || serve(stream, &*before, &counted));
        }
    });
    (address, requests)
}

fn serve(mut stream: TcpStream, before: &Before, requests: &AtomicU64) {
    let _ = stream.set_nodelay(true);
    let mut head = [0; 1024];
    loop {
        // Each request is small and comes in one piece.
        match stream.read(&mut head) {
            Ok(0) | Err(_) => return,
            Ok(_) => requests.fetch_add(1, Ordering::Relaxed),
        };
        before();
        if stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .is_err()
        {
            return;
        }
    }
}

fn paced(pace: Pace, amount: Amount) -> LoadSpec {
    LoadSpec {
        connections: 1000,
        pace: Some(pace),
        amount,
        warmup: Duration::ZERO,
        ..LoadSpec::default()
    }
}

fn at_rate(rate: f64, milliseconds: u64) -> LoadSpec {
    paced(
        Pace::Rate(rate),
        Amount::Duration(Duration::from_millis(milliseconds)),
    )
}

fn load_with(server: SocketAddr, spec: &LoadSpec, control: &Control) -> Load {
    let target = Target::new(server, server.to_string(), false).unwrap();
    let job = Job::new(spec, &Fill::default(), &target).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let verified = runtime.block_on(verify(&job, &target)).unwrap();
    let load = run(&job, &verified, &target, control).unwrap();
    load.counts.check().unwrap();
    load
}

fn load(server: SocketAddr, spec: &LoadSpec) -> Load {
    load_with(server, spec, &Control::new(2, Cancel::new(), |_, _| {}))
}

fn open(load: &Load) -> &OpenLoop {
    load.open.as_ref().unwrap()
}

fn seconds(histogram: Option<&Histogram>, share: f64) -> f64 {
    let live = histogram.unwrap().load().unwrap();
    live.value_at_quantile(share) as f64 / 1e9
}

#[test]
fn the_schedule_is_sent_whole_and_counted_on_both_sides() {
    let (address, requests) = server(|| {});
    for arrivals in [Arrivals::Uniform, Arrivals::Poisson] {
        let spec = LoadSpec {
            arrivals,
            warmup: Duration::from_millis(100),
            ..at_rate(2000.0, 500)
        };
        requests.store(0, Ordering::Relaxed);
        let load = load(address, &spec);
        assert_eq!(load.counts.unsent, 0, "{load:?}");
        assert_eq!(load.counts.succeeded, load.counts.planned);
        if arrivals == Arrivals::Uniform {
            assert_eq!(load.counts.planned, 1000);
            // What a busy machine did not send within the warm-up is none of it.
            assert!((1..=200).contains(&load.warmup_requests));
        } else {
            // 1000 with a standard deviation of 32.
            assert!((850..1150).contains(&load.counts.planned));
        }
        let got = requests.load(Ordering::Relaxed);
        // One was the verification's.
        assert_eq!(got, load.counts.sent + load.warmup_requests + 1);
        assert_eq!(
            open(&load).response.as_ref().unwrap().count,
            load.counts.succeeded
        );
        assert_eq!(open(&load).schedule_ns, 500_000_000);
        assert_eq!(validity(&load, &spec, 0.0), Vec::<String>::new());
        assert_eq!(unsustained(&load), None);
    }
}

#[test]
fn a_number_of_requests_is_sent_exactly() {
    let (address, requests) = server(|| {});
    let spec = paced(Pace::Rate(3000.0), Amount::Requests(501));
    let load = load(address, &spec);
    assert_eq!((load.counts.planned, load.counts.succeeded), (501, 501));
    assert_eq!(requests.load(Ordering::Relaxed), 502);
    assert_eq!(open(&load).schedule_ns, 167_000_000);
    assert_eq!(validity(&load, &spec, 0.0), Vec::<String>::new());
}

#[test]
fn only_as_many_connections_are_opened_as_are_needed() {
    let (address, _) = server(|| {});
    let load = load(address, &at_rate(200.0, 500));
    let opened = load.connections.opened;
    assert!((1..20).contains(&opened), "{opened}");
    assert!(open(&load).most_busy <= opened);
    assert_eq!(open(&load).queued, 0);
}

/// A server that freezes for S in a time T at a constant rate: the quantile p of response time is S − (1 − p)·T.
#[test]
fn a_freeze_is_seen_whole_in_response_times() {
    let (freeze, whole) = (0.5, 5.0);
    for connections in [1000, 8] {
        let until = Arc::new(Mutex::new(None::<Instant>));
        let frozen = Arc::clone(&until);
        let (address, _) = server(move || {
            let until = *frozen.lock().unwrap();
            if let Some(until) = until {
                thread::sleep(until.saturating_duration_since(Instant::now()));
            }
        });
        let spec = LoadSpec {
            connections,
            ..at_rate(1000.0, 5000)
        };
        let control = Control::new(1, Cancel::new(), move |phase, at| {
            if phase == LoadPhase::Measure {
                let until = Arc::clone(&until);
                thread::spawn(move || {
                    let begin = at + Duration::from_secs(2);
                    thread::sleep(begin.saturating_duration_since(Instant::now()));
                    *until.lock().unwrap() = Some(begin + Duration::from_secs_f64(freeze));
                });
            }
        });
        let load = load_with(address, &spec, &control);
        assert_eq!(load.counts.succeeded, 5000);
        let response = open(&load).response.as_ref();
        for share in [0.95, 0.99, 1.0] {
            let expected = freeze - (1.0 - share) * whole;
            let got = seconds(response, share);
            assert!(
                (got - expected).abs() < 0.05 * expected + 0.01,
                "{connections} connections, {share}: {got} instead of {expected}"
            );
        }
        // Who looks at service time alone sees 8 slow requests in 5000.
        if connections == 8 {
            assert!(seconds(load.service.as_ref(), 0.99) < 0.1);
            let queued = open(&load).queued;
            assert!((400..600).contains(&queued), "{queued}");
        }
    }
}

#[test]
fn what_a_server_cannot_take_is_unsent_and_told() {
    let (address, requests) = server(|| thread::sleep(Duration::from_millis(10)));
    // 4 connections with 10 ms a request are 400 a second at the most.
    let spec = LoadSpec {
        connections: 4,
        ..at_rate(1000.0, 1000)
    };
    let load = load(address, &spec);
    assert_eq!(load.counts.planned, 1000);
    assert!(load.counts.unsent > 500, "{load:?}");
    assert_eq!(
        requests.load(Ordering::Relaxed),
        load.counts.sent + 1,
        "{load:?}"
    );
    let told = unsustained(&load).unwrap();
    assert!((told.offered - 1000.0).abs() < 1e-6);
    assert!(told.achieved < 410.0, "{told:?}");
    // The last ones that were sent had waited for more than half a second.
    assert!(seconds(open(&load).response.as_ref(), 0.99) > 0.4);
    assert!(seconds(load.service.as_ref(), 0.5) < 0.1);
    assert_eq!(validity(&load, &spec, 0.0), Vec::<String>::new());
}

#[test]
fn stages_are_told_apart() {
    let stage = |rate, milliseconds, ramp| Stage {
        rate,
        duration: Duration::from_millis(milliseconds),
        ramp,
    };
    let (address, _) = server(|| {});
    let stages = vec![
        stage(1000.0, 200, false),
        stage(2000.0, 200, true),
        stage(500.0, 200, false),
    ];
    let spec = paced(Pace::Stages(stages), Amount::Requests(1));
    let load = load(address, &spec);
    let planned: Vec<u64> = open(&load).stages.iter().map(|one| one.planned).collect();
    assert_eq!(planned, [200, 300, 100]);
    assert_eq!(load.counts.succeeded, 600);
    for one in &open(&load).stages {
        assert_eq!(one.sent, one.planned);
        assert_eq!(one.succeeded, one.planned);
        assert_eq!(one.response.as_ref().unwrap().count, one.planned);
    }
    assert_eq!(validity(&load, &spec, 0.0), Vec::<String>::new());
}

#[test]
fn a_load_that_is_stopped_counts_what_it_did_not_send() {
    let (address, _) = server(|| {});
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let control = Control::new(2, cancel, move |phase, _| {
        if phase == LoadPhase::Measure {
            stop.cancel();
        }
    });
    let spec = paced(Pace::Rate(1000.0), Amount::Requests(10_000_000_000));
    let load = load_with(address, &spec, &control);
    // What was due until then was planned, and no more.
    assert!(load.counts.planned < 1000, "{load:?}");
}

#[test]
fn a_connection_for_each_request_is_opened_when_it_is_due() {
    let (address, _) = server(|| {});
    let spec = LoadSpec {
        keep_alive: false,
        ..at_rate(500.0, 400)
    };
    let load = load(address, &spec);
    assert_eq!(load.counts.succeeded, 200);
    assert_eq!(load.connections.opened, 200);
}

#[test]
fn a_server_that_is_gone_fails_every_request_that_is_due() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let answers = thread::spawn(move || {
        // The verification alone is answered.
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        serve(stream, &|| {}, &AtomicU64::new(0));
    });
    let load = load(address, &at_rate(500.0, 400));
    answers.join().unwrap();
    assert_eq!(load.counts.planned, 200);
    assert_eq!(load.counts.succeeded, 0);
    assert_eq!(load.counts.failed, 200, "{load:?}");
}
