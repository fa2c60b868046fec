//! How the owner hands a plan to its launcher: over the socket, where nobody else can read it, with the command's standard
//! streams as descriptors: output, errors, and input if it has any. Four bytes of length (little endian), then the plan.
//! Before it may come a forecast, a plan without command and streams: what the launcher can get ready for.

use crate::plan::Plan;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv,
    recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// What is missing where the program that was started as a launcher is none.
pub(crate) const UNANSWERED: &str = "the launcher did not answer: call mainpath::launcher_main() first in main";

/// No plan is longer.
const LONGEST: usize = 16 << 20;

/// The standard streams of a command.
#[derive(Debug)]
pub(crate) struct Streams {
    pub output: OwnedFd,
    pub errors: OwnedFd,
    pub input: Option<OwnedFd>,
}

/// Errors: a text of the plan holds a NUL, it is too long, or nobody is there.
pub(crate) fn send(mut to: &UnixStream, plan: &Plan, streams: &Streams) -> io::Result<()> {
    let bytes = framed(plan)?;
    let fds: Vec<_> = [&streams.output, &streams.errors].into_iter().chain(&streams.input).map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let sent = sendmsg(to, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)?;
    to.write_all(bytes.get(sent..).unwrap_or_default())
}

/// Sends a plan without a command. Errors: as before.
pub(crate) fn send_forecast(mut to: &UnixStream, plan: &Plan) -> io::Result<()> {
    to.write_all(&framed(plan)?)
}

fn framed(plan: &Plan) -> io::Result<Vec<u8>> {
    let plan = plan.encode().ok_or(io::ErrorKind::InvalidInput)?;
    if plan.len() > LONGEST {
        return Err(io::ErrorKind::ArgumentListTooLong.into());
    }
    let length = u32::try_from(plan.len()).map_err(io::Error::other)?;
    Ok([&length.to_le_bytes(), plan.as_slice()].concat())
}

/// The first byte of a plan, which stays where it is, once there is one. Errors: the owner is gone.
pub(crate) fn peek(from: &OwnedFd) -> io::Result<u8> {
    let mut begin = [0; 5];
    let flags = RecvFlags::PEEK | RecvFlags::WAITALL;
    match rustix::io::retry_on_intr(|| recv(from, &mut begin, flags))? {
        (5, _) => Ok(begin[4]),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Sends the zygote the socket of a launcher that it is to bear.
pub(crate) fn send_socket(to: &UnixStream, socket: BorrowedFd<'_>) -> io::Result<()> {
    let fds = [socket];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(to, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The socket of a launcher to bear. Errors: the owner is gone.
pub(crate) fn receive_socket(from: &OwnedFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    rustix::io::retry_on_intr(|| {
        recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let rights = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut rights) => rights.next(),
        _ => None,
    });
    rights.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

pub(crate) fn receive(from: &OwnedFd) -> io::Result<(Plan, Streams)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut length = [0; 4];
    let got = rustix::io::retry_on_intr(|| {
        let mut parts = [IoSliceMut::new(&mut length)];
        recvmsg(from, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut fds = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    let mut fds = fds.into_iter();
    let (Some(output), Some(errors), input) = (fds.next(), fds.next(), fds.next()) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let plan = receive_rest(from, length, got.bytes)?;
    Ok((plan, Streams { output, errors, input }))
}

/// A plan without a command.
pub(crate) fn receive_forecast(from: &OwnedFd) -> io::Result<Plan> {
    receive_rest(from, [0; 4], 0)
}

/// The plan, of whose length the first `got` bytes are there already.
fn receive_rest(from: &OwnedFd, mut length: [u8; 4], got: usize) -> io::Result<Plan> {
    let mut rest = std::fs::File::from(from.try_clone()?);
    rest.read_exact(length.get_mut(got..).unwrap_or_default())?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut plan = vec![0; length];
    rest.read_exact(&mut plan)?;
    Plan::decode(&plan).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cage;
    use crate::supervise::GracePeriods;
    use mainpath_types::Confinement;

    fn plan() -> Plan {
        let cage = Cage::new(Confinement::default(), "/w", vec!["/own".into()]);
        let grace = GracePeriods::default();
        Plan { cage, words: vec!["true".into()], folder: "/w/x".into(), env: vec![], limited: true, grace }
    }

    fn streams(input: bool) -> (Streams, io::PipeReader) {
        let (reader, output) = io::pipe().unwrap();
        let input = input.then(|| io::pipe().unwrap().0.into());
        (Streams { errors: output.try_clone().unwrap().into(), output: output.into(), input }, reader)
    }

    #[test]
    fn a_plan_and_its_streams_arrive_and_what_follows_is_left_in_the_socket() {
        for input in [true, false] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let (sent, mut reader) = streams(input);
            send(&ours, &plan(), &sent).unwrap();
            drop(sent);
            (&ours).write_all(b"T").unwrap();
            let theirs = OwnedFd::from(theirs);
            let (got, streams) = receive(&theirs).unwrap();
            assert_eq!((got, streams.input.is_some()), (plan(), input));
            std::fs::File::from(streams.output).write_all(b"hello").unwrap();
            drop(streams.errors);
            let mut text = String::new();
            reader.read_to_string(&mut text).unwrap();
            assert_eq!(text, "hello");
            let mut next = [0; 8];
            assert_eq!(rustix::io::read(&theirs, &mut next), Ok(1));
        }
    }

    #[test]
    fn half_a_plan_or_one_without_streams_is_an_error() {
        let bytes = plan().encode().unwrap();
        let whole = [&u32::try_from(bytes.len()).unwrap().to_le_bytes(), bytes.as_slice()].concat();
        for end in 0..=whole.len() {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(&whole[..end]).unwrap();
            drop(ours);
            assert!(receive(&theirs.into()).is_err(), "{end}");
        }
    }
}
