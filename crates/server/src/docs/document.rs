//! The routes as an OpenAPI 3.1 document, whose schemas are those that requests are held to.

use crate::errors::Errors;
use crate::packed;
use crate::problem::Problem;
use crate::route::{Gives, Route, RouteError, Takes};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::task::JoinError;

/// Why the document cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Its thread failed.
    #[error(transparent)]
    Thread(#[from] JoinError),
    /// It cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The program has no such file.
    #[error("this program was built without it")]
    Missing,
}

/// The document. What is built without debug assertions hands out `openapi.json`, so that the schemas of everything that is answered
/// need not be code in the program; what is built with them makes it of the routes, and a test holds the file to that.
#[derive(Clone)]
pub struct Document(Arc<[Arc<Route>]>);

impl Document {
    /// Of these routes. Errors: two of them have one name.
    pub fn new(routes: Arc<[Arc<Route>]>) -> Result<Document, RouteError> {
        let mut names = BTreeSet::new();
        match routes.iter().find(|route| !names.insert(route.name)) {
            Some(route) => Err(RouteError::SameName(route.name)),
            None => Ok(Document(routes)),
        }
    }

    /// The document for who asks. Errors: it cannot be made.
    pub async fn answer(self, asked: &HeaderMap) -> Result<Response<Body>, DocumentError> {
        let mut response = if cfg!(debug_assertions) {
            let made = tokio::task::spawn_blocking(move || document(&self.0)).await;
            Response::new(Body::from(made??))
        } else {
            packed::file("openapi.json", asked).ok_or(DocumentError::Missing)?
        };
        let said = response.headers_mut();
        said.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Whoever has it asks whether it is still so.
        said.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Ok(response)
    }
}

fn document(routes: &[Arc<Route>]) -> Result<String, serde_json::Error> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let settings = settings.with_transform(mainpath::bounded);
    let mut schemas = settings.into_generator();
    schemas.subschema_for::<Problem>();
    let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for route in routes {
        let method = route.method.as_str().to_lowercase();
        paths.entry(shown(route.path)).or_default().insert(method, operation(route, &mut schemas));
    }
    for (path, about, media) in [
        ("/health", "Whether the process lives.", "application/json"),
        ("/ready", "Whether it takes requests for work.", "application/json"),
        ("/openapi.json", "This document.", "application/json"),
        ("/docs", "This document as a page.", "text/html"),
    ] {
        let mut answers = json!({"200": {"description": about, "content": {media: {"schema": {}}}}});
        if path == "/ready" {
            answers["503"] = failure(503);
        }
        if path.starts_with("/o") || path.starts_with("/d") {
            answers["403"] = failure(403);
        }
        let name = path.trim_start_matches('/').replace(".json", "");
        let operation = json!({
            "operationId": name, "summary": about, "tags": ["about"], "security": [], "responses": answers,
        });
        paths.entry(path.into()).or_default().insert("get".into(), operation);
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Mainpath",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Runs agents, and shows, steers, decides and replays what they do. Errors are problem details (RFC 9457).",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": paths,
        "components": {
            "schemas": schemas.take_definitions(true),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "A key of `mainpath keys new`."}},
        },
        "security": [{"key": []}],
    });
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

fn operation(route: &Route, schemas: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = path_parts(route.path)
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    if let Some(query) = &route.query {
        parameters.extend(query_parameters(query, schemas));
    }
    if route.is_once {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "The same request under the same key is done once, also across a crash.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
        }));
    }
    if route.waits {
        parameters.push(json!({
            "name": "Prefer", "in": "header", "required": false,
            "description": "`wait=N`: answer when the run has ended, if it does within N seconds.",
            "schema": {"type": "string"},
        }));
    }
    parameters.extend(route.headers.iter().map(|header| {
        json!({
            "name": header.name, "in": "header", "required": false, "description": header.about,
            "schema": {"type": "string"},
        })
    }));
    let mut answers: BTreeMap<String, Value> = BTreeMap::new();
    for gives in &route.gives {
        let (status, given) = (gives.status.to_string(), given(gives, schemas));
        match answers.get_mut(&status) {
            Some(known) => joined(known, given),
            None => drop(answers.insert(status, given)),
        }
    }
    let mut fails = vec![401, 403, 429, 500, 503];
    if path_parts(route.path).next().is_some() {
        fails.extend([404, 502]);
    }
    if route.body.is_some() {
        fails.extend([400, 408, 413, 422, 507]);
    }
    if route.body.is_none() && route.method == axum::http::Method::POST {
        fails.extend([400, 408, 413]);
    }
    // Also where there is nothing to give: a field too many is told.
    fails.push(422);
    if route.is_once {
        fails.push(507);
    }
    for status in fails.into_iter().chain(route.fails.iter().copied()) {
        let status = route.errors.status(status);
        answers.entry(status.to_string()).or_insert_with(|| route.errors.failure(status, schemas));
    }
    let needs = route.needs.map(|scope| format!("\n\nNeeds the scope `{scope}`.")).unwrap_or_default();
    let mut operation = json!({
        "operationId": route.name, "summary": route.about, "description": format!("{}{needs}", route.about), "tags": [route.group],
        "parameters": parameters, "responses": answers,
    });
    if let Some(body) = &route.body {
        operation["requestBody"] = json!({
            "required": !body.is_optional,
            "content": {"application/json": {"schema": (body.schema)(schemas)}},
        });
    }
    operation
}

fn path_parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| name.trim_start_matches('*'))
}

/// A path as the document has it: it knows no parts that hold slashes.
fn shown(path: &str) -> String {
    path.replace("{*", "{")
}

fn query_parameters(query: &Takes, schemas: &mut SchemaGenerator) -> Vec<Value> {
    // What its fields refer to is among the schemas.
    let _ = (query.schema)(schemas);
    let required = query.root["required"].as_array().cloned().unwrap_or_default();
    let fields = query.root["properties"].as_object().cloned().unwrap_or_default();
    let parameter = |(name, mut schema): (String, Value)| {
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        moved(&mut schema);
        json!({
            "name": name, "in": "query", "required": required.iter().any(|one| *one == name),
            "description": description, "schema": schema,
        })
    };
    fields.into_iter().map(parameter).collect()
}

/// Has references lead to the schemas of the document.
fn moved(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(to)) = fields.get_mut("$ref") {
                *to = to.replace("#/$defs/", "#/components/schemas/");
            }
            fields.values_mut().for_each(moved);
        }
        Value::Array(items) => items.iter_mut().for_each(moved),
        _ => {}
    }
}

fn given(gives: &Gives, schemas: &mut SchemaGenerator) -> Value {
    let mut answer = json!({"description": gives.about});
    if !gives.media.is_empty() {
        let schema = gives.schema.map_or_else(|| json!({"type": "string"}), |schema| schema(schemas).to_value());
        answer["content"] = json!({gives.media: {"schema": schema}});
    }
    answer
}

/// A further body for the same status.
fn joined(known: &mut Value, more: Value) {
    let (Some(words), Some(also)) = (known["description"].as_str(), more["description"].as_str()) else { return };
    known["description"] = format!("{words} {also}").into();
    if let (Some(content), Some(more)) = (known["content"].as_object_mut(), more["content"].as_object()) {
        content.extend(more.clone());
    }
}

fn failure(status: u16) -> Value {
    Errors::Problems.failure(status, &mut SchemaGenerator::default())
}
