//! `[[hooks]]` and `[[context_hooks]]` of the configuration: commands and addresses that are asked or told at points of a run,
//! and those that have a word in reminders.

use super::called::{CallParts, Called, CalledError, Runner};
use super::units::{Time, ToolNamesText};
use mainpath_net::{SecretTexts, WebAddress};
use mainpath_runtime::{ContextHook, Hook, HookError, HookPoint, HookRunner, NamedContextHook, OnFailure};
use mainpath_tools::{Fut, unique_json};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

/// A hook whose entry cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the {kind} {name:?} {problem}")]
pub(crate) struct HookEntryError {
    kind: &'static str,
    name: String,
    problem: HookEntryProblem,
}

/// Why an entry cannot be used.
#[derive(Debug, thiserror::Error)]
enum HookEntryProblem {
    #[error("needs a name of letters, digits, - and _")]
    Name,
    #[error("is never called: set on, such as on = [\"before_tool\"]")]
    NeverCalled,
    #[error(transparent)]
    Called(#[from] CalledError),
}

/// `[[hooks]]`
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// Its name: verdicts cite it as `hook.NAME`.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// Where it is called.
    pub on: Vec<HookPoint>,
    /// The tools that it is called for, by names, aliases and patterns; all, without it.
    #[serde(default)]
    #[schemars(with = "Vec<ToolNamesText>")]
    pub tools: Vec<Spanned<ToolNamesText>>,
    /// The program and its arguments. It starts in the folder of `config.toml`, reads a JSON object and writes one.
    #[serde(default)]
    pub command: Vec<String>,
    /// The address, instead of a command. A JSON object is posted to it, and it answers with one.
    pub url: Option<WebAddress>,
    /// Headers for the address; `{{secret:NAME}}` stands for a secret.
    #[serde(default)]
    pub headers: SecretTexts,
    /// How long it may take; ten seconds, without it.
    pub timeout: Option<Time>,
    /// What follows when it fails: `closed` (it counts as a denial, the default) or `open`.
    #[serde(default)]
    pub on_failure: OnFailure,
}

impl HookEntry {
    /// The hook. Errors: what is wrong with the entry.
    pub(crate) fn build(&self, with: CallParts<'_>) -> Result<Hook, HookEntryError> {
        let name = self.name.get_ref().clone();
        let wrong = |problem| HookEntryError { kind: "hook", name: name.clone(), problem };
        if !is_name(self.name.get_ref()) {
            return Err(wrong(HookEntryProblem::Name));
        }
        if self.on.is_empty() {
            return Err(wrong(HookEntryProblem::NeverCalled));
        }
        let timeout = self.timeout.map_or(Duration::from_secs(10), |time| Duration::from_millis(time.0));
        let called = Called { command: &self.command, url: self.url.as_ref(), headers: &self.headers, timeout };
        let runner = Arc::new(called.build(with).map_err(|error| wrong(error.into()))?);
        Ok(Hook {
            name,
            points: self.on.clone(),
            tools: self.tools.iter().map(|names| names.get_ref().0.clone()).collect(),
            timeout,
            on_failure: self.on_failure,
            runner,
        })
    }
}

/// `[[context_hooks]]`
#[derive(Clone, Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextHookEntry {
    /// Its name, under which the model is told what it says.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The program and its arguments. It starts in the folder of `config.toml`, reads a JSON object and writes a text, or
    /// `{"text": "…"}`.
    #[serde(default)]
    pub command: Vec<String>,
    /// The address, instead of a command. A JSON object is posted to it, and it answers likewise.
    pub url: Option<WebAddress>,
    /// Headers for the address; `{{secret:NAME}}` stands for a secret.
    #[serde(default)]
    pub headers: SecretTexts,
    /// How long it may take; five seconds, without it.
    pub timeout: Option<Time>,
}

impl ContextHookEntry {
    /// The hook. Errors: what is wrong with the entry.
    pub(crate) fn build(&self, with: CallParts<'_>) -> Result<NamedContextHook, HookEntryError> {
        let name = self.name.get_ref().clone();
        let wrong = |problem| HookEntryError { kind: "context hook", name: name.clone(), problem };
        if !is_name(self.name.get_ref()) {
            return Err(wrong(HookEntryProblem::Name));
        }
        let timeout = self.timeout.map_or(Duration::from_secs(5), |time| Duration::from_millis(time.0));
        let called = Called { command: &self.command, url: self.url.as_ref(), headers: &self.headers, timeout };
        let hook = Arc::new(called.build(with).map_err(|error| wrong(error.into()))?);
        Ok(NamedContextHook { name, timeout, hook })
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'))
}

impl HookRunner for Runner {
    /// What a hook answers; nothing at all is nothing to say.
    fn run<'a>(&'a self, event: &'a Value) -> Fut<'a, Result<Value, HookError>> {
        Box::pin(async move {
            let bytes = self.call(event, "hook").await.map_err(HookError::failed)?;
            if bytes.trim_ascii().is_empty() {
                return Ok(Value::Null);
            }
            let text = str::from_utf8(&bytes).map_err(|_| HookError::failed("its answer is not UTF-8 text"))?;
            unique_json(text).map_err(|error| HookError::failed(format!("its answer is not JSON: {error}")))
        })
    }
}

impl ContextHook for Runner {
    /// A JSON object with a `text`, else the answer as it is.
    fn text<'a>(&'a self, trace: &'a Value) -> Fut<'a, Result<String, HookError>> {
        Box::pin(async move {
            let bytes = self.call(trace, "hook").await.map_err(HookError::failed)?;
            let Ok(Value::Object(object)) = serde_json::from_slice::<Value>(&bytes) else {
                return Ok(String::from_utf8_lossy(&bytes).into_owned());
            };
            match object.get("text") {
                None | Some(Value::Null) => Ok(String::new()),
                Some(Value::String(text)) => Ok(text.clone()),
                Some(_) => Err(HookError::failed("the \"text\" of its answer is not a string")),
            }
        })
    }
}
