//! Entries of the mailbox: consumed once, in any order, and never poison.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn entry(number: MailId, kind: InputKind) -> Input {
    Input { at: 1_000, mail: Some(number), more: false, kind }
}

fn stamps(agent: &Agent) -> Vec<(&'static str, MailId)> {
    agent.log.iter().filter_map(|event| Some((event.kind.name(), event.mail?))).collect()
}

#[test]
fn the_event_that_an_entry_caused_bears_its_number_and_no_other_does() {
    let mut agent = Agent::new(no_limits());
    agent.offer(&entry(1, mail(MessageMode::Message, "do it"))).unwrap();
    assert_eq!(stamps(&agent), [("message_queued", 1)]);
    assert_eq!(agent.log.len(), 5);
}

#[test]
fn an_entry_is_consumed_once_also_across_a_crash() {
    let mut agent = Agent::new(no_limits());
    let first = entry(1, mail(MessageMode::Message, "do it"));
    agent.offer(&first).unwrap();
    assert_eq!(agent.offer(&first), Err(Refusal::MailConsumed(1)));
    let mut agent = agent.crashed();
    agent.takes(recovered());
    assert_eq!(agent.offer(&first), Err(Refusal::MailConsumed(1)));
}

#[test]
fn an_entry_that_is_refused_is_an_event_so_that_it_is_not_read_again() {
    let mut agent = Agent::new(no_limits());
    let shown = agent.offer(&entry(1, stop()));
    assert_eq!(shown, Ok(vec!["mail_refused".to_string()]));
    let EventKind::MailRefused(refused) = agent.last() else { panic!("a refusal") };
    assert_eq!(refused.problem, Refusal::NotRunning.to_string());
    assert_eq!(agent.offer(&entry(1, stop())), Err(Refusal::MailConsumed(1)));
    let shown = agent.offer(&entry(2, InputKind::BadMail { problem: "no such command".into() }));
    assert_eq!(shown, Ok(vec!["mail_refused".to_string()]));
    assert_eq!(stamps(&agent), [("mail_refused", 1), ("mail_refused", 2)]);
}

#[test]
fn an_urgent_entry_overtakes_and_the_ones_it_passed_are_still_read() {
    let mut agent = Agent::asked(no_limits());
    agent.offer(&entry(3, stop())).unwrap();
    assert_eq!(agent.state().log.mail, MailCursor { upto: 0, ahead: [3].into() });
    for number in [1, 2] {
        agent.offer(&entry(number, mail(MessageMode::FollowUp, "later"))).unwrap();
    }
    assert_eq!(agent.state().log.mail, MailCursor { upto: 3, ahead: [].into() });
}

#[test]
fn a_stop_ends_the_run_that_messages_read_with_it_would_begin() {
    let mut agent = Agent::new(no_limits());
    let message = Input { more: true, ..entry(1, mail(MessageMode::Message, "do it")) };
    agent.offer(&message).unwrap();
    agent.offer(&entry(2, stop())).unwrap();
    assert_eq!(stamps(&agent), [("message_queued", 1), ("run_closing", 2)]);
    let kinds: Vec<&str> = agent.log.iter().map(|event| event.kind.name()).collect();
    assert_eq!(kinds[kinds.len() - 4..], ["message_queued", "run_started", "run_closing", "run_finished"]);
    assert!(agent.state().queues.held, "the message waits");
    // Now there is nothing left to end.
    let shown = agent.offer(&entry(3, stop()));
    assert_eq!(shown, Ok(vec!["mail_refused".to_string()]));
}

#[test]
fn an_entry_that_comes_while_a_batch_is_uncommitted_is_not_consumed() {
    let mut agent = Agent::new(no_limits());
    agent.machine.handle(&Input::new(1_000, mail(MessageMode::Message, "do it"))).unwrap();
    assert_eq!(agent.machine.handle(&entry(1, stop())), Err(Refusal::Busy));
    assert!(!agent.state().log.mail.has(1));
}

#[test]
fn a_mail_that_was_committed_with_an_unknown_fate_may_be_offered_again() {
    // The append's answer was lost: once the batch is there, once it is not.
    let agent = Agent::new(no_limits());
    let input = entry(1, mail(MessageMode::Message, "do it"));
    let mut durable = agent.clone();
    durable.offer(&input).unwrap();
    let mut durable = durable.crashed();
    durable.takes(recovered());
    assert_eq!(durable.offer(&input), Err(Refusal::MailConsumed(1)));
    let mut lost = agent.crashed();
    lost.takes(recovered());
    lost.offer(&input).unwrap();
    assert_eq!(stamps(&durable), stamps(&lost));
}
