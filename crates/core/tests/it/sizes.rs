//! Sizes on the safe side: a request is held to what the vendor will count, not to what is estimated here.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::world;
use mainpath_types::*;
use proptest::prelude::*;
use std::sync::Arc;

/// A message of its real size.
fn message(text: &str) -> InputKind {
    InputKind::UserMessage(MessageQueued::new(vec![Part::text(text)], estimate(text), user()))
}

/// A conversation with a model whose tokenizer makes `fine` thousandths of an estimated token. Says the largest request, in the
/// model's own tokens, after the first count, and how many cuts there were.
fn talk(margin: u16, fine: u64) -> (u64, usize) {
    let spec = Spec { size_margin: margin, ..world::spec(no_limits(), 16_384) };
    let most = u64::from(spec.context_window - spec.reserved_output);
    let mut agent = Agent::with_spec(spec);
    let mut largest = 0;
    for turn in 0..60 {
        let text = format!("question {turn}: {}", "a longer text ".repeat(170));
        agent.takes(message(&text));
        while let Some(model) = agent.state().model {
            let counted = model.estimate * fine / 1_000;
            if turn > 2 {
                largest = largest.max(counted);
                assert!(counted <= most, "turn {turn}: {counted} of {most}");
                assert!(u64::from(model.input) >= counted, "the reserve holds it: {} of {counted}", model.input);
            }
            let usage = Some(Usage { input: counted, output: 50, ..Usage::default() });
            agent.takes(InputKind::ModelFinished(Box::new(Reply { usage, ..*agent.reply("so it is", &[]) })));
        }
    }
    let cuts = agent.log.iter().filter(|event| matches!(event.kind.name(), "context_cut" | "compacted")).count();
    (largest, cuts)
}

#[test]
fn no_request_is_too_large_for_a_tokenizer_twice_as_fine_once_it_has_counted() {
    let (largest, cuts) = talk(25, 2_000);
    assert!(cuts > 0 && largest > 9_000, "{largest} tokens at most, {cuts} cuts");
    let (largest, cuts) = talk(25, 800);
    assert!(cuts > 0 && largest > 7_000, "{largest} tokens at most, {cuts} cuts");
}

#[test]
fn a_server_that_counts_only_what_its_cache_did_not_hold_does_not_let_a_conversation_outgrow_its_window() {
    for counted in [0, 10, 700] {
        let spec = world::spec(no_limits(), 16_384);
        let most = u64::from(spec.context_window - spec.reserved_output);
        let mut agent = Agent::with_spec(spec);
        for turn in 0..60 {
            let text = format!("question {turn}: {}", "a longer text ".repeat(170));
            agent.takes(message(&text));
            while let Some(model) = agent.state().model {
                assert!(model.estimate <= most * 4 / 3, "turn {turn}: {} of {most}", model.estimate);
                let usage = Some(Usage { input: counted, output: 50, ..Usage::default() });
                agent.takes(InputKind::ModelFinished(Box::new(Reply { usage, ..*agent.reply("so it is", &[]) })));
            }
        }
    }
}

/// What the requests of a conversation leave at the least, in tokens, where its answers take a large part of the window. The model
/// counts `fine` thousandths of what is estimated; its summaries are short.
fn least_left(summary: SummaryMode, fine: u64, answer: u32) -> u64 {
    let spec = world::spec(Limits { summary, ..no_limits() }, 12_000);
    let mut agent =
        Agent::with_spec(Spec { instructions: "aaaa ".repeat(3_300), reserved_output: 2_048, size_margin: 0, ..spec });
    let mut least = u64::MAX;
    for turn in 0..30 {
        let text = format!("question {turn}: {}", "a longer text ".repeat([20, 170, 1][turn % 3]));
        agent.takes(message(&text));
        while agent.state().run.is_some() {
            let Some(model) = agent.state().model else {
                agent.summarises();
                continue;
            };
            let is_own = agent.state().branch.is_none();
            if is_own {
                least = least.min(free_tokens(agent.state()));
            }
            let tokens = if is_own && turn % 3 < 2 { answer } else { 20 };
            let usage = Some(Usage { input: model.estimate * fine / 1_000, output: tokens.into(), ..Usage::default() });
            let said = Reply { usage, tokens, ..*agent.reply("Goal: to talk. Decisions: some.", &[]) };
            agent.takes(InputKind::ModelFinished(Box::new(said)));
        }
        assert_eq!(agent.ended().reason, FinishReason::Final);
    }
    least
}

#[test]
fn every_request_leaves_room_to_look_back_however_few_and_large_messages_are() {
    for summary in [SummaryMode::Agent, SummaryMode::Single, SummaryMode::Rules] {
        for fine in [800, 880, 1_000] {
            for answer in [1_500, 3_026, 3_600, 4_400] {
                let least = least_left(summary, fine, answer);
                assert!(least >= 250, "{summary:?}, counted {fine}, answers of {answer}: {least} tokens");
            }
        }
    }
}

#[test]
fn what_was_learned_of_a_model_holds_for_it_alone_and_is_a_fold_of_the_log() {
    let mut agent = Agent::with_spec(Spec { size_margin: 25, ..world::spec(no_limits(), 100_000) });
    let scale = |agent: &Agent| agent.state().coming_spec().unwrap().model().scale.per_mille();
    assert_eq!(scale(&agent), 1_250);
    let long = InputKind::UserMessage(MessageQueued::new(vec![Part::text("x")], 2_000, user()));
    agent.takes(long);
    let estimate = agent.state().model.unwrap().estimate;
    let usage = Some(Usage { input: estimate * 3, output: 5, ..Usage::default() });
    agent.takes(InputKind::ModelFinished(Box::new(Reply { usage, ..*agent.reply("so", &[]) })));
    assert_eq!(scale(&agent), 3_150);
    let other = Spec { model: "another".into(), size_margin: 25, ..world::spec(no_limits(), 100_000) };
    agent.takes(InputKind::SetSpec { spec: Arc::new(other), by: None });
    assert_eq!(scale(&agent), 1_250);
    agent.takes(InputKind::SetSpec { spec: Arc::new(world::spec(no_limits(), 50_000)), by: None });
    assert_eq!(scale(&agent), 3_150, "it is known again");
    let again = Machine::fold("test".parse().unwrap(), &agent.log);
    assert_eq!(again.state(), agent.state());
}

#[test]
fn code_and_data_count_for_more_than_prose_of_their_length_and_prose_for_a_quarter_of_its_letters() {
    let of = |text: &str| (estimate(text), text.chars().count());
    assert_eq!(of("Each agent is a trace, and a trace is a log, which only grows."), (16, 62));
    let code = "fn take(&mut self, c: char) -> bool { self.wide += 1; self.wide.div_ceil(2) <= most }";
    let (json, numbers) =
        (r#"{"id":34,"ts":3200,"data":{"seq":14,"first_kept":11}}"#, "0,0.000\n7919,3.142\n5831,6.283\n3743,9.425\n");
    let digest = "4eb01855ac763b27cdbbe0c709ea9309072b0b9b38bfefc19ff36855009074fd";
    let tree = "├── src\n│   ├── main.rs\n│   └── lib.rs\n";
    let chinese = "每个智能体都是一条只追加的日志。";
    let found = [code, json, numbers, digest, tree, chinese].map(estimate);
    // `o200k_base` makes 32, 22, 27, 34, 20 and 12 of them.
    assert_eq!(found, [28, 27, 27, 44, 18, 8]);
}

proptest! {
    #[test]
    fn the_estimate_of_a_text_in_pieces_is_at_any_time_that_of_what_has_come(
        pieces in prop::collection::vec("[a-zA-Z0-9 .,{}:\"é中文→🎉]{0,40}", 0..20),
    ) {
        let (mut sum, mut whole) = (Estimate::default(), String::new());
        for piece in &pieces {
            sum.push(piece);
            whole.push_str(piece);
            prop_assert_eq!(sum.tokens(), estimate(&whole), "{}", whole);
        }
    }
}

#[test]
fn a_ratio_is_learned_on_the_safe_side_and_never_from_little() {
    let mut scale = Scale { margin: 25, learned: None };
    assert_eq!((scale.real(1_000), scale.estimated(12_500)), (1_250, 10_000));
    scale.learn(900, 9_000);
    assert_eq!(scale.learned, None, "too short to tell");
    scale.learn(10_000, 20_000);
    assert_eq!((scale.learned, scale.real(1_000), scale.estimated(14_336)), (Some(2_100), 2_100, 6_826));
    scale.learn(10_000, 10_000);
    assert_eq!(scale.learned, Some((2_100 * 3 + 1_050) / 4), "a smaller one counts a quarter");
    scale.learn(10_000, 40_000);
    assert_eq!(scale.learned, Some(4_200), "a larger one at once");
    scale.learn(1_000, u64::MAX);
    assert_eq!(scale.learned, Some(8_000));
    let mut coarse = Scale::default();
    coarse.learn(10_000, 5_000);
    assert_eq!((coarse.real(100), coarse.estimated(100)), (100, 100), "never below the estimate");
}
