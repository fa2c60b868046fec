//! The task of an agent.

use crate::skills::said;
use crate::values::not_empty;
use crate::{Error, Host};
use mainpath_runtime::Mail;
use mainpath_types::{MessageMode, Part, Spec};

/// The task of an agent: a person's words, and the text and attachments that belong to them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// The words. They may begin with the `/NAME` of a skill.
    typed: String,
    /// A text before the words.
    about: Option<String>,
    /// Attachments: images, files, texts.
    attached: Vec<Part>,
}

impl Task {
    /// A task in these words.
    pub fn new(typed: impl Into<String>) -> Task {
        Task { typed: typed.into(), ..Task::default() }
    }

    /// Adds a text before the words, such as the output of a program.
    pub fn about(self, text: impl Into<String>) -> Task {
        Task { about: Some(text.into()), ..self }
    }

    /// Attaches parts after the words.
    pub fn attach(mut self, parts: impl IntoIterator<Item = Part>) -> Task {
        self.attached.extend(parts);
        self
    }

    /// Converts the task to a message. If the message has other parts, the part that a person typed is marked.
    pub fn message(self) -> Mail {
        let is_alone = self.about.is_none() && self.attached.is_empty();
        let which = if is_alone { None } else { Some(u16::from(self.about.is_some())) };
        Mail::Message { mode: MessageMode::Message, parts: self.parts(), typed: which }
    }

    /// The parts of the message.
    pub(crate) fn parts(self) -> Vec<Part> {
        // Texts are joined by one line break, so this makes an empty line between the two.
        let about = self.about.map(|text| Part::text(format!("{text}\n")));
        about.into_iter().chain([Part::text(self.typed)]).chain(self.attached).collect()
    }
}

impl Host {
    /// Reads a task for an agent with this spec: returns the message that loads the skill if the task begins with `/NAME`, and the rest of the task.
    /// Errors: the task is empty, the skill cannot be used, or no skill has this name.
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
