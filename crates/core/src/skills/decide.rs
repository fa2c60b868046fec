//! Whether a skill may be loaded.

use crate::calls::decide::find;
use crate::context::room::Room;
use crate::error::Decided;
use crate::skills::SKILLS_A_TURN;
use crate::{CallState, Refusal, State};
use mainpath_types::{CallId, ResourceLoaded, SkillBy, SkillSelected};

/// What all loaded skills together may take of a request: one in so many tokens.
const SHARE: u64 = 3;

pub(crate) fn select(state: &State, data: &SkillSelected) -> Decided {
    let spec = state.coming_spec().ok_or(Refusal::NoSpec)?;
    if data.parts.is_empty() || data.skill.is_empty() {
        return Err(Refusal::Empty);
    }
    if let Some(call) = data.call {
        started(state, call)?;
    }
    let is_same =
        |skill: &str, source: &str, hash: &str| (skill, source, hash) == (&data.skill, &data.source, &data.hash);
    if state.loaded_skills().any(|row| is_same(&row.skill, &row.source, &row.hash)) {
        return Err(Refusal::SkillLoaded(data.skill.clone()));
    }
    let turn = state.counts.turns;
    let by_model = state.skills.iter().filter(|row| row.by == SkillBy::Model && row.turn == turn).count();
    if data.by == SkillBy::Model && by_model >= SKILLS_A_TURN {
        return Err(Refusal::SkillsOfTurn(SKILLS_A_TURN));
    }
    let most = Room::of(spec).most / SHARE;
    let taken: u64 = state.loaded_skills().map(|row| u64::from(row.tokens)).sum();
    if taken.saturating_add(data.tokens.into()) > most {
        return Err(Refusal::NoRoomForSkill {
            skill: data.skill.clone(),
            tokens: data.tokens,
            left: most.saturating_sub(taken),
        });
    }
    Ok(data.clone().into())
}

pub(crate) fn load(state: &State, data: &ResourceLoaded) -> Decided {
    started(state, data.call)?;
    Ok(data.clone().into())
}

fn started(state: &State, call: CallId) -> Result<(), Refusal> {
    match find(state, call)?.state {
        CallState::Started => Ok(()),
        CallState::Asked | CallState::Ready => Err(Refusal::NotStarted(call)),
        CallState::Cancelling(_) | CallState::Probing | CallState::Done(_) => Err(Refusal::AlreadyResolved(call)),
    }
}
