//! The engine for HTTP/2, beside the event loop: each generator thread has a runtime of its own, a number of connections
//! ([`link`]) and on each of them so many lanes ([`lane`]), which send one request after another. The thread obeys the same
//! orders as one of the event loop, and counts with the same recorder.

mod floor;
mod lane;
mod link;

use super::poller::Waker;
use super::recorder::Recorder;
use super::term::OPENING;
use super::worker::{Duty, Order};
use floor::Floor;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// How long the connections of a thread have to say that they end.
const PARTING: Duration = Duration::from_millis(50);

/// The life of a generator thread; gives what it counted.
pub(super) fn work(duty: Duty) -> Result<Recorder, String> {
    let broken = |error| format!("a generator thread can't have its event loop: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(broken)?;
    let local = LocalSet::new();
    let counted = runtime.block_on(async move {
        let (floor, orders, waker) = Floor::new(duty);
        local.run_until(live(&floor, &orders, &waker)).await;
        floor.part();
        // What hyper still has to say goes out; a connection that can't be written to is closed all the same.
        let _ = tokio::time::timeout(PARTING, local).await;
        floor.counted()
    });
    Ok(counted)
}

async fn live(floor: &Rc<Floor>, orders: &Receiver<Order>, waker: &Waker) {
    floor.heed();
    for _ in 0..OPENING {
        floor.open_next();
    }
    loop {
        while floor.rests() {
            match orders.try_recv() {
                Ok(Order::Finish) | Err(TryRecvError::Disconnected) => return,
                Ok(order) => floor.obey(order),
                Err(TryRecvError::Empty) => break,
            }
        }
        tokio::select! {
            () = waker.called() => floor.heed(),
            () = tokio::time::sleep_until(floor.next_look().into()) => {
                floor.expire(Instant::now());
            }
        }
    }
}
