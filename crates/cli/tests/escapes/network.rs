//! Sockets: by address, by path, by name, and kinds of sockets that a command does not need.

use crate::host::{listens, listens_at, listens_by_name};
use crate::place::{PROBE, Place, User, finish};
use crate::table::{Escape, Way, all_fail, all_fail_inside};

pub const ADDRESSES: &[Escape] = &[
    Escape::told("TCP reaches the host", &["tcp", "{tcp}"]).after(listens),
    Escape::told("UDP reaches the host", &["udp", "{udp}"]).after(listens),
    Escape::told("MPTCP reaches the host", &["mptcp", "{port}"]).after(listens),
    Escape::told("TCP Fast Open reaches the host", &["fast-open", "{port}"]).after(listens),
];

pub const LOCAL: &[Escape] = &[
    Escape::told("a socket of the host in /tmp", &["unix", "{there}"]).after(|place| listens_in(place, "/tmp")),
    Escape::told("a socket of the host in /run", &["unix", "{there}"]).after_root(|place| listens_in(place, "/run")),
    Escape::told("a socket of the host in /var/run", &["unix", "{there}"])
        .after_root(|place| listens_in(place, "/var/run")),
    Escape::told("a socket of the host in /dev/shm", &["unix", "{there}"]).after(|place| listens_in(place, "/dev/shm")),
    Escape::told("a socket of the host in the home", &["unix", "{home}/socket"])
        .after(|place| listens_at(place, "{home}/socket")),
    Escape::told("a socket of the host beside the keys", &["unix", "{home}/.ssh/agent"])
        .after(|place| listens_at(place, "{home}/.ssh/agent")),
    Escape::told("a socket of the host in Mainpath's own folder", &["unix", "{data}/socket"])
        .after(|place| listens_at(place, "{data}/socket")),
    Escape::told("a socket of the host anywhere", &["unix", "{outside}/socket"])
        .after(|place| listens_at(place, "{outside}/socket")),
    Escape::told("a socket of the host without a path", &["abstract", "{abstract}"]).after(listens_by_name),
    Escape::told("a datagram to a socket of the host without a path", &["abstract-datagram", "{abstract-datagram}"])
        .after(listens_by_name),
];

/// In the workspace: by the path that it was bound by, and by another one.
const IN_WORKSPACE: &[Escape] = &[
    Escape::told("a socket of the host in the workspace", &["unix", "{work}/dev.sock"])
        .after(|place| listens_at(place, "{work}/dev.sock")),
    Escape::told("a socket of the host in the workspace, bound by a relative path", &["unix", "run/dev.sock"]).after(
        |place| {
            std::fs::create_dir(place.fill("{work}/run")).unwrap();
            // The kernel lists it by this name, which leads nowhere for other programs.
            let folder = std::fs::File::open(place.fill("{work}/run")).unwrap();
            listens_at(place, &format!("/proc/self/fd/{}/dev.sock", std::os::fd::AsRawFd::as_raw_fd(&folder)));
            place.keep(folder);
        },
    ),
];

/// Families, kinds and protocols by their numbers: `linux/socket.h`, `linux/netlink.h`.
pub const KINDS: &[Escape] = &[
    Escape::told("a vsock socket", &["socket", "40", "1", "0"]),
    Escape::told("a packet socket", &["socket", "17", "3", "768"]).by_root(),
    Escape::told("a packet socket of datagrams", &["socket", "17", "2", "768"]).by_root(),
    Escape::told("a raw socket", &["socket", "2", "3", "1"]).by_root(),
    Escape::told("a raw socket of IPv6", &["socket", "10", "3", "58"]).by_root(),
    Escape::told("an XDP socket", &["socket", "44", "3", "0"]).by_root(),
    Escape::told("netlink: diagnosis of sockets", &["socket", "16", "3", "4"]),
    Escape::told("netlink: events of the kernel", &["socket", "16", "3", "15"]),
    Escape::told("netlink: generic", &["socket", "16", "3", "16"]),
    Escape::told("netlink: the firewall", &["socket", "16", "3", "12"]),
    Escape::told("netlink: IPsec", &["socket", "16", "3", "6"]),
    Escape::told("netlink: audit", &["socket", "16", "3", "9"]),
    Escape::told("a route is changed", &["route"]).by_root(),
];

fn listens_in(place: &mut Place, folder: &str) {
    let path = format!("{folder}/{}.socket", place.root.file_name().unwrap().display());
    place.name("there", &path);
    listens_at(place, &path);
}

#[test]
fn no_address_of_the_host_can_be_reached() {
    all_fail_inside(&[], ADDRESSES);
}

#[test]
fn no_socket_of_the_host_can_be_reached() {
    all_fail_inside(&[], LOCAL);
}

#[test]
fn without_a_network_no_socket_of_the_host_in_the_workspace_can_be_reached() {
    for mode in ["read-only", "workspace-write"] {
        all_fail(&[(Way::Sandbox(&["--mode", mode]), IN_WORKSPACE)]);
    }
}

#[test]
fn kinds_of_sockets_that_no_command_needs_are_denied() {
    all_fail_inside(&[], KINDS);
}

#[test]
fn with_the_network_allowed_local_sockets_and_strange_kinds_stay_out_of_reach() {
    all_fail(&[LOCAL, KINDS].map(|table| (Way::Sandbox(&["--network", "allow"]), table)));
}

#[test]
fn with_the_network_allowed_the_host_is_reached() {
    for user in User::all() {
        let mut place = Place::new(*user);
        listens(&mut place);
        for words in [&["tcp", "{tcp}"], &["udp", "{udp}"]] {
            let words = [&PROBE[..], words].concat();
            let done = finish(place.inside(&["--network", "allow"], &words));
            assert_eq!(done.code, 0, "{user:?}: {words:?}: {done:#?}");
        }
    }
}
