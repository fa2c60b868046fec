//! Sizes of texts, and the words for what has no other.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

#[test]
fn four_characters_are_a_token_and_two_of_a_wide_script() {
    let texts = ["", "abcd", "abcde", "éééé", "ééééé", "日本", "日本語", "日本語abc", "日本語abcde", "가나다"];
    assert_eq!(texts.map(estimate), [0, 1, 2, 1, 2, 1, 2, 3, 4, 2]);
}

#[test]
fn a_message_is_the_sum_of_its_parts_and_a_frame() {
    let source = || Source::Url { url: "https://example.com/a".into() };
    let sound = |media_type: &str| Source::Base64 { data: "A".repeat(60_000), media_type: media_type.into() };
    let signature = |value: &str| Some(Signature { issuer: "test".into(), value: value.into() });
    let hash = BlobHash::try_from("0".repeat(64)).unwrap();
    let content = vec![Part::text("abcdefgh"), Part::text("abcd")];
    let parts = [
        (Part::text("abcdefgh"), 2),
        (Part::StoredText { hash, bytes: 41 }, 11),
        (Part::Thinking { text: "abcdefgh".into(), signature: None }, 2),
        (Part::Thinking { text: "abcdefgh".into(), signature: signature("abcdefghijkl") }, 5),
        (Part::Image { source: source() }, 1_600),
        (Part::Audio { source: source() }, 2_000),
        (Part::Audio { source: sound("audio/wav") }, 45),
        (Part::Audio { source: sound("audio/mpeg") }, 90),
        (Part::Document { source: source(), name: None, pages: None }, 6_000),
        (Part::Document { source: source(), name: None, pages: Some(40) }, 120_000),
        (Part::ToolCall { name: "abcdefgh".into(), arguments: "abcdefghijkl".into(), signature: None }, 13),
        (Part::ToolResult { call: call("2.0"), name: "bash".into(), content, is_error: false }, 15),
    ];
    for (part, tokens) in &parts {
        assert_eq!(estimate_parts(std::slice::from_ref(part)), 4 + tokens, "{part:?}");
    }
    let sum: u32 = parts.iter().map(|(_, tokens)| tokens).sum();
    assert_eq!(estimate_parts(&parts.map(|(part, _)| part)), 4 + sum);
    let endless = Part::Document { source: source(), name: None, pages: Some(u32::MAX) };
    assert_eq!(estimate_parts(&[endless]), u32::MAX);
    assert_eq!(estimate_parts(&[]), 4);
}

#[test]
fn a_degraded_answer_names_finished_goals_and_no_empty_words() {
    let mut agent = Agent::asked(Limits { turns: Some(1), ..no_limits() });
    let add = |description: &str| GoalOp::Add {
        description: description.into(),
        reason: String::new(),
        under: None,
        after: None,
    };
    let done_one = GoalOp::Done { id: Some(GoalId(1)), summary: "yes".into() };
    agent.takes(InputKind::ChangeGoals { ops: vec![add("the first"), add("the second"), done_one], by: user() });
    let reply = agent.reply("  ", &[allowed("read"), allowed("read")]);
    agent.takes(InputKind::ModelFinished(reply));
    agent.takes(done("2.0", 1));
    agent.takes(done("2.1", 1));
    let answer = "The run ended before a final answer (turn limit).\n\nDone: read × 2; the first.\nBlocked by: the limit \
                  of model turns.\nNext: continue the trace: limits count per run, so the next run has the whole limit again. Still open: the second.";
    let expected = Ending { reason: FinishReason::MaxTurns, answer: answer.into(), is_said: false };
    assert_eq!(ending(agent.state(), &agent.bodies), Some(expected));
}

#[test]
fn the_words_for_every_way_that_a_run_ends() {
    use FinishReason::*;
    let agent = Agent::new(no_limits());
    let reasons = [
        Stopped,
        MaxTurns,
        MaxToolCalls,
        MaxScriptRuns,
        Timeout,
        TokenBudget,
        MoneyBudget,
        MaxOutput,
        ContextLimit,
        RepeatedFailure,
        ProtocolError,
        SchemaError,
        ApprovalNeeded,
        Denied,
        ModelError,
        ToolError,
        InternalError,
    ];
    let words = reasons.map(|reason| degraded_answer(agent.state(), &agent.bodies, reason));
    insta::assert_snapshot!(words.join("\n\n"));
}

#[test]
fn the_words_for_every_way_that_a_call_ends() {
    use ResolveCause::*;
    let causes = [
        Result,
        DeniedByPerson,
        DeniedByRule,
        Closing,
        Steer,
        TurnCap,
        CallBudget,
        LastAnswer,
        Summary,
        Timeout,
        Stopped,
        Crash,
        Uncertain,
    ];
    let words = causes.map(|cause| {
        let resolved = CallResolved {
            call: call("2.0"),
            attempt: 1,
            resolution: Resolution::Error,
            cause,
            output: Some(ToolOutput::text("so far")),
            reason: Some("because".into()),
            by: None,
            tokens: 0,
            memory: None,
            repeated: 0,
            elapsed_ms: 350,
        };
        format!("{cause:?}: {}", text_of(&result_text(&resolved)))
    });
    insta::assert_snapshot!(words.join("\n"));
}

#[test]
fn an_item_names_the_event_of_its_body_unless_its_words_are_always_the_same() {
    let mut agent = Agent::asked(no_limits());
    agent.works();
    let named = |kind: &str| agent.log.iter().find(|event| event.kind.name() == kind).map(|event| event.id);
    let events: Vec<_> = pack(agent.state()).unwrap().items.iter().map(Item::event).collect();
    assert_eq!(events, ["message_queued", "model_finished", "call_resolved"].map(named));
    assert_eq!(Item::LastAnswer.event(), None);
}
