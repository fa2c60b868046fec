//! Where the server of a home listens: so that there is one, and that `mainpath ui` finds it.

use mainpath::Error;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const FILE: &str = "address";

/// As long as this is held, there is no other server of the home.
pub struct Serving {
    file: File,
}

impl Serving {
    /// Begins to be the server of a home. Errors: there is one, or its file cannot be written.
    pub fn begin(folder: &Path) -> Result<Serving, Error> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(folder.join(FILE))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Serving { file }),
            Err(_) => {
                let at = served_at(folder).map_or_else(String::new, |at| format!(", at http://{at}"));
                Err(Error::failed(format!("a server of this home runs already{at}; stop it first")))
            }
        }
    }

    /// Tells where it listens. Errors: that cannot be written.
    pub fn tell(&self, at: SocketAddr) -> Result<(), Error> {
        self.file.set_len(0)?;
        Ok(write!(&self.file, "{at}")?)
    }
}

/// Where a server of a home listens now.
pub fn served_at(folder: &Path) -> Option<SocketAddr> {
    let file = File::open(folder.join(FILE)).ok()?;
    // Whoever runs holds it.
    if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
        return None;
    }
    std::io::read_to_string(file).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_has_one_server_and_it_is_found_as_long_as_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other): (SocketAddr, SocketAddr) =
            ("127.0.0.1:8000".parse().unwrap(), "127.0.0.1:801".parse().unwrap());
        assert_eq!(served_at(folder.path()), None);
        let first = Serving::begin(folder.path()).unwrap();
        first.tell(one).unwrap();
        assert_eq!(served_at(folder.path()), Some(one));
        let refused = Serving::begin(folder.path()).map(drop).unwrap_err();
        assert_eq!(refused.message(), "a server of this home runs already, at http://127.0.0.1:8000; stop it first");
        drop(first);
        assert_eq!(served_at(folder.path()), None);
        Serving::begin(folder.path()).unwrap().tell(other).unwrap();
        let second = Serving::begin(folder.path()).unwrap();
        second.tell(other).unwrap();
        assert_eq!(served_at(folder.path()), Some(other));
    }
}
