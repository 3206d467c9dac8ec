//! A load from its first connection to its record: threads, phases and their edges.

use super::control::{Control, LoadPhase};
use super::job::{Job, Target};
use super::poller::Waker;
use super::recorder::Recorder;
use super::tickets::Tickets;
use super::verify::Verified;
use super::worker::{Duty, Event, Order, work};
use crate::record::Load;
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
        Amount::Duration(_) => None,
        Amount::Requests(total) => Some(total),
    };
    let recorder = recorder?.ok_or(LoadError::NoConnections)?;
    let mut load = recorder.finish(planned, job.connections, crew.size);
    load.bytes.body_wire = Some(verified.wire_size());
    load.bytes.body_decoded = verified.decoded_size();
    control.enter(LoadPhase::Done, Instant::now());
    Ok(load)
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
        let (tickets, seconds) = match job.amount {
            Amount::Duration(time) => (None, Some(time.as_secs_f64().ceil() as usize)),
            Amount::Requests(total) => (Some(Arc::new(Tickets::new(total, job.connections))), None),
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
                reference: Arc::clone(&verified.reference),
                target: target.clone(),
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
                    let done = work(duty);
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
        let resting = match job.amount {
            Amount::Duration(time) => {
                // What the listener does at the edge must not shorten the window.
                let start = Instant::now();
                self.order(Order::Measure(start, Some(start + time)));
                self.wait_until(Some(start + time))?
            }
            Amount::Requests(_) => {
                self.order(Order::Measure(Instant::now(), None));
                self.wait_until(None)?
            }
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

    /// Waits until nothing new is begun: the deadline, the last ticket, or all at rest.
    /// Gives how many threads rest.
    fn wait_until(&self, deadline: Option<Instant>) -> Result<usize, LoadError> {
        let mut resting = 0;
        while resting < self.size {
            let left = deadline.map_or(Duration::from_hours(1), |at| {
                at.saturating_duration_since(Instant::now())
            });
            match self.events.recv_timeout(left) {
                Ok(Event::Rest) => resting += 1,
                Ok(Event::AllBegun) => break,
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
