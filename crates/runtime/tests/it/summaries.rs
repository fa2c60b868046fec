//! Summaries by rules: each goes on from where the last one ended, and says what one made of everything would.

use crate::support::*;
use mainpath_core::{Effect, Log, State, apply, pending, summarise, summary_text};
use mainpath_runtime::Phase;
use mainpath_types::*;

#[tokio::test(start_paused = true)]
async fn a_summary_that_goes_on_is_the_one_that_begins_anew_would_be() {
    let place = Place::memory(Brain::new(|seen: &Seen| {
        let n = seen.request;
        if n <= 60 {
            calling(&[("look", &format!("file {n}.txt has status {n}; {:x<300}", ""))])
        } else {
            say("I decided to stop here.")
        }
    }));
    let (runtime, trace) = (place.runtime(), id("t"));
    let limits = Limits { summary: SummaryMode::Rules, ..place.spec().limits };
    let spec = Spec { context_window: 2_500, limits, ..place.spec() };
    assert_eq!(run(&runtime, &trace, spec, "Look, but never twice. What is there?").await, Phase::Idle);
    let events = place.log(&trace).await;
    let (mut state, mut log, mut seen) = (State::new(trace.clone()), Log::default(), 0);
    for event in &events {
        let wanted = pending(&state).into_values().find_map(|effect| match effect {
            Effect::Summarise { most, keeps, .. } => Some((most, keeps)),
            _ => None,
        });
        if let (Some((most, keeps)), EventKind::Compacted(Compacted { text: Some(text), .. })) = (wanted, &event.kind) {
            assert_eq!(*text, summary_text(summarise(&state, &log).without(&keeps), most).0, "event {}", event.id);
            seen += 1;
        }
        apply(&mut state, event);
        log.extend([event]);
    }
    assert!(seen >= 2, "{seen} summaries");
}
