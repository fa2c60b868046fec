//! What subscribers wait for: which of them each open value concerns, and what is kept for them until it is complete.

use crate::grammar::Level;
use crate::paths::{Path, Paths};

/// What a subscription hears.
#[derive(Clone, Copy, Debug)]
pub enum News<'a> {
    /// More of a string, as soon as it is there. Never empty, never part of a character.
    Text {
        /// The index of the path in [`Paths`].
        subscription: usize,
        /// Where the string is.
        path: Path<'a>,
        /// What came since the last news of it, with escapes resolved.
        text: &'a str,
    },
    /// A value is complete. Of a string, all its text was told before.
    Value {
        /// The index of the path in [`Paths`].
        subscription: usize,
        /// Where the value is.
        path: Path<'a>,
        /// The value as it was written, from its first to its last character.
        json: &'a str,
        /// If it is a string, what it says, with escapes resolved.
        text: Option<&'a str>,
    },
}

/// An open value that some subscription leads to or through. Those inside one another are exactly the first ones from the
/// root, for no path leads on from where none leads.
#[derive(Clone, Debug)]
struct Place {
    /// Its subscriptions are those in `Watch::led` from here to the next place.
    first: usize,
    /// Where in `Watch::json` it begins, if a path ends at it.
    json: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Watch {
    paths: Paths,
    /// The most bytes that are kept of one value.
    limit: usize,
    longest_name: usize,
    places: Vec<Place>,
    led: Vec<usize>,
    /// The key under way or last read, cut where it is longer than any name.
    key: String,
    /// How many places are being kept, and the outermost of them as it was written.
    kept: usize,
    json: String,
    /// What the string under way says, and how much of it was told.
    text: String,
    told: usize,
}

impl Watch {
    pub(crate) fn new(paths: Paths, limit: usize) -> Watch {
        Watch {
            longest_name: paths.longest_name(),
            paths,
            limit,
            places: Vec::new(),
            led: Vec::new(),
            key: String::new(),
            kept: 0,
            json: String::new(),
            text: String::new(),
            told: 0,
        }
    }

    pub(crate) fn key_begins(&mut self) {
        self.key.clear();
    }

    pub(crate) fn key_text(&mut self, character: char) {
        if self.key.len() <= self.longest_name {
            self.key.push(character);
        }
    }

    /// A value begins inside of these levels.
    pub(crate) fn begins(&mut self, levels: &[Level]) {
        let depth = levels.len();
        if self.places.len() != depth {
            return;
        }
        let first = self.led.len();
        match (self.places.last(), levels.last()) {
            (Some(parent), Some(&level)) => {
                for at in parent.first..first {
                    let subscription = self.led[at];
                    let step = self.paths.steps(subscription).get(depth - 1);
                    if step.is_some_and(|step| step.leads_to(level, &self.key)) {
                        self.led.push(subscription);
                    }
                }
            }
            _ => self.led.extend(0..self.paths.len()),
        }
        let led = &self.led[first..];
        if led.is_empty() {
            return;
        }
        let is_kept = led.iter().any(|&subscription| self.paths.steps(subscription).len() == depth);
        self.places.push(Place { first, json: is_kept.then_some(self.json.len()) });
        if is_kept {
            self.kept += 1;
            self.text.clear();
            self.told = 0;
        }
    }

    /// How many bytes may come before a value that is wanted whole is longer than the limit.
    pub(crate) fn room(&self) -> usize {
        if self.kept == 0 { usize::MAX } else { self.limit - self.json.len() }
    }

    /// This is written next, for which there is room.
    pub(crate) fn keep(&mut self, written: &str) {
        if self.kept > 0 {
            self.json.push_str(written);
        }
    }

    /// The string value inside of so many levels says this next.
    pub(crate) fn text(&mut self, says: &str, depth: usize) {
        if self.places.len() == depth + 1 && self.places.last().is_some_and(|place| place.json.is_some()) {
            self.text.push_str(says);
        }
    }

    /// Tells what is new of the string under way.
    pub(crate) fn tell(&mut self, levels: &[Level], each: &mut dyn FnMut(News<'_>)) {
        if self.told == self.text.len() {
            return;
        }
        let text = &self.text[self.told..];
        self.told = self.text.len();
        for (subscription, path) in self.ended(levels) {
            each(News::Text { subscription, path, text });
        }
    }

    /// The value that is under way inside of these levels is complete.
    pub(crate) fn ends(&mut self, levels: &[Level], each: &mut dyn FnMut(News<'_>)) {
        if self.places.len() != levels.len() + 1 {
            return;
        }
        self.tell(levels, each);
        if let Some(json) = self.places.last().and_then(|place| place.json) {
            let json = &self.json[json..];
            let text = json.starts_with('"').then_some(self.text.as_str());
            for (subscription, path) in self.ended(levels) {
                each(News::Value { subscription, path, json, text });
            }
            self.kept -= 1;
            self.text.clear();
            self.told = 0;
        }
        if self.kept == 0 {
            self.json.clear();
        }
        if let Some(place) = self.places.pop() {
            self.led.truncate(place.first);
        }
    }

    /// The bytes that its texts take, filled or not.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.key.capacity() + self.json.capacity() + self.text.capacity()
    }

    /// The subscriptions that end at the innermost place, which lies in these levels.
    fn ended<'a>(&'a self, levels: &'a [Level]) -> impl Iterator<Item = (usize, Path<'a>)> {
        let led = self.places.last().map_or(&[][..], |place| &self.led[place.first..]);
        let paths = led.iter().map(|&subscription| (subscription, self.paths.steps(subscription)));
        let ended = paths.filter(|(_, steps)| steps.len() + 1 == self.places.len());
        ended.map(move |(subscription, steps)| (subscription, Path { steps, levels }))
    }
}
