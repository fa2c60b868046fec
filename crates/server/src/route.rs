//! A route: its address, who may use it, what it takes and gives, and its code. The server and its document are both made from these.

use crate::access::scope::Scope;
use crate::call::{Answer, Call, Nothing};
use crate::errors::Errors;
use crate::problem::{FieldProblem, Problem};
use crate::reply;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Method, Response};
use mainpath::Host;
use mainpath::schema::{self, SchemaError};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::TypeId;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Why the routes of a server cannot be used: a mistake in their code.
#[derive(Debug, thiserror::Error)]
pub enum RouteError {
    /// The schema of a query or a body cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Two routes have this name.
    #[error("two routes are called {0}")]
    SameName(&'static str),
}

/// Makes the schema of a type among the others.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Tells what is wrong with a body besides what its schema says.
pub type Besides = fn(&Host, &Value) -> Vec<FieldProblem>;

type Done = Pin<Box<dyn Future<Output = Result<Response<Body>, Problem>> + Send>>;
/// The code of a route.
pub type Code = Arc<dyn Fn(Call<Value, Value>) -> Done + Send + Sync>;

/// What an answer may be.
#[derive(Clone)]
pub struct Gives {
    /// Its status.
    pub status: u16,
    /// When it is given.
    pub about: &'static str,
    /// The type of its body, and its schema where it is JSON.
    pub media: &'static str,
    /// See `media`.
    pub schema: Option<SchemaOf>,
}

/// What a route takes, and the rules that hold for it.
#[derive(Clone)]
pub struct Takes {
    /// Its schema, by itself.
    pub root: Value,
    /// The same among the others of the document.
    pub schema: SchemaOf,
    /// The same as rules.
    pub rules: Arc<schema::Schema>,
    /// Whether it can be left out.
    pub is_optional: bool,
}

/// A header that a route takes.
#[derive(Clone, Copy)]
pub struct TakesHeader {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub about: &'static str,
}

/// A route.
#[derive(Clone)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, its variable parts in braces.
    pub path: &'static str,
    /// Its name in the document.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// The group that it is shown in.
    pub group: &'static str,
    /// The scope that is needed; `None`: anybody may ask.
    pub needs: Option<Scope>,
    /// Its query.
    pub query: Option<Takes>,
    /// Its body.
    pub body: Option<Takes>,
    /// What else is wrong with a body that its schema does not allow: so all is told at once.
    pub besides: Option<Besides>,
    /// Whether it takes an `Idempotency-Key`.
    pub is_once: bool,
    /// Whether it takes `Prefer: wait=N`.
    pub waits: bool,
    /// What it answers when all is well.
    pub gives: Vec<Gives>,
    /// The statuses of the problems that it answers besides those that any route has.
    pub fails: Vec<u16>,
    /// The form in which it answers problems.
    pub errors: Errors,
    /// The headers that it takes besides those that any route has.
    pub headers: Vec<TakesHeader>,
    /// Whether the answer may take longer than others.
    pub is_long: bool,
    /// Its code.
    pub code: Code,
}

/// What is said of a route before its code.
pub struct About {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// Its name in the document.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// `about!(GET "/path" name "What it does.")`
#[macro_export]
#[doc(hidden)]
macro_rules! about {
    ($method:ident $path:literal $name:ident $about:literal) => {
        $crate::route::About {
            method: axum::http::Method::$method,
            path: $path,
            name: stringify!($name),
            about: $about,
        }
    };
}

/// The schema of what is answered, where the document is made of the routes (see `docs::Document`).
pub fn documented<T: JsonSchema>() -> Option<SchemaOf> {
    if cfg!(debug_assertions) { Some(|all| all.subschema_for::<T>()) } else { None }
}

fn takes<T: JsonSchema + 'static>() -> Result<Option<Takes>, RouteError> {
    if TypeId::of::<T>() == TypeId::of::<Nothing>() {
        return Ok(None);
    }
    let settings = schemars::generate::SchemaSettings::draft2020_12().with_transform(mainpath::bounded);
    let root = settings.into_generator().into_root_schema_for::<T>().to_value();
    let rules = Arc::new(schema::Schema::new(&root)?);
    let is_optional = rules.violations(&Value::Object(Default::default())).is_empty();
    Ok(Some(Takes { root, schema: |all| all.subschema_for::<T>(), rules, is_optional }))
}

impl Route {
    /// A route that needs a scope, by its code, which answers with JSON.
    ///
    /// Errors: a schema of its types cannot be used.
    pub fn json<Q, B, T, F, R>(about: About, needs: Scope, code: F) -> Result<Route, RouteError>
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize + JsonSchema + Send + 'static,
        F: Fn(Call<Q, B>) -> R + Send + Sync + Clone + 'static,
        R: Future<Output = Result<T, Problem>> + Send + 'static,
    {
        Route::answer(about, needs, move |call| {
            let done = code(call);
            async move { Ok(Answer::with(200, done.await?)) }
        })
    }

    /// The same for one that says its status and headers.
    pub fn answer<Q, B, T, F, R>(about: About, needs: Scope, code: F) -> Result<Route, RouteError>
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize + JsonSchema + 'static,
        F: Fn(Call<Q, B>) -> R + Send + Sync + Clone + 'static,
        R: Future<Output = Result<Answer<T>, Problem>> + Send + 'static,
    {
        let code: Code = Arc::new(move |call| {
            let code = code.clone();
            Box::pin(async move { Ok(written(&code(typed(call)?).await?)) })
        });
        let gives = vec![Gives {
            status: 200,
            about: "What was asked for.",
            media: "application/json",
            schema: documented::<T>(),
        }];
        Route::new::<Q, B>(about, needs, gives, code)
    }

    /// A route that answers with something else than JSON.
    pub fn other<Q, B, F, R>(about: About, needs: Scope, gives: Vec<Gives>, code: F) -> Result<Route, RouteError>
    where
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(Call<Q, B>) -> R + Send + Sync + Clone + 'static,
        R: Future<Output = Result<Response<Body>, Problem>> + Send + 'static,
    {
        let code: Code = Arc::new(move |call| {
            let code = code.clone();
            Box::pin(async move { code(typed(call)?).await })
        });
        Route::new::<Q, B>(about, needs, gives, code)
    }

    fn new<Q, B>(about: About, needs: Scope, gives: Vec<Gives>, code: Code) -> Result<Route, RouteError>
    where
        Q: JsonSchema + 'static,
        B: JsonSchema + 'static,
    {
        let About { method, path, name, about } = about;
        let (query, body) = (takes::<Q>()?, takes::<B>()?);
        Ok(Route {
            method,
            path,
            name,
            about,
            group: "",
            needs: Some(needs),
            query,
            body,
            besides: None,
            is_once: false,
            waits: false,
            gives,
            fails: Vec::new(),
            errors: Errors::Problems,
            headers: Vec::new(),
            is_long: false,
            code,
        })
    }

    /// With another status than 200.
    pub fn gives(mut self, status: u16, about: &'static str) -> Route {
        if let Some(first) = self.gives.first_mut() {
            (first.status, first.about) = (status, about);
        }
        self
    }

    /// With a further status, and the same body.
    pub fn or_gives(mut self, status: u16, about: &'static str) -> Route {
        if let Some(first) = self.gives.first().cloned() {
            self.gives.push(Gives { status, about, ..first });
        }
        self
    }

    /// It starts or decides something: it takes an `Idempotency-Key`.
    pub fn once(mut self) -> Route {
        self.is_once = true;
        self.fails(&[409])
    }

    /// This too is wrong with a body that its schema does not allow.
    pub fn besides(mut self, besides: Besides) -> Route {
        self.besides = Some(besides);
        self
    }

    /// It takes `Prefer: wait=N`.
    pub fn waiting(mut self) -> Route {
        (self.waits, self.is_long) = (true, true);
        self
    }

    /// It may take long.
    pub fn long(mut self) -> Route {
        self.is_long = true;
        self
    }

    /// It answers problems in this form.
    pub fn errors(mut self, errors: Errors) -> Route {
        self.errors = errors;
        self
    }

    /// It takes a header.
    pub fn header(mut self, name: &'static str, about: &'static str) -> Route {
        self.headers.push(TakesHeader { name, about });
        self
    }

    /// The same status with another body.
    pub fn or_streams(mut self, media: &'static str, about: &'static str) -> Route {
        if let Some(status) = self.gives.first().map(|first| first.status) {
            self.gives.push(Gives { status, about, media, schema: None });
        }
        self
    }

    /// With the statuses of further problems.
    pub fn fails(mut self, statuses: &[u16]) -> Route {
        self.fails.extend(statuses);
        self
    }
}

/// The parts of a call by their types. Errors: what the schema does not say and the type demands.
fn typed<Q: DeserializeOwned, B: DeserializeOwned>(call: Call<Value, Value>) -> Result<Call<Q, B>, Problem> {
    let Call { app, who, host, path, query, body, headers, digest, socket, gone } = call;
    let (query, body) = (read(query, "query")?, read(body, "body")?);
    Ok(Call { app, who, host, path, query, body, headers, digest, socket, gone })
}

/// A value as its type. `3.0` is a whole number where one is wanted, as it is to JSON Schema.
fn read<T: DeserializeOwned>(mut value: Value, place: &str) -> Result<T, Problem> {
    T::deserialize(&value).or_else(|_| {
        whole(&mut value);
        serde_path_to_error::deserialize(&value).map_err(|error| {
            let pointer = pointer(error.path());
            Problem::fields(vec![FieldProblem::new(place, pointer, error.into_inner().to_string())])
        })
    })
}

/// A place in a value as a pointer.
fn pointer(place: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment::{Map, Seq};
    let part = |segment: &serde_path_to_error::Segment| match segment {
        Map { key } => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
        Seq { index } => Some(format!("/{index}")),
        _ => None,
    };
    place.iter().filter_map(part).collect()
}

fn whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let exact = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15);
            if let Some(float) = exact {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole),
        Value::Object(fields) => fields.values_mut().for_each(whole),
        _ => {}
    }
}

fn written<T: Serialize>(answer: &Answer<T>) -> Response<Body> {
    let mut response = reply::json(answer.status, &answer.body);
    let headers = response.headers_mut();
    for more in &answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(more.name), HeaderValue::try_from(&more.value)) {
            headers.insert(name, value);
        }
    }
    response
}

/// All routes of a part of the server, shown as one group.
pub fn group(name: &'static str, routes: Vec<Result<Route, RouteError>>) -> Result<Vec<Route>, RouteError> {
    routes.into_iter().map(|route| route.map(|route| Route { group: name, ..route })).collect()
}
