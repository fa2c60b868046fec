//! What the children of a call came to, as the result of the call: one object for each, in the order of the tasks.

use mainpath_core::in_brief;
use mainpath_types::{AGENT_FAILED, BlobHash, ChildOutcome, Part, SubTraceCompleted, ToolOutput};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// So much of each answer is in the line that stands for the result once it is shown no more.
const GIST_CHARS: usize = 300;

/// So many bytes of a patch are shown.
const MOST_SHOWN: usize = 8_000;

/// The beginning of a patch, as far as it is shown.
pub(crate) fn beginning(patch: &[u8]) -> String {
    let text = String::from_utf8_lossy(patch);
    match text.len() {
        ..=MOST_SHOWN => text.into_owned(),
        bytes => {
            let end = text.floor_char_boundary(MOST_SHOWN);
            format!("{}\n[{} more bytes]", text.get(..end).unwrap_or_default(), bytes - end)
        }
    }
}

/// So many files of a child are named.
const MOST_NAMED: usize = 200;
/// What is said of changes that were made in a copy.
const UNTAKEN: &str = "it worked in a copy: its changes are not in your folder yet; take_changes with its sub_trace_id puts them there, \
                       or leave them";

/// The result of a call, of what its children came to in their order. `patches`: the beginnings of patches, by their blobs.
pub(crate) fn hand_back(children: &[SubTraceCompleted], patches: &BTreeMap<BlobHash, String>) -> ToolOutput {
    let whole = children.iter().map(|child| object(child, usize::MAX, patches)).collect();
    let brief = children.iter().map(|child| object(child, GIST_CHARS, &BTreeMap::new())).collect();
    let failed = children.iter().all(|child| child.outcome == ChildOutcome::Failed);
    ToolOutput {
        content: vec![Part::text(text(whole))],
        long_term_memory: Some(text(brief)),
        error: failed.then(|| AGENT_FAILED.into()),
        title: Some(title(children)),
        origin: children.iter().flat_map(|child| &child.handed.origins).min().copied().unwrap_or_default(),
        ..ToolOutput::default()
    }
}

/// What came of them, for people.
fn title(children: &[SubTraceCompleted]) -> String {
    let of = |outcome| children.iter().filter(|child| child.outcome == outcome).count();
    let named = [
        (of(ChildOutcome::Result), "done"),
        (of(ChildOutcome::Partial), "came to a limit"),
        (of(ChildOutcome::Failed), "failed"),
        (of(ChildOutcome::Stopped), "stopped"),
    ];
    let parts: Vec<String> =
        named.iter().filter(|(count, _)| *count > 0).map(|(n, how)| format!("{n} {how}")).collect();
    parts.join(", ")
}

fn text(mut objects: Vec<Value>) -> String {
    match objects.len() {
        1 => objects.remove(0).to_string(),
        _ => json!({ "results": objects }).to_string(),
    }
}

fn object(child: &SubTraceCompleted, most: usize, patches: &BTreeMap<BlobHash, String>) -> Value {
    let handed = &child.handed;
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.into(), value);
    put("status", json!(child.outcome));
    if let Some(trace) = &handed.child {
        put("sub_trace_id", json!(trace));
    }
    if let Some(problem) = &handed.problem {
        put("problem", json!(problem));
    }
    if let Some(reason) = handed.reason.filter(|_| child.outcome != ChildOutcome::Result) {
        put("reason", json!(reason));
    }
    put("answer", json!(if most == usize::MAX { handed.answer.clone() } else { in_brief(&handed.answer, most) }));
    if handed.left_out > 0 {
        put("left_out", json!(format!("{} more characters are in its trace", handed.left_out)));
    }
    if !handed.files.is_empty() {
        let is_elsewhere = handed.child.as_ref().is_some_and(|child| child.elsewhere().is_some());
        let name = match handed.patch {
            Some(_) => "files_in_patch",
            None if is_elsewhere => "files_changed_there",
            None => "files_changed",
        };
        put(name, json!(handed.files.iter().take(MOST_NAMED).collect::<Vec<_>>()));
        let more = handed.files.len().saturating_sub(MOST_NAMED);
        if more > 0 {
            put("more_files", json!(more));
        }
    }
    if handed.patch.is_some() {
        put("changes", json!(UNTAKEN));
        if let Some(patch) = handed.patch.as_ref().and_then(|patch| patches.get(patch)) {
            put("patch", json!(patch));
        }
    }
    put("calls", json!(handed.calls));
    if handed.denied > 0 {
        put("denied_calls", json!(handed.denied));
    }
    if handed.unknown > 0 {
        put("unknown_calls", json!(handed.unknown));
        put("about_unknown_calls", json!("they may or may not have taken effect: look before you rely on it"));
    }
    put("tokens", json!(handed.spent.usage.total()));
    if handed.is_empty() && child.outcome == ChildOutcome::Result {
        put("note", json!("it returned nothing: no words, and no file changed"));
    }
    if matches!(child.outcome, ChildOutcome::Partial | ChildOutcome::Stopped) && handed.child.is_some() {
        put("note", json!("it can go on from where it is: call agent with continue_from"));
    }
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_types::{CallId, FinishReason, HandedBack, Origin, Seq, Usage};

    fn child(outcome: ChildOutcome, handed: HandedBack) -> SubTraceCompleted {
        SubTraceCompleted { call: CallId { seq: Seq(2), index: 0 }, nth: 0, of: 1, outcome, handed }
    }

    #[test]
    fn a_result_is_one_object_and_what_is_empty_or_not_all_is_marked() {
        let id = "t@delegate-5-001".parse().ok();
        let mut handed = HandedBack { child: id, answer: "Done.".into(), calls: 2, ..HandedBack::default() };
        handed.spent.usage = Usage { input: 30, output: 4, ..Usage::default() };
        let output = hand_back(&[child(ChildOutcome::Result, handed.clone())], &BTreeMap::new());
        let text = mainpath_types::text_of(&output.content);
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"status": "result", "sub_trace_id": "t@delegate-5-001", "answer": "Done.", "calls": 2, "tokens": 34})
        );
        let unsure = HandedBack { unknown: 1, ..handed.clone() };
        let output = hand_back(&[child(ChildOutcome::Result, unsure)], &BTreeMap::new());
        let text = mainpath_types::text_of(&output.content);
        let about = "\"about_unknown_calls\":\"they may or may not have taken effect";
        assert!(text.contains("\"unknown_calls\":1") && text.contains(about), "{text}");
        handed.answer = String::new();
        let text = hand_back(&[child(ChildOutcome::Result, handed.clone())], &BTreeMap::new());
        assert!(mainpath_types::text_of(&text.content).contains("it returned nothing"));
        handed.reason = Some(FinishReason::MaxTurns);
        let text = hand_back(&[child(ChildOutcome::Partial, handed)], &BTreeMap::new());
        let text = mainpath_types::text_of(&text.content);
        assert!(text.contains("\"reason\":\"max_turns\"") && text.contains("continue_from"), "{text}");
    }

    #[test]
    fn several_results_stand_in_their_order_and_only_all_failed_is_a_failure() {
        let failed = HandedBack { problem: Some("no".into()), ..HandedBack::default() };
        let both = [child(ChildOutcome::Failed, failed.clone()), child(ChildOutcome::Result, HandedBack::default())];
        let output = hand_back(&both, &BTreeMap::new());
        assert_eq!(output.error, None);
        let value: Value = serde_json::from_str(&mainpath_types::text_of(&output.content)).unwrap();
        assert_eq!(value["results"][0]["problem"], "no");
        assert_eq!((output.title.as_deref(), output.origin), (Some("1 done, 1 failed"), Origin::Workspace));
        // What one of them read outside may speak in its words.
        let web = HandedBack { origins: vec![Origin::Web, Origin::Mcp], ..HandedBack::default() };
        let both = [child(ChildOutcome::Result, HandedBack::default()), child(ChildOutcome::Result, web)];
        assert_eq!(hand_back(&both, &BTreeMap::new()).origin, Origin::Web);
        assert_eq!(
            hand_back(&[child(ChildOutcome::Failed, failed)], &BTreeMap::new()).error.as_deref(),
            Some("agent_failed")
        );
    }
}
