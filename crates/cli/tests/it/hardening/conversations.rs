//! Long conversations over many runs, in every profile, window and wire format: at any time the model can answer what was said,
//! decided or found, however long ago, from what it is shown or with a tool that it has. The model here remembers nothing but the
//! request: it answers what stands there, and else looks it up once.

use super::{long, tried};
use crate::support::*;
use mainpath_testkit::model_server::{Answer, Format, RecordedRequest, Reply};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Where a fact stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// A person's first sentence.
    First,
    /// In the middle of a person's long message.
    Inside,
    /// In the middle of the model's long answer.
    Answered,
    /// In a file that the model reads.
    Found,
}

/// What the model is to do in the run that comes.
#[derive(Clone, Debug)]
enum Step {
    /// Answer this.
    Say(String),
    /// Read this file, then answer that.
    Read(String, String),
    /// Say what stands in the request about this thing, or look it up.
    Recall(String),
}

/// How a conversation is held.
#[derive(Clone, Copy, Debug)]
struct Setting {
    profile: &'static str,
    summary: &'static str,
    window: u32,
    format: Format,
    /// The size of the answers, in characters.
    answers: usize,
    exchanges: usize,
}

fn filler(seed: usize, chars: usize) -> String {
    let words = ["reed", "heron", "tide", "marsh", "otter", "willow", "silt", "plover", "eddy", "sedge"];
    let mut text = String::with_capacity(chars + 16);
    let mut n = seed * 7 + 3;
    while text.len() < chars {
        n = n.wrapping_mul(1_103_515_245).wrapping_add(12_345) % 2_147_483_648;
        text.push_str(words[n / 65_536 % words.len()]);
        text.push_str(if (n / 4_096).is_multiple_of(11) { ". " } else { " " });
    }
    text
}

fn thing(n: usize) -> String {
    format!("pier-{n}-code")
}

fn value(n: usize) -> String {
    format!("v{}x{}", n * 37 + 11, n)
}

/// All strings of a body, each on a line.
fn texts(body: &Value, into: &mut String) {
    match body {
        Value::String(text) => {
            into.push_str(text);
            into.push('\n');
        }
        Value::Array(list) => list.iter().for_each(|value| texts(value, into)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, into)),
        _ => {}
    }
}

/// What a model that remembers nothing answers.
fn answer(request: &RecordedRequest, step: &Step, is_text: Option<&str>) -> Reply {
    let mut shown = String::new();
    let body = request.body();
    for part in ["messages", "input", "contents"] {
        texts(&body[part], &mut shown);
    }
    // It is counted as vendors count: four characters a token here.
    let input = u64::try_from(request.bytes.len() / 4).unwrap();
    let mut answer = plain_answer(&shown, step);
    answer.usage.input = input;
    answer.usage.output = u64::try_from(answer.text.len() / 4).unwrap();
    let Some(dialect) = is_text else { return answer.into() };
    // A turn of the text protocol; a summary is plain text.
    let turn = match answer.calls.pop() {
        Some((tool, args)) => {
            let args: Value = serde_json::from_str(&args).unwrap();
            match dialect {
                "skills" => json!({"action": {"type": "tool", "tool": tool, "args": args, "reason": "to know"}}),
                _ => json!({"type": "action", "tool": tool, "args": args}),
            }
        }
        None if is_for_summary(&shown) => return answer.into(),
        None => match dialect {
            "skills" => {
                json!({"action": {"type": "final_answer", "reason": "known"}, "final_answer": {"content": answer.text}})
            }
            _ => json!({"type": "final", "answer": answer.text}),
        },
    };
    Answer { text: turn.to_string(), ..answer }.into()
}

/// Whether the last that is asked is a summary, or what goes before one.
fn is_for_summary(shown: &str) -> bool {
    let asked = shown.rfind("The conversation is about to outgrow the context window");
    asked.is_some_and(|at| !shown[at..].contains("looks like") && shown[at..].len() < 3_000)
}

fn plain_answer(shown: &str, step: &Step) -> Answer {
    if is_for_summary(shown) {
        // The worst there is: it names nothing.
        return Answer::text("Goal: talk about piers. Decisions: some. Open Items: none.");
    }
    match step {
        Step::Say(text) => Answer::text(text),
        Step::Read(path, _) if !shown.contains(&format!("begin of {path}")) => {
            Answer::call("read_text_file", json!({"path": path}))
        }
        Step::Read(_, text) => Answer::text(text),
        Step::Recall(thing) => {
            let said = format!("the {thing} is ");
            let found = shown.find(&said).map(|at| &shown[at + said.len()..]);
            let found = found.map(|rest| rest.chars().take_while(|c| c.is_ascii_alphanumeric()).collect::<String>());
            match found {
                Some(value) => Answer::text(&value),
                None if shown.contains("None of the") => Answer::text("I cannot know."),
                None => Answer::call("load_older_messages", json!({"search": thing})),
            }
        }
    }
}

/// Holds a conversation, asks for facts of every age, and gives how many questions were answered.
fn hold(setting: &Setting) -> usize {
    let step = Arc::new(Mutex::new(Step::Say(String::new())));
    let told = Arc::clone(&step);
    let dialect = match setting.profile {
        "skills" => Some("skills"),
        "agent_core" => Some("agent_core"),
        _ => None,
    };
    let server = server(move |request| answer(request, &told.lock().unwrap(), dialect));
    let place = Place::new();
    place.config(&format!(
        "context_window = {}\nsummary = \"{}\"\nmodel = \"{}\"\n",
        setting.window,
        setting.summary,
        server.model_of(setting.format)
    ));
    let run = |next: Step, task: &str| {
        *step.lock().unwrap() = next;
        place.run(&["run", "--profile", setting.profile, "--session", "work", "--timeout", "2m", task])
    };
    let mut questions = 0;
    for n in 0..setting.exchanges {
        let (thing_n, value_n, noise) = (thing(n), value(n), filler(n, setting.answers));
        let fact = format!("the {thing_n} is {value_n}.");
        let (a, b) = (filler(n + 100, 1_500), filler(n + 200, 1_500));
        let kind = [Told::First, Told::Inside, Told::Answered, Told::Found][n % 4];
        let done = match kind {
            Told::First => run(Step::Say(noise), &format!("Note that {fact} {a}")),
            Told::Inside => run(Step::Say(noise), &format!("{a} By the way, {fact} {b}")),
            Told::Answered => run(Step::Say(format!("{noise} So {fact} {b}")), &format!("Choose number {n}.")),
            Told::Found => {
                let file = format!("notes-{n}.txt");
                std::fs::write(place.work.join(&file), format!("begin of {file}\n{a}\n{fact}\n{b}\n")).unwrap();
                run(Step::Read(file.clone(), format!("I have read it. {noise}")), &format!("Read {file}."))
            }
        };
        assert_eq!(done.code, 0, "{setting:?}: exchange {n} ({kind:?}): {done:#?}");
        // One fact of every age: the first, one in the middle, the one before the last.
        let asked = [0, n / 2, n.saturating_sub(1)];
        let which = asked[n % 3];
        if n == 0 || kind == Told::Found && setting.profile == "agent_core" {
            continue;
        }
        // What a tool found is shown to this profile by 256 characters, and that is documented.
        if which % 4 == 3 && setting.profile == "agent_core" {
            continue;
        }
        let done = run(Step::Recall(thing(which)), &format!("Which value has pier {which}?"));
        assert_eq!(
            (done.code, done.out.trim()),
            (0, value(which).as_str()),
            "{setting:?}: {which} after {n}: {done:#?}"
        );
        questions += 1;
    }
    assert_eq!(server.violations(), Vec::<String>::new(), "{setting:?}");
    answered_in_order(&server.requests(), setting);
    place.ok(&["verify"]);
    place.ok(&["replay"]);
    agree(&place, &server.requests());
    questions
}

/// No request shows an answer without what it answers, and none is larger than the window leaves.
fn answered_in_order(requests: &[RecordedRequest], setting: &Setting) {
    for request in requests {
        let tokens = request.bytes.len() / 4;
        assert!(tokens <= setting.window as usize, "{setting:?}: request {} has {tokens} tokens", request.n);
        let Some(messages) = request.body()["messages"].as_array() else { continue };
        let mut asked = false;
        for message in messages {
            match message["role"].as_str() {
                Some("user") => asked = true,
                Some("assistant") => assert!(asked, "{setting:?}: request {} begins with an answer", request.n),
                _ => {}
            }
        }
    }
}

/// What a request says as its summary is in `summary.md` too.
fn agree(place: &Place, requests: &[RecordedRequest]) {
    let view = std::fs::read_to_string(place.home.join("traces").join(place.trace()).join("summary.md")).unwrap();
    let mut shown = String::new();
    let Some(last) = requests.iter().rev().find(|request| request.body()["messages"].is_array()) else { return };
    texts(&last.body()["messages"], &mut shown);
    let Some((_, summary)) = shown.split_once("# Chat Summary") else { return };
    let end = summary.find("[From the system").unwrap_or(summary.len());
    let sections = summary[..end]
        .split("\n## ")
        .filter(|section| ["Goal", "Constraints", "Decisions"].iter().any(|name| section.starts_with(name)));
    for line in sections.flat_map(str::lines).filter(|line| line.starts_with("- ")) {
        assert!(view.contains(line), "{line:?} is not in summary.md:\n{view}");
    }
}

const SHORT: [Setting; 4] = [
    Setting { profile: "trace", summary: "agent", window: 16_384, format: Format::Chat, answers: 8_000, exchanges: 10 },
    Setting {
        profile: "trace",
        summary: "rules",
        window: 16_384,
        format: Format::Anthropic,
        answers: 8_000,
        exchanges: 10,
    },
    Setting {
        profile: "kernel",
        summary: "rules",
        window: 16_384,
        format: Format::Gemini,
        answers: 2_000,
        exchanges: 14,
    },
    Setting {
        profile: "skills",
        summary: "single",
        window: 16_384,
        format: Format::Responses,
        answers: 6_000,
        exchanges: 10,
    },
];

#[test]
fn what_was_said_an_hour_ago_can_be_answered_in_every_profile_window_and_format() {
    let mut settings = SHORT.to_vec();
    if long() {
        settings.clear();
        for profile in ["trace", "kernel", "skills", "agent_core"] {
            for summary in ["agent", "single", "rules"] {
                for (format, window) in [
                    (Format::Chat, 12_000),
                    (Format::Responses, 16_384),
                    (Format::Anthropic, 24_000),
                    (Format::Gemini, 65_536),
                ] {
                    let answers = window as usize / 2;
                    settings.push(Setting { profile, summary, window, format, answers, exchanges: 14 });
                }
            }
        }
    }
    let questions: usize = settings.iter().map(hold).sum();
    let what = format!("questions about facts of every age answered, in {} conversations", settings.len());
    tried("conversations", questions, &what);
}

#[test]
fn nine_questions_in_a_small_window_leave_the_last_exchange_whole_and_the_rest_in_a_summary() {
    // The first fault that use has shown: from the sixth question on the request held the first question and the newest alone.
    let server = server(|request| {
        let shown = request.body().to_string();
        if shown.contains("is about to outgrow the context window") && shown.len() > 20_000 {
            return Answer::text("Goal: answers. Decisions: the numbers of all answers so far.").into();
        }
        let n = request.body()["messages"].as_array().map_or(0, |list| {
            let last = list.iter().rev().find(|message| {
                message["role"] == "user"
                    && message["content"].as_str().is_some_and(|text| text.starts_with("Question"))
            });
            last.and_then(|message| message["content"].as_str()?.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
        });
        Answer {
            usage: Default::default(),
            ..Answer::text(&format!("Answer {n} begins. {} Answer {n} ends.", filler(n, 8_000)))
        }
        .into()
    });
    let place = Place::new();
    place.config("context_window = 16384\n");
    for n in 1..=9 {
        let task = format!("Question {n} of nine");
        let done = place.run_on(&server, &["--session", "nine", &task]);
        assert!(done.out.contains(&format!("Answer {n} ends.")), "{done:#?}");
        let requests = server.requests();
        let last = requests.last().unwrap().body()["messages"].to_string();
        let has = |text: &str| last.contains(text);
        assert!(has(&format!("Question {n} of")), "the question: {last}");
        if n > 1 {
            let before = n - 1;
            let whole = has(&format!("Question {before} of"))
                && has(&format!("Answer {before} begins"))
                && has(&format!("Answer {before} ends"));
            assert!(whole, "the exchange before question {n} is not whole");
        }
        let gone = (1..n).any(|old| !has(&format!("Answer {old} begins")));
        assert!(!gone || has("are not shown here. If you need one, look it up with load_older_messages"), "{last}");
        assert!(!gone || has("Summary of the earlier conversation"), "{last}");
    }
    assert_eq!(server.violations(), Vec::<String>::new());
}
