//! `[people]` of the configuration: contacts and channels. Secrets are named, never written here.

use crate::error::{ConfigError, ContactError, EmailError};
use crate::message::Channel;
use lettre::address::AddressError;
use lettre::message::Mailbox;
use mainpath_net::{SecretName, WebAddress};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// `[people]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PeopleConfig {
    /// The contact who is asked where a question names nobody. Without it, whoever follows the run.
    pub ask: Option<String>,
    /// Whether agents can send messages to one another, and read those of other systems: `send_message` and `check_messages`.
    pub agents: bool,
    /// `[people.contacts.NAME]`
    pub contacts: BTreeMap<String, Contact>,
    /// `[people.webhook]`
    pub webhook: Option<WebhookConfig>,
    /// `[people.feishu]`
    pub feishu: Option<FeishuConfig>,
    /// `[people.email]`
    pub email: Option<EmailConfig>,
    /// `[people.listen]`
    pub listen: ListenConfig,
}

/// `[people.contacts.NAME]`: the ways to a person.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Contact {
    /// Whether the webhook reaches this person.
    pub webhook: bool,
    /// The person's open_id (`ou_…`) in Feishu, or a group's chat_id (`oc_…`).
    pub feishu: Option<String>,
    /// The e-mail address.
    pub email: Option<String>,
    /// The channels in the order in which they are tried; webhook, feishu, email where nothing is said.
    pub channels: Vec<Channel>,
}

/// `[people.webhook]`: messages are posted as JSON, signed as Standard Webhooks has it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// The address.
    pub url: WebAddress,
    /// The name of the secret that messages and replies are signed with.
    pub secret: SecretName,
}

/// `[people.feishu]`: an app of one's own on the Feishu open platform, with a bot.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeishuConfig {
    /// The app's id (`cli_…`).
    pub app_id: String,
    /// The name of the secret that is the app's secret.
    pub app_secret: SecretName,
    /// The name of the secret that is the Encrypt Key of events and callbacks. Replies need it, or a verification token.
    pub encrypt_key: Option<SecretName>,
    /// The name of the secret that is their Verification Token.
    pub verification_token: Option<SecretName>,
    /// The platform's address, `https://open.larksuite.com` for Lark; `https://open.feishu.cn` where nothing is said.
    pub url: Option<WebAddress>,
}

/// `[people.email]`: mail that goes out by SMTP.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmailConfig {
    /// The server.
    pub host: String,
    /// Its port; 587 for `starttls`, 465 for `tls`, 25 for `none` where nothing is said.
    pub port: Option<u16>,
    /// How the connection is encrypted; `starttls` where nothing is said.
    #[serde(default)]
    pub security: Security,
    /// The sender, such as `Mainpath <agent@example.com>`.
    pub from: String,
    /// Where replies go to.
    pub reply_to: Option<String>,
    /// The user, if the server wants one.
    pub user: Option<String>,
    /// The name of the secret that is the password.
    pub password: Option<SecretName>,
}

/// How the connection to a mail server is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Security {
    /// It begins in the clear and must be encrypted before anything is said (STARTTLS).
    #[default]
    Starttls,
    /// It is encrypted from the first byte.
    Tls,
    /// It is not encrypted. Only to this machine.
    None,
}

/// `[people.listen]`: where `mainpath people listen` hears replies.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListenConfig {
    /// The address; `127.0.0.1:8010` where nothing is said.
    pub address: Option<SocketAddr>,
}

impl PeopleConfig {
    /// The names of the secrets that are used here.
    pub fn secrets(&self) -> Vec<String> {
        let webhook = self.webhook.iter().map(|webhook| &webhook.secret);
        let feishu = self.feishu.iter().flat_map(|feishu| {
            [Some(&feishu.app_secret), feishu.encrypt_key.as_ref(), feishu.verification_token.as_ref()]
                .into_iter()
                .flatten()
        });
        let email = self.email.iter().filter_map(|email| email.password.as_ref());
        webhook.chain(feishu).chain(email).map(|name| name.as_str().to_string()).collect()
    }

    /// The section that is missing for a channel to be used.
    pub fn missing(&self, channel: Channel) -> Option<&'static str> {
        match channel {
            Channel::Webhook => self.webhook.is_none().then_some("[people.webhook]"),
            Channel::Feishu => self.feishu.is_none().then_some("[people.feishu]"),
            Channel::Email => self.email.is_none().then_some("[people.email]"),
        }
    }

    /// The name of the secret that a channel sends with, if it needs one.
    pub fn sends_with(&self, channel: Channel) -> Option<&str> {
        let name = match channel {
            Channel::Webhook => self.webhook.as_ref().map(|webhook| &webhook.secret),
            Channel::Feishu => self.feishu.as_ref().map(|feishu| &feishu.app_secret),
            Channel::Email => self.email.as_ref().and_then(|email| email.password.as_ref()),
        };
        name.map(|name| name.as_str())
    }

    /// Checks what can never work. Errors: the first key that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        if let Some(name) = self.ask.as_ref().filter(|name| !self.contacts.contains_key(*name)) {
            return Err(ConfigError::Ask(name.clone()));
        }
        for (name, contact) in &self.contacts {
            let wrong = |problem| Err(ConfigError::Contact { name: name.clone(), problem });
            let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
            if name.is_empty()
                || name.len() > 64
                || !name.chars().all(fits)
                || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
            {
                return wrong(ContactError::Name);
            }
            // They mean somebody else in a log.
            if ["user", "system"].contains(&name.as_str())
                || ["agent.", "hook.", "rule."].iter().any(|kind| name.starts_with(kind))
            {
                return wrong(ContactError::Reserved);
            }
            for channel in contact.ways() {
                if let Some(part) = self.missing(channel) {
                    return wrong(ContactError::NoSection(part));
                }
            }
            for channel in &contact.channels {
                if !contact.has(*channel) {
                    return wrong(ContactError::NoAddress(*channel));
                }
            }
        }
        if let Some(email) = &self.email {
            email.check()?;
        }
        Ok(())
    }
}

impl Contact {
    /// Whether a channel reaches this person.
    pub fn has(&self, channel: Channel) -> bool {
        match channel {
            Channel::Webhook => self.webhook,
            Channel::Feishu => self.feishu.is_some(),
            Channel::Email => self.email.is_some(),
        }
    }

    /// The channels to this person, in the order in which they are tried.
    pub fn ways(&self) -> Vec<Channel> {
        match self.channels.as_slice() {
            [] => [Channel::Webhook, Channel::Feishu, Channel::Email]
                .into_iter()
                .filter(|channel| self.has(*channel))
                .collect(),
            named => named.to_vec(),
        }
    }
}

impl EmailConfig {
    /// Checks that mail can be sent so. Errors: what is wrong with the configuration.
    pub(crate) fn check(&self) -> Result<(), EmailError> {
        mailbox("from", &self.from)?;
        self.reply_to.as_deref().map(|text| mailbox("reply_to", text)).transpose()?;
        if self.security == Security::None && !is_here(&self.host) {
            return Err(EmailError::Unencrypted(self.host.clone()));
        }
        if self.user.is_some() != self.password.is_some() {
            return Err(EmailError::UserAndPassword);
        }
        Ok(())
    }
}

/// Reads the address in a field.
pub(crate) fn mailbox(field: &'static str, text: &str) -> Result<Mailbox, EmailError> {
    text.parse().map_err(|error: AddressError| EmailError::Address {
        field,
        text: text.into(),
        problem: error.to_string(),
    })
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
