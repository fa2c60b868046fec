//! `send_message` and `feishu_get_contact_list`.

use mainpath_people::{Channel, Kind, Outgoing, People, Sent};
use mainpath_tools::{Fut, Problem, Tool, ToolContext, ToolDoc, Tools};
use mainpath_types::{EffectClass, Origin, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// Adds the tools for which there are channels.
pub(crate) fn offer(tools: &Tools, people: &Arc<People>) {
    let config = people.config();
    // Clones are one registry.
    if !config.contacts.is_empty() || config.feishu.is_some() {
        drop(tools.clone().with(SendMessage(Arc::clone(people))));
    }
    if config.feishu.is_some() {
        drop(tools.clone().with(FeishuContacts(Arc::clone(people))));
    }
}

struct SendMessage(Arc<People>);

/// Arguments of `send_message`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendMessageArgs {
    /// The contact, by name; or `feishu:` and an open_id or chat_id.
    #[schemars(length(min = 1, max = 200))]
    to: String,
    /// The message.
    #[schemars(length(min = 1, max = 8000))]
    text: String,
}

impl Tool for SendMessage {
    type Args = SendMessageArgs;
    const NAME: &'static str = "send_message";

    fn describe(&self) -> ToolDoc {
        let names: Vec<&str> = self.0.config().contacts.keys().map(String::as_str).collect();
        let known = if names.is_empty() { String::new() } else { format!(" Contacts: {}.", names.join(", ")) };
        ToolDoc::new(
            format!("Sends a person a message that needs no answer; to ask something, use ask_human.{known}"),
            EffectClass::MessageSend,
        )
    }

    fn check(&self, args: &SendMessageArgs) -> Result<(), Problem> {
        if args.text.trim().is_empty() {
            return Err(Problem::new("invalid_arguments", "The message is empty."));
        }
        self.0.check(&args.to).map_err(|why| Problem::new("invalid_arguments", format!("Not sent: {why}.")))
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: SendMessageArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let message = Outgoing {
                id: ctx.grant.effect_id().to_string(),
                kind: Kind::Message,
                trace: ctx.trace.as_ref().map(ToString::to_string).unwrap_or_default(),
                // Secrets were put in for the call; they go no further.
                text: ctx.secrets.redact(&args.text),
                choices: Vec::new(),
                files: Vec::new(),
                expires_at: None,
                default: None,
            };
            match ctx.until_stopped(self.0.send(&args.to, &message)).await {
                None => ctx.stopped(),
                Some(Ok(Sent { channel, .. })) => ToolOutput::text(format!("Sent to {} by {channel}.", args.to)),
                Some(Err(unsent)) => ToolOutput::failed("unavailable", format!("Not sent: {}.", unsent.problem)),
            }
        })
    }
}

struct FeishuContacts(Arc<People>);

/// Arguments of `feishu_get_contact_list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FeishuContactsArgs {
    /// Only people whose name has this in it.
    #[serde(default)]
    #[schemars(length(max = 100))]
    name: Option<String>,
}

impl Tool for FeishuContacts {
    type Args = FeishuContactsArgs;
    const NAME: &'static str = "feishu_get_contact_list";

    fn describe(&self) -> ToolDoc {
        let text = "Lists the people of the Feishu organisation with their open_ids, to which send_message can write.";
        ToolDoc { origin: Origin::Web, ..ToolDoc::new(text, EffectClass::ReadOnly) }
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: FeishuContactsArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let listed = match ctx.until_stopped(self.0.feishu_contacts()).await {
                None => return ctx.stopped(),
                Some(Err(unsent)) => return ToolOutput::failed("unavailable", format!("No list: {}.", unsent.problem)),
                Some(Ok(listed)) => listed,
            };
            let contacts = &self.0.config().contacts;
            let wanted = args.name.unwrap_or_default().to_lowercase();
            let fitting = listed.into_iter().filter(|one| one.name.to_lowercase().contains(&wanted));
            let lines = fitting.map(|one| {
                let is_this = |address: &Option<String>| address.as_deref() == Some(one.open_id.as_str());
                let known =
                    contacts.iter().find(|(_, contact)| contact.has(Channel::Feishu) && is_this(&contact.feishu));
                match known {
                    Some((name, _)) => format!("{} feishu:{} (contact {name})", one.name, one.open_id),
                    None => format!("{} feishu:{}", one.name, one.open_id),
                }
            });
            let lines: Vec<String> = lines.collect();
            let text = if lines.is_empty() { "Nobody is listed.".into() } else { lines.join("\n") };
            ToolOutput { origin: Origin::Web, ..ToolOutput::text(text) }
        })
    }
}
