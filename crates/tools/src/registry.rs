//! The tools that an agent has, and the only way to run one.

use crate::arguments::{map_strings, parse, schema, typed};
use crate::{Bash, EditTextFile, ReadTextFile, WriteTextFile};
use crate::{Fut, ProbeAnswer, Problem, Tool, ToolContext, ToolDoc, Workspace};
use mainpath_policy::{CallFacts, PathFact};
use mainpath_types::{Part, ToolOutput, ToolSpec};
use serde_json::Value;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

/// Other names under which models ask for tools.
const ALIASES: [(&str, &str); 9] = [
    ("read", "read_text_file"),
    ("write", "write_text_file"),
    ("edit", "edit_text_file"),
    ("glob_files", "glob"),
    ("grep_content", "grep"),
    ("webfetch", "web_fetch"),
    ("search", "web_search"),
    ("task", "agent"),
    ("execute_bash", "bash"),
];

/// The tools that an agent has, in the order of their names.
#[derive(Clone, Default)]
pub struct Tools {
    tools: BTreeMap<&'static str, Arc<Entry>>,
}

/// What a call comes to before anybody has decided on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// The tool's own name.
    pub tool: String,
    /// What policy needs to know.
    pub facts: CallFacts,
}

struct Entry {
    name: &'static str,
    doc: ToolDoc,
    schema: Value,
    tool: Box<dyn Erased>,
}

/// A tool whose argument type is forgotten.
trait Erased: Send + Sync {
    fn paths(&self, schema: &Value, args: Value) -> Result<Vec<String>, Problem>;
    fn run<'a>(&'a self, schema: &Value, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ToolOutput>, Problem>;
    fn probe<'a>(&'a self, schema: &Value, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ProbeAnswer>, Problem>;
}

impl<T: Tool> Erased for T {
    fn paths(&self, schema: &Value, args: Value) -> Result<Vec<String>, Problem> {
        Ok(Tool::paths(self, &typed(T::NAME, schema, args)?))
    }
    fn run<'a>(&'a self, schema: &Value, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ToolOutput>, Problem> {
        Ok(Tool::run(self, ctx, typed(T::NAME, schema, args)?))
    }
    fn probe<'a>(&'a self, schema: &Value, ctx: &'a ToolContext, args: Value) -> Result<Fut<'a, ProbeAnswer>, Problem> {
        Ok(Tool::probe(self, ctx, typed(T::NAME, schema, args)?))
    }
}

impl Tools {
    /// No tools.
    pub fn new() -> Tools {
        Tools::default()
    }

    /// The kernel tools: `bash`, `edit_text_file`, `read_text_file`, `write_text_file`.
    pub fn kernel() -> Tools {
        Tools::new().with(Bash).with(EditTextFile).with(ReadTextFile).with(WriteTextFile)
    }

    /// These and one more. A tool of the same name is replaced.
    pub fn with<T: Tool>(mut self, tool: T) -> Tools {
        let entry = Entry { name: T::NAME, doc: tool.describe(), schema: schema::<T::Args>(), tool: Box::new(tool) };
        self.tools.insert(T::NAME, Arc::new(entry));
        self
    }

    /// The tools as models see them, in the order of their names.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let spec = |entry: &Arc<Entry>| ToolSpec {
            name: entry.name.into(),
            description: entry.doc.description.clone(),
            input_schema: entry.schema.clone(),
            effect: entry.doc.effect,
            can_probe: entry.doc.can_probe,
            timeout_ms: entry.doc.timeout.and_then(|limit| limit.as_millis().try_into().ok()),
        };
        self.tools.values().map(spec).collect()
    }

    /// The own name of the tool that is asked for, be it by an alias.
    pub fn resolve(&self, name: &str) -> Option<&str> {
        self.find(name).ok().map(|entry| entry.name)
    }

    fn find(&self, name: &str) -> Result<&Arc<Entry>, Problem> {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, own)| *own);
        self.tools.get(name).or_else(|| self.tools.get(alias?)).ok_or_else(|| {
            let known: Vec<&str> = self.tools.keys().copied().collect();
            let name: String = name.chars().take(80).collect();
            Problem::new("unknown_tool", format!("There is no tool {name:?}. The tools are: {}.", known.join(", ")))
        })
    }

    /// What a call comes to: its tool, and the facts that policy judges. Looks at the file system for the paths, runs
    /// nothing. Handles of secrets stay handles.
    pub fn plan(&self, name: &str, arguments: &str, workspace: &Workspace) -> Result<Planned, Problem> {
        let entry = self.find(name)?;
        let args = parse(entry.name, arguments)?;
        let fact = |path: String| {
            let resolved = workspace.resolve(&path)?;
            Ok(PathFact { path, in_workspace: resolved.in_workspace, protected: resolved.protected })
        };
        let paths: Result<Vec<PathFact>, Problem> =
            entry.tool.paths(&entry.schema, args)?.into_iter().map(fact).collect();
        let tool = entry.name.to_string();
        Ok(Planned { facts: CallFacts { tool: tool.clone(), effect: entry.doc.effect, paths: paths? }, tool })
    }

    /// Runs a call under the context's grant; a grant for anything but this very tool and effect is refused.
    ///
    /// Returns only when nothing of the call runs any more. Fires the call's own cancel token when `ctx.timeout` has
    /// passed; firing `ctx.cancel` ends it as well. Texts of the output are redacted.
    pub async fn run(&self, name: &str, arguments: &str, ctx: &ToolContext) -> ToolOutput {
        let secrets = ctx.secrets.clone();
        let mut output = match self.prepare(name, arguments, ctx) {
            Ok((entry, args, ctx)) => timed(&entry, args, &ctx).await,
            Err(problem) => problem.into(),
        };
        redact(&mut output, &|text| secrets.redact(text));
        output
    }

    /// After a crash: was this started call done? [`ProbeAnswer::Unknown`] where the tool cannot tell, the arguments are
    /// wrong or the grant is for something else.
    pub async fn probe(&self, name: &str, arguments: &str, ctx: &ToolContext) -> ProbeAnswer {
        let Ok((entry, args, ctx)) = self.prepare(name, arguments, ctx) else { return ProbeAnswer::Unknown };
        let probing = async {
            match entry.tool.probe(&entry.schema, &ctx, args) {
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

    /// The tool, its arguments with the secrets in them, and a context with a token of its own.
    fn prepare(&self, name: &str, text: &str, ctx: &ToolContext) -> Result<(Arc<Entry>, Value, ToolContext), Problem> {
        let entry = self.find(name)?;
        let grant = &ctx.grant;
        if grant.tool() != entry.name || grant.effect() != entry.doc.effect {
            let text = format!("The grant is for {}, not for {}; nothing was run.", grant.tool(), entry.name);
            return Err(Problem::new("no_grant", text));
        }
        let mut args = parse(entry.name, text)?;
        map_strings(&mut args, &|text| ctx.secrets.reveal(text));
        let ctx = ToolContext { cancel: ctx.cancel.child_token(), timed_out: Arc::default(), ..ctx.clone() };
        Ok((entry.clone(), args, ctx))
    }
}

async fn timed(entry: &Entry, args: Value, ctx: &ToolContext) -> ToolOutput {
    let work = async {
        match entry.tool.run(&entry.schema, ctx, args) {
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
    done.unwrap_or_else(|why| {
        ToolOutput::failed("panicked", format!("{} failed by a defect of its own: {why}", entry.name))
    })
}

/// Runs `work`; a panic in it becomes its message.
async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = std::pin::pin!(work);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Poll::Ready(Err(text.unwrap_or_else(|| "it panicked".into())))
        }
    })
    .await
}

fn redact(output: &mut ToolOutput, redact: &dyn Fn(&str) -> String) {
    for part in &mut output.content {
        if let Part::Text { text } = part {
            *text = redact(text);
        }
    }
    for text in [&mut output.title, &mut output.long_term_memory].into_iter().flatten() {
        *text = redact(text);
    }
}
