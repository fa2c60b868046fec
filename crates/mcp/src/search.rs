//! Many tools without filling the prompt: one tool that finds tools, and one that calls what was found.

use mainpath_tools::{DynTool, Fut, ToolContext, ToolDoc, Tools};
use mainpath_types::{EffectClass, Origin, ToolOutput};
use serde_json::{Value, json};
use std::sync::Arc;

const FIND: &str = "find_tools";
const USE: &str = "use_tool";
/// As many tools are shown with all there is to know.
const SHOWN: usize = 8;
/// As many more are named.
const NAMED: usize = 40;

/// Says what there is for these words among the tools that a run is offered; `None` where there is nobody left to ask.
pub(crate) type Finder = Box<dyn Fn(&str, &dyn Fn(&str, EffectClass) -> bool) -> Option<String> + Send + Sync>;

/// Puts the two tools into a registry.
pub(crate) fn add(tools: &Tools, finder: Finder, servers: &str) {
    let description = format!(
        "Finds tools of MCP servers ({servers}) by words of what they do, and tells their names, what they do and the schema \
         of their arguments. Call what you find with {USE}."
    );
    let find = ToolDoc { origin: Origin::Mcp, ..ToolDoc::new(description, EffectClass::ReadOnly) };
    let query = json!({"type": "string", "description": "Words of what the tool does; none lists the names."});
    let schema =
        json!({"type": "object", "properties": {"query": query}, "required": ["query"], "additionalProperties": false});
    // Both schemas are ours, so they are taken.
    let _ = tools.put(FIND, find, schema, Arc::new(Find(finder)));
    let description = format!("Calls a tool that {FIND} has found, by its name, with arguments that match its schema.");
    let call = ToolDoc { origin: Origin::Mcp, ..ToolDoc::new(description, EffectClass::SideEffecting) };
    let arguments = json!({"type": "object", "description": "The arguments of that tool."});
    let schema = json!({
        "type": "object", "properties": {"name": {"type": "string"}, "arguments": arguments}, "required": ["name"],
        "additionalProperties": false,
    });
    let _ = tools.put(USE, call, schema, Arc::new(Use));
}

/// Takes them out again.
pub(crate) fn remove(tools: &Tools) {
    tools.remove(FIND);
    tools.remove(USE);
}

struct Find(Finder);

impl DynTool for Find {
    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput> {
        let query = args.get("query").and_then(Value::as_str).unwrap_or_default().to_string();
        Box::pin(async move {
            let is_offered = |name: &str, effect| (ctx.offered)(name, effect);
            ToolOutput::text((self.0)(&query, &is_offered).unwrap_or_else(|| "There are no tools.".into()))
        })
    }
}

struct Use;

impl DynTool for Use {
    fn stands_for(&self, args: &Value) -> Option<(String, Value)> {
        let name = args.get("name").and_then(Value::as_str).unwrap_or_default();
        Some((name.into(), args.get("arguments").cloned().unwrap_or_else(|| json!({}))))
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: Value) -> Fut<'a, ToolOutput> {
        Box::pin(async { ToolOutput::failed("unknown_tool", "Nothing was called.") })
    }
}

/// What the model is told: the tools that fit best, all about them; the others that fit, and where nothing fits all names.
pub(crate) fn found(query: &str, all: Vec<(&str, &str, &Value)>) -> String {
    let words: Vec<String> = words(query).collect();
    let mut fitting: Vec<(usize, &(&str, &str, &Value))> =
        all.iter().map(|tool| (fit(&words, tool.0, tool.1), tool)).filter(|(fit, _)| *fit > 0).collect();
    // Names come in order, and stay so among equals.
    fitting.sort_by_key(|(fit, _)| std::cmp::Reverse(*fit));
    let (shown, others): (Vec<_>, Vec<_>) = match fitting.is_empty() {
        true => (Vec::new(), all.iter().map(|tool| tool.0).collect()),
        false => {
            let names = fitting.iter().skip(SHOWN).map(|(_, tool)| tool.0);
            (fitting.iter().take(SHOWN).map(|(_, tool)| *tool).collect(), names.collect())
        }
    };
    let mut text = match shown.is_empty() {
        true if words.is_empty() => format!("There are {} tools.", all.len()),
        true => format!("None of {} tools fits these words.", all.len()),
        false => format!("{} of {} tools fit.", fitting.len(), all.len()),
    };
    for (name, description, schema) in shown {
        text.push_str(&format!("\n\n{name}\n{description}\nArguments: {schema}"));
    }
    if !others.is_empty() {
        let more = others.len().saturating_sub(NAMED);
        let named = others.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        text.push_str(&format!("\n\nBy name: {named}{more}."));
    }
    text
}

/// How well a tool fits: a word in its name counts more than one in its description, a whole word more than a part of one.
fn fit(words: &[String], name: &str, description: &str) -> usize {
    let (name, description): (Vec<String>, Vec<String>) =
        (self::words(name).collect(), self::words(description).collect());
    let within = |word: &str, text: &[String]| match text.iter().any(|other| other == word) {
        true => 2,
        false => usize::from(word.len() > 2 && text.iter().any(|other| other.contains(word))),
    };
    words.iter().map(|word| 3 * within(word, &name) + within(word, &description)).sum()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_that_fit_best_come_first_and_the_others_by_name() {
        let schema = json!({"type": "object"});
        let tools = [
            ("mcp__a__delete_file", "Deletes something.", &schema),
            ("mcp__a__read_file", "Reads a file.", &schema),
            ("mcp__b__time", "Tells the time of day, not of a file.", &schema),
            ("mcp__b__zone", "Tells where the sun is.", &schema),
        ];
        let wanted = "3 of 4 tools fit.\n\n\
            mcp__a__read_file\nReads a file.\nArguments: {\"type\":\"object\"}\n\n\
            mcp__a__delete_file\nDeletes something.\nArguments: {\"type\":\"object\"}\n\n\
            mcp__b__time\nTells the time of day, not of a file.\nArguments: {\"type\":\"object\"}";
        assert_eq!(found("Read FILE", tools.to_vec()), wanted);
        let names = "mcp__a__delete_file, mcp__a__read_file, mcp__b__time, mcp__b__zone";
        assert_eq!(found("", tools.to_vec()), format!("There are 4 tools.\n\nBy name: {names}."));
        assert_eq!(found("xyz", tools.to_vec()), format!("None of 4 tools fits these words.\n\nBy name: {names}."));
        assert_eq!(found("xyz", Vec::new()), "None of 0 tools fits these words.");
    }
}
