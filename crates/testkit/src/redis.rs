//! A real Redis server on a free port of this machine.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A Redis server with a password. It is ended when this is dropped.
#[derive(Debug)]
pub struct Redis {
    /// Where it listens, on 127.0.0.1.
    pub port: u16,
    process: Child,
    _folder: tempfile::TempDir,
}

impl Redis {
    /// Its password.
    pub const PASSWORD: &str = "redis-pass";

    /// Starts one, and waits until it answers. Panics where `redis-server` is not installed.
    pub fn start() -> Redis {
        loop {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let folder = tempfile::tempdir().unwrap();
            let mut process = Command::new("redis-server")
                .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--requirepass", Self::PASSWORD])
                .args(["--port", &port.to_string(), "--dir", &folder.path().display().to_string()])
                .stdout(Stdio::null())
                .spawn()
                .expect("redis-server cannot be started: `make test` installs it from Debian's package redis-server");
            // Somebody else may have taken the port meanwhile: then the server ends by itself.
            while process.try_wait().unwrap().is_none() {
                if answers(port, process.id()) {
                    return Redis { port, process, _folder: folder };
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Its address without the password.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// What a list on it holds.
    pub fn list(&self, key: &str) -> Vec<String> {
        let mut server = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let ask = format!("AUTH {}\r\nLRANGE {key} 0 -1\r\nQUIT\r\n", Redis::PASSWORD);
        server.write_all(ask.as_bytes()).unwrap();
        let mut said = String::new();
        server.read_to_string(&mut said).unwrap();
        // Each of its texts is a line, after one that says how long it is.
        said.lines().filter(|line| line.starts_with('{')).map(String::from).collect()
    }

    /// Its address with the password.
    pub fn open_url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}/", Self::PASSWORD, self.port)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Whether the server of this process takes commands: another one may have been quicker to take the port.
fn answers(port: u16, process: u32) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut server = TcpStream::connect(("127.0.0.1", port))?;
        server.set_read_timeout(Some(Duration::from_secs(1)))?;
        server.write_all(format!("AUTH {}\r\nINFO server\r\nQUIT\r\n", Redis::PASSWORD).as_bytes())?;
        let mut said = String::new();
        server.read_to_string(&mut said)?;
        Ok(said.lines().any(|line| line.strip_prefix("process_id:") == Some(&process.to_string())))
    };
    ask().unwrap_or(false)
}
