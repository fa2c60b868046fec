//! Tools of all types behind one trait.

use crate::arguments::typed;
use crate::{Defined, DynTool, Fut, ProbeAnswer, Problem, Scene, Tool, ToolContext, Touches};
use mainpath_types::ToolOutput;
use serde_json::Value;
use std::sync::Arc;

/// A tool whose argument type is forgotten. The arguments match its schema.
pub(crate) trait Erased: Send + Sync {
    fn touches(&self, args: Value, scene: &Scene<'_>) -> Result<Touches, Problem>;
    fn check(&self, args: Value) -> Result<(), Problem>;
    fn stands_for(&self, _: &Value) -> Option<(String, Value)> {
        None
    }
    fn defined(&self) -> Fut<'_, Defined> {
        Box::pin(async { Defined::Fixed })
    }
    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ToolOutput>, Problem>;
    fn probe<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ProbeAnswer>, Problem>;
}

/// A tool whose arguments have a type.
pub(crate) struct Typed<T>(pub T);

impl<T: Tool> Erased for Typed<T> {
    fn touches(&self, args: Value, scene: &Scene<'_>) -> Result<Touches, Problem> {
        self.0.touches_in(&typed(T::NAME, args)?, scene)
    }
    fn check(&self, args: Value) -> Result<(), Problem> {
        self.0.check(&typed(T::NAME, args)?)
    }
    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ToolOutput>, Problem> {
        Ok(self.0.run(ctx, typed(T::NAME, args)?))
    }
    fn probe<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ProbeAnswer>, Problem> {
        Ok(self.0.probe(ctx, typed(T::NAME, args)?))
    }
}

/// A tool that is known only when the program runs.
pub(crate) struct Untyped(pub Arc<dyn DynTool>);

impl Erased for Untyped {
    fn touches(&self, args: Value, _: &Scene<'_>) -> Result<Touches, Problem> {
        Ok(self.0.touches(&args))
    }
    fn check(&self, args: Value) -> Result<(), Problem> {
        self.0.check(&args)
    }
    fn stands_for(&self, args: &Value) -> Option<(String, Value)> {
        self.0.stands_for(args)
    }
    fn defined(&self) -> Fut<'_, Defined> {
        self.0.defined()
    }
    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ToolOutput>, Problem> {
        Ok(self.0.run(ctx, args))
    }
    fn probe<'a>(&'a self, _: &'a ToolContext, _: Value) -> Result<Fut<'a, ProbeAnswer>, Problem> {
        Ok(Box::pin(async { ProbeAnswer::Unknown }))
    }
}
