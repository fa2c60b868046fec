//! A model that plays a script. It says that it is one.

use crate::codec::Codec;
use crate::neutral::Neutral;
use crate::player::{Player, messages_of, turns_in, used_up};
use crate::provider::{Call, Fut, Provider};
use crate::script::{Script, ScriptTurn};
use mainpath_types::{Delta, Message, ModelError, ModelReply, Part, Role};

/// A model that plays a [`Script`]; its page says which turn is played when.
///
/// The one thing that is not computed from the request is whether a turn's `error` has been played: an attempt is told
/// from a retry by its request number, which this provider remembers per conversation. In a new process the error is
/// played again.
pub struct Scripted {
    script: Script,
    player: Player,
}

impl Scripted {
    /// A model that plays this script.
    pub fn new(script: Script) -> Scripted {
        Scripted { script, player: Player::default() }
    }

    fn turn_for(&self, call: &Call<'_>) -> Result<Option<&ScriptTurn>, ModelError> {
        if self.script.turns.iter().any(|turn| turn.when.is_some()) {
            return Ok(self.turn_by_words(&messages_of(&call.body)?));
        }
        Ok(self.script.turns.get(turns_in(&call.body)?))
    }

    fn turn_by_words(&self, messages: &[Message]) -> Option<&ScriptTurn> {
        let mut place = 0;
        let mut news = String::new();
        for message in messages {
            match message.role {
                Role::Assistant => {
                    place += usize::from(self.answering(&news).is_none());
                    news.clear();
                }
                Role::User | Role::Tool => add_text(&message.parts, &mut news),
            }
        }
        self.answering(&news).or_else(|| self.script.turns.iter().filter(|turn| turn.when.is_none()).nth(place))
    }

    /// The first turn whose `when` occurs in what was said.
    fn answering(&self, news: &str) -> Option<&ScriptTurn> {
        self.script.turns.iter().find(|turn| turn.when.as_deref().is_some_and(|when| news.contains(when)))
    }
}

fn add_text(parts: &[Part], text: &mut String) {
    for part in parts {
        match part {
            Part::Text { text: more } => {
                text.push_str(more);
                text.push('\n');
            }
            Part::ToolResult { content, .. } => add_text(content, text),
            Part::Thinking { .. }
            | Part::StoredText { .. }
            | Part::Image { .. }
            | Part::Audio { .. }
            | Part::Document { .. }
            | Part::ToolCall { .. } => {}
        }
    }
}

impl Provider for Scripted {
    fn codec(&self) -> &dyn Codec {
        &Neutral
    }

    fn call<'a>(
        &'a self,
        call: Call<'a>,
        deltas: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Fut<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let Some(turn) = self.turn_for(&call)? else {
                return Ok(used_up("script", call.head, deltas));
            };
            self.player.play(turn, call, deltas).await
        })
    }
}
