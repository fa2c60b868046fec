//! What there is besides traces: agents, tools, skills, models, sessions, experiences, rules.

use crate::about;
use crate::access::scope::Scope;
use crate::call::{Call, Nothing};
use crate::problem::Problem;
use crate::route::{Route, group};
use mainpath::experience::Status;
use mainpath::types::Access;
use mainpath::{Error, Installation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub fn routes() -> Result<Vec<Route>, String> {
    group(
        "what there is",
        vec![
            Route::json(
                about!(GET "/api/agents" list_agents "The presets that agents are made from."),
                Scope::Read,
                agents,
            ),
            Route::json(about!(GET "/api/tools" list_tools "The tools that agents can have."), Scope::Read, tools),
            Route::json(about!(GET "/api/skills" list_skills "The skills that agents can have."), Scope::Read, skills),
            Route::json(
                about!(GET "/api/models" list_models "Providers and models, and which can be used."),
                Scope::Read,
                models,
            ),
            Route::json(about!(GET "/api/sessions" list_sessions "The named conversations."), Scope::Read, sessions),
            Route::json(
                about!(GET "/api/experiences" list_experiences "What agents learned."),
                Scope::Read,
                experiences,
            ),
            Route::json(
                about!(GET "/api/policy" list_rules "The rules that hold for agents in a folder."),
                Scope::Read,
                rules,
            ),
            Route::json(
                about!(POST "/api/policy/check" check_rules "What rules would say of a call that nobody has made."),
                Scope::Read,
                check,
            ),
        ],
    )
}

/// A list.
#[derive(Serialize, JsonSchema)]
struct List {
    /// Its items, as the command says them with `--json`.
    items: Vec<Map<String, Value>>,
}

impl List {
    fn of(items: impl IntoIterator<Item = Value>) -> List {
        let object = |value| match value {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        List { items: items.into_iter().map(object).collect() }
    }
}

/// In which folder.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FolderQuery {
    /// The folder, within those that the server allows; without it, the first of them.
    workspace: Option<String>,
}

fn installation<Q, B>(call: &Call<Q, B>) -> Result<&Installation, Problem> {
    call.host.installation().ok_or_else(|| Error::failed("this server is made from no installation").into())
}

async fn agents(call: Call<FolderQuery>) -> Result<List, Problem> {
    let folder = call.app.workspace(&call.who, call.query.workspace.as_deref())?;
    let presets = call.host.presets(&folder)?;
    Ok(List::of(presets.listed.iter().map(|listed| {
        let mut item = json!(listed.preset);
        item["layer"] = json!(listed.layer);
        item["standing"] = json!(listed.standing());
        item["faults"] = json!(listed.faults);
        item
    })))
}

async fn tools(call: Call) -> Result<List, Problem> {
    Ok(List::of(call.host.tools().specs().iter().map(|spec| json!(spec))))
}

async fn skills(call: Call<FolderQuery>) -> Result<List, Problem> {
    let folder = call.app.workspace(&call.who, call.query.workspace.as_deref())?;
    let Some(shelf) = call.host.skills() else { return Ok(List::of([])) };
    let found = shelf.read(&folder);
    let item = |skill: &mainpath::agent_skills::Skill, state: &str| {
        json!({
            "name": skill.card.name, "description": skill.card.description, "source": skill.layer.name(), "state": state,
            "effect": skill.card.front.effect, "disable_model_invocation": skill.card.front.disable_model_invocation,
        })
    };
    let ready = found.skills.iter().map(|skill| item(skill, "ready"));
    Ok(List::of(ready.chain(found.untrusted.iter().map(|skill| item(skill, "untrusted")))))
}

async fn models(call: Call) -> Result<List, Problem> {
    let registry = installation(&call)?.models.registry();
    let env = mainpath::agent::env;
    let listed = registry.providers().iter().map(|provider| {
        let default = provider.default_model.as_ref().map(|model| format!("{}:{model}", provider.name));
        let facts = default.as_ref().map(|model| registry.facts(model));
        json!({
            "provider": provider.name, "format": provider.format, "local": provider.local,
            "has_key": provider.local || provider.key_variables.is_empty() || provider.key(&env).is_some(),
            "model": default, "context_window": facts.as_ref().map(|facts| facts.context_window),
            "price": facts.as_ref().and_then(|facts| facts.price),
        })
    });
    Ok(List::of(listed.collect::<Vec<_>>()))
}

async fn sessions(call: Call) -> Result<List, Problem> {
    let logs = &installation(&call)?.logs;
    let listed = mainpath::sessions::sessions(logs).list().map_err(Error::from)?;
    Ok(List::of(listed.into_iter().flatten().map(|session| json!(session))))
}

/// Which experiences.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExperienceQuery {
    /// Those of this category.
    category: Option<String>,
    /// Also those that wait for a person.
    #[serde(default)]
    waiting: bool,
}

async fn experiences(call: Call<ExperienceQuery>) -> Result<List, Problem> {
    let known = installation(&call)?.experiences.all().map_err(Error::from)?;
    let ExperienceQuery { category, waiting } = call.query;
    let wanted = known.entries.iter().map(|placed| &placed.entry).filter(|entry| {
        let fits = category.as_ref().is_none_or(|category| entry.category == *category);
        fits && (waiting || entry.status != Status::Waiting)
    });
    Ok(List::of(wanted.map(|entry| json!(entry))))
}

async fn rules(call: Call<FolderQuery>) -> Result<List, Problem> {
    let folder = call.app.workspace(&call.who, call.query.workspace.as_deref())?;
    let rules = call.host.rules(&folder)?;
    Ok(List::of(rules.iter().map(|rule| {
        json!({
            "layer": rule.layer, "id": rule.id, "decision": rule.decision, "match": rule.matches, "origin": rule.origins,
            "effect": rule.effects, "reason": rule.reason, "always": rule.always, "ignored": rule.ignored,
        })
    })))
}

/// A call that nobody has made.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CheckBody {
    /// The call, such as `bash(rm -rf build)` or `write(src/main.rs)`.
    call: String,
    /// The folder.
    workspace: Option<String>,
    /// What the agent may do unasked.
    #[serde(default)]
    access: Access,
}

/// What rules say of it.
#[derive(Serialize, JsonSchema)]
struct Checked {
    /// The verdict.
    verdict: mainpath::types::Verdict,
    /// What decided on each part of it.
    parts: Vec<Map<String, Value>>,
    /// Every rule that fits a part, whether it decided or not.
    rules: Vec<Map<String, Value>>,
}

async fn check(call: Call<Nothing, CheckBody>) -> Result<Checked, Problem> {
    let folder = call.app.workspace(&call.who, call.body.workspace.as_deref())?;
    let found = call.host.explain(&folder, &call.body.call, call.body.access)?;
    let parts = List::of(found.parts.iter().map(|part| json!(part))).items;
    let rules = List::of(found.rules.iter().map(|rule| json!(rule))).items;
    Ok(Checked { verdict: found.verdict, parts, rules })
}
