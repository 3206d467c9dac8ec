//! A connection to the target for one request, waited for: what is asked before a load goes the way of the load.

use super::dial::connect;
use super::job::Target;
use super::stream::explain;
use super::verify::VerifyError;
use crate::spec::Address;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio_rustls::TlsConnector;

/// A stream of bytes in both directions.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// Connects to the target, and speaks TLS where the load does.
pub(super) async fn reach(target: &Target) -> Result<Box<dyn Duplex>, VerifyError> {
    let address = target.address();
    let refused = |error| VerifyError::Connect(address.clone(), error);
    let stream: Box<dyn Duplex> = match address {
        Address::Ip(ip) => Box::new(connect(*ip).await.map_err(refused)?),
        Address::Unix(path) => Box::new(UnixStream::connect(path).await.map_err(refused)?),
    };
    let Some(secure) = target.secure() else {
        return Ok(stream);
    };
    let connector = TlsConnector::from(Arc::clone(&secure.config));
    let shaken = connector.connect(secure.name.clone(), stream).await;
    match shaken {
        Ok(stream) => Ok(Box::new(stream)),
        Err(error) => Err(VerifyError::Tls(address.clone(), words(&error))),
    }
}

fn words(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(error) => explain(error),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection".to_owned()
        }
        None => error.to_string(),
    }
}
