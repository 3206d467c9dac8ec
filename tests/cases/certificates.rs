//! Certificates that tests make for themselves, and a TLS server that misbehaves as it is told.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A certificate with its key, and who signed it, as PEM files.
pub(crate) struct Certificate {
    pub(crate) ca: PathBuf,
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

/// Names that a server on this machine goes by.
pub(crate) const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Certificate {
    /// One for these names, signed by a CA of its own.
    pub(crate) fn of(names: &[&str], folder: &Path) -> Self {
        Self::made(names, folder, 2100)
    }

    /// One whose time is over.
    pub(crate) fn expired(names: &[&str], folder: &Path) -> Self {
        Self::made(names, folder, 2020)
    }

    fn made(names: &[&str], folder: &Path, until: i32) -> Self {
        let mut of_ca = CertificateParams::new(Vec::new()).unwrap();
        of_ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Two CAs of one name would be taken for the same one with another key.
        let name = folder.display().to_string();
        of_ca.distinguished_name.push(DnType::CommonName, name);
        let ca_key = KeyPair::generate().unwrap();
        let ca = of_ca.self_signed(&ca_key).unwrap();
        let issuer = Issuer::new(of_ca, ca_key);
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut of_server = CertificateParams::new(names).unwrap();
        of_server.not_before = date_time_ymd(2010, 1, 1);
        of_server.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = of_server.signed_by(&key, &issuer).unwrap();
        Self::written(folder, &ca.pem(), &certificate.pem(), &key.serialize_pem())
    }

    /// One that signed itself and says that it may sign others, as `openssl req -x509` makes it; it is its own CA.
    pub(crate) fn of_itself(names: &[&str], folder: &Path, until: i32) -> Self {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut of_server = CertificateParams::new(names).unwrap();
        of_server.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        of_server.not_before = date_time_ymd(2010, 1, 1);
        of_server.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let pem = of_server.self_signed(&key).unwrap().pem();
        Self::written(folder, &pem, &pem, &key.serialize_pem())
    }

    fn written(folder: &Path, ca: &str, chain: &str, key: &str) -> Self {
        let file = |name: &str, text: &str| {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            path
        };
        Self {
            ca: file("ca.pem", ca),
            chain: file("chain.pem", chain),
            key: file("key.pem", key),
        }
    }
}

/// What a server does on every connection but the first, on which it is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Answers each request.
    Good,
    /// Closes when it has read something of the handshake.
    HangsUp,
    /// Never answers the handshake.
    IsSilent,
    /// Answers with a body to the end of the connection, and says `close_notify`.
    ToTheEnd,
    /// The same without saying it.
    Cut,
    /// Says `close_notify` after each answer, without a word of it in the answer.
    ClosesIdle,
}

/// A server that speaks TLS.
pub(crate) struct TlsServer {
    pub(crate) port: u16,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicU64,
    handshakes: AtomicU64,
    requests: AtomicU64,
}

impl TlsServer {
    pub(crate) fn start(certificate: &Certificate, manner: Manner) -> Self {
        let chain = CertificateDer::pem_file_iter(&certificate.chain).unwrap();
        let chain = chain.map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_file(&certificate.key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let told = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let first = told.connections.fetch_add(1, Ordering::SeqCst) == 0;
                let (config, told) = (Arc::clone(&config), Arc::clone(&told));
                let manner = if first { Manner::Good } else { manner };
                thread::spawn(move || serve(stream, config, manner, &told));
            }
        });
        Self { port, seen }
    }

    pub(crate) fn url(&self, host: &str) -> String {
        format!("https://{host}:{}/", self.port)
    }

    pub(crate) fn handshakes(&self) -> u64 {
        self.seen.handshakes.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.seen.requests.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, config: Arc<ServerConfig>, manner: Manner, seen: &Seen) {
    match manner {
        Manner::HangsUp => {
            let _ = stream.read(&mut [0; 64]);
            return;
        }
        Manner::IsSilent => {
            while stream.read(&mut [0; 4096]).is_ok_and(|size| size > 0) {}
            return;
        }
        _ => {}
    }
    let _ = stream.set_nodelay(true);
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    if stream.conn.complete_io(&mut stream.sock).is_err() {
        return;
    }
    seen.handshakes.fetch_add(1, Ordering::SeqCst);
    while let Ok(size @ 1..) = stream.read(&mut piece) {
        request.extend_from_slice(&piece[..size]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        request.clear();
        seen.requests.fetch_add(1, Ordering::SeqCst);
        let answer: &[u8] = match manner {
            Manner::ToTheEnd | Manner::Cut => b"HTTP/1.1 200 OK\r\n\r\nok",
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        };
        if stream
            .write_all(answer)
            .and_then(|()| stream.flush())
            .is_err()
        {
            return;
        }
        match manner {
            Manner::Cut => return,
            Manner::ToTheEnd | Manner::ClosesIdle => {
                stream.conn.send_close_notify();
                let _ = stream.flush();
                return;
            }
            _ => {}
        }
    }
}
