//! The tools of this installation: those that are always there, and those that the configuration switches on.

use crate::launcher::json_transform;
use mainpath_net::{
    Client, External, ExternalConfig, FeishuBot, FeishuBotConfig, HttpRequest, HttpRequestConfig, InvokeWorkflow,
    InvokeWorkflowConfig, NotReady, Reach, RedisContext, RedisContextConfig, Secret, WebFetch, WebFetchConfig,
    WebSearch, WebSearchConfig,
};
use mainpath_tools::{AskHuman, DynTool, Tool, ToolDoc, Tools};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// `[tools]`: tools that are off until their part is there.
#[derive(Debug, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolsConfig {
    /// `[[tools.external]]`: the owner's own.
    pub external: Vec<ExternalConfig>,
    /// `[tools.feishu_bot]`
    pub feishu_bot: Option<FeishuBotConfig>,
    /// `[tools.http_request]`
    pub http_request: Option<HttpRequestConfig>,
    /// `[tools.invoke_workflow]`
    pub invoke_workflow: Option<InvokeWorkflowConfig>,
    /// Whether there is `json_transform`.
    pub json_transform: bool,
    /// `[tools.redis_context]`
    pub redis_context: Option<RedisContextConfig>,
    /// `[tools.web_fetch]`
    pub web_fetch: Option<WebFetchConfig>,
    /// `[tools.web_search]`
    pub web_search: Option<WebSearchConfig>,
}

/// A tool that can be switched on: its name, what it is for, and how.
pub struct Optional {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub what: &'static str,
    /// What to write into `config.toml`.
    pub how: &'static str,
}

/// The tools that can be switched on, in the order of their names.
pub const OPTIONAL: [Optional; 10] = [
    Optional {
        name: "external",
        what: "Commands and addresses of your own, as tools",
        how: r#"[[tools.external]]
name = "count_words"
description = "Counts the words of a text."
input_schema = { type = "object", properties = { text = { type = "string" } }, required = ["text"] }
effect = "read-only"
command = ["sh", "-c", "wc -w"]   # the arguments come as JSON; or url = "https://…"
"#,
    },
    Optional {
        name: "feishu_bot",
        what: "Sends messages to a Feishu group",
        how: r#"[tools.feishu_bot]
webhook = "FEISHU_WEBHOOK"   # the variable that holds the bot's address
secret = "FEISHU_SECRET"     # if the bot checks signatures
"#,
    },
    Optional {
        name: "http_request",
        what: "Sends HTTP requests to what a list allows",
        how: r#"[tools.http_request]
allow = ["GET,POST https://api.example.com/v1/**"]
rate = "30/1m"
"#,
    },
    Optional {
        name: "invoke_workflow",
        what: "Runs named workflows behind HTTP",
        how: r#"[tools.invoke_workflow.workflows.deploy]
description = "Deploys a branch to staging."
url = "https://ci.example.com/hooks/deploy"
headers = { Authorization = "Bearer {{secret:CI_TOKEN}}" }
input_schema = { type = "object", properties = { branch = { type = "string" } }, required = ["branch"] }
"#,
    },
    Optional { name: "json_transform", what: "Applies jq filters to JSON", how: "[tools]\njson_transform = true\n" },
    Optional {
        name: "knowledge_save",
        what: "Keeps what was learned; with it get_experience and knowledge_search",
        how: "[experience]\nenabled = true   # without it, once there are experiences\n",
    },
    Optional {
        name: "redis_context",
        what: "Keeps texts in Redis, where other agents see them",
        how: r#"[tools.redis_context]
url = "redis://127.0.0.1:6379/0"
prefix = "mainpath:"
ttl_s = 86400
"#,
    },
    Optional {
        name: "send_message",
        what: "Sends messages to contacts by webhook, Feishu or e-mail; ask_human can ask them",
        how: r#"[people.contacts.lan]
email = "lan@example.com"

[people.email]
host = "smtp.example.com"
from = "agent@example.com"
"#,
    },
    Optional {
        name: "web_fetch",
        what: "Fetches web pages as Markdown",
        how: r#"[tools.web_fetch]
allow = ["https://docs.rs/**"]   # without this line: every public page
"#,
    },
    Optional {
        name: "web_search",
        what: "Searches the web",
        how: r#"[tools.web_search]
backend = "searxng"          # or brave, tavily with key = "NAME_OF_A_VARIABLE"
url = "http://127.0.0.1:8888"
"#,
    },
];

/// A tool that is configured and cannot be used, and why.
#[derive(Clone)]
pub struct Unready {
    /// Its name.
    pub name: &'static str,
    /// Why.
    pub why: String,
}

impl ToolsConfig {
    /// The names of the secrets that are used here.
    pub fn secrets(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut add =
            |name: Option<&mainpath_net::SecretName>| names.extend(name.map(|name| name.as_str().to_string()));
        add(self.feishu_bot.as_ref().map(|bot| &bot.webhook));
        add(self.feishu_bot.as_ref().and_then(|bot| bot.secret.as_ref()));
        add(self.redis_context.as_ref().and_then(|redis| redis.password.as_ref()));
        add(self.web_search.as_ref().and_then(|search| search.key.as_ref()));
        let workflows = self.invoke_workflow.iter().flat_map(|config| config.workflows.values());
        names.extend(workflows.flat_map(|workflow| workflow.headers.secrets()));
        names.extend(self.external.iter().flat_map(|tool| [tool.env.secrets(), tool.headers.secrets()].concat()));
        names
    }

    /// All tools that can be used, and those that could if something were not missing.
    pub(super) fn build(&self, reach: &Reach, secret: Secret<'_>) -> (Tools, Vec<Unready>) {
        let (tools, client, mut unready) =
            (Tools::kernel().with_internal().with(AskHuman::default()), Client::new(reach), Vec::new());
        let mut note = |name, made: Result<(), NotReady>| {
            if let Err(error) = made {
                unready.push(Unready { name, why: error.to_string() });
            }
        };
        if let Some(config) = &self.feishu_bot {
            note("feishu_bot", add(&tools, FeishuBot::new(&client, config, secret)));
        }
        if let Some(config) = &self.http_request {
            note("http_request", add(&tools, Ok(HttpRequest::new(&client, config))));
        }
        if let Some(config) = &self.invoke_workflow {
            let put =
                |tool: InvokeWorkflow| put(&tools, InvokeWorkflow::NAME, tool.doc(), tool.schema(), Arc::new(tool));
            note(InvokeWorkflow::NAME, InvokeWorkflow::new(&client, config, secret).and_then(put));
        }
        if self.json_transform {
            note("json_transform", add(&tools, Ok(json_transform())));
        }
        if let Some(config) = &self.redis_context {
            note("redis_context", add(&tools, RedisContext::new(config, secret)));
        }
        if let Some(config) = &self.web_fetch {
            note("web_fetch", add(&tools, Ok(WebFetch::new(&client, config))));
        }
        if let Some(config) = &self.web_search {
            note("web_search", add(&tools, WebSearch::new(&client, config, secret)));
        }
        for config in &self.external {
            note("external", external(&tools, &client, config, secret));
        }
        (tools, unready)
    }
}

/// Adds a tool that could be made.
fn add<T: Tool>(tools: &Tools, made: Result<T, NotReady>) -> Result<(), NotReady> {
    // Clones are one registry.
    made.map(|tool| drop(tools.clone().with(tool)))
}

/// Adds a tool that is known only by the configuration.
fn put(tools: &Tools, name: &str, doc: ToolDoc, schema: Value, tool: Arc<dyn DynTool>) -> Result<(), NotReady> {
    Ok(tools.put(name, doc, schema, tool)?)
}

/// Adds a tool of the owner's own, which takes no other tool's place.
fn external(tools: &Tools, client: &Client, config: &ExternalConfig, secret: Secret<'_>) -> Result<(), NotReady> {
    let (name, schema) = (&config.name, config.input_schema.0.clone());
    if tools.resolve(name).is_some() {
        return Err(NotReady::NameTaken(name.clone()));
    }
    let tool = External::new(client, config, secret)?;
    put(tools, name, tool.doc(), schema, Arc::new(tool))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::ConfigFile;

    #[test]
    fn what_is_said_about_switching_a_tool_on_does_it() {
        let always = Tools::kernel().with_internal().specs().len() + 1;
        for Optional { name, how, .. } in OPTIONAL {
            let config: ConfigFile = toml::from_str(how).unwrap_or_else(|error| panic!("{name}: {error}"));
            if name == "knowledge_save" {
                // By another section: the host adds it.
                assert_eq!(config.experience.enabled, Some(true));
                continue;
            }
            if name == "send_message" {
                // By another section too.
                #[cfg(feature = "people")]
                assert_eq!((config.people.check(), config.people.contacts.len()), (Ok(()), 1));
                continue;
            }
            let (tools, unready) = config.tools.build(&config.net, &|_| Some("http://a.test/secret".into()));
            // The owner's own has the name that the owner gives it.
            let added = if name == "external" { "count_words" } else { name };
            assert_eq!(
                (tools.resolve(added).as_deref(), tools.specs().len(), unready.len()),
                (Some(added), always + 1, 0)
            );
        }
        assert!(OPTIONAL.is_sorted_by_key(|one| one.name));
    }

    #[test]
    fn the_secrets_of_tools_are_known_by_their_names() {
        let all: String = OPTIONAL.iter().map(|one| one.how).collect();
        let all = all.replace("backend = \"searxng\"", "key = \"SEARCH\"\nbackend = \"brave\"");
        let all = all.replace("prefix =", "password = \"REDIS\"\nprefix =");
        let config: ConfigFile = toml::from_str(&all).unwrap();
        assert_eq!(config.tools.secrets(), ["FEISHU_WEBHOOK", "FEISHU_SECRET", "REDIS", "SEARCH", "CI_TOKEN"]);
    }
}
