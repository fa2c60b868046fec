//! Every agent is a model: `mainpath/NAME` for each preset. A model's own name runs the default agent on that model.

use crate::about;
use crate::access::scope::Scope;
use crate::call::Call;
use crate::errors::Errors;
use crate::problem::{Kind, Problem};
use crate::route::{Route, RouteError, group};
use crate::routes::start::check_model;
use mainpath::ErrorKind;
use mainpath::presets::{Listed, Standing};
use schemars::JsonSchema;
use serde::Serialize;

/// How the names of agents begin.
const BEGIN: &str = "mainpath/";
/// The agent that runs on a model that is named by itself.
const USUAL: &str = "default";

pub fn routes() -> Result<Vec<Route>, RouteError> {
    let face = |route: Result<Route, RouteError>| route.map(|route| route.errors(Errors::OpenAi));
    group(
        "OpenAI-compatible",
        vec![
            face(Route::json(
                about!(GET "/v1/models" openai_list_models "The agents of this server, each as a model."),
                Scope::Run,
                list,
            )),
            face(Route::json(
                about!(GET "/v1/models/{*id}" openai_get_model "An agent as a model, such as `mainpath/explore`; or a model by itself."),
                Scope::Run,
                get,
            )),
        ],
    )
}

/// A model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Model {
    /// Its name.
    id: String,
    /// `model`
    object: &'static str,
    /// 0: agents have no date.
    created: u64,
    /// Where the agent is from: `builtin`, `user` or `project`; of a model by itself, its provider.
    owned_by: String,
}

/// The models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct ModelList {
    /// `list`
    object: &'static str,
    /// They.
    data: Vec<Model>,
}

fn model(listed: &Listed) -> Model {
    let owned_by = serde_json::to_value(listed.layer).ok().and_then(|layer| layer.as_str().map(String::from));
    let id = format!("{BEGIN}{}", listed.preset.name);
    Model { id, object: "model", created: 0, owned_by: owned_by.unwrap_or_default() }
}

async fn list(call: Call) -> Result<ModelList, Problem> {
    let folder = call.app.workspace(&call.who, None)?;
    let presets = call.host.presets(&folder)?;
    let ready = presets.listed.iter().filter(|listed| listed.standing() == Standing::Ready);
    Ok(ModelList { object: "list", data: ready.map(model).collect() })
}

async fn get(call: Call) -> Result<Model, Problem> {
    let id = call.part("id");
    let Some(named) = id.strip_prefix(BEGIN) else {
        check_model(&call, id)?;
        check(&call, id).map_err(|problem| if problem.status == 404 { none(id, &problem.detail) } else { problem })?;
        let owned_by = id.split(':').next().unwrap_or_default().to_string();
        return Ok(Model { id: id.into(), object: "model", created: 0, owned_by });
    };
    let folder = call.app.workspace(&call.who, None)?;
    let presets = call.host.presets(&folder)?;
    presets.choose(named).and_then(|_| presets.get(named)).map(model).map_err(|error| none(id, error.message()))
}

/// That there is no such model.
fn none(name: &str, why: &str) -> Problem {
    // What stands in the query of an address may be a key.
    let (shown, query) = name.split_once('?').map_or((name, ""), |(before, _)| (before, "?…"));
    let shown = shown.chars().take(80).chain(query.chars()).collect::<String>();
    let detail = format!("the model {shown:?} does not exist: {why}; GET /v1/models lists them");
    Problem::not_found(detail).of_field("/model")
}

/// What a model's name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The preset.
    pub preset: String,
    /// The model that it runs on, where the caller names it.
    pub model: Option<String>,
}

/// What a model's name stands for in a folder. Errors: there is no such agent and no such model, or nothing to run it on.
pub async fn find<Q, B>(call: &Call<Q, B>, name: &str, folder: Option<&str>) -> Result<Agent, Problem> {
    let folder = call.app.workspace(&call.who, folder)?;
    let named = name.strip_prefix(BEGIN);
    let presets = call.host.presets(&folder)?;
    let preset = presets.choose(named.unwrap_or(USUAL)).map_err(|error| none(name, error.message()))?;
    if named.is_none() {
        check_model(call, name)?;
        check(call, name)
            .map_err(|problem| if problem.status == 404 { none(name, &problem.detail) } else { problem })?;
        return Ok(Agent { preset: preset.name.clone(), model: Some(name.into()) });
    }
    let model = match &preset.model {
        Some(model) => model.clone(),
        None => call.host.choose_model(None).await.map_err(|_| {
            let why =
                "the agent has no model of its own, and this server is configured for none: set model in config.toml";
            Problem::field("/model", why)
        })?,
    };
    check(call, &model)?;
    Ok(Agent { preset: preset.name.clone(), model: None })
}

/// That there is such a model. Errors: there is none, or no key for it.
fn check<Q, B>(call: &Call<Q, B>, model: &str) -> Result<(), Problem> {
    call.host.check_model(model).map_err(|error| match error.kind() {
        ErrorKind::Auth => Problem::new(Kind::MODEL_KEY, error.message()).of_field("/model"),
        _ => Problem::not_found(error.message()).of_field("/model"),
    })
}
