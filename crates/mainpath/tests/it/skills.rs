//! Skills in a host of one's own: none unless it was given some.

use crate::support::Place;
use mainpath::prelude::*;
use mainpath::types::{EventKind, SkillBy, SkillShown, Spec, text_of};

const SELECT: &str = r#"
[[turn]]
calls = [{ tool = "select_skills", args = { skills = [{ name = "local", reason = "it fits" }] } }]
[[turn]]
final = "Done."
"#;

/// A place whose workspace has a skill.
fn place() -> Place {
    let place = Place::new(SELECT);
    let folder = place.work().join(".agents/skills/local");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("SKILL.md"), "---\nname: local\ndescription: Of this project.\n---\nDo it so.\n")
        .unwrap();
    place
}

async fn host(place: &Place) -> Host {
    Host::builder().data_dir(place.work().parent().unwrap().join("data")).skills(None).build().await.unwrap()
}

fn about_skills(spec: &Spec) -> Vec<&str> {
    spec.tools.iter().map(|tool| tool.name.as_str()).filter(|name| name.contains("skill")).collect()
}

#[tokio::test]
async fn a_host_that_was_given_no_skills_is_as_before() {
    let place = place();
    let spec = place.agent().await.spec().unwrap();
    assert_eq!((about_skills(&spec), spec.skills.is_empty()), (vec![], true));
    assert!(!spec.instructions.contains("Skills say"));
    let error = place.agent().await.skills(["local"]).start("Do it.").await.err().unwrap();
    assert_eq!(error.message(), "skills: there are no skills here");
}

#[tokio::test]
async fn a_program_trusts_a_skill_and_its_agent_selects_it() {
    let place = place();
    let host = host(&place).await;
    let agent = host.agent(place.model()).workspace(place.work());
    let spec = agent.clone().spec().unwrap();
    let listed: Vec<(&str, SkillShown)> =
        spec.skills.listed.iter().map(|one| (one.skill.as_str(), one.shown)).collect();
    assert_eq!(listed, [("planning", SkillShown::Whole), ("local", SkillShown::Untrusted)]);
    let shelf = host.skills().unwrap();
    let found = shelf.read(&place.work());
    shelf.trust(&found.untrusted[0]).unwrap();
    let run = agent.start("Do it.").await.unwrap();
    let trace = run.trace().clone();
    let mut selected = Vec::new();
    run.outcome_with(|event| {
        if let RunEvent::SkillSelected(event) = event {
            selected.push((event.data.skill.clone(), event.data.by, text_of(&event.data.parts)));
        }
    })
    .await
    .unwrap();
    assert_eq!(selected, [("local".to_string(), SkillBy::Model, "Do it so.".to_string())]);
    let state = trace.state().await.unwrap();
    assert_eq!(state.loaded_skills().map(|row| row.source.to_string()).collect::<Vec<_>>(), ["project"]);
    // What a skill says is no part of what was said.
    let said = serde_json::to_string(&trace.messages().await.unwrap()).unwrap();
    assert!(!said.contains("Do it so."), "{said}");
    assert!(shelf.distrust(&shelf.read(&place.work()).skills[0]).unwrap());
    assert_eq!(shelf.read(&place.work()).untrusted.len(), 1);
}

#[tokio::test]
async fn named_skills_are_loaded_from_the_beginning_and_a_slash_names_one() {
    let place = place();
    let host = host(&place).await;
    let agent = || host.agent(place.model()).workspace(place.work());
    let by = |trace: Trace| async move {
        let events = trace.events(1).await.unwrap();
        let of = events.iter().filter_map(|event| match &event.kind {
            EventKind::SkillSelected(data) => Some((data.skill.clone(), data.by)),
            _ => None,
        });
        of.collect::<Vec<_>>()
    };
    let run = agent().skills(["planning"]).start("Do it.").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    assert_eq!(by(trace).await, [("planning".to_string(), SkillBy::Preset)]);
    let run = agent().start("/planning the week").await.unwrap();
    let trace = run.trace().clone();
    run.outcome().await.unwrap();
    assert_eq!(by(trace).await, [("planning".to_string(), SkillBy::Person)]);
    let none = agent().skills(Vec::<String>::new()).spec().unwrap();
    assert_eq!(about_skills(&none), Vec::<&str>::new());
    let wrong = agent().skills(["planing"]).start("Do it.").await.err().unwrap();
    assert_eq!(wrong.message(), "skills: there is no skill \"planing\"; did you mean planning?");
}
