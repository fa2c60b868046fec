//! Skills: loaded by a call, a person or a preset, shown from the next turn on, and left out by nothing but a rewind.

use crate::support::*;
use mainpath_core::*;
use mainpath_testkit::world::spec;
use mainpath_types::*;
use std::sync::Arc;

fn select(data: SkillSelected) -> InputKind {
    InputKind::SelectSkill(Box::new(data))
}

fn by_person(name: &str) -> InputKind {
    select(skill(name, SkillBy::Person, 20))
}

fn by_model(name: &str, id: &str) -> InputKind {
    select(SkillSelected { call: Some(call(id)), ..skill(name, SkillBy::Model, 20) })
}

fn loaded(agent: &Agent) -> Vec<String> {
    agent.state().loaded_skills().map(|row| row.skill.to_string()).collect()
}

/// The skills that the next request shows, in its order.
fn shown(agent: &Agent) -> Vec<u32> {
    let items = pack(agent.state()).unwrap().items;
    items.iter().filter_map(|item| if let Item::Skill { seq, .. } = item { Some(seq.0) } else { None }).collect()
}

#[test]
fn a_skill_that_a_call_selects_is_shown_after_the_results_of_its_turn() {
    let mut agent = Agent::calling(no_limits(), &[allowed("read")]);
    agent.gives(by_model("forms", "2.0"), &["skill_selected forms by Model"]);
    assert_eq!(loaded(&agent), ["forms"], "it counts from then on");
    agent.gives(
        done("2.0", 1),
        &["call_resolved 2.0 Ok Result", "turn_finished 3 results=1", "message_joined 4", "model_requested 2 at 4"],
    );
    let last = agent.shown().pop().unwrap();
    assert!(last.starts_with("User: [The skill forms (user), which you selected: it fits\n"), "{last}");
    assert!(last.ends_with("how to do forms"), "{last}");
}

#[test]
fn a_skill_that_a_person_names_stands_before_what_is_said() {
    let mut agent = Agent::new(no_limits());
    agent.gives(by_person("forms"), &["skill_selected forms by Person"]);
    agent.gives(
        mail(MessageMode::Message, "fill it in"),
        &[
            "message_queued Message",
            "run_started 1 New",
            "message_joined 1",
            "message_joined 2",
            "model_requested 1 at 2",
        ],
    );
    assert_eq!(shown(&agent), [1]);
    assert_eq!(task(agent.state()), Some(Seq(2)), "the task is what was asked");
}

#[test]
fn after_a_final_answer_a_skill_waits_for_what_is_said_next() {
    let mut agent = told();
    agent.gives(by_person("forms"), &["skill_selected forms by Person"]);
    assert_eq!(agent.pending(), Vec::<String>::new(), "alone it asks nothing");
    agent.gives(
        mail(MessageMode::Message, "again"),
        &[
            "message_queued Message",
            "run_started 2 Continue",
            "message_joined 5",
            "message_joined 6",
            "model_requested 3 at 6",
        ],
    );
}

#[test]
fn a_model_selects_two_skills_in_a_turn_and_people_as_many_as_they_like() {
    let mut agent = Agent::calling(no_limits(), &[allowed("read")]);
    for name in ["a", "b"] {
        agent.takes(by_model(name, "2.0"));
    }
    agent.refuses(by_model("c", "2.0"), Refusal::SkillsOfTurn(2));
    for name in ["c", "d", "e"] {
        agent.takes(by_person(name));
    }
    agent.takes(done("2.0", 1));
    agent.calls(&[allowed("read")]);
    let next = agent.state().turn_calls()[0].id.to_string();
    agent.takes(by_model("f", &next));
    assert_eq!(loaded(&agent), ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn a_skill_is_loaded_once_unless_its_text_has_changed() {
    let mut agent = Agent::asked(no_limits());
    agent.takes(by_person("forms"));
    agent.refuses(by_person("forms"), Refusal::SkillLoaded("forms".into()));
    agent.takes(select(skill("forms", SkillBy::Person, 21)));
    let tools = agent.state().skills_for_tools();
    assert_eq!(tools.len(), 1, "its tools work with the newest: {tools:?}");
}

#[test]
fn only_a_running_call_selects_and_reads() {
    let mut agent = Agent::calling(no_limits(), &[planned("bash", Decision::Ask)]);
    agent.refuses(by_model("forms", "2.0"), Refusal::NotStarted(call("2.0")));
    agent.refuses(by_model("forms", "9.0"), Refusal::NoSuchCall(call("9.0")));
    let resource = |id: &str| {
        InputKind::LoadResource(ResourceLoaded {
            call: call(id),
            skill: "forms".into(),
            path: "a.md".into(),
            section: None,
            hash: String::new(),
            partial: false,
        })
    };
    agent.refuses(resource("2.0"), Refusal::NotStarted(call("2.0")));
    agent.takes(approve("2.0"));
    agent.gives(resource("2.0"), &["resource_loaded 2.0 forms/a.md"]);
    agent.takes(done("2.0", 1));
    agent.refuses(by_model("forms", "2.0"), Refusal::AlreadyResolved(call("2.0")));
}

#[test]
fn skills_take_a_third_of_a_request_at_most() {
    let mut agent = Agent::with_window(no_limits(), 1_000);
    agent.says(MessageMode::Message, "do it");
    agent.takes(select(skill("a", SkillBy::Person, 200)));
    let large = skill("b", SkillBy::Person, 300);
    let Err(Refusal::NoRoomForSkill { skill, tokens: 300, left }) =
        agent.offer(&Input::new(9_000, select(large))).map(drop)
    else {
        panic!("it was taken")
    };
    assert_eq!(skill, "b");
    assert!(left < 300, "{left}");
}

#[test]
fn no_cut_and_no_summary_leaves_a_skill_out() {
    for limits in [windowed(4), no_limits()] {
        let mut agent =
            Agent::with_window(limits.clone(), if limits.window_messages.is_some() { 100_000 } else { 1_000 });
        agent.takes(by_person("forms"));
        agent.says(MessageMode::Message, "do it");
        for round in 0..12 {
            agent.calls(&[allowed("read")]);
            let call = agent.state().turn_calls()[0].id;
            let output = ToolOutput::text("a".repeat(400));
            agent.takes(InputKind::ToolFinished { call, attempt: 1, output, tokens: 100 });
            while agent.state().branch.is_some() {
                match agent.state().model {
                    Some(_) => agent.answers("a summary"),
                    None => agent.summarises(),
                };
            }
            assert_eq!(shown(&agent), [1], "round {round}");
        }
        let cuts = agent.log.iter().filter(|event| ["context_cut", "compacted"].contains(&event.kind.name()));
        assert!(cuts.count() > 0, "something was left out");
        assert_eq!(loaded(&agent), ["forms"]);
    }
}

#[test]
fn a_rewind_to_before_a_selection_unloads_it_and_one_to_after_it_does_not() {
    let mut agent = told();
    agent.takes(by_person("forms"));
    agent.says(MessageMode::Message, "again");
    agent.answers("done");
    agent.takes(rewind(6, Some("once more")));
    assert_eq!((loaded(&agent), shown(&agent)), (vec!["forms".to_string()], vec![5]));
    agent.answers("done");
    agent.takes(rewind(4, Some("without it")));
    assert_eq!((loaded(&agent), shown(&agent)), (vec![], vec![]));
    agent.answers("done");
    agent.takes(by_person("forms"));
    assert_eq!(loaded(&agent), ["forms"], "it can be loaded again");
}

#[test]
fn what_is_loaded_from_the_beginning_is_there_again_after_a_rewind_and_a_clear() {
    let mut agent = Agent::new(no_limits());
    agent.takes(select(skill("always", SkillBy::Preset, 20)));
    agent.takes(by_person("once"));
    agent.says(MessageMode::Message, "do it");
    agent.answers("done");
    let said = agent.takes(rewind(0, Some("start over")));
    assert_eq!(said[2..], ["run_started 2 Rewind", "message_joined 5", "message_joined 6", "model_requested 2 at 6"]);
    assert_eq!((loaded(&agent), shown(&agent)), (vec!["always".to_string()], vec![5]));
    agent.answers("done");
    agent.takes(clear());
    assert_eq!(loaded(&agent), ["always"]);
    agent.says(MessageMode::Message, "anew");
    assert_eq!(shown(&agent).len(), 1);
    assert_eq!(agent.state().loaded_skills().count(), 1, "and no more than once");
}

#[test]
fn a_call_that_a_crash_cut_off_finds_its_skill_loaded() {
    let mut agent = Agent::calling(no_limits(), &[allowed("read")]);
    agent.takes(by_model("forms", "2.0"));
    let mut agent = agent.crashed();
    agent.takes(recovered());
    agent.refuses(by_model("forms", "2.0"), Refusal::SkillLoaded("forms".into()));
    agent.takes(done("2.0", 2));
    assert_eq!(shown(&agent), [4]);
}

#[test]
fn a_run_ends_for_its_scripts_with_a_reason_of_their_own() {
    let limits = Limits { script_runs: Some(1), ..no_limits() };
    let mut agent = Agent::new(limits.clone());
    let mut spec = spec(limits, 100_000);
    spec.tools[3].name = RUN_SCRIPT.into();
    agent.takes(InputKind::SetSpec { spec: Arc::new(spec), by: None });
    agent.says(MessageMode::Message, "do it");
    agent.calls(&[allowed(RUN_SCRIPT)]);
    agent.takes(done("2.0", 1));
    let made = agent.calls(&[allowed(RUN_SCRIPT), allowed("read")]);
    assert_eq!(made[1..], ["call_resolved 4.0 Skipped ScriptBudget", "action_started 4.1 #1"]);
    let said = agent.takes(done("4.1", 1));
    assert_eq!(said[2..], ["run_closing max_script_runs", "run_finished max_script_runs turns=2 calls=2"]);
}

#[test]
fn erased_skills_keep_their_place_and_lose_their_words() {
    let kind = EventKind::from(skill("forms", SkillBy::Person, 20)).without_words();
    let EventKind::SkillSelected(data) = kind else { panic!("another event") };
    assert_eq!((data.skill.as_str(), data.reason.as_str()), ("forms", ERASED));
    assert_eq!(data.parts, [Part::text(ERASED)]);
}
