//! What the host has that a command must not reach: listeners and processes.

use crate::place::{Place, own, wait_until};
use crate::probe::GREETING;
use rustix::net::{Shutdown, shutdown};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

/// A listener that greets whoever comes, until this is dropped.
struct Listener {
    socket: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    fn serve<S: Write>(socket: &impl AsFd, accept: impl Fn() -> Option<S> + Send + 'static) -> Listener {
        let serve = move || {
            while let Some(mut stream) = accept() {
                let _ = stream.write_all(GREETING.as_bytes());
            }
        };
        Listener { socket: socket.as_fd().try_clone_to_owned().unwrap(), thread: Some(std::thread::spawn(serve)) }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Its `accept` fails then.
        let _ = shutdown(&self.socket, Shutdown::Both);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// `{tcp}`, `{udp}`: addresses of listeners; `{port}` is that of TCP.
pub fn listens(place: &mut Place) {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    place.name("tcp", &address.to_string());
    place.name("port", &address.port().to_string());
    let socket = tcp.try_clone().unwrap();
    place.keep(Listener::serve(&socket, move || tcp.accept().ok().map(|(stream, _)| stream)));
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    place.name("udp", &udp.local_addr().unwrap().to_string());
    place.keep(Echo::start(udp));
}

/// A socket that answers every datagram.
struct Echo {
    socket: UdpSocket,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    fn start(socket: UdpSocket) -> Echo {
        let own = socket.try_clone().unwrap();
        let answer = move || {
            while let Ok((1.., whom)) = own.recv_from(&mut [0; 64]) {
                let _ = own.send_to(GREETING.as_bytes(), whom);
            }
        };
        Echo { socket, thread: Some(std::thread::spawn(answer)) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // An empty datagram ends it.
        let _ = self.socket.send_to(&[], self.socket.local_addr().unwrap());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A listener of the host at a path; everybody may connect.
pub fn listens_at(place: &mut Place, path: &str) {
    let path = place.fill(path);
    let unix = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    place.keep(Remove(path.into()));
    let socket = unix.try_clone().unwrap();
    place.keep(Listener::serve(&socket, move || unix.accept().ok().map(|(stream, _)| stream)));
}

/// `{abstract}` and `{abstract-datagram}`: names of the host's sockets that lie in no folder.
pub fn listens_by_name(place: &mut Place) {
    let name = |kind: &str| format!("mainpath-{kind}-{}", place.root.display());
    let (stream, datagram) = (name("stream"), name("datagram"));
    let unix = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&stream).unwrap()).unwrap();
    let socket = unix.try_clone().unwrap();
    place.keep(Listener::serve(&socket, move || unix.accept().ok().map(|(stream, _)| stream)));
    place.keep(UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&datagram).unwrap()).unwrap());
    place.name("abstract", &stream);
    place.name("abstract-datagram", &datagram);
}

/// A file that goes when this is dropped.
pub struct Remove(pub std::path::PathBuf);

impl Drop for Remove {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A process that is ended when this is dropped.
pub struct Process(pub Child);

impl Process {
    pub fn start(mut command: Command) -> Process {
        Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a process runs, that is, is there and does not just wait to be reaped.
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// `{victim}`: the number of a process of the same user, which holds a file that no path leads to any more open as
/// descriptor 7, works in the folder `outside`, and knows a word.
pub fn has_a_victim(place: &mut Place) {
    let script = "echo 'the word of the victim' > lost; exec 7< lost; rm lost; exec sleep 1000";
    let mut command = place.outside(&["/bin/sh", "-c", script]);
    command.current_dir(place.path("outside")).env("WORD", "the word of the victim").process_group(0);
    let victim = Process::start(command);
    wait_until("the victim sleeps", || {
        std::fs::read_to_string(format!("/proc/{}/comm", victim.id())).is_ok_and(|name| name == "sleep\n")
    });
    place.name("victim", &victim.id().to_string());
    place.victim = victim.id();
    place.keep(victim);
}

/// The command has a terminal as its own from now on. Gives the other side of it.
pub fn terminal(place: &mut Place) -> File {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    place.stdin = Some(File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap());
    own(name.to_str().unwrap().as_ref(), place.user.uid());
    place.before = ["setsid", "--ctty", "--wait"].map(String::from).into();
    master.into()
}
