//! Whom a client trusts: the certificates of a file, those of the machine, or anybody.

use super::verifier::{Anybody, Known};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::fmt;
use std::sync::Arc;

/// Whose certificates are taken.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Those that the certificates of this machine have signed.
    Machine,
    /// Those that one of these has signed, and of these those that signed themselves.
    Only(Arc<Vec<CertificateDer<'static>>>),
    /// All; nothing is checked.
    Any,
}

/// Why nobody can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustError {
    /// The text is not PEM.
    NotPem(String),
    /// There is no certificate in it.
    NoCertificate,
    /// A certificate of it, counted from 1, can't be read.
    Certificate(usize, String),
    /// This machine has no certificates that it trusts.
    NoneOnMachine(Option<String>),
    /// rustls does not take what it is given.
    Unusable(String),
}

impl fmt::Display for TrustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPem(reason) => write!(f, "it is not PEM: {reason}"),
            Self::NoCertificate => f.write_str(
                "it holds no certificate, which would begin with -----BEGIN CERTIFICATE-----",
            ),
            Self::Certificate(number, reason) => {
                write!(f, "its certificate {number} cannot be read: {reason}")
            }
            Self::NoneOnMachine(reason) => {
                f.write_str("this machine has no certificates that it trusts")?;
                reason
                    .as_ref()
                    .map_or(Ok(()), |reason| write!(f, " ({reason})"))
            }
            Self::Unusable(reason) => write!(f, "TLS cannot be set up: {reason}"),
        }
    }
}

impl std::error::Error for TrustError {}

impl Trust {
    /// The certificates of a PEM file. Keys and other blocks in it are passed over.
    pub fn pem(text: &[u8]) -> Result<Self, TrustError> {
        let mut all = Vec::new();
        for certificate in CertificateDer::pem_slice_iter(text) {
            all.push(certificate.map_err(|error| TrustError::NotPem(error.to_string()))?);
        }
        roots(&all)?;
        Ok(Self::Only(Arc::new(all)))
    }

    pub(super) fn verifier(
        &self,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ServerCertVerifier>, TrustError> {
        let (roots, pinned) = match self {
            Self::Any => return Ok(Arc::new(Anybody::new(provider))),
            Self::Machine => (of_machine()?, Arc::default()),
            Self::Only(all) => (roots(all)?, Arc::clone(all)),
        };
        let by_chain =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| TrustError::Unusable(error.to_string()))?;
        Ok(Arc::new(Known::new(by_chain, pinned)))
    }
}

fn roots(all: &[CertificateDer<'static>]) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    for (at, certificate) in all.iter().enumerate() {
        roots
            .add(certificate.clone())
            .map_err(|error| TrustError::Certificate(at + 1, error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(TrustError::NoCertificate);
    }
    Ok(roots)
}

/// What this machine trusts; a certificate of it that can't be read is passed over, as others do.
fn of_machine() -> Result<RootCertStore, TrustError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let reason = found.errors.first().map(ToString::to_string);
        return Err(TrustError::NoneOnMachine(reason));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_said() {
        let read = |text: &str| Trust::pem(text.as_bytes()).map(|_| ()).unwrap_err();
        assert_eq!(read(""), TrustError::NoCertificate);
        assert_eq!(read("certificate"), TrustError::NoCertificate);
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert_eq!(read(key), TrustError::NoCertificate);
        let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
        assert!(matches!(read(cut), TrustError::NotPem(_)));
        let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(read(empty), TrustError::Certificate(1, _)));
    }

    #[test]
    fn a_certificate_among_other_things_is_found() {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let text = format!(
            "words\n{}{}",
            made.signing_key.serialize_pem(),
            made.cert.pem()
        );
        assert!(matches!(Trust::pem(text.as_bytes()), Ok(Trust::Only(all)) if all.len() == 1));
    }
}
