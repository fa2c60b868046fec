//! Forks: a trace that begins as another did.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

/// user 1, assistant 2 with a call, result 3, answer 4.
fn told() -> Agent {
    let mut agent = Agent::asked(no_limits());
    agent.works();
    agent.answers("done");
    agent
}

fn forked(agent: &Agent, at: u32) -> (Agent, Vec<String>) {
    let fork = agent.fork(at).unwrap();
    let own = fork.log.iter().position(|event| event.kind.name() == "forked").unwrap();
    let shown = fork.log[own..].iter().map(show).collect();
    (fork, shown)
}

#[test]
fn a_fork_holds_what_was_said_up_to_the_message_and_goes_its_own_way() {
    let agent = told();
    let (mut fork, own) = forked(&agent, 1);
    assert_eq!(own, ["forked test at 1 of 4", "run_finished stopped turns=0 calls=0"]);
    assert_eq!((fork.state().tree.head, fork.pending()), (Some(Seq(1)), vec![]));
    fork.says(MessageMode::Message, "and then");
    assert_eq!(fork.shown(), ["User: do it", "User: and then"]);
    assert_eq!(agent.shown().len(), 4, "the other trace is as it was");
}

#[test]
fn a_fork_never_splits_a_call_from_its_results() {
    let agent = told();
    for at in [2, 3] {
        let (mut fork, own) = forked(&agent, at);
        assert_eq!(own[1..], ["run_finished stopped turns=1 calls=1"]);
        fork.takes(rewind(3, None));
        assert_eq!(fork.shown(), agent.shown()[..3]);
    }
}

#[test]
fn a_fork_answers_again_where_it_is_told_to() {
    let (mut fork, _) = forked(&told(), 4);
    fork.takes(rewind(4, None));
    assert_eq!(fork.shown().len(), 3, "without the answer");
}

#[test]
fn a_fork_inherits_no_obligation() {
    let mut agent = Agent::calling(no_limits(), &[allowed("bash"), planned("bash", Decision::Ask), allowed("read")]);
    let rule = Some("bash(ls)".to_string());
    agent.takes(InputKind::Approve { call: call("2.1"), by: user(), edit: None, rule });
    agent.says(MessageMode::FollowUp, "later");
    let (fork, own) = forked(&agent, 2);
    assert_eq!(
        own,
        [
            "forked test at 2 of 9",
            "call_resolved 2.0 Interrupted Stopped",
            "call_resolved 2.1 Interrupted Closing",
            "call_resolved 2.2 Interrupted Closing",
            "turn_finished 3 results=3",
            "run_finished stopped turns=1 calls=1",
        ]
    );
    let state = fork.state();
    assert_eq!(
        (state.queues.is_empty(), state.approvals.rules.len(), state.spent.usage, state.spent.cost),
        (true, 0, Usage::default(), 0)
    );
    assert_eq!(agent.pending(), ["tool/2.0/1"], "the other trace goes on");
}

#[test]
fn a_fork_and_a_rewind_have_the_plan_as_it_was_at_the_message() {
    let step = |title: &str, under: Option<&str>| Step {
        id: Some(title.into()),
        title: Some(title.into()),
        status: None,
        under: under.map(Into::into),
    };
    let set = |steps: &[Step]| InputKind::ChangeGoals { ops: vec![GoalOp::Set { steps: steps.to_vec() }], by: user() };
    let mut agent = Agent::asked(no_limits());
    agent.takes(set(&[step("A", None), step("B", None)]));
    agent.works();
    agent.takes(set(&[step("X", None), step("A", Some("X"))]));
    agent.answers("done");
    let (fork, _) = forked(&agent, 1);
    agent.takes(rewind(1, Some("again")));
    assert_eq!(agent.state().goals.short_view(), "[ ] 1. A (A)\n[ ] 2. B (B)");
    assert_eq!(agent.state().goals.list(), fork.state().goals.list());
}

#[test]
fn a_fork_from_the_middle_of_a_run_says_so_and_nobody_has_stopped_it() {
    let (mut fork, _) = forked(&Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]), 2);
    let said = |fork: &Agent| {
        let mut bodies = Log::default();
        bodies.extend(&fork.log);
        ending(fork.state(), &bodies).unwrap().answer
    };
    let blocked = "Blocked by: this fork starts in the middle of a run; calls that were open there are not open here.";
    assert!(said(&fork).contains(blocked), "{}", said(&fork));
    fork.says(MessageMode::Message, "go on");
    fork.takes(stop());
    assert!(said(&fork).contains("Blocked by: the run was stopped."), "{}", said(&fork));
}

#[test]
fn a_request_in_flight_is_not_the_forks() {
    let (fork, own) = forked(&Agent::asked(no_limits()), 1);
    assert_eq!(own, ["forked test at 1 of 4", "run_finished stopped turns=0 calls=0"]);
    assert_eq!(fork.state().spent.usage, Usage::default());
}

#[test]
fn a_fork_can_be_made_at_a_message_that_a_rewind_or_a_clear_has_left() {
    let mut agent = told();
    agent.takes(rewind(1, Some("another way")));
    agent.answers("otherwise");
    agent.takes(clear());
    let (mut fork, _) = forked(&agent, 4);
    fork.says(MessageMode::Message, "more");
    assert_eq!(fork.shown()[3..], ["Assistant: done", "User: more"]);
    let (fork, _) = forked(&agent, 6);
    assert_eq!(fork.state().tree.head, Some(Seq(6)));
}

#[test]
fn a_fork_before_the_first_message_has_the_spec_alone() {
    let (mut fork, own) = forked(&told(), 0);
    assert_eq!((own.as_slice(), fork.log.len()), (&["forked test at 0 of 1".to_string()][..], 2));
    fork.says(MessageMode::Message, "hello");
    assert_eq!(fork.shown(), ["User: hello"]);
}

#[test]
fn there_is_no_fork_at_no_message_or_on_a_side_branch() {
    let mut agent = Agent::asked(no_limits());
    let reply = agent.reply("no json", &[]);
    let (problem, breach) = ("not JSON".to_string(), Breach::Protocol);
    agent.takes(InputKind::ModelMalformed { reply, problem, breach, repair_tokens: 12 });
    let refusal = |at| agent.fork(at).map(|fork| fork.log.len()).unwrap_err();
    assert_eq!(
        [refusal(2), refusal(3), refusal(4)],
        [Refusal::OnSideBranch(Seq(2)), Refusal::OnSideBranch(Seq(3)), Refusal::NoSuchMessage(Seq(4))]
    );
    assert_eq!(Agent::new(no_limits()).fork(0).map(|fork| fork.log.len()), Ok(2));
}

#[test]
fn the_place_of_an_erased_event_stays_empty() {
    let mut agent = Agent::asked(no_limits());
    let op = GoalOp::Add { description: "a secret".into(), reason: String::new(), under: None, after: None };
    agent.takes(InputKind::ChangeGoals { ops: vec![op], by: user() });
    agent.answers("done");
    let gone = agent.log.iter().position(|event| event.kind.name() == "goals_changed").unwrap();
    let erased: Vec<Event> =
        agent.log.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, e)| e.clone()).collect();
    let log = fork(&"a".parse().unwrap(), &erased, Seq(2), &"b".parse().unwrap(), &user(), 0).unwrap();
    let ids: Vec<EventId> = log.iter().map(|event| event.id).collect();
    assert_eq!(ids, (1..=log.len() as u64).collect::<Vec<_>>());
    assert_eq!(log[gone].kind, Omitted {}.into());
}

#[test]
fn a_mailbox_of_its_own_begins_from_the_first_entry() {
    let mut agent = Agent::new(no_limits());
    let input = Input { at: 2_000, mail: Some(1), more: false, kind: mail(MessageMode::Message, "do it") };
    agent.offer(&input).unwrap();
    let (mut fork, _) = forked(&agent, 1);
    assert_eq!(fork.state().log.mail, MailCursor::default());
    fork.offer(&Input { at: 3_000, ..input }).unwrap();
    assert_eq!(fork.shown(), ["User: do it", "User: do it"]);
}

#[test]
fn the_event_by_which_a_message_was_there_is_the_one_that_a_fork_names() {
    let agent = told();
    let of = |at: u32| reached(&agent.state().trace, &agent.log, Seq(at));
    for at in 0..=4 {
        let fork = agent.fork(at).unwrap();
        let from = fork.newest(|kind| if let EventKind::Forked(data) = kind { Some(data.event) } else { None });
        assert_eq!(of(at), Ok(from), "{at}");
    }
    assert_eq!([of(0), of(1), of(2), of(4)].map(Result::unwrap), [1, 4, 9, 11]);
    assert_eq!(of(5), Err(Refusal::NoSuchMessage(Seq(5))));
}
