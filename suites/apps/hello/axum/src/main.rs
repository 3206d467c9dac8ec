//! Hello, World! from axum. It listens on PORT of 127.0.0.1.

use axum::Router;
use axum::routing::get;
use std::env;
use std::error::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = env::var("PORT")?.parse()?;
    let mut stop = signal(SignalKind::terminate())?;

    let app = Router::new().route("/", get(|| async { "Hello, World!" }));
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, app)
        .with_graceful_shutdown(async move {
            stop.recv().await;
        })
        .await?;
    Ok(())
}
