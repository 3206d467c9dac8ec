//! A connection to the target for one request, waited for: what is asked before a load goes the way of the load.

use super::dial::{ROOM_PAUSE, connect};
use super::job::{Secure, Target};
use super::stream::TlsFault;
use super::tls::{client_config, host_of, server_name};
use super::verify::VerifyError;
use crate::spec::{Address, Http, Tls};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio_rustls::TlsConnector;

/// A server that speaks TLS at all does so within this time, when that is only wondered.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(1);

/// A stream of bytes in both directions.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// Connects to the target, and speaks TLS where the load does, to go on in this version of HTTP.
pub(super) async fn reach(target: &Target, http: Http) -> Result<Box<dyn Duplex>, VerifyError> {
    let address = target.address();
    let refused = |error| VerifyError::Connect(address.clone(), error);
    let stream: Box<dyn Duplex> = match address {
        Address::Ip(ip) => Box::new(connect(*ip).await.map_err(refused)?),
        Address::Unix(path) => Box::new(connect_unix(path).await.map_err(refused)?),
    };
    secured(target.secure(), stream, http)
        .await
        .map_err(|fault| VerifyError::Tls(address.clone(), fault.to_string()))
}

/// Whether TLS is spoken at a target that was tried without it: a handshake that takes any certificate succeeds. No
/// request is sent.
pub async fn speaks_tls(target: &Target) -> bool {
    let any = Tls {
        ca: None,
        server_name: None,
        insecure: true,
    };
    let host = host_of(target.authority());
    let secure = client_config(&any, Path::new(""), Http::One)
        .and_then(|config| server_name(&any, host).map(|name| Secure { config, name }));
    let Ok(secure) = secure else {
        return false;
    };
    let target = target.clone().over(Some(secure));
    let asked = tokio::time::timeout(HANDSHAKE_WITHIN, reach(&target, Http::One)).await;
    matches!(asked, Ok(Ok(_)))
}

/// Connects to a socket; where its queue is full, as soon as there is room.
async fn connect_unix(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(ROOM_PAUSE).await;
            }
            connected => return connected,
        }
    }
}

/// Speaks TLS on a connection where that is asked for.
pub(super) async fn secured(
    secure: Option<&Secure>,
    stream: Box<dyn Duplex>,
    http: Http,
) -> Result<Box<dyn Duplex>, TlsFault> {
    let Some(secure) = secure else {
        return Ok(stream);
    };
    let connector = TlsConnector::from(Arc::clone(&secure.config));
    let shaken = connector.connect(secure.name.clone(), stream).await;
    let stream = shaken.map_err(TlsFault::of)?;
    TlsFault::unless_agreed(stream.get_ref().1, http)?;
    Ok(Box::new(stream))
}
