//! An agent that is about to be started.

use super::options::{AgentOptions, LimitOptions};
use super::spec::{spec, workspace};
use crate::presets::Given;
use crate::rules::check_given;
use crate::skills::{preloads, select_named};
use crate::{Error, Host, Run, Trace};
use mainpath_runtime::new_trace_id;
use mainpath_types::{Access, ApprovalMode, RunRules, Spec, TraceId};
use std::path::Path;

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
}

impl Host {
    /// An agent on a model, such as `anthropic:NAME` or `openai-compatible:http://127.0.0.1:8080/v1#NAME`.
    pub fn agent(&self, model: impl Into<String>) -> Agent {
        let (options, rules) = (AgentOptions::default(), RunRules::default());
        let (host, model) = (self.clone(), model.into());
        Agent { host, model, options, approvals: ApprovalMode::Ask, rules, preset: None, trace: None }
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

    /// The id of its trace. Without it, one is drawn. A trace that is there already is never started again: say more to it by
    /// [`Host::trace`] and [`Trace::say`].
    pub fn trace_id(mut self, id: TraceId) -> Agent {
        self.trace = Some(id);
        self
    }

    /// The spec that its trace begins with. Errors: what cannot be used, in words for its author.
    pub fn spec(&self) -> Result<Spec, Error> {
        let folder = workspace(self.options.workspace.as_deref())?;
        check_given(&self.rules, self.host.tools())?;
        let presets =
            self.preset.as_ref().map(|name| Ok::<_, Error>((name, self.host.presets(&folder)?))).transpose()?;
        let preset = presets.as_ref().map(|(name, presets)| presets.choose(name)).transpose()?.cloned();
        let Given { options, rules } = Given::new(self.options.clone(), self.rules.clone(), preset);
        let policy = self.host.policy(&folder.display().to_string(), &rules)?;
        spec(&options, self.host.basis(&rules), self.model.clone(), &folder, &policy, self.approvals)
    }

    /// Starts it with a task. Returns when both are durable; the run goes on by itself, whether anybody follows it or not.
    /// Errors: what cannot be used, no key for the model, nothing can be written, or there is a trace of this id already
    /// ([`ErrorKind::Refused`](crate::ErrorKind::Refused)); of several that are started at once under one id, one is.
    pub async fn start(self, task: impl Into<String>) -> Result<Run, Error> {
        let spec = self.spec()?;
        self.host.check_model(&self.model)?;
        let clock = self.host.runtime().config().clock;
        let id = match self.trace.clone() {
            Some(id) => id,
            None => new_trace_id(clock()).map_err(|error| Error::failed(error.to_string()))?,
        };
        let (runtime, scope) = (self.host.runtime(), self.host.scope());
        let mut said = preloads(&spec, self.host.skills())?;
        let task = task.into();
        let (skill, task) = match select_named(&task, &spec, self.host.skills())? {
            Some((skill, rest)) => (Some(skill), rest),
            None => (None, task),
        };
        said.extend(skill);
        said.push(self.host.first_message(task).await);
        runtime.start_with(scope, &id, spec, said).await?;
        Ok(Run::first(Trace::new(self.host.clone(), id)))
    }
}
