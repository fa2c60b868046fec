//! Messages of other agents: they wait until the agent looks, begin nothing, and are told of once.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::world;
use mainpath_types::*;

fn from(name: &str, text: &str) -> InputKind {
    let (from, text) = (Principal::agent(name), text.into());
    InputKind::Receive(MessageReceived { from, conversation: None, id: None, text })
}

/// An agent that can read what others send.
fn hearing() -> Agent {
    Agent::with_spec(world::hearing(world::spec(no_limits(), 100_000)))
}

fn asked() -> Agent {
    let mut agent = hearing();
    agent.says(MessageMode::Message, "do it");
    agent
}

/// A call that reads these messages.
fn checks(messages: &[EventId]) -> PlannedCall {
    PlannedCall { answer: Some("what they say".into()), messages: messages.to_vec(), ..allowed(CHECK_MESSAGES) }
}

fn unread(agent: &Agent) -> Vec<EventId> {
    agent.state().inbox.unread().map(|arrival| arrival.event).collect()
}

/// What the model is told of its inbox in the pending request.
fn told(agent: &Agent) -> Vec<String> {
    let texts = agent.shown().into_iter().filter_map(|text| Some(text.split_once("## Messages\n")?.1.to_string()));
    texts.map(|text| text.lines().next().unwrap_or_default().to_string()).collect()
}

#[test]
fn a_message_begins_nothing_and_is_told_of_once_until_it_is_read() {
    let mut agent = hearing();
    agent.gives(from("reviewer", "the build is broken"), &["message_received"]);
    let first = agent.log.last().unwrap().id;
    assert!(agent.state().run.is_none() && agent.state().queues.is_empty());
    agent.says(MessageMode::Message, "do it");
    assert_eq!(told(&agent), ["1 message of another agent waits: read with check_messages"]);
    agent.takes(from("tester", "all is green"));
    let second = agent.log.last().unwrap().id;
    agent.works();
    let newest = "2 messages of other agents wait: read with check_messages";
    assert_eq!(told(&agent).last().unwrap(), newest);
    let count = told(&agent).len();
    agent.works();
    assert_eq!((told(&agent).len(), unread(&agent)), (count, vec![first, second]), "not again without news");
    agent.calls(&[checks(&[first]), allowed("read")]);
    assert_eq!(unread(&agent), [second]);
    let open = agent.state().turn_calls()[1].id;
    agent.takes(done(&open.to_string(), 1));
    agent.calls(&[checks(&[second])]);
    assert_eq!((unread(&agent), agent.state().inbox.is_news), (vec![], false));
}

#[test]
fn what_was_read_on_a_way_that_was_left_is_read_again() {
    let mut agent = asked();
    agent.takes(from("reviewer", "the build is broken"));
    let event = agent.log.last().unwrap().id;
    agent.works();
    agent.calls(&[checks(&[event])]);
    agent.answers("I have seen it");
    assert!(unread(&agent).is_empty());
    agent.takes(InputKind::Rewind(RewindRequested::again(Seq(1), user())));
    assert_eq!(unread(&agent), [event]);
    assert_eq!(told(&agent).len(), 1);
}

#[test]
fn a_denied_look_reads_nothing_and_a_fork_has_an_inbox_of_its_own() {
    let mut agent = asked();
    agent.takes(from("reviewer", "the build is broken"));
    let event = agent.log.last().unwrap().id;
    let denied = PlannedCall { messages: vec![event], ..planned(CHECK_MESSAGES, Decision::Deny) };
    agent.calls(&[denied]);
    assert_eq!(unread(&agent), [event]);
    agent.answers("so be it");
    let copy = agent.fork(agent.state().tree.head.unwrap().0).unwrap();
    assert!(copy.log.iter().any(|event| event.kind.name() == "message_received"), "it is on record there");
    assert!(copy.state().inbox.is_empty());
}

#[test]
fn what_does_not_fit_in_an_inbox_is_refused() {
    let mut agent = hearing();
    agent.refuses(from("reviewer", " \n"), Refusal::Empty);
    let long = "x".repeat(LONGEST_MESSAGE + 1);
    agent.refuses(from("reviewer", &long), Refusal::MessageTooLong(LONGEST_MESSAGE + 1));
    agent.takes(from("reviewer", &long[1..]));
    let again = |id: &str| {
        let (from, id, text) = (Principal::agent("reviewer"), Some(id.into()), "ready".into());
        InputKind::Receive(MessageReceived { from, conversation: None, id, text })
    };
    agent.takes(again("msg_1"));
    agent.refuses(again("msg_1"), Refusal::Received);
    // The same id of another sender is another message.
    let (id, text) = (Some("msg_1".into()), "ready".into());
    let other = MessageReceived { from: Principal::agent("tester"), conversation: None, id, text };
    agent.takes(InputKind::Receive(other));
    for n in 2..99 {
        agent.takes(again(&format!("msg_{n}")));
    }
    agent.refuses(again("msg_100"), Refusal::InboxFull(100));
    let mut deaf = Agent::new(no_limits());
    deaf.refuses(from("reviewer", "hello"), Refusal::NoInbox);
}
