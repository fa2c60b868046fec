//! From the fields of a preset's file to what it says, in the words of every program whose files are read.
//!
//! Claude Code: <https://code.claude.com/docs/en/sub-agents>; Codex: <https://developers.openai.com/codex/subagents>; CrewAI:
//! <https://docs.crewai.com/en/concepts/agents>.

use super::formats::{Form, Written};
use super::preset::{Preset, Remark};
use super::tool_words::{List, Word, add};
use crate::home::limits::ms;
use crate::{Error, values};
use mainpath_skills::{Entry, Node, Value, tool_list};
use mainpath_types::Effort;
use std::collections::BTreeSet;

/// What names can be held to.
pub(super) struct Known<'a> {
    /// The names of the tools that there are and could be.
    pub tools: &'a [String],
    /// Whether there is such a model; what is wrong with it.
    pub model: &'a dyn Fn(&str) -> Result<(), Error>,
}

/// What was read of a preset.
pub(super) struct Fields {
    pub preset: Preset,
    pub faults: Vec<Remark>,
    pub notes: Vec<Remark>,
}

/// The fields that mean something here.
const KEYS: [&str; 19] = [
    "commands",
    "denied_tools",
    "description",
    "disallowed_tools",
    "effort",
    "instructions",
    "limits",
    "max_calls",
    "max_cost",
    "max_iterations",
    "max_tokens",
    "max_turns",
    "model",
    "name",
    "permission_mode",
    "skills",
    "temperature",
    "timeout",
    "tools",
];

/// The fields of other programs that mean nothing here.
const NOT_HERE: [&str; 21] = [
    "allow_delegation",
    "approval_policy",
    "author",
    "background",
    "cache",
    "category",
    "color",
    "hooks",
    "initial_prompt",
    "isolation",
    "license",
    "max_retry_limit",
    "max_rpm",
    "mcp_servers",
    "memory",
    "metadata",
    "nickname_candidates",
    "tags",
    "verbose",
    "version",
    "web_search",
];

/// Models of other programs by names that are none here.
const ALIASES: [&str; 5] = ["sonnet", "opus", "haiku", "fable", "opusplan"];

/// The longest name, in letters.
const LONGEST_NAME: usize = 64;

/// Reads a preset. It never fails: what is wrong is among the faults.
pub(super) fn read(written: &Written<'_>, known: &Known<'_>) -> Fields {
    let mut reading = Reading {
        form: written.form,
        known,
        role: None,
        goal: None,
        fields: Fields {
            preset: Preset { instructions: written.body.trim().into(), ..Preset::default() },
            faults: written.faults.clone(),
            notes: written.notes.clone(),
        },
    };
    let mut seen = BTreeSet::new();
    for Entry { key, value } in &written.entries {
        let Value::Text(text) = &key.value else {
            reading.fault(key, "a key that is not text");
            continue;
        };
        let own = own_key(text);
        if !seen.insert(own.clone()) {
            reading.fault(key, &format!("{text} stands here for the second time"));
        } else if !is_nothing(value) {
            reading.take(&own, text, key, value);
        }
    }
    reading.finish(written)
}

/// `maxTurns` and `max-turns` as `max_turns`, and one name for what has several.
fn own_key(key: &str) -> String {
    let mut own = String::new();
    for letter in key.trim().chars() {
        match letter {
            '-' => own.push('_'),
            _ if letter.is_ascii_uppercase() => {
                if !own.is_empty() && !own.ends_with('_') {
                    own.push('_');
                }
                own.push(letter.to_ascii_lowercase());
            }
            _ => own.push(letter),
        }
    }
    match own.as_str() {
        "allowed_tools" => "tools".into(),
        "disallowed_tools" => "denied_tools".into(),
        "max_iterations" | "max_iter" | "max_steps" | "max_tool_rounds" => "max_turns".into(),
        "model_reasoning_effort" | "reasoning_effort" => "effort".into(),
        "system_prompt" | "developer_instructions" | "backstory" => "instructions".into(),
        "llm" => "model".into(),
        _ => own,
    }
}

/// Whether a value says nothing: JSON's and YAML's null.
fn is_nothing(value: &Node) -> bool {
    matches!(&value.value, Value::Text(text) if matches!(text.as_str(), "null" | "~"))
}

struct Reading<'a> {
    form: Form,
    known: &'a Known<'a>,
    fields: Fields,
    /// Who a CrewAI agent is.
    role: Option<String>,
    /// What it wants.
    goal: Option<String>,
}

impl Reading<'_> {
    fn fault(&mut self, at: &Node, text: &str) {
        self.fields.faults.push(Remark { line: Some(at.line), text: text.into() });
    }

    fn note(&mut self, at: &Node, text: &str) {
        self.fields.notes.push(Remark { line: Some(at.line), text: text.into() });
    }

    /// Takes a field. `written`: the key as it stands in the file.
    fn take(&mut self, own: &str, written: &str, key: &Node, value: &Node) {
        match own {
            "name" => self.fields.preset.name = self.text(written, value),
            "description" => self.fields.preset.description = self.text(written, value),
            "role" if self.form == Form::Table => self.role = Some(self.text(written, value)),
            "goal" if self.form == Form::Table => self.goal = Some(self.text(written, value)),
            "instructions" => self.instructions(written, value),
            "tools" => self.tools(written, List::Allowed, value),
            "denied_tools" => self.tools(written, List::Denied, value),
            "skills" => match names(value) {
                Some(skills) => self.fields.preset.skills = Some(skills),
                None => self.fault(value, &format!("{written}: expected the names of skills")),
            },
            "limits" => match &value.value {
                Value::Map(entries) => {
                    for Entry { key, value } in entries {
                        match &key.value {
                            Value::Text(name) if self.limit(&own_key(name), name, value) => {}
                            Value::Text(name) => self.unknown(name, key),
                            _ => self.fault(key, "a key that is not text"),
                        }
                    }
                }
                _ => self.fault(value, &format!("{written}: expected limits such as max_turns: 20")),
            },
            "temperature" => match values::temperature(&self.text(written, value)) {
                Ok(wanted) => self.fields.preset.temperature = Some(wanted),
                Err(error) => self.fault(value, &format!("{written}: {error}")),
            },
            "effort" => self.effort(written, value),
            "model" => self.model(written, value),
            "permission_mode" | "sandbox_mode" => self.mode(written, value),
            _ if self.limit(own, written, value) => {}
            _ => self.unknown(written, key),
        }
    }

    /// A field that is not one of ours.
    fn unknown(&mut self, written: &str, key: &Node) {
        let own = own_key(written);
        if NOT_HERE.contains(&own.as_str()) {
            return self.note(key, &format!("{written} has no effect here"));
        }
        let near = KEYS.iter().map(|known| (strsim::damerau_levenshtein(known, &own), *known)).min();
        let near = near.filter(|(far, known)| *far <= 2 && far * 3 <= known.len()).map(|(_, known)| known);
        match near {
            Some(near) => self.fault(key, &format!("there is no field {written:?}; did you mean {near:?}?")),
            None if self.form.is_foreign() => self.note(key, &format!("{written} is not known here; it has no effect")),
            None => self.fault(key, &format!("there is no field {written:?}; the fields are: {}", KEYS.join(", "))),
        }
    }

    fn text(&mut self, written: &str, value: &Node) -> String {
        let Value::Text(text) = &value.value else {
            self.fault(value, &format!("{written}: expected a text"));
            return String::new();
        };
        text.trim().into()
    }

    fn instructions(&mut self, written: &str, value: &Node) {
        let (text, body) = (self.text(written, value), std::mem::take(&mut self.fields.preset.instructions));
        let both: Vec<String> = [text, body].into_iter().filter(|text| !text.is_empty()).collect();
        self.fields.preset.instructions = both.join("\n\n");
    }

    fn tools(&mut self, written: &str, list: List, value: &Node) {
        let items: Vec<(usize, Vec<String>)> = match &value.value {
            Value::List(items) if items.is_empty() => {
                if list == List::Allowed {
                    self.fields.preset.tools = Some(Vec::new());
                }
                return;
            }
            Value::List(items) => items.iter().map(|item| (item.line, tool_list(item))).collect(),
            _ => vec![(value.line, tool_list(value))],
        };
        if let Value::List(items) = &value.value
            && let Some(odd) = items.iter().find(|item| !matches!(item.value, Value::Text(_)))
        {
            return self.fault(odd, &format!("{written}: expected names of tools"));
        }
        if items.iter().all(|(_, words)| words.is_empty()) {
            return self.fault(value, &format!("{written} names no tool; write [] for none, or leave the line out"));
        }
        for (line, words) in items {
            for text in words {
                match add(&mut self.fields.preset, &Word { list, text: &text, line }, self.known.tools) {
                    Ok(note) => self.fields.notes.extend(note),
                    Err(fault) => {
                        let text = format!("{written}: {}", fault.text);
                        self.fields.faults.push(Remark { text, ..fault });
                    }
                }
            }
        }
    }

    /// Whether the key is one of a limit.
    fn limit(&mut self, own: &str, written: &str, value: &Node) -> bool {
        if !matches!(own, "max_turns" | "max_calls" | "max_tokens" | "max_cost" | "timeout" | "max_execution_time") {
            return false;
        }
        let text = self.text(written, value);
        let limits = &mut self.fields.preset.limits;
        let whole = "expected a whole number, 0 or more";
        let set = match own {
            "max_turns" => text.parse().map(|n| limits.turns = Some(n)).map_err(|_| whole.to_string()),
            "max_calls" => text.parse().map(|n| limits.calls = Some(n)).map_err(|_| whole.to_string()),
            "max_tokens" => text.parse().map(|n| limits.tokens = Some(n)).map_err(|_| whole.to_string()),
            "max_cost" => values::dollars(&text).map(|n| limits.money = Some(n)).map_err(|error| error.to_string()),
            "max_execution_time" => {
                let seconds = text.parse::<u32>().map(|n| limits.time_ms = Some(u64::from(n) * 1_000));
                seconds.map_err(|_| whole.to_string())
            }
            _ => values::time_limit(&text).map(|n| limits.time_ms = Some(ms(n))).map_err(|error| error.to_string()),
        };
        if let Err(problem) = set {
            self.fault(value, &format!("{written}: {problem}, not {text:?}"));
        }
        true
    }

    fn effort(&mut self, written: &str, value: &Node) {
        let text = self.text(written, value);
        let effort = match text.as_str() {
            "none" | "minimal" | "low" => Effort::Low,
            "medium" => Effort::Medium,
            "high" | "xhigh" | "max" => Effort::High,
            _ => return self.fault(value, &format!("{written}: expected low, medium or high, not {text:?}")),
        };
        if matches!(text.as_str(), "none" | "minimal" | "xhigh" | "max") {
            let near = if effort == Effort::Low { "low" } else { "high" };
            self.note(value, &format!("{written}: {text} is taken as {near}; there are low, medium and high"));
        }
        self.fields.preset.effort = Some(effort);
    }

    fn model(&mut self, written: &str, value: &Node) {
        let text = self.text(written, value);
        let is_ours = text.contains(':') || text == "scripted";
        match text.as_str() {
            "" | "inherit" | "default" => {}
            _ if is_ours => match (self.known.model)(&text) {
                Ok(()) => self.fields.preset.model = Some(text),
                Err(problem) => self.fault(value, &format!("{written}: {problem}")),
            },
            _ if self.form.is_foreign() || ALIASES.contains(&text.as_str()) => {
                self.note(
                    value,
                    &format!("{written} {text}: not a model's name here (PROVIDER:NAME); the usual model is used"),
                );
            }
            _ => self.fault(value, &format!("{written}: {text:?} is not a model; write PROVIDER:NAME")),
        }
    }

    /// What another program lets an agent do without asking. A preset approves nothing; what it forbids holds.
    fn mode(&mut self, written: &str, value: &Node) {
        match self.text(written, value).as_str() {
            "" | "default" | "ask" => {}
            reads @ ("plan" | "read-only") => {
                let denied = ["write_text_file", "edit_text_file", "bash"];
                for tool in denied.map(String::from) {
                    if !self.fields.preset.denied_tools.contains(&tool) {
                        self.fields.preset.denied_tools.push(tool);
                    }
                }
                self.note(value, &format!("{written} {reads}: denies {}", denied.join(", ")));
            }
            other => self.note(value, &format!("{written} {other} has no effect: a preset approves nothing")),
        }
    }

    fn finish(mut self, written: &Written<'_>) -> Fields {
        let crew = [
            self.role.as_ref().map(|role| format!("You are {role}.")),
            self.goal.map(|goal| format!("Your goal: {goal}")),
        ];
        let preset = &mut self.fields.preset;
        if let Some(role) = self.role.filter(|_| preset.description.is_empty()) {
            preset.description = role;
        }
        let own = Some(std::mem::take(&mut preset.instructions)).filter(|own| !own.is_empty());
        preset.instructions = crew.into_iter().flatten().chain(own).collect::<Vec<_>>().join("\n");
        if preset.name.is_empty() {
            preset.name = written.name.trim().into();
        }
        // A name is typed, and stands in lines that people copy into a shell.
        let fits = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | ' ');
        let name = &mut preset.name;
        if name.is_empty() || name.starts_with('-') || name.chars().count() > LONGEST_NAME || !name.chars().all(fits) {
            let clean = name.chars().take(LONGEST_NAME).map(|letter| if fits(letter) { letter } else { '_' });
            let clean = clean.collect::<String>();
            let text =
                format!("the name {name:?} is not 1 to {LONGEST_NAME} letters, digits, spaces, '_', '.' and '-'");
            *name = format!("_{}", clean.trim_start_matches('-'));
            self.fields.faults.push(Remark { line: Some(written.line), text });
        }
        self.fields
    }
}

/// The names of a list, or of a text with commas.
fn names(value: &Node) -> Option<Vec<String>> {
    let texts: Vec<&str> = match &value.value {
        Value::Text(text) => text.split(',').collect(),
        Value::List(items) => items
            .iter()
            .map(|item| if let Value::Text(text) = &item.value { Some(text.as_str()) } else { None })
            .collect::<Option<_>>()?,
        _ => return None,
    };
    Some(texts.into_iter().map(str::trim).filter(|text| !text.is_empty()).map(String::from).collect())
}
