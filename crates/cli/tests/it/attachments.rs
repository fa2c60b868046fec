//! Attachments: from a file's bytes to the request's, through blobs, processes and replays.

use crate::support::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::{ImageFormat, Rgb, RgbImage};
use mainpath_testkit::files::{pdf, wav};
use mainpath_testkit::model_server::{Answer, Format, ModelServer, Reply};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use std::io::Cursor;

fn simple() -> ModelServer {
    scripted(vec![Answer::text("Seen.")])
}

fn image(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let picture = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, (x * y) as u8]));
    let mut bytes = Vec::new();
    picture.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

fn data_url(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
}

/// What the last message of the person holds, in the last request.
fn sent(server: &ModelServer) -> Value {
    let request = server.requests().pop().unwrap();
    let messages = request.body()["messages"].as_array().unwrap().clone();
    messages.into_iter().rfind(|message| message["role"] == "user").unwrap()["content"].clone()
}

/// The lines of standard error that name attachments.
fn named(done: &Done) -> Vec<&str> {
    done.err.lines().filter(|line| line.starts_with("· ")).collect()
}

#[test]
fn a_request_carries_the_bytes_of_what_is_attached_after_the_task() {
    let (place, server) = (Place::new(), simple());
    let (png, document, sound) = (image(30, 20, ImageFormat::Png), pdf(&["Hello."]), wav(400));
    // Names do not matter, only bytes do.
    std::fs::write(place.work.join("photo.txt"), &png).unwrap();
    std::fs::write(place.work.join("report.pdf"), &document).unwrap();
    std::fs::write(place.work.join("voice"), &sound).unwrap();
    std::fs::write(place.work.join("notes.md"), "# Notes\n").unwrap();
    let args = ["--file", "report.pdf", "--file", "voice", "--file", "notes.md", "--image", "photo.txt", "What is it?"];
    let done = place.run_on(&server, &args);
    assert_eq!((done.code, done.out.as_str()), (0, "Seen.\n"), "{done:#?}");
    let expected = json!([
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": data_url("image/png", &png)}},
        {"type": "file", "file": {"filename": "report.pdf", "file_data": data_url("application/pdf", &document)}},
        {"type": "input_audio", "input_audio": {"data": STANDARD.encode(&sound), "format": "wav"}},
        {"type": "text", "text": "[file notes.md]\n# Notes\n"},
    ]);
    assert_eq!(sent(&server), expected);
    let size = |bytes: &[u8]| if bytes.len() < 1_000 { format!("{} B", bytes.len()) } else { "1 kB".into() };
    let lines = [
        format!("[image image/png {}", size(&png)),
        format!("[document application/pdf {} report.pdf]", size(&document)),
        format!("[audio audio/wav {}", size(&sound)),
    ];
    let said = named(&done);
    let begun = |(said, line): (&&str, &String)| said.strip_prefix("· ").unwrap().starts_with(line.as_str());
    assert!(said.len() == 4 && said.iter().zip(&lines).all(begun), "{said:?}");
    assert_eq!(said[3], "· [file text/plain 8 B notes.md]");
    // Whoever looks at the trace sees them as lines too.
    let shown = place.ok(&["show"]);
    assert!(lines.iter().all(|line| shown.lines().any(|shown| shown.trim().starts_with(line.as_str()))), "{shown}");
    assert!(place.ok(&["show", "--all"]).contains("[image image/png"));
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[test]
fn every_wire_format_carries_an_image_and_a_pdf() {
    for format in [Format::Chat, Format::Responses, Format::Anthropic, Format::Gemini] {
        let (place, server) = (Place::new(), simple());
        let (jpeg, document) = (image(20, 10, ImageFormat::Jpeg), pdf(&["Hello."]));
        std::fs::write(place.work.join("photo"), &jpeg).unwrap();
        std::fs::write(place.work.join("report"), &document).unwrap();
        let model = server.model_of(format);
        let done = place.run(&["run", "--model", &model, "--image", "photo", "--file", "report", "Look."]);
        assert_eq!((done.code, done.out.as_str()), (0, "Seen.\n"), "{format:?}: {done:#?}");
        assert_eq!(server.violations(), Vec::<String>::new(), "{format:?}");
        let body = server.requests().pop().unwrap().body().to_string();
        let at = |bytes: &[u8]| body.find(&STANDARD.encode(bytes)).unwrap_or_else(|| panic!("{format:?}: {body}"));
        assert!(at(&jpeg) < at(&document), "{format:?}");
        place.ok(&["replay"]);
    }
}

#[test]
fn bytes_lie_in_blobs_and_another_process_makes_the_same_request_of_them() {
    let body = json!({"error": {"message": "Not today."}}).to_string();
    let server = server(move |request| match request.n {
        1 => Reply::Error { status: 400, headers: Vec::new(), body: body.clone() },
        _ => Answer::text("Seen.").into(),
    });
    let place = Place::new();
    let png = image(90, 60, ImageFormat::Png);
    std::fs::write(place.work.join("photo.png"), &png).unwrap();
    place.run_on(&server, &["--image", "photo.png", "What is it?"]).fails(1, "Not today; continue with");
    // The file is no longer needed.
    std::fs::remove_file(place.work.join("photo.png")).unwrap();
    assert_eq!(place.ok(&["resume"]), "Seen.\n");
    let requests = server.requests();
    assert_eq!(requests[0].body()["messages"], requests[1].body()["messages"]);
    assert_eq!(sent(&server)[1]["image_url"]["url"], data_url("image/png", &png));
    let log = String::from_utf8(place.log(&place.trace())).unwrap();
    assert!(!log.contains(&STANDARD.encode(&png)[..64]), "the bytes are in the log");
    place.ok(&["verify"]);
    let replayed = place.ok(&["replay"]);
    assert!(replayed.contains("1 request and"), "{replayed}");
}

#[test]
fn a_later_message_has_attachments_of_its_own_and_the_earlier_ones_stay() {
    let (place, server) = (Place::new(), simple());
    let (first, second) = (image(9, 9, ImageFormat::Jpeg), image(8, 8, ImageFormat::WebP));
    std::fs::write(place.work.join("a"), &first).unwrap();
    std::fs::write(place.work.join("b"), &second).unwrap();
    assert_eq!(place.run_on(&server, &["--image", "a", "One."]).code, 0);
    let done = place.run(&["run", "-c", "--image", "b", "Two."]);
    assert_eq!((done.code, named(&done).len()), (0, 1), "{done:#?}");
    let request = server.requests().pop().unwrap();
    let users: Vec<Value> = request.body()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].clone())
        .collect();
    let shown = |text: &str, media_type: &str, bytes: &[u8]| {
        let url = data_url(media_type, bytes);
        json!([{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}])
    };
    assert_eq!(users, [shown("One.", "image/jpeg", &first), shown("Two.", "image/webp", &second)]);
    let mailbox = std::fs::read(place.file(&place.trace(), "mailbox.jsonl")).unwrap().len();
    assert!(mailbox < 600, "the bytes went through the mailbox: {mailbox}");
    place.ok(&["replay"]);
}

#[test]
fn an_address_is_passed_on_and_a_data_url_becomes_its_bytes() {
    let (place, server) = (Place::new(), simple());
    let gif = image(5, 5, ImageFormat::Gif);
    let data = format!("data:;base64,{}", STANDARD.encode(&gif));
    // Nobody listens there, and nobody needs to.
    let address = "http://127.0.0.1:9/photo?id=7";
    let done = place.run_on(&server, &["--image", address, "--image", &data, "--json", "Look."]);
    assert_eq!((done.code, named(&done).len()), (0, 0), "{done:#?}");
    let expected = json!([
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": address}},
        {"type": "image_url", "image_url": {"url": data_url("image/gif", &gif)}},
    ]);
    assert_eq!(sent(&server), expected);
    assert!(place.ok(&["show"]).contains(&format!("[image {address}]")));
}

#[test]
fn a_large_image_is_made_smaller_before_it_is_sent() {
    let (place, server) = (Place::new(), simple());
    std::fs::write(place.work.join("wide.png"), image(2_100, 4, ImageFormat::Png)).unwrap();
    assert_eq!(place.run_on(&server, &["--image", "wide.png", "Look."]).code, 0);
    let url = sent(&server)[1]["image_url"]["url"].as_str().unwrap().to_string();
    let bytes = STANDARD.decode(url.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
    let picture = image::load_from_memory(&bytes).unwrap();
    assert_eq!((picture.width(), picture.height()), (2_048, 4));
}

#[test]
fn a_secret_in_an_address_or_a_text_file_does_not_leave() {
    let (place, server) = (Place::new(), simple());
    place.config("[secrets]\nLINK_KEY = \"hunter2hunter2\"\n");
    std::fs::write(place.work.join("env"), "key hunter2hunter2\n").unwrap();
    let args = ["--image", "https://example.com/a?key=hunter2hunter2", "--file", "env", "Look."];
    assert_eq!(place.run_on(&server, &args).code, 0);
    let expected = json!([
        {"type": "text", "text": "Look."},
        {"type": "image_url", "image_url": {"url": "https://example.com/a?key={{secret:LINK_KEY}}"}},
        {"type": "text", "text": "[file env]\nkey {{secret:LINK_KEY}}\n"},
    ]);
    assert_eq!(sent(&server), expected);
}

#[test]
fn a_model_that_sees_nothing_is_told_in_text_only_if_that_is_wanted() {
    let (place, server) = (Place::new(), simple());
    place.config("");
    let described = "[[model]]\nname = \"openai-compatible:*\"\nabilities = [\"chat\", \"tools\"]\n";
    std::fs::write(place.home.join("models.toml"), described).unwrap();
    std::fs::write(place.work.join("photo"), image(6, 6, ImageFormat::Png)).unwrap();
    std::fs::write(place.work.join("report.pdf"), pdf(&["The sum is 42."])).unwrap();
    let cases = [
        (&["--image", "photo"], "images"),
        (&["--file", "report.pdf"], "documents"),
        (&["--file", "https://example.com/a.mp3"], "audio"),
    ];
    let how = "use another model, or --attachments text to send it as text";
    for (args, what) in cases {
        let done = place.run_on(&server, &[&args[..], &["x"]].concat());
        done.fails(2, &format!("the model {} does not accept {what}; {how}", server.model()));
        assert_eq!(done.err.lines().count(), 1, "{done:#?}");
    }
    assert!(place.traces().is_empty() && server.count() == 0);
    let args = ["--attachments", "text", "--image", "photo", "--file", "report.pdf", "Sum up."];
    let done = place.run_on(&server, &args);
    assert_eq!(done.code, 0, "{done:#?}");
    assert!(named(&done)[1].ends_with("report.pdf] as text"), "{done:#?}");
    let said = sent(&server);
    // Only texts: the format sends them as one.
    let said = said.as_str().unwrap();
    assert!(
        said.starts_with("Sum up.\n[image image/png ") && said.contains("] (not shown here)\n[document "),
        "{said}"
    );
    assert!(said.ends_with("report.pdf]\n[page 1]\nThe sum is 42."), "{said}");
}

#[test]
fn what_cannot_be_attached_is_named_before_anything_is_begun() {
    let (place, server) = (Place::new(), simple());
    let file = |name: &str, bytes: &[u8]| std::fs::write(place.work.join(name), bytes).unwrap();
    let png = image(40, 40, ImageFormat::Png);
    file("empty", b"");
    file("cut.png", &png[..png.len() / 2]);
    file("cut.jpg", &image(40, 40, ImageFormat::Jpeg)[..700]);
    file("binary", &[0x7F, b'E', b'L', b'F', 0, 0]);
    file("notes.txt", b"Hello.\n");
    file("sound", &wav(4));
    let mut huge = png.clone();
    huge[16..20].copy_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF]);
    file("huge.png", &huge);
    mknodat(CWD, place.work.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let cases = [
        ("--image", "missing.png", "there is no such file"),
        ("--file", ".", "it is a folder, not a file"),
        ("--file", "pipe", "it is a pipe, not a file"),
        ("--file", "/dev/zero", "it is a device, not a file"),
        ("--file", "empty", "it is empty"),
        ("--image", "cut.png", "the image is damaged: "),
        ("--image", "cut.jpg", "the image is damaged: "),
        ("--image", "huge.png", "the image"),
        ("--file", "binary", "it is of a kind that no model takes; possible are PNG, "),
        ("--image", "notes.txt", "it is text, not an image; use --file"),
        ("--image", "sound", "it is audio/wav, not an image; use --file"),
        ("--image", "https://", "it is not an address"),
        ("--image", "data:image/png,x", "only base64 is understood in a data: URL"),
        ("--image", "image/png;base64,?", "its base64 cannot be decoded: "),
    ];
    for (flag, named, why) in cases {
        let done = place.run_on(&server, &[flag, named, "Look."]);
        done.fails(2, &format!("{flag} {named}: {why}"));
        assert_eq!((done.out.as_str(), done.err.lines().count()), ("", 1), "{done:#?}");
    }
    assert!(place.traces().is_empty() && server.count() == 0);
    place.run_on(&server, &["--attachments", "never", "x"]).fails(2, "invalid value 'never' for '--attachments <HOW>'");
}

#[test]
fn a_file_that_a_rule_denies_is_not_attached() {
    let (place, server) = (Place::new(), simple());
    for name in ["secret.txt", "open.txt"] {
        std::fs::write(place.work.join(name), "Hello.\n").unwrap();
    }
    let why = "a rule denies reading this file; see mainpath policy list";
    let deny = ["--deny", "read(secret.txt)"];
    for named in ["secret.txt", "./secret.txt", place.work.join("secret.txt").to_str().unwrap()] {
        let done = place.run_on(&server, &[&deny[..], &["--file", named, "Look."]].concat());
        assert_eq!(done.code, 2, "{done:#?}");
        assert!(done.err.contains(why), "{done:#?}");
    }
    assert!(place.traces().is_empty() && server.count() == 0);
    assert_eq!(place.run_on(&server, &[&deny[..], &["--file", "open.txt", "Look."]].concat()).code, 0);
    // The rules of a trace hold for what is attached later.
    place.run(&["run", "-c", "--file", "secret.txt", "Look."]).fails(2, &format!("--file secret.txt: {why}"));
}

#[test]
fn what_was_attached_and_is_lost_is_said_in_its_place_and_everything_goes_on() {
    let (place, server) = (Place::new(), simple());
    std::fs::write(place.work.join("photo"), image(8, 8, ImageFormat::Png)).unwrap();
    std::fs::write(place.work.join("long.txt"), "heron ".repeat(4_000)).unwrap();
    assert_eq!(place.run_on(&server, &["--image", "photo", "--file", "long.txt", "Look."]).code, 0);
    let trace = place.trace();
    std::fs::remove_dir_all(place.home.join("blobs")).unwrap();
    let request = std::fs::read(place.file(&trace, "inputs/request.txt")).unwrap();
    let image = "[An image (image/png) was here; its content is lost and cannot be shown any more.]";
    let shown = |server: &ModelServer| server.requests().pop().unwrap().body()["messages"].to_string();
    let tried: [&[&str]; 5] = [
        &["run", "--trace", &trace, "And now?"],
        &["regenerate", &trace],
        &["rewind", &trace, "--to", "2", "Something else."],
        &["rewind", &trace, "--to", "1"],
        &["run", "-c", "More."],
    ];
    for args in tried {
        let done = place.run(args);
        assert_eq!((done.code, done.out.as_str()), (0, "Seen.\n"), "{args:?}: {done:#?}");
        let seen = shown(&server);
        assert!(seen.contains(image) && seen.contains("[A text of 24,"), "{seen}");
        assert!(done.err.contains("! a part of the conversation is lost (blob "), "{done:#?}");
    }
    // What was written when it was there is not thrown away.
    assert!(std::fs::read(place.file(&trace, "inputs/request.txt")).unwrap() == request);
    for args in [
        &["compact", &trace][..],
        &["show"],
        &["export", "--format", "json"],
        &["export", "--format", "anthropic"],
        &["ls"],
    ] {
        let done = place.run(args);
        assert!(!done.err.contains("there is no blob"), "{args:?}: {done:#?}");
    }
    place.ok(&["export", "--format", "openai"]);
    let done = place.run(&["replay", "--dry-run"]);
    assert!(done.code == 1 && done.out.contains("request 1 cannot be compared: blob "), "{done:#?}");
    assert!(!done.out.contains("is not what was sent"), "{done:#?}");
}

#[test]
fn who_attaches_more_than_the_window_holds_is_told_what_helps() {
    let (place, server) = (Place::new(), simple());
    place.config("context_window = 8000\n");
    std::fs::write(place.work.join("long.txt"), "heron ".repeat(20_000)).unwrap();
    let done = place.run_on(&server, &["--file", "long.txt", "Sum up."]);
    let trace = place.trace();
    let how = format!(
        "message 1 alone is too large: shorten it (mainpath run \"TASK\"; name a file instead of pasting it, and it is read in parts), or continue \
         with a larger window: mainpath resume {trace} --model MODEL"
    );
    done.fails(4, &how);
    assert!(!done.err.contains("compact") && !done.out.contains("compact"), "{done:#?}");
    // It does help.
    place.config("context_window = 80000\n");
    assert_eq!(place.run(&["resume", &trace, "--model", &server.model()]).out, "Seen.\n");
}

#[test]
fn an_attachment_that_is_not_what_it_is_said_to_be_is_told_in_one_line_before_anybody_is_asked() {
    let (place, server) = (Place::new(), simple());
    let (png, gif) = (image(30, 20, ImageFormat::Png), image(30, 20, ImageFormat::Gif));
    let cut = &png[..png.len() - 20];
    let cases: [(&str, String, &str); 6] = [
        ("image/png", STANDARD.encode("no image at all"), "its media type is image/png, but its bytes are text"),
        ("image/jpeg", STANDARD.encode(&png), "its media type is image/jpeg, but its bytes are image/png"),
        (
            "image/webp",
            STANDARD.encode([0, 1, 2, 3]),
            "its media type is image/webp, but its bytes are of no known kind",
        ),
        ("image/png", STANDARD.encode(cut), "the image is damaged: "),
        ("image/png", "%%%".into(), "its base64 cannot be decoded: "),
        ("image/png", String::new(), "it is empty"),
    ];
    let said = |media_type: &str, data: &str| {
        let part = |media_type: &str, data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}});
        let question = json!({"type": "text", "text": "What is it?"});
        let first = part("image/gif", &STANDARD.encode(&gif));
        json!([{"role": "user", "content": [first, part(media_type, data), question]}]).to_string()
    };
    for (media_type, data, words) in cases {
        std::fs::write(place.work.join("said.json"), said(media_type, &data)).unwrap();
        let line = format!("said.json: attachment 2 cannot be used: {words}");
        place.run_on(&server, &["--messages", "said.json"]).fails(1, &line);
    }
    assert!(place.traces().is_empty() && server.count() == 0);
    std::fs::write(place.work.join("said.json"), said("image/png", &STANDARD.encode(&png))).unwrap();
    assert_eq!(place.run_on(&server, &["--messages", "said.json"]).code, 0);
}
