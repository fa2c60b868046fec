//! Deeds done over sockets.

use super::{Deed, check, number};
use std::io::{self, Read, Write};
use std::mem::size_of;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixStream};
use std::time::Duration;

pub fn deed(words: &[&str]) -> Option<Deed> {
    Some(match *words {
        ["tcp", address] => TcpStream::connect(address).and_then(greeted),
        ["udp", address] => UdpSocket::bind("127.0.0.1:0").and_then(|it| udp(&it, address)),
        ["mptcp", port] => connect(libc::IPPROTO_MPTCP, number(port)).and_then(|fd| greeted(TcpStream::from(fd))),
        ["fast-open", port] => fast_open(number(port)),
        ["socket", family, kind, protocol] => socket(number(family), number(kind), number(protocol)).map(|_| true),
        ["unix", path] => UnixStream::connect(path).and_then(greeted),
        ["unix-datagram", path] => datagram(|socket| socket.send_to(b"changed", path)),
        ["abstract", name] => {
            let address = SocketAddr::from_abstract_name(name).unwrap();
            UnixStream::connect_addr(&address).and_then(greeted)
        }
        ["abstract-datagram", name] => {
            let address = SocketAddr::from_abstract_name(name).unwrap();
            datagram(|socket| socket.send_to_addr(b"changed", &address))
        }
        ["route"] => route(),
        _ => return None,
    })
}

/// The listeners of the host greet everybody.
pub const GREETING: &str = "from the host";

fn greeted(mut stream: impl Read) -> Deed {
    let mut bytes = [0; GREETING.len()];
    stream.read_exact(&mut bytes)?;
    Ok(bytes == GREETING.as_bytes())
}

fn udp(socket: &UdpSocket, address: &str) -> Deed {
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    socket.send_to(b"changed", address)?;
    let mut bytes = [0; 64];
    let (length, _) = socket.recv_from(&mut bytes)?;
    Ok(&bytes[..length] == GREETING.as_bytes())
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    let fd = check(unsafe { libc::socket(family, kind, protocol) })?;
    // SAFETY: it was opened just now and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn loopback(port: i32) -> libc::sockaddr_in {
    // SAFETY: an address of zeros is one.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_port = (port as u16).to_be();
    address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
    address
}

fn connect(protocol: i32, port: i32) -> io::Result<OwnedFd> {
    let (socket, address) = (socket(libc::AF_INET, libc::SOCK_STREAM, protocol)?, loopback(port));
    let size = size_of::<libc::sockaddr_in>() as u32;
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), size) })?;
    Ok(socket)
}

/// A connection that no `connect` makes.
fn fast_open(port: i32) -> Deed {
    let (socket, address) = (socket(libc::AF_INET, libc::SOCK_STREAM, 0)?, loopback(port));
    let size = size_of::<libc::sockaddr_in>() as u32;
    let text = b"hello";
    check(unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            text.as_ptr().cast(),
            text.len(),
            libc::MSG_FASTOPEN,
            (&raw const address).cast(),
            size,
        ) as i64
    })?;
    greeted(TcpStream::from(socket))
}

/// Whether a datagram could be sent; the host sees that it has come.
fn datagram(send: impl Fn(&UnixDatagram) -> io::Result<usize>) -> Deed {
    send(&UnixDatagram::unbound()?).map(|_| true)
}

/// Adds a route to a network for documentation, and removes it.
fn route() -> Deed {
    const NEW: u16 = 24;
    const DELETE: u16 = 25;
    let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    let ask = |kind: u16, flags: u16| -> io::Result<i32> {
        let mut message = Vec::new();
        // nlmsghdr: length, type, flags, sequence, port.
        message.extend(52u32.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((flags | 1 | 4).to_ne_bytes());
        message.extend([0; 8]);
        // rtmsg: IPv4, /24, no source, no type of service; main table, static, from everywhere, unicast; no flags.
        message.extend([2, 24, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0]);
        // The destination 192.0.2.0, by the interface 1, which is the loopback.
        message.extend([8, 0, 1, 0, 192, 0, 2, 0]);
        message.extend([8, 0, 4, 0, 1, 0, 0, 0]);
        message.extend([8, 0, 6, 0, 0, 1, 0, 0]);
        message.truncate(52);
        let mut file = std::fs::File::from(socket.try_clone()?);
        file.write_all(&message)?;
        let mut answer = [0; 4096];
        let length = file.read(&mut answer)?;
        // The answer is an error message whose number follows its header; zero is success.
        Ok(i32::from_ne_bytes(answer[16..20.min(length)].try_into().unwrap()))
    };
    match ask(NEW, 0x600)? {
        0 => ask(DELETE, 0).map(|answer| answer == 0),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
