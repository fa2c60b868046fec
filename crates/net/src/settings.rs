//! The pieces that the tools' configurations are made of. What is wrong in them is told when the file is read, so with its
//! line.

use crate::error::{AddressProblem, NotReady, SettingError};
use mainpath_tools::{Rate, Schema};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Gives the value of a secret by its name: from the environment, or from the configuration.
pub type Secret<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An address that the owner has written: http or https, without user and password.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub struct WebAddress(#[schemars(with = "String")] pub(crate) Url);

impl WebAddress {
    /// The address.
    pub fn url(&self) -> &Url {
        &self.0
    }
}

impl TryFrom<String> for WebAddress {
    type Error = SettingError;

    fn try_from(text: String) -> Result<WebAddress, SettingError> {
        match Url::parse(&text).map(|url| (web(&url), url)) {
            Ok((Ok(()), url)) => Ok(WebAddress(url)),
            Ok((Err(problem), _)) => Err(SettingError::Address { text, problem }),
            Err(error) => Err(SettingError::NotAnAddress { text, problem: error.to_string() }),
        }
    }
}

/// Checks that requests can be sent to an address. Errors: they cannot.
pub(crate) fn web(url: &Url) -> Result<(), AddressProblem> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressProblem::Scheme);
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(AddressProblem::NoHost);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressProblem::Credentials);
    }
    Ok(())
}

/// The name of a secret: of an environment variable, or of an entry of `[secrets]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub struct SecretName(String);

impl TryFrom<String> for SecretName {
    type Error = SettingError;

    fn try_from(name: String) -> Result<SecretName, SettingError> {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        match name.len() <= 100 && name.starts_with(|first: char| !first.is_ascii_digit()) && name.chars().all(fits) {
            true => Ok(SecretName(name)),
            false => Err(SettingError::SecretName),
        }
    }
}

impl SecretName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value. Errors: there is none.
    pub fn value(&self, secret: Secret<'_>) -> Result<String, NotReady> {
        let SecretName(name) = self;
        let value = secret(name).filter(|value| !value.is_empty());
        value.ok_or_else(|| NotReady::NoSecret(name.clone()))
    }
}

/// How often a tool may be called: `"10/1m"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
pub struct CallRate(#[schemars(with = "String")] pub Rate);

impl TryFrom<String> for CallRate {
    type Error = SettingError;

    fn try_from(text: String) -> Result<CallRate, SettingError> {
        let parsed = text.split_once('/').and_then(|(calls, per)| {
            let (calls, per) = (calls.trim().parse().ok()?, humantime::parse_duration(per.trim()).ok()?);
            (calls > 0 && !per.is_zero()).then_some(CallRate(Rate { calls, per }))
        });
        parsed.ok_or(SettingError::Rate(text))
    }
}

/// Seconds, from 1 to an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "u64")]
pub struct Seconds(#[schemars(with = "u64")] Duration);

impl TryFrom<u64> for Seconds {
    type Error = SettingError;

    fn try_from(seconds: u64) -> Result<Seconds, SettingError> {
        match seconds {
            1..=3_600 => Ok(Seconds(Duration::from_secs(seconds))),
            _ => Err(SettingError::Seconds(seconds)),
        }
    }
}

/// Any time, for a program that does not read it from a file.
impl From<Duration> for Seconds {
    fn from(time: Duration) -> Seconds {
        Seconds(time)
    }
}

impl Seconds {
    /// The time, or this many seconds where nothing is said.
    pub(crate) fn or(this: Option<Seconds>, seconds: u64) -> Duration {
        this.map_or(Duration::from_secs(seconds), |seconds| seconds.0)
    }
}

/// A JSON Schema for an object: a table, or the path of a JSON file.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSchema(pub Value);

impl schemars::JsonSchema for InputSchema {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "InputSchema".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": ["object", "string"]})
    }
}

impl<'de> Deserialize<'de> for InputSchema {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<InputSchema, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            File(PathBuf),
            Table(serde_json::Map<String, Value>),
        }
        let wrong = <D::Error as serde::de::Error>::custom::<String>;
        let schema = match Form::deserialize(from)? {
            Form::Table(table) => Value::Object(table),
            Form::File(path) => {
                let bad =
                    |why: &dyn std::fmt::Display| wrong(format!("the schema {} cannot be used: {why}", path.display()));
                if !path.is_absolute() {
                    return Err(bad(&"write its whole path, from / on"));
                }
                let text = std::fs::read_to_string(&path).map_err(|error| bad(&error))?;
                serde_json::from_str(&text).map_err(|error| bad(&error))?
            }
        };
        match Schema::new(&schema) {
            Ok(_) => Ok(InputSchema(schema)),
            Err(why) => Err(wrong(format!("the schema cannot be used: {why}"))),
        }
    }
}

/// Texts by their names that the owner has written: headers, variables. `{{secret:NAME}}` in one stands for a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct SecretTexts(BTreeMap<String, String>);

impl SecretTexts {
    /// The names of the secrets in them.
    pub fn secrets(&self) -> Vec<String> {
        let mut names = Vec::new();
        for value in self.0.values() {
            let _ = fill(value, &mut |name| {
                names.push(name.into());
                Ok(String::new())
            });
        }
        names
    }

    /// Them, with the secrets in their places. Errors: a secret that is not set.
    pub fn filled(&self, secret: Secret<'_>) -> Result<Vec<(String, String)>, NotReady> {
        let mut lookup = |wanted: &str| SecretName::try_from(wanted.to_string())?.value(secret);
        self.0.iter().map(|(name, value)| Ok((name.clone(), fill(value, &mut lookup)?))).collect()
    }

    /// Them as headers, with the secrets in their places. Errors: a secret that is not set, or what cannot be sent.
    pub fn headers(&self, secret: Secret<'_>) -> Result<HeaderMap, NotReady> {
        let mut headers = HeaderMap::new();
        for (name, value) in self.filled(secret)? {
            let parsed = HeaderName::try_from(&name).ok().zip(HeaderValue::try_from(value).ok());
            let (known, mut value) = parsed.ok_or(NotReady::Header(name))?;
            value.set_sensitive(true);
            headers.insert(known, value);
        }
        Ok(headers)
    }
}

/// The text with each `{{secret:NAME}}` replaced.
fn fill(text: &str, value: &mut dyn FnMut(&str) -> Result<String, NotReady>) -> Result<String, NotReady> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("{{secret:") {
        let Some((name, tail)) = after.split_once("}}") else { break };
        filled.push_str(before);
        filled.push_str(&value(name)?);
        rest = tail;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_what_is_none_is_explained() {
        let rate =
            |text: &str| CallRate::try_from(text.to_string()).map(|CallRate(rate)| (rate.calls, rate.per.as_secs()));
        assert_eq!(rate("10/1m"), Ok((10, 60)));
        assert_eq!(rate("1 / 2h"), Ok((1, 7_200)));
        for text in ["10", "0/1m", "10/0s", "ten/1m", "10/1x", "-1/1m", ""] {
            let problem = rate(text).unwrap_err().to_string();
            assert_eq!(problem, format!("{text:?} is not a rate; write calls and time, such as 10/1m"));
        }
    }

    #[test]
    fn secrets_take_their_places_in_headers_and_nowhere_else() {
        let headers = SecretTexts([("Authorization".into(), "Bearer {{secret:KEY}} {{secret:".into())].into());
        assert_eq!(headers.secrets(), ["KEY"]);
        let filled = headers.headers(&|name| (name == "KEY").then(|| "k{{secret:X}}".into())).unwrap();
        assert_eq!(filled["authorization"], "Bearer k{{secret:X}} {{secret:");
        assert!(!format!("{filled:?}").contains("Bearer"));
        let missing = headers.headers(&|_| None).unwrap_err();
        assert_eq!(missing.to_string(), "KEY is not set; set that variable, or KEY under [secrets]");
        let injected = headers.headers(&|_| Some("a\r\nX: y".into())).unwrap_err();
        assert_eq!(injected.to_string(), "the header \"Authorization\" cannot be sent");
    }

    #[test]
    fn a_secret_that_stands_where_its_name_belongs_is_not_repeated() {
        let told = SecretName::try_from("sk-1234".to_string()).unwrap_err();
        assert_eq!(told.to_string(), "this must be the name of a secret (letters, digits and _), not its value");
    }
}
