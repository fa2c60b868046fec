//! What a server offers, as tools: its own, and its resources and prompts.

use crate::call::{Reply, Request};
use crate::clean;
use crate::content::{Gathered, judge_resource};
use crate::error::ServerError;
use crate::link::Link;
use crate::names;
use crate::server::Server;
use mainpath_tools::{Defined, DynTool, Fut, Schema, ToolContext, ToolDoc};
use mainpath_types::{Decision, EffectClass, Origin, ToolOutput};
use rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams, Tool,
    ToolAnnotations,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// As many tools of one server are taken.
const TOOLS: usize = 512;
/// As many pages of a list are read.
const PAGES: usize = 32;
/// How long a list may take.
const LISTING: Duration = Duration::from_secs(30);
/// Characters of a tool's description.
const DESCRIPTION: usize = 2_000;
/// How long a call may take where the configuration says nothing.
const CALL: Duration = Duration::from_secs(120);

/// A tool as the registry takes it.
#[derive(Clone)]
pub(crate) struct Offer {
    pub doc: ToolDoc,
    pub schema: Value,
    pub tool: Arc<dyn DynTool>,
}

/// What a server offers now, under the names that it has here; and what was left out, one line each. Errors: it does not
/// say what it offers.
pub(crate) async fn offers(
    server: &Arc<Server>,
    link: &Link,
) -> Result<(Vec<(String, Offer)>, Vec<String>), ServerError> {
    let info = link.peer().peer_info().ok_or(ServerError::NoCapabilities)?;
    let mut offers = Vec::new();
    let mut notes = Vec::new();
    if info.capabilities.tools.is_some() {
        for tool in tools(link).await? {
            let shown = clean::line(&tool.name, 80);
            if !server.configured.takes(&tool.name) {
                continue;
            }
            if offers.len() == TOOLS {
                notes.push(format!("it has more than {TOOLS} tools; the others are left out"));
                break;
            }
            match offer(server, tool) {
                Ok((name, _)) if offers.iter().any(|(other, _)| *other == name) => {
                    notes.push(format!("it names the tool {shown:?} twice; the first is used"));
                }
                Ok(offer) => offers.push(offer),
                Err(why) => notes.push(format!("its tool {shown:?} is left out: its schema: {why}")),
            }
        }
    }
    let mut own = Vec::new();
    if info.capabilities.resources.is_some() && has_resources(link).await {
        own.extend([Own::ListResources, Own::ReadResource]);
    }
    if info.capabilities.prompts.is_some() && has_prompts(link).await {
        own.extend([Own::ListPrompts, Own::GetPrompt]);
    }
    for own in own {
        let name = names::tool(&server.configured.prefix(), own.name());
        if server.configured.takes(own.name()) && !offers.iter().any(|(other, _)| *other == name) {
            offers.push((name, own.offer(server)));
        }
    }
    Ok((offers, notes))
}

/// Many servers say that they can have resources, and have none.
async fn has_resources(link: &Link) -> bool {
    let some = async {
        link.peer().list_resources(None).await.is_ok_and(|list| !list.resources.is_empty())
            || link.peer().list_resource_templates(None).await.is_ok_and(|list| !list.resource_templates.is_empty())
    };
    tokio::time::timeout(LISTING, some).await.unwrap_or(false)
}

async fn has_prompts(link: &Link) -> bool {
    let some = async { link.peer().list_prompts(None).await.is_ok_and(|list| !list.prompts.is_empty()) };
    tokio::time::timeout(LISTING, some).await.unwrap_or(false)
}

async fn tools(link: &Link) -> Result<Vec<Tool>, ServerError> {
    let listing = async {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let page = link.peer().list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await;
            let page = page.map_err(|error| ServerError::Unlisted(clean::line(&error.to_string(), 300)))?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() > TOOLS {
                break;
            }
        }
        Ok(tools)
    };
    let limit = tokio::time::timeout(LISTING, listing).await;
    limit.unwrap_or(Err(ServerError::LateList(LISTING.as_secs())))
}

fn offer(server: &Arc<Server>, tool: Tool) -> Result<(String, Offer), clean::LargeSchema> {
    let configured = &server.configured;
    let name = names::tool(&configured.prefix(), &tool.name);
    let schema = clean::schema(Value::Object(tool.input_schema.as_ref().clone()))?;
    // A promise that cannot be read binds nobody.
    let promised = tool.output_schema.as_deref().and_then(|schema| clean::schema(Value::Object(schema.clone())).ok());
    let promised = promised.and_then(|schema| Schema::new(&schema).ok());
    let described = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    let described = match clean::text(described.trim(), DESCRIPTION) {
        empty if empty.is_empty() => format!("A tool of the MCP server {}.", clean::line(&configured.name, 80)),
        text => text,
    };
    let effect = effect(tool.annotations.as_ref(), configured.entry.trust_annotations);
    let says_read_only = says_read_only(&tool);
    let remote = Remote { server: Arc::clone(server), name: tool.name.into_owned(), promised };
    Ok((
        name,
        Offer { doc: ToolDoc { says_read_only, ..doc(server, described, effect) }, schema, tool: Arc::new(remote) },
    ))
}

/// Returns true if its server says that a tool only reads: by its mark, or, where it marks nothing, by the tool's name. This opens nothing: it
/// only decides which arguments are checked for where a call goes.
fn says_read_only(tool: &Tool) -> bool {
    let hints = tool.annotations.as_ref();
    match hints.map(|hints| (hints.read_only_hint, hints.destructive_hint)) {
        Some((Some(reads), _)) => reads,
        Some((None, Some(true))) => false,
        Some((None, _)) | None => names::reads(&tool.name),
    }
}

/// What a tool can do. What a server says of itself is believed only where the person says so.
fn effect(annotations: Option<&ToolAnnotations>, trusted: bool) -> EffectClass {
    match annotations {
        Some(hints) if trusted && hints.read_only_hint == Some(true) => EffectClass::ReadOnly,
        Some(hints) if trusted && hints.idempotent_hint == Some(true) => EffectClass::Idempotent,
        _ => EffectClass::SideEffecting,
    }
}

fn doc(server: &Server, description: String, effect: EffectClass) -> ToolDoc {
    let timeout = server.configured.entry.timeout_s.map_or(CALL, Duration::from_secs);
    ToolDoc { timeout: Some(timeout), origin: Origin::Mcp, ..ToolDoc::new(description, effect) }
}

/// A tool of a server.
struct Remote {
    server: Arc<Server>,
    /// The server's own name for it.
    name: String,
    /// What its structured results match, as it says.
    promised: Option<Schema>,
}

impl DynTool for Remote {
    fn defined(&self) -> Fut<'_, Defined> {
        Box::pin(async move {
            let listed = match self.server.link().await {
                Ok(link) => tools(&link).await,
                Err(why) => Err(why),
            };
            let tool = match listed {
                Ok(listed) => listed.into_iter().find(|tool| tool.name == self.name),
                Err(why) => return Defined::Gone(format!("its server does not define it: {why}")),
            };
            match tool.map(|tool| offer(&self.server, tool)) {
                Some(Ok((_, offer))) => Defined::Now { description: offer.doc.description, schema: offer.schema },
                Some(Err(why)) => Defined::Gone(format!("its schema: {why}")),
                None => Defined::Gone("its server does not list it any more".into()),
            }
        })
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            let mut params = CallToolRequestParams::new(self.name.clone());
            params.arguments = object(args);
            let result = match self.server.ask(ctx, Request::Tool(params)).await {
                Ok(Reply::Tool(result)) => result,
                Ok(_) => return strange(),
                Err(output) => return output,
            };
            let mut gathered = Gathered::new(ctx);
            for block in result.content {
                gathered.block(block).await;
            }
            if let Some(value) = &result.structured_content {
                gathered.structured(value, self.promised.as_ref());
            }
            gathered.finish(result.is_error.unwrap_or(false).then_some("tool_error")).await
        })
    }
}

/// A tool of ours on what else a server has.
#[derive(Clone, Copy)]
enum Own {
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

struct OwnTool {
    server: Arc<Server>,
    own: Own,
}

impl Own {
    fn name(self) -> &'static str {
        match self {
            Own::ListResources => "list_resources",
            Own::ReadResource => "read_resource",
            Own::ListPrompts => "list_prompts",
            Own::GetPrompt => "get_prompt",
        }
    }

    fn offer(self, server: &Arc<Server>) -> Offer {
        let name = clean::line(&server.configured.name, 80);
        let cursor = json!({"type": "string", "description": "Where the last page ended, for the next one."});
        let (what, properties, required) = match self {
            Own::ListResources => ("Lists the resources of", json!({"cursor": cursor}), json!([])),
            Own::ReadResource => {
                let uri = json!({"type": "string", "description": "The address of the resource, as it was listed."});
                ("Reads a resource of", json!({"uri": uri}), json!(["uri"]))
            }
            Own::ListPrompts => ("Lists the prompts of", json!({"cursor": cursor}), json!([])),
            Own::GetPrompt => {
                let arguments = json!({"type": "object", "additionalProperties": {"type": "string"}});
                ("Gets a prompt of", json!({"name": {"type": "string"}, "arguments": arguments}), json!(["name"]))
            }
        };
        let schema = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        let trusted = server.configured.entry.trust_annotations;
        let effect = if trusted { EffectClass::ReadOnly } else { EffectClass::SideEffecting };
        let doc = doc(server, format!("{what} the MCP server {name}."), effect);
        Offer { doc, schema, tool: Arc::new(OwnTool { server: Arc::clone(server), own: self }) }
    }
}

impl DynTool for OwnTool {
    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput> {
        let text = |name: &str| args.get(name).and_then(Value::as_str).map(String::from);
        let page = PaginatedRequestParams::default().with_cursor(text("cursor"));
        match self.own {
            Own::ListResources => Box::pin(self.list(ctx, page)),
            Own::ListPrompts => Box::pin(self.list(ctx, page)),
            Own::ReadResource => {
                let params = ReadResourceRequestParams::new(text("uri").unwrap_or_default());
                Box::pin(self.get(ctx, Request::Resource(params)))
            }
            Own::GetPrompt => {
                let mut params = GetPromptRequestParams::new(text("name").unwrap_or_default());
                params.arguments = args.get("arguments").cloned().and_then(object);
                Box::pin(self.get(ctx, Request::Prompt(params)))
            }
        }
    }
}

impl OwnTool {
    async fn list(&self, ctx: &ToolContext, page: PaginatedRequestParams) -> ToolOutput {
        let server = &self.server;
        let listing = async {
            let link = server.link().await?;
            let said = |error: rmcp::ServiceError| ServerError::Refused { words: clean::text(&error.to_string(), 500) };
            let (mut lines, next) = match self.own {
                Own::ListPrompts => {
                    let list = link.peer().list_prompts(Some(page)).await.map_err(said)?;
                    (list.prompts.iter().map(as_json).collect::<Vec<_>>(), list.next_cursor)
                }
                Own::ListResources | Own::ReadResource | Own::GetPrompt => {
                    let first = page.cursor.is_none();
                    let list = link.peer().list_resources(Some(page)).await.map_err(said)?;
                    let all = list.resources.len();
                    let named = list.resources.iter();
                    let named = named.filter(|resource| judge_resource(ctx, &resource.uri) != Decision::Deny);
                    let mut lines: Vec<String> = named.map(as_json).collect();
                    if lines.len() < all {
                        lines.push(format!("[{} left out by rules]", all - lines.len()));
                    }
                    if first && let Ok(templates) = link.peer().list_resource_templates(None).await {
                        lines.extend(templates.resource_templates.iter().map(as_json));
                    }
                    (lines, list.next_cursor)
                }
            };
            if lines.is_empty() {
                lines.push("[none]".into());
            }
            lines.extend(next.map(|next| format!("[there are more: cursor {next:?}]")));
            Ok::<_, ServerError>(lines.join("\n"))
        };
        match ctx.until_stopped(listing).await {
            None => ctx.stopped(),
            Some(Err(why)) => {
                let name = &server.configured.name;
                ToolOutput::failed("server_error", format!("The MCP server {name:?} does not list them: {why}"))
            }
            Some(Ok(text)) => {
                let mut gathered = Gathered::new(ctx);
                gathered.text(&text);
                gathered.finish(None).await
            }
        }
    }

    async fn get(&self, ctx: &ToolContext, request: Request) -> ToolOutput {
        let mut gathered = Gathered::new(ctx);
        match self.server.ask(ctx, request).await {
            Ok(Reply::Resource(result)) => {
                for resource in result.contents {
                    gathered.resource(resource).await;
                }
            }
            Ok(Reply::Prompt(result)) => {
                for message in result.messages {
                    let who = as_json(&message.role);
                    gathered.text(&format!("[{}]", who.trim_matches('"')));
                    gathered.block(message.content).await;
                }
            }
            Ok(Reply::Tool(_)) => return strange(),
            Err(output) => return output,
        }
        gathered.finish(None).await
    }
}

fn strange() -> ToolOutput {
    ToolOutput::failed("server_error", "The MCP server's answer does not match the request.")
}

fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn object(value: Value) -> Option<Map<String, Value>> {
    if let Value::Object(map) = value { Some(map) } else { None }
}
