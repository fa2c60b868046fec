//! Tools of the owner's own: a command or an address that takes the arguments as JSON and answers with a text.

use crate::client::{Answer, Client};
use crate::error::NotReady;
use crate::post::Post;
use crate::program::{Place, Program, Ran, went_wrong};
use crate::settings::{CallRate, InputSchema, Seconds, Secret, SecretTexts, WebAddress};
use crate::show::{doc, failed, head, is_text, keep, media_type, refused, text};
use mainpath_tools::{DynTool, Fut, Problem, ToolContext, ToolDoc, Touches};
use mainpath_types::{Confinement, EffectClass, Origin, ToolOutput};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::time::sleep;

/// Characters of an answer that the model sees; the whole is kept as an artifact.
const SHOWN: usize = 30_000;

/// `[[tools.external]]`
#[derive(Clone, Debug, PartialEq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalConfig {
    /// Its name, which no other tool has.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// What its arguments must look like: a table, or the whole path of a JSON file.
    pub input_schema: InputSchema,
    /// What it can do to the world; side-effecting where nothing is said.
    #[serde(default)]
    pub effect: EffectClass,
    /// The command: program and arguments, without a shell. It gets the arguments on its input; what it prints is the result.
    pub command: Option<Vec<String>>,
    /// Variables for the command; `{{secret:NAME}}` stands for a secret.
    #[serde(default)]
    pub env: SecretTexts,
    /// Whether the command has the network, also where the run's other commands have none.
    #[serde(default)]
    pub network: bool,
    /// The address, instead of a command: the arguments are posted to it.
    pub url: Option<WebAddress>,
    /// Headers for the address; `{{secret:NAME}}` stands for a secret.
    #[serde(default)]
    pub headers: SecretTexts,
    /// How often.
    pub rate: Option<CallRate>,
    /// Seconds that a call may take; 120 where nothing is said.
    pub timeout_s: Option<Seconds>,
}

/// A tool of the owner's own.
pub struct External {
    name: String,
    does: Does,
    description: String,
    effect: EffectClass,
    rate: Option<CallRate>,
    limit: Duration,
}

enum Does {
    Run { program: Program, network: bool },
    Ask(Post),
}

impl External {
    /// With this client and configuration. Errors: what is wrong or missing.
    pub fn new(client: &Client, config: &ExternalConfig, secret: Secret<'_>) -> Result<External, NotReady> {
        let of = |problem: NotReady| NotReady::Of {
            kind: "tool",
            name: head(&config.name, 80).0.into(),
            problem: Box::new(problem),
        };
        let does = match (&config.command, &config.url) {
            (Some(words), None) if words.first().is_some_and(|word| !word.is_empty()) => {
                let program = Program { words: words.clone(), env: config.env.filled(secret).map_err(of)? };
                Does::Run { program, network: config.network }
            }
            (None, Some(url)) => Does::Ask(Post::new(client, url, &config.headers, secret).map_err(of)?),
            _ => return Err(of(NotReady::CommandOrUrl)),
        };
        Ok(External {
            name: config.name.clone(),
            does,
            description: config.description.clone(),
            effect: config.effect,
            rate: config.rate,
            limit: Seconds::or(config.timeout_s, 120),
        })
    }

    /// What the model and policy are told.
    pub fn doc(&self) -> ToolDoc {
        let origin = match &self.does {
            Does::Run { .. } => Origin::Workspace,
            Does::Ask(_) => Origin::Web,
        };
        ToolDoc { origin, shown_once: true, ..doc(self.description.clone(), self.effect, self.rate) }
    }

    async fn answer(&self, ctx: &ToolContext, args: &Value) -> ToolOutput {
        match &self.does {
            Does::Ask(post) => match ctx.until_stopped(post.send(args, self.limit)).await {
                None => ctx.stopped(),
                Some(Err(problem)) => failed(problem),
                Some(Ok(answer)) => self.asked(ctx, answer).await,
            },
            Does::Run { program, network } => {
                let stop = async {
                    tokio::select! {
                        () = ctx.cancel.cancelled() => {}
                        () = sleep(self.limit) => {}
                    }
                };
                let confinement = ctx.grant.confinement();
                let wider = Confinement { network: confinement.network || *network, ..confinement };
                // Where there can be no cage, policy has decided that there need be none.
                let cage = match ctx.cage.is_closed() {
                    true => ctx.workspace.cage(wider),
                    false => ctx.cage.clone(),
                };
                let effect_id = ctx.grant.effect_id();
                let place =
                    Place { launcher: &ctx.launcher, cage: &cage, folder: ctx.workspace.root(), effect_id: &effect_id };
                match program.run(place, args.to_string().as_bytes(), stop).await {
                    Ok(ran) => self.ran(ctx, ran).await,
                    Err(error) => ToolOutput::failed("launch", format!("{} could not be started: {error}.", self.name)),
                }
            }
        }
    }

    async fn asked(&self, ctx: &ToolContext, answer: Answer) -> ToolOutput {
        if !(200..300).contains(&answer.status) {
            return failed(refused(&self.name, &answer));
        }
        let kind = media_type(&answer);
        if !is_text(&kind, &answer.body) {
            let text = format!("{} answered with {} bytes of {kind}, which is not text.", self.name, answer.body.len());
            return Problem::new("not_text", text).into();
        }
        shown(ctx, &text(&answer).0, answer.cut).await
    }

    async fn ran(&self, ctx: &ToolContext, ran: Ran) -> ToolOutput {
        let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        let wrong = match ran.stopped {
            true if ctx.cancel.is_cancelled() => Some(match (ctx.stop_code(), ctx.timeout) {
                (code @ "timeout", Some(limit)) => (code, format!("it was ended after {limit:?}")),
                (code, _) => (code, "it was ended".to_string()),
            }),
            true => Some(("timeout", format!("it was ended after {:?}", self.limit))),
            false => went_wrong(&ran.ended.how),
        };
        let Some((code, why)) = wrong else { return shown(ctx, &stdout, ran.cut).await };
        let name = &self.name;
        let said = ctx.secrets.redact(&format!("{stderr}\n{stdout}"));
        let said = head(said.trim(), 4_000).0;
        let text =
            if said.is_empty() { format!("{name} failed: {why}.") } else { format!("{name} failed: {why}.\n{said}") };
        ToolOutput::failed(code, text)
    }
}

/// An answer as the model sees it.
async fn shown(ctx: &ToolContext, whole: &str, cut: bool) -> ToolOutput {
    let whole = ctx.secrets.redact(whole);
    let (begin, more) = head(&whole, SHOWN);
    let mut said = begin.to_string();
    let (mut artifacts, mut notes) = (Vec::new(), Vec::new());
    if more {
        notes.push(format!(
            "only the first {SHOWN} of {} characters are shown; all that was read is kept",
            whole.chars().count()
        ));
        keep(ctx, whole.clone().into_bytes(), "text/plain; charset=utf-8".into(), &mut artifacts, &mut notes).await;
    }
    if cut {
        notes.push(format!("the answer is longer; only its first {} bytes were read", whole.len()));
    }
    if said.is_empty() {
        notes.push("no output".into());
    }
    for note in notes {
        said.push_str(if said.is_empty() || said.ends_with('\n') { "" } else { "\n" });
        said.push_str(&format!("[{note}]"));
    }
    ToolOutput { artifacts, ..ToolOutput::text(said) }
}

impl DynTool for External {
    fn touches(&self, _: &Value) -> Touches {
        match &self.does {
            // The command is the owner's, so there is nothing to judge about its words.
            Does::Run { .. } => Touches::default(),
            Does::Ask(post) => Touches::asking("POST", post.url().as_str()).named(true),
        }
    }

    fn run<'a>(&'a self, ctx: &'a ToolContext, args: Value) -> Fut<'a, ToolOutput> {
        Box::pin(async move {
            if ctx.cancel.is_cancelled() {
                return ctx.stopped();
            }
            self.answer(ctx, &args).await
        })
    }
}
