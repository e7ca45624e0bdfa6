//! TLS on the API's listener. Certificate, key and the clients' authorities are read again when their files change, as
//! Kubernetes' secrets and certificate controllers change them; a broken set is told of, and the old one stays.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use tokio_rustls::TlsAcceptor;

use crate::runtime::{Stop, blocking};

/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Largest file that is read.
const FILE: u64 = 1 << 20;

/// The files that TLS needs, all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those that signed it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Authorities of which one must have signed a client's certificate; `None` asks clients for none.
    pub client_authority: Option<PathBuf>,
}

/// Why the files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is too large.
    #[error(
        "reading {path}: {reason}; expected a PEM file (--listen-tls-cert, --listen-tls-key, --listen-tls-client-ca)"
    )]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Certificate and key do not fit, or cannot be used.
    #[error("certificate {certificate} with key {key}: {source}; expected a certificate and the key it was made for")]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What rustls says.
        source: rustls::Error,
    },
    /// The clients' authorities cannot be used.
    #[error("client authorities {path}: {reason}; expected certificates")]
    Authority {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl TlsFiles {
    /// Whether the files can be used.
    ///
    /// # Errors
    /// When one cannot be read, or they do not fit together.
    pub fn check(&self) -> Result<(), TlsError> {
        configure(self, &read(self)?).map(|_| ())
    }
}

/// What was read.
#[derive(PartialEq)]
struct Content(Vec<Vec<u8>>);

impl Content {
    fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.0.first().and_then(|pem| certificates(pem).ok()).unwrap_or_default()
    }
}

/// Takes the certificate that this process has itself, and no other.
#[derive(Debug)]
struct SameCertificate {
    chain: Arc<Mutex<Vec<CertificateDer<'static>>>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for SameCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        match chain.first() {
            Some(own) if own == end_entity => Ok(ServerCertVerified::assertion()),
            _ => Err(rustls::Error::General("the leader has another certificate than this replica".into())),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The TLS settings of this moment.
#[derive(Clone)]
pub(super) struct Tls {
    files: TlsFiles,
    current: Arc<Mutex<Arc<ServerConfig>>>,
    /// The certificates of this moment, the server's own first.
    chain: Arc<Mutex<Vec<CertificateDer<'static>>>>,
}

impl Tls {
    /// Reads the files.
    pub(super) fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let content = read(&files)?;
        let config = configure(&files, &content)?;
        let chain = Arc::new(Mutex::new(content.chain()));
        Ok(Self { files, current: Arc::new(Mutex::new(Arc::new(config))), chain })
    }

    /// What takes the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// How replicas speak to each other: the other end must have the very certificate that this one has.
    pub(super) fn among_replicas(&self) -> ClientConfig {
        let verifier = SameCertificate { chain: Arc::clone(&self.chain), provider: provider() };
        let builder = ClientConfig::builder_with_provider(provider());
        // The versions that are compiled in are safe and known to the provider, so this cannot fail.
        let builder = builder.with_safe_default_protocol_versions().expect("ring serves the default versions");
        builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
    }

    /// Follows the files until stopped.
    pub(super) async fn follow(self, stop: Stop) {
        let mut known = read(&self.files).ok();
        while stop.or(tokio::time::sleep(LOOK)).await.is_some() {
            let files = self.files.clone();
            let Ok(Ok(content)) = blocking("read certificates", move || read(&files)).await else { continue };
            if known.as_ref() == Some(&content) {
                continue;
            }
            self.replace(&content);
            known = Some(content);
        }
    }

    fn replace(&self, content: &Content) {
        let certificate = self.files.certificate.display();
        match configure(&self.files, content) {
            Ok(config) => {
                *self.chain.lock().unwrap_or_else(PoisonError::into_inner) = content.chain();
                *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                tracing::info!(component = "daemon", %certificate, "the certificate of the API was read again");
            }
            // Certificate and key are written one after the other: the next look may find them whole.
            Err(e) => tracing::warn!(component = "daemon", err = %e, "the old certificate of the API stays in use"),
        }
    }
}

fn read(files: &TlsFiles) -> Result<Content, TlsError> {
    let paths = [Some(&files.certificate), Some(&files.key), files.client_authority.as_ref()];
    paths.into_iter().flatten().map(|path| read_file(path)).collect::<Result<_, _>>().map(Content)
}

fn read_file(path: &Path) -> Result<Vec<u8>, TlsError> {
    super::file::read(path, FILE).map_err(|reason| TlsError::File { path: path.to_owned(), reason })
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem).collect::<Result<_, _>>().map_err(|e| e.to_string())?;
    if found.is_empty() { Err("there is no certificate in it".into()) } else { Ok(found) }
}

fn configure(files: &TlsFiles, content: &Content) -> Result<ServerConfig, TlsError> {
    let [certificate, key, authority @ ..] = content.0.as_slice() else {
        return Err(TlsError::File { path: files.certificate.clone(), reason: "nothing was read".into() });
    };
    let chain =
        certificates(certificate).map_err(|reason| TlsError::File { path: files.certificate.clone(), reason })?;
    // What the parser says about a key may quote it.
    let no_key = |_| TlsError::File { path: files.key.clone(), reason: "there is no private key in it".into() };
    let private = PrivateKeyDer::from_pem_slice(key).map_err(no_key)?;
    let pair = |source| TlsError::Pair { certificate: files.certificate.clone(), key: files.key.clone(), source };
    let builder =
        ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().map_err(pair)?;
    let builder = match (authority.first(), &files.client_authority) {
        (Some(pem), Some(path)) => builder.with_client_cert_verifier(client_verifier(pem, path)?),
        _ => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, private).map_err(pair)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn client_verifier(pem: &[u8], path: &Path) -> Result<Arc<dyn rustls::server::danger::ClientCertVerifier>, TlsError> {
    let failed = |reason: String| TlsError::Authority { path: path.to_owned(), reason };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem).map_err(failed)? {
        roots.add(certificate).map_err(|e| failed(e.to_string()))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build().map_err(|e| failed(e.to_string()))
}
