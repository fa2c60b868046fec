//! Bytes that mean harm: no panic, no end of memory, one line.

use crate::support::*;
use mainpath_media::{Vendor, fit_image, pdf_pages, pdf_text};
use mainpath_testkit::files::pdf;
use proptest::prelude::*;

/// A file with some of its bytes changed and its end cut off.
fn spoilt(file: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let len = file.len();
    let changes = prop::collection::vec((0..len, any::<u8>()), 1..12);
    (changes, len / 2..=len).prop_map(move |(changes, end)| {
        let mut file = file.clone();
        changes.into_iter().for_each(|(at, byte)| file[at] = byte);
        file.truncate(end);
        file
    })
}

fn any_image() -> impl Strategy<Value = Vec<u8>> {
    (0..4usize).prop_flat_map(|at| spoilt(images(24, 18)[at].1.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_spoilt_image_is_decoded_or_refused_in_one_line(bytes in any_image()) {
        if let Err(problem) = fit_image(bytes, &Vendor::OpenAi.takes()) {
            let said = problem.to_string();
            prop_assert!(!said.contains('\n') && !said.contains("gave up"), "{}", said);
        }
    }

    #[test]
    fn a_spoilt_pdf_is_read_or_refused_in_one_line(bytes in spoilt(pdf(&["One.", "Two."]))) {
        let _pages = pdf_pages(&bytes);
        if let Err(problem) = pdf_text(&bytes) {
            let said = problem.to_string();
            prop_assert!(!said.contains('\n') && !said.contains("gave up"), "{}", said);
        }
    }
}
