//! The gate, as far as it needs text: from a model's answer to an input whose calls are checked and judged.

use crate::effects::Around;
use crate::hooks::HookPoint;
use crate::origins::Origins;
use crate::request::Prepared;
use crate::runtime::Config;
use crate::schema::OutputSchema;
use crate::terms::CallTerms;
use mainpath_core::{InputKind, Reply, estimate, estimate_parts, parse_turn};
use mainpath_policy::{CallFacts, Rules, UrlFact, judge, narrowest};
use mainpath_sandbox::Launcher;
use mainpath_tools::{Planned, Tools, Workspace};
use mainpath_types::*;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

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
}

impl<'a> Gate<'a> {
    /// The gate of a spec, in a trace with these rules made of approvals.
    pub fn of(
        config: &'a Config,
        prepared: &'a Prepared,
        origins: Option<Arc<Origins>>,
        approved: &[Arc<str>],
    ) -> Gate<'a> {
        let Prepared { workspace, rules, schema, calls, .. } = prepared;
        let text = prepared.model.as_ref().ok().and_then(|model| model.text);
        let rules = match approved {
            [] => Cow::Borrowed(rules),
            approved => {
                let policy = Arc::new(rules.policy.with_approved(approved.iter().map(|rule| &**rule)));
                Cow::Owned(Rules { policy, ..rules.clone() })
            }
        };
        let (tools, launcher) = (&config.tools, &config.launcher);
        Gate { tools, workspace, rules, text, schema: schema.as_ref(), summary: false, launcher, calls, origins }
    }

    /// One call: found, its arguments checked, its verdict given.
    pub fn plan(&self, name: &str, arguments: &str) -> PlannedCall {
        match self.tools.plan(name, arguments, self.workspace) {
            Ok(Planned { tool, mut facts, places }) => {
                let verdict = self.judge(&tool, &mut facts);
                let internal = self.is_internal(&tool);
                let verdict = if internal { settled(verdict) } else { self.calls.hold(verdict, self.rules.mode) };
                let offer = if verdict.decision == Decision::Ask { self.offer(&facts) } else { None };
                let origins = facts.origins.into_iter().filter(|origin| *origin != Origin::Model).collect();
                let (tool, verdict, destinations) = (Some(tool), Some(verdict), facts.destinations);
                PlannedCall { tool, verdict, places, origins, destinations, offer, ..PlannedCall::default() }
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
                facts.origins = origins.of(&facts.arguments);
            }
            facts.destinations = origins.destinations.of(facts, &|url| origins.names(url));
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
    pub fn sent_on(&self, (name, arguments): (&str, &str), to: UrlFact) -> Result<(), String> {
        let Planned { tool, facts, .. } =
            self.tools.plan(name, arguments, self.workspace).map_err(|problem| problem.to_string())?;
        // Whoever may ask a server is not asked about it again because it has moved the page.
        let named = facts.named || facts.urls.iter().any(|from| same_server(&from.url, &to.url));
        let mut facts = CallFacts { urls: vec![to], named, ..facts };
        self.complete(&mut facts);
        // Where the call goes was judged before it ran; from there on it goes where that server says.
        facts.destinations.clear();
        let verdict = self.verdict(&tool, &facts);
        let reason = verdict.reason.trim_end_matches('.');
        match verdict.decision {
            Decision::Allow => Ok(()),
            Decision::Deny => Err(reason.into()),
            Decision::Ask => Err(format!("{reason}; call for that address if it is wanted")),
        }
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
    pub async fn hooked(&self, around: &Around, planned: PlannedCall, arguments: &str) -> PlannedCall {
        let hooks = &around.shared.config.hooks;
        let (Some(tool), Some(verdict)) = (&planned.tool, &planned.verdict) else { return planned };
        if !hooks.has(HookPoint::BeforeTool) || verdict.decision == Decision::Deny {
            return planned;
        }
        let mut event = json!({
            "trace_id": around.trace, "tool": tool, "verdict": verdict, "origins": planned.origins,
            "arguments": serde_json::from_str::<Value>(arguments).unwrap_or_default(),
            "workspace": self.workspace.root(),
        });
        let (mut changed, mut changed_by) = (None, Vec::new());
        let point = (HookPoint::BeforeTool, Some(tool.as_str()));
        let told = (&*around.handle, &around.shared.config.vault);
        let called = hooks.call(point, &mut event, told, |event, hook, answer| {
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
                let afresh = self.plan(tool, &arguments);
                // The model could do nothing about it.
                let blamed =
                    |problem| format!("The arguments were changed by hook {}: {problem}", changed_by.join(", "));
                let problem = afresh.problem.map(blamed);
                PlannedCall { arguments: Some(arguments), problem, changed_by, ..afresh }
            }
        }
    }

    /// A whole answer. What a filter has left of one is none. One that says nothing and calls nothing is malformed, and so is one that does not keep to the text
    /// protocol or to the final answer's schema.
    pub fn reply(&self, request: u32, mut reply: ModelReply, sent: String) -> InputKind {
        if reply.stop == StopReason::ContentFilter {
            return filtered(request, reply.usage, estimate_parts(&reply.parts));
        }
        let read = self.text.map(|form| read_turn(&mut reply, form));
        let ((tolerated, goals), mut problem) = match read {
            None => ((false, Vec::new()), None),
            Some(Ok(read)) => (read, None),
            Some(Err(_)) if self.summary && !text_of(&reply.parts).trim().is_empty() => ((false, Vec::new()), None),
            Some(Err(problem)) => ((false, Vec::new()), Some((problem, Breach::Protocol))),
        };
        let tokens = estimate_parts(&reply.parts);
        let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
        let last = reply.parts.iter().rposition(is_call);
        let calls = reply.parts.iter().enumerate().filter_map(|(at, part)| match part {
            Part::ToolCall { name, arguments, .. } => {
                let cut = reply.stop == StopReason::MaxTokens && Some(at) == last;
                Some(if cut { self.cut_off(name, arguments) } else { self.plan(name, arguments) })
            }
            _ => None,
        });
        let calls: Vec<PlannedCall> = calls.collect();
        let says = |part: &Part| matches!(part, Part::Text { text } if !text.trim().is_empty());
        let empty = calls.is_empty() && !reply.parts.iter().any(says);
        let judged = Box::new(Reply {
            request,
            parts: reply.parts,
            calls,
            goals,
            stop: reply.stop,
            tolerated,
            tokens,
            usage: reply.usage,
            sent: Some(sent),
            aside: false,
            expand: None,
        });
        if problem.is_none() && empty {
            problem = Some((nothing(judged.stop).into(), Breach::Protocol));
        }
        if problem.is_none() && judged.calls.is_empty() && !self.summary {
            let refused = self.schema.and_then(|schema| schema.refuse(&text_of(&judged.parts)));
            problem = refused.map(|problem| (problem, Breach::Schema));
        }
        match problem {
            None => InputKind::ModelFinished(judged),
            Some((problem, breach)) => {
                let repair_tokens = estimate(&problem) + 20;
                InputKind::ModelMalformed { reply: judged, problem, breach, repair_tokens }
            }
        }
    }

    /// The last call of an answer that ran into the output limit. Half a call is never run.
    fn cut_off(&self, name: &str, arguments: &str) -> PlannedCall {
        if serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok() {
            return self.plan(name, arguments);
        }
        let problem = "The answer was cut off at the output limit in the middle of this call, so it was not run. Make \
                       the call again with shorter arguments.";
        PlannedCall { tool: self.tools.resolve(name), problem: Some(problem.into()), ..PlannedCall::default() }
    }
}

/// Whether two addresses lead to the same server by the same scheme.
fn same_server(one: &str, other: &str) -> bool {
    let server = |url: &str| {
        url.split_once("://")
            .map(|(scheme, rest)| (scheme.to_string(), rest.split(['/', '?', '#']).next().map(str::to_string)))
    };
    server(one).is_some() && server(one) == server(other)
}

/// Whether calls of this kind may start processes, which are confined where that can be done. Finding that out takes a process
/// of its own, so it is asked for these alone.
pub(crate) fn starts_processes(effect: EffectClass) -> bool {
    matches!(effect, EffectClass::ProcessControl | EffectClass::SideEffecting)
}

/// An answer that its model or its vendor's filter refused or broke off: whatever there is of it, it is not the answer.
fn filtered(request: u32, usage: Option<Usage>, received: u32) -> InputKind {
    let message = "the model's answer was refused or cut by a content filter; say it in other words (mainpath rewind), \
                   or use another model";
    let kind = ModelErrorKind::ContentFilter;
    let error = ModelError { kind, message: message.into(), status: None, retry_after_ms: None };
    InputKind::ModelFailed { request, error, retry_at: None, usage, received }
}

/// Why an answer without text and calls is none.
fn nothing(stop: StopReason) -> &'static str {
    match stop {
        StopReason::MaxTokens => "it reached the output limit before it said anything.",
        StopReason::End | StopReason::ToolCalls | StopReason::ContentFilter => "it was empty.",
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

/// Puts the parts of the turn that a text is in the text's place, and says whether it had to be picked out and what it makes of
/// the plan. Errors: what is wrong with it, for the model.
fn read_turn(reply: &mut ModelReply, form: TextForm) -> Result<(bool, Vec<GoalOp>), String> {
    let called = reply.parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
    // Calls of the vendor's own kind were not asked for; their text is all that counts.
    reply.parts.retain(|part| !matches!(part, Part::ToolCall { .. }));
    let text = text_of(&reply.parts);
    match parse_turn(&text, form) {
        Ok(parsed) => {
            reply.parts.retain(|part| !matches!(part, Part::Text { .. }));
            reply.parts.extend(parsed.parts);
            Ok((parsed.tolerated, parsed.goals))
        }
        Err(_) if called => Err("it called a tool in another way than by the JSON object.".into()),
        Err(_) if reply.stop == StopReason::MaxTokens => {
            Err("it was cut off at the output limit; write a shorter one.".into())
        }
        Err(_) if text.trim().is_empty() => Err(nothing(reply.stop).into()),
        Err(problem) => Err(problem),
    }
}
