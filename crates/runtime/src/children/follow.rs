//! A child's trace: begun or gone on with, followed until its run has ended, and ended with its parent.

use crate::children::asked::{Asked, Making};
use crate::children::seen::{Seen, ended, events_of, failed, look, look_at_heard, stopped, unstarted};
use crate::children::{ChildAgent, ChildError, Parent, copies, elsewhere, remote_end};
use crate::effects::context::EffectContext;
use crate::mail::Mail;
use crate::runtime::post;
use crate::stream::hub::Phase;
use mainpath_core::{Child, ChildEnded, ChildStarting, InputKind, short_name};
use mainpath_store::{Scope, StoreError, TraceStore};
use mainpath_types::{
    ChildOutcome, ChildPlace, EventKind, HandedBack, MessageMode, Part, Principal, SubTraceCompleted, TraceId,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked what became of a child that another process drives.
const LOOK: Duration = Duration::from_millis(250);

/// Begins a child or attaches to it, and waits until its run has ended; then what it changed in a copy is told with what it came to.
/// `None`: it waits for people; look again when its parent is woken.
pub(crate) async fn follow(context: EffectContext, asked: Asked) -> Option<InputKind> {
    let came_to = follow_to_its_end(&context, &asked).await?;
    end_processes(&context, &asked.child).await;
    Some(copies::with_changes(&context, &asked.child, came_to).await)
}

/// Nothing that a child left running outlives its work: nobody would know of it.
async fn end_processes(context: &EffectContext, child: &Child) {
    let handle = child.trace.as_ref().and_then(|trace| context.shared.known(&context.scope.tenant, trace));
    if let Some(processes) = handle.as_ref().and_then(|handle| handle.known_processes()) {
        processes.end().await;
    }
}

async fn follow_to_its_end(context: &EffectContext, asked: &Asked) -> Option<InputKind> {
    let Child { call, nth, .. } = asked.child;
    if let Some(SubTraceCompleted { of, outcome, handed, .. }) = context.shared.config.children.known(call, nth).await {
        return Some(InputKind::ChildEnded(ChildEnded { call, nth, of, outcome, handed }));
    }
    let Some(trace) = asked.child.trace.clone() else { return Some(unstarted(&asked.child, &ChildError::NoTrace)) };
    let making = match &asked.making {
        Ok(making) => making,
        Err(problem) => return Some(unstarted(&asked.child, problem)),
    };
    if trace.elsewhere().is_some() {
        return elsewhere::follow(context, &trace, asked, making).await;
    }
    let handle = context.shared.handle(&context.scope.tenant, &trace);
    if asked.child.after == 0 {
        handle.hear();
    }
    if let Err(problem) = begin(context, &trace, &asked.child, making).await {
        return Some(unstarted(&asked.child, &problem));
    }
    loop {
        let phase = driven(context, &trace).await;
        if let Some(seen) = look_at_heard(context, &trace, &handle.take_heard()).await {
            return Some(ended(&asked.child, seen));
        }
        let seen = match look(context, &trace, asked.child.after).await {
            Ok(seen) => seen,
            Err(problem) => return Some(failed(&asked.child, Seen::default(), problem.to_string())),
        };
        match phase {
            _ if seen.ended.is_some() => return Some(ended(&asked.child, seen)),
            Phase::Parked(_) => return None,
            // It goes on by itself when there is room.
            Phase::Elsewhere(_) | Phase::Full(_) => tokio::time::sleep(LOOK).await,
            Phase::Failed(problem) => return Some(failed(&asked.child, seen, problem)),
            Phase::Idle | Phase::Running => {
                return Some(failed(&asked.child, seen, "its run came to no end".into()));
            }
        }
    }
}

/// Reads how far the log of a remote child goes, where its next work begins.
pub(crate) async fn continued(context: EffectContext, starting: ChildStarting) -> InputKind {
    let ChildStarting { call, nth, of, .. } = starting;
    let problem = match &starting.continues {
        None => return InputKind::ChildStarting(starting),
        Some(child) => match context.store().of(child).read(1).await {
            Ok(log) => return InputKind::ChildStarting(ChildStarting { after: log.head, ..starting }),
            Err(StoreError::NotFound { .. }) => ChildError::Gone(child.clone()).to_string(),
            Err(error) => error.to_string(),
        },
    };
    let handed = HandedBack { problem: Some(problem), ..HandedBack::default() };
    InputKind::ChildEnded(ChildEnded { call, nth, of, outcome: ChildOutcome::Failed, handed })
}

/// Ends a child's run, if there is one, and says what it came to until then.
pub(crate) async fn end(context: EffectContext, child: Child) -> InputKind {
    let came_to = end_run(&context, &child).await;
    end_processes(&context, &child).await;
    copies::with_changes(&context, &child, came_to).await
}

async fn end_run(context: &EffectContext, child: &Child) -> InputKind {
    let Some(trace) = child.trace.clone() else { return unstarted(child, &ChildError::NoTrace) };
    if trace.elsewhere().is_some() {
        return remote_end::end(context, child, &trace, None).await;
    }
    let mut is_sent = false;
    loop {
        let seen = match look(context, &trace, child.after).await {
            Ok(seen) => seen,
            Err(problem) => return failed(child, Seen::default(), problem.to_string()),
        };
        if seen.ended.is_some() {
            return ended(child, seen);
        }
        if seen.is_empty || seen.run.is_none() && is_sent {
            // It was told to stop before it had begun.
            return stopped(child, seen, None);
        }
        if !is_sent {
            let vault = &context.shared.config.vault;
            let scope = context.as_parent();
            let at = TraceStore::new(&*context.shared.config.store, &scope, &trace);
            if let Err(problem) = post(at, vault, &Mail::Stop).await {
                return failed(child, seen, problem.to_string());
            }
            is_sent = true;
            // One that is parked is read again now, not when the store has announced the message.
            context.shared.wake(&context.scope.tenant, &trace);
        }
        match driven(context, &trace).await {
            // Nothing of it runs, and its log cannot tell that it ended.
            Phase::Failed(problem) | Phase::Full(problem) => return stopped(child, seen, Some(problem)),
            Phase::Elsewhere(_) | Phase::Parked(_) => tokio::time::sleep(LOOK).await,
            Phase::Idle | Phase::Running => {}
        }
    }
}

/// Wakes a child and waits until it is not being driven in this process.
async fn driven(context: &EffectContext, trace: &TraceId) -> Phase {
    let handle = context.shared.handle(&context.scope.tenant, trace);
    let mut phases = handle.phase.subscribe();
    if matches!(*phases.borrow(), Phase::Parked(_)) {
        return phases.borrow().clone();
    }
    context.shared.wake(&context.scope.tenant, trace);
    loop {
        let phase = phases.borrow_and_update().clone();
        if phase != Phase::Running || phases.changed().await.is_err() {
            return phase;
        }
    }
}

/// Makes the child's trace, or says to one that is there what it is to do now; once, whatever ended in between.
async fn begin(context: &EffectContext, trace: &TraceId, child: &Child, making: &Making) -> Result<(), ChildError> {
    let scope = context.as_parent();
    let at = TraceStore::new(&*context.shared.config.store, &scope, trace);
    let is_new = child.after == 0;
    let events = events_of(at).await?;
    if events.is_empty() && is_new {
        let (ChildAgent { spec, mut told }, said) = made(context, child, making).await?;
        told.push(said);
        return match context.shared.begin(&scope, trace, spec, told).await {
            Ok(()) | Err(crate::RuntimeError::Exists(_)) => Ok(()),
            Err(error) => Err(error.into()),
        };
    }
    let begun = events.iter().any(|event| {
        event.id > child.after && matches!(event.kind, EventKind::RunStarted(_) | EventKind::MessageQueued(_))
    });
    if begun {
        return Ok(());
    }
    let read = events.iter().filter_map(|event| event.mail).collect::<BTreeSet<_>>();
    let waiting = at.mail(0).await?;
    let mut waiting = waiting.iter().filter(|mail| !read.contains(&mail.id));
    if waiting.any(|mail| matches!(serde_json::from_str(&mail.body), Ok(Mail::Message { .. }))) {
        return Ok(());
    }
    let vault = &context.shared.config.vault;
    let (agent, said) = made(context, child, making).await?;
    // One that was cut off while it began lacks what follows what its log has.
    if is_new {
        let setup = Scope { tenant: scope.tenant.clone(), principal: Principal::system() };
        let by_setup = TraceStore::new(&*context.shared.config.store, &setup, trace);
        let is_loaded = |skill: &str| {
            events.iter().any(|event| matches!(&event.kind, EventKind::SkillSelected(data) if data.skill == skill))
        };
        for mail in &agent.told {
            if !matches!(mail, Mail::SelectSkill { skill } if is_loaded(&skill.skill)) {
                post(by_setup, vault, mail).await?;
            }
        }
    }
    for mail in [Mail::SetSpec { spec: Arc::new(agent.spec) }, said] {
        post(at, vault, &mail).await?;
    }
    Ok(())
}

/// What a child is, in a folder that there is by then, and what it is told. Errors: there is no such child, or no folder for it.
async fn made(context: &EffectContext, child: &Child, making: &Making) -> Result<(ChildAgent, Mail), ChildError> {
    let folder = match child.place {
        ChildPlace::Own => Some(copies::make(context, child, &making.parent).await?),
        ChildPlace::Reading | ChildPlace::Alone | ChildPlace::Elsewhere => None,
    };
    let Making { parent: spec, run, child_run, call, message, own_task } = making;
    let (trace, share, folder) = (&context.trace, &child.share, folder.as_ref());
    let parent = Parent { trace, spec, run: *run, share, child_run: *child_run, folder };
    let mut agent = context.shared.config.children.child(parent, call)?;
    agent.spec.relations.own_task = *own_task;
    // What it is told besides its task says nothing of it to whoever looks at a list.
    agent.spec.name = agent.spec.name.or_else(|| Some(short_name(&child.task)).filter(|name| !name.is_empty()));
    let text = if folder.is_some() { format!("{}\n\n{message}", copies::TOLD) } else { message.clone() };
    let said = Mail::Message { mode: MessageMode::Message, parts: vec![Part::text(&text)], typed: None };
    Ok((agent, said))
}
