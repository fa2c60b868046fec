//! A model that gives recorded answers.

use crate::codec::Codec;
use crate::neutral::Neutral;
use crate::player::{Player, stream_parts, turns_in, used_up};
use crate::provider::{Call, Fut, Provider};
use crate::script::{BadScript, ScriptTurn};
use crate::substitutions::Substitutions;
use mainpath_types::{Delta, ModelError, ModelReply, Part, StopReason, Usage};

/// A model that gives recorded answers in order: the one whose place is the number of assistant messages in the request.
/// When there is none left, it says so.
pub struct Playback {
    answers: Vec<Answer>,
    player: Player,
}

/// What is played at a place.
enum Answer {
    Recorded(Vec<Part>, Usage, StopReason),
    Substituted(Box<ScriptTurn>),
}

impl Playback {
    /// A model with these answers.
    pub fn new(answers: Vec<(Vec<Part>, Usage, StopReason)>) -> Playback {
        let answers = answers.into_iter().map(|(parts, usage, stop)| Answer::Recorded(parts, usage, stop)).collect();
        Playback { answers, player: Player::default() }
    }

    /// The same recording with these changes.
    ///
    /// # Errors
    /// [`BadScript::BeyondRecording`].
    pub fn with(mut self, changes: &Substitutions) -> Result<Playback, BadScript> {
        changes.check(self.answers.len())?;
        for (place, answer) in self.answers.iter_mut().enumerate() {
            match (changes.turns.iter().find(|turn| turn.place() == Some(place)), &mut *answer) {
                (Some(turn), _) => *answer = Answer::Substituted(Box::new(turn.clone())),
                (None, Answer::Recorded(parts, ..)) => changes.replace_in(parts),
                (None, Answer::Substituted(_)) => {}
            }
        }
        Ok(self)
    }
}

impl Provider for Playback {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let place = turns_in(&call.body)?;
            match self.answers.get(place) {
                None => Ok(used_up("recording", call.head, deltas)),
                Some(Answer::Substituted(turn)) => self.player.play(turn, call, deltas).await,
                Some(Answer::Recorded(parts, usage, stop)) => {
                    stream_parts(parts, call.head, deltas);
                    Ok(ModelReply { parts: parts.clone(), usage: Some(*usage), stop: *stop, model: None })
                }
            }
        })
    }
}
