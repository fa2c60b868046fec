//! What an agent is asked to do.

use crate::skills::said;
use crate::values::not_empty;
use crate::{Error, Host};
use mainpath_runtime::Mail;
use mainpath_types::{MessageMode, Part, Spec};

/// What an agent is asked to do: a person's words, and what they are about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// The words. They may begin with `/NAME` of a skill.
    typed: String,
    /// A text that stands before the words.
    about: Option<String>,
    /// What is attached: images, files, texts.
    attached: Vec<Part>,
}

impl Task {
    /// A task in these words.
    pub fn new(typed: impl Into<String>) -> Task {
        Task { typed: typed.into(), ..Task::default() }
    }

    /// The same about a text that stands before the words, such as the output of a program.
    pub fn about(self, text: impl Into<String>) -> Task {
        Task { about: Some(text.into()), ..self }
    }

    /// The same with this attached after the words.
    pub fn attach(mut self, parts: impl IntoIterator<Item = Part>) -> Task {
        self.attached.extend(parts);
        self
    }

    /// The message that says it. What a person typed is marked where anything else stands beside it.
    pub fn message(self) -> Mail {
        let is_alone = self.about.is_none() && self.attached.is_empty();
        let which = if is_alone { None } else { Some(u16::from(self.about.is_some())) };
        // An empty line parts it from the task: between two texts stands a line break.
        let about = self.about.map(|text| Part::text(format!("{text}\n")));
        let parts = about.into_iter().chain([Part::text(self.typed)]).chain(self.attached).collect();
        Mail::Message { mode: MessageMode::Message, parts, typed: which }
    }
}

impl Host {
    /// What a task says to an agent of this spec: the mail that loads the skill whose `/NAME` it begins with, and the task without that.
    /// Errors: it has no words, the skill cannot be used, or there is none of this name.
    pub fn read_task(&self, task: Task, spec: &Spec) -> Result<(Option<Mail>, Task), Error> {
        let (skill, typed) = said(not_empty("task", task.typed)?, spec, self.skills())?;
        Ok((skill, Task { typed, ..task }))
    }
}

impl<T: Into<String>> From<T> for Task {
    fn from(typed: T) -> Task {
        Task::new(typed)
    }
}
