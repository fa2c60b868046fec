//! What is left out of a request, in which order, and what never is.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;
use std::sync::Arc;

/// A turn with one call of `read`, whose result has this size. Returns what was decided when it came.
fn turn(agent: &mut Agent, tokens: u32, output: ToolOutput) -> Vec<String> {
    agent.calls(&[allowed("read")]);
    let call = agent.state().turn_calls()[0].id;
    agent.takes(InputKind::ToolFinished { call, attempt: 1, output, tokens })
}

fn plain(agent: &mut Agent, tokens: u32) -> Vec<String> {
    turn(agent, tokens, ToolOutput::text("a".repeat(tokens as usize * 4)))
}

fn remembered(tokens: u32, once: bool) -> ToolOutput {
    let long_term_memory = Some("It was long.".into());
    ToolOutput { long_term_memory, include_output_only_once: once, ..ToolOutput::text("a".repeat(tokens as usize * 4)) }
}

fn said(agent: &mut Agent, text: &str, tokens: u32, demands: u32) -> Vec<String> {
    let parts = vec![Part::text(text)];
    let demanded = demands_of(&parts).at;
    let said = MessageQueued::new(parts, tokens, user());
    agent.takes(InputKind::UserMessage(MessageQueued { demands, demanded, ..said }))
}

fn goals(agent: &mut Agent, ops: Vec<GoalOp>) {
    agent.takes(InputKind::ChangeGoals { ops, by: user() });
}

fn goal(description: &str) -> GoalOp {
    GoalOp::Add { description: description.into(), reason: String::new(), under: None, after: None }
}

fn done_goal(id: u32) -> GoalOp {
    GoalOp::Done { id: Some(GoalId(id)), summary: "done".into() }
}

fn window(limits: Limits) -> Agent {
    let mut agent = Agent::with_window(limits, 1_000);
    agent.says(MessageMode::Message, "do it");
    agent
}

#[test]
fn when_the_window_is_nearly_full_the_messages_of_finished_goals_go_first() {
    let mut agent = window(no_limits());
    goals(&mut agent, vec![goal("first"), goal("second"), GoalOp::Focus { id: GoalId(1) }]);
    plain(&mut agent, 2);
    plain(&mut agent, 400);
    goals(&mut agent, vec![done_goal(1), GoalOp::Focus { id: GoalId(2) }]);
    let last = agent.state().tree.len();
    assert_eq!(last, 5, "nothing is cut while there is room");
    plain(&mut agent, 200);
    let decided = plain(&mut agent, 100);
    assert_eq!(decided[2..], ["context_cut 10 keeps 6 pins 1 Full", "injected 11", "model_requested 5 at 11"]);
    let shown = agent.shown();
    assert_eq!(shown.len(), 7, "the message, what came of the goal, what serves the other one, and the plan");
    let note = "User: [From the system: 4 earlier messages, #2 to #5, with 2 tool results, are not shown here.]\nAmong them is all \
                work on these goals, which are finished:\n- goal 1, first (#2 to #5): done";
    assert_eq!(shown[1], note);
}

#[test]
fn with_every_turn_finished_goals_go_as_soon_as_that() {
    let mut agent = window(Limits { finished_goals: Finished::EveryTurn, ..no_limits() });
    goals(&mut agent, vec![goal("first"), GoalOp::Focus { id: GoalId(1) }]);
    plain(&mut agent, 2);
    plain(&mut agent, 2);
    goals(&mut agent, vec![done_goal(1)]);
    let decided = plain(&mut agent, 2);
    assert_eq!(decided[2..], ["context_cut 8 keeps 6 pins 1 Goals", "injected 9", "model_requested 4 at 9"]);
    let decided = plain(&mut agent, 2);
    assert_eq!(decided[2..], ["model_requested 5 at 11"], "what serves no goal stays");
}

/// A question and its answer, of this size together.
fn exchange(agent: &mut Agent, question: &str, tokens: u32) {
    said(agent, question, 10, 0);
    let reply = Box::new(Reply { tokens: tokens - 10, ..*agent.reply(&format!("About {question}"), &[]) });
    agent.takes(InputKind::ModelFinished(reply));
}

#[test]
fn outputs_of_tools_go_oldest_first_down_to_what_can_be_recalled() {
    let mut agent = window(no_limits());
    plain(&mut agent, 290);
    turn(&mut agent, 290, remembered(290, false));
    let decided = plain(&mut agent, 250);
    assert_eq!(
        decided[2..],
        ["context_cut 8 keeps 1 pins  Full 2.0 excerpt of 120 4.0 line of 27", "model_requested 4 at 8"]
    );
    let short = "[Only this is shown of call 4.0. Its whole result can be recalled.]";
    assert!(agent.shown().contains(&format!("Tool: 4.0 It was long.\n{short}")), "{:?}", agent.shown());
    assert_eq!(agent.shown().len(), 7, "no message goes, so nothing has to be said of any");
}

#[test]
fn without_a_model_exchanges_without_calls_go_first_oldest_first_and_the_summary_stands_for_them() {
    let mut agent = window(Limits { summary: SummaryMode::Rules, ..no_limits() });
    agent.answers("done so far");
    for (question, tokens) in [("alpha?", 250), ("beta?", 250)] {
        exchange(&mut agent, question, tokens);
    }
    said(&mut agent, "look it up", 10, 0);
    plain(&mut agent, 100);
    agent.answers("found");
    exchange(&mut agent, "gamma?", 60);
    exchange(&mut agent, "delta?", 60);
    let decided = said(&mut agent, "and now?", 40, 0);
    assert_eq!(decided[3..], ["branch_opened Compaction 16 by Rules"]);
    let decided = agent.summarises();
    assert_eq!(decided[0], "compacted 16 keeps 7 pins 1");
    let shown = agent.shown();
    let heads: Vec<&str> = shown.iter().map(|text| &text[..text.len().min(14)]).collect();
    let expected = [
        "User: do it",
        "User: Summary ",
        "User: look it ",
        "Assistant: let",
        "Tool: 8.0 aaaa",
        "Assistant: fou",
        "User: gamma?",
        "Assistant: Abo",
        "User: delta?",
        "Assistant: Abo",
        "User: and now?",
    ];
    assert_eq!(heads, expected, "{shown:#?}");
    let summary = &shown[1];
    assert!(summary.contains("#3 alpha? → About alpha?\n- #5 beta? → About beta?\n"), "{summary}");
    assert!(summary.contains("5 earlier messages, #2 to #6, are not shown here."), "{summary}");
}

#[test]
fn without_a_model_the_last_exchanges_go_last_and_what_is_asked_now_never() {
    let mut agent = window(Limits { summary: SummaryMode::Rules, ..no_limits() });
    agent.answers("done so far");
    for question in ["zero?", "alpha?", "beta?", "gamma?", "delta?", "epsilon?"] {
        exchange(&mut agent, question, 128);
    }
    said(&mut agent, "and now?", 40, 0);
    agent.summarises();
    let shown = agent.shown();
    let has = |text: &str| shown.iter().any(|line| line == text);
    assert_eq!(
        (has("User: alpha?"), has("User: gamma?"), has("User: delta?"), has("User: epsilon?"), has("User: and now?")),
        (false, false, true, true, true),
        "{shown:#?}"
    );
}

#[test]
fn what_was_to_be_shown_once_goes_when_sending_the_rest_anew_costs_less() {
    let mut agent = window(no_limits());
    let decided = turn(&mut agent, 300, remembered(300, true));
    assert_eq!(decided[2..], ["model_requested 2 at 3"], "it has not been shown yet");
    assert!(agent.shown()[2].contains(&"a".repeat(1_200)));
    let decided = plain(&mut agent, 2);
    assert_eq!(decided[2..], ["context_cut 6 keeps 1 pins  Once 2.0 line of 27", "model_requested 3 at 6"]);
    agent.takes(InputKind::Rewind(RewindRequested::again(Seq(3), user())));
    assert!(agent.shown()[2].contains(&"a".repeat(1_200)), "a rewind to before the cut shows it whole again");
    // A smaller one after which more came waits for another reason, or for others like it.
    let mut agent = window(no_limits());
    turn(&mut agent, 90, remembered(90, true));
    let decided = plain(&mut agent, 150);
    assert_eq!(decided[2..], ["model_requested 3 at 5"]);
    turn(&mut agent, 300, remembered(300, true));
    let decided = plain(&mut agent, 2);
    assert_eq!(
        decided[2..],
        ["context_cut 10 keeps 1 pins  Once 2.0 line of 27 6.0 line of 27", "model_requested 5 at 10"]
    );
}

#[test]
fn what_was_looked_up_beside_other_calls_is_shown_once_and_then_in_short() {
    let mut agent = window(no_limits());
    let looked = PlannedCall { answer: Some("a".repeat(1_200)), once: true, ..allowed("read") };
    agent.calls(&[looked, allowed("read")]);
    agent.takes(done("2.1", 1));
    assert!(agent.shown()[2].contains(&"a".repeat(1_200)));
    let decided = plain(&mut agent, 2);
    assert_eq!(decided[2..], ["context_cut 7 keeps 1 pins  Once 2.0 excerpt of 120", "model_requested 3 at 7"]);
    assert!(!agent.shown()[2].contains(&"a".repeat(600)), "{:?}", agent.shown());
}

#[test]
fn a_result_that_is_larger_than_the_window_is_shown_by_its_beginning_and_its_end() {
    let mut agent = window(no_limits());
    let text = format!("the beginning {}the end", "aaa ".repeat(2_000));
    let decided = turn(&mut agent, 2_010, ToolOutput::text(text));
    assert_eq!(decided[2..], ["context_cut 4 keeps 1 pins  Full 2.0 excerpt of 187", "model_requested 2 at 4"]);
    let shown = agent.shown()[2].clone();
    assert!(
        shown.starts_with("Tool: 2.0 the beginning aaa aaa") && shown.contains("aaa aaa the end\n[Only this"),
        "{shown}"
    );
    assert!(estimate(&shown) <= 187, "{}", estimate(&shown));
}

#[test]
fn a_task_that_is_larger_than_the_window_is_refused_before_any_call() {
    let mut agent = Agent::with_window(no_limits(), 1_000);
    let decided = said(&mut agent, "a long task", 900, 0);
    let ended = ["run_closing context_limit", "run_finished context_limit turns=0 calls=0"];
    assert_eq!(decided[3..], ended);
    let why = agent.newest(|kind| if let EventKind::RunClosing(data) = kind { data.why.clone() } else { None });
    let expected = "the task and what goes with every request take about 964 tokens, and the model's window leaves 936";
    assert_eq!(why, expected);
    let answer = ending(agent.state(), &agent.bodies).unwrap().answer;
    assert!(answer.contains(expected), "{answer}");
    let next = "Next: say less (message 1 alone is about 900 tokens, and there is room for 872), such as a smaller file or only its \
                name, so that it is read in parts; or use a model with a larger window.";
    assert!(answer.ends_with(next), "{answer}");
    let too_large = Help::Smaller { message: Seq(1), after: None, tokens: 900, room: 872 };
    assert_eq!(what_helps(agent.state(), &agent.bodies), too_large);
}

#[test]
fn a_limit_in_characters_is_a_smaller_window_with_an_answer_of_its_own() {
    let mut agent = Agent::with_window(Limits { context_chars: Some(2_000), ..no_limits() }, 100_000);
    let decided = said(&mut agent, "a long task", 480, 0);
    assert_eq!(decided[3], "run_closing context_limit");
    let answer = ending(agent.state(), &agent.bodies).unwrap().answer;
    assert!(answer.contains("take about 576 tokens, and the limit is 2000 characters, 500 tokens"), "{answer}");
    assert!(answer.contains("Blocked by: the conversation does not fit the limit in characters. Details"), "{answer}");
    assert!(
        answer.ends_with("so that it is read in parts; or raise max_context_chars.") && !answer.contains("window"),
        "{answer}"
    );
    let mut agent = Agent::with_window(Limits { context_chars: Some(3_000), ..no_limits() }, 100_000);
    agent.says(MessageMode::Message, "do it");
    plain(&mut agent, 200);
    let decided = plain(&mut agent, 200);
    assert_eq!(decided[2], "branch_opened Compaction 6");
}

/// What is shown once something ordinary was said and what came before was summarised.
fn summarised(agent: &mut Agent) -> Vec<String> {
    said(agent, "nothing special", 10, 0);
    for _ in 0..3 {
        plain(agent, 20);
    }
    agent.takes(InputKind::Compact { hint: None, by: user() });
    agent.works();
    agent.answers("a summary");
    agent.shown()
}

#[test]
fn what_people_demand_stays_in_their_own_words_and_of_long_messages_only_that() {
    let mut agent = window(no_limits());
    agent.answers("yes");
    said(&mut agent, "Never delete a file.", 10, 10);
    agent.answers("yes");
    let long = format!("{} You must keep the API. {}", "So it was. ".repeat(20), "And so on. ".repeat(20));
    said(&mut agent, &long, 250, 30);
    agent.answers("yes");
    let shown = summarised(&mut agent);
    let at = |text: &str| shown.iter().position(|line| line.contains(text));
    assert_eq!((at("do it"), at("Never delete a file.")), (Some(0), Some(1)), "{shown:#?}");
    let demands = "User: Said earlier, and still to be kept to:\n- You must keep the API.";
    assert_eq!(shown[2], demands);
    assert_eq!((at("Summary of the earlier"), at("nothing special")), (Some(3), Some(4)), "{shown:#?}");
}

#[test]
fn demands_for_which_there_is_no_room_are_counted_where_they_are_left_out() {
    let mut agent = window(no_limits());
    agent.answers("yes");
    for number in 0..8 {
        said(&mut agent, &format!("You must keep file {number}."), 40, 40);
        agent.answers("yes");
    }
    let shown = summarised(&mut agent);
    let held = (0..8).filter(|number| shown.iter().any(|text| text.contains(&format!("keep file {number}.")))).count();
    let unheld: u32 = layout(agent.state()).unwrap().left_out.iter().map(|left| left.demands).sum();
    assert!((1..8).contains(&held) && shown.iter().any(|text| text.contains("keep file 7.")), "the newest: {shown:#?}");
    assert_eq!(unheld as usize + held, 8);
}

/// A conversation of so many short messages under a system text of this size, in a window of 7,000; how many requests it took,
/// and how many summaries were begun. A summary by the model has `summary` tokens.
fn small_talk(messages: u32, fixed: usize, summary: u32) -> (u32, usize) {
    let spec = mainpath_testkit::world::spec(no_limits(), 7_000);
    let mut agent = Agent::with_spec(Spec { instructions: "aaa ".repeat(fixed), reserved_output: 1_024, ..spec });
    for _ in 0..messages {
        said(&mut agent, "and this?", 60, 0);
        while agent.state().run.is_some() {
            match (agent.state().model, agent.state().branch) {
                (None, _) => agent.summarises(),
                (Some(_), None) => {
                    agent.takes(InputKind::ModelFinished(Box::new(Reply { tokens: 60, ..*agent.reply("that", &[]) })))
                }
                (Some(_), Some(_)) => {
                    let said = Reply { tokens: summary, ..*agent.reply("in short", &[]) };
                    agent.takes(InputKind::ModelFinished(Box::new(said)))
                }
            };
        }
        assert_eq!(agent.ended().reason, FinishReason::Final);
    }
    let opened = agent.log.iter().filter(|event| event.kind.name() == "branch_opened").count();
    (agent.state().counts.requests, opened)
}

#[test]
fn in_a_small_window_a_summary_is_made_once_in_a_while_and_not_at_every_message() {
    for (fixed, summary) in [(2_000, 300), (4_000, 300), (4_400, 300), (4_400, 900), (4_400, 3_000), (5_000, 200)] {
        let (requests, opened) = small_talk(60, fixed, summary);
        assert!(requests < 60 + 20 && opened < 20, "{fixed} {summary}: {requests} requests, {opened} summaries");
    }
}

/// A conversation that fits but for its newest turn, with a summary by the model.
fn outgrown() -> Agent {
    let mut agent = window(no_limits());
    agent.answers("yes");
    exchange(&mut agent, "alpha?", 150);
    exchange(&mut agent, "beta?", 150);
    said(&mut agent, "look it up", 10, 0);
    plain(&mut agent, 150);
    agent
}

#[test]
fn where_the_newest_turn_does_not_fit_the_model_summarises_what_was_before_it() {
    let mut agent = outgrown();
    agent.calls(&[allowed("read"), allowed("read"), allowed("read")]);
    for call in agent.state().turn_calls().iter().map(|call| call.id).collect::<Vec<_>>() {
        let output = ToolOutput::text("b".repeat(4 * 160));
        agent.takes(InputKind::ToolFinished { call, attempt: 1, output, tokens: 160 });
    }
    let asked = agent.shown();
    assert!(asked.last().unwrap().starts_with("User: The conversation is about to outgrow"), "{asked:#?}");
    assert!(asked.iter().any(|text| text == "User: look it up"), "{asked:#?}");
    assert!(!asked.iter().any(|text| text.contains("bbbb")), "the newest turn is not in it: {asked:#?}");
    let decided = agent.answers("a summary");
    assert!(decided.iter().any(|event| event.starts_with("compacted")), "{decided:?}");
    let shown = agent.shown();
    assert!(shown[2].contains(":\n\na summary\n\n[From the system"), "{shown:#?}");
    assert_eq!(shown.iter().filter(|text| text.contains(&"b".repeat(640))).count(), 3, "it stays whole: {shown:#?}");
    assert_eq!(agent.log.iter().filter(|event| event.kind.name() == "branch_opened").count(), 1);
}

#[test]
fn what_is_longer_than_a_window_is_summarised_by_the_model_part_by_part() {
    let mut agent = Agent::with_window(no_limits(), 4_000);
    agent.says(MessageMode::Message, "do it");
    agent.answers("yes");
    let mut parts = 0;
    for number in 0..9 {
        exchange(&mut agent, &format!("question {number}?"), 300);
    }
    // From here on under a model with a third of the window.
    let small = mainpath_testkit::world::spec(no_limits(), 1_300);
    agent.takes(InputKind::SetSpec { spec: Arc::new(small), by: None });
    said(&mut agent, "and now?", 10, 0);
    let mut read = Vec::new();
    while agent.state().branch.is_some() {
        let shown = agent.shown();
        mainpath_testkit::check::fits(agent.state()).unwrap();
        parts += 1;
        read.extend((0..9).filter(|number| shown.contains(&format!("User: question {number}?"))));
        agent.answers(&format!("up to {:?}", read.last()));
    }
    let shown = agent.shown();
    assert!(parts > 1, "{read:?}");
    read.extend((0..9).filter(|number| shown.contains(&format!("User: question {number}?"))));
    assert_eq!(read, (0..9).collect::<Vec<_>>(), "each is summarised once, oldest first, or is still shown");
    let by_rules = |event: &&Event| matches!(&event.kind, EventKind::Compacted(data) if data.text.is_some());
    assert_eq!(agent.log.iter().filter(by_rules).count(), 0);
    assert!(shown[1].contains("up to Some(") && shown.last().unwrap() == "User: and now?", "{shown:#?}");
}
