//! What another machine states about an agent's work, as it may enter the log here.

use super::seen::Seen;
use crate::secrets::Vault;
use mainpath_core::InputKind;
use mainpath_types::{Origin, Share, Usage};

/// What came of it, as it may enter the log: without secrets of this machine, which that one does not know as such, and using no more
/// than it was given; what another machine claims beyond that is its own.
pub(super) fn taken_in(vault: &Vault, share: &Share, came_to: InputKind) -> InputKind {
    let InputKind::ChildEnded(mut ended) = came_to else { return came_to };
    let handed = &mut ended.handed;
    let texts = handed.problem.iter_mut().chain([&mut handed.answer]).chain(&mut handed.files);
    texts.for_each(|text| *text = vault.redact(text));
    let (tokens, money) = (share.tokens.unwrap_or(u64::MAX), share.money.unwrap_or(u64::MAX));
    let most_calls = share.calls.unwrap_or(u32::MAX);
    if handed.spent.usage.total() > tokens || handed.spent.cost > money || handed.calls > most_calls {
        let claimed = "it says that it used more than it was given; no more than that is counted";
        handed.problem =
            Some(handed.problem.iter().map(String::as_str).chain([claimed]).collect::<Vec<_>>().join("; "));
    }
    for usage in [&mut handed.usage, &mut handed.spent.usage] {
        if usage.total() > tokens {
            *usage = Usage { input: tokens, ..Usage::default() };
        }
    }
    handed.cost = handed.cost.min(money);
    handed.spent.cost = handed.spent.cost.min(money);
    handed.calls = handed.calls.min(most_calls);
    handed.active_ms = handed.active_ms.min(share.time_ms.unwrap_or(u64::MAX));
    InputKind::ChildEnded(ended)
}

/// What another machine says is somebody else's word, whatever it says of itself.
pub(super) fn said_there(seen: Seen) -> Seen {
    let mut seen = seen;
    seen.origins.insert(Origin::Message);
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_core::ChildEnded;
    use mainpath_types::{CallId, ChildOutcome, HandedBack, Seq, Spent};

    fn claims(tokens: u64, money: u64, share: &Share) -> HandedBack {
        let usage = Usage { input: tokens, output: tokens, ..Usage::default() };
        let spent = Spent { usage, cost: money, about: false };
        let handed = HandedBack { usage, cost: money, spent, calls: 3, ..HandedBack::default() };
        let call = CallId { seq: Seq(2), index: 0 };
        let ended = ChildEnded { call, nth: 0, of: 1, outcome: ChildOutcome::Result, handed };
        entered(share, ended)
    }

    fn entered(share: &Share, ended: ChildEnded) -> HandedBack {
        let vault = Vault::new([("A_KEY".to_string(), "hunter2hunter2".to_string())]);
        match taken_in(&vault, share, InputKind::ChildEnded(ended)) {
            InputKind::ChildEnded(ended) => ended.handed,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn secrets_of_this_machine_do_not_come_back_from_another() {
        let text = || "the key is hunter2hunter2".to_string();
        let handed = HandedBack { answer: text(), problem: Some(text()), files: vec![text()], ..HandedBack::default() };
        let call = CallId { seq: Seq(2), index: 0 };
        let ended = ChildEnded { call, nth: 0, of: 1, outcome: ChildOutcome::Result, handed };
        let handed = entered(&Share::default(), ended);
        for text in [&handed.answer, handed.problem.as_ref().unwrap(), &handed.files[0]] {
            assert!(text.starts_with("the key is ") && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn no_more_is_counted_than_it_was_given() {
        let share = Share { tokens: Some(1_000), money: Some(50), calls: Some(2), ..Share::default() };
        let honest = claims(300, 7, &Share { calls: Some(3), ..share });
        assert_eq!((honest.spent.usage.total(), honest.cost, honest.problem), (600, 7, None));
        let claimed = claims(u64::MAX / 4, u64::MAX / 4, &share);
        assert_eq!((claimed.spent.usage.total(), claimed.usage.total()), (1_000, 1_000));
        assert_eq!((claimed.spent.cost, claimed.cost, claimed.calls), (50, 50, 2));
        assert!(claimed.problem.unwrap().contains("more than it was given"));
        let share = Share { time_ms: Some(60_000), ..Share::default() };
        let call = CallId { seq: Seq(2), index: 0 };
        let handed = HandedBack { active_ms: u64::MAX, ..HandedBack::default() };
        let long = ChildEnded { call, nth: 0, of: 1, outcome: ChildOutcome::Result, handed };
        assert_eq!(entered(&share, long).active_ms, 60_000);
        let free = claims(u64::MAX / 4, 9, &Share::default());
        assert_eq!((free.cost, free.problem), (9, None), "nothing was said of a limit");
    }
}
