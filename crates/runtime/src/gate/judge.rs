//! The gate: a call found, its arguments checked, its verdict given.

use crate::config::Config;
use crate::effects::hooks::{HookPoint, TraceHooks};
use crate::gate::facts::{same_server, starts_processes};
use crate::gate::origins::Origins;
use crate::gate::schema::OutputSchema;
use crate::gate::terms::CallTerms;
use crate::prepared::Prepared;
use mainpath_policy::{AtStop, BREAKPOINT, CallFacts, Rules, UrlFact, judge, narrowest};
use mainpath_sandbox::Launcher;
use mainpath_tools::{Planned, Problem, Scene, Tools, Workspace};
use mainpath_types::{
    CONTENT, ChildPatch, Decision, Destination, EffectClass, LoadedSkill, Origin, PlannedCall, TextForm, Verdict,
};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// What judging needs to know of a trace.
pub(crate) struct JudgeInput {
    /// Where the texts of the trace came from, once something foreign was seen.
    pub origins: Option<Arc<Origins>>,
    /// The rules that approvals have made of the trace.
    pub approved: Vec<Arc<str>>,
    /// The skills that are loaded.
    pub skills: Vec<LoadedSkill>,
    /// What agents have changed in copies.
    pub patches: Vec<ChildPatch>,
    /// What breakpoints may ask.
    pub at: AtStop,
}

/// Why a call may not follow a redirect, in words for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoRedirect {
    #[error(transparent)]
    Call(#[from] Problem),
    #[error("{}", .0.reason.trim_end_matches('.'))]
    Denied(Verdict),
    #[error("{}; call for that address if it is wanted", .0.reason.trim_end_matches('.'))]
    Asked(Verdict),
}

/// What judging needs to know.
pub(crate) struct Gate<'a> {
    pub tools: &'a Tools,
    pub workspace: &'a Workspace,
    pub rules: Cow<'a, Rules>,
    /// How a turn looks, where it is text.
    pub text: Option<TextForm>,
    /// What a final answer must match.
    pub schema: Option<&'a OutputSchema>,
    /// Whether a summary was asked for: plain text is fine, and no schema holds.
    pub summary: bool,
    /// What would start the processes of a call.
    pub launcher: &'a Launcher,
    /// What of the spec holds for every call.
    pub calls: &'a CallTerms,
    /// Where the texts of the trace came from, if anything foreign was seen.
    pub origins: Option<Arc<Origins>>,
    /// The skills that are loaded.
    pub skills: Vec<LoadedSkill>,
    /// What agents have changed in copies.
    pub patches: Vec<ChildPatch>,
    /// What breakpoints may ask.
    pub at: AtStop,
    /// Whether a person has given the arguments: no breakpoint stops these.
    pub edits: bool,
}

impl<'a> Gate<'a> {
    /// The gate of a spec, in a trace with these rules made of approvals.
    pub fn of(
        config: &'a Config,
        prepared: &'a Prepared,
        JudgeInput { origins, approved, skills, patches, at }: &JudgeInput,
    ) -> Gate<'a> {
        let Prepared { workspace, rules, schema, calls, .. } = prepared;
        let text = prepared.model.as_ref().ok().and_then(|model| model.text);
        let rules = match &approved[..] {
            [] => Cow::Borrowed(rules),
            approved => {
                let policy = Arc::new(rules.policy.with_approved(approved.iter().map(|rule| &**rule)));
                Cow::Owned(Rules { policy, ..rules.clone() })
            }
        };
        let (tools, launcher) = (&config.tools, &config.launcher);
        Gate {
            tools,
            workspace,
            rules,
            text,
            schema: schema.as_ref(),
            summary: false,
            launcher,
            calls,
            origins: origins.clone(),
            skills: skills.clone(),
            patches: patches.clone(),
            at: at.clone(),
            edits: false,
        }
    }

    /// One call: found, its arguments checked, its verdict given. `said` is what the model said with it.
    pub fn check(&self, name: &str, arguments: &str, said: &str) -> PlannedCall {
        match self.tools.plan_in(name, arguments, &self.scene()) {
            Ok(Planned { tool, mut facts, places, asking }) => {
                let verdict = self.judge(&tool, &mut facts);
                let internal = self.is_internal(&tool);
                let verdict = match internal {
                    true => settled(verdict),
                    false => self.stop(self.calls.hold(verdict, self.rules.mode), &facts, said),
                };
                // A rule knows a file by its name; what was approved is what it holds now.
                let by_content = places.iter().any(|place| place.starts_with(CONTENT));
                let is_asked = verdict.decision == Decision::Ask && verdict.rule != BREAKPOINT;
                let offer = if is_asked && !by_content { self.offer(&facts) } else { None };
                let origins = facts.origins.into_iter().filter(|origin| *origin != Origin::Model).collect();
                let (tool, verdict, destinations) = (Some(tool), Some(verdict), facts.destinations);
                PlannedCall { tool, verdict, places, origins, destinations, offer, asking, ..PlannedCall::default() }
            }
            Err(problem) => {
                let tool = self.tools.resolve(name);
                let problem = match problem.code {
                    "unknown_tool" if tool.is_none() => self.unknown(name),
                    _ => problem.to_string(),
                };
                PlannedCall { tool, problem: Some(problem), ..PlannedCall::default() }
            }
        }
    }

    /// The verdict on a call, where a breakpoint may stop it: not one whose arguments a person has given.
    fn stop(&self, verdict: Verdict, facts: &CallFacts, said: &str) -> Verdict {
        if self.edits { verdict } else { self.calls.breakpoints.stop(&self.at, verdict, facts, said) }
    }

    fn scene(&self) -> Scene<'_> {
        Scene { workspace: self.workspace, skills: &self.skills, patches: &self.patches }
    }

    /// What a model is told that calls what is no tool: those that it may call.
    fn unknown(&self, name: &str) -> String {
        let name: String = name.chars().take(80).collect();
        let tools = self.rules.allowed_tools.join(", ");
        format!("There is no tool {name:?}. The tools are: {tools}.")
    }

    /// Whether calls of a tool have no effect outside the trace.
    pub fn is_internal(&self, tool: &str) -> bool {
        self.tools.doc(tool).is_some_and(|doc| doc.internal)
    }

    fn judge(&self, tool: &str, facts: &mut CallFacts) -> Verdict {
        self.complete(facts);
        self.verdict(tool, facts)
    }

    /// Adds what the trace and the machine know of a call.
    fn complete(&self, facts: &mut CallFacts) {
        facts.confined = starts_processes(facts.effect) && self.launcher.support().can_confine();
        if let Some(origins) = &self.origins {
            if origins.is_foreign() {
                facts.origins = match facts.effect {
                    // The id of an agent is Mainpath's own word, and only one that this trace has started can go on.
                    EffectClass::StartChild => origins.of(&without(&facts.arguments, "continue_from")),
                    _ => origins.of(&facts.arguments),
                };
            }
            if !self.tools.doc(&facts.tool).is_some_and(|doc| doc.local) {
                facts.destinations = origins.destinations.of(facts, &|url| origins.names(url));
            }
            facts.named |= facts.urls.iter().all(|fact| origins.names(&fact.url));
        }
    }

    fn verdict(&self, tool: &str, facts: &CallFacts) -> Verdict {
        let hands_on = tool != facts.tool && self.rules.allowed_tools.iter().any(|allowed| allowed == tool);
        match hands_on && self.calls.allow(&facts.tool) {
            false => judge(&self.rules, facts),
            // It hands on: who may use it may use what it reaches, as far as the rules for that allow it.
            true => {
                let mut rules = Rules::clone(&self.rules);
                rules.allowed_tools.push(facts.tool.clone());
                judge(&rules, facts)
            }
        }
    }

    /// Whether a call that runs may ask another address, to which an answer has sent it on: as if it had been called with
    /// that. What somebody would have to be asked about, the model has to call for itself.
    pub fn check_redirect(&self, name: &str, arguments: &str, to: UrlFact) -> Result<(), NoRedirect> {
        let Planned { tool, facts, .. } = self.tools.plan_in(name, arguments, &self.scene())?;
        // Whoever may ask a server is not asked about it again because it has moved the page.
        let named = facts.named || facts.urls.iter().any(|from| same_server(&from.url, &to.url));
        let mut facts = CallFacts { urls: vec![to], named, ..facts };
        self.complete(&mut facts);
        // Where the call goes was judged before it ran. The server says where it goes from there, unless a text made it do so.
        facts.destinations = self.redirected(&facts);
        let verdict = self.verdict(&tool, &facts);
        match verdict.decision {
            Decision::Allow => Ok(()),
            Decision::Deny => Err(NoRedirect::Denied(verdict)),
            Decision::Ask => Err(NoRedirect::Asked(verdict)),
        }
    }

    /// The addresses of a redirect that no person and no text as it stands named.
    fn redirected(&self, facts: &CallFacts) -> Vec<Destination> {
        let Some(origins) = &self.origins else { return Vec::new() };
        let owned = |url: &str| facts.named || origins.names(url);
        facts.urls.iter().filter_map(|fact| origins.destinations.of_address(&fact.url, &owned, true)).collect()
    }

    /// The rules and a call's facts, by which each file that it comes upon is judged. `None`: it cannot be judged.
    pub fn into_terms(self, name: &str, arguments: &str) -> Option<(Rules, CallFacts)> {
        let mut facts = self.tools.plan_in(name, arguments, &self.scene()).ok()?.facts;
        self.complete(&mut facts);
        Some((self.rules.into_owned(), facts))
    }

    /// The narrowest rule with which the call would not have been asked about, if there is one.
    fn offer(&self, facts: &CallFacts) -> Option<String> {
        let rule = narrowest(facts)?.to_string();
        let policy = Arc::new(self.rules.policy.with_approved([rule.as_str()]));
        let verdict = judge(&Rules { policy, ..Rules::clone(&self.rules) }, facts);
        (verdict.decision == Decision::Allow).then_some(rule)
    }

    /// What the hooks before a tool make of a call that no rule has denied: as it was, denied, or judged afresh with other
    /// arguments.
    pub async fn with_hooks(
        &self,
        hooks: &TraceHooks<'_>,
        planned: PlannedCall,
        arguments: &str,
        said: &str,
    ) -> PlannedCall {
        let (Some(tool), Some(verdict)) = (&planned.tool, &planned.verdict) else { return planned };
        if !hooks.hooks.has(HookPoint::BeforeTool) || verdict.decision == Decision::Deny {
            return planned;
        }
        let mut event = json!({
            "trace_id": hooks.trace, "tool": tool, "verdict": verdict, "origins": planned.origins,
            "arguments": serde_json::from_str::<Value>(arguments).unwrap_or_default(),
        });
        let (mut changed, mut changed_by) = (None, Vec::new());
        let called = hooks.call(HookPoint::BeforeTool, Some(tool.as_str()), &mut event, |event, hook, answer| {
            if let Some(arguments) = answer.arguments {
                event["arguments"] = Value::Object(arguments);
                changed = Some(event["arguments"].to_string());
                changed_by.push(hook.to_string());
            }
        });
        if let Err(no) = called.await {
            return PlannedCall { verdict: Some(no.into()), ..planned };
        }
        match changed {
            None => planned,
            Some(arguments) => {
                let afresh = self.check(tool, &arguments, said);
                // The model could do nothing about it.
                let blamed =
                    |problem| format!("The arguments were changed by hook {}: {problem}", changed_by.join(", "));
                let problem = afresh.problem.map(blamed);
                PlannedCall { arguments: Some(arguments), problem, changed_by, ..afresh }
            }
        }
    }
}

/// The verdict on a call that has no effect outside the trace: it never waits for anybody.
fn settled(verdict: Verdict) -> Verdict {
    if verdict.decision != Decision::Ask {
        return verdict;
    }
    let reason = format!("{} Nobody is asked about a call that changes nothing outside the trace.", verdict.reason);
    Verdict { decision: Decision::Deny, reason, ..verdict }
}

/// Arguments without one of them.
fn without(arguments: &Value, name: &str) -> Value {
    let mut rest = arguments.clone();
    rest.as_object_mut().map(|fields| fields.remove(name));
    rest
}
