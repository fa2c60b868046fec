//! What follows from a spec alone: its model, its rules, its workspace.

use crate::config::Config;
use crate::gate::schema::OutputSchema;
use crate::gate::terms::CallTerms;
use crate::models::NoModel;
use crate::prompt::prefix::hex;
use crate::secrets::Vault;
use crate::unusable::Unusable;
use bytes::Bytes;
use mainpath_core::Under;
use mainpath_policy::Rules;
use mainpath_providers::{Codec, Frame, Provider, wire_model};
use mainpath_tools::{Workspace, panic_text};
use mainpath_types::{EffectClass, Protocol, Relations, RequestHead, SkillTerms, Spec, TextForm};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What follows from a spec alone. Traces with the same spec share it.
pub(crate) struct Prepared {
    /// The model, or why it cannot be called. Tool calls run without it.
    pub model: Result<PreparedModel, NoModel>,
    /// What a final answer must match.
    pub schema: Option<OutputSchema>,
    pub rules: Rules,
    /// What else holds for all calls.
    pub calls: CallTerms,
    pub workspace: Arc<Workspace>,
    pub secrets: Vec<String>,
    /// The hooks that have a word in reminders.
    pub context_hooks: Vec<String>,
    /// Whether all files are kept before a call that may change any of them.
    pub snapshots: bool,
    /// What the agent is told of skills.
    pub skills: SkillTerms,
}

impl Prepared {
    /// Whether calls of a tool may be allowed: the caller allows it, and no rule denies all of them.
    pub fn offers(&self, tool: &str, effect: EffectClass) -> bool {
        self.calls.allow(tool) && !self.rules.policy.denies_all_of(tool, effect)
    }
}

/// How a model is asked.
pub(crate) struct PreparedModel {
    pub head: RequestHead,
    pub frames: Frames,
    pub provider: Arc<dyn Provider>,
    /// How a turn looks, where it is text.
    pub text: Option<TextForm>,
}

impl PreparedModel {
    /// What a model of somebody's own says of itself is their code: its panic is a failure of the model.
    fn new(config: &Config, spec: &Spec) -> Result<PreparedModel, NoModel> {
        let made = catch_unwind(AssertUnwindSafe(|| PreparedModel::made(config, spec)));
        made.unwrap_or_else(|panic| {
            Err(NoModel::Panicked { model: spec.model.clone(), panic: panic_text(&*panic).to_string() })
        })
    }

    fn made(config: &Config, spec: &Spec) -> Result<PreparedModel, NoModel> {
        let provider = config.models.find_for(spec)?;
        let text = text_form(spec, &*provider);
        let head = request_head(spec, text);
        Ok(PreparedModel { frames: Frames::new(provider.codec(), &head), head, provider, text })
    }
}

/// The request body around the conversation.
pub(crate) struct Frames {
    usual: (Bytes, Bytes),
    /// Where a summary is asked for, no vendor is to hold it to the final answer's schema.
    summary: (Bytes, Bytes),
}

impl Frames {
    pub fn new(codec: &dyn Codec, head: &RequestHead) -> Frames {
        let frame = |head: &RequestHead| {
            let Frame { before, after } = codec.encode_frame(head);
            (Bytes::from(before), Bytes::from(after))
        };
        Frames { usual: frame(head), summary: frame(&RequestHead { output_schema: None, ..head.clone() }) }
    }

    /// Before the conversation, and after it.
    pub fn of(&self, under: Under) -> &(Bytes, Bytes) {
        if under.summary { &self.summary } else { &self.usual }
    }
}

/// A spec as it holds in a run of a trace, counted from 1.
pub(crate) fn in_run(spec: &Spec, run: u32) -> Spec {
    Spec { mode: spec.mode_in(run), mode_for: None, ..spec.clone() }
}

/// The specs that are in use.
#[derive(Default)]
pub(crate) struct Specs {
    prepared: Mutex<HashMap<String, Weak<Prepared>>>,
    /// Those of the traces that were begun last, the last of them first.
    recorded: Mutex<VecDeque<Arc<Recorded>>>,
}

/// So many are remembered.
const MOST_RECORDED: usize = 8;

/// A spec with which traces begin, without what agents of one kind differ in.
struct Recorded {
    /// As it was given.
    given: Spec,
    /// As it is recorded: without secrets.
    spec: Arc<Spec>,
    /// Its key in the first run.
    key: String,
}

impl Recorded {
    fn new(vault: &Vault, given: Spec) -> Result<Recorded, Unusable> {
        let mut spec = given.clone();
        vault.redact_spec(&mut spec)?;
        let key = key(&mut in_run(&spec, 1))?;
        Ok(Recorded { given, spec: Arc::new(spec), key })
    }

    /// With the name and the relations of one agent.
    fn of(&self, name: Option<String>, relations: Relations) -> Arc<Spec> {
        match name.is_none() && relations.is_empty() {
            true => Arc::clone(&self.spec),
            false => Arc::new(Spec { name, relations, ..(*self.spec).clone() }),
        }
    }
}

/// With what a trace begins.
pub(crate) struct Begun {
    /// The spec as it is recorded.
    pub spec: Arc<Spec>,
    /// What follows from it in the first run.
    pub prepared: Arc<Prepared>,
}

impl Specs {
    /// What a trace begins with that is begun with a spec. Errors: a secret stands where none may, or not even a call could run.
    pub fn begin(&self, config: &Config, mut given: Spec) -> Result<Begun, Unusable> {
        let (mut name, mut relations) = (given.name.take(), std::mem::take(&mut given.relations));
        let known = self.recorded().iter().find(|known| known.given == given).cloned();
        let known = match known {
            Some(known) => known,
            None => {
                let new = Arc::new(Recorded::new(&config.vault, given)?);
                let mut recorded = self.recorded();
                recorded.push_front(Arc::clone(&new));
                recorded.truncate(MOST_RECORDED);
                new
            }
        };
        config.vault.redact_belonging(&mut name, &mut relations);
        let spec = known.of(name, relations);
        let prepared = match spec.mode_for {
            None => self.prepare_keyed(config, &spec, known.key.clone()),
            Some(_) => self.prepare_keyed(config, &in_run(&spec, 1), known.key.clone()),
        }?;
        Ok(Begun { spec, prepared })
    }

    /// What follows from a spec. Errors: not even a call could run.
    pub fn prepare(&self, config: &Config, spec: &mut Spec) -> Result<Arc<Prepared>, Unusable> {
        let key = key(spec)?;
        self.prepare_keyed(config, spec, key)
    }

    fn prepare_keyed(&self, config: &Config, spec: &Spec, key: String) -> Result<Arc<Prepared>, Unusable> {
        let shared = self.known().get(&key).and_then(Weak::upgrade);
        // Whoever begins now is under the rules of now, also while an older run under the same spec goes on. They may be made by code of the
        // host, which can take its time: nothing is locked meanwhile.
        let policy = (config.policies)(spec)?;
        if let Some(prepared) = shared.filter(|shared| shared.rules.policy == policy) {
            return Ok(prepared);
        }
        let workspace = Workspace::new(&spec.workspace, config.protected.clone())
            .map_err(|source| Unusable::Workspace { path: spec.workspace.clone(), source })?
            .copying(spec.copy.clone());
        let schema = spec.output_schema.as_ref().map(OutputSchema::new).transpose()?;
        let prepared = Arc::new(Prepared {
            model: PreparedModel::new(config, spec),
            schema,
            rules: Rules {
                mode: spec.mode,
                access: spec.access,
                allowed_tools: spec.tools.iter().map(|tool| tool.name.clone()).collect(),
                policy,
            },
            calls: CallTerms::of(spec),
            workspace: Arc::new(workspace),
            secrets: spec.secrets.clone(),
            context_hooks: spec.context_hooks.clone(),
            snapshots: spec.snapshots,
            skills: spec.skills.clone(),
        });
        // A key may be there the next time.
        if prepared.model.is_ok() {
            let mut known = self.known();
            known.retain(|_, prepared| prepared.strong_count() > 0);
            known.insert(key, Arc::downgrade(&prepared));
        }
        Ok(prepared)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Weak<Prepared>>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recorded(&self) -> MutexGuard<'_, VecDeque<Arc<Recorded>>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What two specs have in common from which the same follows. Agents of one kind differ in their names and in what they belong to.
fn key(spec: &mut Spec) -> Result<String, serde_json::Error> {
    let (name, relations) = (spec.name.take(), std::mem::take(&mut spec.relations));
    let text = serde_json::to_vec(spec);
    (spec.name, spec.relations) = (name, relations);
    Ok(hex(&Sha256::digest(&text?)))
}

/// How a turn looks under a spec, where it is text. What is played back comes as turns already.
pub(crate) fn text_form(spec: &Spec, provider: &dyn Provider) -> Option<TextForm> {
    let in_text = spec.protocol == Protocol::Json && provider.codec().format() != "neutral";
    in_text.then_some(spec.text)
}

/// Everything of a request that follows from the spec alone. Under a text protocol the system text describes the tools.
pub(crate) fn request_head(spec: &Spec, text: Option<TextForm>) -> RequestHead {
    RequestHead {
        model: wire_model(&spec.model).into(),
        system: spec.instructions.clone(),
        tools: if text.is_some() { Vec::new() } else { spec.tools.clone() },
        temperature: spec.temperature,
        max_output: Some(spec.reserved_output.into()),
        effort: spec.effort,
        // A turn in text is an object of its own; its answer is checked when it has come.
        output_schema: spec.output_schema.clone().filter(|_| text.is_none()),
        stream: true,
    }
}
