//! The text of documents.

use mainpath_media::{Attachment, Content, Kind, MOST_PAGES, Problem, Vendor, pdf_pages, pdf_text};
use mainpath_testkit::files::{pdf, pdf_of};

fn document(bytes: Vec<u8>) -> Attachment {
    let content = Content::Bytes { kind: Kind::Document, media_type: "application/pdf", bytes };
    Attachment { name: Some("a.pdf".into()), content }
}

#[test]
fn the_text_of_a_pdf_comes_page_by_page() {
    let bytes = pdf(&["First page.", "", "Third page."]);
    let text = "[page 1]\nFirst page.\n\n[page 2]\n\n\n[page 3]\nThird page.";
    assert_eq!((pdf_text(&bytes), pdf_pages(&bytes)), (Ok(text.to_string()), Some(3)));
    let described = document(bytes).describe().unwrap();
    assert_eq!(described, format!("[document application/pdf 1 kB a.pdf]\n{text}"));
}

#[test]
fn a_pdf_without_text_says_so() {
    let bytes = pdf(&["", ""]);
    assert_eq!(pdf_text(&bytes), Err(Problem::NoText));
    let described = document(bytes).describe().unwrap();
    assert_eq!(described, "[document application/pdf 793 B a.pdf] (it has no text that could be shown here)");
}

#[test]
fn of_a_long_document_the_first_pages_are_read_and_the_rest_is_counted() {
    let bytes = pdf(&vec!["x"; MOST_PAGES + 2]);
    let text = pdf_text(&bytes).unwrap();
    assert!(text.ends_with(&format!("[page {MOST_PAGES}]\nx\n\n[2 more pages are left out]")));
    assert!(document(bytes.clone()).fit(&Vendor::OpenAi.takes()).is_ok());
    assert_eq!(document(bytes).fit(&Vendor::Anthropic.takes()), Err(Problem::TooManyPages(1_002, 600)));
}

#[test]
fn a_page_that_unfolds_to_more_than_it_may_is_left_out_and_the_others_are_read() {
    // Runs of 128 blanks in two bytes each (ISO 32000-1, 7.4.5), then a text, in one stream.
    let stream = |blanks: usize| {
        let text = b"BT /F1 12 Tf (Behind.) Tj ET";
        let mut bytes = [0x81, b' '].repeat(blanks / 128);
        bytes.push(u8::try_from(text.len() - 1).unwrap());
        bytes.extend(text);
        bytes.push(0x80);
        ("/Filter /RunLengthDecode", bytes)
    };
    let text = pdf_text(&pdf_of(&[stream(1 << 10), stream(65 << 20), stream(1 << 20)]));
    assert_eq!(
        text.unwrap(),
        "[page 1]\nBehind.\n\n[page 2]\n[a part of this page cannot be read]\n\n\n[page 3]\nBehind."
    );
}

#[test]
fn a_very_long_text_is_cut() {
    let long = "x".repeat(3 << 20);
    let text = pdf_text(&pdf(&[&long, &long, "End."])).unwrap();
    assert!(
        text.len() < (4 << 20) + 100 && text.ends_with("xxx\n[the rest of the text is left out]"),
        "{}",
        text.len()
    );
}

#[test]
fn an_encrypted_pdf_is_named_as_that() {
    // The standard handler with a user password that is not empty: nobody can tell what it says.
    let bytes = String::from_utf8(pdf(&["Secret."])).unwrap();
    let handler =
        format!("<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{}> /U <{}> >>", "11".repeat(32), "22".repeat(32));
    let id = format!("/ID [<{0}> <{0}>]", "33".repeat(16));
    let inside = bytes.replace("/Root 1 0 R", &format!("/Root 1 0 R {id} /Encrypt {handler}"));
    // The same as an object, in place of the font.
    let apart = bytes.replace("/Root 1 0 R", &format!("/Root 1 0 R {id} /Encrypt 3 0 R"));
    let begin = apart.find("<< /Type /Font").unwrap();
    let end = begin + apart[begin..].find("\nendobj").unwrap();
    let apart = format!("{}{handler}{}", &apart[..begin], &apart[end..]);
    for bytes in [inside, apart] {
        assert_eq!(pdf_text(bytes.as_bytes()), Err(Problem::EncryptedPdf));
    }
}

#[test]
fn what_is_no_pdf_behind_its_first_bytes_is_damaged() {
    for bytes in [&b"%PDF-1.7\n"[..], b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog", b"%PDF-"] {
        assert!(matches!(pdf_text(bytes), Err(Problem::BadPdf(_))), "{:?}", pdf_text(bytes));
        assert_eq!(pdf_pages(bytes), None);
    }
}
