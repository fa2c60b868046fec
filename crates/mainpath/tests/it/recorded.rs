//! Runs that are played again: as tests, and with something changed.

use mainpath::prelude::*;
use mainpath::recorded::{CallStep, RecordedAnswer, RecordedStep, first_difference};
use mainpath::testing::{AddedCall, NewTest};
use mainpath::tools::DynTool;
use mainpath::what_if::{LaneFigures, StopWork, WhatIf, spec_at};
use mainpath_types::{Decision, Part, Resolution, Spec, StopReason, Usage};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// Sends a note, and counts how many were sent.
struct SendNote(Arc<AtomicU32>);

impl DynTool for SendNote {
    fn run<'a>(&'a self, _: &'a ToolContext, _: Value) -> Fut<'a, ToolOutput> {
        Box::pin(async {
            let number = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            ToolOutput::text(format!("Note {number} sent."))
        })
    }
}

fn offer_notes(tools: &Tools, sent: &Arc<AtomicU32>) {
    let doc = ToolDoc::new("Sends a note.", EffectClass::MessageSend);
    tools.put("send_note", doc, json!({"type": "object"}), Arc::new(SendNote(Arc::clone(sent)))).unwrap();
}

struct Ran {
    folder: TempDir,
    trace: TraceId,
    sent: Arc<AtomicU32>,
}

impl Ran {
    /// A run that sends a note.
    async fn new() -> Ran {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        std::fs::write(folder.path().join("work/a.txt"), "one").unwrap();
        let sent = Arc::default();
        let host = Host::from_folder(&folder.path().join("home")).unwrap();
        offer_notes(host.tools(), &sent);
        let model = script(
            folder.path(),
            "first",
            "[[turn]]\ncalls = [{ tool = \"send_note\" }]\nusage = { input = 60, output = 9 }\n[[turn]]\nfinal = \"Sent it.\"\nusage = { input = 70, output = 3 }\n",
        );
        let agent = host.agent(model).workspace(folder.path().join("work")).allow("send_note");
        let run = agent.start("Send a note.").await.unwrap();
        let trace = run.trace().id().clone();
        assert_eq!(run.outcome().await.unwrap().answer, "Sent it.");
        assert_eq!(sent.load(Ordering::Relaxed), 1);
        Ran { folder, trace, sent }
    }

    fn host(&self) -> Host {
        Host::from_folder(&self.folder.path().join("home")).unwrap()
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }
}

fn script(folder: &Path, name: &str, text: &str) -> String {
    let file = folder.join(format!("{name}.toml"));
    std::fs::write(&file, text).unwrap();
    format!("scripted:{}", file.display())
}

#[tokio::test]
async fn a_test_needs_neither_the_model_nor_the_tools_of_its_run() {
    let ran = Ran::new().await;
    std::fs::remove_file(ran.folder.path().join("first.toml")).unwrap();
    // Without the tool.
    let host = ran.host();
    let new = NewTest { name: Some("note".into()), project: ran.work(), ..NewTest::default() };
    let added = host.add_test(&ran.trace, new).await.unwrap();
    let call = AddedCall { tool: "send_note".into(), arguments: "{}".into(), verdict: Some(Decision::Allow) };
    assert_eq!(added.calls, [call]);
    let outcomes = host.run_tests(&ran.work(), &[], |_| {}).await.unwrap();
    let of: Vec<_> = outcomes.iter().map(|one| (one.name.as_str(), one.passed, one.turns, one.calls)).collect();
    assert_eq!(of, [("note", true, 2, 1)], "{outcomes:#?}");
    assert_eq!(ran.sent.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_run_that_is_decided_again_reaches_others_only_if_it_may() {
    let ran = Ran::new().await;
    let host = ran.host();
    offer_notes(host.tools(), &ran.sent);
    let old = {
        let (log, ..) = host.logs().unwrap().read(&ran.trace).await.unwrap();
        spec_at(&log.events, log.head).unwrap().clone()
    };
    let what = |spec: Spec, live| {
        let (skills, stop) = (Vec::new(), StopWork::default());
        WhatIf { at: Seq(1), spec, skills, live, yes: false, stop }
    };
    let same = host.what_if(&ran.trace, &what(old.clone(), false)).await.unwrap();
    assert_eq!((same.difference, same.trace, same.folder), (None, None, None));
    let figures = LaneFigures {
        reason: Some(FinishReason::Final),
        answer: "Sent it.".into(),
        turns: 2,
        calls: 1,
        tokens: 142,
        verdicts: [("allow".into(), 1)].into(),
        ..LaneFigures::default()
    };
    assert_eq!((&same.original, &same.again), (&figures, &figures));
    assert_eq!(ran.sent.load(Ordering::Relaxed), 1, "its result came from the log");

    let text = "[[turn]]\ncalls = [{ tool = \"send_note\" }, { tool = \"read_text_file\", args = { path = \"a.txt\" } }]\n\
                [[turn]]\nfinal = \"Tried it.\"\n";
    let other = Spec { model: script(ran.folder.path(), "other", text), ..old };
    let tried = host.what_if(&ran.trace, &what(other.clone(), false)).await.unwrap();
    assert_eq!((tried.refused, ran.sent.load(Ordering::Relaxed)), (1, 1));
    assert_eq!((tried.again.answer.as_str(), tried.difference.unwrap().step), ("Tried it.", 2));
    let live = host.what_if(&ran.trace, &what(other, true)).await.unwrap();
    assert_eq!((live.refused, ran.sent.load(Ordering::Relaxed)), (0, 2));
    for folder in [tried.folder, live.folder].into_iter().flatten() {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn two_runs_part_at_the_first_step_that_is_not_the_same() {
    let call = |arguments: &str, resolution, result: &str| CallStep {
        tool: "read_text_file".into(),
        arguments: arguments.into(),
        written: None,
        verdict: Some(Decision::Allow),
        rule: "r".into(),
        approved: false,
        approved_for: None,
        resolution,
        output: Some(ToolOutput::text(result)),
        reason: Some(result.into()),
        children: Vec::new(),
    };
    let answered = |text: &str, calls: Vec<CallStep>| {
        let answer = RecordedAnswer {
            parts: vec![Part::text(text)],
            usage: Usage::default(),
            stop: StopReason::End,
            malformed: false,
            calls,
            ends: Vec::new(),
        };
        vec![RecordedStep::said(vec![Part::text("Task.")]), RecordedStep::Answered(Box::new(answer))]
    };
    let ok = Some(Resolution::Ok);
    let one = answered("a", vec![call(r#"{"path": "a"}"#, ok, "x")]);
    let differs = |other: &[RecordedStep]| first_difference(&one, other).map(|found| (found.step, found.what));
    let same = [
        answered("a", vec![call(r#"{"path":"a"}"#, ok, "x")]),
        answered("a", vec![CallStep { rule: "other".into(), ..call(r#"{"path": "a"}"#, ok, "x") }]),
        answered("a", vec![call(r#"{"path": "a"}"#, None, "")]),
    ];
    for other in same {
        assert_eq!(differs(&other), None);
    }
    let deny = |call: CallStep| CallStep { verdict: Some(Decision::Deny), ..call };
    let cases = [
        (answered("b", vec![call(r#"{"path": "a"}"#, ok, "x")]), "the answer"),
        (answered("a", vec![]), "how many calls were made"),
        (answered("a", vec![call(r#"{"path": "b"}"#, ok, "x")]), "call 1: the arguments"),
        (answered("a", vec![call(r#"{"path": "a"}"#, ok, "y")]), "call 1: the result"),
        (
            answered("a", vec![call(r#"{"path": "a"}"#, Some(Resolution::Error), "x")]),
            "call 1: it was ok, and is error",
        ),
        (answered("a", vec![deny(call(r#"{"path": "a"}"#, ok, "x"))]), "call 1: the verdict was allow, and is deny"),
    ];
    for (other, what) in cases {
        assert_eq!(differs(&other), Some((2, what.to_owned())));
    }
    // Calls are counted over the whole run, and what somebody changed at the approval was called as it was written.
    let longer = |other: Vec<RecordedStep>| [one.clone(), other].concat();
    let second = first_difference(&longer(one.clone()), &longer(answered("a", vec![call("{}", ok, "x")])));
    assert_eq!(second.map(|found| (found.step, found.what)), Some((4, "call 2: the arguments".into())));
    let edited = |arguments: &str| CallStep {
        written: Some(r#"{"path": "a"}"#.into()),
        approved: true,
        ..call(arguments, ok, "x")
    };
    assert_eq!(differs(&answered("a", vec![edited(r#"{"path": "b"}"#)])), None);
    let both = [r#"{"path": "b"}"#, r#"{"path": "c"}"#].map(|arguments| answered("a", vec![edited(arguments)]));
    let found = first_difference(&both[0], &both[1]).map(|found| found.what);
    assert_eq!(found, Some("call 1: the arguments that were approved".into()));
    assert_eq!(differs(&one[..1]), Some((2, "the run ends before it".into())));
    assert_eq!(first_difference(&one[..1], &one).map(|found| found.what), Some("the recording ends before it".into()));
    // What they have in common is the same, whatever follows.
    let common = |other: &[RecordedStep]| first_difference(&one, other).unwrap().common;
    assert_eq!(common(&one[..1]), common(&answered("b", vec![])));
}
