//! How the owner hands a plan to its launcher: over the socket, where nobody else can read it, with the command's standard
//! input as a descriptor if it has one. Four bytes of length (little endian), then the plan.

use crate::cage::Plan;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// No plan is longer.
const LONGEST: usize = 1 << 20;

pub(crate) fn send(mut to: &UnixStream, plan: &Plan, input: Option<OwnedFd>) -> io::Result<()> {
    let plan = plan.encode();
    let length = u32::try_from(plan.len()).map_err(io::Error::other)?;
    let bytes = [&length.to_le_bytes(), plan.as_slice()].concat();
    let fds: Vec<_> = input.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    }
    let sent = sendmsg(to, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    to.write_all(bytes.get(sent..).unwrap_or_default())
}

pub(crate) fn receive(from: &OwnedFd) -> io::Result<(Plan, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    let got = rustix::io::retry_on_intr(|| {
        let mut parts = [IoSliceMut::new(&mut length)];
        recvmsg(from, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let input = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    let mut rest = std::fs::File::from(from.try_clone()?);
    rest.read_exact(length.get_mut(got.bytes..).unwrap_or_default())?;
    let length = u32::from_le_bytes(length) as usize;
    if got.bytes == 0 || length > LONGEST {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut plan = vec![0; length];
    rest.read_exact(&mut plan)?;
    let plan = Plan::decode(&plan).ok_or(io::ErrorKind::InvalidData)?;
    Ok((plan, input))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cage;
    use mainpath_types::Confinement;

    #[test]
    fn a_plan_and_an_open_file_arrive_and_what_follows_is_left_in_the_socket() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let cage = Cage::new(Confinement::default(), "/w", vec!["/own".into()]);
        let plan = Plan { cage, folder: "/w/x".into(), limited: true };
        let (mut reader, writer) = io::pipe().unwrap();
        send(&ours, &plan, Some(writer.into())).unwrap();
        (&ours).write_all(b"T").unwrap();
        let theirs = OwnedFd::from(theirs);
        let (got, input) = receive(&theirs).unwrap();
        assert_eq!(got, plan);
        std::fs::File::from(input.unwrap()).write_all(b"hello").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
        let mut next = [0; 8];
        assert_eq!(rustix::io::read(&theirs, &mut next), Ok(1));
    }

    #[test]
    fn half_a_plan_is_an_error() {
        let plan = Plan { cage: Cage::open(), folder: "/".into(), limited: false }.encode();
        let whole = [&u32::try_from(plan.len()).unwrap().to_le_bytes(), plan.as_slice()].concat();
        for end in 0..whole.len() {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(&whole[..end]).unwrap();
            drop(ours);
            assert!(receive(&theirs.into()).is_err(), "{end}");
        }
    }
}
