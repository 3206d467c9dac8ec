//! TLS as a load asks for it: the suite's words as whom to trust and what name to expect.

use crate::spec::{FileRef, Http, Tls};
use crate::tls::{self, NameError, Trust, TrustError};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sha2::{Digest as _, Sha256};
use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Why a load can't speak TLS.
#[derive(Debug)]
pub enum TlsError {
    /// The file with the trusted certificates can't be read.
    Read(PathBuf, io::Error),
    /// It is not the file any more that the plan was made with.
    Changed(PathBuf),
    /// It gives nobody to trust.
    File(PathBuf, TrustError),
    /// Nobody can be trusted.
    Trust(TrustError),
    /// There is no such name.
    Name(NameError),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => {
                let path = path.display();
                write!(f, "the certificates in {path} cannot be read: {error}")
            }
            Self::Changed(path) => write!(
                f,
                "{} has changed since the run was planned; begin a new run",
                path.display()
            ),
            Self::File(path, error) => write!(f, "{} cannot be trusted: {error}", path.display()),
            Self::Trust(error) => write!(
                f,
                "{error}; name the certificate that signed the server's, or take any"
            ),
            Self::Name(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TlsError {}

/// How connections of a load speak TLS, and this version of HTTP over it. `folder` is the suite's.
pub fn client_config(tls: &Tls, folder: &Path, http: Http) -> Result<Arc<ClientConfig>, TlsError> {
    let trust = trust(tls, folder)?;
    tls::client_config(&trust, http).map_err(TlsError::Trust)
}

/// The name that the certificate must have, where the server is called `host`.
pub fn server_name(tls: &Tls, host: &str) -> Result<ServerName<'static>, TlsError> {
    let name = tls.server_name.as_deref().unwrap_or(host);
    tls::server_name(name).map_err(TlsError::Name)
}

/// Why this machine trusts no certificate at all; none where it does. It is looked at once.
pub fn untrusting() -> Option<&'static str> {
    static FOUND: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let made = tls::client_config(&Trust::Machine, Http::One);
        made.err().map(|error| error.to_string())
    };
    FOUND.get_or_init(find).as_deref()
}

/// A file with certificates as a load names it.
pub fn certificates(path: &Path) -> Result<FileRef, TlsError> {
    let text = fs::read(path).map_err(|error| TlsError::Read(path.to_owned(), error))?;
    Ok(FileRef {
        path: path.display().to_string(),
        sha256: digest(&text),
    })
}

fn digest(text: &[u8]) -> String {
    let mut out = String::new();
    for byte in Sha256::digest(text) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// The host of what Host says, without its port.
pub fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => host,
        _ => authority,
    }
}

fn trust(tls: &Tls, folder: &Path) -> Result<Trust, TlsError> {
    let Some(file) = &tls.ca else {
        return Ok(if tls.insecure {
            Trust::Any
        } else {
            Trust::Machine
        });
    };
    let path = folder.join(&file.path);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) => return Err(TlsError::Read(path, error)),
    };
    if digest(&text) != file.sha256 {
        return Err(TlsError::Changed(path));
    }
    Trust::pem(&text).map_err(|error| TlsError::File(path, error))
}
