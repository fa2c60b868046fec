//! The tools that an agent has, and the only way to run one.

use crate::answers::{Answers, AskedCall};
use crate::arguments::{Arguments, map_strings};
use crate::erased::{Erased, Typed, Untyped};
use crate::words::count;
use crate::work::{blocking, panic_text};
use crate::{Bash, EditTextFile, Glob, Grep, ListFiles, ReadTextFile, WriteTextFile};
use crate::{Defined, DynTool, ProbeAnswer, Problem, Scene, Tool, ToolContext, ToolDoc, Touched, Touches, Workspace};
use crate::{ExpandWindow, GoalTool, ListCalls, LoadOlderMessages, RecallResult};
use crate::{ProcessList, ProcessOutput, ProcessStop, Sandbox, Secrets};
use mainpath_policy::{CallFacts, PathFact};
use mainpath_types::{Asking, EffectClass, Millis, Origin, Part, RateLimit, ToolOutput, ToolSpec, own_tool_name};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::task::Poll;
use std::time::Duration;

/// The tools that an agent has, in the order of their names. Clones are one registry.
#[derive(Clone, Default)]
pub struct Tools {
    tools: Arc<RwLock<BTreeMap<String, Arc<Entry>>>>,
    /// What answers calls before their tools do.
    answers: Option<Arc<dyn Answers>>,
}

/// What a call comes to before anybody has decided on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The own name of the tool that was asked for. The facts name another one where it only hands on.
    pub tool: String,
    /// What policy needs to know.
    pub facts: CallFacts,
    /// Where the paths lead, in their order, for the call's grant, or what the call runs holds; empty if each path leads to just
    /// where it is written.
    pub places: Vec<String>,
    /// Of a call that asks a person: how long it waits, and for whom.
    pub asking: Option<Box<Asking>>,
}

struct Entry {
    name: String,
    doc: ToolDoc,
    arguments: Arguments,
    tool: Box<dyn Erased>,
}

/// How a handle of a secret begins. What it stands for is known only to the call that runs.
const HANDLE: &str = "{{secret:";

impl Tools {
    /// No tools.
    pub fn new() -> Tools {
        Tools::default()
    }

    /// The kernel tools: `bash`, `edit_text_file`, `glob`, `grep`, `list_files`, `process_list`, `process_output`,
    /// `process_stop`, `read_text_file`, `sandbox`, `write_text_file`.
    pub fn kernel() -> Tools {
        let files = Tools::new().with(EditTextFile).with(ReadTextFile).with(WriteTextFile);
        let search = files.with(Glob).with(Grep).with(ListFiles);
        search.with(Bash).with(ProcessList).with(ProcessOutput).with(ProcessStop).with(Sandbox)
    }

    /// These and the internal ones, which change or look into the trace and nothing else: `expand_window`, `goal`, `list_calls`,
    /// `load_older_messages`, `recall_result`.
    pub fn with_internal(self) -> Tools {
        let looking = self.with(LoadOlderMessages).with(ListCalls).with(RecallResult);
        looking.with(ExpandWindow).with(GoalTool)
    }

    /// These and one more. A tool of the same name is replaced.
    pub fn with<T: Tool>(self, tool: T) -> Tools {
        let arguments = Arguments::of::<T::Args>();
        self.insert(Entry { name: T::NAME.into(), doc: tool.describe(), arguments, tool: Box::new(Typed(tool)) });
        self
    }

    /// Adds a tool that is known only now; one of the same name is replaced. Specs that are made from now on can have it.
    ///
    /// `name`: 1 to 64 letters, digits, `_` and `-`. `input_schema`: a JSON Schema (2020-12) for an object. Errors: what is
    /// wrong with them.
    pub fn put(
        &self,
        name: impl Into<String>,
        doc: ToolDoc,
        input_schema: Value,
        tool: Arc<dyn DynTool>,
    ) -> Result<(), Problem> {
        let name = name.into();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
        if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
            let name: String = name.chars().take(80).collect();
            let text = format!("A tool cannot be called {name:?}: a name is 1 to 64 letters, digits, _ and -.");
            return Err(Problem::new("bad_tool", text));
        }
        let arguments = Arguments::from_schema(input_schema)
            .map_err(|why| Problem::new("bad_tool", format!("The tool {name:?} has an unusable schema: {why}.")))?;
        self.insert(Entry { name, doc, arguments, tool: Box::new(Untyped(tool)) });
        Ok(())
    }

    /// Adds all tools of another registry, as they are there now; those of the same name are replaced.
    pub fn put_all(&self, others: &Tools) {
        // Copied first: both may be one registry.
        let others: Vec<_> = others.entries().iter().map(|(name, entry)| (name.clone(), Arc::clone(entry))).collect();
        self.tools.write().unwrap_or_else(PoisonError::into_inner).extend(others);
    }

    /// The same tools in a registry of its own, whose calls this answers first.
    pub fn answered_by(&self, answers: Arc<dyn Answers>) -> Tools {
        let tools = self.entries().clone();
        Tools { tools: Arc::new(RwLock::new(tools)), answers: Some(answers) }
    }

    /// Takes a tool out. Says whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        self.tools.write().unwrap_or_else(PoisonError::into_inner).remove(name).is_some()
    }

    fn insert(&self, entry: Entry) {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        tools.insert(entry.name.clone(), Arc::new(entry));
    }

    fn entries(&self) -> RwLockReadGuard<'_, BTreeMap<String, Arc<Entry>>> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tools as models see them, in the order of their names, hidden ones left out.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.specs_of(|_| true)
    }

    /// Those of the same whose names are wanted.
    pub fn specs_of(&self, wanted: impl Fn(&str) -> bool) -> Vec<ToolSpec> {
        let spec = |entry: &Arc<Entry>| ToolSpec {
            name: entry.name.clone(),
            description: entry.doc.description.clone(),
            input_schema: entry.arguments.schema().clone(),
            effect: entry.doc.effect,
            can_probe: entry.doc.can_probe,
            timeout_ms: entry.doc.timeout.map(millis),
            max_calls: None,
            rate: entry.doc.rate.map(|rate| RateLimit { calls: rate.calls, per_ms: millis(rate.per) }),
        };
        let mut entries = Vec::new();
        // Whoever is asked which are wanted may look into the registry.
        entries.extend(self.entries().values().filter(|entry| !entry.doc.hidden).cloned());
        entries.iter().filter(|entry| wanted(&entry.name)).map(spec).collect()
    }

    /// The names of the tools whose calls have this effect, in their order, hidden ones left out.
    pub fn with_effect(&self, effect: EffectClass) -> Vec<String> {
        let has = |entry: &&Arc<Entry>| !entry.doc.hidden && entry.doc.effect == effect;
        self.entries().values().filter(has).map(|entry| entry.name.clone()).collect()
    }

    /// The names of all tools, the hidden ones too, in their order.
    pub fn names(&self) -> Vec<String> {
        self.entries().keys().cloned().collect()
    }

    /// The names of the hidden tools, in their order.
    pub fn hidden(&self) -> Vec<String> {
        self.entries().values().filter(|entry| entry.doc.hidden).map(|entry| entry.name.clone()).collect()
    }

    /// What a tool says of itself; by an alias too.
    pub fn doc(&self, name: &str) -> Option<ToolDoc> {
        self.find(name).ok().map(|entry| entry.doc.clone())
    }

    /// The own name of the tool that is asked for, be it by an alias.
    pub fn resolve(&self, name: &str) -> Option<String> {
        self.find(name).ok().map(|entry| entry.name.clone())
    }

    fn find(&self, name: &str) -> Result<Arc<Entry>, Problem> {
        let tools = self.entries();
        let shown = |entry: &&Arc<Entry>| !entry.doc.hidden;
        tools.get(name).or_else(|| tools.get(own_tool_name(name))).filter(shown).cloned().ok_or_else(|| {
            let known: Vec<&str> = tools.values().filter(shown).map(|entry| entry.name.as_str()).collect();
            let name: String = name.chars().take(80).collect();
            Problem::new("unknown_tool", format!("There is no tool {name:?}. The tools are: {}.", known.join(", ")))
        })
    }

    /// What a call comes to: the tool that does it, and its arguments, which match that tool's schema. A tool that hands on
    /// reaches hidden tools and no others: what a model is not told of is not among the tools that a spec names.
    fn read(&self, asked: &Arc<Entry>, text: &str) -> Result<(Arc<Entry>, Value), Problem> {
        let args = asked.arguments.parse(&asked.name, text)?;
        let Some((name, args)) = asked.tool.stands_for(&args) else { return Ok((Arc::clone(asked), args)) };
        let meant = self.entries().get(&name).filter(|entry| entry.doc.hidden).cloned();
        let meant = meant.ok_or_else(|| {
            let name: String = name.chars().take(80).collect();
            Problem::new("unknown_tool", format!("{} knows no tool {name:?}; find its name first.", asked.name))
        })?;
        let args = meant.arguments.check(&meant.name, args)?;
        Ok((meant, args))
    }

    /// What a call comes to: its tool, and the facts that policy judges. Looks at the file system for the paths, runs
    /// nothing. Handles of secrets stay handles. Where the arguments came from is the caller's to say.
    pub fn plan(&self, name: &str, arguments: &str, workspace: &Workspace) -> Result<Planned, Problem> {
        self.plan_in(name, arguments, &Scene { workspace, skills: &[], patches: &[] })
    }

    /// The same in a trace that has loaded skills.
    pub fn plan_in(&self, name: &str, arguments: &str, scene: &Scene<'_>) -> Result<Planned, Problem> {
        let workspace = scene.workspace;
        let asked = self.find(name)?;
        let has_handles = arguments.contains(HANDLE);
        let (entry, arguments) = self.read(&asked, arguments)?;
        // What a tool says of its arguments is its author's code, and the arguments are the model's: a panic is the model's to read.
        let told = catch_unwind(AssertUnwindSafe(|| {
            if !has_handles {
                entry.tool.check(arguments.clone())?;
            }
            entry.tool.touches(arguments.clone(), scene)
        }));
        let told = told.unwrap_or_else(|panic| {
            let why = format!("{} panicked at these arguments: {}.", entry.name, panic_text(&*panic));
            Err(Problem::new("panicked", why))
        });
        let Touches { paths, urls, commands, named, contents, effect, asking } = told?;
        let fact = |Touched { path, write }: Touched| -> Result<PathFact, Problem> {
            let fact = workspace.fact(&path, &workspace.resolve(&path)?);
            let in_repository = write && fact.relative.as_deref().is_some_and(|path| workspace.is_obeyed(path));
            Ok(PathFact { write, in_repository, ..fact })
        };
        let paths = paths.into_iter().map(fact).collect::<Result<Vec<_>, _>>()?;
        let is_linked = paths.iter().any(|fact| fact.absolute != workspace.as_written(&fact.path));
        let places = paths.iter().filter(|_| is_linked).map(|fact| fact.absolute.clone()).chain(contents).collect();
        let facts = CallFacts {
            tool: entry.name.clone(),
            effect: effect.unwrap_or(entry.doc.effect),
            arguments,
            paths,
            urls,
            named,
            commands,
            origins: BTreeSet::new(),
            destinations: Vec::new(),
            says_read_only: entry.doc.says_read_only,
            results: entry.doc.origin,
            confined: false,
        };
        Ok(Planned { tool: asked.name.clone(), facts, places, asking: asking.map(Box::new) })
    }

    /// A call's arguments as its tool takes them. Errors: there is no such tool, or they do not match its schema.
    pub fn arguments(&self, name: &str, text: &str) -> Result<Value, Problem> {
        self.find(name).and_then(|asked| asked.arguments.parse(&asked.name, text))
    }

    /// The output of a call that a person has approved and whose tool is another one now; `None` if it is the same. `shown`: the tools as
    /// the model was told of them when it made the call; a tool that is not among them is compared with what is known of it here.
    pub async fn changed(
        &self,
        name: &str,
        arguments: &str,
        shown: &[ToolSpec],
        secrets: &dyn Secrets,
    ) -> Option<ToolOutput> {
        let entry = self.find(name).and_then(|asked| self.read(&asked, arguments)).ok()?.0;
        let why = match entry.tool.defined().await {
            Defined::Fixed => return None,
            Defined::Gone(why) => why,
            Defined::Now { description, mut schema } => {
                map_strings(&mut schema, &|text| secrets.redact(text));
                let is_as = |known: &str, input: &Value| secrets.redact(&description) == known && schema == *input;
                let same = match shown.iter().find(|spec| spec.name == entry.name) {
                    Some(spec) => is_as(&spec.description, &spec.input_schema),
                    None => {
                        let mut known = Value::clone(entry.arguments.schema());
                        map_strings(&mut known, &|text| secrets.redact(text));
                        is_as(&secrets.redact(&entry.doc.description), &known)
                    }
                };
                if same {
                    return None;
                }
                "its description or its arguments have changed".into()
            }
        };
        let text = format!("{} is not the tool that was approved: {why}. Nothing was done.", entry.name);
        Some(ToolOutput::failed("tool_changed", text))
    }

    /// Runs a call under the context's grant; a grant for anything but this very tool and effect is refused, and so is a call
    /// whose paths do not lead any more to the places that the grant names.
    ///
    /// Returns only when nothing of the call runs any more. Fires the call's own cancel token when `ctx.timeout` has
    /// passed; firing `ctx.cancel` ends it as well. Texts of the output are redacted.
    pub async fn run(&self, name: &str, arguments: &str, ctx: &ToolContext) -> ToolOutput {
        let secrets = ctx.secrets.clone();
        let mut output = match self.prepare(name, arguments, ctx) {
            Ok((entry, args, ctx)) => match self.answered(&entry, &args, &ctx).await {
                Some(output) => output,
                None => timed(&entry, args, &ctx).await,
            },
            Err(problem) => problem.into(),
        };
        if !is_large(&output) {
            redact(&mut output, &|text| secrets.redact(text));
            return output;
        }
        let redacted = blocking(move || {
            redact(&mut output, &|text| secrets.redact(text));
            output
        });
        redacted.await.unwrap_or_else(|_| unkept())
    }

    async fn answered(&self, entry: &Entry, arguments: &Value, ctx: &ToolContext) -> Option<ToolOutput> {
        let answers = self.answers.as_ref()?;
        let (tool, effect, origin) = (entry.name.as_str(), entry.doc.effect, entry.doc.origin);
        answers.answer(ctx, AskedCall { tool, effect, origin, arguments }).await
    }

    /// After a crash: was this started call done? [`ProbeAnswer::Unknown`] where the tool cannot tell, the arguments are
    /// wrong or the grant is for something else.
    pub async fn probe(&self, name: &str, arguments: &str, ctx: &ToolContext) -> ProbeAnswer {
        let Ok((entry, args, ctx)) = self.prepare(name, arguments, ctx) else { return ProbeAnswer::Unknown };
        let probing = async {
            match entry.tool.probe(&ctx, args) {
                Ok(probing) => probing.await,
                Err(_) => ProbeAnswer::Unknown,
            }
        };
        let mut answer = caught(probing).await.unwrap_or(ProbeAnswer::Unknown);
        if let ProbeAnswer::Done(output) = &mut answer {
            redact(output, &|text| ctx.secrets.redact(text));
        }
        answer
    }

    /// The tool, its arguments with the secrets in them, and a context with a token of its own and the places that were judged.
    fn prepare(&self, name: &str, text: &str, ctx: &ToolContext) -> Result<(Arc<Entry>, Value, ToolContext), Problem> {
        let entry = self.find(name)?;
        let grant = &ctx.grant;
        if grant.tool() != entry.name || grant.effect() != entry.doc.effect {
            let text = format!("The grant is for {}, not for {}; nothing was run.", grant.tool(), entry.name);
            return Err(Problem::new("no_grant", text));
        }
        let (entry, mut args) = self.read(&entry, text)?;
        let patches = ctx.patches.known();
        let scene = Scene { workspace: &ctx.workspace, skills: ctx.skills.loaded(), patches };
        let Touches { paths, contents, commands, .. } = entry.tool.touches(args.clone(), &scene)?;
        if !(paths.is_empty() && contents.is_empty() && commands.is_empty()) {
            ctx.workspace.check_same()?;
        }
        let places = match contents.is_empty() {
            true => ctx.judged(paths.into_iter().map(|touched| touched.path).collect())?,
            false => ctx.has_content(&contents).map(|()| BTreeMap::new())?,
        };
        let places = Arc::new(places);
        map_strings(&mut args, &|text| ctx.secrets.reveal(text));
        let ctx = ToolContext {
            cancel: ctx.cancel.child_token(),
            timed_out: Arc::default(),
            is_trusted: Arc::default(),
            places,
            ..ctx.clone()
        };
        Ok((entry, args, ctx))
    }
}

async fn timed(entry: &Entry, args: Value, ctx: &ToolContext) -> ToolOutput {
    let work = async {
        match entry.tool.run(ctx, args) {
            Ok(running) => running.await,
            Err(problem) => problem.into(),
        }
    };
    let limit = async {
        match ctx.timeout {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
        // An interruption that came first stays one.
        if !ctx.cancel.is_cancelled() {
            ctx.timed_out.store(true, Ordering::Release);
            ctx.cancel.cancel();
        }
        std::future::pending::<Infallible>().await
    };
    let done = tokio::select! {
        biased;
        done = caught(work) => done,
        never = limit => match never {},
    };
    let mut output = done.unwrap_or_else(|panic| {
        let why = panic_text(&*panic);
        ToolOutput::failed("panicked", format!("{} failed by a defect of its own: {why}", entry.name))
    });
    if output.origin == Origin::default() && !ctx.is_trusted.load(Ordering::Acquire) {
        output.origin = entry.doc.origin;
    }
    if let Some(most) = entry.doc.output_chars {
        shorten(&mut output.content, most);
    }
    output
}

fn millis(time: Duration) -> Millis {
    time.as_millis().try_into().unwrap_or(Millis::MAX)
}

/// Results of so many bytes are looked through on a thread of their own: what else the host does is not held up.
const LARGE: usize = 256 << 10;

/// Whether a result is so long that nothing should look through it on a thread of the host's tasks.
pub fn is_large(output: &ToolOutput) -> bool {
    let text = |part: &Part| if let Part::Text { text } = part { text.len() } else { 0 };
    output.content.iter().map(text).sum::<usize>() >= LARGE
}

/// What stands for a long result that could not be looked through, since the program ends.
pub fn unkept() -> ToolOutput {
    ToolOutput::failed("interrupted", "Mainpath is shutting down; the call was made, and its long result was not kept.")
}

/// Keeps the first `most` characters of the texts and says how many more there were.
fn shorten(parts: &mut [Part], most: usize) {
    let mut left = most;
    for part in parts {
        let Part::Text { text } = part else { continue };
        let long = text.chars().count();
        if let Some((at, _)) = text.char_indices().nth(left) {
            text.truncate(at);
            text.push_str(&format!("\n[{} more were cut off]", count((long - left) as u64, "character")));
        }
        left = left.saturating_sub(long);
    }
}

/// Runs `work`. Errors: the payload of a panic in it.
async fn caught<T>(work: impl Future<Output = T>) -> std::thread::Result<T> {
    let mut work = std::pin::pin!(work);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

fn redact(output: &mut ToolOutput, redact: &dyn Fn(&str) -> String) {
    for part in &mut output.content {
        if let Part::Text { text } = part {
            *text = redact(text);
        }
    }
    let notices = output.notices.iter_mut();
    for text in [&mut output.title, &mut output.long_term_memory].into_iter().flatten().chain(notices) {
        *text = redact(text);
    }
}
