//! E-mail by SMTP. What comes back goes to people: the subject holds the question's id.

use crate::config::{EmailConfig, Security, mailbox};
use crate::error::{ChannelError, EmailError};
use crate::message::{Kind, Outgoing, Unsent};
use lettre::message::{Mailbox, header};
use lettre::transport::smtp::AsyncSmtpTransport;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncTransport, Message, Tokio1Executor};
use mainpath_net::Secret;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(20);
/// The most of a question in a subject.
const SUBJECT: usize = 80;

/// Sends mail by one server.
pub(crate) struct Email {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    reply_to: Option<Mailbox>,
    domain: String,
}

impl Email {
    /// Errors: a secret is missing, or the configuration cannot be used.
    pub fn new(config: &EmailConfig, secret: Secret<'_>) -> Result<Email, ChannelError> {
        config.check()?;
        let tls =
            || TlsParameters::new(config.host.clone()).map_err(|error| EmailError::Tls { problem: error.to_string() });
        let (tls, usual) = match config.security {
            Security::Starttls => (Tls::Required(tls()?), 587),
            Security::Tls => (Tls::Wrapper(tls()?), 465),
            Security::None => (Tls::None, 25),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&config.host);
        let mut builder = builder.port(config.port.unwrap_or(usual)).tls(tls).timeout(Some(LIMIT));
        if let (Some(user), Some(password)) = (&config.user, &config.password) {
            builder = builder.credentials(Credentials::new(user.clone(), password.value(secret)?));
        }
        let from = mailbox("from", &config.from)?;
        let domain = from.email.domain().to_string();
        Ok(Email {
            transport: builder.build(),
            from,
            reply_to: config.reply_to.as_deref().map(|text| mailbox("reply_to", text)).transpose()?,
            domain,
        })
    }

    /// Sends a message once. Errors: it was not taken.
    pub async fn send(&self, to: &str, message: &Outgoing) -> Result<(), Unsent> {
        let no_address = |error| Unsent::for_good(format!("{to:?} is no address: {error}"));
        let to: Mailbox = to.parse().map_err(no_address)?;
        let mut builder = Message::builder().from(self.from.clone()).to(to).subject(subject(message));
        if let Some(reply_to) = &self.reply_to {
            builder = builder.reply_to(reply_to.clone());
        }
        // The same whenever it is sent, so that mail programs show it once.
        let id = format!("<{}@{}>", message.id.replace(['/', '@'], "."), self.domain);
        let builder = builder.message_id(Some(id)).header(header::ContentType::TEXT_PLAIN);
        let cannot = |error| Unsent::for_good(format!("the mail cannot be written: {error}"));
        let mail = builder.body(body(message)).map_err(cannot)?;
        match tokio::time::timeout(LIMIT, self.transport.send(mail)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) if error.is_permanent() => {
                Err(Unsent::for_good(format!("the mail server refused it: {error}")))
            }
            Ok(Err(error)) => Err(Unsent::for_now(format!("the mail server did not take it: {error}"))),
            Err(_) => Err(Unsent::for_now("the mail server took too long")),
        }
    }
}

fn subject(message: &Outgoing) -> String {
    let line = message.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(SUBJECT).collect();
    let dots = if short.len() < line.len() { "…" } else { "" };
    match message.kind {
        Kind::Question => format!("[question {}] {short}{dots}", message.id),
        Kind::Message => format!("[message from {}] {short}{dots}", message.trace),
    }
}

fn body(message: &Outgoing) -> String {
    let answer = match (message.kind, message.id.split_once('/')) {
        (Kind::Question, Some((trace, call))) => {
            format!(
                "\n\nTo answer, on the machine of the agent:\n\n    mainpath answer {trace} {call} \"YOUR ANSWER\"\n    mainpath resume {trace}\n"
            )
        }
        _ => "\n".into(),
    };
    message.in_words() + &answer
}
