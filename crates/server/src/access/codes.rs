//! Codes that sign a browser in: each is good once, for a short time, and for programs of the owner on this machine alone.
//!
//! A code is a file beside the keys, so that also another process than the server makes one. What is in an address can be read by every
//! user of a machine (`ps`); so whoever comes with a code must run as the user whose server it is.

use super::keys::Keys;
use mainpath::Error;
use sha2::{Digest, Sha256};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

/// How long a code is good for.
const GOOD: Duration = Duration::from_secs(120);
/// How the files of codes begin.
const FILE: &str = "code-";

impl Keys {
    /// Makes a code for [`Keys::take_code`]. Codes that nobody came with are removed. Errors: it cannot be written.
    pub fn make_code(&self) -> Result<String, Error> {
        for entry in std::fs::read_dir(self.folder())?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(FILE) && !is_good(&entry.path()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
        let code = super::keys::random()?;
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.code_file(&code))?;
        Ok(code)
    }

    /// Whether a code was made and is still good. It is not any more after this.
    pub fn take_code(&self, code: &str) -> bool {
        let file = self.code_file(code);
        // Of two that come at once, one removes it.
        is_good(&file) && std::fs::remove_file(&file).is_ok()
    }

    fn code_file(&self, code: &str) -> PathBuf {
        let digest = Sha256::digest(code.as_bytes());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder().join(format!("{FILE}{digest}"))
    }
}

fn is_good(file: &std::path::Path) -> bool {
    let made = std::fs::symlink_metadata(file).and_then(|meta| meta.modified());
    made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age <= GOOD))
}

/// Whether the program at the other end of a connection is of the user that this process runs as: what the kernel's table of connections
/// says. `false` where there is no such table.
pub fn is_own(peer: SocketAddr, here: SocketAddr) -> bool {
    let table = match peer {
        SocketAddr::V4(_) => "/proc/self/net/tcp",
        SocketAddr::V6(_) => "/proc/self/net/tcp6",
    };
    let Ok(text) = std::fs::read_to_string(table) else { return false };
    owner_in(&text, peer, here).is_some_and(|user| user == rustix::process::geteuid().as_raw())
}

/// The user whose end of a connection `peer` is, from the lines of `/proc/net/tcp` (proc_pid_net(5)): number, own address, other address,
/// state, queues, timer, retransmits, user, …; an address is its bytes as words of this machine's order, and the port, in hexadecimal.
fn owner_in(table: &str, peer: SocketAddr, here: SocketAddr) -> Option<u32> {
    let (peer, here) = (written(peer), written(here));
    table.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_it = fields.next() == Some(&peer) && fields.next() == Some(&here);
        if is_it { fields.nth(4)?.parse().ok() } else { None }
    })
}

fn written(address: SocketAddr) -> String {
    let bytes = match address {
        SocketAddr::V4(address) => address.ip().octets().to_vec(),
        SocketAddr::V6(address) => address.ip().octets().to_vec(),
    };
    let words = bytes.as_chunks::<4>().0.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word)));
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_and_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::open(folder.path()).unwrap();
        let (one, other) = (keys.make_code().unwrap(), keys.make_code().unwrap());
        assert_ne!(one, other);
        assert_eq!([keys.take_code(&one), keys.take_code(&one)], [true, false]);
        let old = std::fs::File::options().write(true).open(keys.code_file(&other)).unwrap();
        old.set_modified(std::time::SystemTime::now() - GOOD - Duration::from_secs(1)).unwrap();
        assert!(!keys.take_code(&other));
        assert!(!keys.take_code("") && !keys.take_code("../token"));
        let third = keys.make_code().unwrap();
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!((left, keys.take_code(&third)), (1, true));
    }

    #[test]
    fn the_other_end_of_a_connection_is_known_by_its_user() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(here).unwrap();
        let (_held, peer) = listener.accept().unwrap();
        assert_eq!(client.local_addr().unwrap(), peer);
        assert!(is_own(peer, here));
        assert!(!is_own(SocketAddr::new(peer.ip(), 1), here));
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:D431 0100007F:1F40 01 00000000:00000000 00:00000000 00000000  1001        0 1 1\n";
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        if cfg!(target_endian = "little") {
            assert_eq!(owner_in(table, at(0xD431), at(8000)), Some(1001));
            assert_eq!(owner_in(table, at(8000), at(0xD431)), None);
        }
    }
}
