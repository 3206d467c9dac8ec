//! One connection to a server, over whatever leads there, to find out whether it is ready: TCP or a Unix-domain socket,
//! and TLS where the load speaks it. Certificates are not checked here: readiness is no judgement, and what verifies the first
//! response is.

use super::error::ServerError;
use crate::spec::{Address, Cell, Fill, Http};
use crate::tls::{self, Trust, client_config, server_name};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

/// How a server is asked whether it is ready.
pub(super) struct Manner {
    /// What Host says.
    pub(super) authority: String,
    /// The headers that the load sends, which may decide what is answered.
    pub(super) headers: Vec<(String, String)>,
    /// The version of HTTP that the load speaks.
    pub(super) http: Http,
    secure: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Manner {
    /// That of a cell's load, at a host that is called so, with or without a port.
    pub(super) fn of(
        cell: &Cell,
        fill: &Fill,
        host: &str,
        authority: String,
    ) -> Result<Self, ServerError> {
        let headers = cell.work.request.headers.iter();
        let secure = match &cell.work.tls {
            None => None,
            Some(tls) => {
                let config = client_config(&Trust::Any, cell.work.http)
                    .map_err(|error| ServerError::Url(error.to_string()))?;
                let name = server_name(tls.server_name.as_deref().unwrap_or(host))
                    .map_err(|error| ServerError::Url(error.to_string()))?;
                Some((config, name))
            }
        };
        Ok(Self {
            authority,
            headers: headers
                .map(|(name, value)| (name.clone(), value.fill(fill)))
                .collect(),
            http: cell.work.http,
            secure,
        })
    }

    /// The scheme of what is asked for.
    pub(super) fn scheme(&self) -> &'static str {
        if self.secure.is_some() {
            "https"
        } else {
            "http"
        }
    }

    /// Without TLS and headers.
    pub(super) fn plain(authority: String) -> Self {
        Self {
            authority,
            headers: Vec::new(),
            http: Http::One,
            secure: None,
        }
    }
}

/// A stream of bytes in both directions.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// An open connection.
pub(super) struct Line {
    pub(super) stream: Box<dyn Duplex>,
    /// Our end of it, over TCP.
    pub(super) near: Option<SocketAddr>,
}

impl Line {
    /// Connects.
    pub(super) async fn open(address: &Address) -> io::Result<Self> {
        match address {
            Address::Unix(path) => Ok(Self {
                stream: Box::new(UnixStream::connect(path).await?),
                near: None,
            }),
            Address::Ip(address) => {
                let stream = TcpStream::connect(address).await?;
                if meets_itself(&stream) {
                    return Err(io::ErrorKind::ConnectionRefused.into());
                }
                Ok(Self {
                    near: stream.local_addr().ok(),
                    stream: Box::new(stream),
                })
            }
        }
    }

    /// Connects, and speaks TLS where that is the manner; or why not, in words.
    pub(super) async fn open_as(address: &Address, manner: &Manner) -> Result<Self, String> {
        let line = Self::open(address)
            .await
            .map_err(|error| error.to_string())?;
        let Some((config, name)) = &manner.secure else {
            return Ok(line);
        };
        let connector = TlsConnector::from(Arc::clone(config));
        let stream = connector
            .connect(name.clone(), line.stream)
            .await
            .map_err(|error| {
                let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
                let reason = inner.map_or_else(|| error.to_string(), tls::explain);
                format!("the TLS handshake failed: {reason}")
            })?;
        if !tls::speaks(stream.get_ref().1, manner.http) {
            return Err("it speaks TLS and did not agree to speak HTTP/2 (ALPN)".to_owned());
        }
        Ok(Self {
            stream: Box::new(stream),
            near: line.near,
        })
    }
}

/// Whether both ends of a connection are the same: one to a closed port of the kernel's own range can meet
/// itself.
fn meets_itself(stream: &TcpStream) -> bool {
    stream.local_addr().ok() == stream.peer_addr().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use tokio::net::TcpSocket;

    #[tokio::test]
    async fn a_connection_that_meets_itself_is_no_server() {
        // A port of its own, which nobody listens on while it is connected to.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        let stream = socket.connect(address).await.unwrap();
        assert!(meets_itself(&stream));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        assert!(!meets_itself(&stream));
    }
}
