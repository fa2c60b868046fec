//! Presets, as an embedding program uses them: listed, applied to an agent, and to the children of one.

use crate::support::{COUNT, Place};
use mainpath::agent::{AgentOptions, LimitOptions};
use mainpath::prelude::*;
use mainpath::presets::{Layer, Standing};
use mainpath::types::{AppliedPreset, RunRules, Spec};

fn write(place: &Place, file: &str, text: &str) {
    let file = place.work().join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// The data directory of a place's host is its home.
fn write_own(place: &Place, name: &str, text: &str) {
    write(place, &format!("../data/agents/{name}.md"), text);
}

fn tools(spec: &Spec) -> Vec<&str> {
    let looks_back = ["expand_window", "list_calls", "load_older_messages", "recall_result"];
    spec.tools.iter().map(|tool| tool.name.as_str()).filter(|name| !looks_back.contains(name)).collect()
}

#[tokio::test]
async fn a_host_lists_its_own_presets_and_those_of_a_workspace_and_reads_nothing_of_the_person_s() {
    let place = Place::new(COUNT);
    write_own(&place, "counter", "---\ntools: count_words\n---\nCount.\n");
    write(&place, ".claude/agents/theirs.md", "---\nname: theirs\n---\nBe mine.\n");
    let presets = place.host().await.presets(place.work()).unwrap();
    let told: Vec<(&str, Layer, Standing)> =
        presets.listed.iter().map(|one| (one.preset.name.as_str(), one.layer, one.standing())).collect();
    assert_eq!(
        told,
        [
            ("theirs", Layer::Project, Standing::Untrusted),
            ("counter", Layer::User, Standing::Ready),
            ("analyst", Layer::Builtin, Standing::Ready),
            ("default", Layer::Builtin, Standing::Ready),
            ("evaluate", Layer::Builtin, Standing::Ready),
            ("explore", Layer::Builtin, Standing::Ready),
        ]
    );
    let refused = presets.choose("theirs").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(
        refused.message().ends_with("theirs.md) comes with this repository, and you have not trusted it"),
        "{refused}"
    );
}

#[tokio::test]
async fn an_agent_of_a_preset_has_its_tools_and_limits_and_what_its_caller_says_comes_first() {
    let place = Place::new(COUNT);
    write_own(
        &place,
        "counter",
        "---\ntools: [count_words, bash]\ndenied_tools: bash\nmax_turns: 4\nskills: []\n---\nCount.\n",
    );
    let agent = place.agent().await.preset("counter");
    let spec = agent.spec().unwrap();
    assert_eq!((tools(&spec), spec.limits.turns), (vec!["count_words"], Some(4)));
    assert_eq!(spec.rules, RunRules { deny: vec!["bash # preset counter".into()], ..RunRules::default() });
    let source = place.work().parent().unwrap().join("data/agents/counter.md").display().to_string();
    let (name, instructions) = ("counter".to_string(), "Count.".to_string());
    assert_eq!(spec.preset, Some(AppliedPreset { name, source, skills: Some(vec![]), instructions }));
    assert_eq!(spec.relations.agent_type.as_deref(), Some("counter"));
    let limits = LimitOptions { turns: Some(6), ..LimitOptions::default() };
    let options = AgentOptions { workspace: Some(place.work()), ..AgentOptions::default() };
    let other = agent.clone().options(options).limits(limits).tools(["read"]).spec().unwrap();
    assert_eq!((tools(&other), other.limits.turns), (vec!["read_text_file"], Some(6)));
    let denied = agent.clone().tools(["bash"]).spec().unwrap_err();
    assert_eq!((denied.field(), denied.message()), (Some("tools"), "tools: the preset counter denies bash"));
    let run = agent.start("Count.").await.unwrap();
    assert_eq!(run.outcome().await.unwrap().answer, "Three words.");
    let unknown = place.agent().await.preset("countre").spec().unwrap_err();
    assert_eq!(unknown.message(), "there is no preset \"countre\"; did you mean \"counter\"?");
}

/// A parent with few rights, and its child of a preset that would have more.
#[tokio::test]
async fn a_child_has_no_more_tools_rules_access_or_limits_than_its_parent() {
    let place = Place::new(COUNT);
    write_own(
        &place,
        "greedy",
        "---\ntools: \"*\"\nmax_turns: 500\nmax_calls: 0\nmax_tokens: 10\ntimeout: 10h\ntemperature: 1.5\n---\nTake all.\n",
    );
    let host = place.host().await;
    let limits = LimitOptions { turns: Some(9), calls: Some(20), tokens: Some(1_000), ..LimitOptions::default() };
    let parent =
        host.agent(place.model()).workspace(place.work()).preset("explore").limits(limits).access(Access::ReadOnly);
    let mut parent = parent.approvals(ApprovalMode::Deny).deny("read(secrets/**)").spec().unwrap();
    parent.rules.commands.push(vec!["git *".into()]);
    let child = host.child_spec("greedy", &parent, 1).unwrap();
    assert_eq!((tools(&child), &child.allowed_tools), (tools(&parent), &parent.allowed_tools));
    assert_eq!((&child.rules, child.access, child.network), (&parent.rules, Access::ReadOnly, false));
    assert_eq!((child.mode, &child.model, &child.workspace), (ApprovalMode::Deny, &parent.model, &parent.workspace));
    assert_eq!((child.limits.turns, child.limits.calls, child.limits.tokens), (Some(9), Some(20), Some(10)));
    assert_eq!(
        (child.limits.run_timeout_ms, child.temperature),
        (Some(36_000_000), Some(1.5)),
        "the parent has no limit in time"
    );
    assert_eq!(child.relations.agent_type.as_deref(), Some("greedy"));
    assert_eq!(child.preset.as_ref().map(|preset| preset.instructions.as_str()), Some("Take all."));
    assert!(child.instructions.contains("You work as the agent \"greedy\". Its instructions:\nTake all."));
    assert!(!child.instructions.contains("You work as the agent \"explore\""));
}

#[tokio::test]
async fn a_child_of_a_preset_that_narrows_is_narrowed_and_one_yes_for_a_run_is_for_one_run() {
    let place = Place::new(COUNT);
    write_own(&place, "git", "---\ntools: [bash(git *), read]\ndenied_tools: count_words\n---\n");
    let host = place.host().await;
    let mut parent = host.agent(place.model()).workspace(place.work()).approvals(ApprovalMode::Yes).spec().unwrap();
    parent.mode_for = Some(2);
    parent.rules.commands.push(vec!["make *".into()]);
    let child = host.child_spec("git", &parent, 2).unwrap();
    assert_eq!(tools(&child), ["bash", "read_text_file"]);
    assert_eq!(child.rules.commands, [vec!["make *".to_string()], vec!["git *".to_string()]], "it must be both");
    assert_eq!(child.rules.deny, ["count_words # preset git"]);
    assert_eq!((child.mode, child.mode_for), (ApprovalMode::Yes, Some(1)));
    let later = host.child_spec("git", &parent, 3).unwrap();
    assert_eq!((later.mode, later.mode_for), (ApprovalMode::Ask, None));
    let mut caller = host.child_spec("explore", &parent, 2).unwrap();
    assert_eq!(tools(&caller), ["glob", "goal", "grep", "list_files", "read_text_file"]);
    caller.limits.turns = None;
    assert_eq!(host.child_spec("default", &caller, 1).unwrap().limits.turns, Some(30));
    assert_eq!(tools(&host.child_spec("default", &caller, 1).unwrap()), tools(&caller));
    assert_eq!(tools(&host.child_spec("git", &caller, 1).unwrap()), ["read_text_file"]);
    assert_eq!(host.child_spec("none", &parent, 1).unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn a_child_on_a_model_that_reasons_has_no_temperature_of_its_preset() {
    let place = Place::new(COUNT);
    let host = place.host().await;
    for (model, expected) in [(place.model(), Some(0.3)), ("openai:gpt-5.5".into(), None)] {
        let parent = Spec { temperature: None, ..host.agent(model.clone()).workspace(place.work()).spec().unwrap() };
        assert_eq!(host.child_spec("analyst", &parent, 1).unwrap().temperature, expected, "{model}");
    }
}
