//! The way to the server: TCP or a Unix-domain socket, and TLS on it.

use super::address::{Url, answering};
use super::summary::Route;
use crate::load::{self, Secure, Target, TlsError};
use crate::spec::{Address, Http, LONGEST_SOCKET_PATH, Tls};
use clap::Args;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// How the server is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub(super) struct WayArgs {
    /// Take any certificate of an https URL
    #[arg(long, conflicts_with = "cacert")]
    insecure: bool,
    /// A PEM file with the certificates that may have signed the server's [default: the machine's]
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Connect to this Unix-domain socket; Host is still that of the URL
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// Load an address that is neither loopback nor private; only where it is yours to load
    #[arg(long)]
    allow_public: bool,
}

impl WayArgs {
    /// What is loaded, in this version of HTTP; the message says what is wrong with the command line.
    pub(super) fn target(&self, url: &Url, http: Http) -> Result<Target, String> {
        let secure = self.secure(url, http)?;
        let address = match &self.unix_socket {
            Some(path) => Address::Unix(socket(path)?),
            None => Address::Ip(self.ip(url)?),
        };
        let target =
            Target::new(address, &url.authority, true).map_err(|error| error.to_string())?;
        Ok(target.over(secure))
    }

    /// What the URL does not tell of the way.
    pub(super) fn route(&self, url: &Url) -> Route {
        Route {
            unix_socket: self
                .unix_socket
                .as_ref()
                .map(|path| path.display().to_string()),
            certificate_checked: url.tls.then_some(!self.insecure),
        }
    }

    /// Where the URL leads; public addresses only where that is allowed, and none of them is even tried before.
    fn ip(&self, url: &Url) -> Result<SocketAddr, String> {
        let all = url.addresses()?;
        let refused = all
            .iter()
            .find(|one| !load::allowed(one.ip(), self.allow_public));
        if let Some(address) = refused {
            return Err(format!(
                "{address} is neither a loopback nor a private address; if it is yours to load, add --allow-public"
            ));
        }
        answering(&all).ok_or_else(|| "the URL has no address".to_owned())
    }

    fn secure(&self, url: &Url, http: Http) -> Result<Option<Secure>, String> {
        if !url.tls {
            let given = [
                (self.insecure, "--insecure"),
                (self.cacert.is_some(), "--cacert"),
            ];
            return match given.into_iter().find(|(given, _)| *given) {
                Some((_, option)) => Err(format!(
                    "{option} is about certificates, and the URL has none; write https://"
                )),
                None => Ok(None),
            };
        }
        let ca = self.cacert.as_deref().map(load::certificates).transpose();
        let tls = Tls {
            ca: ca.map_err(|error| error.to_string())?,
            server_name: None,
            insecure: self.insecure,
        };
        let words = |error: TlsError| match error {
            TlsError::Trust(_) => {
                format!("{error}: --cacert FILE or --insecure")
            }
            error => error.to_string(),
        };
        Ok(Some(Secure {
            config: load::client_config(&tls, Path::new(""), http).map_err(words)?,
            name: load::server_name(&tls, url.host()).map_err(words)?,
        }))
    }
}

fn socket(path: &Path) -> Result<PathBuf, String> {
    let length = path.as_os_str().len();
    if length == 0 || length > LONGEST_SOCKET_PATH {
        return Err(format!(
            "the path of a Unix-domain socket has 1 to {LONGEST_SOCKET_PATH} bytes, and this one has {length}"
        ));
    }
    Ok(path.to_owned())
}
