//! Finding skills by what somebody asks for: BM25 over name, description and headings, with a weight for each.

use crate::skill::Skill;
use crate::words::words;
use std::cmp::Ordering;
use std::collections::HashMap;

/// How soon a word that comes again adds nothing, and how much long texts are held back: the values that are common for BM25.
const SATURATION: f64 = 1.2;
const LENGTH: f64 = 0.75;
/// What a word counts in a name, a description and a heading.
const IN_NAME: f64 = 3.0;
const IN_DESCRIPTION: f64 = 1.5;
const IN_HEADING: f64 = 0.6;
/// What a word counts that only begins like one of the question's, or is begun by it.
const LIKE: f64 = 0.4;
/// How many characters words must share to be alike.
const ALIKE: usize = 4;

/// Skills in a form that can be searched.
#[derive(Clone, Debug, Default)]
pub struct Search {
    names: Vec<String>,
    /// Of each skill, how long it is: the weights of all its words.
    lengths: Vec<f64>,
    average: f64,
    /// The words in order, each with the skills that have it.
    words: Vec<Posting>,
}

#[derive(Clone, Debug)]
struct Posting {
    word: String,
    /// The skills, by their number, with the weight of the word in each.
    skills: Vec<Weight>,
}

#[derive(Clone, Copy, Debug)]
struct Weight {
    skill: usize,
    weight: f64,
}

/// A skill that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The skill.
    pub name: String,
    /// How well it fits; comparable within one search only.
    pub score: f64,
}

impl Search {
    /// Makes these skills searchable.
    pub fn new<'s>(skills: impl IntoIterator<Item = &'s Skill>) -> Search {
        let mut search = Search::default();
        let mut postings: HashMap<String, Vec<Weight>> = HashMap::new();
        for (number, skill) in skills.into_iter().enumerate() {
            let card = &skill.card;
            let headings = card.headings.join("\n");
            let mut own: HashMap<String, f64> = HashMap::new();
            for (text, weight) in [(&card.name, IN_NAME), (&card.description, IN_DESCRIPTION), (&headings, IN_HEADING)]
            {
                words(text).into_iter().for_each(|word| *own.entry(word).or_default() += weight);
            }
            search.names.push(card.name.clone());
            search.lengths.push(own.values().sum());
            for (word, weight) in own {
                postings.entry(word).or_default().push(Weight { skill: number, weight });
            }
        }
        search.average = search.lengths.iter().sum::<f64>() / search.lengths.len().max(1) as f64;
        search.words = postings.into_iter().map(|(word, skills)| Posting { word, skills }).collect();
        search.words.sort_unstable_by(|one, other| one.word.cmp(&other.word));
        search
    }

    /// The skills that fit a question best, at most so many, the best one first. Skills that have nothing in common with it are
    /// not among them.
    pub fn find(&self, question: &str, most: usize) -> Vec<Hit> {
        let mut asked = words(question);
        asked.sort_unstable();
        asked.dedup();
        let mut scores = vec![0.0; self.names.len()];
        for word in &asked {
            let mut best: HashMap<usize, f64> = HashMap::new();
            for posting in self.like(word) {
                let same = if posting.word == *word { 1.0 } else { LIKE };
                for Weight { skill, weight } in &posting.skills {
                    let score = same * self.score(posting, *skill, *weight);
                    let best = best.entry(*skill).or_default();
                    *best = best.max(score);
                }
            }
            for (skill, score) in best {
                if let Some(sum) = scores.get_mut(skill) {
                    *sum += score;
                }
            }
        }
        let named = self.names.iter().zip(scores).filter(|(_, score)| *score > 0.0);
        let mut hits: Vec<Hit> = named.map(|(name, score)| Hit { name: name.clone(), score }).collect();
        let better = |one: &Hit, other: &Hit| other.score.partial_cmp(&one.score).unwrap_or(Ordering::Equal);
        hits.sort_by(|one, other| better(one, other).then_with(|| one.name.cmp(&other.name)));
        hits.truncate(most);
        hits
    }

    /// The words that are this one, begin with it, or begin it.
    fn like<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a Posting> {
        let from = self.words.partition_point(|posting| posting.word.as_str() < word);
        let later = self.words.get(from..).unwrap_or_default().iter();
        let is_long = word.chars().count() >= ALIKE;
        let longer = later.take_while(move |p| p.word == word || is_long && p.word.starts_with(word));
        let beginnings = word.char_indices().skip(ALIKE).filter_map(|(end, _)| word.get(..end));
        let shorter = beginnings.filter_map(|beginning| {
            let place = self.words.binary_search_by(|posting| posting.word.as_str().cmp(beginning)).ok()?;
            self.words.get(place)
        });
        longer.chain(shorter)
    }

    fn score(&self, posting: &Posting, skill: usize, weight: f64) -> f64 {
        let (all, with) = (self.names.len() as f64, posting.skills.len() as f64);
        let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        let length = self.lengths.get(skill).copied().unwrap_or_default() / self.average.max(f64::MIN_POSITIVE);
        rarity * weight * (SATURATION + 1.0) / (weight + SATURATION * (1.0 - LENGTH + LENGTH * length))
    }
}
