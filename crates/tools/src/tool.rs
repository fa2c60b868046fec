//! What a tool is.

use crate::{Fut, Problem, ToolContext, Workspace};
use mainpath_policy::UrlFact;
use mainpath_types::{Asking, ChildPatch, EffectClass, LoadedSkill, Origin, ToolOutput};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::Duration;

/// Something that a model can ask for.
///
/// # Stopping
/// When [`ToolContext::cancel`] fires, `run` ends what it does and returns **only once nothing of the call runs any
/// more**; its output then fails with [`ToolContext::stop_code`] and holds what there was until then. A tool that only
/// waits for futures wraps them in [`ToolContext::until_stopped`]; one that is quick may ignore it. A call that was
/// nevertheless done returns its result as usual. A future that is dropped half-way must leave nothing running either.
pub trait Tool: Send + Sync + 'static {
    /// The arguments. The schema that models see comes from this type; its field docs are the fields' descriptions.
    type Args: DeserializeOwned + JsonSchema + Send + 'static;

    /// The tool's one name: lower-case letters, digits and `_`.
    const NAME: &'static str;

    /// What the model and policy are told.
    fn describe(&self) -> ToolDoc;

    /// What a call reaches for, so that policy can judge it. What is not said here is not known to policy: a tool that
    /// follows a path, an address or a command that it was given says so. A call whose paths do not lead any more to where
    /// they led when it was judged is not run.
    fn touches(&self, args: &Self::Args) -> Touches {
        let _ = args;
        Touches::default()
    }

    /// The same for a tool whose calls depend on where they are made: which skills are loaded there, say. Errors: such a call cannot
    /// be made there, in words for the model.
    fn touches_in(&self, args: &Self::Args, scene: &Scene<'_>) -> Result<Touches, Problem> {
        let _ = scene;
        Ok(self.touches(args))
    }

    /// Whether a call can be done at all, told from its arguments alone: an address outside the tool's allow-list cannot be asked,
    /// whoever approves it. Called before anybody is asked about the call, unless its arguments hold handles of secrets, and nothing
    /// is looked at or changed. `run` checks again. Errors: what is wrong, for the model.
    fn check(&self, args: &Self::Args) -> Result<(), Problem> {
        let _ = args;
        Ok(())
    }

    /// Does it. Failures are data: an output whose `error` is set.
    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Self::Args) -> Fut<'a, ToolOutput>;

    /// After a crash: was this started call done? Changes nothing that the call would not have cleaned up itself.
    fn probe<'a>(&'a self, ctx: &'a ToolContext, args: Self::Args) -> Fut<'a, ProbeAnswer> {
        let _ = (ctx, args);
        Box::pin(async { ProbeAnswer::Unknown })
    }
}

/// A tool that is known only when the program runs: from a server, or from a configuration.
///
/// What [`Tool`] says about stopping holds here too.
pub trait DynTool: Send + Sync + 'static {
    /// What a call reaches for; see [`Tool::touches`].
    fn touches(&self, args: &Value) -> Touches {
        let _ = args;
        Touches::default()
    }

    /// Whether a call can be done at all; see [`Tool::check`].
    fn check(&self, args: &Value) -> Result<(), Problem> {
        let _ = args;
        Ok(())
    }

    /// The call that a call of this tool comes to, if it only hands on: the name of a [hidden](ToolDoc::hidden) tool and
    /// its arguments. Such a call is checked, judged and run as that tool's, and this tool's `run` is never asked.
    fn stands_for(&self, args: &Value) -> Option<(String, Value)> {
        let _ = args;
        None
    }

    /// How its owner defines it now. Asked before a call runs that a person has approved.
    fn defined(&self) -> Fut<'_, Defined> {
        Box::pin(async { Defined::Fixed })
    }

    /// Does it. The arguments match the tool's schema.
    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput>;
}

/// How a tool is defined now.
#[derive(Clone, Debug, PartialEq)]
pub enum Defined {
    /// By this program or by the configuration: it does not change while this program runs.
    Fixed,
    /// By its server.
    Now {
        /// The description for models.
        description: String,
        /// JSON Schema of its arguments.
        schema: Value,
    },
    /// Its server does not list it, or does not answer. Why, in one line.
    Gone(String),
}

/// What a call reaches for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touches {
    /// Files and folders. They are resolved in the workspace.
    pub paths: Vec<Touched>,
    /// Addresses.
    pub urls: Vec<UrlFact>,
    /// Whether the owner's configuration names them.
    pub named: bool,
    /// Command lines for a shell.
    pub commands: Vec<String>,
    /// What files and folders hold that the call runs: `sha256:HASH PATH` each. A call whose contents are others when it starts is
    /// not run. A tool that names contents names no paths.
    pub contents: Vec<String>,
    /// What the call does to the world, where that is worse than what its tool does.
    pub effect: Option<EffectClass>,
    /// A person, who is asked: how long the call waits, and for whom.
    pub asking: Option<Asking>,
}

/// Where a call is made.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The workspace.
    pub workspace: &'a Workspace,
    /// The skills that are loaded.
    pub skills: &'a [LoadedSkill],
    /// What agents have changed in copies.
    pub patches: &'a [ChildPatch],
}

/// A file or folder that a call reaches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// As it was written.
    pub path: String,
    /// Whether it is to be changed.
    pub write: bool,
}

impl Touches {
    /// A file that is only looked at.
    pub fn reading(path: impl Into<String>) -> Touches {
        Touches { paths: vec![Touched { path: path.into(), write: false }], ..Touches::default() }
    }

    /// A file that is changed.
    pub fn writing(path: impl Into<String>) -> Touches {
        Touches { paths: vec![Touched { path: path.into(), write: true }], ..Touches::default() }
    }

    /// An address that is asked. `method`: in capitals.
    pub fn asking(method: impl Into<String>, url: impl Into<String>) -> Touches {
        Touches { urls: vec![UrlFact { method: method.into(), url: url.into() }], ..Touches::default() }
    }

    /// The same; `is_named`: whether the owner's configuration names what is asked.
    pub fn named(self, is_named: bool) -> Touches {
        Touches { named: is_named, ..self }
    }

    /// A command line.
    pub fn running(command: impl Into<String>) -> Touches {
        Touches { commands: vec![command.into()], ..Touches::default() }
    }
}

/// So many calls in so much time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub calls: u32,
    /// In what time.
    pub per: Duration,
}

/// What the model and policy are told about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDoc {
    /// What it does, for the model.
    pub description: String,
    /// What it can do to the world.
    pub effect: EffectClass,
    /// Whether [`Tool::probe`] can answer something else than unknown.
    pub can_probe: bool,
    /// How long a call may take; the run's limit applies where this says nothing.
    pub timeout: Option<Duration>,
    /// How often it may be called.
    pub rate: Option<Rate>,
    /// Characters of its output that are kept at most, where it does not see to that itself.
    pub output_chars: Option<usize>,
    /// Where its results come from.
    pub origin: Origin,
    /// Whether whoever offers it says that it changes nothing, whatever `effect` has it count as.
    pub says_read_only: bool,
    /// Whether a long result is shown to the model once, and by a line afterwards, also where it comes from here.
    pub shown_once: bool,
    /// Not among the tools that models are told of; it can only be called through one that [stands for
    /// it](DynTool::stands_for).
    pub hidden: bool,
    /// Has no effect outside the trace: its calls are answered by whoever drives the trace, and `run` is never asked.
    pub internal: bool,
    /// A call changes only data that Mainpath stores, so it has no destination.
    pub local: bool,
}

impl ToolDoc {
    /// A tool without a probe and without limits of its own, whose results come from the workspace.
    pub fn new(description: impl Into<String>, effect: EffectClass) -> ToolDoc {
        ToolDoc {
            description: description.into(),
            effect,
            can_probe: false,
            timeout: None,
            rate: None,
            output_chars: None,
            origin: Origin::Workspace,
            says_read_only: effect.is_read_only(),
            shown_once: false,
            hidden: false,
            internal: false,
            local: false,
        }
    }

    /// The same, with a probe.
    pub fn with_probe(self) -> ToolDoc {
        ToolDoc { can_probe: true, ..self }
    }
}

/// Whether a call that was started before a crash was done.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeAnswer {
    /// It was done; this is its result.
    Done(ToolOutput),
    /// It was not done and may run.
    NotDone,
    /// Nobody can tell.
    Unknown,
}
