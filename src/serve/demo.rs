//! The demo server's answers: `/` the body, `/health`, `/count` (what this process
//! has answered so far, for comparison with what a generator says), 404 elsewhere.

use super::{Options, body, encoding};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, VARY};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use sha2::{Digest as _, Sha256};
use std::cell::{Cell, RefCell};
use std::hint::black_box;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;

/// What all connections of one worker share.
pub(super) struct State {
    body: Bytes,
    gzip: bool,
    delay: Duration,
    leak: usize,
    hashes: u32,
    /// Held only so that it is never freed.
    leaked: RefCell<Vec<Box<[u8]>>>,
    answered: Cell<u64>,
}

impl State {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            body: body::json(options.body_bytes).into(),
            gzip: options.gzip,
            delay: options.delay,
            leak: options.leak_bytes_per_request as usize,
            hashes: options.hashes,
            leaked: RefCell::default(),
            answered: Cell::new(0),
        }
    }
}

/// One connection, to its end or to the order to stop.
pub(super) async fn serve(stream: TcpStream, state: Rc<State>, mut stopped: watch::Receiver<bool>) {
    let service = service_fn(move |request| answer(request, Rc::clone(&state)));
    let mut served = pin!(
        hyper::server::conn::http1::Builder::new()
            .pipeline_flush(true)
            .header_read_timeout(None)
            .serve_connection(TokioIo::new(stream), service)
    );
    // How a connection breaks is the client's to report.
    tokio::select! {
        _ = served.as_mut() => return,
        _ = stopped.wait_for(|stop| *stop) => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}

async fn answer(
    request: Request<Incoming>,
    state: Rc<State>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, mut sent) = request.into_parts();
    // A body that is not read would cost the connection.
    while let Some(frame) = sent.frame().await {
        frame?;
    }
    if head.uri.path() == "/count" {
        return Ok(text(StatusCode::OK, state.answered.get().to_string()));
    }
    if !state.delay.is_zero() {
        tokio::time::sleep(state.delay).await;
    }
    if state.leak > 0 {
        // Filled, so that the memory is really there and not only promised.
        let kept = vec![0x5a; state.leak].into_boxed_slice();
        state.leaked.borrow_mut().push(kept);
    }
    work(&state);
    let response = match head.uri.path() {
        "/" => page(&state, state.gzip && encoding::accepts_gzip(&head.headers)),
        "/health" => text(StatusCode::OK, "ok"),
        _ => text(StatusCode::NOT_FOUND, "not found"),
    };
    state.answered.set(state.answered.get() + 1);
    Ok(response)
}

/// Hashes the body as often as was asked for.
fn work(state: &State) {
    for _ in 0..state.hashes {
        black_box(Sha256::digest(black_box(&state.body)));
    }
}

fn page(state: &State, compress: bool) -> Response<Full<Bytes>> {
    let bytes = if compress {
        encoding::gzip(&state.body).into()
    } else {
        state.body.clone()
    };
    let mut response = Response::new(Full::new(bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if state.gzip {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    if compress {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

fn text(status: StatusCode, words: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(words.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
