//! One lane of a connection: one request after another, each on a stream of its own, each response checked as it comes.

use super::floor::{End, Floor};
use super::link::{Link, Live};
use crate::http::{Broken, Checker, ProtocolError, Sink as _, announced, is_cut};
use crate::load::cause::Cause;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// A request is refused so often by connections that have processed nothing yet, and is sent again.
const MOST_REFUSED: u8 = 16;

/// How far a request has come.
struct Trip {
    begun: Instant,
    /// When it was handed to hyper, the first time if it is sent again.
    written: Option<Instant>,
    /// How often it was sent again though its connection had processed nothing, or may have processed it.
    again: u8,
    /// Whether its head has come,
    head: bool,
    /// and whether less of the body than that announces.
    short: bool,
}

/// Sends requests until there is none left.
pub(super) async fn live(floor: Rc<Floor>, link: Rc<Link>, index: usize) {
    let mut checker = Checker::new(Arc::clone(&floor.references[0]));
    let mut now = Instant::now();
    while floor.begin(index, now) {
        checker.reset();
        let mut trip = Trip {
            begun: now,
            written: None,
            again: 0,
            head: false,
            short: false,
        };
        let asked = ask(&floor, &link, &mut trip, &mut checker);
        let outcome = match floor.attend(index, asked).await {
            Ok(outcome) => outcome,
            Err(End::Stopped) => Err(Cause::Stopped),
            Err(End::Expired) if trip.written.is_none() => Err(link.late()),
            Err(End::Expired) => Err(Cause::Timeout),
        };
        now = Instant::now();
        let unconnected = matches!(&outcome, Err(cause) if cause.is_of_connecting());
        record(&floor, &trip, &checker, outcome, now);
        floor.end(index);
        if unconnected && !floor.is_stopped() {
            floor.hold(index, now, link.pause()).await;
            now = Instant::now();
        }
    }
    floor.leave(now);
}

/// One request, sent again where it was not processed.
async fn ask(
    floor: &Rc<Floor>,
    link: &Rc<Link>,
    trip: &mut Trip,
    checker: &mut Checker,
) -> Result<(), Cause> {
    loop {
        let live = match link.live() {
            Some(live) => {
                trip.written.get_or_insert(trip.begun);
                live
            }
            None => connected(floor, link, trip).await?,
        };
        let before = live.received();
        let broken = match exchange(floor, &live, trip, checker).await {
            Ok(()) => {
                live.serve();
                return checker.verdict().map_err(Cause::Fault);
            }
            Err(broken) => broken,
        };
        if broken.ends_connection() {
            link.retire(&live, floor);
        }
        // Where nothing at all came since, the server may have closed the connection while it was idle.
        let idle = broken.may_be_an_idle_close()
            && live.has_served()
            && live.received() == before
            && floor.job.requests[0].idempotent;
        // A connection that carries few requests refuses many of those behind them. While some are processed, others will be.
        let refused = broken.is_unprocessed();
        let surely = refused && live.has_served();
        let most = if refused {
            MOST_REFUSED
        } else {
            u8::from(idle)
        };
        if trip.head || !(surely || trip.again < most) {
            return Err(cause(broken, trip));
        }
        trip.again += u8::from(!surely);
        floor.recorder.borrow_mut().retried();
    }
}

/// Waits for the connection, which this or another lane opens.
async fn connected(floor: &Rc<Floor>, link: &Rc<Link>, trip: &mut Trip) -> Result<Rc<Live>, Cause> {
    let since = Instant::now();
    let live = link.open(floor).outcome().await?;
    let now = Instant::now();
    if trip.written.is_none() {
        floor.recorder.borrow_mut().waited(now - since);
        trip.written = Some(now);
    }
    Ok(live)
}

async fn exchange(
    floor: &Floor,
    live: &Live,
    trip: &mut Trip,
    checker: &mut Checker,
) -> Result<(), Broken> {
    let request = floor.request.as_ref().ok_or(Broken::Unsent)?;
    let broken = |error: hyper::Error| Broken::of(&error);
    let response = live.send(request.to_send()).await.map_err(broken)?;
    let (head, mut body) = response.into_parts();
    trip.head = true;
    let headers = || {
        let all = head.headers.iter();
        all.map(|(name, value)| (name.as_str(), value.as_bytes()))
    };
    checker.begin(head.status.as_u16(), headers);
    while let Some(frame) = body.frame().await {
        match frame {
            // What is no data is trailers, which say nothing of whether a response counts.
            Ok(frame) => {
                if let Some(piece) = frame.data_ref() {
                    checker.body(piece);
                }
            }
            Err(error) => {
                let announced = announced(&head.headers);
                trip.short = announced.is_some_and(|length| checker.body_bytes() < length);
                return Err(broken(error));
            }
        }
    }
    if is_cut(&head.headers, checker.body_bytes(), body.is_end_stream()) {
        return Err(Broken::Cut);
    }
    Ok(())
}

/// A body that ends too early breaks the protocol where its size was announced.
fn cause(broken: Broken, trip: &Trip) -> Cause {
    match broken {
        Broken::Cut => ProtocolError::ShortBody.into(),
        Broken::Closed if trip.head => ProtocolError::ShortBody.into(),
        Broken::Protocol(_) if trip.short => ProtocolError::ShortBody.into(),
        broken => Cause::Http2(broken),
    }
}

fn record(floor: &Floor, trip: &Trip, checker: &Checker, outcome: Result<(), Cause>, now: Instant) {
    let mut recorder = floor.recorder.borrow_mut();
    recorder.status(checker.status());
    match outcome {
        Ok(()) => {
            let written = trip.written.unwrap_or(trip.begun);
            recorder.success(written, None, now, checker.body_bytes());
        }
        Err(Cause::Stopped) => recorder.unfinished(now - trip.begun),
        Err(cause) => {
            let (job, expect) = (&floor.job, &floor.references[0].expect);
            let dialer = floor.dialer.borrow();
            let explain = || cause.explain(job, expect, dialer.address());
            recorder.failure(cause.kind(), trip.written, now, explain);
        }
    }
}
