//! What there is besides traces: agents, tools, skills, models, sessions, experiences, rules.

use crate::about;
use crate::access::scope::Scope;
use crate::call::{Call, Nothing};
use crate::problem::Problem;
use crate::route::{Route, RouteError, group};
use mainpath::experience::{Entry, Status};
use mainpath::named_sessions::Session;
use mainpath::policy::{AppliedRule, Explanation, PartVerdict};
use mainpath::presets::{Preset, Remark};
use mainpath::providers::WireFormat;
use mainpath::types::{Access, Decision, EffectClass, Origin, Price, ToolSpec};
use mainpath::{Error, ErrorKind, policy, presets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub fn routes() -> Result<Vec<Route>, RouteError> {
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
#[schemars(rename = "ListOf{T}")]
struct List<T> {
    /// Its items, as the command says them with `--json`.
    items: Vec<T>,
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> List<T> {
        List { items: items.into_iter().collect() }
    }
}

/// In which folder.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FolderQuery {
    /// The folder, within those that the server allows; without it, the first of them.
    workspace: Option<String>,
}

/// A preset that there is.
#[derive(Serialize, JsonSchema)]
struct ListedPreset {
    #[serde(flatten)]
    preset: Preset,
    /// Whose it is.
    layer: presets::Layer,
    /// Whether it can be used.
    standing: presets::Standing,
    /// Why it cannot be used, if it cannot.
    faults: Vec<Remark>,
}

async fn agents(call: Call<FolderQuery>) -> Result<List<ListedPreset>, Problem> {
    let folder = call.app.workspace(&call.who, call.query.workspace.as_deref())?;
    let presets = call.host.presets(&folder).map_err(|error| Problem::from(error).of_query())?;
    let row = |listed: &presets::Listed| ListedPreset {
        preset: listed.preset.clone(),
        layer: listed.layer,
        standing: listed.standing(),
        faults: listed.faults.clone(),
    };
    Ok(presets.listed.iter().map(row).collect())
}

async fn tools(call: Call) -> Result<List<ToolSpec>, Problem> {
    Ok(call.host.tools().specs().into_iter().collect())
}

/// A skill that there is.
#[derive(Serialize, JsonSchema)]
struct SkillRow {
    /// Its name.
    name: String,
    /// What it is for.
    description: String,
    /// Where it comes from.
    source: &'static str,
    /// Whether agents see it.
    state: SkillState,
    /// What its scripts may do at most.
    effect: EffectClass,
    /// Whether only people may choose it.
    disable_model_invocation: bool,
}

/// Whether agents see a skill.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SkillState {
    /// They do.
    Ready,
    /// It is a repository's, and nobody has trusted it as it is.
    Untrusted,
}

async fn skills(call: Call<FolderQuery>) -> Result<List<SkillRow>, Problem> {
    let folder = call.app.workspace(&call.who, call.query.workspace.as_deref())?;
    let Some(shelf) = call.host.skills() else { return Ok(List { items: Vec::new() }) };
    let found = shelf.read(&folder);
    let row = |skill: &mainpath::agent_skills::Skill, state| SkillRow {
        name: skill.card.name.clone(),
        description: skill.card.description.clone(),
        source: skill.layer.name(),
        state,
        effect: skill.card.front.effect,
        disable_model_invocation: skill.card.front.disable_model_invocation,
    };
    let ready = found.skills.iter().map(|skill| row(skill, SkillState::Ready));
    Ok(ready.chain(found.untrusted.iter().map(|skill| row(skill, SkillState::Untrusted))).collect())
}

/// A provider, and its model.
#[derive(Serialize, JsonSchema)]
struct ListedModel {
    /// Its name.
    provider: String,
    /// The format of its requests, such as `openai-chat`.
    #[schemars(with = "String")]
    format: WireFormat,
    /// Whether it is on this machine, or in this network.
    local: bool,
    /// Whether its key is known, or it needs none.
    has_key: bool,
    /// The model that is taken where none is named.
    model: Option<String>,
    /// How many tokens that can take.
    context_window: Option<u32>,
    /// What that costs, where it is known.
    price: Option<Price>,
}

async fn models(call: Call) -> Result<List<ListedModel>, Problem> {
    let registry = call.host.registry();
    let env = mainpath::agent::env;
    let row = |provider: &mainpath::providers::ProviderProfile| {
        let model = provider.default_model.as_ref().map(|model| format!("{}:{model}", provider.name));
        let facts = model.as_ref().map(|model| registry.facts(model));
        ListedModel {
            provider: provider.name.clone(),
            format: provider.format,
            local: provider.local,
            has_key: provider.local || provider.key_variables.is_empty() || provider.key(&env).is_some(),
            model,
            context_window: facts.as_ref().map(|facts| facts.context_window),
            price: facts.as_ref().and_then(|facts| facts.price),
        }
    };
    Ok(registry.providers().iter().map(row).collect())
}

async fn sessions(call: Call) -> Result<List<Session>, Problem> {
    let logs =
        call.host.logs().ok_or_else(|| Error::failed("this host keeps traces in no files, and has no sessions"))?;
    let listed = mainpath::sessions::sessions(logs).list().map_err(Error::from)?;
    Ok(listed.into_iter().flatten().collect())
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

async fn experiences(call: Call<ExperienceQuery>) -> Result<List<Entry>, Problem> {
    let known =
        call.host.experiences().ok_or_else(|| Error::new(ErrorKind::Refused, "this host keeps no experiences"))?;
    let known = known.all().map_err(Error::from)?;
    let ExperienceQuery { category, waiting } = call.query;
    let wanted = known.entries.into_iter().map(|placed| placed.entry).filter(|entry| {
        let fits = category.as_ref().is_none_or(|category| entry.category == *category);
        fits && (waiting || entry.status != Status::Waiting)
    });
    Ok(wanted.collect())
}

/// A rule that holds.
#[derive(Serialize, JsonSchema)]
struct ListedRule {
    /// Where it comes from.
    layer: policy::Layer,
    /// Its name, unlike that of every other rule of its layer.
    id: String,
    /// What it says.
    decision: Decision,
    /// What it is about, as it was written.
    r#match: Vec<String>,
    /// It holds only for arguments from here; empty: from anywhere.
    origin: Vec<Origin>,
    /// It holds only for tools with these effects; empty: with any.
    effect: Vec<EffectClass>,
    /// Why there is such a rule.
    reason: Option<String>,
    /// For an ask: that all is said yes to is no answer to it.
    always: bool,
    /// Why it does not hold, if it does not.
    ignored: Option<&'static str>,
}

async fn rules(call: Call<FolderQuery>) -> Result<List<ListedRule>, Problem> {
    let folder = call.app.workspace(&call.who, call.query.workspace.as_deref())?;
    let row = |rule: policy::Rule| ListedRule {
        layer: rule.layer,
        id: rule.id,
        decision: rule.decision,
        r#match: rule.matches,
        origin: rule.origins,
        effect: rule.effects,
        reason: rule.reason,
        always: rule.always,
        ignored: rule.ignored,
    };
    Ok(call.host.rules(&folder)?.into_iter().map(row).collect())
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
    parts: Vec<PartVerdict>,
    /// Every rule that fits a part, whether it decided or not.
    rules: Vec<AppliedRule>,
}

async fn check(call: Call<Nothing, CheckBody>) -> Result<Checked, Problem> {
    let folder = call.app.workspace(&call.who, call.body.workspace.as_deref())?;
    let found = call.host.explain(&folder, &call.body.call, call.body.access)?;
    let Explanation { verdict, parts, rules } = found;
    Ok(Checked { verdict, parts, rules })
}
