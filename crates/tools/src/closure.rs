//! Tools made of a closure.

use crate::arguments::{check_fields, schema_of};
use crate::{DynTool, Fut, Problem, Tool, ToolContext, ToolDoc, Tools, Touches};
use mainpath_types::{EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::error::Error;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Makes a tool of an async closure. The schema that models see comes from the type of its arguments, whose field docs are the
/// fields' descriptions; a tool without arguments takes `()`. What it returns is an [`IntoOutput`]: text, [`Json`] of anything that can
/// be serialized, a [`ToolOutput`], nothing, or a `Result` of these. An error is data, which the model reads with all of its causes.
/// [`tool_fn_with`] gives the closure the call's context too.
///
/// Without [`FnTool::effect`] it counts as something that may change anything, so that a person is asked about its calls.
///
/// ```
/// use mainpath_tools::{IntoTool, Tools, tool_fn};
/// use mainpath_types::EffectClass;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Words {
///     /// The text to count in.
///     text: String,
/// }
///
/// let count = tool_fn("count_words", "Counts the words of a text.", |words: Words| async move {
///     words.text.split_whitespace().count().to_string()
/// });
/// let tools = Tools::new();
/// count.effect(EffectClass::ReadOnly).put_into(&tools)?;
/// assert_eq!(tools.specs()[0].input_schema["properties"]["text"]["description"], "The text to count in.");
/// # Ok::<(), mainpath_tools::Problem>(())
/// ```
pub fn tool_fn<A, F, R>(
    name: impl Into<String>,
    description: impl Into<String>,
    run: F,
) -> FnTool<A, impl Fn(ToolContext, A) -> R + Send + Sync + 'static>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutput> + Send + 'static,
{
    tool_fn_with(name, description, move |_, args| run(args))
}

/// Makes a tool of an async closure that is given the context of the call as well: the workspace, the grant, what stops the call, and
/// what it says while it runs. Otherwise as [`tool_fn`].
///
/// ```
/// use mainpath_tools::{IntoTool, ToolContext, Tools, tool_fn_with};
///
/// let id = tool_fn_with("call_id", "Says which call this is.", |context: ToolContext, (): ()| async move {
///     context.grant.call().to_string()
/// });
/// id.put_into(&Tools::new())?;
/// # Ok::<(), mainpath_tools::Problem>(())
/// ```
pub fn tool_fn_with<A, F, R>(name: impl Into<String>, description: impl Into<String>, run: F) -> FnTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(ToolContext, A) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutput> + Send + 'static,
{
    let doc = ToolDoc::new(description, EffectClass::SideEffecting);
    FnTool { name: name.into(), doc, touches: None, run, args: PhantomData }
}

/// A tool made of a closure: see [`tool_fn`] and [`tool_fn_with`].
pub struct FnTool<A, F> {
    name: String,
    doc: ToolDoc,
    touches: Option<fn(&A) -> Touches>,
    run: F,
    args: PhantomData<fn(A)>,
}

impl<A, F> FnTool<A, F> {
    /// What it can do to the world.
    pub fn effect(mut self, effect: EffectClass) -> FnTool<A, F> {
        self.doc.effect = effect;
        self.doc.says_read_only = effect.is_read_only();
        self
    }

    /// How long a call may take; the run's limit applies where nothing is said.
    pub fn timeout(mut self, limit: Duration) -> FnTool<A, F> {
        self.doc.timeout = Some(limit);
        self
    }

    /// What a call reaches for, so that policy can judge it: see [`Tool::touches`].
    pub fn touches(self, touches: fn(&A) -> Touches) -> FnTool<A, F> {
        FnTool { touches: Some(touches), ..self }
    }
}

impl<A, F, R> DynTool for FnTool<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(ToolContext, A) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutput> + Send + 'static,
{
    fn touches(&self, args: &Value) -> Touches {
        let touches = self.touches.zip(read(&self.name, args.clone()).ok());
        touches.map_or_else(Touches::default, |(touches, args)| touches(&args))
    }

    fn check(&self, args: &Value) -> Result<(), Problem> {
        read::<A>(&self.name, args.clone()).map(drop)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput> {
        match read(&self.name, args) {
            Err(problem) => Box::pin(async move { problem.into() }),
            Ok(args) => {
                let running = (self.run)(ctx.clone(), args);
                // When the call is stopped, the closure's future is dropped.
                Box::pin(async move {
                    let done = ctx.until_stopped(async { running.await.into_output() }).await;
                    done.unwrap_or_else(|| ctx.stopped())
                })
            }
        }
    }
}

fn read<A: DeserializeOwned>(name: &str, args: Value) -> Result<A, Problem> {
    let wrong = |error| Problem::new("invalid_arguments", format!("The arguments of {name} cannot be used: {error}."));
    let is_empty = args.as_object().is_some_and(Map::is_empty);
    match serde_json::from_value(args) {
        // No arguments, as `()` has them.
        Err(error) if is_empty => serde_json::from_value(Value::Null).map_err(|_| wrong(error)),
        read => read.map_err(wrong),
    }
}

/// What a closure can return for a tool.
pub trait IntoOutput {
    /// As a tool's output.
    fn into_output(self) -> ToolOutput;
}

impl IntoOutput for ToolOutput {
    fn into_output(self) -> ToolOutput {
        self
    }
}

impl IntoOutput for String {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

impl IntoOutput for &str {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}

/// As JSON text.
impl IntoOutput for Value {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self.to_string())
    }
}

/// It was done, and there is nothing to say.
impl IntoOutput for () {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text("done")
    }
}

/// What can be serialized, as a tool's output: JSON text. What cannot be written as JSON is a failure with the code `failed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoOutput for Json<T> {
    fn into_output(self) -> ToolOutput {
        serde_json::to_string(&self.0).into_output()
    }
}

/// A failure has the code `failed`, and the words of the error and of its causes. Errors are the standard ones, those of crates such
/// as anyhow, and texts.
impl<T: IntoOutput, E: Into<Box<dyn Error + Send + Sync>>> IntoOutput for Result<T, E> {
    fn into_output(self) -> ToolOutput {
        match self {
            Ok(output) => output.into_output(),
            Err(error) => ToolOutput::failed("failed", with_causes(&*error.into())),
        }
    }
}

/// An error and its causes in a line, each once: many errors say their cause themselves.
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text = format!("{text}: {words}");
        }
        next = cause.source();
    }
    text
}

/// What can be put among tools: a [`Tool`], or what [`tool_fn`] makes.
pub trait IntoTool {
    /// Puts it among these; one of the same name is replaced. Errors: its name or its schema cannot be used.
    fn put_into(self, tools: &Tools) -> Result<(), Problem>;
}

impl<T: Tool> IntoTool for T {
    fn put_into(self, tools: &Tools) -> Result<(), Problem> {
        check_fields(T::NAME, &schema_of::<T::Args>())?;
        tools.clone().with(self);
        Ok(())
    }
}

impl<A, F, R> IntoTool for FnTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(ToolContext, A) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutput> + Send + 'static,
{
    fn put_into(self, tools: &Tools) -> Result<(), Problem> {
        let mut schema = schema_of::<A>();
        check_fields(&self.name, &schema)?;
        // That of `()`, which is no object.
        if schema.get("type").is_some_and(|kind| kind == "null") {
            schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        }
        let (name, doc) = (self.name.clone(), self.doc.clone());
        tools.put(name, doc, schema, Arc::new(self))
    }
}
