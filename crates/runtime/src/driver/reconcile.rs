//! The one rule for effects: start what is pending and not in flight, cancel what is in flight and not pending.

use crate::driver::error::DriveError;
use crate::driver::{Driver, Timer};
use crate::effects::context_texts::{ask_hooks, standing};
use crate::effects::questions::send_question;
use crate::effects::tool::{ToolRun, probe_tool, run_tool};
use crate::messenger::OpenQuestion;
use mainpath_core::{Effect, EffectKey, InputKind, answer_due, call_time};
use mainpath_policy::Grant;
use mainpath_types::{CallId, EffectClass, EventId, EventKind};
use std::collections::BTreeMap;
use std::time::Duration;

impl Driver {
    pub(super) async fn reconcile(&mut self) -> Result<(), DriveError> {
        let Some(pending) = self.machine.pending() else { return Ok(()) };
        self.in_flight.cancel_all_but(&pending);
        if self.machine.state().closing().is_some() {
            self.in_flight.hurry_probes();
        }
        self.arm(&pending);
        if self.is_due() {
            // What a time ends does not start first.
            return Ok(());
        }
        let is_resting = self.shared.is_resting();
        if is_resting {
            self.in_flight.stop_waiting();
        }
        for (key, effect) in pending {
            // A call is on record as begun before it is: not to run it now would leave open whether it was.
            let may_begin = !is_resting || matches!(effect, Effect::RunTool { .. });
            if may_begin && !self.in_flight.has(&key) && !self.resting.contains(&key) {
                self.start(key, effect).await?;
            }
        }
        Ok(())
    }

    /// Sets the timer to the next time to come.
    fn arm(&mut self, pending: &BTreeMap<EffectKey, Effect>) {
        let times = pending.iter().filter_map(|(key, effect)| match (key, effect) {
            (EffectKey::Timer(key), Effect::Timer { at }) => Some((*at, *key)),
            _ => None,
        });
        self.timer = times.min().map(|(at, key)| Timer { at, key });
    }

    /// Starts an effect, unless it waits for others.
    async fn start(&mut self, key: EffectKey, effect: Effect) -> Result<(), DriveError> {
        match effect {
            Effect::CallModel { request } => self.call_model(key, request).await,
            Effect::RunTool { grant, arguments } => self.run_tool(key, grant, arguments).await,
            Effect::Probe { grant, arguments } => self.probe(key, grant, arguments).await,
            Effect::AskHooks { turn } => self.ask_hooks(key, turn).await,
            Effect::Summarise { most, below, keeps } => {
                let summary = self.summarise(most, below, &keeps).await?;
                self.in_flight.start(key, |_| async move { summary });
                Ok(())
            }
            Effect::EndChild { call, nth } => self.end_child(key, call, nth).await,
            Effect::Kill { call, attempt } if self.starts_agents(call) => self.end_call(key, call, attempt).await,
            Effect::SendQuestion { call, to, arguments } => self.send_question(key, call, to, arguments).await,
            Effect::Kill { call, attempt } => {
                self.kill(key, call, attempt);
                Ok(())
            }
            Effect::StartChild { call, nth, arguments } => self.start_child(key, call, nth, arguments).await,
            Effect::AwaitChild { call, nth, arguments } => self.await_child(key, call, nth, arguments).await,
            Effect::HandBack { call } => self.hand_back(key, call).await,
            Effect::Timer { .. } | Effect::AwaitApproval { .. } | Effect::AwaitAnswer { .. } => Ok(()),
        }
    }

    async fn run_tool(&mut self, key: EffectKey, grant: Grant, arguments: EventId) -> Result<(), DriveError> {
        let context = self.context().await?;
        let arguments = self.arguments(grant.call(), arguments).await?;
        let state = self.machine.state();
        let call = state.calls.get(grant.call());
        let within = call.and_then(|call| call_time(state, call)).map(Duration::from_millis);
        // The spec that holds is that of the model's last request, which the call answers.
        let spec = state.spec.as_ref().filter(|_| call.is_some_and(|call| call.approved)).map(|spec| spec.event);
        let approved = match spec {
            None => None,
            Some(spec) => match self.event(spec).await? {
                Some(EventKind::SpecChanged(data)) => Some(data.spec.tools.clone()),
                _ => Some(Vec::new()),
            },
        };
        let run = ToolRun { grant, arguments, within, judged_by: self.judge_input(), approved };
        self.in_flight.start(key, |cancel| run_tool(context, run, cancel));
        Ok(())
    }

    async fn probe(&mut self, key: EffectKey, grant: Grant, arguments: EventId) -> Result<(), DriveError> {
        let context = self.context().await?;
        let arguments = self.arguments(grant.call(), arguments).await?;
        let patches = self.machine.state().children.patches.clone();
        self.in_flight.start(key, |hurry| probe_tool(context, grant, arguments, patches, hurry));
        Ok(())
    }

    async fn send_question(
        &mut self,
        key: EffectKey,
        call: CallId,
        to: String,
        event: EventId,
    ) -> Result<(), DriveError> {
        let (context, arguments) = (self.context().await?, self.arguments(call, event).await?);
        let (trace, expires_at) = (context.trace.clone(), answer_due(self.machine.state(), call));
        let question = OpenQuestion { trace, call, to, arguments, expires_at };
        self.in_flight.start(key, |_| send_question(context, question));
        Ok(())
    }

    async fn ask_hooks(&mut self, key: EffectKey, turn: u32) -> Result<(), DriveError> {
        let (context, task) = (self.context().await?, self.task().await);
        let trace = standing(self.machine.state(), &task, &context.prepared.workspace);
        self.in_flight.start(key, |_| ask_hooks(context, turn, trace));
        Ok(())
    }

    /// Whether a call starts agents.
    pub(super) fn starts_agents(&self, call: CallId) -> bool {
        self.machine.state().calls.get(call).is_some_and(|call| call.effect == EffectClass::StartChild)
    }

    /// Confirms the end of a call that does not run here. One that runs is cancelled, and confirms its end itself.
    fn kill(&mut self, key: EffectKey, call: CallId, attempt: u32) {
        if !self.in_flight.has(&EffectKey::Tool(call, attempt)) {
            // A call of an earlier process: its launcher ended it with its owner.
            let dead = InputKind::ToolDead { call, attempt, output: None, tokens: 0 };
            self.in_flight.start(key, |_| async move { dead });
        }
    }
}
