//! People whom agents ask and tell something by channels: webhook, Feishu, e-mail (`[people]` of the configuration).

mod desk;
mod messenger;
mod tools;

pub use desk::AnswerDesk;
pub use mainpath_people::{Channel, Contact, People, PeopleConfig, listen};

/// What is posted to Mainpath by people and by other systems' agents, for a server of one's own.
pub mod replies {
    pub use mainpath_people::{Desk, Keys, Request, Response, handle};
}

/// Signatures of messages and replies, as Standard Webhooks has them.
pub mod signing {
    pub use mainpath_people::{Signed, sign, verify};
}
pub(crate) use messenger::Sender;
pub(crate) use tools::{Agents, Inboxes, offer, offer_agents};
