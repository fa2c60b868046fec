//! Keys: the owner's, in a file that only the owner can read, and public ones, as people hand them on.

use crate::{Error, ErrorKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use mainpath_store::{create_private, read_regular_text};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use std::fmt;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// What comes before the 32 bytes of a private key of ed25519 in PKCS #8 (RFC 8410, section 7), as OpenSSL writes it.
const PRIVATE: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
/// The same of a public one (RFC 8410, section 4).
const PUBLIC: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// The key of this home's owner.
pub struct OwnerKey(Ed25519KeyPair);

impl fmt::Debug for OwnerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnerKey({})", self.public())
    }
}

impl OwnerKey {
    /// Makes a key, durably, in a file that only its owner can read. Errors: there is one already, or it cannot be written.
    pub fn make(file: &Path) -> Result<OwnerKey, Error> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| Error::failed(format!("no random numbers available: {error}")))?;
        let key = OwnerKey::of_seed(&seed)?;
        let text = pem("PRIVATE KEY", &[&PRIVATE[..], &seed].concat());
        let wrong = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::new(
                ErrorKind::Refused,
                format!("there is a key already: {}; keep it, or move it away first", file.display()),
            ),
            _ => Error::of_io(&error, format!("{} cannot be written: {error}", file.display())),
        };
        if let Some(folder) = file.parent() {
            create_private(folder).map_err(wrong)?;
        }
        let mut made =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(wrong)?;
        made.write_all(text.as_bytes()).and_then(|()| made.sync_all()).map_err(|error| {
            // Half a key would be in the way of a whole one.
            let _ = std::fs::remove_file(file);
            wrong(error)
        })?;
        Ok(key)
    }

    /// The key in a file, `None` if there is no such file. Errors: others can read it, or it is no key.
    pub fn read(file: &Path) -> Result<Option<OwnerKey>, Error> {
        let text = match read_regular_text(file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => {
                read.map_err(|error| Error::of_io(&error, format!("{} cannot be read: {error}", file.display())))?
            }
        };
        let mode = std::fs::metadata(file).map(|data| data.mode()).unwrap_or_default();
        if mode & 0o077 != 0 {
            return Err(Error::failed(format!(
                "others can read the key {}: chmod 600 {0}, and make a new one if they have",
                file.display()
            )));
        }
        let seed = bytes_of("PRIVATE KEY", &text).and_then(|der| {
            let seed = der.strip_prefix(&PRIVATE)?;
            <[u8; 32]>::try_from(seed).ok()
        });
        let wrong = || Error::failed(format!("{} is no private key of ed25519 in PEM", file.display()));
        OwnerKey::of_seed(&seed.ok_or_else(wrong)?).map(Some)
    }

    fn of_seed(seed: &[u8; 32]) -> Result<OwnerKey, Error> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        pair.map(OwnerKey).map_err(|error| Error::failed(format!("the key cannot be used: {error}")))
    }

    /// What others check its signatures with.
    pub fn public(&self) -> PublicKey {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(bytes)
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes.copy_from_slice(self.0.sign(message).as_ref());
        bytes
    }
}

/// A public key of ed25519. It is written as its 32 bytes in base64url: that is also what it is called by.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// A key as people give it: its 43 characters, the PEM of OpenSSL, or a file with one of them. Errors: it is none of these.
    pub fn given(text: &str) -> Result<PublicKey, Error> {
        if let Some(key) = PublicKey::parse(text) {
            return Ok(key);
        }
        let read = read_regular_text(Path::new(text)).ok();
        read.as_deref().and_then(PublicKey::parse).ok_or_else(|| {
            let shown: String = text.chars().take(100).collect();
            Error::invalid(format!(
                "{shown:?} is no public key of ed25519 (43 characters, or PEM), and no file with one"
            ))
        })
    }

    /// The same without files.
    pub fn parse(text: &str) -> Option<PublicKey> {
        let text = text.trim();
        let bytes = match bytes_of("PUBLIC KEY", text) {
            Some(der) => der.strip_prefix(&PUBLIC)?.to_vec(),
            None => URL_SAFE_NO_PAD.decode(text).ok()?,
        };
        <[u8; 32]>::try_from(bytes).ok().map(PublicKey)
    }

    /// As OpenSSL reads it.
    pub fn pem(&self) -> String {
        pem("PUBLIC KEY", &[&PUBLIC[..], &self.0].concat())
    }

    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

/// A text of PEM; what is in it here fits into one line.
fn pem(label: &str, bytes: &[u8]) -> String {
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(bytes))
}

fn bytes_of(label: &str, text: &str) -> Option<Vec<u8>> {
    let inner = text.trim().strip_prefix(&format!("-----BEGIN {label}-----"))?;
    let inner = inner.strip_suffix(&format!("-----END {label}-----"))?;
    let one: String = inner.split_whitespace().collect();
    STANDARD.decode(one).ok()
}
