//! The channels of a configuration, and messages to its contacts by them.

use crate::config::PeopleConfig;
use crate::email::Email;
use crate::error::{ChannelError, RecipientError};
use crate::feishu::api::{Feishu, Listed};
use crate::handle::Keys;
use crate::message::{Channel, Outgoing, Sent, Unsent};
use crate::webhook::Webhook;
use mainpath_net::{Client, Secret};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long is waited before each further try of one sending.
const WAITS: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];
/// How a person of Feishu who is no contact is written.
const FEISHU: &str = "feishu:";

/// The channels of a configuration.
pub struct People {
    config: PeopleConfig,
    webhook: Option<Webhook>,
    feishu: Option<Feishu>,
    email: Option<Email>,
}

/// Seconds since 1970.
pub(crate) fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl People {
    /// The channels of this configuration. Errors: a secret is missing, or a channel cannot be used.
    pub fn new(config: PeopleConfig, client: &Client, secret: Secret<'_>) -> Result<People, ChannelError> {
        config.check()?;
        Ok(People {
            webhook: config.webhook.as_ref().map(|webhook| Webhook::new(client, webhook, secret)).transpose()?,
            feishu: config.feishu.as_ref().map(|feishu| Feishu::new(client, feishu, secret)).transpose()?,
            email: config.email.as_ref().map(|email| Email::new(email, secret)).transpose()?,
            config,
        })
    }

    /// The configuration.
    pub fn config(&self) -> &PeopleConfig {
        &self.config
    }

    /// What replies are known by to be genuine.
    pub fn keys(&self) -> Keys<'_> {
        let feishu = self.feishu.as_ref();
        Keys {
            webhook: self.webhook.as_ref().map(|webhook| webhook.secret.as_str()),
            has_feishu: feishu.is_some(),
            encrypt_key: feishu.and_then(|feishu| feishu.encrypt_key.as_deref()),
            verification_token: feishu.and_then(|feishu| feishu.verification_token.as_deref()),
        }
    }

    /// Whether a message can go to somebody of this name. Errors: why not, for who named him.
    pub fn check(&self, to: &str) -> Result<(), RecipientError> {
        if let Some(id) = to.strip_prefix(FEISHU) {
            let fits = |prefix| {
                id.strip_prefix(prefix)
                    .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric()))
            };
            return match self.feishu.is_some() && (fits("ou_") || fits("oc_")) {
                true => Ok(()),
                false => Err(RecipientError::Feishu(to.into())),
            };
        }
        match self.config.contacts.get(to) {
            Some(contact) if contact.ways().is_empty() => Err(RecipientError::NoAddress(to.into())),
            Some(_) => Ok(()),
            None => {
                let names: Vec<&str> = self.config.contacts.keys().map(String::as_str).collect();
                Err(RecipientError::Unknown { name: to.into(), known: names.join(", ") })
            }
        }
    }

    /// Sends a message to a contact, by the first of the contact's channels that takes it. Each is tried a few times where that may
    /// help. Errors: none took it.
    pub async fn send(&self, to: &str, message: &Outgoing) -> Result<Sent, Unsent> {
        self.check(to).map_err(|error| Unsent::for_good(error.to_string()))?;
        if let Some(id) = to.strip_prefix(FEISHU) {
            return self.patiently(Channel::Feishu, to, id, message).await;
        }
        let Some(contact) = self.config.contacts.get(to) else {
            return Err(Unsent::for_good("there is no such contact"));
        };
        let (mut problems, mut again) = (Vec::new(), false);
        for channel in contact.ways() {
            let address = match channel {
                Channel::Webhook => Some(to),
                Channel::Feishu => contact.feishu.as_deref(),
                Channel::Email => contact.email.as_deref(),
            };
            match self.patiently(channel, to, address.unwrap_or_default(), message).await {
                Ok(sent) => return Ok(sent),
                Err(unsent) => {
                    again |= unsent.again;
                    problems.push(unsent.problem);
                }
            }
        }
        Err(Unsent { problem: problems.join("; "), again })
    }

    async fn patiently(&self, channel: Channel, to: &str, address: &str, message: &Outgoing) -> Result<Sent, Unsent> {
        let mut waits = WAITS.into_iter();
        loop {
            match self.once(channel, to, address, message).await {
                Ok(receipt) => return Ok(Sent { channel, receipt }),
                Err(unsent) if !unsent.again => return Err(unsent),
                Err(unsent) => match waits.next() {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => return Err(unsent),
                },
            }
        }
    }

    async fn once(
        &self,
        channel: Channel,
        to: &str,
        address: &str,
        message: &Outgoing,
    ) -> Result<Option<String>, Unsent> {
        let missing = || Unsent::for_good(format!("[people.{channel}] is missing"));
        match channel {
            Channel::Webhook => {
                let webhook = self.webhook.as_ref().ok_or_else(missing)?;
                webhook.send(to, message, seconds()).await.map(|()| None)
            }
            Channel::Feishu => self.feishu.as_ref().ok_or_else(missing)?.send(address, message).await,
            Channel::Email => self.email.as_ref().ok_or_else(missing)?.send(address, message).await.map(|()| None),
        }
    }

    /// The people of the Feishu organisation, where there is one.
    pub async fn feishu_contacts(&self) -> Result<Vec<Listed>, Unsent> {
        match &self.feishu {
            Some(feishu) => feishu.contacts().await,
            None => Err(Unsent::for_good("[people.feishu] is missing")),
        }
    }
}
