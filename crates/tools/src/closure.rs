//! Tools made of a closure.

use crate::arguments::schema_of;
use crate::{DynTool, Fut, Problem, Tool, ToolContext, ToolDoc, Tools, Touches};
use mainpath_types::{EffectClass, ToolOutput};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Display;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// Makes a tool of an async closure. The schema that models see comes from the type of its arguments, whose field docs are the
/// fields' descriptions. What it returns is an [`IntoOutput`]; an error is data, which the model reads.
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
pub fn tool_fn<A, F, R>(name: impl Into<String>, description: impl Into<String>, run: F) -> FnTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutput> + Send + 'static,
{
    let doc = ToolDoc::new(description, EffectClass::SideEffecting);
    FnTool { name: name.into(), doc, touches: None, run, args: PhantomData }
}

/// A tool made of a closure: see [`tool_fn`].
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
    F: Fn(A) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutput> + Send + 'static,
{
    fn touches(&self, args: &Value) -> Touches {
        let touches = self.touches.zip(serde_json::from_value(args.clone()).ok());
        touches.map_or_else(Touches::default, |(touches, args)| touches(&args))
    }

    fn check(&self, args: &Value) -> Result<(), Problem> {
        read::<A>(&self.name, args.clone()).map(drop)
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput> {
        match read(&self.name, args) {
            Err(problem) => Box::pin(async move { problem.into() }),
            Ok(args) => {
                let running = (self.run)(args);
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
    serde_json::from_value(args).map_err(wrong)
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

/// A failure has the code `failed`, and the error's words.
impl<T: IntoOutput, E: Display> IntoOutput for Result<T, E> {
    fn into_output(self) -> ToolOutput {
        match self {
            Ok(output) => output.into_output(),
            Err(error) => ToolOutput::failed("failed", error.to_string()),
        }
    }
}

/// What can be put among tools: a [`Tool`], or what [`tool_fn`] makes.
pub trait IntoTool {
    /// Puts it among these; one of the same name is replaced. Errors: its name or its schema cannot be used.
    fn put_into(self, tools: &Tools) -> Result<(), Problem>;
}

impl<T: Tool> IntoTool for T {
    fn put_into(self, tools: &Tools) -> Result<(), Problem> {
        tools.clone().with(self);
        Ok(())
    }
}

impl<A, F, R> IntoTool for FnTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A) -> R + Send + Sync + 'static,
    R: Future<Output: IntoOutput> + Send + 'static,
{
    fn put_into(self, tools: &Tools) -> Result<(), Problem> {
        let schema = schema_of::<A>();
        let (name, doc) = (self.name.clone(), self.doc.clone());
        tools.put(name, doc, schema, Arc::new(self))
    }
}
