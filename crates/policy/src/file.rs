//! Rule files: TOML in, rules out, with every mistake named by file and line.

use crate::error::{LARGEST, MOST_RULES, PolicyError, RulePlace, RuleProblem};
use crate::example::PolicyExample;
use crate::part::parts;
use crate::pattern::{Fit, Folders, Pattern, PatternError, Reading, Seen};
use crate::rule::{Layer, Rule};
use crate::sample::{SampleError, sample};
use crate::shell;
use mainpath_types::{Access, ApprovalMode, Decision, EffectClass, Origin};
use serde::de::{Deserializer, Error, SeqAccess, Visitor, value};
use serde::{Deserialize, de};
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    off: Vec<Spanned<String>>,
    #[serde(default)]
    rule: Vec<Spanned<RawRule>>,
    #[serde(default)]
    example: Vec<Spanned<RawExample>>,
}

/// A call with the verdict that all rules together are to give.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExample {
    name: Option<String>,
    call: String,
    arguments: Option<serde_json::Value>,
    expect: Decision,
    rule: Option<String>,
    #[serde(default)]
    mode: Access,
    #[serde(default)]
    yes: bool,
    #[serde(default = "is_interactive")]
    interactive: bool,
    #[serde(default)]
    origin: OneOrMore<Origin>,
    #[serde(default)]
    from_text: OneOrMore<String>,
}

fn is_interactive() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    id: Option<Spanned<String>>,
    decision: Decision,
    r#match: Spanned<OneOrMore<String>>,
    #[serde(default)]
    origin: OneOrMore<Origin>,
    #[serde(default)]
    effect: OneOrMore<EffectClass>,
    #[serde(default)]
    destination: Option<RawDestination>,
    reason: Option<String>,
    #[serde(default)]
    always: Option<Spanned<bool>>,
    #[serde(default)]
    examples: RawExamples,
}

/// Where the words of a call's destination come from.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawDestination {
    /// Somebody's text.
    Text,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawExamples {
    r#match: Vec<Spanned<String>>,
    no_match: Vec<Spanned<String>>,
}

/// A value, or a list of them.
struct OneOrMore<T>(Vec<T>);

impl<T> Default for OneOrMore<T> {
    fn default() -> Self {
        OneOrMore(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = OneOrMore<T>;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a string or a list of strings")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMore<T>, E> {
                T::deserialize(de::IntoDeserializer::<value::Error>::into_deserializer(text.to_string()))
                    .map(|one| OneOrMore(vec![one]))
                    .map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMore<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(OneOrMore(all))
            }
        }
        from.deserialize_any(Either(PhantomData))
    }
}

/// A file's rules, and the ids of the rules below that it switches off.
pub(crate) struct Parsed {
    pub rules: Vec<Rule>,
    pub off: Vec<String>,
    examples: Vec<Example>,
    /// What all rules together are held to when somebody tests them; not when they are loaded.
    pub calls: Vec<PolicyExample>,
}

/// A call that a rule's author says the rule is about, or is not.
struct Example {
    /// The rule's place in the file.
    rule: usize,
    call: String,
    /// Whether the rule is to match it.
    expected: bool,
    /// What is named in the error.
    place: RulePlace,
}

impl Parsed {
    /// Holds every rule to its examples. Errors: file, line, what is wrong.
    pub fn test(&self, folders: &Folders) -> Result<(), PolicyError> {
        // Its examples speak of files from its own folder, which this workspace does not see.
        if !folders.above.is_empty() {
            return Ok(());
        }
        for Example { rule, call, expected, place } in &self.examples {
            let Some(rule) = self.rules.get(*rule) else { continue };
            let at = |problem: RuleProblem| PolicyError { place: place.clone(), problem };
            if fits(rule, call, folders).map_err(|error| at(error.into()))? != *expected {
                let (rule, call) = (rule.id.clone(), call.clone());
                return Err(at(RuleProblem::Example { rule, call, expected: *expected }));
            }
        }
        Ok(())
    }
}

/// How a pattern is read.
pub(crate) type ReadPattern = fn(&str, &Folders) -> Result<Pattern, PatternError>;

/// Reads a rule file. Its examples are left to [`Parsed::test`]. `name` stands in the errors. Errors: file, line, what is
/// wrong, and what may have been meant.
pub(crate) fn parse(
    layer: Layer,
    name: &str,
    text: &str,
    folders: &Folders,
    read: ReadPattern,
) -> Result<Parsed, PolicyError> {
    let line = |start: usize| text.get(..start).map_or(1, |before| before.matches('\n').count() + 1);
    let place = |start: usize| RulePlace::Line { file: name.into(), line: line(start) };
    let at = |start: usize, problem: RuleProblem| PolicyError { place: place(start), problem };
    if text.len() > LARGEST {
        return Err(at(0, RuleProblem::LargeFile));
    }
    let raw: RawFile = toml::from_str(text).map_err(|error| {
        let message = error.message().to_string();
        let meant = suggestion(&message);
        at(error.span().map_or(0, |span| span.start), RuleProblem::Syntax { message, meant })
    })?;
    if raw.rule.len() > MOST_RULES {
        return Err(at(0, RuleProblem::ManyRules));
    }
    if let (Some(off), Layer::Project) = (raw.off.first(), layer) {
        return Err(at(off.span().start, RuleProblem::ProjectOff));
    }
    let (mut rules, mut ids, mut kept) = (Vec::new(), BTreeSet::new(), Vec::new());
    for (number, raw) in (1..).zip(raw.rule) {
        let start = raw.span().start;
        let raw = raw.into_inner();
        let id_start = raw.id.as_ref().map_or(start, |id| id.span().start);
        let id = raw.id.map_or_else(|| format!("{}.{number}", layer.prefix()), Spanned::into_inner);
        let own = layer == Layer::Builtin;
        if let Some(reserved) = ["builtin.", "access.", "flag."].iter().find(|start| !own && id.starts_with(*start)) {
            return Err(at(id_start, RuleProblem::ReservedId { id, reserved }));
        }
        if id.is_empty() || id.len() > 100 || !id.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)) {
            return Err(at(id_start, RuleProblem::BadId(id)));
        }
        if !ids.insert(id.clone()) {
            return Err(at(id_start, RuleProblem::SameId(id)));
        }
        if let Some(always) = raw.always.as_ref().filter(|always| *always.get_ref() && raw.decision != Decision::Ask) {
            return Err(at(always.span().start, RuleProblem::AlwaysWithoutAsk));
        }
        let match_start = raw.r#match.span().start;
        let written = raw.r#match.into_inner().0;
        let matches: Vec<String> =
            written.iter().flat_map(|text| text.lines()).map(|line| line.trim().into()).collect();
        if matches.is_empty() {
            return Err(at(match_start, RuleProblem::NoPattern));
        }
        let patterns = matches.iter().map(|text| read(text, folders)).collect::<Result<Vec<_>, _>>();
        let patterns = patterns.map_err(|error| at(match_start, error.into()))?;
        if raw.decision == Decision::Allow && patterns.iter().any(Pattern::is_of_content) {
            return Err(at(match_start, RuleProblem::ContentAllows));
        }
        let rule = Rule {
            id,
            decision: raw.decision,
            patterns: patterns.into(),
            matches,
            origins: raw.origin.0,
            effects: raw.effect.0,
            destination: raw.destination.is_some(),
            reason: raw.reason,
            always: raw.always.is_some_and(Spanned::into_inner),
            layer,
            place: Some((name.into(), line(start))),
            ignored: None,
        };
        for (examples, expected) in [(raw.examples.r#match, true), (raw.examples.no_match, false)] {
            kept.extend(examples.into_iter().map(|example| {
                let place = place(example.span().start);
                Example { rule: rules.len(), call: example.into_inner(), expected, place }
            }));
        }
        rules.push(rule);
    }
    let calls = raw.example.into_iter().map(|example| {
        let at = line(example.span().start);
        expected(name, at, example.into_inner())
    });
    let calls = calls.collect();
    Ok(Parsed { rules, off: raw.off.into_iter().map(Spanned::into_inner).collect(), examples: kept, calls })
}

fn expected(file: &str, line: usize, raw: RawExample) -> PolicyExample {
    let mode = match (raw.yes, raw.interactive) {
        (true, _) => ApprovalMode::Yes,
        (false, true) => ApprovalMode::Ask,
        (false, false) => ApprovalMode::Deny,
    };
    PolicyExample {
        file: file.into(),
        line,
        name: raw.name,
        call: raw.call,
        arguments: raw.arguments,
        expect: raw.expect,
        rule: raw.rule,
        access: raw.mode,
        mode,
        origins: raw.origin.0,
        from_text: raw.from_text.0,
    }
}

/// The calls of a rule file with the verdicts that are expected. Errors: file, line, what is wrong.
pub fn policy_examples(layer: Layer, name: &str, text: &str) -> Result<Vec<PolicyExample>, PolicyError> {
    Ok(parse(layer, name, text, &Folders::default(), Pattern::parse)?.calls)
}

/// A rule that stands alone, such as `bash(git push *) if origin = web`; several patterns stand on lines of their own.
/// Errors: what is wrong with it.
pub(crate) fn parse_one(
    decision: Decision,
    layer: Layer,
    id: String,
    text: &str,
    folders: &Folders,
    read: ReadPattern,
) -> Result<Rule, RuleProblem> {
    let condition = text.rfind(" if ").filter(|at| {
        let before = text.get(..*at).unwrap_or_default();
        !before.contains('(') || before.trim_end().ends_with(')')
    });
    let (pattern, condition) = match condition.filter(|_| !text.trim_end().ends_with(')')) {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 4..)),
        None => (text, None),
    };
    let (origins, destination) = match condition.map(|condition| condition.trim().split_once('=')) {
        None => (Vec::new(), false),
        Some(Some((name, from))) if name.trim() == "destination" && from.trim() == "text" => (Vec::new(), true),
        Some(Some((name, origins))) if name.trim() == "origin" => {
            let origins = origins.split(',').map(|origin| one_origin(origin.trim()));
            (origins.collect::<Result<_, _>>()?, false)
        }
        Some(_) => return Err(RuleProblem::Condition(text.into())),
    };
    let matches: Vec<String> = pattern.lines().map(|line| line.trim().into()).collect();
    let patterns = matches.iter().map(|text| read(text, folders)).collect::<Result<Vec<_>, _>>()?;
    if patterns.is_empty() {
        return Err(PatternError::Empty.into());
    }
    if decision == Decision::Allow && patterns.iter().any(Pattern::is_of_content) {
        return Err(RuleProblem::ContentAllows);
    }
    Ok(Rule {
        id,
        decision,
        matches,
        patterns: patterns.into(),
        origins,
        effects: Vec::new(),
        destination,
        reason: None,
        always: false,
        layer,
        place: None,
        ignored: None,
    })
}

/// What stands between a rule and the preset that it comes from.
const OF_PRESET: &str = " # preset ";

/// A rule's text that also says from which preset it comes: denials are told by that name.
pub fn with_preset(rule: &str, preset: &str) -> String {
    format!("{rule}{OF_PRESET}{preset}")
}

/// A rule's text, and the preset that it comes from if it says so. The names of presets are letters, digits and `-_. `.
pub(crate) fn of_preset(text: &str) -> (&str, Option<&str>) {
    let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | ' ');
    match text.rsplit_once(OF_PRESET) {
        Some((rule, name)) if !name.is_empty() && name.chars().all(fits) => (rule, Some(name)),
        _ => (text, None),
    }
}

/// An origin by its name.
fn one_origin(name: &str) -> Result<Origin, RuleProblem> {
    Origin::deserialize(de::IntoDeserializer::<value::Error>::into_deserializer(name))
        .map_err(|error| error.to_string())
        .map_err(|message| RuleProblem::Origin { meant: suggestion(&message), message })
}

/// Whether a rule is about a call, its conditions aside.
fn fits(rule: &Rule, example: &str, folders: &Folders) -> Result<bool, SampleError> {
    let facts = sample(example, folders)?;
    let scripts: Vec<_> = facts.commands.iter().map(|line| shell::read(line)).collect();
    let seen: Vec<Vec<Seen<'_>>> = scripts
        .iter()
        .map(|script| script.commands.iter().map(|simple| Seen::new(simple, folders)).collect())
        .collect();
    let reading = if rule.decision == Decision::Allow { Reading::Strict } else { Reading::Wide };
    Ok(parts(&facts, &scripts, &seen, folders)
        .iter()
        .any(|part| rule.patterns_fit(&facts.tool, part, reading) == Fit::Yes))
}

/// What may have been meant: the nearest of the names that the message says were expected.
fn suggestion(message: &str) -> Option<String> {
    let mut names = message.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    let near = names.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min()?;
    let most = if wrong.len() < 5 { 1 } else { 2 };
    (message.starts_with("unknown ") && near.0 <= most).then(|| near.1.into())
}
