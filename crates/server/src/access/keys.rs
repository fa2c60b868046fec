//! The keys by which programs and people are known: a file that holds their digests, never the keys themselves.

use super::audit::Audit;
use super::scope::Scope;
use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainpath::store::{cause_of, create_private, is_scarce};
use mainpath::types::{Millis, Principal, TenantId};
use mainpath::{Error, ErrorKind};
use rustix::fs::{FlockOperation, flock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// How a key begins, so that people and scanners know it for one.
const BEGIN: &str = "mp_";
/// The random bytes of a key.
const BYTES: usize = 32;
/// The name of the owner's own key, which the server makes when it starts.
pub const OWNER: &str = "owner";
/// By whom it is made.
const SERVER: &str = "mainpath serve";

/// What is kept of a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// What it is called: an approval that it gives bears the name.
    pub name: String,
    /// SHA-256 of the key, in base64url. It is drawn from 256 bits, so nobody finds it from that.
    pub digest: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whose traces it reaches.
    pub tenant: TenantId,
    /// When it was made.
    pub created: Millis,
    /// From when on it is good for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Millis>,
}

/// A key as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedKey {
    /// What it is called.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whose traces it reaches.
    pub tenant: TenantId,
    /// When it was made, as RFC 3339 in UTC.
    pub created: String,
    /// From when on it is good for nothing.
    pub expires: Option<String>,
}

impl From<&Key> for ListedKey {
    fn from(key: &Key) -> ListedKey {
        ListedKey {
            name: key.name.clone(),
            scopes: key.scopes.clone(),
            tenant: key.tenant.clone(),
            created: mainpath::types::format_time(key.created),
            expires: key.expires.map(mainpath::types::format_time),
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The name of the key.
    pub name: String,
    /// As whom it acts: what it sends and approves bears this name.
    pub principal: Principal,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whose traces it reaches.
    pub tenant: TenantId,
}

impl Who {
    /// Whether it may do this.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// What is asked for of a new key.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// What it is called.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whose traces it reaches.
    pub tenant: TenantId,
    /// From when on it is good for nothing.
    pub expires: Option<Millis>,
}

/// The file of keys, and the owner's own key beside it.
pub struct Keys {
    folder: PathBuf,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    at: Option<SystemTime>,
    keys: Vec<Key>,
}

fn owner_of(keys: Vec<Key>, key: &str, now: Millis) -> Option<Who> {
    let digest = digest(key);
    // Only digests are compared, and a client cannot choose a digest: the time of the comparison reveals nothing about a key.
    let key = keys.into_iter().find(|known| known.digest == digest)?;
    if key.expires.is_some_and(|expires| expires <= now) {
        return None;
    }
    let principal = match key.name.as_str() {
        OWNER => Principal::local_user(),
        name => format!("key.{name}").parse().ok()?,
    };
    Some(Who { name: key.name, principal, scopes: key.scopes, tenant: key.tenant })
}

fn digest(key: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(key.as_bytes()))
}

/// Letters that nobody guesses. Errors: the system has no random numbers.
pub(super) fn random() -> Result<String, Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::failed(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

impl Keys {
    /// The keys in a folder that only its owner can read; it is made if it is not there. Errors: it cannot be made.
    pub fn open(folder: &Path) -> Result<Keys, Error> {
        create_private(folder)?;
        Ok(Keys { folder: folder.into(), known: Mutex::default() })
    }

    /// The folder that they lie in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self) -> PathBuf {
        self.folder.join("keys.json")
    }

    /// Where the owner's own key lies.
    pub fn token_file(&self) -> PathBuf {
        self.folder.join("token")
    }

    /// The owner's own key, which may do everything: this machine's command and pages find it in its file. Made at the first call, and
    /// where it is gone; the audit log has it. Errors: the files cannot be read or written.
    pub fn token(&self) -> Result<String, Error> {
        match std::fs::read_to_string(self.token_file()) {
            Ok(text) if self.who(text.trim(), 0)?.is_some() => return Ok(text.trim().into()),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::failed(format!("{} cannot be read: {error}", self.token_file().display())));
            }
            _ => {}
        }
        let (now, audit) = (mainpath::values::now(), Audit::new(&self.folder));
        if self.revoke(OWNER)? {
            audit.add(now, SERVER, "key_revoked", json!({"name": OWNER}))?;
        }
        let (scopes, tenant) = (Scope::ALL.to_vec(), TenantId::local());
        let what = json!({"name": OWNER, "scopes": scopes, "tenant": tenant});
        let text = self.added(NewKey { name: OWNER.into(), scopes, tenant, expires: None }, now)?;
        audit.add(now, SERVER, "key_made", what)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        writeln!(file, "{text}")?;
        file.as_file().sync_all()?;
        file.persist(self.token_file()).map_err(|error| error.error)?;
        Ok(text)
    }

    /// The owner of a key; `None` for an unknown key, and for one that has expired by then.
    ///
    /// # Errors
    /// The file of the keys cannot be opened for now ([`ErrorKind::Scarce`]). With one that cannot be read otherwise, no key is known.
    pub fn who(&self, key: &str, now: Millis) -> Result<Option<Who>, Error> {
        match self.all() {
            Ok(keys) => Ok(owner_of(keys, key, now)),
            Err(error) if error.kind() == ErrorKind::Scarce => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// All keys. Errors: the file cannot be read.
    pub fn all(&self) -> Result<Vec<Key>, Error> {
        let at = std::fs::metadata(self.file()).and_then(|meta| meta.modified()).ok();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.at != at || at.is_none() {
            *known = Known { at, keys: self.read()? };
        }
        Ok(known.keys.clone())
    }

    fn read(&self) -> Result<Vec<Key>, Error> {
        match std::fs::read_to_string(self.file()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => {
                let kind = if is_scarce(cause_of(&error)) { ErrorKind::Scarce } else { ErrorKind::Failed };
                Err(Error::new(kind, format!("{} cannot be read: {error}", self.file().display())))
            }
            Ok(text) => serde_json::from_str(&text)
                .map_err(|error| Error::failed(format!("{}: {error}", self.file().display()))),
        }
    }

    /// Makes a key, and gives it: it is shown this once. Errors: there is one of this name, it is the owner's, or nothing can be written.
    pub fn make(&self, wanted: NewKey, now: Millis) -> Result<String, Error> {
        if wanted.name == OWNER {
            let why = ": \"owner\" is the key that mainpath serve makes by itself; choose another name";
            return Err(Error::of_field("name", why));
        }
        self.added(wanted, now)
    }

    fn added(&self, wanted: NewKey, now: Millis) -> Result<String, Error> {
        let NewKey { name, scopes, tenant, expires } = wanted;
        if format!("key.{name}").parse::<Principal>().is_err() || name.contains('@') || name.len() > 64 {
            return Err(Error::of_field("name", format!(": {name:?} is no name: up to 64 letters, digits, - _ .")));
        }
        if scopes.is_empty() {
            return Err(Error::of_field("scopes", ": a key that may do nothing is good for nothing"));
        }
        let text = format!("{BEGIN}{}", random()?);
        self.change(|keys| {
            if keys.iter().any(|key| key.name == name) {
                return Err(Error::of_field("name", format!(": there is a key {name:?} already")));
            }
            keys.push(Key { name, digest: digest(&text), scopes, tenant, created: now, expires });
            Ok(())
        })?;
        Ok(text)
    }

    /// Revokes a key at once. Whether there was one.
    pub fn revoke(&self, name: &str) -> Result<bool, Error> {
        let mut was = false;
        self.change(|keys| {
            let before = keys.len();
            keys.retain(|key| key.name != name);
            was = keys.len() < before;
            Ok(())
        })?;
        Ok(was)
    }

    /// Changes the file under a lock, whole or not at all.
    fn change(&self, change: impl FnOnce(&mut Vec<Key>) -> Result<(), Error>) -> Result<(), Error> {
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(self.folder.join("keys.lock"))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(std::io::Error::from)?;
        let mut keys = self.read()?;
        change(&mut keys)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        serde_json::to_writer_pretty(&mut file, &keys).map_err(std::io::Error::from)?;
        file.as_file().sync_all()?;
        file.persist(self.file()).map_err(|error| error.error)?;
        File::open(&self.folder)?.sync_all()?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Known::default();
        Ok(())
    }
}

/// The key that a request bears. A page that opens a WebSocket can send no header: it names it as a protocol, `bearer.KEY`.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer =
        bearer.and_then(|text| text.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    bearer.map(|(_, key)| key.trim()).or_else(|| {
        let protocols = headers.get(header::SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
        protocols.split(',').find_map(|protocol| protocol.trim().strip_prefix("bearer."))
    })
}
