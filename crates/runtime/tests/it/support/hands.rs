//! The tools of the tests: they count what they do to the world, and take their time as they are told.

use mainpath_tools::{Fut, Tool, ToolContext, ToolDoc, Tools};
use mainpath_types::*;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Something to do at a certain moment.
pub type Moment = Arc<Mutex<Option<Box<dyn Fn() + Send>>>>;

/// What the tools did to the world.
#[derive(Clone)]
pub struct Hands {
    counts: Arc<Mutex<BTreeMap<String, u32>>>,
    /// Stubborn calls end when they get a permit.
    pub gate: Arc<Semaphore>,
    /// Runs in every `count`, after it has counted.
    pub hook: Moment,
}

impl Hands {
    pub fn new() -> Hands {
        Hands { counts: Arc::default(), gate: Arc::new(Semaphore::new(0)), hook: Arc::default() }
    }

    fn touch(&self, key: &str) {
        *self.counts.lock().unwrap().entry(key.into()).or_default() += 1;
    }

    /// How often each thing was done.
    pub fn counts(&self) -> BTreeMap<String, u32> {
        self.counts.lock().unwrap().clone()
    }

    pub fn count(&self, key: &str) -> u32 {
        self.counts().get(key).copied().unwrap_or(0)
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct Args {
    /// What to do it to.
    pub key: String,
}

macro_rules! tools {
    ($($name:ident $text:literal $effect:ident $does:path),* $(,)?) => {
        $(
            struct $name(Hands);
            impl Tool for $name {
                type Args = Args;
                const NAME: &'static str = $text;
                fn describe(&self) -> ToolDoc {
                    ToolDoc::new("a tool of the tests", EffectClass::$effect)
                }
                fn run<'a>(&'a self, ctx: &'a ToolContext, args: Args) -> Fut<'a, ToolOutput> {
                    Box::pin($does(self.0.clone(), ctx, args.key))
                }
            }
        )*
        pub fn all_tools(hands: &Hands) -> Tools {
            Tools::new()$( .with($name(hands.clone())) )*
        }
    };
}

tools! {
    Count "count" SideEffecting count,
    Look "look" ReadOnly look,
    Put "put" Idempotent put,
    Stubborn "stubborn" ProcessControl stubborn,
    Patient "patient" SideEffecting patient,
    Slow "slow" SideEffecting slow,
    Trip "trip" ReadOnly trip,
    Big "big" ReadOnly big,
    Leak "leak" ReadOnly leak,
    Chat "chat" ReadOnly chat,
    Ask "ask" AskPerson look,
}

async fn count(hands: Hands, _: &ToolContext, key: String) -> ToolOutput {
    tokio::task::yield_now().await;
    hands.touch(&key);
    if let Some(hook) = &*hands.hook.lock().unwrap() {
        hook();
    }
    tokio::task::yield_now().await;
    ToolOutput::text(format!("counted {key}"))
}

async fn look(_: Hands, _: &ToolContext, key: String) -> ToolOutput {
    tokio::task::yield_now().await;
    ToolOutput::text(format!("saw {key}"))
}

async fn put(hands: Hands, _: &ToolContext, key: String) -> ToolOutput {
    hands.touch(&format!("put {key}"));
    tokio::task::yield_now().await;
    ToolOutput::text(format!("put {key}"))
}

/// Does not care about being cancelled until the gate opens.
async fn stubborn(hands: Hands, ctx: &ToolContext, key: String) -> ToolOutput {
    hands.touch(&key);
    hands.gate.acquire().await.unwrap().forget();
    hands.touch(&format!("end of {key}"));
    if ctx.cancel.is_cancelled() { ctx.stopped() } else { ToolOutput::text("done") }
}

/// Waits until it is told to stop.
async fn patient(hands: Hands, ctx: &ToolContext, key: String) -> ToolOutput {
    hands.touch(&key);
    let _: Option<()> = ctx.until_stopped(std::future::pending()).await;
    ctx.stopped()
}

/// Does its work at once, and says so much later.
async fn slow(hands: Hands, ctx: &ToolContext, key: String) -> ToolOutput {
    hands.touch(&key);
    match ctx.until_stopped(tokio::time::sleep(Duration::from_millis(700))).await {
        Some(()) => ToolOutput::text(format!("done {key}")),
        None => ctx.stopped(),
    }
}

/// Always fails.
async fn trip(_: Hands, _: &ToolContext, key: String) -> ToolOutput {
    ToolOutput::failed("tripped", format!("over {key}"))
}

/// As many bytes as its key says.
async fn big(_: Hands, _: &ToolContext, key: String) -> ToolOutput {
    ToolOutput::text("b".repeat(key.parse().unwrap()))
}

/// Shows a secret in two pieces, and once more in its output.
async fn leak(_: Hands, ctx: &ToolContext, _: String) -> ToolOutput {
    (ctx.progress)("the key is hunter2h");
    tokio::task::yield_now().await;
    (ctx.progress)("unter2, you see");
    ToolOutput::text("it was hunter2hunter2")
}

/// Says as many numbers as its key says while it runs.
async fn chat(_: Hands, ctx: &ToolContext, key: String) -> ToolOutput {
    (0..key.parse().unwrap()).for_each(|n: u32| (ctx.progress)(&format!("{n} ")));
    ToolOutput::text("said")
}
