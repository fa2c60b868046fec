//! What is JSON and what is not, beside `serde_json`.

use mainpath_json::Paths;

use crate::cases::{ACCEPTED, REFUSED, abysses};
use crate::oracle;
use crate::support::{cut, read, shown};

fn everything() -> Paths {
    Paths::new(["$", "$[*]", "$[0]", "$[0][*]", "$.a", "$['']", "$.asd", "$.a[0].b"]).unwrap()
}

#[test]
fn what_is_json_is_accepted() {
    for text in ACCEPTED {
        assert_eq!(read(&everything(), &[text]).error, None, "{}", shown(text));
        assert!(oracle::tree(text).is_some(), "so says serde_json: {}", shown(text));
    }
}

#[test]
fn what_is_not_json_is_refused() {
    for text in REFUSED {
        assert!(read(&everything(), &[text]).error.is_some(), "{}", shown(text));
        assert!(oracle::tree(text).is_none(), "so says serde_json: {}", shown(text));
    }
}

#[test]
fn the_abyss_is_refused_and_does_not_look_back() {
    for text in abysses() {
        assert!(read(&everything(), &[&text]).error.is_some(), "{}", shown(&text));
        assert!(serde_json::from_slice::<serde_json::Value>(&text).is_err(), "{}", shown(&text));
    }
}

#[test]
fn what_a_value_of_serde_json_accepts_differs_in_numbers_only() {
    for text in ACCEPTED.iter().chain(REFUSED) {
        let accepted = read(&everything(), &[text]).error.is_none();
        match serde_json::from_slice::<serde_json::Value>(text) {
            Ok(_) => assert!(accepted, "{}", shown(text)),
            Err(error) => assert!(!accepted || error.to_string().contains("out of range"), "{}: {error}", shown(text)),
        }
    }
}

#[test]
fn every_cut_in_two_and_every_byte_alone_bring_the_same() {
    for text in ACCEPTED.iter().chain(REFUSED) {
        let whole = read(&everything(), &[text]);
        for at in 0..=text.len() {
            assert_eq!(read(&everything(), &cut(text, &[at])), whole, "{} cut at {at}", shown(text));
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(read(&everything(), &bytes), whole, "{} byte by byte", shown(text));
    }
}

#[test]
fn every_cut_in_three_brings_the_same() {
    for text in ACCEPTED.iter().chain(REFUSED).filter(|text| text.len() <= 24) {
        let whole = read(&everything(), &[text]);
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let pieces = cut(text, &[first, second]);
                assert_eq!(read(&everything(), &pieces), whole, "{} cut at {first}, {second}", shown(text));
            }
        }
    }
}
