//! A text in pieces brings the news and the verdict that follow from `serde_json`. The first byte says how many cuts
//! follow it, the rest is the text.
#![no_main]

#[expect(dead_code, reason = "the tests ask more of it")]
#[path = "../../tests/it/oracle.rs"]
mod oracle;
#[path = "../../tests/it/support.rs"]
mod support;

use libfuzzer_sys::fuzz_target;
use oracle::Step::{Any, Index, Name};

fuzz_target!(|bytes: &[u8]| {
    let Some((&cuts, rest)) = bytes.split_first() else { return };
    let Some((cuts, text)) = rest.split_at_checked(usize::from(cuts % 8)) else { return };
    let mut cuts: Vec<usize> = cuts.iter().map(|&at| usize::from(at) % (text.len() + 1)).collect();
    cuts.sort_unstable();
    let paths = [
        vec![],
        vec![Any],
        vec![Name("a")],
        vec![Name("a"), Any, Name("b")],
        vec![Index(1), Any],
        vec![Any, Any, Name("")],
    ];
    let is_json = oracle::compare(text, &paths, &cuts).is_some();
    let shown = mainpath_json::preview(text);
    if let Some(shown) = &shown {
        assert!(oracle::tree(shown.as_bytes()).is_some(), "{shown}");
    }
    if is_json && text.ends_with(b"}") {
        assert_eq!(shown.as_deref().map(str::as_bytes), Some(text));
    }
});
