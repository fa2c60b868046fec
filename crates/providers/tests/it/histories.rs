//! Conversations from elsewhere, mended, and written for others.

use mainpath_providers::history::{BadHistory, History, HistoryFormat, Loose, Whole, read, write};
use mainpath_types::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn user(text: &str) -> Whole {
    Whole { role: Role::User, parts: vec![Part::text(text)] }
}

/// An answer, and calls of tools with what came back.
fn answer(text: &str, calls: &[(&str, &str, &str)]) -> Whole {
    let mut parts: Vec<Part> = (!text.is_empty()).then(|| Part::text(text)).into_iter().collect();
    parts.extend(calls.iter().map(|(name, arguments, _)| Part::ToolCall {
        name: (*name).into(),
        arguments: (*arguments).into(),
        signature: None,
    }));
    parts.extend((0u16..).zip(calls).map(|(index, (name, _, result))| Part::ToolResult {
        call: CallId { seq: Seq(0), index },
        name: (*name).into(),
        content: vec![Part::text(*result)],
        is_error: result.starts_with('('),
    }));
    Whole { role: Role::Assistant, parts }
}

fn history(format: Option<HistoryFormat>, value: &Value) -> History {
    read(format, &value.to_string()).unwrap()
}

#[test]
fn the_same_conversation_is_read_from_every_format() {
    let openai = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "yes", "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\".\"}"}},
            {"id": "call_b", "type": "function", "function": {"name": "cat", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "call_a", "content": "a.txt"},
        {"role": "tool", "tool_call_id": "call_b", "content": "text"},
        {"role": "assistant", "content": "done"},
    ]);
    let anthropic = json!({"model": "m", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "yes"},
            {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "."}},
            {"type": "tool_use", "id": "toolu_2", "name": "cat", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "text"}]}]},
        {"role": "assistant", "content": "done"},
    ]});
    let gemini = json!({"contents": [
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [{"text": "yes"}, {"functionCall": {"name": "ls", "args": {"path": "."}}},
            {"functionCall": {"name": "cat", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "a.txt"}}},
            {"functionResponse": {"name": "cat", "response": {"output": "text"}}}]},
        {"role": "model", "parts": [{"text": "done"}]},
    ]});
    let whole = History {
        messages: vec![
            user("look"),
            answer("yes", &[("ls", "{\"path\":\".\"}", "a.txt"), ("cat", "{}", "text")]),
            answer("done", &[]),
        ],
        healed: Vec::new(),
    };
    assert_eq!(history(Some(HistoryFormat::OpenAi), &openai), whole);
    assert_eq!(history(Some(HistoryFormat::Anthropic), &anthropic), whole);
    assert_eq!(history(Some(HistoryFormat::Gemini), &gemini), whole);
    for value in [&openai, &anthropic, &gemini] {
        assert_eq!(history(None, value), whole);
    }
    let lines: String = openai.as_array().unwrap().iter().map(|message| format!("{message}\n")).collect();
    assert_eq!(read(None, &lines).unwrap(), whole, "one message a line");
}

#[test]
fn what_is_broken_is_mended_and_said() {
    let broken = json!([
        {"role": "system", "content": "be good"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "x", "function": {"name": "ls", "arguments": "{}"}},
            {"id": "x", "function": {"name": "cat", "arguments": "{}"}},
            {"id": "y", "function": {"name": "rm", "arguments": "not json"}}]},
        {"role": "user", "content": "hurry"},
        {"role": "tool", "tool_call_id": "x", "content": "first"},
        {"role": "tool", "tool_call_id": "x", "content": ""},
        {"role": "tool", "tool_call_id": "nobody", "content": "?"},
        {"role": "user", "content": ""},
        {"role": "user", "content": [{"type": "video", "x": 1}, {"type": "text", "text": "and?"}]},
    ]);
    let healed = history(None, &broken);
    assert_eq!(
        healed.messages,
        [
            user("(the beginning of this conversation was not imported)"),
            answer(
                "",
                &[
                    ("ls", "{}", "first"),
                    ("cat", "{}", "(empty)"),
                    ("rm", "not json", "(no result: the imported conversation has none)")
                ]
            ),
            user("hurry"),
            user("and?"),
        ]
        .map(mark_empty)
    );
    assert_eq!(
        healed.healed,
        [
            "a first message was put before a conversation that did not begin with a person (1)",
            "calls without a result got one that says so (1)",
            "empty texts were left out (1)",
            "ids of calls that were given twice were told apart by their order (1)",
            "messages without content were left out (1)",
            "pieces of an unknown kind were left out (1)",
            "results were put back behind their calls (2)",
            "results without a call were left out (1)",
            "system messages were left out: an agent's instructions come with its run (1)",
        ]
    );
}

/// An empty result is no failure, whatever its words begin with.
fn mark_empty(mut whole: Whole) -> Whole {
    for part in &mut whole.parts {
        if let Part::ToolResult { content, is_error, .. } = part {
            *is_error &= *content != [Part::text("(empty)")];
        }
    }
    whole
}

#[test]
fn what_is_no_conversation_is_refused_with_its_place() {
    let refused = |text: &str| read(None, text).unwrap_err().to_string();
    assert!(refused("{").starts_with("it is not JSON: "), "{}", refused("{"));
    assert_eq!(refused("3"), "it is not a list of messages");
    assert_eq!(refused("{\"a\":1}"), "the object has no list of \"messages\", \"contents\" or \"input\"");
    assert_eq!(refused("[{\"role\":\"user\",\"content\":\"a\"},7]"), "message 2 is not a JSON object");
    assert_eq!(refused("[{\"content\":\"a\"}]"), "message 1 has no \"role\"");
    assert_eq!(refused("[{\"role\":\"bishop\"}]"), "message 1 has the unknown role \"bishop\"");
    assert!(refused("{\"role\":\"user\"}\n{\"role\"").starts_with("line 2 is not JSON: "));
    let gemini = "[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]}]";
    let wrong = read(Some(HistoryFormat::OpenAi), gemini).unwrap_err();
    assert!(matches!(wrong, BadHistory::OtherFormat(1)));
    assert!(wrong.to_string().starts_with("message 1 is not of that format"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(&deep).starts_with("it is not JSON: recursion limit"), "{}", refused(&deep));
}

/// What a trace would show of it: numbered.
fn numbered(history: &[Whole]) -> Vec<Message> {
    let mut messages = Vec::new();
    for whole in history {
        let seq = Seq(u32::try_from(messages.len()).unwrap() + 1);
        let is_result = |part: &&Part| matches!(part, Part::ToolResult { .. });
        let said = whole.parts.iter().filter(|part| !is_result(part)).cloned().collect();
        messages.push(Message { seq: Some(seq), role: whole.role, parts: said });
        for part in whole.parts.iter().filter(is_result) {
            let Part::ToolResult { call, name, content, is_error } = part.clone() else { continue };
            let call = CallId { seq, ..call };
            let parts = vec![Part::ToolResult { call, name, content, is_error }];
            let seq = Some(Seq(u32::try_from(messages.len()).unwrap() + 1));
            messages.push(Message { seq, role: Role::Tool, parts });
        }
    }
    messages
}

const FORMATS: [HistoryFormat; 4] =
    [HistoryFormat::Neutral, HistoryFormat::OpenAi, HistoryFormat::Anthropic, HistoryFormat::Gemini];

#[test]
fn what_is_written_is_read_back_in_every_format() {
    let whole = vec![
        user("look"),
        answer("yes", &[("ls", "{\"path\":\".\"}", "a.txt"), ("cat", "{}", "text")]),
        answer("more", &[("ls", "{}", "b")]),
        answer("done", &[]),
        user("and 中文?"),
    ];
    let messages = numbered(&whole);
    for format in FORMATS {
        let text = String::from_utf8(write(format, &messages)).unwrap();
        let back = read(Some(format), &text).unwrap();
        assert_eq!(back, History { messages: whole.clone(), healed: Vec::new() }, "{format:?}: {text}");
        assert_eq!(read(None, &text).unwrap(), back, "{format:?} by itself");
    }
    for format in FORMATS {
        assert_eq!(write(format, &[]), b"[\n]\n");
    }
}

fn any_message() -> impl Strategy<Value = Value> {
    let id = prop_oneof![Just("a"), Just("b"), Just("")];
    let text = prop_oneof![Just(json!("said")), Just(json!("")), Just(json!(null)), Just(json!([{"type": "text"}]))];
    let role = prop_oneof![Just("user"), Just("assistant"), Just("tool"), Just("system"), Just("model")];
    (role, text, prop::collection::vec(id.clone(), 0..3), id, 0..6).prop_map(|(role, text, calls, id, kind)| {
        let calls: Vec<Value> =
            calls.iter().map(|id| json!({"id": id, "function": {"name": "f", "arguments": "{}"}})).collect();
        match kind {
            0..3 => json!({"role": role, "content": text, "tool_calls": calls, "tool_call_id": id}),
            3 => json!({"role": role, "content": [{"type": "tool_use", "id": id, "input": {}},
                {"type": "tool_result", "tool_use_id": id, "content": [{"type": "tool_result"}]}]}),
            4 => json!({"role": role, "parts": [{"functionCall": {"name": "f"}}, {"functionResponse": {"name": "f"}}]}),
            _ => json!({"role": role, "parts": [{"type": "tool_call", "name": "f", "arguments": ""},
                {"type": "tool_result", "call": "1.0", "name": "f", "content": []}], "seq": 1}),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_is_read_is_such_that_every_vendor_takes_it(list in prop::collection::vec(any_message(), 0..12)) {
        let healed = history(None, &Value::Array(list));
        prop_assert!(healed.messages.first().is_none_or(|first| first.role == Role::User));
        for whole in &healed.messages {
            let calls = whole.parts.iter().filter(|part| matches!(part, Part::ToolCall { .. })).count();
            let results: Vec<_> = whole.parts.iter().filter_map(|part| match part {
                Part::ToolResult { call, content, .. } => Some((call.index, content.is_empty())),
                _ => None,
            }).collect();
            let wanted: Vec<_> = (0..u16::try_from(calls).unwrap()).map(|index| (index, false)).collect();
            prop_assert_eq!(results, wanted);
            prop_assert!(!whole.parts.is_empty());
            prop_assert!(whole.role == Role::Assistant || calls == 0 && whole.role == Role::User);
        }
        // What was mended once needs no mending again.
        let again = read(None, &String::from_utf8(write(HistoryFormat::OpenAi, &numbered(&healed.messages))).unwrap());
        let again = again.unwrap();
        prop_assert_eq!(again.messages.len(), healed.messages.len());
    }
}

const SYSTEM: &str = "system messages were left out: an agent's instructions come with its run (1)";

#[test]
fn instructions_are_left_out_of_every_format_and_that_is_said() {
    let user = json!([{"role": "user", "content": "look"}]);
    for body in [
        json!({"system": "SYS", "messages": user}),
        json!({"system": [{"type": "text", "text": "SYS"}], "messages": user}),
        json!({"systemInstruction": {"parts": [{"text": "SYS"}]}, "contents": [{"role": "user", "parts": [{"text": "look"}]}]}),
        json!({"system_instruction": {"parts": [{"text": "SYS"}]}, "contents": [{"role": "user", "parts": [{"text": "look"}]}]}),
        json!({"instructions": "SYS", "input": user}),
        json!({"instructions": "SYS", "input": "look"}),
    ] {
        let read = history(None, &body);
        assert_eq!(read, History { messages: vec![self::user("look")], healed: vec![SYSTEM.into()] }, "{body}");
    }
    let body = json!({"system": "", "instructions": null, "messages": user});
    assert_eq!(history(None, &body).healed, Vec::<String>::new(), "nothing was said");
}

#[test]
fn calls_are_read_as_they_were_before_they_had_ids_and_as_items() {
    let old = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": null, "function_call": {"name": "ls", "arguments": "{\"path\":\".\"}"}},
        {"role": "function", "name": "ls", "content": "a.txt"},
        {"role": "assistant", "content": "done", "function_call": null},
    ]);
    let items = json!({"input": [
        {"role": "user", "content": [{"type": "input_text", "text": "look"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": "{\"path\":\".\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": "a.txt"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]},
    ]});
    let expected = vec![user("look"), answer("", &[("ls", "{\"path\":\".\"}", "a.txt")]), answer("done", &[])];
    assert_eq!(history(None, &old), History { messages: expected.clone(), healed: Vec::new() });
    let healed = vec!["thoughts were left out, which only their vendor could check (1)".to_string()];
    assert_eq!(history(None, &items), History { messages: expected, healed });
}

/// What a trace gets of messages that come in pieces, and what still waits at the end.
fn in_pieces(list: &[Value], cuts: &[usize]) -> (Vec<Whole>, Vec<String>, Loose) {
    let (mut messages, mut healed, mut waiting) = (Vec::new(), Vec::new(), Loose::default());
    let mut from = 0;
    for to in cuts.iter().copied().chain([list.len()]) {
        let piece = Value::from(&list[from.min(to)..to]).to_string();
        // What waits is written down in between.
        let mut all: Loose = serde_json::from_str(&serde_json::to_string(&waiting).unwrap()).unwrap();
        all.push(Loose::read(None, &piece).unwrap());
        waiting = all.split_open();
        let history = all.heal(!messages.is_empty());
        messages.extend(history.messages);
        healed.extend(history.healed);
        from = to.max(from);
    }
    (messages, healed, waiting)
}

#[test]
fn an_answer_after_a_question_is_in_order_and_calls_wait_for_their_results() {
    let call = |id: &str| json!({"role": "assistant", "tool_calls": [{"id": id, "function": {"name": "f", "arguments": "{}"}}]});
    let list = [json!({"role": "user", "content": "look"}), call("a"), json!({"role": "user", "content": "hurry"})];
    let (messages, healed, waiting) = in_pieces(&list, &[1, 2]);
    assert_eq!((messages, healed, waiting.len(), waiting.unanswered()), (vec![user("look")], Vec::new(), 2, 1));
    // The model goes on without: that ends them.
    let ended = [&list[..], &[json!({"role": "assistant", "content": "I go on"})]].concat();
    let (messages, healed, waiting) = in_pieces(&ended, &[1, 2, 3]);
    let none = ("f", "{}", "(no result: the imported conversation has none)");
    assert_eq!(messages, [user("look"), answer("", &[none]), user("hurry"), answer("I go on", &[])]);
    assert_eq!(
        (healed, waiting),
        (vec!["calls without a result got one that says so (1)".to_string()], Loose::default())
    );
}

#[test]
fn a_result_without_an_id_finds_no_call_because_a_message_between_them_went() {
    let list = [
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "b", "function": {"name": "f", "arguments": "{}"}}]}),
        json!({"role": "model", "parts": [{"functionCall": {"name": "f"}}]}),
        json!({"role": "tool", "tool_call_id": "b", "content": "said"}),
        json!({"role": "tool", "content": "whose?"}),
    ];
    let (_, _, waiting) = in_pieces(&list, &[]);
    assert_eq!((waiting.len(), waiting.unanswered()), (3, 1));
}

proptest! {
    #[test]
    fn a_conversation_that_comes_in_pieces_is_the_one_that_comes_whole(
        turns in prop::collection::vec((0..4_usize, any::<bool>(), any::<bool>()), 0..8),
        cuts in prop::collection::vec(0..60_usize, 0..20),
    ) {
        let mut list = vec![json!({"role": "user", "content": "begin"})];
        for (turn, (calls, together, backwards)) in turns.iter().enumerate() {
            let call = |n: usize| json!({"id": format!("{turn}-{n}"), "function": {"name": "f", "arguments": "{}"}});
            let said = |calls: Vec<Value>| json!({"role": "assistant", "content": null, "tool_calls": calls});
            match together {
                _ if *calls == 0 => list.push(json!({"role": "assistant", "content": format!("answer {turn}")})),
                true => list.push(said((0..*calls).map(call).collect())),
                false => list.extend((0..*calls).map(|n| said(vec![call(n)]))),
            }
            let mut results: Vec<Value> = (0..*calls)
                .map(|n| json!({"role": "tool", "tool_call_id": format!("{turn}-{n}"), "content": format!("{turn}.{n}")}))
                .collect();
            if *backwards {
                results.reverse();
            }
            list.extend(results);
        }
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= list.len()).collect();
        cuts.sort();
        let whole = read(None, &Value::from(list.clone()).to_string()).unwrap();
        let (messages, healed, waiting) = in_pieces(&list, &cuts);
        prop_assert_eq!(messages, whole.messages);
        prop_assert_eq!(waiting, Loose::default());
        // Nothing lacked, whatever the order was.
        prop_assert!(healed.iter().all(|line| line.starts_with("results were put back")), "{:?}", healed);
    }

    #[test]
    fn whatever_comes_in_pieces_is_such_that_every_vendor_takes_it(
        list in prop::collection::vec(any_message(), 0..12),
        mut cuts in prop::collection::vec(0..12_usize, 0..6),
    ) {
        cuts.retain(|cut| *cut <= list.len());
        cuts.sort();
        let (mut messages, _, waiting) = in_pieces(&list, &cuts);
        let begun = !messages.is_empty();
        let left = waiting.clone().heal(begun).messages;
        prop_assert_eq!(waiting.is_empty(), waiting.unanswered() == 0);
        messages.extend(left);
        prop_assert!(messages.first().is_none_or(|first| first.role == Role::User));
        for whole in &messages {
            let is_call = |part: &&Part| matches!(part, Part::ToolCall { .. });
            let is_result = |part: &&Part| matches!(part, Part::ToolResult { .. });
            prop_assert_eq!(whole.parts.iter().filter(is_call).count(), whole.parts.iter().filter(is_result).count());
            prop_assert!(!whole.parts.is_empty());
        }
    }
}

#[test]
fn a_mended_conversation_says_where_each_message_came_from() {
    let list = json!([
        {"role": "assistant", "content": [{"type": "thought", "text": "Hm."}, {"type": "tool_use", "id": "t", "name": "ls", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]},
        {"role": "user", "content": "  "},
        {"role": "user", "content": "look"},
    ]);
    let loose = Loose::read(Some(HistoryFormat::Anthropic), &list.to_string()).unwrap();
    let traced = loose.clone().heal_traced(false);
    assert_eq!(traced.history, loose.heal(false));
    assert_eq!(traced.from, [None, Some(0), Some(3)]);
    let thought = Part::Thinking { text: "Hm.".into(), signature: None };
    assert_eq!(traced.history.messages[1].parts[0], thought);
}
