//! HTTP/2, whose frames are hyper's: how a connection is set up, what goes over it and why it fails. [`Http2`] is one
//! request after another on a stream that the caller opened; a load has many streams, and looks at them itself.

mod broken;
mod meter;
mod request;

pub use broken::Broken;
pub use meter::{Answered, Meter, Metered, Traffic};
pub use request::{Body, Http2Request, announced, is_cut};

use super::decoder::ProtocolError;
use super::exchange::{Exchange, ExchangeError, Kept};
use super::head::MAX_HEAD;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

/// What a server may send ahead on one stream, in bytes: a body of that size never waits for the client.
const STREAM_WINDOW: u32 = 1 << 20;
/// What it may send ahead on all streams of a connection.
const CONNECTION_WINDOW: u32 = 8 << 20;

/// How every connection of HTTP/2 is set up: fixed windows, no push, heads as long as those of HTTP/1.1. Before the
/// server has told its limit, `first_streams` may be open.
pub fn settings<E: Clone>(executor: E, first_streams: usize) -> Builder<E> {
    let mut builder = Builder::new(executor);
    builder
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .initial_max_send_streams(first_streams)
        .max_header_list_size(MAX_HEAD as u32);
    builder
}

/// A connection of HTTP/2 with one request at a time. It lives as long as this does.
#[derive(Debug)]
pub struct Http2 {
    sender: SendRequest<Body>,
    driver: JoinHandle<()>,
    meter: Arc<Meter>,
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Http2 {
    /// Says that HTTP/2 is spoken, with prior knowledge; what the server makes of it is seen at the first request.
    pub async fn open<S>(stream: S) -> Result<Self, ExchangeError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let meter = Arc::new(Meter::default());
        let stream = TokioIo::new(Metered::new(stream, Arc::clone(&meter)));
        let (sender, connection) = settings(TokioExecutor::new(), 1)
            .handshake(stream)
            .await
            .map_err(|error| ExchangeError::Http2(Broken::of(&error), meter.answered()))?;
        let driver = tokio::spawn(async move {
            // Whoever waits for a response hears of it.
            let _ = connection.await;
        });
        Ok(Self {
            sender,
            driver,
            meter,
        })
    }

    /// Sends a request and reads its response with at most `cap` bytes of body. Trailers are read and not kept.
    pub async fn exchange(
        &mut self,
        request: &Http2Request,
        cap: u64,
    ) -> Result<Exchange, ExchangeError> {
        let broken = |error: hyper::Error, meter: &Meter| {
            ExchangeError::Http2(Broken::of(&error), meter.answered())
        };
        let response = self.sender.send_request(request.to_send()).await;
        let response = response.map_err(|error| broken(error, &self.meter))?;
        let (head, mut body) = response.into_parts();
        let headers = head.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str(), value.as_bytes()));
        let mut kept = Kept::new(cap);
        kept.begin(head.status.as_u16(), headers);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| broken(error, &self.meter))?;
            if let Some(piece) = frame.data_ref() {
                kept.keep(piece);
            }
            if kept.overflowed() {
                return Err(ExchangeError::TooLarge {
                    status: head.status.as_u16(),
                    limit: cap,
                });
            }
        }
        if is_cut(&head.headers, kept.received(), body.is_end_stream()) {
            return Err(ExchangeError::Protocol(ProtocolError::ShortBody));
        }
        Ok(kept.finish(true, 0))
    }
}
