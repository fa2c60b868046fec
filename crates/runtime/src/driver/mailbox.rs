//! What comes by mail: read in order, redacted, measured, and offered to the machine.

use crate::driver::Driver;
use crate::driver::error::DriveError;
use crate::gate::judge::Gate;
use crate::mail::{Mail, in_order};
use crate::prompt::gone::Gone;
use crate::prompt::media;
use crate::prompt::texts::offload;
use mainpath_core::{
    Answered, Call, CallState, Edit, InputKind, TimerKey, answer_due, approval_due, arguments_in, places_in,
};
use mainpath_store::StoreError;
use mainpath_tools::AskHumanArgs;
use mainpath_types::{
    ApprovalMode, CONTENT, CallId, Decision, MessageQueued, Millis, Principal, RewindRequested, Verdict,
};
use std::sync::atomic::Ordering;

impl Driver {
    /// Reads the mailbox if it was announced that there is something in it.
    pub(super) async fn read_mail(&mut self) -> Result<(), DriveError> {
        let wakes = self.handle.wakes.load(Ordering::Acquire);
        if wakes == self.mail.seen_wakes {
            return Ok(());
        }
        self.mail.seen_wakes = wakes;
        self.take_mail().await.map(drop)
    }

    /// Takes in what the mailbox holds, and says whether that was anything. An entry that says nothing useful is refused by an
    /// event, so it is read once.
    pub(super) async fn take_mail(&mut self) -> Result<bool, DriveError> {
        let known = self.machine.state().log.mail.clone();
        let after = known.upto;
        let mut mail = self.trace_store().mail(after).await?;
        mail.retain(|entry| !self.machine.state().log.mail.has(entry.id));
        let mut mail = in_order(mail, self.machine.state().run.is_some());
        if let Some(only) = self.mail.only {
            // What was said before a clear goes with it; whatever else waits goes on waiting.
            let clears = mail.iter().any(|(mail, entry)| entry.id == only && matches!(mail, Ok(Mail::Clear)));
            mail.retain(|(_, entry)| entry.id == only || clears && entry.id < only);
        }
        let mut left = mail.len();
        for (mail, entry) in mail {
            left -= 1;
            // Somebody who speaks to a trace that nobody drives starts nothing by it but what was asked for.
            let begins = self.mail.only.is_none() || matches!(mail, Ok(Mail::Compact { .. }));
            self.mail.holding = left > 0 || !begins;
            let kind = match mail {
                Ok(mail) => {
                    self.expire(&mail, entry.at).await?;
                    self.read(mail, entry.from).await?
                }
                Err(error) => {
                    let problem = format!("no message that Mainpath knows: {error}");
                    InputKind::BadMail { problem: self.shared.config.vault.redact(&problem) }
                }
            };
            self.offer_or_drop(kind, Some(entry.id)).await?;
        }
        if self.mail.only.is_none() || !self.mail.holding {
            self.begin().await?;
        }
        Ok(self.machine.state().log.mail != known)
    }

    /// What counts is when an approval or an answer was given: one that was given too late finds its call ended, however late it is read.
    async fn expire(&mut self, mail: &Mail, at: Millis) -> Result<(), DriveError> {
        // Of a question, the time at which it is sent again may come first.
        for _ in 0..2 {
            let state = self.machine.state();
            let (call, due) = match mail {
                Mail::Approve { call, .. } => (*call, approval_due(state, *call)),
                Mail::Answer { call, .. } => (*call, answer_due(state, *call)),
                _ => return Ok(()),
            };
            if due.is_some_and(|due| due <= at) {
                self.offer_or_drop(InputKind::Timer { key: TimerKey::Call(call) }, None).await?;
            }
        }
        Ok(())
    }

    /// From mail to an input: redacted, measured, what is long put aside, edited arguments judged.
    pub async fn read(&mut self, mut mail: Mail, from: Principal) -> Result<InputKind, DriveError> {
        if !mail.is_sayable() {
            let problem = "a message consists of text, pictures, sound and documents, of nothing else".into();
            return Ok(InputKind::BadMail { problem });
        }
        if let Some(parts) = mail.parts_mut() {
            match media::load(self.store(), parts, &mut Gone::Fails).await {
                Ok(()) => {}
                // Taken in, it would fail every request from then on.
                Err(error @ (StoreError::NoBlob { .. } | StoreError::Damaged(_))) => {
                    return Ok(InputKind::BadMail {
                        problem: format!("what the message names is not at hand: {error}"),
                    });
                }
                Err(other) => return Err(other.into()),
            }
        }
        if let Err(problem) = mail.redact(&self.shared.config.vault) {
            return Ok(InputKind::BadMail { problem: problem.to_string() });
        }
        let forbidden = match &mail {
            Mail::Approve { call, arguments: None, .. } => self.forbidden_by_now(*call).await?,
            _ => None,
        };
        let edited = match &mail {
            // An approval that a denial has overtaken does not reopen the call.
            Mail::Approve { call, arguments: Some(arguments), .. } if !self.is_denied(*call) => {
                Some((*call, arguments.clone()))
            }
            Mail::Reopen { call, arguments } => self.denied_arguments(*call, arguments.clone()).await?,
            _ => None,
        };
        if let Mail::Answer { call, text, .. } = &mut mail
            && let Some(args) = self.question(*call).await?
            && let Some(choice) = args.chosen(text)
        {
            *text = choice.label.trim().into();
        }
        let mut kind = mail.into_input(from);
        if let (Some((call, arguments)), InputKind::Approve { edit, .. }) = (edited, &mut kind) {
            match self.judge_edit(call, arguments).await {
                Ok(judged) => *edit = Some(judged),
                // Not the trace's end: the call goes on waiting, and a better spec may come in the next mail.
                Err(DriveError::Spec(problem)) => {
                    return Ok(InputKind::BadMail { problem: format!("the arguments cannot be judged: {problem}") });
                }
                Err(other) => return Err(other),
            }
        }
        if let (Some(forbidden), InputKind::Approve { edit, .. }) = (forbidden, &mut kind) {
            *edit = Some(forbidden);
        }
        match &mut kind {
            InputKind::UserMessage(MessageQueued { parts, .. })
            | InputKind::Rewind(RewindRequested { parts: Some(parts), .. }) => {
                offload(self.store(), parts).await?;
            }
            InputKind::SelectSkill(skill) => offload(self.store(), &mut skill.parts).await?,
            InputKind::Answered(Answered { output, .. }) => {
                offload(self.store(), &mut output.content).await?;
            }
            _ => {}
        }
        Ok(kind)
    }

    /// Whether a call was denied and nobody has taken that back.
    fn is_denied(&self, call: CallId) -> bool {
        self.machine.state().calls.get(call).is_some_and(Call::is_denied)
    }

    /// The arguments of a call that was denied and is to be made after all: rules judge them afresh.
    async fn denied_arguments(
        &mut self,
        call: CallId,
        edited: Option<String>,
    ) -> Result<Option<(CallId, String)>, DriveError> {
        let Some(row) = self.machine.state().calls.get(call).filter(|row| row.is_denied()) else { return Ok(None) };
        let event = row.arguments;
        Ok(Some(match edited {
            Some(arguments) => (call, arguments),
            None => (call, self.arguments(call, event).await?),
        }))
    }

    /// That the rules of now deny a call which waits for an approval: they may have become stricter since it was asked about, and no
    /// approval overrides a denial. `None`: they do not, or they cannot be read.
    async fn forbidden_by_now(&mut self, call: CallId) -> Result<Option<Edit>, DriveError> {
        let asked = self.machine.state().calls.get(call).filter(|row| row.state == CallState::Asked);
        let Some((event, tool)) = asked.map(|row| (row.arguments, row.tool.clone().unwrap_or_default())) else {
            return Ok(None);
        };
        let arguments = self.arguments(call, event).await?;
        let Ok(prepared) = self.prepared().await else { return Ok(None) };
        self.note_origins().await?;
        let judge_input = self.judge_input();
        let mut gate = Gate::of(&self.shared.config, &prepared, &judge_input);
        // Somebody is there: who would be asked has answered.
        gate.rules.to_mut().mode = ApprovalMode::Ask;
        let planned = gate.check(&tool, &arguments, "");
        let denial = planned.verdict.filter(|verdict| verdict.decision == Decision::Deny);
        Ok(denial.map(|verdict| Edit { arguments, verdict, places: Vec::new(), changed_by: Vec::new(), asking: None }))
    }

    /// What a call asks that waits for a person.
    async fn question(&mut self, call: CallId) -> Result<Option<AskHumanArgs>, DriveError> {
        let Some(row) = self.machine.state().calls.get(call).filter(|row| row.question.is_some()) else {
            return Ok(None);
        };
        let event = row.arguments;
        Ok(AskHumanArgs::read(&self.arguments(call, event).await?))
    }

    async fn judge_edit(&mut self, call: CallId, arguments: String) -> Result<Edit, DriveError> {
        let prepared = self.prepared().await?;
        let row = self.machine.state().calls.get(call).map(|row| (row.tool.clone(), row.is_denied(), row.arguments));
        let (tool, reopens, recorded) = row.unwrap_or_default();
        // What it would have run when it was denied: whoever approves it now was shown that.
        let shown: Option<Vec<String>> = match reopens {
            true => self.event(recorded).await?.and_then(|kind| {
                let is_same_call = arguments_in(kind, call).is_some_and(|then| is_same(then, &arguments));
                let runs = places_in(kind, call).iter().any(|at| at.starts_with(CONTENT));
                (is_same_call && runs).then(|| places_in(kind, call).to_vec())
            }),
            false => None,
        };
        self.note_origins().await?;
        let context = self.context().await?;
        let judge_input = self.judge_input();
        let mut gate = Gate::of(&self.shared.config, &prepared, &judge_input);
        if reopens {
            // Somebody is there now: who would have been asked has answered.
            gate.rules.to_mut().mode = ApprovalMode::Ask;
        }
        gate.edits = true;
        let planned = gate.check(tool.as_deref().unwrap_or_default(), &arguments, "");
        let planned = gate.with_hooks(&context.hooks(), planned, &arguments, "").await;
        // A hook that was asked about these arguments before gives them as they are.
        let changed = planned.arguments.filter(|changed| !is_same(changed, &arguments));
        let changed_by = if changed.is_some() { planned.changed_by } else { Vec::new() };
        let denied = |reason: String| Verdict { decision: Decision::Deny, rule: "builtin.arguments".into(), reason };
        let places: Vec<String> = planned.places.iter().map(|place| self.shared.config.vault.redact(place)).collect();
        let verdict = match planned.verdict {
            // Whoever wrote a path cannot have seen where a link leads by the time that this is read.
            Some(verdict) if verdict.decision == Decision::Ask && places.iter().any(|at| !at.starts_with(CONTENT)) => {
                denied(format!(
                    "By links the paths lead to {}, which nobody has approved; name that place itself.",
                    places.join(" and ")
                ))
            }
            Some(_) if shown.as_ref().is_some_and(|shown| *shown != places) => {
                denied("What it runs has changed since it was denied; the agent has to call it again.".into())
            }
            // Whoever approved the others has not seen these.
            Some(verdict) if verdict.decision == Decision::Ask && changed.is_some() => {
                let (hooks, now) = (changed_by.join(", "), changed.as_deref().unwrap_or_default());
                let reason = format!(
                    "Hook {hooks} changed the arguments to {now}, which nobody has approved. Approve those instead."
                );
                return Ok(Edit { arguments, verdict: denied(reason), places, changed_by: Vec::new(), asking: None });
            }
            // It changes nothing outside the trace, and has no effect to make up for.
            Some(_) if reopens && tool.as_deref().is_some_and(|tool| gate.is_internal(tool)) => {
                denied("A call that changes nothing outside the trace is not made later.".into())
            }
            Some(verdict) => verdict,
            None => denied(planned.problem.unwrap_or_default()),
        };
        Ok(Edit { arguments: changed.unwrap_or(arguments), verdict, places, changed_by, asking: planned.asking })
    }
}

/// Whether two texts are the same JSON.
fn is_same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    one == other || read(one).is_some_and(|value| read(other) == Some(value))
}
