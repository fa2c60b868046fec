//! Where a server of a home listens: so that `mainpath ui` finds the one that runs already.

use mainpath::Error;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const FILE: &str = "address";

/// As long as this is held, others find the server. Of several servers of one home the first is found.
pub struct Serving {
    _file: File,
}

impl Serving {
    /// Tells where this one listens, unless another is told of. Errors: it cannot be written.
    pub fn tell(folder: &Path, at: SocketAddr) -> Result<Option<Serving>, Error> {
        let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(folder.join(FILE));
        let mut file = open?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(None);
        }
        file.set_len(0)?;
        write!(file, "{at}")?;
        Ok(Some(Serving { _file: file }))
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
    fn a_server_is_found_as_long_as_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = ("127.0.0.1:8000".parse().unwrap(), "127.0.0.1:8001".parse().unwrap());
        assert_eq!(served_at(folder.path()), None);
        let first = Serving::tell(folder.path(), one).unwrap().unwrap();
        assert!(Serving::tell(folder.path(), other).unwrap().is_none());
        assert_eq!(served_at(folder.path()), Some(one));
        drop(first);
        assert_eq!(served_at(folder.path()), None);
        let _second = Serving::tell(folder.path(), other).unwrap().unwrap();
        assert_eq!(served_at(folder.path()), Some(other));
    }
}
