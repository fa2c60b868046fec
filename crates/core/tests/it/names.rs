//! What a trace is called.

use crate::support::*;
use mainpath_core::*;
use mainpath_types::*;

fn name(name: &str, made: Option<NameMade>) -> InputKind {
    InputKind::Name(TraceNamed { name: name.into(), by: user(), made })
}

fn made() -> NameMade {
    NameMade {
        model: "small".into(),
        usage: Usage { input: 100, output: 7, ..Usage::default() },
        cost: 5,
        about: false,
    }
}

#[test]
fn a_name_is_given_at_any_time_and_begins_nothing() {
    let mut agent = Agent::new(no_limits());
    agent.takes(name("Before anything is said", None));
    assert!(agent.state().run.is_none());
    agent.says(MessageMode::Message, "do it");
    let request = agent.state().model.map(|model| model.request);
    agent.takes(name("  While the model is asked ", None));
    assert_eq!(agent.state().name.as_deref(), Some("While the model is asked"));
    assert_eq!(agent.state().model.map(|model| model.request), request);
    agent.answers("done");
    agent.takes(name("After the run", None));
    assert_eq!((agent.state().run.is_none(), agent.state().name.as_deref()), (true, Some("After the run")));
}

#[test]
fn what_a_model_took_to_make_a_name_is_spent_and_its_name_takes_no_other_s_place() {
    let mut agent = Agent::new(no_limits());
    agent.says(MessageMode::Message, "do it");
    agent.takes(name("Made of the task", Some(made())));
    let run = agent.state().run.as_ref().unwrap();
    assert_eq!(
        (run.usage.total(), run.cost, agent.state().spent.usage.total(), agent.state().spent.cost),
        (107, 5, 107, 5)
    );
    agent.takes(name("By a person", None));
    agent.refuses(name("Made again", Some(made())), Refusal::Named);
    assert_eq!(agent.state().name.as_deref(), Some("By a person"));
}

#[test]
fn what_is_no_name_is_refused() {
    let mut agent = Agent::new(no_limits());
    for none in ["", " \n", "two\nlines", "a\u{7}bell", &"x".repeat(LONGEST_NAME + 1)] {
        agent.refuses(name(none, None), Refusal::BadName);
    }
    agent.takes(name(&"名".repeat(LONGEST_NAME), None));
}

#[test]
fn a_task_names_its_trace_by_its_first_words() {
    for (task, name) in [
        ("Fix the parser", "Fix the parser"),
        ("  \n# Fix the parser.\nIt fails on tabs.", "Fix the parser"),
        ("Fix the parser. It fails on tabs.", "Fix the parser"),
        ("Fix the parser of config.toml, which fails on tabs", "Fix the parser of config.toml"),
        ("把这个项目的 Docker 构建速度优化一下，然后写一份报告给我看看好吗", "把这个项目的 Docker 构建速度优化一下"),
        ("Fix, then test, the parser of that old configuration", "Fix, then test, the parser of that old"),
        ("优化构建。然后写报告", "优化构建"),
        ("Use {{secret:TOKEN}} to log in", "Use to log in"),
        ("{{secret:TOKEN", ""),
        ("…?!", ""),
        ("", ""),
    ] {
        assert_eq!(short_name(task), name, "{task:?}");
    }
    assert_eq!(short_name(&"x".repeat(100)).len(), 40);
}
