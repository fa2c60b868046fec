//! An agent that is about to be started.

use super::offer::REACHING;
use super::options::{AgentOptions, LimitOptions, with_more};
#[cfg(feature = "home")]
use super::spec::{ModeFor, changed};
use super::spec::{spec, unused_notes, workspace};
use crate::presets::Given;
#[cfg(feature = "home")]
use crate::rule_names::optional;
use crate::rules::{check_given, narrow};
use crate::{Error, Host};
use mainpath_policy::Policy;
use mainpath_store::Once;
use mainpath_types::{Access, ApprovalMode, RunRules, Spec, TraceId};
use std::path::Path;
use std::sync::Arc;

/// What an agent is to be. Nothing happens until [`Agent::start`].
#[derive(Clone, Debug)]
pub struct Agent {
    host: Host,
    model: String,
    options: AgentOptions,
    approvals: ApprovalMode,
    rules: RunRules,
    preset: Option<String>,
    trace: Option<TraceId>,
    once: Option<Once>,
    has_memory: bool,
    is_named: bool,
}

/// What starting an agent needs besides its spec.
pub(super) struct Parts<'a> {
    pub host: &'a Host,
    pub model: &'a str,
    pub trace: Option<&'a TraceId>,
    pub once: Option<&'a Once>,
    #[cfg(feature = "home")]
    pub has_memory: bool,
    /// True if the model of `[names]` may name the trace.
    pub is_named: bool,
}

impl Host {
    /// An agent on a model, such as `anthropic:NAME` or `openai-compatible:http://127.0.0.1:8080/v1#NAME`.
    pub fn agent(&self, model: impl Into<String>) -> Agent {
        let (options, rules) = (AgentOptions::default(), RunRules::default());
        let (host, model) = (self.clone(), model.into());
        Agent {
            host,
            model,
            options,
            approvals: ApprovalMode::Ask,
            rules,
            preset: None,
            trace: None,
            once: None,
            has_memory: true,
            is_named: true,
        }
    }
}

#[cfg(feature = "home")]
impl Host {
    /// Applies the options of a caller to the spec of an agent that continues, under these rules. Returns `None` if nothing changes. Errors:
    /// an option cannot be used.
    pub fn changed(
        &self,
        old: &Spec,
        given: &AgentOptions,
        policy: &Policy,
        mode: ModeFor,
    ) -> Result<Option<Spec>, Error> {
        changed(old, given, self.spec_inputs(&self.inner.sources.run), policy, mode)
    }
}

impl Agent {
    /// The folder to work in; without it, the current one.
    pub fn workspace(mut self, folder: impl AsRef<Path>) -> Agent {
        self.options.workspace = Some(folder.as_ref().into());
        self
    }

    /// What is added to the system text.
    pub fn instructions(mut self, text: impl Into<String>) -> Agent {
        self.options.prompt.instructions = Some(text.into());
        self
    }

    /// The preset that it is made from, by its name: one of its workspace, of the person, or of Mainpath (`explore`, …). What is said by
    /// other methods comes before it, its model included.
    pub fn preset(mut self, name: impl Into<String>) -> Agent {
        self.preset = Some(name.into());
        self
    }

    /// The tools that it may use: names, aliases and patterns. Without it, all that the host has; with an empty list none but those
    /// that look back into its own conversation.
    pub fn tools<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Agent {
        self.options.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The only skills that it may use; they are loaded from the beginning. Without it, all that the host has, none of them loaded; with
    /// an empty list none. See [`HostBuilder::skills`](crate::HostBuilder::skills).
    pub fn skills<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Agent {
        self.options.skills = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// What it may do unasked, and what its commands can reach. Without it, it asks before changes.
    pub fn access(mut self, access: Access) -> Agent {
        self.options.access = Some(access);
        self
    }

    /// What happens to calls that need a person: ask (the default), deny, or yes to all that no rule always asks about.
    pub fn approvals(mut self, mode: ApprovalMode) -> Agent {
        self.approvals = mode;
        self
    }

    /// Allows calls without asking, such as `bash(cargo test *)` or `write(src/**)`.
    pub fn allow(mut self, rule: impl Into<String>) -> Agent {
        self.rules.allow.push(rule.into());
        self
    }

    /// Always asks about calls, also under a [policy in code](crate::HostBuilder::policy).
    pub fn ask(mut self, rule: impl Into<String>) -> Agent {
        self.rules.ask.push(rule.into());
        self
    }

    /// Denies calls, whatever else allows them: also under a [policy in code](crate::HostBuilder::policy).
    pub fn deny(mut self, rule: impl Into<String>) -> Agent {
        self.rules.deny.push(rule.into());
        self
    }

    /// Stops before calls such as `tool=bash and args~deploy`, whatever rules say of them: a person decides, as on an approval.
    pub fn breakpoint(mut self, predicate: impl Into<String>) -> Agent {
        self.rules.breakpoints.push(predicate.into());
        self
    }

    /// The limits of its runs.
    pub fn limits(mut self, limits: LimitOptions) -> Agent {
        self.options.limits = limits;
        self
    }

    /// Everything that can be said of an agent; what was said before is replaced, except the model, rules and approvals.
    pub fn options(mut self, options: AgentOptions) -> Agent {
        self.options = options;
        self
    }

    /// What a caller said, put together with a preset before: options and rules. What was said before of these is replaced.
    pub fn given(mut self, given: Given) -> Agent {
        (self.options, self.rules) = (given.options, given.rules);
        self
    }

    /// The id of its trace. Without it, one is drawn. A trace that is there already is never started again: say more to it by
    /// [`Host::trace`] and [`Trace::say`](crate::Trace::say).
    pub fn trace_id(mut self, id: TraceId) -> Agent {
        self.trace = Some(id);
        self
    }

    /// What earlier work says about its task is not shown to it.
    pub fn without_memory(mut self) -> Agent {
        self.has_memory = false;
        self
    }

    /// Does not ask the model of `[names]` for a name of the trace.
    pub fn unnamed(mut self) -> Agent {
        self.is_named = false;
        self
    }

    /// A key of the caller's under which it is started: started again, be it by another process after a crash, it is the same trace, whose
    /// id follows from the key. Under the same key for something else it is refused
    /// ([`ErrorKind::Reused`](crate::ErrorKind::Reused)).
    pub fn once(mut self, once: Once) -> Agent {
        self.options.relations.request = Some(once.asked.clone());
        self.once = Some(once);
        self
    }

    /// What starting needs of it.
    pub(super) fn parts(&self) -> Parts<'_> {
        let (trace, once) = (self.trace.as_ref(), self.once.as_ref());
        Parts {
            host: &self.host,
            model: &self.model,
            trace,
            once,
            #[cfg(feature = "home")]
            has_memory: self.has_memory,
            is_named: self.is_named,
        }
    }

    /// The same with more in its instructions.
    pub(super) fn told(mut self, more: Vec<String>) -> Agent {
        if !more.is_empty() {
            let own = self.options.prompt.instructions.take();
            self.options.prompt.instructions = Some(with_more(own, self.host.home(), &more));
        }
        self
    }

    /// Errors: a secret stands where it would have to be recorded as it is: in a rule, in the name of a model or of the folder, or in the id.
    fn check_secrets(&self) -> Result<(), Error> {
        let vault = &self.host.runtime().config().vault;
        let RunRules { allow, ask, deny, .. } = &self.rules;
        let rules = [("rules.allow", allow), ("rules.ask", ask), ("rules.deny", deny)];
        let rules = rules.into_iter().flat_map(|(field, rules)| elements(field, rules));
        let folder = self.options.workspace.as_ref().and_then(|folder| folder.to_str());
        let named = [("model", Some(self.model.as_str())), ("workspace", folder)];
        let named = named.into_iter().filter_map(|(field, text)| Some((field, None, text?)));
        let fallbacks = elements("fallback", &self.options.sampling.fallback);
        let id = self.trace.as_ref().map(|id| ("trace_id", None, id.as_str()));
        for (field, at, text) in rules.chain(named).chain(fallbacks).chain(id) {
            let shown = vault.redact(text);
            if shown != text {
                let problem = format!(" holds a secret ({shown}), and would be recorded with it: use one without");
                let error = Error::of_field(field, problem);
                return Err(at.into_iter().fold(error, Error::at));
            }
        }
        Ok(())
    }

    /// Errors: the options say what is said elsewhere for an agent in code.
    fn check_options(&self) -> Result<(), Error> {
        let AgentOptions { model, mcp_config, .. } = &self.options;
        if let Some(other) = model.as_ref().filter(|other| **other != self.model) {
            return Err(Error::of_field(
                "model",
                format_args!(" {other:?} is another one than the agent's: give it to Host::agent"),
            ));
        }
        if mcp_config.is_some() && self.host.home().is_by_hand() {
            return Err(Error::of_field(
                "mcp_config",
                " is for hosts from a home: give servers to HostBuilder::mcp_server",
            ));
        }
        Ok(())
    }

    /// Returns what of the rules and of the folder has less effect than was probably meant, a line each: commands of one word in rules, and AGENTS.md
    /// files that are not used. Errors: as [`Agent::spec`]'s.
    pub fn warnings(&self) -> Result<Vec<String>, Error> {
        let (spec, policy) = self.spec_and_policy()?;
        Ok(narrow(&policy).into_iter().chain(unused_notes(&spec, self.host.home())).collect())
    }

    /// The spec that its trace begins with. Errors: what cannot be used, in words for its author.
    pub fn spec(&self) -> Result<Spec, Error> {
        Ok(self.spec_and_policy()?.0)
    }

    /// The time limit of its runs.
    #[cfg(feature = "home")]
    pub fn time_limit(&self) -> Option<std::time::Duration> {
        super::limits::time_limit(&self.options, None, self.host.home())
    }

    pub(super) fn spec_and_policy(&self) -> Result<(Spec, Arc<Policy>), Error> {
        let folder = workspace(self.options.workspace.as_deref())?;
        let others = REACHING.iter().map(ToString::to_string);
        #[cfg(feature = "home")]
        let others = others.chain(optional(self.host.home()));
        let others: Vec<String> = others.collect();
        self.check_options()?;
        check_given(&self.rules, self.host.tools(), &others)?;
        self.check_secrets()?;
        let presets =
            self.preset.as_ref().map(|name| Ok::<_, Error>((name, self.host.presets(&folder)?))).transpose()?;
        let given = Given { options: self.options.clone(), rules: self.rules.clone(), ..Given::default() };
        let Given { options, rules, .. } = match presets {
            Some((name, presets)) => Given::new(
                given.options,
                given.rules,
                Some(presets.choose(name).map_err(|error| error.in_field("preset"))?.clone()),
            ),
            None => given,
        };
        let policy = self.host.policy(&folder.display().to_string(), &rules)?;
        let spec = spec(&options, self.host.spec_inputs(&rules), self.model.clone(), &folder, &policy, self.approvals)?;
        Ok((spec, policy))
    }
}

/// The texts of a list, each with the field and its index.
fn elements<'t>(
    field: &'static str,
    texts: &'t [String],
) -> impl Iterator<Item = (&'static str, Option<usize>, &'t str)> {
    texts.iter().enumerate().map(move |(at, text)| (field, Some(at), text.as_str()))
}
