//! From what a person names to an attachment.

use crate::support::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mainpath_media::{Attachment, Content, Kind, MOST_BYTES, Problem, Vendor, read};
use mainpath_testkit::files::{pdf, wav};
use mainpath_types::{Part, Source};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::ffi::OsStr;
use std::os::unix::net::UnixListener;
use std::path::Path;

fn named(path: &Path) -> Result<Attachment, Problem> {
    read(path.as_os_str(), MOST_BYTES)
}

fn bytes(kind: Kind, media_type: &'static str, bytes: Vec<u8>) -> Content {
    Content::Bytes { kind, media_type, bytes }
}

#[test]
fn what_a_file_is_is_told_by_its_bytes_whatever_its_name_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.txt");
    let mut cases: Vec<(Kind, &'static str, Vec<u8>)> =
        images(8, 4).map(|(media_type, bytes)| (Kind::Image, media_type, bytes)).to_vec();
    cases.push((Kind::Document, "application/pdf", pdf(&["x"])));
    cases.push((Kind::Audio, "audio/wav", wav(10)));
    let sounds: [(&'static str, &[u8]); 9] = [
        ("audio/mpeg", b"ID3\x04\0\0\0\0\0\0"),
        ("audio/mpeg", b"\xFF\xFB\x90\x00"),
        ("audio/mpeg", b"\xFF\xF3\x40\xC0"),
        ("audio/aac", b"\xFF\xF1\x50\x80"),
        ("audio/aac", b"\xFF\xF9\x50\x80"),
        ("audio/flac", b"fLaC\0\0\0\x22"),
        ("audio/ogg", b"OggS\0\x02"),
        ("audio/aiff", b"FORM\0\0\0\0AIFF"),
        ("audio/aiff", b"FORM\0\0\0\0AIFC"),
    ];
    cases.extend(sounds.map(|(media_type, bytes)| (Kind::Audio, media_type, bytes.to_vec())));
    for (kind, media_type, content) in cases {
        std::fs::write(&path, &content).unwrap();
        let expected = Attachment { name: Some("wrong.txt".into()), content: bytes(kind, media_type, content) };
        assert_eq!(named(&path), Ok(expected), "{media_type}");
    }
}

#[test]
fn a_text_file_is_text_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.png");
    std::fs::write(&path, "Grüße\n\u{1b}[1m日本\n").unwrap();
    let read = named(&path).unwrap();
    assert_eq!(
        (read.clone().part(), read.line().as_str(), read.kind()),
        (Part::text("[file notes.png]\nGrüße\n\u{1b}[1m日本\n"), "[file text/plain 19 B notes.png]", None)
    );
}

#[test]
fn base64_is_taken_from_a_data_url_and_from_behind_a_media_type() {
    let png = encoded(&picture(3, 3), image::ImageFormat::Png);
    let encoded = STANDARD.encode(&png);
    let expected = Attachment { name: None, content: bytes(Kind::Image, "image/png", png) };
    // A wrong media type is no error: the bytes say what they are.
    for begin in ["data:image/png;base64,", "DATA:;base64,", "image/png;base64,", "data:text/plain;charset=x;base64,"] {
        assert_eq!(read(OsStr::new(&format!("{begin}{encoded}")), MOST_BYTES), Ok(expected.clone()), "{begin}");
    }
    let text = read(OsStr::new("text/plain;base64,SGVsbG8="), MOST_BYTES).unwrap();
    assert_eq!(text.content, Content::Text("Hello".into()));
}

#[test]
fn an_address_is_kept_and_its_kind_is_a_guess() {
    let cases = [
        ("https://example.com/a.PNG?x=1", Kind::Image),
        ("http://example.com/a/b.mp3#t", Kind::Audio),
        ("HTTPS://example.com/report.pdf", Kind::Document),
        ("https://example.com", Kind::Document),
        ("http://[::1]:8000/v1.5/photo", Kind::Document),
    ];
    for (url, kind) in cases {
        let content = Content::Address { kind, url: url.into() };
        assert_eq!(read(OsStr::new(url), MOST_BYTES), Ok(Attachment { name: None, content }), "{url}");
    }
    let image = read(OsStr::new(cases[0].0), MOST_BYTES).unwrap();
    assert_eq!(image.line(), "[image https://example.com/a.PNG?x=1]");
    assert_eq!(image.part(), Part::Image { source: Source::Url { url: cases[0].0.into() } });
}

#[test]
fn a_part_has_the_bytes_in_base64_the_name_and_the_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report");
    let content = pdf(&["one", "two", "three"]);
    std::fs::write(&path, &content).unwrap();
    let source = Source::Base64 { data: STANDARD.encode(&content), media_type: "application/pdf".into() };
    let read = named(&path).unwrap().fit(&Vendor::Anthropic.takes()).unwrap();
    assert_eq!(read.line(), format!("[document application/pdf {} kB report]", (content.len() + 500) / 1_000));
    assert_eq!(read.part(), Part::Document { source, name: Some("report".into()), pages: Some(3) });
}

#[test]
fn a_vendor_that_does_not_take_a_sound_is_named_with_what_it_takes() {
    let flac = Attachment { name: None, content: bytes(Kind::Audio, "audio/flac", b"fLaC".to_vec()) };
    let why = "this model's vendor takes no audio/flac; possible are audio/wav, audio/mpeg: convert it";
    assert_eq!(flac.clone().fit(&Vendor::OpenAi.takes()).unwrap_err().to_string(), why);
    assert_eq!(flac.clone().fit(&Vendor::Gemini.takes()), Ok(flac));
}

#[test]
fn what_cannot_be_attached_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, content) in
        [("empty", &b""[..]), ("binary", b"\x7FELF\x02\x01\0\0"), ("latin", b"caf\xe9"), ("zero", b"a\0b")]
    {
        std::fs::write(at(name), content).unwrap();
    }
    std::fs::write(at("large"), vec![b'x'; 101]).unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    std::os::unix::fs::symlink("missing", at("dangling")).unwrap();
    std::os::unix::fs::symlink("loop", at("loop")).unwrap();
    let unknown = "it is of a kind that no model takes; possible are PNG, JPEG, WebP and GIF images, PDF, WAV, MP3, AIFF, AAC, \
                   OGG and FLAC audio, and UTF-8 text";
    let files = [
        ("missing", "there is no such file"),
        ("missing/below", "there is no such file"),
        ("empty/below", "there is no such file"),
        ("dangling", "there is no such file"),
        ("loop", "it cannot be read: Too many levels of symbolic links (os error 40)"),
        ("", "it is a folder, not a file"),
        ("pipe", "it is a pipe, not a file"),
        ("socket", "it is a device, not a file"),
        ("empty", "it is empty"),
        ("binary", unknown),
        ("latin", unknown),
        ("zero", unknown),
        ("large", "it is larger than 100 B, the most that can be attached; make it smaller"),
    ];
    for (name, why) in files {
        assert_eq!(read(at(name).as_os_str(), 100).unwrap_err().to_string(), why, "{name}");
    }
    let address = "it is not an address that a model's server could fetch; write http://HOST/… or https://HOST/…";
    let others = [
        ("", "there is no such file"),
        ("/dev/zero", "it is a device, not a file"),
        ("/dev/tty", "it is a device, not a file"),
        ("https://", address),
        ("http:///path", address),
        ("https://a b", address),
        ("https://a\n", address),
        ("ftp://example.com/a", "there is no such file"),
        ("data:image/png,abc", "only base64 is understood in a data: URL: data:image/png;base64,…"),
        ("data:image/png;base64,", "it is empty"),
        ("image/png;base64,abc", "its base64 cannot be decoded: Invalid padding"),
        ("image/png;base64,a*bc", "its base64 cannot be decoded: Invalid symbol 42, offset 1."),
    ];
    for (named, why) in others {
        let failed = read(OsStr::new(named), 100).unwrap_err().to_string();
        // A test without a terminal cannot even open one.
        let failed = if named == "/dev/tty" {
            failed.replace("it cannot be read: ", "it is a device, not a file|")
        } else {
            failed
        };
        assert_eq!(failed.split('|').next().unwrap(), why, "{named}");
    }
    let long = format!("image/png;base64,{}", "A".repeat(200));
    assert_eq!(read(OsStr::new(&long), 100), Err(Problem::TooLarge(100)));
}

#[test]
fn a_file_that_nobody_lets_us_read_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    std::fs::write(&path, "x").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    // Root may read everything; only this thread becomes somebody else.
    let tried = std::thread::spawn(move || {
        if rustix::process::geteuid().is_root() {
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).unwrap();
        }
        named(&path).unwrap_err().to_string()
    });
    assert_eq!(tried.join().unwrap(), "it cannot be read: Permission denied (os error 13)");
}
