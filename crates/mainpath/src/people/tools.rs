//! `send_message` and `feishu_get_contact_list`.

use crate::inbox::{AgentMessage, Left, leave};
use mainpath_people::{Channel, Kind, Outgoing, People, Sent};
use mainpath_runtime::Vault;
use mainpath_store::{Scope, Store};
use mainpath_tools::{CheckMessages, Fut, Problem, Tool, ToolContext, ToolDoc, Tools};
use mainpath_types::{EffectClass, Origin, ToolOutput, TraceId};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Write;
use std::sync::Arc;

/// Adds the tools for which there are channels.
pub(crate) fn offer(tools: &Tools, people: &Arc<People>) {
    let config = people.config();
    // Clones are one registry.
    if !config.contacts.is_empty() || config.feishu.is_some() {
        drop(tools.clone().with(SendMessage { people: Some(Arc::clone(people)), agents: Agents::None }));
    }
    if config.feishu.is_some() {
        drop(tools.clone().with(FeishuContacts(Arc::clone(people))));
    }
}

/// Adds the tools by which agents write to one another.
pub(crate) fn offer_agents(tools: &Tools, people: Option<Arc<People>>, agents: Agents) {
    drop(tools.clone().with(CheckMessages).with(SendMessage { people, agents }));
}

/// Where the inboxes of traces are.
pub(crate) struct Inboxes {
    pub store: Arc<dyn Store>,
    pub scope: Scope,
    pub vault: Vault,
}

/// Whether agents can be written to.
pub(crate) enum Agents {
    /// They cannot.
    None,
    /// They can, where agents work; here the tool is only shown.
    Somewhere,
    /// They can, here.
    At(Inboxes),
}

struct SendMessage {
    people: Option<Arc<People>>,
    agents: Agents,
}

impl SendMessage {
    fn to_agents(&self) -> bool {
        !matches!(self.agents, Agents::None)
    }
}

/// How another agent is written, and the one that started this one.
const AGENT: &str = "agent.";
const PARENT: &str = "agent.parent";

/// Arguments of `send_message`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendMessageArgs {
    /// To whom.
    #[schemars(length(min = 1, max = 210))]
    to: String,
    /// The message.
    #[schemars(length(min = 1, max = 8000))]
    text: String,
}

impl Tool for SendMessage {
    type Args = SendMessageArgs;
    const NAME: &'static str = "send_message";

    fn describe(&self) -> ToolDoc {
        let config = self.people.as_ref().map(|people| people.config());
        let mut text = String::from("Sends a message that needs no answer");
        if let Some(config) = config {
            let names: Vec<&str> = config.contacts.keys().map(String::as_str).collect();
            text.push_str("; to ask a person something, use ask_human.");
            if !names.is_empty() {
                let _ = write!(text, " Contacts: {}.", names.join(", "));
            }
            if config.feishu.is_some() {
                text.push_str(" Others: feishu: and an open_id or chat_id.");
            }
        } else {
            text.push('.');
        }
        if self.to_agents() {
            let _ = write!(text, " Other agents: {AGENT} and the trace id, or {PARENT} for the one that started you.");
        }
        ToolDoc::new(text, EffectClass::MessageSend)
    }

    fn check(&self, args: &SendMessageArgs) -> Result<(), Problem> {
        if args.text.trim().is_empty() {
            return Err(Problem::new("invalid_arguments", "The message is empty."));
        }
        if self.to_agents() && args.to.starts_with(AGENT) {
            return Ok(());
        }
        let checked = match &self.people {
            Some(people) => people.check(&args.to).map_err(|error| error.to_string()),
            None => Err(format!("{:?} is no agent: write {AGENT} and its trace id", args.to)),
        };
        checked.map_err(|why| Problem::new("invalid_arguments", format!("Not sent: {why}.")))
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: SendMessageArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            // Secrets were put in for the call; they go no further.
            let text = ctx.secrets.redact(&args.text);
            let id = ctx.grant.effect_id().to_string();
            if let (Agents::At(inboxes), true) = (&self.agents, args.to.starts_with(AGENT)) {
                return to_agent(inboxes, ctx, &args.to, text, id).await;
            }
            let Some(people) = &self.people else {
                return ToolOutput::failed("unavailable", "Not sent: there are no channels to people.");
            };
            let message = Outgoing {
                id,
                kind: Kind::Message,
                trace: ctx.trace.as_ref().map(ToString::to_string).unwrap_or_default(),
                text,
                choices: Vec::new(),
                files: Vec::new(),
                expires_at: None,
                default: None,
            };
            match ctx.until_stopped(people.send(&args.to, &message)).await {
                None => ctx.stopped(),
                Some(Ok(Sent { channel, .. })) => ToolOutput::text(format!("Sent to {} by {channel}.", args.to)),
                Some(Err(unsent)) => ToolOutput::failed("unavailable", format!("Not sent: {}.", unsent.problem)),
            }
        })
    }
}

/// Leaves a message in the inbox of another trace.
async fn to_agent(inboxes: &Inboxes, ctx: &ToolContext, to: &str, text: String, id: String) -> ToolOutput {
    let failed = |why: String| ToolOutput::failed("unavailable", format!("Not sent: {why}."));
    let Some(own) = &ctx.trace else { return failed("only an agent with a trace can send".into()) };
    let name = match to {
        PARENT => match own.parent() {
            Some(parent) => parent,
            None => return failed("no agent started you".into()),
        },
        _ => to.trim_start_matches(AGENT),
    };
    let Ok(trace) = name.parse::<TraceId>() else { return failed(format!("{name:?} is not the id of a trace")) };
    if trace == *own {
        return failed("that is you".into());
    }
    let message = AgentMessage::new(own.as_str(), text).with_id("call", &id);
    match leave(&*inboxes.store, &inboxes.scope, &inboxes.vault, &trace, &message).await {
        Ok(Left::Waits | Left::Before) => {
            ToolOutput::text(format!("Left for {AGENT}{trace}; it reads it when it looks."))
        }
        Err(error) => failed(error.message().trim_end_matches('.').into()),
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
