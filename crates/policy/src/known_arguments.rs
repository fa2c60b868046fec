//! Rules held to the arguments that tools have: one about an argument that no call can have would never fit.

use crate::{Layer, Policy, PolicyError, Rule, RulePlace, RuleProblem};
use serde_json::{Map, Value};
use std::sync::Arc;

impl Policy {
    /// Holds the rules of a layer to the tools that are known by now, each with its name and the JSON Schema of its arguments. A rule for
    /// a pattern of names, or for a tool that may come later, is not looked at, nor is a schema that allows further arguments.
    ///
    /// Errors: the first rule about an argument that its tool cannot be called with, and the arguments that the tool has.
    pub fn check_arguments(&self, layer: Layer, tools: &[(&str, &Value)]) -> Result<(), PolicyError> {
        for rule in self.rules().iter().filter(|rule| rule.layer == layer && rule.ignored.is_none()) {
            for (tool, argument) in rule.patterns.iter().filter_map(|pattern| pattern.arguments()).flatten() {
                let schema = tools.iter().find(|(name, _)| *name == tool).map(|(_, schema)| *schema);
                if let Some(known) = schema.and_then(|schema| lacks(schema, argument)) {
                    let (tool, argument) = (tool.into(), argument.join("."));
                    let problem = RuleProblem::UnknownArgument { tool, argument, known };
                    return Err(PolicyError { place: self.place(rule), problem });
                }
            }
        }
        Ok(())
    }

    /// Where a rule is written.
    fn place(&self, rule: &Arc<Rule>) -> RulePlace {
        if let Some((file, line)) = &rule.place {
            return RulePlace::Line { file: file.clone(), line: *line };
        }
        let decision = rule.decision;
        let is_alike = |other: &&Arc<Rule>| other.layer == rule.layer && other.decision == decision;
        let alike = self.rules().iter().filter(is_alike).filter(|other| other.place.is_none());
        RulePlace::Single { decision, index: alike.take_while(|other| !Arc::ptr_eq(other, rule)).count() }
    }

    /// Whether a rule of a layer is about arguments of a tool, so that [`Policy::check_arguments`] has something to hold to tools.
    pub fn names_arguments(&self, layer: Layer) -> bool {
        let held = self.rules().iter().filter(|rule| rule.layer == layer && rule.ignored.is_none());
        held.flat_map(|rule| rule.patterns.iter()).any(|pattern| pattern.arguments().is_some())
    }
}

/// The arguments that there are instead, if the schema forbids this one. `path`: names, one within the other.
fn lacks(schema: &Value, path: &[String]) -> Option<Vec<String>> {
    let (name, rest) = path.split_first()?;
    let schema = schema.as_object()?;
    // A list is looked into, as rules do.
    if let Some(elements) = schema.get("items") {
        return lacks(elements, path);
    }
    // What is put together of several schemas may have any.
    if ["$ref", "anyOf", "oneOf", "allOf", "if", "patternProperties"].iter().any(|word| schema.contains_key(*word)) {
        return None;
    }
    let known = schema.get("properties").and_then(Value::as_object);
    match known.and_then(|known| known.get(name)) {
        Some(inner) => lacks(inner, rest),
        None => {
            forbids_others(schema, known).then(|| known.into_iter().flatten().map(|(name, _)| name.clone()).collect())
        }
    }
}

/// Whether an object has only the fields that its schema names: the schema says so, or says that there are none.
fn forbids_others(schema: &Map<String, Value>, known: Option<&Map<String, Value>>) -> bool {
    match schema.get("additionalProperties") {
        Some(others) => *others == Value::Bool(false),
        None => known.is_some_and(Map::is_empty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folders;
    use mainpath_types::Decision;
    use serde_json::json;

    #[test]
    fn a_rule_about_an_argument_that_its_tool_cannot_have_is_an_error_that_says_which_it_has() {
        let pay = json!({
            "type": "object", "additionalProperties": false, "properties": {
                "to": {"type": "string"},
                "bank": {"type": "object", "additionalProperties": false, "properties": {"name": {"type": "string"}}},
                "notes": {"type": "array", "items": {"type": "string"}},
                "any": {},
            },
        });
        let open = json!({"type": "object", "properties": {"to": {"type": "string"}}});
        let (none, bare) = (json!({"type": "object", "properties": {}}), json!({"type": "object"}));
        let either = json!({"oneOf": [{"type": "object"}], "additionalProperties": false});
        let tools = [("pay", &pay), ("open", &open), ("none", &none), ("bare", &bare), ("either", &either)];
        let checked = |rule: &str| {
            let mut policy = Policy::new(Folders::default());
            policy.add_rule(Decision::Deny, rule).unwrap();
            policy.check_arguments(Layer::Run, &tools).map_err(|error| error.to_string())
        };
        for rule in [
            "pay",
            "pay(to=anna)",
            "pay(bank.name=x)",
            "pay(notes=x)",
            "pay(any.thing=x)",
            "open(for=x)",
            "bare(a=1)",
            "either(a=1)",
            "later(a=1)",
            "p*(a=1)",
            "mcp__x__*(a=1)",
            "write(src/**)",
        ] {
            assert_eq!(checked(rule), Ok(()), "{rule}");
        }
        let has = "any, bank, notes, to";
        for (rule, wrong) in [
            ("pay(too=anna)", format!("the tool \"pay\" has no argument \"too\"; it has: {has}")),
            ("pay(to=anna, sum=1)", format!("the tool \"pay\" has no argument \"sum\"; it has: {has}")),
            ("pay(bank.id=1)", "the tool \"pay\" has no argument \"bank.id\"; it has: name".into()),
            ("none(a=1)", "the tool \"none\" has no argument \"a\"; it has none".into()),
        ] {
            assert_eq!(checked(rule), Err(format!("--deny: {wrong}")), "{rule}");
        }
    }

    #[test]
    fn rules_of_other_layers_are_not_looked_at_and_those_of_files_are_named_by_their_line() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {}});
        let mut policy = Policy::new(Folders::default());
        policy.add_file(Layer::User, "host.toml", "\n[[rule]]\ndecision = \"deny\"\nmatch = \"pay(to=x)\"\n").unwrap();
        assert_eq!(policy.check_arguments(Layer::Run, &[("pay", &schema)]), Ok(()));
        assert!(policy.names_arguments(Layer::User) && !policy.names_arguments(Layer::Run));
        policy.add_rule(Decision::Deny, "pay").unwrap();
        assert!(!policy.names_arguments(Layer::Run), "it is about no arguments");
        policy.add_rule(Decision::Deny, "pay(to=x)").unwrap();
        assert!(policy.names_arguments(Layer::Run));
        let wrong = policy.check_arguments(Layer::User, &[("pay", &schema)]).unwrap_err();
        assert_eq!(wrong.to_string(), "host.toml, line 2: the tool \"pay\" has no argument \"to\"; it has none");
    }
}
