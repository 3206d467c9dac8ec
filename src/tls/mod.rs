//! TLS as this program speaks it as a client: whom it [trusts](Trust), and the configuration that follows. rustls with
//! the algorithms of `ring`, TLS 1.2 and 1.3. No session is resumed: every connection pays for a whole handshake, as the
//! first one of a new client does.

mod trust;
mod verifier;

pub use trust::{Trust, TrustError};

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ConfigBuilder, WantsVerifier};
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

/// What connections share: whom they trust, and the protocols that are offered (ALPN), the dearest first.
pub fn client_config(trust: &Trust, alpn: &[&[u8]]) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = trust.verifier(&provider)?;
    let mut config = builder(provider)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
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
    fn the_protocols_are_offered_in_their_order_and_no_session_is_kept() {
        let config = client_config(&Trust::Any, &[b"h2", b"http/1.1"]).unwrap();
        assert_eq!(
            config.alpn_protocols,
            [b"h2".to_vec(), b"http/1.1".to_vec()]
        );
        assert!(config.enable_sni);
    }
}
