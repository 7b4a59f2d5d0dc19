//! TLS on loopback: a private authority is trusted when its file is named, and the error says so when it is not.

use std::io::{Read, Write};
use std::net::TcpListener;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::*;

/// Serves one TLS connection with a certificate of [`AUTHORITY`]; returns its base URL.
fn serve_tls() -> String {
    let certificate = CertificateDer::from_pem_slice(SERVER.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(SERVER_KEY.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut tls = rustls::StreamOwned::new(rustls::ServerConnection::new(Arc::new(config)).unwrap(), stream);
        let mut request = Vec::new();
        let mut buffer = [0; 1024];
        while !request.ends_with(br#"{"max_tokens":1}"#) {
            match tls.read(&mut buffer) {
                Ok(n) if n > 0 => request.extend_from_slice(&buffer[..n]),
                _ => return,
            }
        }
        tls.write_all(&with_length("200 OK", MESSAGE)).unwrap();
    });
    base
}

async fn call_with_authority(authority: &str) -> Reply {
    let dir = tempfile::tempdir().unwrap();
    let wire = WireSettings { ca_file: Some(ca_file(&dir, authority)), ..WireSettings::default() };
    transport(&serve_tls(), &wire).call(a_call()).await
}

#[tokio::test]
async fn a_private_authority_is_trusted_when_its_file_is_named() {
    let reply = call_with_authority(AUTHORITY).await;
    assert_eq!(reply.verdict.outcome(), Outcome::Succeeded, "{:?}", reply.verdict);
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_no_connection_and_the_remedy_is_named() {
    let reply = call_with_authority(CERTIFICATE).await;
    let (trouble, error) = trouble(&reply);
    assert_eq!(trouble, Trouble::Connect);
    assert!(error.message.contains("invalid peer certificate") && error.message.contains("wire.ca-file"), "{error}");
}

/// Valid until 2126; its key was thrown away.
const AUTHORITY: &str = "-----BEGIN CERTIFICATE-----
MIIBmDCCAT+gAwIBAgIUf0CxTNK9YVOivUvqashA8KBnaKAwCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWZmFuZGVjayB0ZXN0IGF1dGhvcml0eTAgFw0yNjExMjkxODI4
MTZaGA8yMTI2MTEwNTE4MjgxNlowITEfMB0GA1UEAwwWZmFuZGVjayB0ZXN0IGF1
dGhvcml0eTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBAYLbRd+BacBM1u31WI
ZtXZEX3ssRoKFnTuhLKbghU5TXylku4+BN0s5y0BE4cHSEwzfD/BFxejPn99nCm+
UjGjUzBRMB0GA1UdDgQWBBTskX0sb1w+s7BmXwAySmtibtIyCDAfBgNVHSMEGDAW
gBTskX0sb1w+s7BmXwAySmtibtIyCDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0cAMEQCIA6Pof7ibVWlEO1IXrf1LvjXBKbg8SUVkY5Zcb2+1YaMAiAmucGO
x8ccKfJqJD+17LEC4lmfqN3CRyPki4fJ5E8FAw==
-----END CERTIFICATE-----
";

/// For 127.0.0.1, by [`AUTHORITY`].
const SERVER: &str = "-----BEGIN CERTIFICATE-----
MIIBqzCCAVKgAwIBAgIUWePhtJpSUMCEa1HNDL8gxeUj7u4wCgYIKoZIzj0EAwIw
ITEfMB0GA1UEAwwWZmFuZGVjayB0ZXN0IGF1dGhvcml0eTAgFw0yNjExMjkxODI4
MTdaGA8yMTI2MTEwNTE4MjgxN1owFDESMBAGA1UEAwwJMTI3LjAuMC4xMFkwEwYH
KoZIzj0CAQYIKoZIzj0DAQcDQgAEkD3RJ0P56N/9ZA3knLROfuDrPRI3gkFMQ2Dh
W++6HCNV/FRnN7R+n8MtXDYgXxhAm8dRp4anHyJ1rEXl3mfO3aNzMHEwDwYDVR0R
BAgwBocEfwAAATAJBgNVHRMEAjAAMBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1Ud
DgQWBBQE4vj5J8jWiRnFwIS0XvQ1zBI4ljAfBgNVHSMEGDAWgBTskX0sb1w+s7Bm
XwAySmtibtIyCDAKBggqhkjOPQQDAgNHADBEAiAyLJYAXEL03EMUpWKDkN76hoJ6
vV9ltrWtXxx6SZlrVQIgRHTv+cEYdRlOk3LCShS6/KxUjyRQUQj5f387yeisnTY=
-----END CERTIFICATE-----
";

/// Of [`SERVER`]; it protects nothing.
const SERVER_KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8MedAlGX5Is9hpb+
wzhe//Rwo4fIQyJuphFsRRS/aR6hRANCAASQPdEnQ/no3/1kDeSctE5+4Os9EjeC
QUxDYOFb77ocI1X8VGc3tH6fwy1cNiBfGECbx1GnhqcfInWsReXeZ87d
-----END PRIVATE KEY-----
";
