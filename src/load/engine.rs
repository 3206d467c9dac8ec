//! A load from its first connection to its record: threads, phases and their edges.

use super::control::{Control, LoadPhase};
use super::h2;
use super::job::{Job, Target};
use super::poller::Waker;
use super::recorder::Recorder;
use super::request::Prepared;
use super::tickets::Tickets;
use super::verify::Verified;
use super::worker::{Duty, Event, Order, work};
use crate::record::{Http2, Load};
use crate::spec::Amount;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Why there is no load at all. What the server does is never such an error.
#[derive(Debug)]
pub enum LoadError {
    /// A load without connections.
    NoConnections,
    /// No thread could be started.
    Thread(io::Error),
    /// A generator thread could not go on.
    Worker(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoConnections => f.write_str("a load needs at least one connection"),
            Self::Thread(error) => write!(f, "a generator thread could not be started: {error}"),
            Self::Worker(reason) => write!(f, "the generator failed: {reason}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Makes the load and counts it; blocks until it has ended or was cancelled.
pub fn run(
    job: &Job,
    verified: &Verified,
    target: &Target,
    control: &Control,
) -> Result<Load, LoadError> {
    if job.connections == 0 {
        return Err(LoadError::NoConnections);
    }
    control.progress.begin();
    let mut crew = Crew::start(job, verified, target, control)?;
    let led = crew.lead(job, control);
    let recorder = crew.end();
    led?;
    let planned = match job.amount {
        Amount::Requests(total) if job.planned().is_none() => Some(total),
        _ => None,
    };
    let recorder = recorder?.ok_or(LoadError::NoConnections)?;
    let allowed = recorder.streams_allowed;
    let mut load = recorder.finish(planned, job.lanes(), crew.size);
    load.connections.wanted = job.connections.into();
    load.http2 = job.http2.as_ref().map(|_| Http2 {
        streams: job.streams,
        // What no number tells is no limit.
        streams_allowed: allowed.and_then(|most| most.try_into().ok()),
    });
    if job.requests.iter().all(Prepared::is_fixed) && job.requests.len() == 1 {
        load.bytes.body_wire = Some(verified.wire_size());
        load.bytes.body_decoded = verified.decoded_size();
    }
    control.enter(LoadPhase::Done, Instant::now());
    Ok(load)
}

/// Tells the engine that a thread broke, where it is dropped by that.
struct Broken(Sender<Event>);

impl Drop for Broken {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = self.0.send(Event::Failed("a thread broke".to_owned()));
        }
    }
}

/// The generator threads.
struct Crew {
    size: usize,
    orders: Vec<(Sender<Order>, Arc<Waker>)>,
    events: Receiver<Event>,
    threads: Vec<JoinHandle<Result<Recorder, String>>>,
}

impl Crew {
    fn start(
        job: &Job,
        verified: &Verified,
        target: &Target,
        control: &Control,
    ) -> Result<Self, LoadError> {
        let size = control.threads.min(job.connections as usize);
        let schedule = job.schedule.clone();
        let (tickets, seconds) = match job.amount {
            _ if schedule.is_some() => {
                let seconds = job.planned().map(|time| time.as_secs_f64().ceil() as usize);
                (None, seconds)
            }
            Amount::Duration(time) => (None, Some(time.as_secs_f64().ceil() as usize)),
            Amount::Requests(total) => (Some(Arc::new(Tickets::new(total, job.lanes()))), None),
        };
        let (teller, events) = channel();
        let mut crew = Self {
            size,
            orders: Vec::new(),
            events,
            threads: Vec::new(),
        };
        for thread in 0..size {
            // The remainder goes to the first threads, one connection each.
            let connections = job.connections as usize / size
                + usize::from(thread < job.connections as usize % size);
            let (sender, orders) = channel();
            let waker = match Waker::new() {
                Ok(waker) => Arc::new(waker),
                Err(error) => {
                    crew.order(Order::Finish);
                    return Err(LoadError::Thread(error));
                }
            };
            control.cancel.wakes(&waker);
            crew.orders.push((sender, Arc::clone(&waker)));
            let duty = Duty {
                thread,
                connections,
                job: job.clone(),
                references: verified.references.clone(),
                target: target.clone(),
                schedule: schedule.clone().map(|schedule| (schedule, size)),
                tickets: tickets.clone(),
                seconds,
                progress: control.progress(),
                cancel: control.cancel.clone(),
                orders,
                waker,
                events: teller.clone(),
            };
            let events = teller.clone();
            let begun = thread::Builder::new()
                .name(format!("load-{thread}"))
                .spawn(move || {
                    // A thread that breaks must not be waited for.
                    let _guard = Broken(events.clone());
                    let done = if duty.job.http2.is_some() {
                        h2::work(duty)
                    } else {
                        work(duty)
                    };
                    if let Err(reason) = &done {
                        let _ = events.send(Event::Failed(reason.clone()));
                    }
                    done
                });
            match begun {
                Ok(handle) => crew.threads.push(handle),
                Err(error) => {
                    crew.order(Order::Finish);
                    return Err(LoadError::Thread(error));
                }
            }
        }
        Ok(crew)
    }

    fn order(&self, order: Order) {
        for (orders, waker) in &self.orders {
            // One that is gone has told why.
            let _ = orders.send(order);
            waker.wake();
        }
    }

    /// Leads the threads through the phases.
    fn lead(&self, job: &Job, control: &Control) -> Result<(), LoadError> {
        self.wait_for_rest(0)?;
        if !job.warmup.is_zero() && !control.cancel.is_cancelled() {
            let now = Instant::now();
            control.enter(LoadPhase::WarmUp, now);
            self.order(Order::WarmUp(now + job.warmup));
            self.wait_for_rest(0)?;
        }
        if control.cancel.is_cancelled() {
            return Ok(());
        }
        let start = Instant::now();
        control.enter(LoadPhase::Measure, start);
        let resting = if let Some(time) = job.planned() {
            // What the listener does at the edge must not shorten the window.
            let start = Instant::now();
            self.order(Order::Measure(start, Some(start + time)));
            self.wait_until(Some(start + time), 1)?
        } else {
            self.order(Order::Measure(Instant::now(), None));
            // Of a schedule every thread has its part.
            let tellers = if job.schedule.is_some() { self.size } else { 1 };
            self.wait_until(None, tellers)?
        };
        control.enter(LoadPhase::Drain, Instant::now());
        self.wait_for_rest(resting)
    }

    /// Waits until all threads rest, of which `resting` do already.
    fn wait_for_rest(&self, mut resting: usize) -> Result<(), LoadError> {
        while resting < self.size {
            match self.events.recv() {
                Ok(Event::Rest) => resting += 1,
                Ok(Event::AllBegun) => {}
                Ok(Event::Failed(reason)) => return Err(LoadError::Worker(reason)),
                Err(_) => return Err(LoadError::Worker("its threads ended early".to_owned())),
            }
        }
        Ok(())
    }

    /// Waits until nothing new is begun: the deadline, the last request as so many threads tell it, or all at rest.
    /// Gives how many threads rest.
    fn wait_until(&self, deadline: Option<Instant>, tellers: usize) -> Result<usize, LoadError> {
        let (mut resting, mut told) = (0, 0);
        while resting < self.size {
            let left = deadline.map_or(Duration::from_hours(1), |at| {
                at.saturating_duration_since(Instant::now())
            });
            match self.events.recv_timeout(left) {
                Ok(Event::Rest) => resting += 1,
                Ok(Event::AllBegun) => {
                    told += 1;
                    if told == tellers && deadline.is_none() {
                        break;
                    }
                }
                Ok(Event::Failed(reason)) => return Err(LoadError::Worker(reason)),
                Err(RecvTimeoutError::Timeout) if deadline.is_some() => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(LoadError::Worker("its threads ended early".to_owned()));
                }
            }
        }
        Ok(resting)
    }

    /// Ends the threads and adds up what they counted.
    fn end(&mut self) -> Result<Option<Recorder>, LoadError> {
        self.order(Order::Finish);
        let mut sum: Option<Recorder> = None;
        for handle in self.threads.drain(..) {
            let counted = handle
                .join()
                .map_err(|_| LoadError::Worker("a thread broke".to_owned()))?
                .map_err(LoadError::Worker)?;
            match &mut sum {
                Some(sum) => sum.merge(counted),
                None => sum = Some(counted),
            }
        }
        Ok(sum)
    }
}
