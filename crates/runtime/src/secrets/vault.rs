//! The vault: the secrets that are known by name, the forms in which others are found, and the search for both.

use super::dumps::dumped;
use super::encoded::{REACH, begins_across, split, written};
use super::error::BadForm;
use super::fields::{Cutter, Field};
use super::look::{Look, SHORTEST};
use super::numbers::numbered;
use super::own::Own;
use super::shapes::SHAPES;
use super::tokens::{TOKENS, begins_word};
use aho_corasick::AhoCorasick;
use mainpath_sandbox::{is_secret_name, secret_variables};
use mainpath_tools::Secrets;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::sync::Arc;

/// The secrets that are known by name, and the forms in which others are found. Cheap to clone.
#[derive(Clone)]
pub struct Vault(Arc<Known>);

#[derive(Clone)]
struct Known {
    /// Names and values, longest value first, so that one that contains another is replaced whole.
    named: Vec<(String, String)>,
    /// The same as they are, in bytes.
    plain: Vec<(String, Vec<u8>)>,
    /// Finds the values. `None` where there are none, or too many for it.
    values: Option<AhoCorasick>,
    /// Finds the anchors: places where a secret of some form may be.
    places: Option<AhoCorasick>,
    anchors: Vec<Anchor>,
    own: Vec<Arc<Own>>,
    fields: Arc<[Field]>,
    key: [u8; 32],
    /// By their first bytes, the anchors that are a part of their secrets, and whether a named secret begins so.
    first: Vec<(Vec<Anchor>, bool)>,
    /// How long a beginning can be that is not yet known to be one, in bytes: the longest anchor or named secret.
    longest: usize,
}

/// What an anchor may belong to: an entry of [`TOKENS`] or of [`SHAPES`].
#[derive(Clone, Copy)]
enum Anchor {
    Token(usize),
    Shape(usize, &'static str),
}

impl Anchor {
    fn kind(self) -> &'static str {
        match self {
            Anchor::Token(at) => TOKENS[at].kind,
            Anchor::Shape(at, _) => SHAPES[at].kind,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Anchor::Token(at) => TOKENS[at].prefix,
            Anchor::Shape(_, text) => text,
        }
    }

    /// Whether the secret begins with it, so that a text that ends inside of it may be the beginning of one.
    fn is_part(self) -> bool {
        match self {
            Anchor::Token(at) => !TOKENS[at].is_open(),
            Anchor::Shape(at, _) => SHAPES[at].is_part,
        }
    }
}

/// What was found in a text.
struct Scan<'a> {
    /// In order, none touching another.
    finds: Vec<Find<'a>>,
    /// How far the text is settled.
    settled: usize,
    /// When the text has grown, nothing before this place has to be looked at again.
    looked: usize,
}

/// A secret in a text.
struct Find<'a> {
    range: Range<usize>,
    name: Name<'a>,
}

/// By what a secret is known. Of two that are the same piece of text, the later one of these names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name<'a> {
    /// By the words around it.
    Context(&'static str),
    /// By an expression of the configuration.
    Own,
    /// By its form.
    Form(&'static str),
    /// By its name.
    Given(&'a str),
}

impl Vault {
    /// A vault of these secrets, name and value, and of every kind that is known by its form.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Vault {
        Vault::default().with_secrets(secrets)
    }

    /// The same with these secrets, name and value, and no others by name.
    pub fn with_secrets(mut self, secrets: impl IntoIterator<Item = (String, String)>) -> Vault {
        let known: BTreeMap<String, String> =
            secrets.into_iter().filter(|(_, value)| value.len() >= SHORTEST).collect();
        let plain = known.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
        let mut named: Vec<(String, String)> = Vec::new();
        for (name, value) in known {
            let others = written(&value);
            named.extend(others.into_iter().map(|other| (name.clone(), other)));
            named.push((name, value));
        }
        named.sort_by(|(a, x), (b, y)| y.len().cmp(&x.len()).then_with(|| a.cmp(b)));
        let known = Arc::make_mut(&mut self.0);
        known.values =
            (!named.is_empty()).then(|| AhoCorasick::new(named.iter().map(|(_, value)| value)).ok()).flatten();
        (known.named, known.plain) = (named, plain);
        known.find_places();
        self
    }

    /// The same, with handles that only this key makes so.
    pub fn with_key(mut self, key: [u8; 32]) -> Vault {
        Arc::make_mut(&mut self.0).key = key;
        self
    }

    /// The same without a kind of secret. Errors: there is no such kind.
    pub fn without(mut self, kind: &str) -> Result<Vault, BadForm> {
        if !Vault::kinds().contains(&kind) {
            return Err(BadForm::UnknownKind { kind: kind.into(), known: Vault::kinds() });
        }
        let known = Arc::make_mut(&mut self.0);
        known.anchors.retain(|anchor| anchor.kind() != kind);
        known.find_places();
        Ok(self)
    }

    /// The same, and what matches this regular expression is a secret. Errors: it is invalid, or matches the empty text.
    pub fn with_pattern(mut self, pattern: &str) -> Result<Vault, BadForm> {
        let own = Own::new(pattern)?;
        Arc::make_mut(&mut self.0).own.push(Arc::new(own));
        Ok(self)
    }

    /// The same, and in the arguments and the JSON outputs of tools the values at this place, such as `$..password`, are left
    /// out. Errors: it is not a valid path.
    pub fn with_path(mut self, path: &str) -> Result<Vault, BadForm> {
        let field = Field::new(path)?;
        let known = Arc::make_mut(&mut self.0);
        known.fields = known.fields.iter().cloned().chain([field]).collect();
        Ok(self)
    }

    /// The kinds of secrets that are known by their form.
    pub fn kinds() -> Vec<&'static str> {
        let mut kinds: Vec<&str> = all_anchors().map(Anchor::kind).collect();
        kinds.dedup();
        kinds
    }

    /// Returns true if an environment variable holds a secret: by its name, or because its value is one or contains one.
    pub fn is_secret_variable(&self, name: &str, value: &str) -> bool {
        is_secret_name(name) || self.has_secret(value)
    }

    /// The variables that are hidden from commands: those of the secrets by name, and those whose names say that they hold one.
    pub fn hidden_variables(&self) -> impl Iterator<Item = OsString> {
        self.names().map(OsString::from).chain(secret_variables())
    }

    /// The names of the secrets.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.named.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a text holds no secret, and none may have begun at its end.
    pub fn is_clean(&self, text: &str) -> bool {
        let scan = self.0.scan(text.as_bytes(), 0, 0, true);
        scan.finds.is_empty() && scan.settled == text.len()
    }

    /// Whether something of a text would be replaced.
    pub(crate) fn has_secret(&self, text: &str) -> bool {
        !self.0.scan(text.as_bytes(), 0, 0, false).finds.is_empty()
    }

    /// The text with every secret replaced by its handle.
    pub fn redact(&self, text: &str) -> String {
        self.redact_part(text, 0..text.len())
    }

    /// A part of a text, with every secret that lies in it, wholly or in part, replaced by its handle.
    pub fn redact_part(&self, text: &str, part: Range<usize>) -> String {
        let scan = self.0.scan(text.as_bytes(), part.start, 0, false);
        self.0.show(text, part, &scan.finds)
    }

    /// The text with the handles of these names replaced by their secrets. Other handles stay handles.
    pub fn reveal(&self, text: &str, allowed: &[String]) -> String {
        let mut text = text.to_string();
        for name in allowed {
            // The last entry of a name is the value itself, not its form in JSON.
            if let Some((_, value)) = self.0.named.iter().rfind(|(known, _)| known == name) {
                text = text.replace(&handle(name), value);
            }
        }
        text
    }

    /// How much of a stream's end must be held back because it may be a part of a secret, in bytes.
    pub fn begun(&self, text: &str) -> usize {
        text.len() - self.0.scan(text.as_bytes(), 0, 0, true).settled
    }

    /// Where the secrets of a text stand.
    #[cfg(test)]
    pub(super) fn found(&self, text: &str) -> Vec<Range<usize>> {
        self.0.scan(text.as_bytes(), 0, 0, false).finds.into_iter().map(|find| find.range).collect()
    }

    /// What can be said of a stream of which this is the text, so much of it being told and looked at; and how much of it is
    /// told and looked at then. `more`: it goes on.
    pub(super) fn say(&self, text: &str, told: usize, looked: usize, more: bool) -> (String, usize, usize) {
        let Scan { finds, settled, looked } = self.0.scan(text.as_bytes(), told, looked, more);
        (self.0.show(text, told..settled, &finds), settled, looked)
    }

    /// What leaves the values at configured places out. `None` where none are configured.
    pub(super) fn cutter(&self, anywhere: bool) -> Option<Cutter> {
        (!self.0.fields.is_empty()).then(|| Cutter::new(Arc::clone(&self.0.fields), self.0.key, anywhere))
    }
}

impl Default for Vault {
    /// No secret by name; all kinds.
    fn default() -> Vault {
        let mut known = Known {
            named: Vec::new(),
            plain: Vec::new(),
            values: None,
            places: None,
            anchors: all_anchors().collect(),
            own: Vec::new(),
            fields: Arc::default(),
            key: [0; 32],
            first: Vec::new(),
            longest: 0,
        };
        known.find_places();
        Vault(Arc::new(known))
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

fn all_anchors() -> impl Iterator<Item = Anchor> {
    let shapes = SHAPES.iter().enumerate();
    let shapes = shapes.flat_map(|(at, shape)| shape.anchors.iter().map(move |anchor| Anchor::Shape(at, anchor)));
    (0..TOKENS.len()).map(Anchor::Token).chain(shapes)
}

impl Known {
    fn find_places(&mut self) {
        let texts: Vec<&str> = self.anchors.iter().map(|anchor| anchor.text()).collect();
        self.places = AhoCorasick::builder().ascii_case_insensitive(true).build(&texts).ok();
        self.first = vec![(Vec::new(), false); 256];
        for anchor in self.anchors.iter().filter(|anchor| anchor.is_part()) {
            let of = anchor.text().bytes().next().map_or(0, usize::from);
            self.first[of].0.push(*anchor);
        }
        for (_, value) in &self.named {
            let of = value.bytes().next().map_or(0, usize::from);
            self.first[of].1 = true;
        }
        let named = self.named.iter().map(|(_, value)| REACH * value.len());
        self.longest = texts.iter().map(|text| text.len()).chain(named).max().unwrap_or_default();
    }

    /// The secrets of a text that end behind `from`; and how far the text is settled: with `more` to come, that is where the
    /// first secret begins that may have begun, though not before `from`. `looked`: what an earlier scan of the beginning of
    /// this text gave.
    fn scan<'a>(&'a self, text: &[u8], from: usize, looked: usize, more: bool) -> Scan<'a> {
        let mut settled = text.len();
        // What has begun within the last bytes is seen once it is whole.
        let mut next = (text.len() + 1).saturating_sub(self.longest).max(looked);
        let since = if self.own.is_empty() { looked.min(text.len()) } else { 0 };
        let mut finds = Vec::new();
        let mut take = |look: Look, at: usize, name: Name<'a>| {
            if matches!(look, Look::Open { .. } | Look::Later) {
                next = next.min(at);
            }
            match look {
                Look::Open { start, .. } if more => settled = settled.min(start.max(from)),
                Look::Secret(range) if range.end > from => finds.push((at, Find { range, name })),
                Look::Open { start, end: Some(end) } if end > from => {
                    finds.push((at, Find { range: start..end, name }));
                }
                Look::Nothing | Look::Secret(_) | Look::Open { .. } | Look::Later => {}
            }
        };
        let across = self.values.iter().flat_map(|values| split(values, text, since));
        for (at, range) in self.given(text, since).into_iter().chain(across) {
            take(Look::Secret(range.clone()), range.start, Name::Given(&self.named[at].0));
        }
        for (value, at, look) in dumped(&self.plain, text, since, more) {
            take(look, at, Name::Given(&self.plain[value].0));
        }
        if let Some(values) = &self.values {
            let numbers = numbered(values, &self.plain, text, since, more);
            for (at, start, look) in numbers.found {
                take(look, start, Name::Given(&self.named[at].0));
            }
            if let Some(start) = numbers.begun {
                take(Look::Open { start, end: None }, start, Name::Own);
            }
        }
        let input = aho_corasick::Input::new(text).range(since..);
        for anchor in self.places.iter().flat_map(|places| places.find_overlapping_iter(input.clone())) {
            match self.anchors[anchor.pattern().as_usize()] {
                Anchor::Token(at) => {
                    let name = Name::Form(TOKENS[at].kind);
                    take(TOKENS[at].look(text, anchor.start()), anchor.start(), name);
                }
                Anchor::Shape(at, _) => {
                    let shape = &SHAPES[at];
                    let name = if shape.is_part { Name::Form(shape.kind) } else { Name::Context(shape.kind) };
                    take((shape.look)(text, anchor.start(), anchor.end()), anchor.start(), name);
                }
            }
        }
        self.own.iter().flat_map(|own| own.looks(text)).for_each(|look| take(look, 0, Name::Own));
        if more {
            let begins = from.max((text.len() + 1).saturating_sub(self.longest));
            let begins = if self.own.is_empty() { begins } else { from };
            settled = settled.min((begins..settled).find(|at| self.may_begin(text, *at)).unwrap_or(settled));
        }
        let ends: Vec<(usize, usize)> = finds.iter().map(|(at, find)| (*at, find.range.end)).collect();
        let mut finds = joined(finds.into_iter().map(|(_, find)| find).collect());
        if more {
            // A secret is said whole.
            for find in finds.iter().rev().filter(|find| find.range.end > from) {
                if find.range.end > settled {
                    settled = settled.min(find.range.start.max(from));
                }
            }
            finds.retain(|find| find.range.end <= settled);
        }
        // What is not said yet has to be found again.
        let looked = ends.iter().filter(|(_, end)| *end > settled).fold(next, |least, (at, _)| least.min(*at));
        Scan { finds, settled, looked }
    }

    /// The secrets by name, which begin from some place on: which, and where.
    fn given(&self, text: &[u8], since: usize) -> Vec<(usize, Range<usize>)> {
        if let Some(values) = &self.values {
            let input = aho_corasick::Input::new(text).range(since..);
            return values
                .find_overlapping_iter(input)
                .map(|found| (found.pattern().as_usize(), found.range()))
                .collect();
        }
        let mut finds = Vec::new();
        for (at, (_, value)) in self.named.iter().enumerate() {
            let windows = text.windows(value.len()).enumerate().skip(since);
            let found = windows.filter(|(_, window)| *window == value.as_bytes());
            finds.extend(found.map(|(start, _)| (at, start..start + value.len())));
        }
        finds
    }

    /// Whether the text from here to its end may be the beginning of a secret.
    fn may_begin(&self, text: &[u8], at: usize) -> bool {
        let rest = &text[at..];
        let begins = |whole: &[u8]| rest.len() < whole.len() && whole.starts_with(rest);
        let of_anchor = |anchor: &Anchor| match anchor {
            Anchor::Token(token) => TOKENS[*token].begins(text, at),
            Anchor::Shape(shape, anchor) => {
                begins(anchor.as_bytes()) && (SHAPES[*shape].kind == "private-key" || begins_word(text, at))
            }
        };
        let first = rest.first().and_then(|byte| self.first.get(usize::from(*byte)));
        first.is_some_and(|(anchors, named)| {
            anchors.iter().any(of_anchor)
                || *named
                    && self
                        .named
                        .iter()
                        .any(|(_, value)| begins(value.as_bytes()) || begins_across(value.as_bytes(), rest))
        }) || self.own.iter().any(|own| own.begins(text, at))
    }

    /// A part of a text with handles for its secrets.
    fn show(&self, text: &str, part: Range<usize>, finds: &[Find<'_>]) -> String {
        let mut said = Vec::with_capacity(part.len());
        let mut done = part.start;
        for Find { range, name } in
            finds.iter().filter(|find| find.range.start < part.end && find.range.end > part.start)
        {
            said.extend_from_slice(text.as_bytes().get(done..range.start).unwrap_or_default());
            let handle = match name {
                Name::Given(name) => handle(name),
                Name::Form(kind) | Name::Context(kind) => self.drawn(kind, &text.as_bytes()[range.clone()]),
                Name::Own => self.drawn("pattern", &text.as_bytes()[range.clone()]),
            };
            said.extend_from_slice(handle.as_bytes());
            done = range.end;
        }
        said.extend_from_slice(text.as_bytes().get(done..part.end).unwrap_or_default());
        String::from_utf8(said).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// The handle of a secret that has no name.
    fn drawn(&self, kind: &str, secret: &[u8]) -> String {
        let digest = Sha256::new_with_prefix(self.key).chain_update(secret).finalize();
        let digits: String = digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
        handle(&format!("{kind}-{digits}"))
    }
}

/// The finds in order, those that overlap put together. The longest names what there is.
fn joined(mut finds: Vec<Find<'_>>) -> Vec<Find<'_>> {
    finds.sort_by_key(|find| find.range.start);
    let mut joined: Vec<Find<'_>> = Vec::with_capacity(finds.len());
    for find in finds {
        match joined.last_mut().filter(|last| last.range.end > find.range.start) {
            None => joined.push(find),
            Some(last) => {
                if (find.range.len(), find.name) > (last.range.len(), last.name) {
                    last.name = find.name;
                }
                last.range.end = last.range.end.max(find.range.end);
            }
        }
    }
    joined
}

fn handle(name: &str) -> String {
    format!("{{{{secret:{name}}}}}")
}

/// What a running call may do with secrets: reveal those that its spec names, hide all.
pub(crate) struct Granted {
    pub vault: Vault,
    pub allowed: Vec<String>,
}

impl Secrets for Granted {
    fn reveal(&self, text: &str) -> String {
        self.vault.reveal(text, &self.allowed)
    }
    fn redact(&self, text: &str) -> String {
        self.vault.redact_said(text)
    }
    fn redact_part(&self, text: &str, part: Range<usize>) -> String {
        self.vault.redact_part(text, part)
    }
}
