//! The examples of rule files, held to what all rules together say.

use crate::Error;
#[cfg(feature = "home")]
use crate::rule_names::RuleNames;
use crate::rules::Sources;
use crate::rules_asked::sample_in;
use mainpath_policy::{
    CallFacts, Explanation, Policy, PolicyExample, Rules, SampleError, ToolNameError, explain, sample,
};
use mainpath_tools::{Problem, Tools, Workspace};
use mainpath_types::{Decision, Destination, RunRules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// What became of an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExampleResult {
    /// The file.
    pub file: String,
    /// The line.
    pub line: usize,
    /// What it is called, else its call.
    pub name: String,
    /// The call.
    pub call: String,
    /// The verdict that was expected.
    pub expect: Decision,
    /// The rule that was expected to decide, if one was.
    pub expect_rule: Option<String>,
    /// The verdict; nothing if the call cannot be judged.
    pub verdict: Option<Decision>,
    /// The rule that decided.
    pub rule: String,
    /// Why it did, or why the call cannot be judged.
    pub reason: String,
}

impl ExampleResult {
    /// Whether it is as expected.
    pub fn passed(&self) -> bool {
        self.verdict == Some(self.expect) && self.expect_rule.as_ref().is_none_or(|rule| *rule == self.rule)
    }

    /// What differs, in a sentence; nothing if it is as expected.
    pub fn problem(&self) -> Option<String> {
        let ExampleResult { expect, expect_rule, verdict, rule, reason, .. } = self;
        if self.passed() {
            return None;
        }
        let Some(verdict) = verdict else { return Some(format!("cannot be judged: {reason}")) };
        let by = expect_rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
        let (verdict, expect) = (verdict.as_str(), expect.as_str());
        Some(format!("{verdict} by {rule}, expected {expect}{by}: {reason}"))
    }
}

/// Why an example cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum ExampleError {
    /// Its call is of no known tool.
    #[error(transparent)]
    Tool(#[from] ToolNameError),
    /// Its call cannot be read.
    #[error(transparent)]
    Call(#[from] SampleError),
    /// Its call cannot be read in this folder.
    #[error("{}", .0.problem().trim_start_matches([':', ' ']))]
    InFolder(Error),
    /// The tool refuses the arguments.
    #[error("{}", one_line(.0))]
    Arguments(Problem),
    /// No argument of its call has this value.
    #[error("{0:?}: no argument of the call holds it")]
    NoSuchValue(String),
}

fn one_line(problem: &Problem) -> String {
    let lines: Vec<&str> = problem.text.lines().map(|line| line.trim_start_matches("- ")).collect();
    lines.join("; ")
}

/// Holds a folder's rules to examples, each judged by all rules that hold there.
pub struct PolicyTests {
    /// The tools that the calls are of.
    pub tools: Tools,
    /// The folder.
    pub workspace: Workspace,
    /// Whether this machine can confine processes.
    pub confined: bool,
    /// The tools that there are, where that is known: a call of another is none.
    #[cfg(feature = "home")]
    pub names: Option<RuleNames>,
    policy: Arc<Policy>,
}

impl PolicyTests {
    /// The rules of a folder, with these of a run. Errors: a file of rules cannot be used.
    pub fn new(tools: Tools, workspace: Workspace, sources: &Sources, run: &RunRules) -> Result<PolicyTests, Error> {
        let policy = Arc::new(sources.load(&workspace.root().display().to_string(), run)?);
        Ok(PolicyTests {
            tools,
            workspace,
            confined: true,
            #[cfg(feature = "home")]
            names: None,
            policy,
        })
    }

    /// What becomes of each example.
    pub fn run(&self, examples: &[PolicyExample]) -> Vec<ExampleResult> {
        examples.iter().map(|example| self.one(example)).collect()
    }

    fn one(&self, example: &PolicyExample) -> ExampleResult {
        let result = ExampleResult {
            file: example.file.clone(),
            line: example.line,
            name: example.name.clone().unwrap_or_else(|| example.call.clone()),
            call: example.call.clone(),
            expect: example.expect,
            expect_rule: example.rule.clone(),
            verdict: None,
            rule: String::new(),
            reason: String::new(),
        };
        match self.explain(example) {
            Err(error) => ExampleResult { reason: error.to_string(), ..result },
            Ok(Explanation { verdict, .. }) => {
                ExampleResult { verdict: Some(verdict.decision), rule: verdict.rule, reason: verdict.reason, ..result }
            }
        }
    }

    fn explain(&self, example: &PolicyExample) -> Result<Explanation, ExampleError> {
        let mut facts = self.facts(example)?;
        facts.origins = example.origins.iter().copied().collect();
        facts.destinations = from_text(&facts.arguments, &example.from_text)?;
        facts.confined = self.confined;
        let (allowed_tools, policy) = (vec![facts.tool.clone()], Arc::clone(&self.policy));
        Ok(explain(&Rules { mode: example.mode, access: example.access, allowed_tools, policy }, &facts))
    }

    fn facts(&self, example: &PolicyExample) -> Result<CallFacts, ExampleError> {
        let call = &example.call;
        #[cfg(feature = "home")]
        self.names.as_ref().map_or(Ok(()), |names| names.check_call(call))?;
        let Some(arguments) = &example.arguments else {
            let facts = sample_in(call, &self.tools, &self.workspace, self.policy.folders());
            return facts.map_err(ExampleError::InFolder);
        };
        if call.starts_with("mcp__") {
            return Ok(sample(&format!("{call}({arguments})"), self.policy.folders())?);
        }
        let planned = self.tools.plan(call, &arguments.to_string(), &self.workspace);
        planned.map(|planned| planned.facts).map_err(ExampleError::Arguments)
    }
}

/// The arguments that hold these values, as if somebody's text had named them. Errors: no argument holds one.
pub fn from_text(arguments: &Value, values: &[String]) -> Result<Vec<Destination>, ExampleError> {
    fn look(at: &Value, argument: &str, wanted: &str, found: &mut Vec<Destination>) {
        let holds = match at {
            Value::String(text) => text.contains(wanted),
            Value::Number(number) => number.to_string() == wanted,
            _ => false,
        };
        if holds {
            found.push(Destination { argument: argument.into(), value: wanted.into(), call: None, tool: None });
        }
        match at {
            Value::Array(items) => items.iter().for_each(|item| look(item, argument, wanted, found)),
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                let dot = if argument.is_empty() { "" } else { "." };
                look(value, &format!("{argument}{dot}{name}"), wanted, found);
            }),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for wanted in values {
        let mut found = Vec::new();
        look(arguments, "", wanted, &mut found);
        if found.is_empty() {
            return Err(ExampleError::NoSuchValue(wanted.clone()));
        }
        all.append(&mut found);
    }
    Ok(all)
}
