//! `feishu_bot`.

use crate::ask::Ask;
use crate::client::{Caps, Client, stay};
use crate::error::NotReady;
use crate::settings::{CallRate, Seconds, Secret, SecretName, WebAddress};
use crate::show::{doc, failed, head, refused};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use mainpath_tools::{Fut, Problem, Tool, ToolContext, ToolDoc};
use mainpath_types::{EffectClass, ToolOutput};
use reqwest::Url;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::Sha256;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The largest message that is sent, in bytes.
const LARGEST: usize = 20 * 1024;

/// `[tools.feishu_bot]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeishuBotConfig {
    /// The name of the secret that is the webhook's address. Who knows it can write to the group.
    pub webhook: SecretName,
    /// The name of the secret for signatures, if the bot has signature verification switched on.
    pub secret: Option<SecretName>,
    /// How often.
    pub rate: Option<CallRate>,
    /// Seconds that sending may take; 15 where nothing is said.
    pub timeout_s: Option<Seconds>,
}

/// Sends messages to a Feishu group by a custom bot.
pub struct FeishuBot {
    client: Client,
    webhook: Url,
    secret: Option<String>,
    rate: Option<CallRate>,
    limit: Duration,
}

impl FeishuBot {
    /// With this client and configuration. Errors: what is missing.
    pub fn new(client: &Client, config: &FeishuBotConfig, secret: Secret<'_>) -> Result<FeishuBot, NotReady> {
        let webhook = WebAddress::try_from(config.webhook.value(secret)?);
        // What is wrong with it would show what it is.
        let no_address = |_| NotReady::Secret { name: config.webhook.as_str().into(), found: "no address" };
        let WebAddress(webhook) = webhook.map_err(no_address)?;
        let secret = config.secret.as_ref().map(|name| name.value(secret)).transpose()?;
        let limit = Seconds::or(config.timeout_s, 15);
        Ok(FeishuBot { client: client.trusting(&webhook), webhook, secret, rate: config.rate, limit })
    }
}

/// The signature of a moment, in seconds since 1970: HMAC-SHA256 with the moment, a line break and the secret as its key over
/// nothing at all, in base64 (Feishu Open Platform, "Custom bot usage guide", signature verification).
fn signature(timestamp: u64, secret: &str) -> String {
    let key = format!("{timestamp}\n{secret}");
    // A key of any length is one.
    let mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).map(|mac| mac.finalize().into_bytes());
    mac.map(|mac| STANDARD.encode(mac)).unwrap_or_default()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeishuBotArgs {
    /// The message, as text.
    text: Option<String>,
    /// The message, as a card in Feishu's JSON. Not together with text.
    card: Option<Map<String, Value>>,
}

impl Tool for FeishuBot {
    type Args = FeishuBotArgs;
    const NAME: &'static str = "feishu_bot";

    fn describe(&self) -> ToolDoc {
        doc(
            "Sends a message to the Feishu group of this installation: a text or a card.",
            EffectClass::MessageSend,
            self.rate,
        )
    }

    fn check(&self, args: &FeishuBotArgs) -> Result<(), Problem> {
        message(args).map(drop)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: FeishuBotArgs) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            match ctx.until_stopped(self.tell(args)).await {
                None => ctx.stopped(),
                Some(done) => done.map_or_else(failed, ToolOutput::text),
            }
        })
    }
}

/// The message that a call sends, before it is signed. Errors: it is none, or too large.
fn message(args: &FeishuBotArgs) -> Result<Value, Problem> {
    let message = match (&args.text, &args.card) {
        (Some(text), None) if !text.trim().is_empty() => json!({"msg_type": "text", "content": {"text": text}}),
        (None, Some(card)) => json!({"msg_type": "interactive", "card": card}),
        _ => return Err(Problem::new("invalid_arguments", "Give either text or card, and something in it.")),
    };
    let size = message.to_string().len();
    if size > LARGEST {
        return Err(Problem::new("too_large", format!("The message has {size} bytes; {LARGEST} are the most.")));
    }
    Ok(message)
}

impl FeishuBot {
    async fn tell(&self, args: FeishuBotArgs) -> Result<String, Problem> {
        let mut message = message(&args)?;
        if let Some(secret) = &self.secret {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
            message["timestamp"] = now.to_string().into();
            message["sign"] = signature(now, secret).into();
        }
        let ask = Ask::post(self.webhook.clone(), &message);
        let answer =
            self.client.send(ask, Caps::within(self.limit), &stay).await.map_err(|problem| self.discreet(problem))?;
        if answer.status != 200 {
            return Err(self.discreet(refused("Feishu", &answer)));
        }
        let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        // Older bots answer with the second pair of names.
        let code = told.get("code").or_else(|| told.get("StatusCode")).and_then(Value::as_i64);
        match code {
            Some(0) => Ok("The message was sent.".into()),
            Some(code) => {
                let words =
                    told.get("msg").or_else(|| told.get("StatusMessage")).and_then(Value::as_str).unwrap_or_default();
                Err(Problem::new(
                    "refused",
                    format!("Feishu did not take the message: {} (code {code}).", head(words, 300).0),
                ))
            }
            None => Err(Problem::new("bad_answer", "Feishu's answer does not say whether it took the message.")),
        }
    }

    /// The same without the webhook's address.
    fn discreet(&self, problem: Problem) -> Problem {
        let path = self.webhook.path();
        let text = if path.len() > 1 { problem.text.replace(path, "/…") } else { problem.text };
        Problem { text, ..problem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_what_the_vendors_own_example_computes() {
        // Computed with Python's hmac module, as the vendor's guide shows:
        // base64.b64encode(hmac.new(b"1599360473\nsecret-of-the-bot", b"", hashlib.sha256).digest())
        assert_eq!(signature(1_599_360_473, "secret-of-the-bot"), "2PE4uTmB1h/7dFVGadA1h/B5Q1ATlub+S6wT43bap30=");
    }
}
