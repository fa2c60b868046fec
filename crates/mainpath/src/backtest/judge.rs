//! What rules say of a recorded call.

use crate::agent::REACHING;
use crate::rules::Sources;
use mainpath_policy::{CallFacts, Policy, Rules, judge};
use mainpath_runtime::CallTerms;
use mainpath_tools::{Planned, Tools, Workspace};
use mainpath_types::{CallId, Decision, Destination, EffectClass, MCP_TOOLS, Origin, RunRules, Spec, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Judges recorded calls by the rules of now, or by others ([`Sources`]).
pub struct PastJudge {
    pub(crate) tools: Tools,
    sources: Sources,
    protected: Vec<PathBuf>,
    /// Whether this machine can confine the processes of a call.
    confined: bool,
    /// What was loaded, by folder and rules.
    places: Mutex<HashMap<PlaceKey, Result<Arc<Place>, Unjudged>>>,
}

/// A recorded call that rules judged, and what they say of it now.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCall<'a> {
    /// Which.
    pub call: CallId,
    /// Its tool, as the model named it.
    pub tool: &'a str,
    /// The arguments that were judged, as JSON text.
    pub arguments: &'a str,
    /// What rules said then.
    pub then: &'a Verdict,
    /// What they say now, or why they cannot be asked.
    pub now: Result<Verdict, Unjudged>,
    /// What a person said, if one was asked.
    pub person: Option<PersonSaid>,
}

/// How a person decided on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonSaid {
    /// Yes.
    Approved,
    /// Yes, with other arguments.
    Edited,
    /// No.
    Denied,
}

/// Why a recorded call cannot be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unjudged {
    /// Its tool is not there any more.
    ToolGone,
    /// Its arguments do not fit the tool as it is now.
    Arguments,
    /// Its arguments were erased.
    Erased,
    /// The folder that it worked in is gone.
    FolderGone,
    /// It was imported from another system, which says nothing of verdicts.
    Imported,
    /// A hook denied it, and not a rule.
    Hook,
    /// A breakpoint stopped it, so its log does not say what rules said.
    Breakpoint,
    /// The rules of its folder cannot be read.
    Rules,
}

impl Unjudged {
    /// Why, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Unjudged::ToolGone => "the tool is gone",
            Unjudged::Arguments => "the arguments do not fit the tool as it is now",
            Unjudged::Erased => "the arguments were erased",
            Unjudged::FolderGone => "the folder is gone",
            Unjudged::Imported => "imported: no rules judged it",
            Unjudged::Hook => "a hook denied it, not a rule",
            Unjudged::Breakpoint => "a breakpoint stopped it",
            Unjudged::Rules => "the rules of its folder cannot be read",
        }
    }
}

#[derive(PartialEq, Eq, Hash)]
struct PlaceKey {
    workspace: String,
    copy_of: String,
    rules: String,
}

/// A folder with the rules that hold in it for a spec.
pub(super) struct Place {
    pub workspace: Workspace,
    pub policy: Arc<Policy>,
}

/// What a recorded call says of itself.
pub(super) struct Recorded<'a> {
    pub tool: &'a str,
    pub arguments: &'a str,
    pub origins: &'a [Origin],
    pub destinations: &'a [Destination],
    /// Whether people named its addresses.
    pub named: bool,
}

/// What a call is judged under.
pub(super) struct Terms<'a> {
    pub spec: &'a Spec,
    pub run: u32,
    pub place: Arc<Place>,
    /// The rules of its place and those that approvals had made by then.
    pub policy: Arc<Policy>,
}

impl PastJudge {
    /// A judge by these rules, for these tools. `protected` is what no agent may touch, `confined` whether processes can be confined here.
    pub fn new(tools: Tools, sources: Sources, protected: Vec<PathBuf>, confined: bool) -> PastJudge {
        PastJudge { tools, sources, protected, confined, places: Mutex::default() }
    }

    /// The same judge by other rules.
    pub fn with_sources(&self, sources: Sources) -> PastJudge {
        PastJudge::new(self.tools.clone(), sources, self.protected.clone(), self.confined)
    }

    /// Where rules come from.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The folder of a spec and the rules there.
    pub(super) fn place(&self, spec: &Spec) -> Result<Arc<Place>, Unjudged> {
        let rules: RunRules = spec.rules.clone().with(&self.sources.run);
        let key = PlaceKey {
            workspace: spec.workspace.clone(),
            copy_of: spec.copy.as_ref().map(|copy| copy.of.clone()).unwrap_or_default(),
            // Rules are plain data: they always have a JSON form.
            rules: serde_json::to_string(&rules).unwrap_or_default(),
        };
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let load = || {
            let workspace = Workspace::new(&spec.workspace, self.protected.clone());
            let workspace = workspace.map_err(|_| Unjudged::FolderGone)?.copying(spec.copy.clone());
            let policy = self.sources.load_for_with(spec, &rules).map_err(|_| Unjudged::Rules)?;
            Ok(Arc::new(Place { workspace, policy: Arc::new(policy) }))
        };
        places.entry(key).or_insert_with(load).clone()
    }

    /// The facts of a recorded call. Errors: why they cannot be known any more.
    pub(super) fn facts(&self, terms: &Terms<'_>, recorded: &Recorded<'_>) -> Result<CallFacts, Unjudged> {
        let mut facts = match self.tools.plan(recorded.tool, recorded.arguments, &terms.place.workspace) {
            Ok(Planned { facts, .. }) => facts,
            Err(_) => self.of_server(terms.spec, recorded)?,
        };
        facts.origins = recorded.origins.iter().copied().chain([Origin::Model]).collect();
        facts.destinations = recorded.destinations.to_vec();
        facts.named |= recorded.named;
        let starts_processes = !facts.effect.is_read_only() || !facts.commands.is_empty();
        facts.confined = self.confined && starts_processes;
        Ok(facts)
    }

    /// What rules say of these facts of a call, made by this name.
    pub(super) fn verdict(&self, terms: &Terms<'_>, policy: &Arc<Policy>, tool: &str, facts: &CallFacts) -> Verdict {
        let spec = terms.spec;
        let mut allowed_tools: Vec<String> = spec.tools.iter().map(|tool| tool.name.clone()).collect();
        let calls = CallTerms::of(spec);
        let hands_on = REACHING.contains(&tool) && allowed_tools.iter().any(|allowed| allowed == tool);
        if hands_on && calls.allow(&facts.tool) {
            allowed_tools.push(facts.tool.clone());
        }
        let mode = spec.mode_in(terms.run);
        let rules = Rules { mode, access: spec.access, allowed_tools, policy: Arc::clone(policy) };
        let verdict = judge(&rules, facts);
        match self.tools.doc(&facts.tool).is_some_and(|doc| doc.internal) {
            // Nobody is asked about what has no effect outside the trace.
            true if verdict.decision == Decision::Ask => Verdict { decision: Decision::Deny, ..verdict },
            true => verdict,
            false => calls.hold(verdict, mode),
        }
    }

    /// What is known of a call of an MCP server's tool, while the server does not run: its name, its arguments, and the effect that the
    /// trace has on record. Errors: it is another tool.
    fn of_server(&self, spec: &Spec, recorded: &Recorded<'_>) -> Result<CallFacts, Unjudged> {
        let mut tool = recorded.tool.to_string();
        let mut arguments: Value = serde_json::from_str(recorded.arguments).map_err(|_| Unjudged::Arguments)?;
        if REACHING.contains(&tool.as_str()) {
            let name = arguments.get("name").and_then(Value::as_str);
            tool = name.ok_or(Unjudged::Arguments)?.into();
            arguments = arguments.get("arguments").cloned().unwrap_or_else(|| json!({}));
        }
        if self.tools.resolve(&tool).is_some() {
            return Err(Unjudged::Arguments);
        }
        if !tool.starts_with(MCP_TOOLS) {
            return Err(Unjudged::ToolGone);
        }
        let known = spec.tools.iter().find(|known| known.name == tool);
        let effect = known.map_or(EffectClass::SideEffecting, |known| known.effect);
        Ok(CallFacts { tool, effect, arguments, results: Origin::Mcp, ..CallFacts::default() })
    }
}
