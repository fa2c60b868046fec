//! Days that texts and values name: `2024-05-01`, `May 1st`, `5月1日`.

use std::collections::HashSet;

/// A month and a day of it. Texts often leave out the year.
pub(super) type Day = (u8, u8);

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Words between the days of a range: `from the 1st to the 5th of May`.
const BETWEEN: [&str; 10] = ["and", "from", "of", "on", "or", "the", "through", "till", "to", "until"];

/// Returns the days that a text names, in any of the ways in which it can be read: `3/4/2024` is two.
pub(super) fn days(text: &str) -> HashSet<Day> {
    let text = text.to_lowercase();
    let tokens: Vec<&str> =
        text.split(|letter: char| !letter.is_alphanumeric()).filter(|token| !token.is_empty()).collect();
    let mut found = HashSet::new();
    for (at, token) in tokens.iter().enumerate() {
        if let Some(month) = month(token) {
            let around = tokens[at + 1..].iter().map_while(near);
            let before = tokens[..at].iter().rev().map_while(near);
            found.extend(around.chain(before).flatten().filter_map(|day| valid(month, day)));
        }
        if let Some((month, day)) = token.split_once('月') {
            let month = month.rsplit(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
            found.extend(number(month).zip(number(day)).and_then(|(month, day)| valid(month, day)));
        }
        let Some([first, second, third]) = tokens.get(at..at + 3).map(|three| [three[0], three[1], three[2]]) else {
            continue;
        };
        let year = |token: &str| token.len() == 4 && token.bytes().all(|byte| byte.is_ascii_digit());
        let (ones, twos, threes) = (number(first), number(second), number(third));
        if year(first) {
            found.extend(twos.zip(threes).and_then(|(month, day)| valid(month, day)));
        } else if year(third) {
            found.extend(ones.zip(twos).and_then(|(month, day)| valid(month, day)));
            found.extend(ones.zip(twos).and_then(|(day, month)| valid(month, day)));
        }
    }
    found
}

/// The number of a month by its name, or by its first three letters or more.
fn month(token: &str) -> Option<u32> {
    let at = MONTHS.iter().position(|month| token.len() >= 3 && month.starts_with(token))?;
    u32::try_from(at + 1).ok()
}

/// Reads a word next to a month: a day, or no day for a year and for words within a range. `None`: the date ends here.
fn near(token: &&str) -> Option<Option<u32>> {
    match number(token) {
        Some(day) if day <= 31 => Some(Some(day)),
        Some(_) => Some(None),
        None => BETWEEN.contains(token).then_some(None),
    }
}

/// The number that a word starts with: `1`, `1st`, `24t14`.
fn number(token: &str) -> Option<u32> {
    let digits = token.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &token[digits..];
    let ends = matches!(rest, "" | "st" | "nd" | "rd" | "th" | "日" | "号")
        || rest.strip_prefix('t').is_some_and(|time| time.bytes().all(|byte| byte.is_ascii_digit()));
    (ends && (1..=4).contains(&digits)).then(|| token[..digits].parse().ok()).flatten()
}

fn valid(month: u32, day: u32) -> Option<Day> {
    ((1..=12).contains(&month) && (1..=31).contains(&day))
        .then(|| Some((u8::try_from(month).ok()?, u8::try_from(day).ok()?)))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_found_in_the_ways_in_which_people_write_it() {
        for text in [
            "2024-05-01",
            "2024-05-01 09:00",
            "2024-05-01T09:00:00Z",
            "May 1st, 2024",
            "on the 1st of May",
            "1. May",
            "1 may 2024",
            "01.05.2024",
            "2024/5/1",
            "2024年5月1日",
            "from the 1st to the 5th of May",
            "May 1st to May 5th",
        ] {
            assert!(days(text).contains(&(5, 1)), "{text}");
        }
        assert_eq!(days("3/4/2024"), HashSet::from([(3, 4), (4, 3)]));
        for text in ["", "may be", "1 of them", "10:30", "2024", "May 2024", "32 May", "13th floor", "5 Mayors"] {
            assert_eq!(days(text), HashSet::new(), "{text}");
        }
    }
}
