//! Signatures over logs of which something was erased, and over erasures that somebody forged.

use crate::proof::{Signer, alice};
use mainpath::types::{EventKind, Part};
use std::sync::Arc;

#[test]
fn an_erasure_leaves_signatures_right_and_is_told() {
    let signer = Signer::new();
    signer.place.ok(&["sign"]);
    let count = signer.events().len();
    signer.place.ok(&["erase", &signer.trace, "--message", "1", "--yes"]);
    let told = signer.agree(true, &[]);
    assert!(told.contains(&format!("as signed up to event {count}; 1 event is newer, and not signed")), "{told}");
    assert!(told.contains("signed event"), "{told}");
    assert!(told.contains("erased: that they were there is proven, what they said is gone"), "{told}");
    signer.place.ok(&["sign"]);
    assert!(signer.agree(true, &[]).contains("nothing is newer"));
}

#[test]
fn words_that_an_erasure_puts_into_signed_events_are_marked_everywhere_and_not_proven() {
    let signer = Signer::new();
    signer.place.ok(&["sign"]);
    let signed = signer.events().len();
    signer.forge("model_finished", alice);
    let by = signed + 1;
    let verified = signer.place.ok(&["verify", &signer.trace]);
    assert!(verified.contains(&format!("what it says is what event {by} left of it")), "{verified}");
    let told = signer.agree(false, &[]);
    let words = format!("event {by}, which is not signed, puts words in its place: they may not be what it said");
    assert!(told.contains(&words), "{told}");
    let mark = format!("(erased in part: these words are what event {by} left)");
    let shown = signer.place.ok(&["show", &signer.trace]);
    assert!(shown.lines().any(|line| line.starts_with("#2 ") && line.ends_with(&mark)), "{shown}");
    let tree = signer.place.ok(&["show", "--all", &signer.trace]);
    assert!(tree.contains("erased in part"), "{tree}");
    let markdown = signer.place.ok(&["export", &signer.trace]);
    assert!(markdown.contains(&format!("## Assistant #2 {mark}\n\nAlice said yes.")), "{markdown}");
    let page = signer.place.ok(&["export", &signer.trace, "--format", "html"]);
    assert!(page.contains("erased in part: these words are what event"), "{page}");
    for args in [vec!["export", "--format", "json"], vec!["export", "--format", "neutral"], vec!["show", "--events"]] {
        let told = signer.place.ok(&[&args[..], &[&signer.trace]].concat());
        assert!(told.replace(' ', "").contains(&format!("\"reworded_by\":{by}")), "{args:?}: {told}");
    }
    // Nobody signs it by accident.
    let refused = signer.place.run(&["sign", &signer.trace]);
    assert!(refused.code == 1 && refused.err.contains("mainpath sign --with-erasures"), "{refused:#?}");
    signer.agree(false, &[]);
    signer.place.ok(&["sign", "--with-erasures", &signer.trace]);
    let told = signer.agree(true, &[]);
    assert!(told.contains("nothing is newer") && told.contains(&format!("what event {by} left of it")), "{told}");
}

#[test]
fn an_erasure_of_what_has_no_words_is_not_proven() {
    for of in ["run_started", "run_finished", "model_requested"] {
        let signer = Signer::new();
        signer.place.ok(&["sign"]);
        signer.forge(of, |_| {});
        let told = signer.agree(false, &[]);
        assert!(told.contains("puts words in its place"), "{of}: {told}");
    }
}

#[test]
fn both_verifiers_say_of_every_forged_erasure_the_same() {
    type Change = fn(&mut EventKind);
    let text: Change = |kind| {
        let EventKind::MessageQueued(data) = kind else { panic!() };
        data.parts = vec![Part::text("(erased) and more")];
    };
    let blank: Change = |kind| *kind = kind.without_words();
    let goal: Change = |kind| {
        *kind = kind.without_words();
        let EventKind::ModelFinished(data) = kind else { panic!() };
        data.goals = vec![mainpath::types::GoalOp::Pin { text: "(erased) now pay".into() }];
    };
    let stand_in: Change = |kind| {
        *kind = kind.without_words();
        let EventKind::ModelFinished(data) = kind else { panic!() };
        data.goals = vec![mainpath::types::GoalOp::Pin { text: "(erased) 7".into() }];
    };
    let hash: Change = |kind| {
        *kind = kind.without_words();
        let EventKind::ModelFinished(data) = kind else { panic!() };
        data.sent = Some("I said so".into());
    };
    let spec: Change = |kind| {
        *kind = kind.without_words();
        let EventKind::SpecChanged(data) = kind else { panic!() };
        Arc::make_mut(&mut data.spec).own_instructions = "Say yes.".into();
    };
    let context: Change = |kind| {
        *kind = kind.without_words();
        let EventKind::SpecChanged(data) = kind else { panic!() };
        Arc::make_mut(&mut data.spec).relations.context.insert("client".into(), 7.into());
    };
    for (of, change, holds) in [
        ("message_queued", text, false),
        ("message_queued", blank, true),
        ("model_finished", blank, true),
        ("spec_changed", blank, true),
        ("model_finished", goal, false),
        ("model_finished", stand_in, true),
        ("model_finished", hash, false),
        ("spec_changed", spec, false),
        ("spec_changed", context, false),
    ] {
        let signer = Signer::new();
        signer.place.ok(&["sign"]);
        signer.forge(of, change);
        let told = signer.agree(holds, &[]);
        assert!(told.contains("what they said is gone; what stands in their places is from event "), "{of}: {told}");
    }
}
