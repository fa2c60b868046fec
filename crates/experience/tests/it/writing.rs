//! Several writers, and entries of any text.

use crate::support::{Place, draft};
use mainpath_experience::{Change, Draft, read_text};
use proptest::prelude::{Strategy, any, prop, proptest};
use std::path::Path;

#[test]
fn what_many_write_at_once_is_all_there() {
    let place = Place::new();
    let shared = place.open().add(draft("shared", &[], &[])).unwrap().entry.id;
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (place, shared) = (&place, &shared);
            scope.spawn(move || {
                // Each with a cache and a lock of its own, as processes have.
                let open = place.open();
                for k in 0..10 {
                    open.add(draft(&format!("entry {n} {k}"), &[], &[])).unwrap();
                    open.change(shared, Change::Helped).unwrap();
                }
            });
        }
    });
    let all = place.open().all().unwrap();
    assert_eq!((all.entries.len(), all.broken), (41, vec![]));
    assert_eq!(place.open().get(&shared).unwrap().entry.helpful, 41);
    let left: Vec<_> = std::fs::read_dir(&place.folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left.len(), 42, "the entries and the lock: {left:?}");
}

#[test]
fn what_is_no_entry_is_not_written() {
    let place = Place::new();
    let open = place.open();
    let long = "x".repeat(9_000);
    for (text, expected) in [(" \n", "it says nothing"), (&long, "its text has 9000 bytes, more than 8192; shorten it")]
    {
        let error = open.add(draft(text, &[], &[])).unwrap_err().to_string();
        assert_eq!(error, format!("this is no experience: {expected}"));
    }
    let error = open.change("ex_none", Change::Helped).unwrap_err().to_string();
    assert_eq!(error, "there is no experience \"ex_none\"; mainpath experience list shows them");
    assert!(!place.folder.exists(), "nothing was made for it");
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        text in any::<String>().prop_filter("says something", |text| !text.trim().is_empty()),
        tags in prop::collection::vec("\\PC{1,20}", 0..4),
        category in any::<String>().prop_map(|text| text.chars().take(50).collect::<String>()),
    ) {
        let place = Place::new();
        let given = Draft { category, intent: tags.clone(), state: tags, trace_id: Some("t: \"x".into()), text, ..Draft::default() };
        let Ok(placed) = place.open().add(given) else { return Ok(()) };
        let written = std::fs::read_to_string(&placed.file).unwrap();
        let read = read_text(Path::new("f"), &written);
        assert_eq!(read.broken, []);
        assert_eq!(read.entries.len(), 1, "{written}");
        let trimmed = |tags: &[String]| -> Vec<String> {
            tags.iter().map(|tag| tag.trim().to_string()).filter(|tag| !tag.is_empty()).collect()
        };
        let entry = &read.entries[0].entry;
        assert_eq!((&entry.text, &entry.id), (&placed.entry.text, &placed.entry.id));
        assert_eq!(entry.intent, trimmed(&placed.entry.intent));
        assert_eq!(entry.category, placed.entry.category.trim());
    }
}
