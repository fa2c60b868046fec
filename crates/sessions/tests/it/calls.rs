use mainpath_providers::history::{HistoryFormat, Loose, write};
use mainpath_runtime::Vault;
use mainpath_sessions::*;
use mainpath_store::{FilesStore, Options, Scope, Store, TraceStore};
use mainpath_types::*;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A data folder, its sessions and their mirror in a file.
struct Place {
    dir: TempDir,
    store: FilesStore,
    scope: Scope,
    vault: Vault,
    sessions: Sessions,
    files: FilePlace,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let store = FilesStore::open(dir.path(), Options::default()).unwrap();
        let folder = dir.path().join("sessions");
        let vault = Vault::new([("API_KEY".to_string(), "hunter2hunter2".to_string())]);
        let (sessions, files) = (Sessions::new(folder.clone()), FilePlace::new(folder));
        Place { dir, store, scope: Scope::local(), vault, sessions, files }
    }

    fn around<'a>(&'a self, place: &'a dyn SessionPlace, now: Millis) -> Around<'a> {
        let Place { store, scope, vault, sessions, .. } = self;
        Around { store, scope, vault, sessions, place, now }
    }

    async fn say(&self, session: &mut Session, now: Millis, history: &Value) -> Result<Added, SessionError> {
        let messages = Loose::read(None, &history.to_string()).unwrap();
        let around = self.around(&self.files, now);
        let begin = || Ok((format!("trace-{now}").parse().unwrap(), Spec::new("some:model", Profile::Trace)));
        persist(&around, session, messages, "a test", begin).await
    }

    async fn history(&self, session: &Session, now: Millis) -> (Value, bool) {
        let prepared = prepare(&self.around(&self.files, now), session).await.unwrap();
        let text = write(HistoryFormat::OpenAi, &prepared.messages);
        (serde_json::from_slice(&text).unwrap(), prepared.mirrored)
    }
}

fn turn(n: u32) -> Value {
    json!([{"role": "user", "content": format!("question {n}")}, {"role": "assistant", "content": format!("answer {n}")}])
}

#[tokio::test]
async fn what_is_persisted_is_prepared_and_lies_in_a_trace_that_verifies() {
    let place = Place::new();
    let mut session = Session::new("chat", 20, None, 1_000);
    assert_eq!(place.history(&session, 1_000).await, (json!([]), false));
    let calls = json!([
        {"role": "user", "content": "look, the key is hunter2hunter2"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "abc", "type": "function", "function": {"name": "ls", "arguments": "{\"key\":\"hunter2hunter2\"}"}}]},
        {"role": "tool", "tool_call_id": "abc", "content": "hunter2hunter2.txt"},
        {"role": "assistant", "content": "done"}]);
    let added = place.say(&mut session, 2_000, &calls).await.unwrap();
    let trace: TraceId = "trace-2000".parse().unwrap();
    let expected = Added {
        trace: trace.clone(),
        is_new: true,
        messages: 3,
        kept: 0,
        waiting: 0,
        healed: Vec::new(),
        unmirrored: None,
    };
    assert_eq!(added, expected);
    let added = place.say(&mut session, 3_000, &turn(2)).await.unwrap();
    assert_eq!((added.is_new, added.messages), (false, 2));
    assert_eq!(place.sessions.get("chat").unwrap(), session);
    let expected = json!([
        {"role": "user", "content": "look, the key is {{secret:API_KEY}}"},
        {"role": "assistant", "tool_calls": [{"id": "call_2_0", "type": "function",
            "function": {"name": "ls", "arguments": "{\"key\":\"{{secret:API_KEY}}\"}"}}]},
        {"role": "tool", "tool_call_id": "call_2_0", "content": "{{secret:API_KEY}}.txt"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "question 2"}, {"role": "assistant", "content": "answer 2"}]);
    let (mut told, mirrored) = place.history(&session, 4_000).await;
    told[1].as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!((told, mirrored), (expected.clone(), true));
    let report = place.store.verify(&place.scope, &trace).await.unwrap();
    assert_eq!((report.damage, report.events), (None, 6));
    // A mirror that is gone or old is written again.
    std::fs::remove_file(place.dir.path().join("sessions/chat.messages.jsonl")).unwrap();
    let (_, mirrored) = place.history(&session, 4_000).await;
    assert!(!mirrored);
    let (_, mirrored) = place.history(&session, 4_000).await;
    assert!(mirrored);
}

#[tokio::test]
async fn a_window_is_as_many_of_the_last_messages_as_it_says_and_a_note_stands_before_an_answer() {
    let place = Place::new();
    let mut session = Session::new("chat", 2, None, 1_000);
    for n in 1..=5 {
        place.say(&mut session, 2_000, &turn(n)).await.unwrap();
    }
    assert_eq!(place.history(&session, 2_000).await.0, turn(5));
    session.window = 3;
    let note = "user (what was said before is left out)";
    let expected = [note, "assistant answer 4", "user question 5", "assistant answer 5"];
    assert_eq!(told(&place.history(&session, 2_000).await.0), expected);
    session.window = 0;
    assert_eq!(place.history(&session, 2_000).await.0.as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn what_is_prepared_after_a_turn_with_many_calls_holds_what_they_found() {
    let place = Place::new();
    let mut session = Session::new("chat", 8, None, 1_000);
    place.say(&mut session, 2_000, &json!([{"role": "user", "content": "find a flight"}])).await.unwrap();
    for id in ["a", "b", "c"] {
        place.say(&mut session, 2_000, &calling(&[id])).await.unwrap();
        place.say(&mut session, 2_000, &result(id)).await.unwrap();
    }
    let last = json!([{"role": "assistant", "content": "Flight 2 is best."}, {"role": "user", "content": "Book it."}]);
    place.say(&mut session, 2_000, &last).await.unwrap();
    for mirrored in [false, true] {
        if !mirrored {
            std::fs::remove_file(place.dir.path().join("sessions/chat.messages.jsonl")).unwrap();
        }
        let (history, from_mirror) = place.history(&session, 2_000).await;
        assert_eq!(from_mirror, mirrored);
        let told = told(&history);
        assert_eq!((told.len(), told[0].as_str()), (9, "user (what was said before is left out)"));
        assert_eq!((told[7].as_str(), told[8].as_str()), ("assistant Flight 2 is best.", "user Book it."));
    }
    // So few that all of them are results: their calls come with them.
    place.say(&mut session, 3_000, &calling(&["d", "e", "f"])).await.unwrap();
    for id in ["d", "e", "f"] {
        place.say(&mut session, 3_000, &result(id)).await.unwrap();
    }
    session.window = 2;
    let (history, from_mirror) = place.history(&session, 3_000).await;
    assert_eq!((told(&history).len(), from_mirror), (5, true), "{history}");
}

#[tokio::test]
async fn a_session_whose_time_is_over_is_empty_and_gets_a_new_trace() {
    let place = Place::new();
    let mut session = Session::new("chat", 20, Some(10_000), 1_000);
    place.say(&mut session, 2_000, &turn(1)).await.unwrap();
    assert_eq!(place.history(&session, 12_000).await.0, turn(1));
    let prepared = prepare(&place.around(&place.files, 12_001), &session).await.unwrap();
    assert_eq!(prepared, Prepared { messages: Vec::new(), expired: true, mirrored: false, unmirrored: None });
    let added = place.say(&mut session, 20_000, &turn(2)).await.unwrap();
    assert_eq!((added.trace.as_str(), added.is_new), ("trace-20000", true));
    assert_eq!(place.history(&session, 20_000).await.0, turn(2));
    assert_eq!(place.store.list(&place.scope).await.unwrap().len(), 2, "the old trace stays");
    // The trace is removed behind its back.
    place.store.remove(&place.scope, &added.trace).await.unwrap();
    assert_eq!(place.history(&session, 20_000).await.0, json!([]));
    assert!(place.say(&mut session, 21_000, &turn(3)).await.unwrap().is_new);
}

#[tokio::test]
async fn nothing_is_added_to_a_trace_that_somebody_has_and_no_mirror_is_needed() {
    let place = Place::new();
    let mut session = Session::new("chat", 20, None, 1_000);
    let added = place.say(&mut session, 2_000, &turn(1)).await.unwrap();
    let held = place.store.lease(&place.scope, &added.trace, false).await.unwrap();
    let refused = place.say(&mut session, 3_000, &turn(2)).await.unwrap_err().to_string();
    assert!(refused.contains("is being run by this process"), "{refused}");
    drop(held);
    let nowhere = SqlitePlace::new(place.dir.path().join("no/such/folder/chat.db"));
    let around = place.around(&nowhere, 3_000);
    let messages = Loose::read(None, &turn(2).to_string()).unwrap();
    let added = persist(&around, &mut session, messages, "a test", || unreachable!("there is a trace")).await.unwrap();
    assert!(added.unmirrored.unwrap().contains("chat.db"));
    assert_eq!(prepare(&around, &session).await.unwrap().messages.len(), 4);
}

#[tokio::test]
async fn long_texts_and_pictures_come_back_as_they_were() {
    let place = Place::new();
    let mut session = Session::new("chat", 20, None, 1_000);
    let long = "long ".repeat(5_000);
    let said = json!([
        {"role": "user", "content": [{"type": "text", "text": long},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAECAw=="}}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": long}]);
    place.say(&mut session, 2_000, &said).await.unwrap();
    let (told, _) = place.history(&session, 2_000).await;
    assert_eq!(told[0]["content"][0]["text"], long);
    assert_eq!(told[0]["content"][1]["image_url"]["url"], "data:image/png;base64,AAECAw==");
    assert_eq!(told[2]["content"], long);
    let log = std::fs::read(place.store.trace_dir(&place.scope.tenant, &session.trace.unwrap()).join("events.jsonl"));
    assert!(log.unwrap().len() < 8_000, "the long texts lie in blobs");
}

fn calling(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "ls", "arguments": "{\"k\":\"hunter2hunter2\"}"}});
    json!([{"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()}])
}

fn result(id: &str) -> Value {
    json!([{"role": "tool", "tool_call_id": id, "content": format!("of {id}, hunter2hunter2")}])
}

/// The roles and texts of a history.
fn told(history: &Value) -> Vec<String> {
    let line = |message: &Value| {
        format!("{} {}", message["role"].as_str().unwrap(), message["content"].as_str().unwrap_or("-"))
    };
    history.as_array().unwrap().iter().map(line).collect()
}

#[tokio::test]
async fn messages_that_come_one_by_one_are_the_same_conversation() {
    let place = Place::new();
    let mut session = Session::new("chat", 0, None, 1_000);
    let waiting = |session: &Session| place.sessions.waiting(session.trace.as_ref().unwrap()).unwrap();
    place.say(&mut session, 2_000, &json!([{"role": "user", "content": "hello"}])).await.unwrap();
    place.say(&mut session, 2_100, &json!([{"role": "assistant", "content": "hi there"}])).await.unwrap();
    assert_eq!(told(&place.history(&session, 2_100).await.0), ["user hello", "assistant hi there"]);
    place.say(&mut session, 2_200, &json!([{"role": "user", "content": "look"}])).await.unwrap();
    let added = place.say(&mut session, 2_300, &calling(&["a", "b"])).await.unwrap();
    assert_eq!((added.messages, added.kept, added.waiting, added.healed), (0, 1, 2, Vec::new()));
    let begin = ["user hello", "assistant hi there", "user look", "assistant -"];
    let none = "tool (no result: the imported conversation has none)";
    // Until the results come, it is shown healed.
    assert_eq!(told(&place.history(&session, 2_300).await.0), [&begin[..], &[none, none]].concat());
    let added = place.say(&mut session, 2_400, &result("b")).await.unwrap();
    assert_eq!((added.messages, added.kept, added.waiting), (0, 2, 1));
    let b = "tool of b, {{secret:API_KEY}}";
    assert_eq!(told(&place.history(&session, 2_400).await.0), [&begin[..], &[none, b]].concat());
    let stored = std::fs::read_to_string(place.dir.path().join("sessions/waiting/trace-2000.json")).unwrap();
    assert!(stored.contains("{{secret:API_KEY}}") && !stored.contains("hunter2"), "{stored}");
    let added = place.say(&mut session, 2_500, &result("a")).await.unwrap();
    assert_eq!((added.messages, added.kept, added.waiting, added.healed), (1, 0, 0, Vec::new()));
    assert_eq!(waiting(&session), Loose::default());
    let (history, _) = place.history(&session, 2_500).await;
    assert_eq!(told(&history), [&begin[..], &["tool of a, {{secret:API_KEY}}", b]].concat());
    // A result that belongs to nothing is said to be left out, and changes nothing.
    assert!(matches!(place.say(&mut session, 2_600, &result("a")).await, Err(SessionError::Nothing)));
    assert_eq!(place.history(&session, 2_600).await.0, history);
    let report = place.store.verify(&place.scope, &session.trace.unwrap()).await.unwrap();
    assert_eq!((report.damage, report.events), (None, 5));
}

#[tokio::test]
async fn a_conversation_can_begin_with_a_call_that_waits_and_a_run_ends_the_waiting() {
    let place = Place::new();
    let mut session = Session::new("chat", 0, None, 1_000);
    let added = place.say(&mut session, 2_000, &calling(&["a"])).await.unwrap();
    assert_eq!((added.is_new, added.messages, added.kept, added.waiting), (true, 0, 1, 1));
    let beginning = "user (the beginning of this conversation was not imported)";
    let none = "tool (no result: the imported conversation has none)";
    assert_eq!(told(&place.history(&session, 2_000).await.0), [beginning, "assistant -", none]);
    let trace = session.trace.clone().unwrap();
    let at = TraceStore::new(&place.store, &place.scope, &trace);
    let healed = settle(at, &place.vault, &place.sessions, 3_000).await.unwrap();
    let expected = [
        "a first message was put before a conversation that did not begin with a person (1)",
        "calls without a result got one that says so (1)",
    ];
    assert_eq!(healed, expected);
    assert_eq!(settle(at, &place.vault, &place.sessions, 3_000).await.unwrap(), Vec::<String>::new());
    assert_eq!(told(&place.history(&session, 3_000).await.0), [beginning, "assistant -", none]);
    // Nothing that could begin a conversation makes no trace.
    let mut other = Session::new("other", 0, None, 1_000);
    assert!(matches!(place.say(&mut other, 4_000, &result("a")).await, Err(SessionError::Nothing)));
    assert_eq!((other.trace, place.store.list(&place.scope).await.unwrap().len()), (None, 1));
}

#[tokio::test]
async fn all_who_add_to_a_session_at_once_are_taken() {
    let place = std::sync::Arc::new(Place::new());
    let adding = (1..=12).map(|n| {
        let place = place.clone();
        tokio::spawn(async move {
            // Two names for it may be there; the trace is begun by whoever is first.
            let mut session = Session::new("chat", 0, None, 1_000);
            place.say(&mut session, 2_000 + u64::from(n), &turn(n)).await.map(|added| added.is_new)
        })
    });
    let mut begun = 0;
    for added in adding.collect::<Vec<_>>() {
        begun += u32::from(added.await.unwrap().unwrap());
    }
    let session = place.sessions.get("chat").unwrap();
    let history = told(&place.history(&session, 3_000).await.0);
    assert_eq!((begun, history.len(), place.store.list(&place.scope).await.unwrap().len()), (1, 24, 1));
    for n in 1..=12 {
        let at = history.iter().position(|said| *said == format!("user question {n}")).unwrap();
        assert_eq!(history[at + 1], format!("assistant answer {n}"));
    }
}
