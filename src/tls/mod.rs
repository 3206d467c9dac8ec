//! TLS as this program speaks it as a client: whom it [trusts](Trust), and the configuration that follows. rustls with
//! the algorithms of `ring`, TLS 1.2 and 1.3. No session is resumed: every connection pays for a whole handshake, as the
//! first one of a new client does.

mod trust;
mod verifier;

pub use trust::{Trust, TrustError};

use crate::spec::Http;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, ConfigBuilder, Error,
    InvalidMessage, WantsVerifier,
};
use std::fmt;
use std::sync::Arc;

/// A text that is neither the name of a host nor an IP address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameError(String);

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0.escape_debug();
        write!(
            f,
            "\"{name}\" is neither the name of a host nor an IP address"
        )
    }
}

impl std::error::Error for NameError {}

/// The name that a certificate must have. A host's name is sent to the server too (SNI); an IP address, with or without
/// brackets, is not.
pub fn server_name(host: &str) -> Result<ServerName<'static>, NameError> {
    let bare = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    ServerName::try_from(bare.to_owned()).map_err(|_| NameError(host.to_owned()))
}

/// HTTP/2 and HTTP/1.1 as they are offered and agreed on (ALPN; RFC 9113, section 3.2, and RFC 7301, section 6).
const HTTP_2: &[u8] = b"h2";
const HTTP_1_1: &[u8] = b"http/1.1";

/// What connections share: whom they trust, and the version of HTTP that is offered; no other one is.
pub fn client_config(trust: &Trust, http: Http) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = trust.verifier(&provider)?;
    let mut config = builder(provider)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![match http {
        Http::One => HTTP_1_1.to_vec(),
        Http::Two => HTTP_2.to_vec(),
    }];
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// Whether a server agreed, by the end of the handshake, to speak this version of HTTP. HTTP/1.1 needs no word of it.
pub fn speaks(connection: &ClientConnection, http: Http) -> bool {
    http == Http::One || connection.alpn_protocol() == Some(HTTP_2)
}

/// What rustls says, and what may be behind it.
pub fn explain(error: &Error) -> String {
    match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            format!("{error}; perhaps the server does not speak TLS there")
        }
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "the server does not speak the version of HTTP that it was offered (ALPN)".to_owned()
        }
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => format!(
            "{error}: no certificate that is trusted has signed it; name the one that has (`tls.ca`, or --cacert)"
        ),
        error if verifier::shows_a_signer(error) => {
            "the server's certificate is one that signs others, and is not itself trusted; name it (`tls.ca`, or --cacert)".to_owned()
        }
        _ => error.to_string(),
    }
}

fn builder(
    provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, TrustError> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TrustError::Unusable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_names_of_a_server() {
        for good in ["localhost", "a.example", "127.0.0.1", "::1", "[::1]"] {
            assert!(server_name(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a:80", "-", "[a"] {
            assert!(server_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_version_that_will_be_spoken_is_offered_and_no_other() {
        for (http, name) in [(Http::One, "http/1.1"), (Http::Two, "h2")] {
            let config = client_config(&Trust::Any, http).unwrap();
            assert_eq!(config.alpn_protocols, [name.as_bytes()]);
            assert!(config.enable_sni);
        }
    }
}
